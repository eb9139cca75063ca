"""The ``llm`` policy: a tool's result, made up by a model."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rejudge.errors import UsageError
from rejudge.models.canonical import JsonValue
from rejudge.models.policy import LlmPolicy
from rejudge.replay.tape import RecordedCall

_SECONDS: Final = 60.0
_SHOWN: Final = 4000
"""Characters of a past call that the model is shown."""

_TASK: Final = (
    "You stand in for a tool in a test. Answer with the tool's result for the call you are given, as one JSON "
    'object {"result": …} and nothing else. Be consistent with the past calls; make up plausible details where '
    "they say nothing."
)


def simulated_result(
    policy: LlmPolicy,
    name: str,
    arguments: JsonValue,
    schema: Mapping[str, Any] | None,
    examples: Sequence[RecordedCall],
    *,
    environment: Mapping[str, str] | None = None,
) -> JsonValue:
    """The result that the policy's model makes up for a call.

    Args:
        schema: JSON schema of the result, where the tool declares one.
        examples: Past calls of the tool.
        environment: ``OPENAI_API_KEY``, ``OPENAI_BASE_URL``, ``ANTHROPIC_API_KEY``, ``ANTHROPIC_BASE_URL``; the
            agent's own by default.

    Raises:
        UsageError: Where the key is missing.
        httpx.HTTPError: Where the provider does not answer.
        ValueError: Where the answer is no JSON.
    """
    provider, _, model = policy.model.rpartition(":")
    variables = os.environ if environment is None else environment
    question = _question(policy, name, arguments, schema, examples)
    text = (
        _ask_anthropic(model, question, variables)
        if provider == "anthropic"
        else _ask_openai(model, question, variables)
    )
    return _result(text)


def _question(
    policy: LlmPolicy,
    name: str,
    arguments: JsonValue,
    schema: Mapping[str, Any] | None,
    examples: Sequence[RecordedCall],
) -> str:
    lines = [policy.instructions] if policy.instructions else []
    if schema is not None:
        lines.append(f"JSON schema of the result: {json.dumps(schema)}")
    for example in examples:
        said = example.result if example.status == "completed" else {"error": example.error}
        lines.append(f"Past call: {json.dumps({'arguments': example.arguments, 'result': said})[:_SHOWN]}")
    lines.append(f"Call now: {json.dumps({'tool': name, 'arguments': arguments})}")
    return "\n\n".join(lines)


def _ask_openai(model: str, question: str, environment: Mapping[str, str]) -> str:
    base = environment.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    key = environment.get("OPENAI_API_KEY")
    if not key and "OPENAI_BASE_URL" not in environment:
        raise UsageError("the llm policy needs OPENAI_API_KEY or OPENAI_BASE_URL")
    messages = [{"role": "system", "content": _TASK}, {"role": "user", "content": question}]
    body = {"model": model, "messages": messages, "response_format": {"type": "json_object"}}
    answer = _post(f"{base.rstrip('/')}/chat/completions", {"authorization": f"Bearer {key or 'none'}"}, body)
    return str(answer["choices"][0]["message"]["content"])


def _ask_anthropic(model: str, question: str, environment: Mapping[str, str]) -> str:
    base = environment.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
    key = environment.get("ANTHROPIC_API_KEY")
    if not key:
        raise UsageError("the llm policy needs ANTHROPIC_API_KEY")
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    messages = [{"role": "user", "content": question}]
    body = {"model": model, "max_tokens": 4096, "system": _TASK, "messages": messages}
    answer = _post(f"{base.rstrip('/')}/v1/messages", headers, body)
    return "".join(str(part.get("text", "")) for part in answer["content"])


def _post(url: str, headers: dict[str, str], body: dict[str, Any]) -> dict[str, Any]:
    import httpx  # a fifth of a second, and few replays need it

    response = httpx.post(url, headers=headers, json=body, timeout=_SECONDS)
    response.raise_for_status()
    answer: dict[str, Any] = response.json()
    return answer


def _result(text: str) -> JsonValue:
    begins, ends = text.find("{"), text.rfind("}")
    answer = json.loads(text[begins : ends + 1])
    if "result" not in answer:
        raise ValueError("the answer has no result")
    return answer["result"]
