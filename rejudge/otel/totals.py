"""What a whole session adds up to: counts, tokens, names, inputs, outputs, status."""

from __future__ import annotations

from typing import Any

from rejudge.otel.conventions.messages import (
    first_user_text,
    last_assistant_text,
    last_user_text,
    messages_of,
    output_messages_of,
)
from rejudge.otel.conventions.reading import MISSING
from rejudge.otel.conventions.values import count, money
from rejudge.otel.facts import messages_after, messages_before, moment
from rejudge.otel.failures import Failure
from rejudge.otel.producers import framework_of
from rejudge.otel.settling import agent_name, is_ai
from rejudge.otel.span import LogRecord
from rejudge.otel.stated import take_stated
from rejudge.otel.text import undo_json
from rejudge.otel.tree import Item


def session_facts(
    items: list[Item],
    nodes: list[dict[str, Any]],
    failures: dict[int, Failure],
    records: list[LogRecord],
    *,
    source: str,
    external_id: str,
) -> dict[str, Any]:
    """Every field of the session of some items and the facts of their nodes; digest and cost are still to come."""
    roots = [item for item in items if item.parent is None and not item.elided]
    main = _main_roots(roots, items)
    calls = [facts for facts in nodes if facts["node_type"] == "llm_call"]
    tools = [facts for facts in nodes if facts["node_type"] == "tool_call" and not facts["inferred"]]
    ends = [item.span.end_ns for item in items]
    open_ones = 0 in ends
    failure = failures.get(id(main[-1]))
    resource = dict(main[0].span.resource)
    stated = take_stated(resource)
    facts = {
        "id": "",
        "number": 0,
        "agent": "",
        "agent_version": None,
        "external_id": external_id,
        "source": source,
        "origin": "imported",
        "status": "in_progress" if open_ones else "failed" if failure else "completed",
        "name": main[0].span.name or None,
        "framework": framework_of(items),
        "user_id": _first([item.reading.user_id for item in items]),
        "started_at": moment(items[0].span.start_ns),
        "ended_at": None if open_ones else moment(max(ends)),
        "error": failure.text if failure else None,
        "llm_call_count": len(calls),
        "llm_error_count": sum([facts["status"] == "failed" for facts in calls]),
        "tool_call_count": len(tools),
        "tool_error_count": sum([facts["status"] == "failed" for facts in tools]),
        "node_count": len(nodes),
        "tool_names": _tool_names(tools),
        "agents": tuple(
            dict.fromkeys(name for item in items if item.kind == "agent" if (name := agent_name(item.reading)))
        ),
        "models": tuple(dict.fromkeys(facts["model"] for facts in calls if facts["model"])),
        "providers": tuple(dict.fromkeys(facts["provider"] for facts in calls if facts["provider"])),
        **_tokens(items, calls),
        "cost": None,
        "cost_status": None,
        "recorded_cost": money(main[0].reading.cost) if len(main) == 1 and main[0].kind != "llm" else None,
        "digest": "",
        "complete": not open_ones and not any([item.orphan for item in items]),
        "tags": (),
        "parent_session_id": None,
        "inputs": stated["inputs"] if "inputs" in stated else _inputs(items, main, records),
        "outputs": stated["outputs"] if "outputs" in stated else _outputs(items, main, records),
        "metadata": {"resource": resource} if resource else None,
    }
    return {**facts, **stated}


def _tool_names(tools: list[dict[str, Any]]) -> tuple[str, ...]:
    """One name per call, in the order in which the calls came back; those that did not, last."""
    ended = sorted(tools, key=lambda facts: (facts["ended_at"] is None, facts["ended_at"] or facts["index"]))
    return tuple(facts["tool_name"] or facts["name"] for facts in ended)


def _main_roots(roots: list[Item], items: list[Item]) -> list[Item]:
    """The roots that hold something of an agent, one per turn; all of them where none does."""
    bearing: set[int] = set()
    for item in items:
        if is_ai(item):
            top = item
            while top.parent is not None and id(top) not in bearing:
                top = top.parent
            bearing.add(id(top))
    return [root for root in roots if id(root) in bearing] or roots or items[:1]


def _tokens(items: list[Item], calls: list[dict[str, Any]]) -> dict[str, int | None]:
    totals = {
        name: _sum([facts[name] for facts in calls])
        for name in ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")
    }
    if not calls:
        # No call has a span of its own: what the agents counted is all there is.
        counted = [item for item in items if item.kind == "agent" and not _counted_above(item)]
        totals["input_tokens"] = _sum(count(item.reading.input_tokens) for item in counted)
        totals["output_tokens"] = _sum(count(item.reading.output_tokens) for item in counted)
    return totals


def _counted_above(item: Item) -> bool:
    above = item.agent
    while above is not None:
        if above.reading.input_tokens is not None:
            return True
        above = above.agent
    return False


def _sum(values: Any) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _first(values: Any) -> Any:
    for value in values:
        if isinstance(value, str) and value:
            return value
    return None


def _inputs(items: list[Item], main: list[Item], records: list[LogRecord]) -> Any:
    """What the run was started with: what its root was given, else what the user said first."""
    root = main[0]
    if root.reading.exact and root.reading.inputs is not MISSING:
        return root.reading.inputs
    if root.reading.inputs is not MISSING and root.kind != "llm":
        given = undo_json(root.reading.inputs)
        if given not in (None, "", {}, []):
            return _user_text(given)
    for record in records:
        if _event(record).endswith("user_prompt") and isinstance(record.attributes.get("prompt"), str):
            return record.attributes["prompt"]
    for item in items:
        if item.kind in ("agent", "llm", "workflow"):
            before = messages_before(item.reading)
            # A model is told what was said in earlier turns too; of these the session may hold nothing.
            said = last_user_text(before) if item.kind == "llm" else first_user_text(before)
            if said is not None:
                return said
    return None


def _event(record: LogRecord) -> str:
    return str(record.attributes.get("event.name", ""))


def _outputs(items: list[Item], main: list[Item], records: list[LogRecord]) -> Any:
    """The final answer: what the last root gave back, else the last words of a model."""
    root = main[-1]
    if root.reading.exact and root.reading.outputs is not MISSING:
        return root.reading.outputs
    if root.reading.outputs is not MISSING and root.kind != "llm":
        given = undo_json(root.reading.outputs)
        if given not in (None, "", {}, []):
            return _assistant_text(given)
    ordered = sorted((item for item in items if item.kind in ("llm", "agent") and not item.elided), key=_end)
    for item in reversed(ordered):
        said = last_assistant_text(messages_after(item.reading))
        if said is not None:
            return said
    for record in reversed(records):
        if _event(record).endswith("assistant_response") and isinstance(record.attributes.get("response"), str):
            return record.attributes["response"]
    last_tool = next((item for item in reversed(items) if item.kind == "tool"), None)
    if last_tool is not None and last_tool.reading.tool_name == "final_answer":
        return None if last_tool.reading.result is MISSING else undo_json(last_tool.reading.result)
    return None


def _end(item: Item) -> int:
    return item.span.end_ns


def _user_text(given: Any) -> Any:
    """What a user said, where the input of a root is messages or a call's arguments; else the input itself."""
    messages = _messages_in(given)
    if messages is not None:
        return last_user_text(messages_of(messages)) or given
    if isinstance(given, dict) and given.keys() == {"args", "kwargs"}:
        positional, named = given["args"], given["kwargs"]
        if not named and isinstance(positional, list) and len(positional) == 1:
            return _user_text(positional[0])
        if not positional and named:
            return named
    return given


def _messages_in(given: Any) -> Any:
    """The messages of an input: the input itself, under ``messages``, or under a component's name and that."""
    if isinstance(given, list):
        return given if given and all(isinstance(item, dict) and "role" in item for item in given) else None
    if not isinstance(given, dict):
        return None
    if isinstance(given.get("messages"), list):
        return given["messages"]
    inner = [item["messages"] for item in given.values() if isinstance(item, dict) and "messages" in item]
    return inner[0] if len(inner) == 1 and isinstance(inner[0], list) else None


def _assistant_text(given: Any) -> Any:
    messages = _messages_in(given)
    if messages is not None:
        return last_assistant_text(messages_of(messages, "assistant")) or given
    if isinstance(given, dict) and ("choices" in given or given.get("role") == "assistant"):
        return last_assistant_text(output_messages_of(given)) or given
    return given
