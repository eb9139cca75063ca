"""Secrets and personal data in text: where they are, what kind they are, and the text without them.

Recorded text is hostile: every repetition in a pattern is bounded, so that none can be made to run for ever.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from rejudge.evaluators import checksums

Family: TypeAlias = Literal["secret", "personal"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of text that should not be seen."""

    name: str
    family: Family
    pattern: re.Pattern[str]
    hints: tuple[str, ...] = ()
    """Texts of which one must be there before the pattern is tried at all; empty = always tried."""
    measure: Callable[[str], int] = len
    """How much of a match it really is; 0 = none of it."""


@dataclass(frozen=True, slots=True)
class Found:
    """One place in a text."""

    kind: Kind
    start: int
    end: int


def _kind(
    family: Family, name: str, pattern: str, *hints: str, measure: Callable[[str], int] = len, flags: int = 0
) -> Kind:
    return Kind(name, family, re.compile(pattern, flags), hints, measure)


def _token(name: str, pattern: str, *hints: str) -> Kind:
    """A secret that is one word."""
    return _kind("secret", name, rf"(?<![A-Za-z0-9_\-])(?:{pattern})(?![A-Za-z0-9_\-])", *hints)


_KEY_MARK: Final = r"(?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_SECRET_NAME: Final = (
    r"(?:password|passwd|pwd|secret|api[_\-]?key|access[_\-]?key|auth[_\-]?token|access[_\-]?token"
    r"|refresh[_\-]?token|client[_\-]?secret|private[_\-]?key)"
)

KINDS: Final[tuple[Kind, ...]] = (
    _kind("secret", "private_key", rf"-----BEGIN {_KEY_MARK}(?:[^-]{{0,20000}}-----END {_KEY_MARK})?", "PRIVATE KEY"),
    _token("aws_access_key", r"(?:AKIA|ASIA)[A-Z0-9]{16}", "AKIA", "ASIA"),
    _token("github_token", r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{50,255}", "gh"),
    _token("gitlab_token", r"glpat-[A-Za-z0-9_\-]{20,100}", "glpat-"),
    _token("slack_token", r"xox[abeprs]-[A-Za-z0-9\-]{10,250}", "xox"),
    _kind("secret", "slack_webhook", r"hooks\.slack\.com/services/[A-Za-z0-9/]{20,100}", "hooks.slack.com"),
    _token("stripe_key", r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,250}", "k_live_", "k_test_"),
    _token("model_api_key", r"sk-(?=[A-Za-z_\-]{0,40}[0-9])[A-Za-z0-9_\-]{20,250}", "sk-"),
    _token("google_api_key", r"AIza[A-Za-z0-9_\-]{35}", "AIza"),
    _token("hugging_face_token", r"hf_[A-Za-z0-9]{30,100}", "hf_"),
    _token("package_token", r"npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_\-]{50,500}", "npm_", "pypi-"),
    _token("sendgrid_key", r"SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{30,64}", "SG."),
    _token("json_web_token", r"eyJ[\w\-]{8,2000}\.eyJ[\w\-]{8,4000}\.[\w\-]{8,2000}", "eyJ"),
    _kind(
        "secret",
        "authorization",
        r"\b(?:bearer|basic)\s{1,4}(?=[A-Za-z._~+/\-]{0,80}[0-9])[A-Za-z0-9._~+/\-]{16,2000}={0,2}",
        flags=re.IGNORECASE,
    ),
    _kind("secret", "url_password", r"[A-Za-z][A-Za-z0-9+.\-]{1,20}://[^\s/:@'\"]{0,100}:[^\s/@'\"]{1,200}@", "://"),
    _kind(
        "secret",
        "assigned_secret",
        _SECRET_NAME + r"['\"\\]{0,4}\s{0,4}[:=]\s{0,4}['\"\\]{0,4}(?=[^\s'\"\\,;&]{0,200}[0-9])[^\s'\"\\,;&]{6,200}",
        flags=re.IGNORECASE,
    ),
    _kind(
        "personal",
        "email",
        r"(?<![\w.%+\-])[A-Za-z0-9._%+\-]{1,64}@(?:[A-Za-z0-9\-]{1,63}\.){1,8}[A-Za-z]{2,24}\b",
        "@",
    ),
    _kind(
        "personal",
        "card_number",
        r"(?<![\w.\-])\d(?:[ \-]?\d){12,18}(?![\-.]?\w)",
        measure=checksums.card_number,
    ),
    _kind(
        "personal",
        "iban",
        r"(?<!\w)[A-Z]{2}\d{2}(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?)(?!\w)",
        measure=checksums.iban,
    ),
    _kind(
        "personal",
        "social_security_number",
        r"(?<![\w\-])\d{3}-\d{2}-\d{4}(?![\w\-])",
        "-",
        measure=checksums.social_security_number,
    ),
    _kind(
        "personal",
        "phone_number",
        r"(?<![\w+])\+[1-9][\d ().\-]{6,24}\d(?!\w)",
        "+",
        measure=checksums.phone_number,
    ),
)
"""Every kind that is known, secrets first: where two match the same text, the first is what it is."""

ASSIGNED_SECRET: Final = next(kind for kind in KINDS if kind.name == "assigned_secret")
_SECRET_KEY: Final = re.compile(rf"(?:[A-Za-z0-9]{{1,30}}[_\-]){{0,4}}{_SECRET_NAME}", re.IGNORECASE)
_NO_VALUE: Final = re.compile(r"[*•xX.\-\s]{0,100}|[<\[{$%(].{0,200}|none|null|redacted", re.IGNORECASE)


def find(text: str, kinds: Sequence[Kind] = KINDS) -> list[Found]:
    """Where a text holds what it should not, in order and without overlaps."""
    taken = bytearray(len(text))
    found: list[Found] = []
    for kind in kinds:
        if kind.hints and not any(hint in text for hint in kind.hints):
            continue
        for match in kind.pattern.finditer(text):
            start, end = match.start(), match.start() + kind.measure(match.group())
            if start < end and 1 not in taken[start:end]:
                taken[start:end] = b"\1" * (end - start)
                found.append(Found(kind, start, end))
    return sorted(found, key=lambda each: each.start)


def redacted(text: str, kinds: Sequence[Kind] = KINDS) -> str:
    """The text with each place replaced by its kind: ``[redacted email]``."""
    parts: list[str] = []
    position = 0
    for each in find(text, kinds):
        parts += [text[position : each.start], f"[redacted {each.kind.name}]"]
        position = each.end
    return "".join((*parts, text[position:]))


def names_a_secret(key: str, value: object) -> bool:
    """Whether a field's name says that its value is a secret, and it has one: ``{"password": "hunter"}``."""
    return isinstance(value, str) and bool(_SECRET_KEY.fullmatch(key)) and not _NO_VALUE.fullmatch(value)
