"""LiteLLM's callback: ``litellm_request`` is the call, ``raw_gen_ai_request`` below it the same again."""

from __future__ import annotations

from typing import Final

from rejudge.otel.conventions.reading import Convention, Kind, Reading
from rejudge.otel.span import Span
from rejudge.otel.text import undo_json

FIELDS: Final[dict[str, str]] = {
    "hidden_params.response_cost": "cost",
    "metadata.user_api_key_user_id": "user_id",
}


_INNER: Final = frozenset(
    {"Received Proxy Server Request", "proxy_pre_call", "self", "router", "postgres", "redis", "auth"}
)


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return scope == "litellm"


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
    parameters = undo_json(span.attributes.get("llm.openai.extra_body"))
    if reading.kind == "llm" and isinstance(parameters, dict):
        reading.offer(parameters=parameters)


CONVENTION: Final = Convention(
    name="litellm",
    claims=_claims,
    fields=FIELDS,
    kind=_kind,
    read=_read,
    sessions=("metadata.session_id", "metadata.trace_session_id", "litellm.session_id"),
)
