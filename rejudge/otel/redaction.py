"""Redaction: what rules name never reaches a node, and not the kept spans either."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fnmatch import translate
from functools import lru_cache
from typing import Any, Final

import orjson

from rejudge.otel.contentless import without_content
from rejudge.otel.options import Options, Redaction
from rejudge.otel.span import Attributes, Batch, LogRecord, Span, SpanEvent
from rejudge.otel.text import parse_text

REDACTED: Final = "[redacted]"


def redacted(batch: Batch, options: Options) -> Batch:
    """The batch as the options allow it: the batch itself where they ask for nothing."""
    if not options.content:
        batch = without_content(batch)
    rules = options.redact
    if rules is None or not (rules.attributes or rules.patterns):
        return batch
    redactor = _redactor(rules)
    return Batch([redactor.span(span) for span in batch.spans], [redactor.record(record) for record in batch.logs])


@lru_cache(maxsize=8)
def _redactor(rules: Redaction) -> _Redactor:
    return _Redactor(rules)


class _Redactor:
    def __init__(self, rules: Redaction) -> None:
        globs = [re.compile(translate(glob)) for glob in rules.attributes]
        self._named: Callable[[str], bool] = lru_cache(maxsize=10_000)(
            lambda name: any(glob.match(name) for glob in globs)
        )
        self._patterns = [re.compile(pattern) for pattern in rules.patterns]
        self._hits = 0
        self._resources: dict[int, tuple[Attributes, Attributes]] = {}

    def span(self, span: Span) -> Span:
        self._hits = 0
        changed = replace(
            span,
            name=self._text(span.name),
            status_message=self._text(span.status_message),
            attributes=self._attributes(span.attributes),
            events=[
                SpanEvent(self._text(event.name), event.time_ns, self._attributes(event.attributes))
                for event in span.events
            ],
            resource=self._resource(span.resource),
        )
        changed.redacted = span.redacted or self._hits > 0
        return changed

    def record(self, record: LogRecord) -> LogRecord:
        return replace(
            record,
            body=self._value(record.body),
            attributes=self._attributes(record.attributes),
            resource=self._resource(record.resource),
        )

    def _resource(self, resource: Attributes) -> Attributes:
        """Shared by many spans: done once, and still shared afterwards."""
        known = self._resources.get(id(resource))
        if known is None or known[0] is not resource:
            if len(self._resources) > 1_000:
                self._resources.clear()
            hits = self._hits
            known = self._resources[id(resource)] = (resource, self._attributes(resource))
            self._hits = hits
        return known[1]

    def _attributes(self, attributes: Attributes) -> Attributes:
        found: Attributes = {}
        for name, value in attributes.items():
            if self._named(name):
                self._hits += 1
                found[name] = REDACTED
            else:
                found[name] = self._value(value)
        return found

    def _value(self, value: Any) -> Any:
        if not self._patterns:
            return value
        if isinstance(value, str):
            return self._json_text(value)
        if isinstance(value, list):
            return [self._value(item) for item in value]
        if isinstance(value, dict):
            return {self._text(str(key)): self._value(item) for key, item in value.items()}
        return value

    def _json_text(self, text: str) -> str:
        """JSON inside a text may hide in escapes what a pattern looks for, so it is looked through decoded."""
        if "\\" in text and text[:1] in ("{", "[", '"'):
            try:
                value = parse_text(text)
            except ValueError:
                return self._text(text)
            hits = self._hits
            changed = self._value(value)
            if self._hits == hits:
                return text
            try:
                return orjson.dumps(changed).decode()
            except TypeError:
                return REDACTED
        return self._text(text)

    def _text(self, text: str) -> str:
        for pattern in self._patterns:
            text, hits = pattern.subn(REDACTED, text)
            self._hits += hits
        return text
