"""Our own spans: GenAI names, with arguments and results as JSON text exactly once, so that a text stays a text."""

from __future__ import annotations

from typing import Any, Final

from rejudge.models.attributes import INCOMPLETE, INPUTS, OUTPUTS, PARAMETERS, SCOPE
from rejudge.otel.conventions.reading import MISSING, Convention, Kind, Reading
from rejudge.otel.span import Span
from rejudge.otel.text import parse_text


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return scope == SCOPE


def _kind(span: Span, reading: Reading) -> Kind | None:
    return None


def _read(span: Span, reading: Reading) -> None:
    # Read before the other conventions, and after the tables: what is set here stays.
    reading.exact = True
    reading.arguments = _value(span, "gen_ai.tool.call.arguments")
    reading.result = _value(span, "gen_ai.tool.call.result")
    reading.inputs = _value(span, INPUTS)
    reading.outputs = _value(span, OUTPUTS)
    parameters = _value(span, PARAMETERS)
    if isinstance(parameters, dict):
        reading.parameters = parameters


def _value(span: Span, key: str) -> Any:
    text = span.attributes.get(key, MISSING)
    if not isinstance(text, str):
        return text
    try:
        return parse_text(text)
    except ValueError:  # cut at an attribute limit
        return text


CONVENTION: Final = Convention(
    name="rejudge",
    claims=_claims,
    fields={
        "gen_ai.tool.call.arguments": "arguments",
        "gen_ai.tool.call.result": "result",
        "error.type": "error_type",
        INCOMPLETE: "incomplete",
    },
    kind=_kind,
    read=_read,
    consumed=(INPUTS, OUTPUTS, PARAMETERS),
)
