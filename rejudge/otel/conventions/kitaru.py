"""Kitaru's canonical nodes, as the container reader of that name puts them into spans."""

from __future__ import annotations

from typing import Any, Final

from rejudge.otel.conventions.messages import messages_of, output_messages_of
from rejudge.otel.conventions.reading import Convention, Kind, Reading
from rejudge.otel.conventions.usage import read_usage
from rejudge.otel.span import Span

NODE: Final = "kitaru.node"
_KINDS: Final[dict[str, Kind]] = {"llm_call": "llm", "tool_call": "tool", "subagent_call": "agent"}


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return NODE in keys


def _kind(span: Span, reading: Reading) -> Kind | None:
    node = span.attributes[NODE]
    said = node.get("node_type") if isinstance(node, dict) else None
    return _KINDS.get(said, "span") if isinstance(said, str) else "span"


def _read(span: Span, reading: Reading) -> None:
    node: Any = span.attributes[NODE]
    if not isinstance(node, dict):
        return
    tokens = node.get("tokens")
    if isinstance(tokens, dict):
        read_usage({"total_tokens": None, **tokens}, reading)
        reading.offer(
            cached_input_tokens=tokens.get("cached_input_tokens"), reasoning_tokens=tokens.get("reasoning_tokens")
        )
    reading.offer(
        model=node.get("model"),
        requested_model=node.get("requested_model"),
        provider=node.get("model_provider"),
        cost=node.get("cost"),
        error=node.get("error"),
    )
    inputs, outputs = node.get("inputs"), node.get("outputs")
    if reading.kind == "llm":
        reading.offer(
            messages_in=messages_of(inputs),
            messages_out=output_messages_of(outputs),
            parameters=node.get("model_params"),
        )
        if isinstance(inputs, dict):
            reading.offer(system_instructions=inputs.get("system_instructions"), tool_definitions=inputs.get("tools"))
    elif reading.kind == "tool":
        reading.offer(tool_name=node.get("tool_name") or node.get("name"), arguments=inputs, result=outputs)
    elif reading.kind == "agent":
        reading.offer(agent_name=node.get("subagent_id") or node.get("name"))
    reading.offer(inputs=inputs, outputs=outputs)


CONVENTION: Final = Convention(
    name="kitaru",
    claims=_claims,
    fields={},
    kind=_kind,
    read=_read,
    sessions=("kitaru.session_id",),
    consumed=(NODE,),
)
