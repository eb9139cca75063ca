"""Two sessions side by side as one HTML file that needs nothing else: no script runs in it, nothing is fetched."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from rejudge.models.replay import DivergenceSide
from rejudge.models.session_diff import SessionDiff
from rejudge.report import diff_words as words
from rejudge.report.html import environment

_WORDS: Final = re.compile(r"\s+|[^\s\w]|\w+")
_MARKED: Final = 4_000
"""Characters of two texts that are compared word by word; beyond that they stand as they are."""


class Piece(NamedTuple):
    """A part of a text."""

    text: str
    differs: bool


def html_diff(diff: SessionDiff) -> str:
    """The whole page. Recorded text is escaped; the first difference is open and marked."""
    template = environment().get_template("diff.html.j2")
    return template.render(diff=diff, rows=words.rows(diff), diff_words=words, texts=_texts, pieces=pieces)


def _texts(side: DivergenceSide | None) -> dict[str, str]:
    return {"called": words.arguments_text(side), "returned": words.result_text(side)}


def pieces(was: str, now: str) -> tuple[list[Piece], list[Piece]]:
    """Both texts in pieces, with what only one of them has marked."""
    if was == now:
        return [Piece(was, False)], [Piece(now, False)]
    if max(len(was), len(now)) > _MARKED:
        was, now = words.excerpts(was, now, limit=_MARKED)
        if max(len(was), len(now)) > _MARKED:
            return [Piece(was, True)], [Piece(now, True)]
    left, right = _WORDS.findall(was), _WORDS.findall(now)
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    before: list[Piece] = []
    after: list[Piece] = []
    for kind, start, end, again, stop in matcher.get_opcodes():
        for tokens, side in ((left[start:end], before), (right[again:stop], after)):
            if tokens:
                side.append(Piece("".join(tokens), kind != "equal"))
    return before, after
