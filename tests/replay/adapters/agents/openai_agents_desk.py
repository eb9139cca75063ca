"""The weather desk on the OpenAI Agents SDK, with an agent as a tool or a handoff."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import Any

from agents import (
    Agent,
    Model,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    function_tool,
    handoff,
)
from openai import AsyncOpenAI

import rejudge
from tests.replay.adapters.desk import WEATHER, touch


@dataclass
class Weather:
    city: str
    celsius: float


@function_tool
async def get_weather(city: str) -> Weather:
    """The weather in a city; the first city's comes last."""
    touch(f"get_weather {city}")
    await asyncio.sleep(0.02 if city == "Paris" else 0)
    return Weather(city, WEATHER[city])


@function_tool
def convert_temperature(celsius: float) -> float:
    """Celsius to Fahrenheit."""
    touch("convert_temperature")
    return celsius * 9 / 5 + 32


@function_tool
def lookup_order(order_id: str) -> dict[str, Any]:
    """An order, by its id."""
    touch("lookup_order")
    raise LookupError(f"no order {order_id}")


def run(inputs: dict[str, Any]) -> dict[str, Any]:
    return asyncio.run(converse(inputs))


async def converse(inputs: dict[str, Any]) -> dict[str, Any]:
    """All turns of one conversation; the last one, or all of them, streamed."""
    async with AsyncOpenAI(base_url=os.environ["DESK_URL"], api_key="test", max_retries=0) as client:
        agent = desk(client, inputs)
        config = RunConfig(tracing_disabled=not inputs.get("traced", False))
        items: list[Any] = []
        answers, pieces = [], []
        for number, turn in enumerate(inputs["turns"]):
            items.append({"role": "user", "content": turn})
            if number == len(inputs["turns"]) - 1 or inputs.get("streamed"):
                result: Any = Runner.run_streamed(agent, items, run_config=config)
                pieces.append([event.data.delta async for event in result.stream_events() if is_text(event)])
            else:
                result = await Runner.run(agent, items, run_config=config)
            answers.append([result.last_agent.name, result.final_output])
            items = result.to_input_list()
        return {"answers": answers, "pieces": pieces, "tokens": result.context_wrapper.usage.total_tokens}


def is_text(event: Any) -> bool:
    return event.type == "raw_response_event" and event.data.type == "response.output_text.delta"


def desk(client: AsyncOpenAI, inputs: dict[str, Any]) -> Agent[None]:
    settings = ModelSettings(temperature=0.2)
    spanish: Agent[None] = Agent(
        "Spanish Agent",
        instructions="You answer in Spanish.",
        tools=[get_weather],
        model=model(client, "desk-2", inputs),
        model_settings=settings,
    )
    tools: list[Any] = [get_weather, convert_temperature, lookup_order]
    if not inputs.get("handoff"):
        tools.append(spanish.as_tool("ask_specialist", "Ask the agent that speaks Spanish."))
    agent: Agent[None] = Agent(
        "Weather Desk",
        instructions="You are the weather desk.",
        tools=tools,
        handoffs={"agent": [spanish], "object": [handoff(spanish)]}.get(inputs.get("handoff", ""), []),
        model=model(client, "desk-1", inputs),
        model_settings=settings,
    )
    return rejudge.adapters.openai_agents.replayable(agent)


def model(client: AsyncOpenAI, name: str, inputs: dict[str, Any]) -> Model:
    if inputs.get("api") == "responses":
        return OpenAIResponsesModel(name, client)
    return OpenAIChatCompletionsModel(name, client)
