"""Tools that started at the same time, in the order in which the model asked for them.

Calls that a model asks for at once start together, and some clocks tell milliseconds only.
"""

from __future__ import annotations

from rejudge.otel.facts import messages_after
from rejudge.otel.tree import Item


def order_tied_tools(items: list[Item]) -> None:
    """Put tools that are tied behind one call in order; everything else stays where it is."""
    call: Item | None = None
    start = 0
    while start < len(items):
        item = items[start]
        end = start + 1
        if item.kind == "llm" and not item.elided:
            call = item
        elif item.kind == "tool":
            while end < len(items) and _is_tied(items[end], item):
                end += 1
            if end - start > 1 and call is not None:
                asked = _asked(call)
                items[start:end] = sorted(
                    items[start:end], key=lambda tied: asked.get(tied.reading.tool_call_id, len(asked))
                )
        start = end


def _is_tied(item: Item, first: Item) -> bool:
    return (
        item.kind == "tool"
        and item.span.start_ns == first.span.start_ns
        and item.span.parent_id == first.span.parent_id
        and item.span.trace_id == first.span.trace_id
    )


def _asked(call: Item) -> dict[object, int]:
    """The place of each call in an answer, by its id."""
    parts = [part for message in messages_after(call.reading) for part in message["parts"]]
    identities = [part.get("id") for part in parts if part.get("type") == "tool_call"]
    return {identity: place for place, identity in enumerate(identities) if isinstance(identity, str)}
