"""The weather desk on pydantic-ai."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import Any

from openai import AsyncOpenAI
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

import rejudge
from tests.replay.adapters.desk import WEATHER, touch


@dataclass
class Weather:
    city: str
    celsius: float


def run(inputs: dict[str, Any]) -> dict[str, Any]:
    return asyncio.run(converse(inputs))


async def converse(inputs: dict[str, Any]) -> dict[str, Any]:
    """All turns of one conversation; the last one, or all of them, streamed."""
    async with AsyncOpenAI(base_url=os.environ["DESK_URL"], api_key="test", max_retries=0) as client:
        agent = desk(OpenAIProvider(openai_client=client), inputs)
        history: Any = None
        answers, deltas = [], []
        for number, turn in enumerate(inputs["turns"]):
            if number == len(inputs["turns"]) - 1 or inputs.get("streamed"):
                async with agent.run_stream(turn, message_history=history) as streamed:
                    deltas.append([delta async for delta in streamed.stream_text(delta=True, debounce_by=None)])
                    answers.append(await streamed.get_output())
                    history = streamed.all_messages()
            else:
                result = await agent.run(turn, message_history=history)
                answers.append(result.output)
                history = result.all_messages()
        return {"answers": answers, "deltas": deltas}


def desk(provider: OpenAIProvider, inputs: dict[str, Any]) -> Agent[None, str]:
    make: Any = OpenAIResponsesModel if inputs.get("api") == "responses" else OpenAIChatModel
    slot = "instructions" if inputs.get("instructions") else "system_prompt"
    instrumented = [Instrumentation()] if inputs.get("instrumented") else []
    spanish = Agent(
        make("desk-2", provider=provider, settings={"temperature": 0.2}),
        system_prompt="You answer in Spanish.",
        capabilities=[rejudge.adapters.pydantic_ai.Replayable(), *instrumented],
    )
    prompt: dict[str, Any] = {slot: "You are the weather desk."}
    agent = Agent(
        make("desk-1", provider=provider, settings={"temperature": 0.2}),
        capabilities=[rejudge.adapters.pydantic_ai.Replayable(sub_agents=["ask_specialist"]), *instrumented],
        retries=2,
        **prompt,
    )

    @spanish.tool_plain(name="get_weather")
    @agent.tool_plain
    async def get_weather(city: str) -> Weather:
        """The weather in a city; the first city's comes last."""
        touch(f"get_weather {city}")
        await asyncio.sleep(0.02 if city == "Paris" else 0)
        return Weather(city, WEATHER[city])

    @agent.tool_plain
    def convert_temperature(celsius: float) -> float:
        """Celsius to Fahrenheit."""
        touch("convert_temperature")
        return celsius * 9 / 5 + 32

    @agent.tool
    def lookup_order(ctx: RunContext[None], order_id: str) -> dict[str, Any]:
        """An order, by its id."""
        touch("lookup_order")
        raise ModelRetry(f"no order {order_id}")

    @agent.tool
    async def ask_specialist(ctx: RunContext[None], question: str) -> str:
        """Ask the agent that speaks Spanish."""
        return (await spanish.run(question, usage=ctx.usage)).output

    return agent
