"""Export requests of a small agent run, span by span, as exporters send them: children before parents."""

from __future__ import annotations

import json

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

_START = 1_790_000_000_000_000_000
_SECOND = 1_000_000_000


def request(*names: str, trace: int = 1, service: str = "svc", conversation: str | None = None) -> bytes:
    """An export request of these spans: ``root`` (an agent), ``chat``, ``tool``, ``http``, each below the root."""
    message = ExportTraceServiceRequest()
    resource = message.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = service
    scope = resource.scope_spans.add()
    for name in names:
        span = scope.spans.add(trace_id=trace_id(trace), span_id=span_id(name), name=name)
        if name != "root":
            span.parent_span_id = span_id("root")
        place = _ORDER.index(name)
        span.start_time_unix_nano = _START + place * _SECOND
        span.end_time_unix_nano = _START + (60 if name == "root" else place + 1) * _SECOND
        attributes = dict(_ATTRIBUTES[name])
        if conversation is not None:
            attributes["gen_ai.conversation.id"] = conversation
        for key, value in attributes.items():
            target = span.attributes.add(key=key).value
            if isinstance(value, int):
                target.int_value = value
            else:
                target.string_value = value
    return message.SerializeToString()


def content_logs(*, trace: int = 1) -> bytes:
    """The prompt of the ``chat`` span, as a log record of its own."""
    message = ExportLogsServiceRequest()
    resource = message.resource_logs.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "svc"
    record = resource.scope_logs.add().log_records.add(trace_id=trace_id(trace), span_id=span_id("chat"))
    record.time_unix_nano = _START + _SECOND
    record.event_name = "gen_ai.client.inference.operation.details"
    messages = [{"role": "user", "parts": [{"type": "text", "content": "hello from a log"}]}]
    record.attributes.add(key="gen_ai.input.messages").value.string_value = json.dumps(messages)
    return message.SerializeToString()


def trace_id(number: int) -> bytes:
    """The id of a trace."""
    return number.to_bytes(16, "big")


def span_id(name: str) -> bytes:
    """The id of a span."""
    return (_ORDER.index(name) + 1).to_bytes(8, "big")


_ORDER = ("root", "chat", "tool", "http")
_ATTRIBUTES: dict[str, dict[str, str | int]] = {
    "root": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "support"},
    "chat": {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"secret 4711"}]}]',
    },
    "tool": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look_up"},
    "http": {"http.request.method": "POST"},
}
