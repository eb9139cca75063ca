"""The agent behind the recorded traces of the Anthropic client: its tools must never run in a replay."""

from __future__ import annotations

import os
from typing import Any

from anthropic import Anthropic

import rejudge
from tests.replay.adapters.agents.openai_traced import ARGUMENTS, FUNCTIONS, SYSTEM

TOOLS: list[Any] = [
    {"name": name, "input_schema": {"type": "object", "properties": {argument: {"type": "string"}}}}
    for name, argument in ARGUMENTS.items()
]


def run(question: str) -> str:
    return talk(question, streamed=False)


def run_streamed(question: str) -> str:
    return talk(question, streamed=True)


def talk(question: str, *, streamed: bool) -> str:
    messages: list[Any] = [{"role": "user", "content": question}]
    made = Anthropic(base_url=os.environ["DESK_URL"].removesuffix("/v1"), api_key="test", max_retries=0)
    with rejudge.adapters.anthropic.replayable(made) as client:
        while True:
            asked: dict[str, Any] = {"model": "claude-sonnet-4-5", "system": SYSTEM, "messages": messages}
            if streamed:
                with client.messages.stream(**asked, tools=TOOLS, max_tokens=300) as stream:
                    message: Any = stream.get_final_message()
            else:
                message = client.messages.create(**asked, tools=TOOLS, max_tokens=300)
            messages.append({"role": "assistant", "content": message.content})
            called = [block for block in message.content if block.type == "tool_use"]
            if not called:
                return "".join(block.text for block in message.content if block.type == "text")
            results = [(block.id, str(FUNCTIONS[block.name](**block.input))) for block in called]
            messages.append(
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": id, "content": text} for id, text in results],
                }
            )
