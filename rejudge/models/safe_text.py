"""Recorded text on its way out: what a trace says must never run, link, or draw over what is beside it.

HTML is escaped where it is made (jinja2, autoescape); what passes `plain` first is safe there, in XML, in a
terminal and in a log.
"""

from __future__ import annotations

import re
from typing import Final

ELLIPSIS: Final = "…"

# Escape sequences: CSI, then OSC, DCS, SOS, PM and APC with all they carry, then the short ones. The 8-bit
# forms too.
_SEQUENCE: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
# What is left of C0 and C1 but tab and newline, DEL, the marks that turn the reading direction or hide text
# (bidi, soft hyphen, zero-width, tag characters), and noncharacters, which XML refuses.
_CONTROL: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
_NEWLINE: Final = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_MARKUP: Final = re.compile(r"[\\`*_\[\]#~!$]")
_AT_START: Final = re.compile(r"^(\d{1,9})([.)])|^([-+=:])")
_LINK: Final = re.compile(r"(?<=:)(?=//)|(?<=[wW]{3})(?=\.)|(?<=@)|(?<=[a-zA-Z]:)(?=\S)")
_JOINER: Final = "\u2060"
_RUNS: Final = re.compile(r"^[\s'\"]*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r|%]")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_./@:#\-]{1,600}")
_NUMBER: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")


def plain(text: str, *, limit: int | None = None) -> str:
    """The text without control sequences, control characters and marks that hide or turn it; lines are kept.

    Args:
        limit: Characters at most, the last of them an ellipsis where something was cut.

    Example:
        >>> plain("\\x1b[31mred\\x1b[0m\\x07")
        'red'
    """
    without = _SEQUENCE.sub("", _NEWLINE.sub("\n", text))
    return cut(_SURROGATE.sub("\ufffd", _CONTROL.sub("", without)), limit)


def one_line(text: str, *, limit: int | None = None) -> str:
    """`plain` text on one line, every run of white space one space."""
    return cut(" ".join(plain(text).split()), limit)


def cut(text: str, limit: int | None) -> str:
    """The text, or its first ``limit - 1`` characters and an ellipsis."""
    if limit is None or len(text) <= limit:
        return text
    return text[: max(0, limit - 1)] + ELLIPSIS


def markdown(text: str, *, limit: int | None = None) -> str:
    """The text as one line of Markdown that reads as it was, also in a table's cell: no markup, HTML, image or
    link, not even one that GitHub makes of a bare address or an @name.

    Example:
        >>> markdown("**a** | <b>")
        '\\\\*\\\\*a\\\\*\\\\* &#124; &lt;b&gt;'
    """
    line = one_line(text, limit=limit).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = _AT_START.sub(lambda found: f"{found[1] or ''}\\{found[2] or found[3]}", _MARKUP.sub(r"\\\g<0>", line))
    # An entity, not a backslash: renderers differ in how they split a row at an escaped pipe.
    return _LINK.sub(_JOINER, line).replace("|", "&#124;")


def markdown_code(text: str, *, limit: int | None = None) -> str:
    """The text as a fenced block of Markdown, line for line; the fence is longer than any in the text."""
    body = plain(text, limit=limit)
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{body}\n{fence}"


def csv_cell(text: str) -> str:
    """The text as a cell that no spreadsheet runs: a quote stands before what it would take for a formula.

    Example:
        >>> csv_cell("=HYPERLINK(1)"), csv_cell("-1.5")
        ("'=HYPERLINK(1)", '-1.5')
    """
    clean = plain(text)
    if _NUMBER.fullmatch(clean):
        return clean
    return f"'{clean}" if _RUNS.match(clean) else clean


def markdown_name(text: str) -> str:
    """A name or id as Markdown: in backticks where it is made of harmless characters, else as `markdown`."""
    return f"`{text}`" if _PLAIN_NAME.fullmatch(text) else markdown(text)
