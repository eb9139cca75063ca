"""Content that travels beside the attributes: span events and log records, in the five ways they were specified.

(a) ``gen_ai.content.prompt`` / ``….completion`` with a JSON attribute; (b) ``gen_ai.user.message``… and
``gen_ai.choice`` as span events; (c) the same as log records, named by a field or by an attribute; (d)
``gen_ai.client.inference.operation.details``, as either; (e) the records of vendors, which their conventions read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from rejudge.otel.conventions.messages import Message, message_of, messages_of
from rejudge.otel.conventions.reading import MISSING, Reading
from rejudge.otel.conventions.values import arguments_of
from rejudge.otel.span import LogRecord, Span
from rejudge.otel.text import undo_json, undo_json_fully

_ROLES: Final[dict[str, str]] = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_DETAILS: Final = frozenset(
    {
        "gen_ai.client.inference.operation.details",
        "gen_ai.client.operation.details",
        "gen_ai.client.inference.details",
    }
)
_DETAIL_FIELDS: Final[dict[str, str]] = {
    "gen_ai.input.messages": "input_messages",
    "gen_ai.output.messages": "output_messages",
    "gen_ai.system_instructions": "system_instructions",
    "gen_ai.tool.definitions": "tool_definitions",
}


class Event(NamedTuple):
    """A span event or a log record, looked at the same way."""

    name: str
    body: dict[str, Any]
    index: Any


def event_name(record: LogRecord) -> str:
    """The name of a log record's event: a field in newer producers, an attribute in older ones."""
    if record.name.startswith("gen_ai."):
        return record.name
    said = record.attributes.get("event.name")
    return said if isinstance(said, str) and said else record.name


def read_events(span: Span, records: Iterable[LogRecord], reading: Reading) -> None:
    """Give a reading what its span's events and log records say."""
    events = [
        Event(event.name, event.attributes, event.attributes.get("gen_ai.message.index")) for event in span.events
    ]
    events += map(_of_record, records)
    if events:
        read_all(events, reading)


def read_all(events: list[Event], reading: Reading) -> None:
    """Give a reading what some events say, in their order."""
    before: list[Message] = []
    after: list[Message] = []
    if reading.kind == "tool":
        return _read_tool(events, reading)
    for event in _ordered(events):
        role = _ROLES.get(event.name)
        if role is not None:
            before += _messages(event, role)
        elif event.name == "gen_ai.choice":
            after += _messages(event, "assistant")
        elif event.name in _DETAILS:
            _read_details(event, reading)
        elif event.name == "gen_ai.content.prompt":
            reading.offer(input_messages=event.body.get("gen_ai.prompt"))
        elif event.name == "gen_ai.content.completion":
            reading.offer(output_messages=event.body.get("gen_ai.completion"))
        elif event.name == "gen_ai.evaluation.result":
            reading.offer(evaluations=[])
            reading.__dict__["evaluations"].append(_evaluation(event.body))
    if before and reading.input_messages is None:
        reading.offer(messages_in=before)
    if after and reading.output_messages is None:
        reading.offer(messages_out=after)
        if reading.finish_reasons is None:
            reading.finish_reasons = after[-1].get("finish_reason")


def events_of_list(value: Any) -> list[Event]:
    """The events of pydantic-ai's and Logfire's ``events`` attribute: a JSON list of event bodies."""
    items = undo_json(value)
    if not isinstance(items, list):
        return []
    return [
        Event(str(item.get("event.name", "")), item, item.get("gen_ai.message.index"))
        for item in items
        if isinstance(item, dict)
    ]


def _of_record(record: LogRecord) -> Event:
    body = undo_json(record.body)
    name = event_name(record)
    if not isinstance(body, dict):
        body = record.attributes if body is None else {**record.attributes, "content": body}
    elif name in _DETAILS:
        body = {**record.attributes, **body}
    attributes = record.attributes
    return Event(name, body, attributes.get("gen_ai.message.index", attributes.get("CHAT_MESSAGE_INDEX")))


def _ordered(events: list[Event]) -> list[Event]:
    """By the index the producer gave, where it gave any; else as they came."""
    if any(isinstance(event.index, int) for event in events):
        return sorted(events, key=lambda event: event.index if isinstance(event.index, int) else 1 << 30)
    return events


def _messages(event: Event, role: str) -> list[Message]:
    body = event.body
    content = body.get("content")
    inner = body.get("message")
    if isinstance(inner, dict):
        message = message_of({**inner, "role": inner.get("role") or role}, role)
    elif inner is not None:
        undone = undo_json(inner)
        message = message_of({"role": role, "content": undone}, role)
    elif content is None and not body.get("tool_calls"):
        return []
    else:
        message = message_of({**body, "role": body.get("role") or role, "content": undo_json(content)}, role)
    reason = body.get("finish_reason")
    if isinstance(reason, str) and reason:
        message["finish_reason"] = reason
    message.pop("name", None) if message.get("name") is None else None
    return [message]


def _read_tool(events: list[Event], reading: Reading) -> None:
    """On a tool's span the ``tool`` message is what went in, and the choice what came out."""
    for event in events:
        if event.name == "gen_ai.tool.message":
            reading.offer(arguments=arguments_of(event.body.get("content")))
        elif event.name == "gen_ai.choice":
            message = event.body.get("message")
            if message is not None:
                reading.offer(result=_plain(undo_json(message)))
        elif event.name in _DETAILS:
            for field, key in (("arguments", "gen_ai.input.messages"), ("result", "gen_ai.output.messages")):
                parts = [part for said in messages_of(event.body.get(key)) for part in said["parts"]]
                for part in parts:
                    if field in part:
                        reading.offer(arguments=part["arguments"])
                    elif field == "result" and part.get("type") == "tool_call_response":
                        reading.offer(result=_plain(part.get("response")))


def _plain(value: Any) -> Any:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        only = value[0]
        if set(only) == {"text"}:
            return undo_json_fully(only["text"])
        if set(only) == {"json"}:
            return only["json"]
    return undo_json_fully(value)


def _read_details(event: Event, reading: Reading) -> None:
    """One record may carry everything, or (Strands) one side at a time."""
    for key, field in _DETAIL_FIELDS.items():
        value = event.body.get(key)
        if value is not None and value != "<elided>" and getattr(reading, field, MISSING) is None:
            setattr(reading, field, value)
    for key, field in (
        ("gen_ai.response.id", "response_id"),
        ("gen_ai.response.model", "model"),
        ("gen_ai.response.finish_reasons", "finish_reasons"),
        ("gen_ai.usage.input_tokens", "input_tokens"),
        ("gen_ai.usage.output_tokens", "output_tokens"),
        ("gen_ai.usage.cache_read.input_tokens", "cached_input_tokens"),
        ("gen_ai.usage.reasoning.output_tokens", "reasoning_tokens"),
    ):
        reading.offer(**{field: event.body.get(key)})


def _evaluation(body: dict[str, Any]) -> dict[str, Any]:
    prefix = "gen_ai.evaluation."
    return {key.removeprefix(prefix): value for key, value in body.items() if key.startswith(prefix)}
