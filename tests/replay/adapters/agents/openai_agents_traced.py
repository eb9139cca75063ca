"""The agents behind the recorded traces of the OpenAI Agents SDK: their tools must never run in a replay."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, function_tool
from openai import AsyncOpenAI

import rejudge


@function_tool
def get_weather(city: str) -> str:
    raise AssertionError("was really run")


@function_tool
def convert_temperature(celsius: float) -> str:
    raise AssertionError("was really run")


@function_tool
def lookup_order(order_id: str) -> str:
    raise AssertionError("was really run")


@function_tool
def read_document(doc_id: str) -> str:
    raise AssertionError("was really run")


def run(question: str) -> Any:
    return asyncio.run(answer(question, weather_desk))


def run_streamed(question: str) -> Any:
    return asyncio.run(answer(question, weather_desk, streamed=True))


def run_handoff(question: str) -> Any:
    return asyncio.run(answer(question, triage))


async def answer(question: str, make: Any, *, streamed: bool = False) -> Any:
    async with AsyncOpenAI(base_url=os.environ["DESK_URL"], api_key="test", max_retries=0) as client:
        agent = rejudge.adapters.openai_agents.replayable(make(OpenAIResponsesModel("gpt-4o-mini", client)))
        config = RunConfig(tracing_disabled=True)
        if not streamed:
            return (await Runner.run(agent, question, run_config=config)).final_output
        result = Runner.run_streamed(agent, question, run_config=config)
        async for _ in result.stream_events():
            pass
        return result.final_output


def weather_desk(model: OpenAIResponsesModel) -> Agent[None]:
    return Agent(
        "Weather Desk",
        instructions="You are a weather desk assistant. Be brief.",
        tools=[get_weather, convert_temperature, lookup_order, read_document],
        model=model,
    )


def triage(model: OpenAIResponsesModel) -> Agent[None]:
    spanish: Agent[None] = Agent(
        "Spanish Agent", instructions="You only speak Spanish.", tools=[get_weather], model=model
    )
    return Agent("Triage Agent", instructions="Hand off to the right agent.", handoffs=[spanish], model=model)
