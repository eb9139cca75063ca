"""JSON taken apart without being parsed as a whole: values behind each other, elements of huge or broken ones.

The fast parser reads a document at once or not at all. Where it cannot (concatenated pretty-printed values, a
document larger than memory should hold, one bad span in a good file), this finds the boundaries by brackets alone, so
that every complete element is still parsed, by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from rejudge.otel.text import parse_document

_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|(?P<open>\\?\Z))|[{}\[\]]', re.DOTALL)
"""A string, a bracket, or a string that has begun and not ended."""
_KEY: Final = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:\s*\Z', re.DOTALL)
_SPACE: Final = b" \t\r\n\xef\xbb\xbf\x1e,"
ELEMENT_LIMIT: Final = 256 * 1024 * 1024
"""Bytes of one span, trace or run beyond which it is not read."""
_LISTS: Final = frozenset({"spans", "logRecords", "log_records", "observations", "data", "traces", "runs"})
"""Keys whose array's elements are given out one by one."""
_CONTEXT: Final = frozenset({"resource", "scope", "instrumentationLibrary", "processes", "trace", "info"})
"""Keys whose object is remembered for the elements that follow it."""


class Value(NamedTuple):
    """One JSON value in its bytes, and where they began."""

    offset: int
    content: bytes
    finished: bool = True
    """False for a last one that ends in the middle, or grew past the limit."""


def values(chunks: Iterable[bytes], limit: int) -> Iterator[Value]:
    """The complete objects and lists of a stream of JSON values behind each other.

    What stands between values and is no value is skipped. Past ``limit`` bytes a value is given out unfinished, and
    nothing after it.
    """
    buffer = b""
    base = 0
    position = depth = start = 0
    for chunk in chunks:
        buffer += chunk
        while True:
            match, position = _next(buffer, position)
            if match is None:
                break
            token = buffer[match.start()]
            if token in b"{[":
                if depth == 0:
                    start = match.start()
                depth += 1
            elif token in b"}]":
                depth -= 1
                if depth == 0:
                    yield Value(base + start, buffer[start:position])
                    base, buffer, position, start = base + position, buffer[position:], 0, 0
                elif depth < 0:
                    depth = 0
        if depth == 0:
            base, buffer, position = base + position, buffer[position:], 0
        elif len(buffer) - start > limit:
            yield Value(base + start, buffer[start:], False)
            return
    if depth > 0:
        yield Value(base + start, buffer[start:], False)


def _next(buffer: bytes, position: int) -> tuple[re.Match[bytes] | None, int]:
    """The next whole token; where there is none, the position to search on from when more has come."""
    match = _TOKEN.search(buffer, position)
    if match is None:
        return None, len(buffer)
    return (None, match.start()) if match["open"] is not None else (match, match.end())


class Element(NamedTuple):
    """One element of a list that holds spans, log records or the like."""

    offset: int
    content: bytes
    path: tuple[str, ...]
    """The keys that lead to the list, without the numbers of lists on the way."""
    context: dict[str, Any]
    """The resource and scope that stand before it."""


def elements(chunks: Iterable[bytes], limit: int) -> Iterator[Element]:
    """The complete elements of every list of spans in a stream of one JSON value, whole or broken.

    Raises:
        ValueError: At an element of more than ``limit`` bytes; the ones before it were given out.
    """
    return _Splitter(limit).run(chunks)


class _Level:
    """One open bracket."""

    __slots__ = ("context", "is_list", "key", "remember", "start")

    def __init__(self, is_list: bool, key: str, start: int, context: dict[str, Any], remember: bool) -> None:
        self.is_list = is_list
        self.key = key
        self.start = start
        self.context = context
        self.remember = remember


class _Splitter:
    """Brackets open and close; what lies inside an element or a context is passed over by counting."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = b""
        self._base = 0
        self._position = 0
        self._levels: list[_Level] = []
        self._inside = 0
        """Depth below the element or context that is being passed over; 0 where none is."""
        self._start = 0

    def run(self, chunks: Iterable[bytes]) -> Iterator[Element]:
        for chunk in chunks:
            self._buffer += chunk
            while True:
                match, self._position = _next(self._buffer, self._position)
                if match is None:
                    break
                token = self._buffer[match.start()]
                if token == 0x22:
                    continue
                if token in b"{[":
                    self._opened(match.start(), token)
                elif (found := self._closed(match.end())) is not None:
                    yield found
            if self._inside and self._base + len(self._buffer) - self._start > self._limit:
                raise ValueError(f"an element of more than {self._limit} bytes at byte {self._start}")
            self._forget()

    def _opened(self, at: int, token: int) -> None:
        if self._inside:
            self._inside += 1
            return
        parent = self._levels[-1] if self._levels else None
        key = self._key_before(at) if parent is not None and not parent.is_list else ""
        if token == 0x7B and (self._is_element(parent) or key in _CONTEXT):
            self._inside = 1
            self._start = self._base + at
            context = parent.context if parent is not None else {}
            self._levels.append(_Level(False, key, self._start, context, key in _CONTEXT))
            return
        # A new resource or scope must not leak into its neighbour: each object has its own copy.
        context = dict(parent.context) if parent is not None else {}
        self._levels.append(_Level(token == 0x5B, key, self._base + at, context, False))

    def _is_element(self, parent: _Level | None) -> bool:
        if parent is None or not parent.is_list:
            return False
        if len(self._levels) == 1:
            return True
        return parent.key in _LISTS

    def _closed(self, end: int) -> Element | None:
        if self._inside > 1:
            self._inside -= 1
            return None
        if not self._levels:
            return None
        level = self._levels.pop()
        if not self._inside:
            return None
        self._inside = 0
        content = self._buffer[level.start - self._base : end]
        if level.remember:
            try:
                level.context[level.key] = parse_document(content)
            except (ValueError, RecursionError):
                level.context.pop(level.key, None)
            return None
        path = tuple(outer.key for outer in self._levels if outer.key)
        return Element(level.start, content, path, level.context)

    def _key_before(self, at: int) -> str:
        start = max(0, at - 200)
        match = _KEY.search(self._buffer[start:at])
        return match[1].decode("utf-8", "replace") if match else ""

    def _forget(self) -> None:
        """Drop what lies before the element in work (or the last key)."""
        keep = self._start - self._base if self._inside else max(0, self._position - 256)
        if keep > 1 << 20:
            self._buffer = self._buffer[keep:]
            self._base += keep
            self._position -= keep


_TRACE_ID: Final = re.compile(rb'"(?:traceId|trace_id|traceID)"\s*:\s*"([^"]{1,64})"')
_SPAN_ID: Final = re.compile(rb'"(?:spanId|span_id|spanID|id)"\s*:\s*"([^"]{1,64})"')


def span_named_in(content: bytes) -> str | None:
    """``trace:span`` as far as the bytes of a broken element tell it."""
    trace, span = _TRACE_ID.search(content), _SPAN_ID.search(content)
    if trace is None and span is None:
        return None
    return ":".join(match[1].decode("utf-8", "replace") if match else "?" for match in (trace, span))


def documents(
    chunks: Iterable[bytes], refuse: Callable[[int, bytes, str], None], *, limit: int = ELEMENT_LIMIT
) -> Iterator[Any]:
    """Small documents of the same shape as a huge or broken one, each with one element of its list.

    Args:
        chunks: The bytes of one JSON value.
        refuse: Told of each complete element that is no JSON: its offset, its bytes, why.
        limit: Bytes of one element beyond which the rest of the document is refused.
    """
    try:
        yield from _documents(elements(chunks, limit), refuse)
    except ValueError as error:
        refuse(0, b"", str(error))


def _documents(found: Iterable[Element], refuse: Callable[[int, bytes, str], None]) -> Iterator[Any]:
    for element in found:
        try:
            value = parse_document(element.content)
        except (ValueError, RecursionError) as error:
            reason = "nested too deep" if isinstance(error, RecursionError) else f"not JSON: {error}"
            refuse(element.offset, element.content, reason)
            continue
        yield _document(value, element)


def _document(value: Any, element: Element) -> Any:
    path = element.path
    context = element.context
    if not path:
        return [value]
    if path[-1] in ("spans", "logRecords", "log_records") and len(path) > 1 and path[-2] not in ("data", "traces"):
        logs = path[-1] != "spans"
        scope = {"scope": context.get("scope", context.get("instrumentationLibrary")), path[-1]: [value]}
        resource = {"resource": context.get("resource"), "scopeLogs" if logs else "scopeSpans": [scope]}
        return {"resourceLogs" if logs else "resourceSpans": [resource]}
    around = {key: context[key] for key in ("processes", "trace") if key in context}
    wrapped: Any = {**around, path[-1]: [value]}
    if path[-2:] == ("data", "spans") and "info" in context:  # MLflow's data is an object, not a list
        wrapped, path = {"info": context["info"], "data": wrapped}, path[:-1]
    for key in reversed(path[:-1]):
        wrapped = {key: [wrapped]}
    return wrapped
