"""The weather desk on LangChain and LangGraph: `create_agent`, with an agent as a tool or a handoff by `Command`."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState
from langgraph.types import Command
from openai import DefaultAsyncHttpx2Client, DefaultHttpx2Client

import rejudge
from tests.replay.adapters.desk import WEATHER, touch

THREAD: Any = {"configurable": {"thread_id": "1"}}


@dataclass
class Weather:
    city: str
    celsius: float


@tool
async def get_weather(city: str) -> Weather:
    """The weather in a city; the first city's comes last."""
    touch(f"get_weather {city}")
    await asyncio.sleep(0.02 if city == "Paris" else 0)
    return Weather(city, WEATHER[city])


def blocking(city: str) -> Weather:
    """The weather in a city."""
    touch(f"get_weather {city}")
    return Weather(city, WEATHER[city])


@tool
def convert_temperature(celsius: float, state: Annotated[dict[str, Any], InjectedState]) -> float:
    """Celsius to Fahrenheit."""
    assert state["messages"]
    touch("convert_temperature")
    return celsius * 9 / 5 + 32


@tool
def lookup_order(order_id: str) -> dict[str, Any]:
    """An order, by its id."""
    touch("lookup_order")
    raise LookupError(f"no order {order_id}")


@tool
def transfer_to_spanish_agent(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Hand over to the agent that speaks Spanish."""
    done = ToolMessage("transferred", tool_call_id=tool_call_id)
    return Command(goto="spanish", graph=Command.PARENT, update={"messages": [done]})


def run(inputs: dict[str, Any]) -> dict[str, Any]:
    if inputs.get("blocking"):
        with DefaultHttpx2Client() as client:
            return converse(inputs, desk(inputs, http_client=client))
    return asyncio.run(connect(inputs))


async def connect(inputs: dict[str, Any]) -> dict[str, Any]:
    async with DefaultAsyncHttpx2Client() as client:
        return await aconverse(inputs, desk(inputs, http_async_client=client))


async def aconverse(inputs: dict[str, Any], agent: Any) -> dict[str, Any]:
    """All turns of one conversation; the last one, or all of them, streamed."""
    answers, pieces = [], []
    for number, turn in enumerate(inputs["turns"]):
        asked: Any = {"messages": [{"role": "user", "content": turn}]}
        if number == len(inputs["turns"]) - 1 or inputs.get("streamed"):
            events = agent.astream(asked, THREAD, stream_mode="messages", subgraphs=True)
            pieces.append([text async for _, (chunk, _) in events if (text := text_of(chunk))])
            answers.append((await agent.aget_state(THREAD)).values["messages"][-1].text)
        else:
            answers.append((await agent.ainvoke(asked, THREAD))["messages"][-1].text)
    return {"answers": answers, "pieces": pieces}


def converse(inputs: dict[str, Any], agent: Any) -> dict[str, Any]:
    """The same without an event loop."""
    answers, pieces = [], []
    for number, turn in enumerate(inputs["turns"]):
        asked: Any = {"messages": [{"role": "user", "content": turn}]}
        if number == len(inputs["turns"]) - 1:
            events = agent.stream(asked, THREAD, stream_mode="messages")
            pieces.append([text for chunk, _ in events if (text := text_of(chunk))])
            answers.append(agent.get_state(THREAD).values["messages"][-1].text)
        else:
            answers.append(agent.invoke(asked, THREAD)["messages"][-1].text)
    return {"answers": answers, "pieces": pieces}


def text_of(chunk: Any) -> str:
    return str(chunk.text) if isinstance(chunk, AIMessage) else ""


def desk(inputs: dict[str, Any], **client: Any) -> Any:
    replayable: Any = rejudge.adapters.langchain.replayable
    weather = StructuredTool.from_function(blocking, name="get_weather") if inputs.get("blocking") else get_weather
    tools = replayable([weather, convert_temperature, failing(lookup_order)])
    spanish = create_agent(
        replayable(model("desk-2", **client)), replayable([weather]), system_prompt="You answer in Spanish."
    )
    if not inputs.get("handoff"):
        return create_agent(
            replayable(model("desk-1", **client)),
            [*tools, asking(spanish, blocking=inputs.get("blocking", False))],
            system_prompt="You are the weather desk.",
            checkpointer=InMemorySaver(),
        )
    triage = create_agent(
        replayable(model("desk-1", **client)),
        [*tools, replayable(transfer_to_spanish_agent)],
        system_prompt="You are the weather desk.",
    )
    graph = StateGraph(MessagesState)
    graph.add_node("triage", triage, destinations=("spanish",))
    graph.add_node("spanish", spanish)
    graph.add_edge(START, "triage")
    return graph.compile(checkpointer=InMemorySaver())


def failing(made: Any) -> Any:
    """The model is told of the tool's errors."""
    return made.model_copy(update={"handle_tool_error": True, "func": as_tool_error(made.func)})


def as_tool_error(function: Any) -> Any:
    from functools import wraps

    from langchain_core.tools import ToolException

    @wraps(function)
    def call(**arguments: Any) -> Any:
        try:
            return function(**arguments)
        except LookupError as error:
            raise ToolException(str(error)) from error

    return call


def asking(spanish: Any, *, blocking: bool) -> Any:
    def ask(question: str) -> str:
        """Ask the agent that speaks Spanish."""
        return str(spanish.invoke({"messages": [{"role": "user", "content": question}]})["messages"][-1].text)

    async def aask(question: str) -> str:
        """Ask the agent that speaks Spanish."""
        answer = await spanish.ainvoke({"messages": [{"role": "user", "content": question}]})
        return str(answer["messages"][-1].text)

    return StructuredTool.from_function(ask, None if blocking else aask, name="ask_specialist")


def model(name: str, **client: Any) -> Any:
    options: Any = {"base_url": os.environ["DESK_URL"], "api_key": "test", "max_retries": 0, "temperature": 0.2}
    return ChatOpenAI(model=name, **options, **client)
