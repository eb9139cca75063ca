"""``rejudge/leaks``: secrets and personal data where they should not be; only where is stored, never what."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field

from rejudge.evaluators.reading import is_terminal
from rejudge.evaluators.rows import figure, plural, shown
from rejudge.evaluators.sensitive import ASSIGNED_SECRET, KINDS, Family, Kind, find, names_a_secret
from rejudge.models import EvaluationResult, SessionView

Place: TypeAlias = Literal["output", "model_outputs", "tool_arguments", "tool_results"]
Names: TypeAlias = Annotated[list[str], Field(min_length=1)]

_PLACES: Final[tuple[Place, ...]] = ("output", "model_outputs", "tool_arguments", "tool_results")
_PLACES_SHOWN: Final = 50


def check_params(params: Mapping[str, Any]) -> None:
    """Nothing where every kind is known and every pattern can be used.

    Raises:
        ValueError: Otherwise.
    """
    known = [kind.name for kind in KINDS]
    for name in params.get("kinds") or ():
        if name not in known:
            raise ValueError(f"kinds: {name!r} is unknown; use {', '.join(known)}")
    for pattern in params.get("allowed") or ():
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"allowed: {pattern!r} is no regular expression: {error}") from error


def evaluate(
    session: SessionView,
    *,
    kinds: Names | None = None,
    allowed: list[str] | None = None,
    look_in: Annotated[list[Place], Field(min_length=1)] | None = None,
) -> list[EvaluationResult]:
    """One row for secrets and one for personal data: how many places hold any.

    Args:
        session: The session.
        kinds: The kinds to look for; everything that is known where it is not set.
        allowed: Regular expressions; what one of them matches as a whole is no leak (``.*@example\\.com``).
        look_in: The final output, what models answered, what tools were called with, what tools gave back; all of
            them where it is not set.
    """
    wanted = [kind for kind in KINDS if kinds is None or kind.name in kinds]
    harmless = [re.compile(pattern) for pattern in allowed or ()]
    looked = [payload for payload in _payloads(session) if payload.place in (look_in or _PLACES)]
    found = [leak for payload in looked for leak in _leaks(payload, wanted, harmless)]
    cut = [payload for payload in looked if payload.cut]
    return [
        _row(session, name, [leak for leak in found if leak.family == family], looked, cut)
        for name, family in (("secrets", "secret"), ("personal_data", "personal"))
        if any(kind.family == family for kind in wanted)
    ]


@dataclass(frozen=True, slots=True)
class _Payload:
    place: Place
    node: str | None
    field: str
    value: object
    cut: bool
    """Whether a part of it was not recorded."""


@dataclass(frozen=True, slots=True)
class _Leak:
    payload: _Payload
    pointer: str
    kind: str
    family: Family


def _payloads(view: SessionView) -> Iterator[_Payload]:
    yield _Payload("output", None, "outputs", view.session.outputs, cut=False)
    for node in view.nodes:
        cut = node.incomplete is not None
        if node.node_type == "llm_call":
            yield _Payload("model_outputs", node.id, "outputs", node.outputs, cut)
        elif node.node_type == "tool_call":
            yield _Payload("tool_arguments", node.id, "inputs", node.inputs, cut)
            yield _Payload("tool_results", node.id, "outputs", node.outputs, cut)


def _leaks(payload: _Payload, kinds: Sequence[Kind], harmless: Sequence[re.Pattern[str]]) -> Iterator[_Leak]:
    for pointer, text, named in _texts(payload.value, kinds):
        places = find(text, kinds)
        for place in places:
            matched = text[place.start : place.end]
            if not any(pattern.fullmatch(matched) for pattern in harmless):
                yield _Leak(payload, pointer, place.kind.name, place.kind.family)
        if named and not places and not any(pattern.fullmatch(text) for pattern in harmless):
            yield _Leak(payload, pointer, ASSIGNED_SECRET.name, ASSIGNED_SECRET.family)


def _texts(value: object, kinds: Sequence[Kind]) -> Iterator[tuple[str, str, bool]]:
    """Every text in a payload with its pointer, keys too, and whether its field's name says that it is a secret."""
    looks_at_names = ASSIGNED_SECRET in kinds
    waiting: list[tuple[str, object, bool]] = [("", value, False)]
    while waiting:
        pointer, part, named = waiting.pop()
        if isinstance(part, str):
            yield pointer, part, named
        elif isinstance(part, dict):
            for key, inner in reversed(part.items()):
                name = str(key)
                yield f"{pointer}/(key)", name, False
                waiting.append((f"{pointer}/{_step(name)}", inner, looks_at_names and names_a_secret(name, inner)))
        elif isinstance(part, list):
            waiting.extend((f"{pointer}/{index}", inner, False) for index, inner in reversed(list(enumerate(part))))


def _step(key: str) -> str:
    """A key as it may be shown: one that holds something itself is not."""
    return "(hidden)" if find(key) else shown(key.replace("~", "~0").replace("/", "~1"), 40)


def _row(
    view: SessionView, name: str, leaks: list[_Leak], looked: list[_Payload], cut: list[_Payload]
) -> EvaluationResult:
    kinds = Counter(leak.kind for leak in leaks)
    explanation = f"{plural(len(leaks), 'place')} in {plural(len(looked), 'payload')}"
    if kinds:
        explanation += ": " + ", ".join(f"{kind} x{count}" for kind, count in kinds.most_common())
    if cut:
        explanation += f"; {len(cut)} of them were not recorded whole"
    passed = False if leaks else (True if is_terminal(view) and not cut else None)
    evidence: dict[str, Any] = {
        "session": shown(view.session.id or view.session.external_id),
        "nodes": list(dict.fromkeys(shown(leak.payload.node) for leak in leaks if leak.payload.node))[:_PLACES_SHOWN],
        "count": len(leaks),
        "kinds": dict(kinds),
        "places": [
            {
                "node": None if leak.payload.node is None else shown(leak.payload.node),
                "field": leak.payload.field,
                "pointer": leak.pointer,
                "kind": leak.kind,
            }
            for leak in leaks[:_PLACES_SHOWN]
        ],
    }
    return figure(name, len(leaks), explanation, evidence, lower=True, passed=passed)
