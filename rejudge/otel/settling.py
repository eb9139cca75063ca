"""From what each span says to what each item is: kinds settled, double reports merged, agents found."""

from __future__ import annotations

from itertools import islice
from typing import Final

from rejudge.models.attributes import SCOPE
from rejudge.otel.conventions.reading import AI_KINDS, MISSING, Reading
from rejudge.otel.conventions.shape import read_content, read_span
from rejudge.otel.failures import failure_of
from rejudge.otel.tree import Item


def settle(items: list[Item]) -> None:
    """Read every item, settle its kind, and merge what was reported twice."""
    for item in items:
        item.reading = read_span(item.span, item.records)
    _settle_kinds(items)
    _absorb_events(items)
    calls = [item for item in items if item.kind == "llm"]
    tools = [item for item in items if item.kind == "tool"]
    _prefer_ours([item for item in items if item.span.scope == SCOPE])
    _drop_transports(tools)
    _merge_nested_calls(calls)
    _merge_same_answers(calls)
    _merge_beside(calls)
    _find_agents(items)


def is_ai(item: Item) -> bool:
    """True for a model, tool, agent or embedding item."""
    return item.kind in AI_KINDS


def _settle_kinds(items: list[Item]) -> None:
    undecided = False
    for item in items:
        kind = item.reading.kind
        if kind is None:
            undecided = True
        else:
            item.kind = kind
            if kind == "drop":
                item.elided = True
    if undecided:
        _settle_undecided(items)


def _settle_undecided(items: list[Item]) -> None:
    """A span that counts tokens of a model, and has no AI span below, is a model call. Deepest first."""
    above_ai: set[int] = set()
    for item in sorted(items, key=_depth, reverse=True):
        if item.reading.kind is None and id(item) not in above_ai:
            reading = item.reading
            counted = reading.input_tokens is not None or reading.output_tokens is not None
            if counted and (reading.model is not None or reading.requested_model is not None):
                item.kind = reading.kind = "llm"
                read_content(item.span, item.records, reading)
        if item.parent is not None and (is_ai(item) or id(item) in above_ai):
            above_ai.add(id(item.parent))


def _depth(item: Item) -> int:
    return item.depth


def _absorb_events(items: list[Item]) -> None:
    """A log written as a span (Logfire's end of a stream) completes the call before it, and is no node.

    Its token counts are not taken over: the call itself did not report any.
    """
    if not any(item.kind == "event" for item in items):
        return
    waiting: dict[int, Item] = {}
    for item in items:
        if item.kind == "llm":
            reading = item.reading
            if reading.output_messages is None and reading.messages_out is None:
                waiting[id(item.parent)] = item
        elif item.kind == "event":
            item.elided = True
            call = waiting.pop(id(item.parent), None)
            if call is not None:
                theirs = item.reading
                call.reading.offer(
                    response_id=theirs.response_id,
                    model=theirs.model,
                    finish_reasons=theirs.finish_reasons,
                    output_messages=theirs.output_messages,
                    messages_out=theirs.messages_out,
                )
                item.merged_into = call


def _prefer_ours(recorded: list[Item]) -> None:
    """A call that an instrumentation saw around ours is ours: it holds the exact payloads, and every attempt.

    Not where a model's answer came and only the instrumentation saw it fail.
    """
    inside: dict[int, list[Item]] = {}
    around: dict[int, Item] = {}
    for item in recorded:
        if item.kind in ("llm", "tool"):
            outer = _same_call_above(item)
            if outer is not None:
                around[id(outer)] = outer
                inside.setdefault(id(outer), []).append(item)
    for identity, outer in around.items():
        ours = inside[identity]
        failed_outside = outer.span.status_code == 2 and all(item.span.status_code != 2 for item in ours)
        if outer.kind == "llm" and failed_outside:
            continue
        outer.elided = True
        for item in ours:
            item.reading.offer(agent_name=outer.reading.agent_name, provider=outer.reading.provider)


def _same_call_above(item: Item) -> Item | None:
    above = item.parent
    while above is not None and above.kind not in AI_KINDS:
        above = above.parent
    if above is None or above.kind != item.kind or above.elided or above.span.scope == SCOPE:
        return None
    return above if item.kind == "llm" or above.reading.tool_name == item.reading.tool_name else None


def _drop_transports(tools: list[Item]) -> None:
    """A tool call inside a call of the same tool, without a payload, is only its way: an MCP client's request."""
    for item in tools:
        if item.elided or item.reading.arguments is not MISSING:
            continue
        above = item.parent
        while above is not None and above.kind not in AI_KINDS:
            above = above.parent
        if above is None or above.kind != "tool" or above.elided or item.reading.result is not MISSING:
            continue
        if above.reading.tool_name == item.reading.tool_name and above.reading.arguments is not MISSING:
            item.elided, item.merged_into = True, above
            _hand_up_failure(item, above)


def _hand_up_failure(inner: Item, outer: Item) -> None:
    """A tool's failure that a framework caught is known to its own span alone, and is the tool's all the same."""
    failure = failure_of(inner)
    if failure is not None and failure_of(outer) is None:
        outer.reading.failed = True
        outer.reading.error = failure.text
        outer.reading.error_type = failure.type


def _merge_nested_calls(calls: list[Item]) -> None:
    """A model call directly inside a model call is the same call, seen by a framework and by a client."""
    for item in calls:
        # Langfuse has told its own types, and counts what it calls a generation.
        if item.span.source == "langfuse":
            continue
        outer = _call_above(item)
        if outer is not None:
            _merge(item, outer)


def _call_above(item: Item) -> Item | None:
    above = item.parent
    while above is not None:
        if above.kind == "llm" and (above.merged_into is not None or not above.elided):
            return above.merged_into or above
        if above.kind in ("tool", "agent"):
            return None
        above = above.parent
    return None


def _merge_same_answers(calls: list[Item]) -> None:
    """Two reports of one answer: the same response id in a trace, at the same time or from two instrumentations."""
    first: dict[tuple[str, str], Item] = {}
    for item in calls:
        identity = item.reading.response_id
        if item.elided or not isinstance(identity, str):
            continue
        other = first.setdefault((item.span.trace_id, identity), item)
        if other is item:
            continue
        overlapping = item.span.start_ns < other.span.end_ns
        if overlapping or item.span.scope != other.span.scope:
            _merge(item, other)


def _merge_beside(calls: list[Item]) -> None:
    """Two reports of one call that no id ties together (one that failed has none).

    Below the same span, one within the other's time, by two instrumentations, of the same model and as many tokens.
    """
    beside: dict[str, list[Item]] = {}
    for item in calls:
        if not item.elided:
            beside.setdefault(item.span.trace_id, []).append(item)
    for group in beside.values():
        if len({item.span.scope for item in group}) > 1:
            _merge_pairs(group)


_AT_ONCE: Final = 64
"""Calls under way at once that a second report is looked for among."""


def _merge_pairs(group: list[Item]) -> None:
    unpaired: list[Item] = []
    for item in group:  # by start
        near = islice(reversed(unpaired), _AT_ONCE)
        outer = next((other for other in near if _is_same_call(item, other)), None)
        if outer is None:
            unpaired.append(item)
        else:
            unpaired.remove(outer)
            _merge(item, outer)


def _is_same_call(inner: Item, outer: Item) -> bool:
    mine, theirs = inner.reading, outer.reading
    return (
        inner.span.scope != outer.span.scope
        and inner.span.end_ns <= outer.span.end_ns
        and (inner.span.status_code == 2) == (outer.span.status_code == 2)
        and (mine.response_id is None or theirs.response_id is None)
        and (mine.requested_model or mine.model) == (theirs.requested_model or theirs.model)
        and (mine.input_tokens is None or theirs.input_tokens is None or mine.input_tokens == theirs.input_tokens)
        and _is_below(outer, inner.parent)
    )


def _is_below(item: Item, other: Item | None) -> bool:
    above = item.parent
    while above is not None and above is not other:
        above = above.parent
    return above is other


def _merge(inner: Item, outer: Item) -> None:
    """Make ``inner`` part of ``outer``: facts that only it has are kept."""
    inner.elided = True
    inner.merged_into = outer
    mine, theirs = outer.reading, inner.reading
    for ready, raw in (("messages_out", "output_messages"), ("messages_in", "input_messages")):
        if _has_content(theirs, ready, raw) and not _has_content(mine, ready, raw):
            setattr(mine, ready, getattr(theirs, ready))
            setattr(mine, raw, getattr(theirs, raw))
    if mine.input_tokens is None and mine.output_tokens is None:
        for field in (
            "input_tokens",
            "output_tokens",
            "cached_input_tokens",
            "cache_write_tokens",
            "reasoning_tokens",
        ):
            value = getattr(theirs, field)
            if value is not None:
                setattr(mine, field, value)
    for field in _MERGED:
        value = getattr(theirs, field)
        if value is not None and value is not MISSING and getattr(mine, field) in (None, MISSING):
            setattr(mine, field, value)
    if inner.span.status_code == 2 and mine.failed is None and outer.span.status_code != 1:
        mine.failed = True
        mine.error = mine.error or theirs.error or inner.span.status_message or None


_MERGED = (
    "model", "requested_model", "response_id", "finish_reasons", "cost", "provider", "system", "system_instructions",
    "tool_definitions", "parameters", "cached_input_tokens", "cache_write_tokens", "reasoning_tokens", "agent_name",
)  # fmt: skip


_TOKENS = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens", "reasoning_tokens")


def _has_content(reading: Reading, ready: str, raw: str) -> bool:
    return bool(getattr(reading, ready)) or getattr(reading, raw) not in (None, "[]", [])


def _find_agents(items: list[Item]) -> None:
    """Set what every item runs under; consecutive spans of one agent are one agent."""
    wrapped: dict[int, str] = {}
    for item in sorted(items, key=_depth):
        parent = item.parent
        above = None if parent is None else parent if parent.kind == "agent" else parent.agent
        item.agent = above
        if item.kind == "agent" and above is not None and _same_agent(item, above, wrapped):
            item.merged_into = above.merged_into or above


def _same_agent(inner: Item, outer: Item, wrapped: dict[int, str]) -> bool:
    """True for a wrapper and what it wraps: the same or no name, and nothing called in between.

    A wrapper without a name has that of the first agent in it; others in it are handed over to.
    """
    between = inner.parent
    while between is not None and between is not outer:
        if between.kind in ("llm", "tool"):
            return False
        between = between.parent
    mine = agent_name(inner.reading)
    if not mine:
        return True
    return mine == (agent_name(outer.reading) or wrapped.setdefault(id(outer), mine))


def agent_name(reading: Reading) -> str | None:
    """The name of an agent, where it has one."""
    name = reading.agent_name
    return name if isinstance(name, str) and name else None
