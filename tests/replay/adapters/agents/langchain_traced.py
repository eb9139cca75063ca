"""The agent behind the recorded traces of LangChain: its tools must never run in a replay."""

from __future__ import annotations

import os
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openai import DefaultHttpx2Client

import rejudge


@tool
def get_weather(city: str) -> str:
    """Get the current weather for a city."""
    raise AssertionError("was really run")


@tool
def convert_temperature(celsius: float) -> str:
    """Convert a temperature."""
    raise AssertionError("was really run")


@tool
def lookup_order(order_id: str) -> str:
    """Look up an order by its id."""
    raise AssertionError("was really run")


@tool
def read_document(doc_id: str) -> str:
    """Read a stored document."""
    raise AssertionError("was really run")


TOOLS = [get_weather, convert_temperature, lookup_order, read_document]


def run(question: str) -> str:
    with DefaultHttpx2Client() as client:
        state = desk(client).invoke({"messages": [{"role": "user", "content": question}]})
    return str(state["messages"][-1].text)


def run_streamed(question: str) -> str:
    last = ""
    with DefaultHttpx2Client() as client:
        asked = {"messages": [{"role": "user", "content": question}]}
        for state in desk(client).stream(asked, stream_mode="values"):
            last = str(state["messages"][-1].text)
    return last


def desk(client: Any) -> Any:
    replayable: Any = rejudge.adapters.langchain.replayable
    options: Any = {"base_url": os.environ["DESK_URL"], "api_key": "test", "max_retries": 0, "temperature": 0.2}
    model = ChatOpenAI(model="gpt-4o-mini", http_client=client, **options)
    prompt = "You are a weather desk assistant. Be brief."
    return create_agent(replayable(model), replayable(TOOLS), system_prompt=prompt)
