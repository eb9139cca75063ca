"""The weather desk on the clients of Anthropic: tools and a sub-agent by hand, parallel calls, streams."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from anthropic import Anthropic, AsyncAnthropic

import rejudge
from rejudge.replay import tool_call_id
from tests.replay.adapters.agents import openai_desk

TOOLS: list[Any] = [
    {"name": tool["function"]["name"], "input_schema": tool["function"]["parameters"]} for tool in openai_desk.TOOLS
]


@rejudge.tool
async def get_weather(city: str) -> str:
    """The weather in a city; the first city's comes last."""
    await asyncio.sleep(0.02 if city == "Paris" else 0)
    return openai_desk.get_weather.__wrapped__(city)


FUNCTIONS = {**openai_desk.FUNCTIONS, "get_weather": get_weather}


def run(inputs: dict[str, Any]) -> dict[str, Any]:
    if inputs.get("blocking"):
        return blocking(inputs)
    return asyncio.run(converse(inputs))


def options() -> dict[str, Any]:
    return {"base_url": os.environ["DESK_URL"].removesuffix("/v1"), "api_key": "test", "max_retries": 0}


async def converse(inputs: dict[str, Any]) -> dict[str, Any]:
    async with rejudge.adapters.anthropic.replayable(AsyncAnthropic(**options())) as client:
        messages: list[Any] = []
        answers = []
        for number, turn in enumerate(inputs["turns"]):
            messages.append({"role": "user", "content": turn})
            streamed = number == len(inputs["turns"]) - 1 or inputs.get("streamed", False)
            answers.append(await talk(client, "desk-1", openai_desk.SYSTEM, messages, streamed=streamed))
        return {"answers": answers}


async def talk(client: AsyncAnthropic, model: str, system: str, messages: list[Any], *, streamed: bool) -> str:
    while True:
        asked: dict[str, Any] = {"model": model, "system": system, "messages": messages, "tools": TOOLS}
        if streamed:
            async with client.messages.stream(**asked, max_tokens=300, extra_body={"temperature": 0.2}) as stream:
                message: Any = await stream.get_final_message()
        else:
            message = await client.messages.create(**asked, max_tokens=300, extra_body={"temperature": 0.2})
        messages.append({"role": "assistant", "content": [blocks(block) for block in message.content]})
        called = [block for block in message.content if block.type == "tool_use"]
        if not called:
            return "".join(block.text for block in message.content)
        results = await asyncio.gather(*(answer(client, block, streamed=streamed) for block in called))
        messages.append({"role": "user", "content": list(results)})


def blocks(block: Any) -> dict[str, Any]:
    kept = {"text": {"type", "text"}, "tool_use": {"type", "id", "name", "input"}}[block.type]
    return dict(block.model_dump(include=kept))


async def answer(client: AsyncAnthropic, block: Any, *, streamed: bool) -> dict[str, Any]:
    with tool_call_id(block.id):
        try:
            if block.name == "ask_specialist":
                question = [{"role": "user", "content": block.input["question"]}]
                result: Any = await talk(client, "desk-2", openai_desk.SPANISH, question, streamed=streamed)
            else:
                result = FUNCTIONS[block.name](**block.input)
                result = await result if asyncio.iscoroutine(result) else result
        except LookupError as error:
            result = f"error: {error}"
    return {"type": "tool_result", "tool_use_id": block.id, "content": str(result)}


def blocking(inputs: dict[str, Any]) -> dict[str, Any]:
    """The first turn only, with the client that blocks, tools one after the other."""
    messages: list[Any] = [{"role": "user", "content": inputs["turns"][0]}]
    with rejudge.adapters.anthropic.replayable(Anthropic(**options())) as client:
        while True:
            asked: dict[str, Any] = {"model": "desk-1", "system": openai_desk.SYSTEM, "messages": messages}
            with client.messages.stream(**asked, tools=TOOLS, max_tokens=300) as stream:
                message = stream.get_final_message()
            messages.append({"role": "assistant", "content": [blocks(block) for block in message.content]})
            called: list[Any] = [block for block in message.content if block.type == "tool_use"]
            if not called:
                return {"answers": [text for block in message.content if (text := getattr(block, "text", ""))]}
            functions = openai_desk.FUNCTIONS
            results = [str(functions[block.name](**block.input)) for block in called]
            messages.append(
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": block.id, "content": result}
                        for block, result in zip(called, results, strict=True)
                    ],
                }
            )
