"""The agent behind the recorded traces of the OpenAI client: its tools must never run in a replay."""

from __future__ import annotations

import json
import os
from typing import Any

from openai import OpenAI

import rejudge

SYSTEM = "You are a weather desk assistant. Be brief."
ARGUMENTS = {
    "get_weather": "city",
    "convert_temperature": "celsius",
    "lookup_order": "order_id",
    "read_document": "doc_id",
}


def run(question: str) -> str:
    return talk(question, streamed=False)


def run_streamed(question: str) -> str:
    return talk(question, streamed=True)


def run_responses(question: str) -> str:
    """The same through the responses API."""
    items: list[Any] = [{"role": "user", "content": question}]
    tools: list[Any] = [{"type": "function", "strict": None, **tool["function"]} for tool in TOOLS]
    with client() as openai:
        while True:
            response = openai.responses.create(
                model="gpt-4o-mini", instructions=SYSTEM, input=items, tools=tools, temperature=0.2
            )
            calls = [item for item in response.output if item.type == "function_call"]
            if not calls:
                return str(response.output_text)
            items += [item.model_dump(exclude_none=True) for item in response.output]
            for call in calls:
                result = answered(call.name, json.loads(call.arguments))
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})


def talk(question: str, *, streamed: bool) -> str:
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    with client() as openai:
        while True:
            request: dict[str, Any] = {"model": "gpt-4o-mini", "messages": messages, "tools": TOOLS}
            if streamed:
                with openai.chat.completions.stream(**request, temperature=0.2, max_tokens=300) as events:
                    message = events.get_final_completion().choices[0].message
            else:
                message = (
                    openai.chat.completions.create(**request, temperature=0.2, max_tokens=300).choices[0].message
                )
            if not message.tool_calls:
                return str(message.content)
            messages.append(message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
            for call in message.tool_calls:
                result = answered(call.function.name, json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def client() -> OpenAI:
    return rejudge.adapters.openai.replayable(OpenAI(base_url=os.environ["DESK_URL"], api_key="test", max_retries=0))


def tool(name: str) -> Any:
    @rejudge.tool(name=name)
    def really_run(**arguments: Any) -> str:
        raise AssertionError(f"{name} was really run")

    return really_run


FUNCTIONS = {name: tool(name) for name in ARGUMENTS}
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]},
        },
    }
    for name, argument in ARGUMENTS.items()
]


def answered(name: str, arguments: dict[str, Any]) -> str:
    try:
        return str(FUNCTIONS[name](**arguments))
    except ValueError as error:
        return f"error: {error}"
