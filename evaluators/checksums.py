"""Whether a row of digits really is what it looks like; each gives how much of the text it is, 0 for none."""

from __future__ import annotations


def digits_of(text: str) -> str:
    """The digits of a text."""
    return "".join(character for character in text if character in "0123456789")


def card_number(text: str) -> int:
    """Luhn's check (ISO/IEC 7812-1) over 13 to 19 digits that are not all the same."""
    digits = [int(digit) for digit in reversed(digits_of(text))]
    doubled = sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    right = 13 <= len(digits) <= 19 and len(set(digits)) > 1 and (sum(digits[::2]) + doubled) % 10 == 0
    return len(text) if right else 0


def iban(text: str) -> int:
    """The check digits of ISO 13616 (modulo 97 leaves 1), on the longest run of groups that has them right."""
    groups = text.split(" ")
    for count in range(len(groups), 0, -1):
        candidate = " ".join(groups[:count])
        if _is_iban(candidate.replace(" ", "")):
            return len(candidate)
    return 0


def _is_iban(plain: str) -> bool:
    if not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(character, 36)) for character in plain[4:] + plain[:4])) % 97 == 1


def social_security_number(text: str) -> int:
    """An area, group and serial number that the US Social Security Administration gives out."""
    area, group, serial = text.split("-")
    right = area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"
    return len(text) if right else 0


def phone_number(text: str) -> int:
    """8 to 15 digits (ITU-T E.164)."""
    return len(text) if 8 <= len(digits_of(text)) <= 15 else 0
