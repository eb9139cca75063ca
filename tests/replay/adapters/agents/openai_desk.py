"""The weather desk on the OpenAI client: chat completions, tools and a sub-agent by hand."""

from __future__ import annotations

import contextvars
import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from openai import OpenAI

import rejudge
from rejudge.replay import tool_call_id
from tests.replay.adapters.desk import WEATHER, touch

SYSTEM = "You are the weather desk."
SPANISH = "You answer in Spanish."


def client() -> OpenAI:
    made = OpenAI(base_url=os.environ["DESK_URL"], api_key="test", max_retries=2)
    return rejudge.adapters.openai.replayable(made)


@rejudge.tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    touch(f"get_weather {city}")
    return f"{WEATHER[city]} °C in {city}"


@rejudge.tool
def convert_temperature(celsius: float) -> float:
    """Celsius to Fahrenheit."""
    touch("convert_temperature")
    return celsius * 9 / 5 + 32


@rejudge.tool
def lookup_order(order_id: str) -> dict[str, Any]:
    """An order, by its id."""
    touch("lookup_order")
    raise LookupError(f"no order {order_id}")


def schema(name: str, **properties: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [
    schema("get_weather", city="string"),
    schema("convert_temperature", celsius="number"),
    schema("lookup_order", order_id="string"),
    schema("ask_specialist", question="string"),
]


def run(inputs: dict[str, Any]) -> dict[str, Any]:
    """All turns of one conversation, the last one streamed."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
    answers = []
    with client() as openai:
        for number, turn in enumerate(inputs["turns"]):
            messages.append({"role": "user", "content": turn})
            streamed = number == len(inputs["turns"]) - 1
            answers.append(talk(openai, "desk-1", messages, TOOLS, streamed=streamed))
    return {"answers": answers}


def talk(openai: OpenAI, model: str, messages: list[dict[str, Any]], tools: Any, *, streamed: bool = False) -> str:
    while True:
        ask = stream if streamed else complete
        said = ask(openai, model=model, messages=messages, tools=tools, temperature=0.2)
        messages.append(said)
        if not said.get("tool_calls"):
            return str(said["content"])
        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(contextvars.copy_context().run, answer, openai, call) for call in said["tool_calls"]]
            messages += [job.result() for job in jobs]


def complete(openai: OpenAI, **request: Any) -> dict[str, Any]:
    message = openai.chat.completions.create(**request).choices[0].message
    return message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"})


def stream(openai: OpenAI, **request: Any) -> dict[str, Any]:
    text = ""
    for chunk in openai.chat.completions.create(**request, stream=True, stream_options={"include_usage": True}):
        for choice in chunk.choices:
            text += choice.delta.content or ""
    return {"role": "assistant", "content": text}


def answer(openai: OpenAI, call: dict[str, Any]) -> dict[str, Any]:
    name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
    with tool_call_id(call["id"]):
        try:
            result: Any = FUNCTIONS[name](**arguments) if name in FUNCTIONS else specialist(openai, **arguments)
        except LookupError as error:
            result = f"error: {error}"
    content = result if isinstance(result, str) else json.dumps(result)
    return {"role": "tool", "tool_call_id": call["id"], "content": content}


FUNCTIONS = {"get_weather": get_weather, "convert_temperature": convert_temperature, "lookup_order": lookup_order}


def specialist(openai: OpenAI, question: str) -> str:
    """A sub-agent with a model of its own; its calls are answered one by one."""
    messages = [{"role": "system", "content": SPANISH}, {"role": "user", "content": question}]
    return talk(openai, "desk-2", messages, TOOLS[:1])
