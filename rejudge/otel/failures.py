"""Which spans failed, and with what words."""

from __future__ import annotations

from typing import Any, NamedTuple

from rejudge.otel.conventions.reading import MISSING, Reading
from rejudge.otel.span import Span
from rejudge.otel.text import as_text
from rejudge.otel.tree import Item

_LIMIT = 16_384
"""Characters of an error's text that are kept; stack traces beyond it add nothing."""


class Failure(NamedTuple):
    """Why something failed."""

    text: str
    type: str | None


def failure_of(item: Item) -> Failure | None:
    """How an item failed; None where it did not."""
    own = _own_failure(item.span, item.reading)
    if own is not None:
        return own
    if item.kind == "tool" and item.reading.failed is None:
        for child in item.children:
            if child.reading.parent_failure:
                below = _own_failure(child.span, child.reading)
                if below is not None:
                    return below
    return None


def _own_failure(span: Span, reading: Reading) -> Failure | None:
    if reading.failed is False:
        return None
    exception = _exception(span) if span.events else None
    if not (reading.failed or span.status_code == 2):
        if span.status_code != 0:
            return None
        if reading.error_type is None and exception is None and not _http_error(span):
            return None
    exception = exception or {}
    text = (
        _words(reading.error)
        or span.status_message
        or _words(exception.get("exception.message"))
        or _words(span.attributes.get("error.message"))
        or (_words(reading.result) if reading.result is not MISSING else "")
        or _words(exception.get("exception.type"))
        or _words(reading.error_type)
        or "failed, without a message"
    )
    kind = reading.error_type or exception.get("exception.type")
    return Failure(text[:_LIMIT], _class_name(kind))


def _exception(span: Span) -> dict[str, Any] | None:
    for event in reversed(span.events):
        if event.name == "exception":
            return event.attributes
    return None


def _http_error(span: Span) -> bool:
    code = span.attributes.get("http.response.status_code", span.attributes.get("http.status_code"))
    return isinstance(code, int) and code >= 400


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None or value is MISSING or isinstance(value, bool) else as_text(value)


def _class_name(kind: Any) -> str | None:
    if not isinstance(kind, str) or not kind:
        return None
    return kind.removeprefix("<class '").removesuffix("'>")[:512]
