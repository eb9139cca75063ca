"""One piece of a message, from any vendor's shape to the GenAI schema's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from rejudge.otel.text import as_text, undo_json, undo_json_fully

Part: TypeAlias = dict[str, Any]


def part_of(raw: Any) -> Part | None:
    """The part in the GenAI schema; None for one that holds nothing."""
    if isinstance(raw, str):
        return text_part(raw) if raw else None
    if not isinstance(raw, dict):
        return None if raw is None else text_part(as_text(raw))
    kind = raw.get("type")
    if isinstance(kind, str):
        translate = _BY_TYPE.get(kind)
        if translate is not None:
            return translate(raw)
    for key, translate in _BY_KEY:
        if raw.get(key) is not None:
            return translate(raw)
    if not raw.keys() - {"kind"}:
        return None  # pydantic-ai with content left out tells what was there, and no more
    return {**raw, "type": kind if isinstance(kind, str) else "generic"}


def parts_of(content: Any) -> list[Part]:
    """The parts of a message's content: a text, one part, or a list of parts."""
    if isinstance(content, list):
        return [part for part in map(part_of, content) if part is not None]
    part = part_of(content)
    return [] if part is None else [part]


def text_part(text: str) -> Part:
    """A part that holds text."""
    return {"type": "text", "content": text}


def tool_call_part(call: Any) -> Part | None:
    """One entry of a ``tool_calls`` list in any of its spellings."""
    if not isinstance(call, dict):
        return None
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    name = inner.get("name") or call.get("tool_name") or call.get("toolName")
    arguments = _first(inner, "arguments", "args", "input", "parameters")
    identity = _first(call, "id", "call_id", "toolCallId", "tool_call_id")
    return _call(identity, name, arguments)


def _call(identity: Any, name: Any, arguments: Any) -> Part:
    part: Part = {"type": "tool_call", "id": identity, "name": name, "arguments": undo_json(arguments)}
    return part


def _response(identity: Any, response: Any, name: Any = None) -> Part:
    part: Part = {"type": "tool_call_response", "id": identity, "response": undo_json_fully(response)}
    if name:
        part["name"] = name
    return part


def _text(raw: Part) -> Part:
    content = raw.get("content")
    if content is None:
        content = raw.get("text")
    return text_part(content if isinstance(content, str) else "" if content is None else as_text(content))


def _reasoning(raw: Part) -> Part:
    content = _first(raw, "content", "thinking", "text", "reasoning", "summary", "encrypted_content")
    if isinstance(content, dict):
        content = _first(content, "text", "reasoningText", "thinking") or content
    if isinstance(content, dict):
        content = content.get("text", content)
    if isinstance(content, list):
        content = "\n".join(part.get("content", "") for part in parts_of(content) if part["type"] == "text")
    return {"type": "reasoning", "content": content if isinstance(content, str) else as_text(content)}


def _tool_call(raw: Part) -> Part:
    arguments = raw.get("arguments")
    if type(arguments) is str:
        return {**raw, "arguments": undo_json(arguments)}
    return raw


def _tool_call_response(raw: Part) -> Part:
    response = _first(raw, "response", "result", "content", "output")
    if raw.get("response") is response and type(response) is not str:
        return raw
    return _response(raw.get("id"), response, raw.get("name"))


def _anthropic_use(raw: Part) -> Part:
    return _call(raw.get("id"), raw.get("name"), _first(raw, "input", "arguments"))


def _anthropic_result(raw: Part) -> Part:
    return _response(_first(raw, "tool_use_id", "id"), plain_content(raw.get("content")))


def _vercel_call(raw: Part) -> Part:
    return _call(raw.get("toolCallId"), raw.get("toolName"), _first(raw, "input", "args"))


def _vercel_result(raw: Part) -> Part:
    output = _first(raw, "output", "result")
    if isinstance(output, dict) and set(output) == {"type", "value"}:
        output = output["value"]
    return _response(raw.get("toolCallId"), output, raw.get("toolName"))


def _responses_call(raw: Part) -> Part:
    return _call(_first(raw, "call_id", "id"), raw.get("name"), raw.get("arguments"))


def _responses_output(raw: Part) -> Part:
    return _response(_first(raw, "call_id", "id"), raw.get("output"))


def _bedrock_use(raw: Part) -> Part:
    use = raw["toolUse"] if isinstance(raw["toolUse"], dict) else {}
    return _call(use.get("toolUseId"), use.get("name"), use.get("input"))


def _bedrock_result(raw: Part) -> Part:
    result = raw["toolResult"] if isinstance(raw["toolResult"], dict) else {}
    return _response(result.get("toolUseId"), plain_content(result.get("content")))


def _gemini_call(raw: Part) -> Part:
    call = _first(raw, "functionCall", "function_call")
    call = call if isinstance(call, dict) else {}
    return _call(call.get("id"), call.get("name"), _first(call, "args", "arguments"))


def _gemini_response(raw: Part) -> Part:
    response = _first(raw, "functionResponse", "function_response")
    response = response if isinstance(response, dict) else {}
    return _response(response.get("id"), response.get("response"), response.get("name"))


def _haystack_call(raw: Part) -> Part:
    call = raw["tool_call"] if isinstance(raw["tool_call"], dict) else {}
    return _call(call.get("id"), _first(call, "tool_name", "name"), call.get("arguments"))


def _haystack_result(raw: Part) -> Part:
    result = raw["tool_call_result"] if isinstance(raw["tool_call_result"], dict) else {}
    origin = result.get("origin")
    origin = origin if isinstance(origin, dict) else {}
    return _response(origin.get("id"), result.get("result"), origin.get("tool_name"))


def _thought_or_text(raw: Part) -> Part:
    if raw.get("thought") is True:
        return {"type": "reasoning", "content": str(raw["text"])}
    return _text(raw)


def _same(raw: Part) -> Part:
    return raw


def plain_content(content: Any) -> Any:
    """A result without its wrapping: the text of text parts, the value of a single JSON part, else the parts."""
    if isinstance(content, list) and content and all(isinstance(item, dict) for item in content):
        texts = [_first(item, "text", "content") for item in content if set(item) <= _TEXT_KEYS]
        if len(texts) == len(content) and all(isinstance(text, str) for text in texts):
            return "\n".join(texts)
        if len(content) == 1 and set(content[0]) == {"json"}:
            return content[0]["json"]
    return content


_TEXT_KEYS: Final = frozenset({"type", "block_type", "text", "content"})


def _first(raw: dict[str, Any], *names: str) -> Any:
    for name in names:
        value = raw.get(name)
        if value is not None:
            return value
    return None


_BY_TYPE: Final[dict[str, Callable[[Part], Part | None]]] = {
    "text": _text,
    "input_text": _text,
    "output_text": _text,
    "refusal": lambda raw: text_part(str(raw.get("refusal") or raw.get("text") or "")),
    "tool_call": _tool_call,
    "tool_call_response": _tool_call_response,
    "reasoning": _reasoning,
    "thinking": _reasoning,
    "redacted_thinking": _reasoning,
    "tool_use": _anthropic_use,
    "server_tool_use": _anthropic_use,
    "tool_result": _anthropic_result,
    "tool-call": _vercel_call,
    "tool-result": _vercel_result,
    "function_call": _responses_call,
    "custom_tool_call": _responses_call,
    "function_call_output": _responses_output,
    "custom_tool_call_output": _responses_output,
    "function": tool_call_part,
    "blob": _same,
    "file": _same,
    "uri": _same,
}

_BY_KEY: Final[tuple[tuple[str, Callable[[Part], Part | None]], ...]] = (
    ("functionCall", _gemini_call),
    ("function_call", _gemini_call),
    ("functionResponse", _gemini_response),
    ("function_response", _gemini_response),
    ("toolUse", _bedrock_use),
    ("toolResult", _bedrock_result),
    ("tool_call", _haystack_call),
    ("tool_call_result", _haystack_result),
    ("reasoningContent", lambda raw: _reasoning({"content": raw["reasoningContent"]})),
    ("text", _thought_or_text),
)
