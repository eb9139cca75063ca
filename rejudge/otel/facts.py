"""From an item to a node: the fields of `Node`, with payloads in the GenAI message schema."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import orjson

from rejudge.models.session import Node, PayloadBlobs
from rejudge.otel.conventions.histories import history_of
from rejudge.otel.conventions.messages import Message, output_messages_of
from rejudge.otel.conventions.parts import parts_of
from rejudge.otel.conventions.reading import MISSING, Kind, Reading
from rejudge.otel.conventions.shape import shape_of
from rejudge.otel.conventions.values import arguments_of, count, money, result_of
from rejudge.otel.failures import Failure
from rejudge.otel.providers import provider_of
from rejudge.otel.span import Span
from rejudge.otel.text import undo_json
from rejudge.otel.tree import Item

_TOLD_KINDS: Final = frozenset({"agent", "workflow", "embedding", "retrieval"})


BLANK: Final[dict[str, Any]] = {
    "id": "",
    "index": 0,
    "node_type": "span",
    "name": "",
    "status": "completed",
    "parent_id": None,
    "link_ids": (),
    "trace_id": None,
    "started_at": None,
    "ended_at": None,
    "tool_name": None,
    "tool_call_id": None,
    "agent_name": None,
    "model": None,
    "requested_model": None,
    "provider": None,
    "response_id": None,
    "finish_reason": None,
    "input_tokens": None,
    "output_tokens": None,
    "cached_input_tokens": None,
    "cache_write_tokens": None,
    "reasoning_tokens": None,
    "cost": None,
    "cost_status": None,
    "error": None,
    "error_type": None,
    "inferred": False,
    "incomplete": None,
    "inputs": None,
    "outputs": None,
    "attributes": None,
}
"""Every field of a node, as it is where nothing is known."""


def facts_of(item: Item, index: int, failure: Failure | None, *, subagent: bool) -> dict[str, Any]:
    """Every field of the node of an item, payloads included; ids of parents and links are the caller's."""
    span, reading, kind = item.span, item.reading, item.kind
    facts = BLANK.copy()
    facts["id"] = item.node_id
    facts["index"] = index
    facts["name"] = span.name
    facts["parent_id"] = span.parent_id
    facts["trace_id"] = span.trace_id
    facts["started_at"] = moment(span.start_ns)
    if span.end_ns:
        facts["ended_at"] = moment(span.end_ns)
    else:
        facts["status"] = "in_progress"
    if failure is not None:
        facts["status"] = "failed"
        facts["error"], facts["error_type"] = failure
    facts["inputs"], facts["outputs"], incomplete = payloads_of(item)
    facts["incomplete"] = reading.incomplete or _damage(span) or incomplete
    name = reading.agent_name or (None if item.agent is None else item.agent.reading.agent_name)
    facts["agent_name"] = name if isinstance(name, str) else None
    more: dict[str, Any] = {}
    if kind == "llm" or kind == "embedding":
        more = _call_facts(facts, reading, kind)
    elif kind == "tool":
        facts["node_type"] = "tool_call"
        facts["tool_name"] = _text(reading.tool_name)
        facts["tool_call_id"] = _text(reading.tool_call_id)
    elif kind == "agent":
        if subagent:
            facts["node_type"] = "subagent_call"
        more = _summed(reading)
    facts["attributes"] = _rest(item, more)
    return facts


def _call_facts(facts: dict[str, Any], reading: Reading, kind: Kind) -> dict[str, Any]:
    """Set the fields of a model call; gives what belongs among its attributes."""
    requested = _text(reading.requested_model)
    model = _text(reading.model) or requested
    facts["model"] = model
    facts["requested_model"] = requested
    facts["provider"] = provider_of(reading.provider, reading.system, model)
    facts["response_id"] = _text(reading.response_id)
    if kind == "llm":
        facts["node_type"] = "llm_call"
        facts["finish_reason"] = _finish_reason(reading.finish_reasons) or _said_reason(facts["outputs"])
    (
        facts["input_tokens"],
        facts["output_tokens"],
        facts["cached_input_tokens"],
        facts["cache_write_tokens"],
        facts["reasoning_tokens"],
    ) = tokens_of(reading)
    facts["cost"] = money(reading.cost)
    if not (reading.input_audio_tokens or reading.output_audio_tokens):
        return {}
    return {
        "input_audio_tokens": count(reading.input_audio_tokens),
        "output_audio_tokens": count(reading.output_audio_tokens),
    }


def _summed(reading: Reading) -> dict[str, Any]:
    """What an agent's span counts is the sum of its calls, and no count of its own."""
    return {
        "summed.input_tokens": count(reading.input_tokens),
        "summed.output_tokens": count(reading.output_tokens),
    }


def _damage(span: Span) -> str | None:
    return "redacted" if span.redacted else "truncated" if span.truncated else None


def node_of(facts: dict[str, Any], blobs: PayloadBlobs) -> Node:
    """The node of some facts, unchecked. Its payloads stay as their JSON: as objects they take five times the room.

    Args:
        facts: Taken over, without their payloads.
        blobs: The JSON of those, as `rejudge.otel.digest` wrote it.
    """
    del facts["inputs"], facts["outputs"], facts["attributes"]  # Node.lazy_fields
    return Node.from_facts(facts, partial(_payloads_in, blobs), blobs=blobs)


def _payloads_in(blobs: PayloadBlobs) -> dict[str, Any]:
    pair, attributes = blobs
    inputs, outputs = (None, None) if pair is None else orjson.loads(pair)
    return {
        "inputs": inputs,
        "outputs": outputs,
        "attributes": None if attributes is None else orjson.loads(attributes),
    }


def tokens_of(reading: Reading) -> tuple[int | None, int | None, int | None, int | None, int | None]:
    """Input with its cached part, output with its reasoned part, and the parts: cached, written, reasoned.

    A part that is larger than its whole shows that the producer counts them apart: then they are added up.
    """
    inputs, outputs = count(reading.input_tokens), count(reading.output_tokens)
    cached, written = count(reading.cached_input_tokens), count(reading.cache_write_tokens)
    reasoning = count(reading.reasoning_tokens)
    if inputs is not None and (cached or 0) + (written or 0) > inputs:
        inputs += (cached or 0) + (written or 0)
    if outputs is not None and reasoning is not None and reasoning > outputs:
        outputs += reasoning
    return inputs, outputs, cached, written, reasoning


def payloads_of(item: Item) -> tuple[Any, Any, str | None]:
    """Inputs and outputs of an item, and why they are not whole."""
    reading = item.reading
    if item.kind == "llm":
        return _call_payloads(reading)
    if item.kind == "tool":
        arguments, result = reading.arguments, reading.result
        if arguments is MISSING and result is MISSING:
            return None, None, "not captured"
        if reading.exact:
            return _known(arguments), _known(result), "not captured" if arguments is MISSING else None
        inputs = None if arguments is MISSING else arguments_of(arguments)
        outputs = None if result is MISSING else result_of(result)
        return inputs, outputs, "not captured" if arguments is MISSING else None
    if reading.exact and reading.inputs is not MISSING:
        return reading.inputs, _known(reading.outputs), None
    inputs = undo_json(reading.inputs)
    if inputs is MISSING:
        inputs = messages_before(reading) or None
    outputs = undo_json(reading.outputs)
    if outputs is MISSING:
        outputs = messages_after(reading) or None
    return inputs, outputs, None


def _known(value: Any) -> Any:
    return None if value is MISSING else value


def _call_payloads(reading: Reading) -> tuple[Any, Any, str | None]:
    before, after = messages_before(reading), messages_after(reading)
    inputs: dict[str, Any] = {}
    if before:
        inputs["messages"] = before
    system = reading.system_instructions
    if system:
        inputs["system_instructions"] = _system_parts(system)
    tools = _tools(reading.tool_definitions)
    if tools:
        inputs["tools"] = tools
    if reading.parameters:
        inputs["parameters"] = reading.parameters
    missing = None if before and after else "not captured"
    if not before and not inputs.keys() - {"parameters"} and not inputs:
        return None, {"messages": after} if after else None, missing
    return inputs or None, {"messages": after} if after else None, missing


_known_tools: dict[str, list[Any]] = {}


def _tools(definitions: Any) -> list[Any]:
    """The tools that a call was offered; the same text is decoded once: every call of a conversation repeats it."""
    if not isinstance(definitions, str):
        return [undo_json(tool) for tool in definitions] if isinstance(definitions, list) else []
    known = _known_tools.get(definitions)
    if known is None:
        undone = undo_json(definitions)
        known = [undo_json(tool) for tool in undone] if isinstance(undone, list) else []
        if len(_known_tools) >= 256:
            _known_tools.clear()
        _known_tools[definitions] = known
    return known


def messages_before(reading: Reading) -> list[Message]:
    """What went into a call, normalised. Not kept: the messages of all calls at once are what memory goes to."""
    return history_of(reading.input_messages) if reading.messages_in is None else reading.messages_in


def messages_after(reading: Reading) -> list[Message]:
    """What came out of a call, normalised; not kept."""
    return output_messages_of(reading.output_messages) if reading.messages_out is None else reading.messages_out


_known_systems: dict[str, list[dict[str, Any]]] = {}


def _system_parts(system: Any) -> list[dict[str, Any]]:
    """The parts of a system prompt; the same text is decoded once."""
    if type(system) is not str:
        return _parts_of_system(system)
    known = _known_systems.get(system)
    if known is None:
        if len(_known_systems) >= 256:
            _known_systems.clear()
        known = _known_systems[system] = _parts_of_system(system)
    return known


def _parts_of_system(system: Any) -> list[dict[str, Any]]:
    system = undo_json(system)
    if isinstance(system, str) and system[:1] == '"':
        system = system.strip('"')
    if isinstance(system, dict) and isinstance(system.get("parts"), list):
        system = system["parts"]
    return parts_of(system)


def _rest(item: Item, more: dict[str, Any]) -> dict[str, Any] | None:
    attributes = item.span.attributes
    rest = {key: attributes[key] for key in shape_of(item.span).rest}
    if item.kind in _TOLD_KINDS:
        rest["rejudge.kind"] = item.kind
    evaluations = item.reading.__dict__.get("evaluations")
    if evaluations:
        rest["gen_ai.evaluations"] = evaluations
    for name, value in more.items():
        if value is not None:
            rest[name] = value
    return rest or None


def _finish_reason(value: Any) -> str | None:
    value = undo_json(value)
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, str) or not value:
        return None
    return value.removeprefix("FinishReason.").lower() if value.startswith("FinishReason.") else value


def _said_reason(outputs: Any) -> str | None:
    """The finish reason that only the answer itself tells."""
    messages = outputs["messages"] if outputs else None
    return _finish_reason(messages[-1].get("finish_reason")) if messages else None


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value or None
    return None if value is None or value is MISSING or isinstance(value, dict | list) else str(value)


_SECOND: Final = 1_000_000_000


def moment(nanoseconds: int) -> datetime | None:
    """The time of some nanoseconds since the epoch, to the microsecond; None outside the years 1 to 9999.

    The first millisecond of 1970 is None too: producers that do not know the time write 0.
    """
    if 0 <= nanoseconds < 1_000_000:
        return None
    try:
        return datetime.fromtimestamp(nanoseconds // 1000 / 1_000_000, UTC)
    except (OverflowError, ValueError, OSError):
        return None
