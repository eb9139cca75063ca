"""The agent behind the recorded traces of pydantic-ai: its tools must never run in a replay."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import rejudge


def run(question: str) -> str:
    return asyncio.run(answer(question, streamed=False))


def run_streamed(question: str) -> str:
    return asyncio.run(answer(question, streamed=True))


def run_turns(first: str) -> str:
    """Three turns of one conversation."""
    return asyncio.run(converse([first, "Do I need an umbrella?", "And in Fahrenheit?"]))


async def converse(turns: list[str]) -> str:
    history: Any = None
    async with AsyncOpenAI(base_url=os.environ["DESK_URL"], api_key="test", max_retries=0) as client:
        agent = desk(OpenAIProvider(openai_client=client))
        for turn in turns:
            result = await agent.run(turn, message_history=history)
            history = result.all_messages()
    return result.output


async def answer(question: str, *, streamed: bool) -> str:
    async with AsyncOpenAI(base_url=os.environ["DESK_URL"], api_key="test", max_retries=0) as client:
        agent = desk(OpenAIProvider(openai_client=client))
        if not streamed:
            return (await agent.run(question)).output
        async with agent.run_stream(question) as answer:
            return "".join([delta async for delta in answer.stream_text(delta=True, debounce_by=None)])


def desk(provider: OpenAIProvider) -> Agent[None, str]:
    settings: Any = {"temperature": 0.2, "max_tokens": 300}
    agent = Agent(
        OpenAIChatModel("gpt-4o-mini", provider=provider, settings=settings),
        system_prompt="You are a weather desk assistant. Be brief.",
        capabilities=[rejudge.adapters.pydantic_ai.Replayable()],
    )

    @agent.tool_plain
    def get_weather(city: str) -> str:
        raise AssertionError("was really run")

    @agent.tool_plain
    def convert_temperature(celsius: float) -> str:
        raise AssertionError("was really run")

    @agent.tool_plain
    def lookup_order(order_id: str) -> str:
        raise AssertionError("was really run")

    @agent.tool_plain
    def read_document(doc_id: str) -> str:
        raise AssertionError("was really run")

    return agent
