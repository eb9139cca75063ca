"""The spans of calls, in the GenAI conventions: what every wrapper and adapter writes.

https://github.com/open-telemetry/semantic-conventions-genai
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from rejudge.models.attributes import ANSWER, ANSWER_NODE, INPUTS, OUTPUTS, RAW_RESPONSE, SCOPE
from rejudge.models.canonical import JsonValue
from rejudge.replay.failures import type_name
from rejudge.replay.request import ModelRequest, ModelResponse

_TRACER = trace.get_tracer(SCOPE)


def is_recorded() -> bool:
    """Whether spans go anywhere: False where the process has no tracer provider."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider | trace.NoOpTracerProvider)


def start_tool_span(
    name: str,
    arguments: Mapping[str, JsonValue],
    *,
    call_id: str | None = None,
    description: str | None = None,
    context: Context | None = None,
) -> Span:
    """An open ``execute_tool`` span, not made current."""
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.arguments": json_text(arguments),
    }
    if call_id is not None:
        attributes["gen_ai.tool.call.id"] = call_id
    if description:
        attributes["gen_ai.tool.description"] = description
    return _TRACER.start_span(f"execute_tool {name}", context=context, attributes=attributes)


def start_model_span(request: ModelRequest, *, context: Context | None = None) -> Span:
    """An open ``chat`` span with the request as it is sent, not made current."""
    return _TRACER.start_span(
        f"chat {request.model}", context=context, kind=SpanKind.CLIENT, attributes=_request_attributes(request)
    )


def start_agent_span(name: str, inputs: JsonValue, *, has_inputs: bool = True) -> Span:
    """An open ``invoke_agent`` span: the root of a run, not made current."""
    attributes: dict[str, Any] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    if has_inputs:
        attributes[INPUTS] = json_text(inputs)
    return _TRACER.start_span(f"invoke_agent {name}", attributes=attributes)


def set_outputs(span: Span, outputs: JsonValue) -> None:
    """Write a run's final answer on its root span."""
    span.set_attribute(OUTPUTS, json_text(outputs))


def set_tool_result(span: Span, result: JsonValue) -> None:
    """Write a tool's result."""
    span.set_attribute("gen_ai.tool.call.result", json_text(result))


def set_response(span: Span, response: ModelResponse) -> None:
    """Write a model's answer."""
    numbers = {
        "gen_ai.usage.input_tokens": response.input_tokens,
        "gen_ai.usage.output_tokens": response.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": response.cached_input_tokens,
        "gen_ai.usage.cache_write.input_tokens": response.cache_write_tokens,
        "gen_ai.usage.reasoning.output_tokens": response.reasoning_tokens,
        "gen_ai.response.model": response.model,
        "gen_ai.response.id": response.response_id,
    }
    span.set_attributes({name: value for name, value in numbers.items() if value is not None})
    if response.finish_reason is not None:
        span.set_attribute("gen_ai.response.finish_reasons", [response.finish_reason])
    span.set_attribute("gen_ai.output.messages", json_text(response.messages))
    if response.raw is not None:
        span.set_attribute(RAW_RESPONSE, json_text(response.raw))


def set_answer(span: Span, source: str, node_id: str | None) -> None:
    """Write where the answer came from."""
    span.set_attribute(ANSWER, source)
    if node_id is not None:
        span.set_attribute(ANSWER_NODE, node_id)


def set_failure(span: Span, error: BaseException) -> None:
    """Write that the call failed, with its class and text."""
    span.set_attribute("error.type", type_name(error))
    span.record_exception(error)
    span.set_status(Status(StatusCode.ERROR, str(error)))


def json_text(value: JsonValue) -> str:
    """Compact JSON text, keys in their own order."""
    return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def _request_attributes(request: ModelRequest) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": request.model,
        "gen_ai.input.messages": json_text(request.messages),
    }
    if request.provider is not None:
        attributes["gen_ai.provider.name"] = request.provider
    if request.system_instructions:
        attributes["gen_ai.system_instructions"] = json_text(request.system_instructions)
    if request.tools:
        attributes["gen_ai.tool.definitions"] = json_text(request.tools)
    for name, value in request.parameters.items():
        if value is not None:
            attributes[f"gen_ai.request.{_SPELLED.get(name, name)}"] = _attribute(value)
    return attributes


_SPELLED = {"choice_count": "choice.count"}


def _attribute(value: JsonValue) -> Any:
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return value
    return json_text(value)
