"""The weather desk on the asynchronous OpenAI client: responses, every one of them streamed in the last turn."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from openai import AsyncOpenAI

import rejudge
from rejudge.replay import tool_call_id
from tests.replay.adapters.agents import openai_desk

TOOLS = [{"type": "function", "strict": False, **tool["function"]} for tool in openai_desk.TOOLS]


@rejudge.tool
async def get_weather(city: str) -> str:
    """The weather in a city; the first city's comes last."""
    await asyncio.sleep(0.02 if city == "Paris" else 0)
    return openai_desk.get_weather.__wrapped__(city)


FUNCTIONS = {**openai_desk.FUNCTIONS, "get_weather": get_weather}


def run(inputs: dict[str, Any]) -> dict[str, Any]:
    return asyncio.run(converse(inputs))


async def converse(inputs: dict[str, Any]) -> dict[str, Any]:
    async with AsyncOpenAI(base_url=os.environ["DESK_URL"], api_key="test") as made:
        openai = rejudge.adapters.openai.replayable(made)
        items: list[Any] = []
        answers = []
        for number, turn in enumerate(inputs["turns"]):
            items.append({"role": "user", "content": turn})
            streamed = number == len(inputs["turns"]) - 1 or inputs.get("streamed", False)
            answers.append(await talk(openai, "desk-1", openai_desk.SYSTEM, items, streamed=streamed))
        return {"answers": answers}


async def talk(openai: AsyncOpenAI, model: str, system: str, items: list[Any], *, streamed: bool) -> str:
    while True:
        ask = stream if streamed else complete
        response = await ask(openai, model=model, instructions=system, input=items, tools=TOOLS, temperature=0.2)
        items += [item.model_dump(exclude_none=True) for item in response.output]
        called = [item for item in response.output if item.type == "function_call"]
        if not called:
            return str(response.output_text)
        items += await asyncio.gather(*(answer(openai, call, streamed=streamed) for call in called))


async def complete(openai: AsyncOpenAI, **request: Any) -> Any:
    return await openai.responses.create(**request)


async def stream(openai: AsyncOpenAI, **request: Any) -> Any:
    async with openai.responses.stream(**request) as events:
        async for _ in events:
            pass
        return await events.get_final_response()


async def answer(openai: AsyncOpenAI, call: Any, *, streamed: bool) -> dict[str, Any]:
    arguments = json.loads(call.arguments)
    with tool_call_id(call.call_id):
        try:
            if call.name == "ask_specialist":
                question = [{"role": "user", "content": arguments["question"]}]
                result: Any = await talk(openai, "desk-2", openai_desk.SPANISH, question, streamed=streamed)
            else:
                result = FUNCTIONS[call.name](**arguments)
                result = await result if asyncio.iscoroutine(result) else result
        except LookupError as error:
            result = f"error: {error}"
    return {"type": "function_call_output", "call_id": call.call_id, "output": str(result)}
