"""The ``llm`` policy, against a scripted model server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rejudge.models.policy import PolicySet
from rejudge.models.replay import ReplayResult
from rejudge.replay import replay_session

from .build import agent, session, tool, view_of

AGENT = """
    import rejudge
    from pydantic import BaseModel

    class Order(BaseModel):
        total: int

    @rejudge.tool
    def look(order: str) -> Order:
        raise AssertionError("the body must not run")

    def run(inputs):
        return look(inputs).total
"""


class Server(ThreadingHTTPServer):
    said = '{"result": {"total": 7}}'
    asked: list[dict[str, Any]]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append({"path": self.path, "key": self.headers.get("authorization"), **asked})
        text = self.server.said
        body = {"choices": [{"message": {"content": text}}], "content": [{"type": "text", "text": text}]}
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Handler)
    made.asked = []
    thread = threading.Thread(target=made.serve_forever, args=(0.02,))
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def simulated(folder: Path, server: Server, model: str) -> ReplayResult:
    url = f"http://127.0.0.1:{server.server_port}"
    variables = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k", "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k"}
    policies = PolicySet.model_validate(
        {"tools_default": {"kind": "llm", "model": model, "instructions": "Be cheap."}}
    )
    baseline = session(tool("look", {"order": "B2"}, {"total": 3}), inputs="A1")
    return replay_session(baseline, agent(folder, AGENT), policies=policies, environment=variables)


@pytest.mark.parametrize(
    ("model", "path"),
    [("desk", "/chat/completions"), ("openai:desk", "/chat/completions"), ("anthropic:desk", "/v1/messages")],
)
def test_a_result_is_made_up_from_schema_and_past_calls_and_marked(
    tmp_path: Path, server: Server, model: str, path: str
) -> None:
    result = simulated(tmp_path, server, model)
    assert (result.status, result.outputs, result.fidelity.llm) == ("completed", 7, 1), (result.reason, result.output)
    [asked] = server.asked
    question = asked["messages"][-1]["content"]
    assert asked["path"] == path and asked["model"] == "desk"
    assert all(part in question for part in ('"total"', '"B2"', '"A1"', "Be cheap."))
    [node] = view_of(result).tool_calls
    assert node.attributes is not None and node.attributes["rejudge.answer"] == "llm"


@pytest.mark.parametrize("said", ["I would rather not", '{"answer": 1}', '{"result": {"sum": 1}}'])
def test_an_answer_that_is_no_result_ends_the_replay(tmp_path: Path, server: Server, said: str) -> None:
    server.said = said
    result = simulated(tmp_path, server, "desk")
    assert result.status == "failed" and result.miss is not None and result.miss.name == "look"
