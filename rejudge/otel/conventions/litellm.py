"""LiteLLM's callback: ``litellm_request`` is the call, ``raw_gen_ai_request`` below it the same again."""

from __future__ import annotations

from typing import Final

from rejudge.otel.conventions.flat import indexed
from rejudge.otel.conventions.messages import output_messages_of
from rejudge.otel.conventions.reading import Convention, Kind, Reading
from rejudge.otel.conventions.usage import read_usage
from rejudge.otel.conventions.values import python_literal
from rejudge.otel.span import Attributes, Span
from rejudge.otel.text import undo_json

FIELDS: Final[dict[str, str]] = {
    "hidden_params.response_cost": "cost",
    "metadata.user_api_key_user_id": "user_id",
}


_INNER: Final = frozenset(
    {"Received Proxy Server Request", "proxy_pre_call", "self", "router", "postgres", "redis", "auth"}
)


_CALL: Final = "gen_ai.completion.0.function_call.name"


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return scope == "litellm" or "litellm.call_id" in keys


def _kind(span: Span, reading: Reading) -> Kind | None:
    if span.name == "raw_gen_ai_request":
        return "span"
    if span.name == "litellm_request":
        return "llm"
    if span.name in (
        "Received Proxy Server Request",
        "proxy_pre_call",
        "self",
        "router",
        "postgres",
        "redis",
        "auth",
    ):
        return "span"
    return None


def _read(span: Span, reading: Reading) -> None:
    if reading.kind == "llm" and _CALL in span.attributes:
        _read_call(span.attributes, reading)
    usage = span.attributes.get("metadata.usage_object")
    if reading.kind == "llm" and usage is not None:
        counts = python_literal(usage)
        if isinstance(counts, dict):
            read_usage(counts, reading)
    parameters = undo_json(span.attributes.get("llm.openai.extra_body"))
    if reading.kind == "llm" and isinstance(parameters, dict):
        reading.offer(parameters=parameters)


def _read_call(attributes: Attributes, reading: Reading) -> None:
    """A requested tool call stands beside the answer's messages, which are empty then."""
    messages = output_messages_of(reading.output_messages) or [{"role": "assistant", "parts": []}]
    if messages[0]["parts"]:
        return
    calls = [flat for flat in indexed(attributes, "gen_ai.completion.") if "function_call.name" in flat]
    parts = [
        {
            "type": "tool_call",
            "id": None,
            "name": flat["function_call.name"],
            "arguments": undo_json(flat.get("function_call.arguments")),
        }
        for flat in calls
    ]
    reading.offer(messages_out=[{**messages[0], "parts": parts}, *messages[1:]])


CONVENTION: Final = Convention(
    name="litellm",
    claims=_claims,
    fields=FIELDS,
    kind=_kind,
    read=_read,
    sessions=("metadata.session_id", "metadata.trace_session_id", "litellm.session_id"),
)
