"""Rows of the built-in evaluators: figures in every explanation, evidence that points at nodes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from decimal import Decimal
from itertools import islice
from typing import Any, Final

from rejudge.models import EvaluationResult, Node, SessionView

EVIDENCE_NODES: Final = 50
"""Node ids that one row names at most; the count beside them is always whole."""

_TEXT_LIMIT: Final = 120


def shown(text: object, limit: int = _TEXT_LIMIT) -> str:
    """Recorded text, short and safe to stand in a row: no control characters, no lone surrogates, no NULs."""
    plain = repr(str(text))[1:-1]
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"


def listed(names: Iterable[object], most: int = 10) -> str:
    """Names for a sentence: the first few, and how many more."""
    every = [shown(name) for name in names]
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def evidence_of(view: SessionView, nodes: Iterable[Node] = (), **facts: Any) -> dict[str, Any]:
    """The session and the nodes behind a row: at most `EVIDENCE_NODES` ids, the whole count, and further facts."""
    every = list(nodes)
    pointed: dict[str, Any] = {
        "session": shown(view.session.id or view.session.external_id),
        "nodes": [shown(node.id) for node in islice(every, EVIDENCE_NODES)],
        "count": len(every),
    }
    if len(every) > EVIDENCE_NODES:
        pointed["truncated"] = True
    return pointed | facts


def as_float(number: int | float | Decimal) -> float:
    """A number as a finite float: what is too large to be one becomes the largest there is."""
    try:
        return max(-sys.float_info.max, min(sys.float_info.max, float(number)))
    except OverflowError:
        return sys.float_info.max


def figure(
    name: str,
    score: int | float | Decimal,
    explanation: str,
    evidence: dict[str, Any],
    *,
    maximum: int | float | Decimal | None = None,
    lower: bool = False,
    passed: bool | None = None,
) -> EvaluationResult:
    """A ``float`` row from 0 up to ``maximum``; ``lower`` says that less is better."""
    return EvaluationResult(
        name=name,
        score=as_float(score),
        min_score=0,
        max_score=None if maximum is None else as_float(max(maximum, 0)),
        direction="lower" if lower else "none",
        passed=passed,
        explanation=explanation,
        evidence=evidence,
    )


def text(name: str, value: str, explanation: str, evidence: dict[str, Any]) -> EvaluationResult:
    """A ``str`` row."""
    return EvaluationResult(name=name, value=value, explanation=explanation, evidence=evidence)


def json_text(name: str, value: object, explanation: str, evidence: dict[str, Any]) -> EvaluationResult:
    """A ``str`` row that holds JSON: sorted keys, compact."""
    return text(name, json.dumps(value, sort_keys=True, separators=(",", ":")), explanation, evidence)


def unscored(name: str, why: str, evidence: dict[str, Any]) -> EvaluationResult:
    """A row that says why there is no score."""
    return EvaluationResult(name=name, unscored=why, explanation=why, evidence=evidence)


def plural(count: int, noun: str) -> str:
    """A count with its noun: ``1 node``, ``3 nodes``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
