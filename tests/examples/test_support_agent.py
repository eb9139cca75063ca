"""The demo's agent does what its README says, against the scripted model server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SUPPORT = EXAMPLES / "support"
CUSTOMERS = [json.loads(line) for line in (SUPPORT / "customers.jsonl").read_text("utf-8").splitlines()]

RUN = """
import json, sys
sys.path.insert(0, sys.argv[1])
import agent, shop
calls = []
def noting(name, tool):
    return lambda **arguments: calls.append([name, arguments]) or tool(**arguments)
agent.TOOLS = {name: noting(name, tool) for name, tool in shop.TOOLS.items()}
if len(sys.argv) > 2:
    agent.PROMPT = agent.PROMPT.with_name(sys.argv[2])
for line in sys.stdin:
    calls.clear()
    print(json.dumps({"answer": agent.run(json.loads(line))["answer"], "calls": calls}), flush=True)
"""


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    command = [sys.executable, str(EXAMPLES / "model_server.py"), "--port", "0", "--delay", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()
    assert server.returncode == 0


def answers(folder: Path, url: str, *arguments: str, model: str = "desk-large") -> list[dict[str, Any]]:
    """What the agent says and does for each customer, in a process of its own."""
    environment = {**os.environ, "OPENAI_BASE_URL": url, "SUPPORT_MODEL": model, "SUPPORT_LEDGER": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(SUPPORT), *arguments],
        input="\n".join(json.dumps(customer) for customer in CUSTOMERS),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def tools_of(answer: dict[str, Any]) -> list[str]:
    return [name for name, _ in answer["calls"]]


LOOK, CHECK, PAY = "lookup_order", "check_refund_policy", "refund_payment"

CAREFUL = [
    ([LOOK, CHECK, PAY], "refunded 42.90"),
    ([LOOK, CHECK, PAY], "refunded 42.90"),
    ([LOOK, CHECK, PAY], "refunded 189.00"),
    ([LOOK, CHECK], "64 days"),
    ([LOOK, CHECK], "final sale"),
    ([LOOK, CHECK], "not been delivered"),
    ([LOOK, CHECK, PAY], "refunded 129.99"),
    ([LOOK, CHECK, PAY], "did not go through"),
    ([LOOK], "check the number"),
    ([LOOK], "in transit"),
    ([LOOK, LOOK], "(water filter) is delivered"),
    ([], "from 8 to 20"),
]


def test_under_the_good_prompt_every_refund_is_looked_up_and_checked(model_url: str, tmp_path: Path) -> None:
    said = answers(tmp_path, model_url)
    assert [tools_of(answer) for answer in said] == [tools for tools, _ in CAREFUL]
    for answer, (_, words) in zip(said, CAREFUL, strict=True):
        assert words in answer["answer"]
    paid = (tmp_path / "payments.log").read_text("utf-8").splitlines()
    assert paid == ["HG-1001 42.90 EUR", "HG-1001 42.90 EUR", "HG-1002 189.00 EUR", "HG-1006 129.99 EUR"]


def test_under_the_terse_prompt_it_refunds_unchecked(model_url: str, tmp_path: Path) -> None:
    said = answers(tmp_path, model_url, "terse.md")
    assert not any(CHECK in tools_of(answer) for answer in said)
    assert sum(PAY in tools_of(answer) for answer in said) == 9
    assert not any("sorry" in answer["answer"] for answer in said)
    assert ["refund_payment", {"order_id": "HG-1002", "amount": 240.0}] in said[2]["calls"]


def test_the_small_model_looks_up_and_forgets_the_policy(model_url: str, tmp_path: Path) -> None:
    said = answers(tmp_path, model_url, model="desk-small")
    assert not any(CHECK in tools_of(answer) for answer in said)
    assert [PAY in tools_of(answer) for answer in said] == [True] * 8 + [False] * 4
    assert tools_of(said[8]) == [LOOK]


def test_the_same_runs_give_the_same_answers(model_url: str, tmp_path: Path) -> None:
    assert answers(tmp_path, model_url) == answers(tmp_path, model_url)


def request(model: str = "desk-large") -> dict[str, Any]:
    prompt = (SUPPORT / "prompts" / "support.md").read_text("utf-8")
    messages = [{"role": "system", "content": prompt}, {"role": "user", "content": "Where are HG-1005 and HG-1008?"}]
    return {"model": model, "messages": messages}


def test_the_server_streams_what_it_answers_at_once(model_url: str) -> None:
    client = openai.OpenAI(base_url=model_url, api_key="none")
    whole = client.chat.completions.create(**request())
    with client.chat.completions.stream(**request(), stream_options={"include_usage": True}) as stream:
        streamed = stream.get_final_completion()
    client.close()
    assert streamed.usage is not None and whole.usage is not None
    assert streamed.usage.total_tokens == whole.usage.total_tokens
    calls = [message.choices[0].message.tool_calls or [] for message in (whole, streamed)]
    assert [[call.function.arguments for call in made] for made in calls] == [
        ['{"order_id": "HG-1005"}', '{"order_id": "HG-1008"}']
    ] * 2


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        pytest.param("/chat/completions", b"{", 400, id="cut JSON"),
        pytest.param("/chat/completions", b"[]", 400, id="no object"),
        pytest.param("/embeddings", b"{}", 404, id="another path"),
    ],
)
def test_what_is_no_chat_request_is_refused(model_url: str, path: str, body: bytes, status: int) -> None:
    answer = httpx.post(model_url + path, content=body)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]
