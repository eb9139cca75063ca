"""Google's Agent Development Kit: ``gcp.vertex.agent.*``, Gemini's own shapes in JSON."""

from __future__ import annotations

from typing import Any, Final

from rejudge.otel.conventions.messages import messages_of, output_messages_of
from rejudge.otel.conventions.reading import Convention, Kind, Reading
from rejudge.otel.conventions.usage import read_usage
from rejudge.otel.span import Span
from rejudge.otel.text import undo_json

_ABSENT: Final = frozenset(
    {"<not specified>", "{}", "", "<elided>", '{"result":"<not specified>"}', "<not serializable>"}
)
_ARGUMENTS: Final = "gcp.vertex.agent.tool_call_args"
_RESULT: Final = "gcp.vertex.agent.tool_response"


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return scope == "gcp.vertex.agent" or any(key.startswith("gcp.vertex.agent.") for key in keys)


def _kind(span: Span, reading: Reading) -> Kind | None:
    if span.name.endswith("(merged tools)") or reading.tool_name == "(merged tools)":
        return "drop"  # stands for parallel calls that have spans of their own
    if reading.operation is not None:
        return None
    attributes = span.attributes
    if span.name == "call_llm" or ("gcp.vertex.agent.llm_request" in attributes and _ARGUMENTS not in attributes):
        if _is_absent(attributes.get("gcp.vertex.agent.llm_request")) and span.name != "call_llm":
            return "tool" if span.name.startswith("execute_tool") else "span"
        return "llm"
    if span.name.startswith("execute_tool") or _ARGUMENTS in attributes:
        return "tool"
    if span.name.startswith(("agent_run", "invoke_agent")):
        return "agent"
    return "span"


def _is_absent(value: Any) -> bool:
    return isinstance(value, str) and value in _ABSENT


def _read(span: Span, reading: Reading) -> None:
    attributes = span.attributes
    if reading.tool_call_id == "<not specified>":
        reading.tool_call_id = None
    if reading.kind == "tool":
        reading.offer(tool_name=span.name.removeprefix("execute_tool ").strip() or None)
        _read_tool(attributes, reading)
    elif reading.kind == "llm":
        _read_request(undo_json(attributes.get("gcp.vertex.agent.llm_request")), reading)
        _read_response(undo_json(attributes.get("gcp.vertex.agent.llm_response")), reading)
    elif reading.kind == "agent":
        name = span.name.partition("[")[2].rstrip("]") or span.name.removeprefix("invoke_agent").strip()
        reading.offer(agent_name=name or None)
    if _is_absent(reading.inputs):
        reading.inputs = None


def _read_tool(attributes: dict[str, Any], reading: Reading) -> None:
    for key, field in ((_ARGUMENTS, "arguments"), (_RESULT, "result")):
        value = attributes.get(key)
        if isinstance(value, str) and value.replace(" ", "") not in {text.replace(" ", "") for text in _ABSENT}:
            reading.offer(**{field: undo_json(value)})
        elif key == _ARGUMENTS and value == "{}" and attributes.get(_RESULT) not in (None, "{}"):
            reading.offer(arguments={})


def _read_request(request: Any, reading: Reading) -> None:
    if not isinstance(request, dict) or not request:
        return
    reading.offer(requested_model=request.get("model"), messages_in=messages_of(request.get("contents")) or None)
    config = request.get("config")
    if isinstance(config, dict):
        if reading.system_instructions is None:
            reading.system_instructions = config.get("system_instruction")
        tools = config.get("tools")
        if isinstance(tools, list):
            reading.offer(tool_definitions=_declarations(tools) or None)


def _declarations(tools: list[Any]) -> list[Any]:
    found: list[Any] = []
    for tool in tools:
        inner = (
            tool.get("function_declarations", tool.get("functionDeclarations")) if isinstance(tool, dict) else None
        )
        found += inner if isinstance(inner, list) else [tool]
    return found


def _read_response(response: Any, reading: Reading) -> None:
    if not isinstance(response, dict) or not response:
        return
    content = response.get("content")
    if isinstance(content, dict):
        reading.offer(messages_out=output_messages_of(content))
    usage = response.get("usage_metadata")
    if isinstance(usage, dict):
        read_usage(usage, reading)
    if reading.requested_model is None:
        reading.offer(model=response.get("model_version"))


CONVENTION: Final = Convention(
    name="google-adk",
    claims=_claims,
    fields={},
    kind=_kind,
    read=_read,
    sessions=("gcp.vertex.agent.session_id",),
    consumed=(
        "gcp.vertex.agent.llm_request",
        "gcp.vertex.agent.llm_response",
        "gcp.vertex.agent.tool_call_args",
        "gcp.vertex.agent.tool_response",
    ),
)
