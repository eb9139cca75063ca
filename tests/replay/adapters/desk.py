"""The model behind the weather desk, as a script: what it says to a request in any of the three protocols."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.model_server import ModelServer, Reply, Request, calls, says

TURNS = ["Compare Paris and Rome.", "Where is order 77?", "Y en Madrid?", "Thanks, bye."]
"""Parallel calls and a second round; a tool that raises; a sub-agent or a handoff; a streamed goodbye."""

WEATHER = {"Paris": 18, "Rome": 24, "Oslo": 5, "Madrid": 30}


class Desk:
    """The script, with tool call ids that never come twice."""

    def __init__(self, specialist: str = "ask_specialist", *, question: str = "question") -> None:
        self._specialist, self._asks = specialist, question
        self._hands_off = specialist.startswith("transfer")
        self._ids = itertools.count(1)

    def __call__(self, request: Request) -> Reply:
        """The reply to a request."""
        body = request.body
        _, turns = conversation(body)
        said, results = last_turn(turns)
        if said.startswith("¿") or (self._hands_off and said.startswith("Y en") and results):
            return self._spanish(body, results[self._hands_off :])
        if said.startswith("Compare"):
            return self._compare(body, said, results)
        if "order" in said and not results:
            return self._call(("lookup_order", {"order_id": "77"}))
        if "order" in said:
            return self._says(body, f"There is no such order: {results[-1]}")
        if said.startswith("Y en"):
            called = [] if results else [(self._specialist, self._question())]
            return self._call(*called) if called else self._says(body, f"The specialist says: {results[-1]}")
        return self._says(body, "Goodbye, and have a nice day.")

    def _question(self) -> dict[str, Any]:
        return {} if self._hands_off else {self._asks: "¿Madrid?"}

    def _compare(self, body: dict[str, Any], said: str, results: list[str]) -> Reply:
        cities = [city for city in WEATHER if city in said]
        if not results:
            return self._call(*(("get_weather", {"city": city}) for city in cities))
        if len(results) == len(cities):
            return self._call(("convert_temperature", {"celsius": WEATHER[cities[-1]]}))
        return self._says(body, f"{cities[0]} is cooler than {cities[-1]}: {', '.join(results)}.")

    def _spanish(self, body: dict[str, Any], results: list[str]) -> Reply:
        if not results:
            return self._call(("get_weather", {"city": "Madrid"}))
        return self._says(body, f"En Madrid hace sol: {results[-1]}.")

    def _call(self, *asked: tuple[str, dict[str, Any]]) -> Reply:
        made = tuple(
            {"id": f"call_{next(self._ids)}", "name": name, "arguments": arguments} for name, arguments in asked
        )
        return Reply(tool_calls=made, finish_reason="tool_calls")

    def _says(self, body: dict[str, Any], text: str) -> Reply:
        # What a changed request leads to can be told from the answer.
        return says(f"{text} [{body['model']} {body.get('temperature')}]")


def conversation(body: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """The system prompt and (role, text) of all that follows, of a request in any of the three protocols."""
    system = [text_of(body.get("instructions") or body.get("system") or "")]
    turns: list[tuple[str, str]] = []
    asked = body.get("messages") or body.get("input") or []
    for item in [{"role": "user", "content": asked}] if isinstance(asked, str) else asked:
        role, content = item.get("role"), item.get("content")
        if role in ("system", "developer"):
            system.append(text_of(content))
        elif item.get("type") == "function_call_output":
            turns.append(("tool", text_of(item["output"])))
        elif role == "user" and isinstance(content, list) and any(part["type"] == "tool_result" for part in content):
            turns += [("tool", text_of(part["content"])) for part in content]
        elif role is not None:
            turns.append((role, text_of(content)))
    return "\n".join(system), turns


def last_turn(turns: list[tuple[str, str]]) -> tuple[str, list[str]]:
    """What the user said last, and the results of tools since."""
    at = max(place for place, (role, _) in enumerate(turns) if role == "user")
    return turns[at][1], [text for role, text in turns[at:] if role == "tool"]


def text_of(content: Any) -> str:
    """The text of some content."""
    if isinstance(content, list):
        return " ".join(str(part.get("text") or "") if isinstance(part, dict) else str(part) for part in content)
    return content if isinstance(content, str) else json.dumps(content)


@contextmanager
def served(desk: Callable[[Request], Reply], monkeypatch: Any) -> Iterator[ModelServer]:
    """The model server that the desk's agents are pointed at by ``DESK_URL``."""
    with ModelServer(desk) as server:
        monkeypatch.setenv("DESK_URL", server.base_url)
        yield server


def touch(what: str) -> None:
    """What a tool does when it is really run: one more line in ``DESK_LOG``."""
    log = os.environ.get("DESK_LOG")
    if log:
        with Path(log).open("a") as file:
            file.write(what + "\n")


def touched() -> list[str]:
    """Every real run of a tool."""
    log = Path(os.environ["DESK_LOG"])
    return log.read_text().splitlines() if log.exists() else []


def traced_desk(request: Request) -> Reply:
    """The model behind the recorded traces of ``tests/data/otlp``."""
    system, turns = conversation(request.body)
    said, results = last_turn(turns)
    plan: list[Reply] = _PLANS[next(known for known in _PLANS if known in said)]
    if "Lima" in said and "Hand off" not in system:
        plan, results = plan[1:], results[1:]
    reply = plan[min(len(results), len(plan) - 1)]
    ids = tuple({"id": f"call_{len(turns)}_{place}", **call} for place, call in enumerate(reply.tool_calls))
    return replace(reply, tool_calls=ids)


_PLANS: dict[str, list[Reply]] = {
    "Fahrenheit": [
        calls("get_weather", {"city": "Paris"}),
        calls("convert_temperature", {"celsius": 18.5}),
        says("It is 18.5 °C (65.3 °F) in Paris with light rain."),
    ],
    "order": [calls("lookup_order", {"order_id": "A-1009"}), says("I could not find order A-1009.")],
    "Lima": [
        calls("transfer_to_spanish_agent", {}),
        calls("get_weather", {"city": "Lima"}),
        says("En Lima hay 19.2 °C."),
    ],
}
