"""A replay that is decided elsewhere: the tape endpoint of a command agent, asked over HTTP.

The endpoint is described in `rejudge.replay.endpoint`; an agent in any language asks it the same way.
"""

from __future__ import annotations

import http.client
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import orjson

from rejudge.errors import NoRecordedAnswer, ReplayEnded
from rejudge.models.canonical import JsonValue
from rejudge.replay.active import URL_VARIABLE
from rejudge.replay.answers import ModelAnswer, Replaying, ToolAnswer
from rejudge.replay.request import ModelRequest, ModelResponse

TOKEN_VARIABLE = "REJUDGE_TAPE_TOKEN"
SPANS_VARIABLE = "REJUDGE_SPANS_FILE"


def replaying_from_environment() -> Replaying | None:
    """The endpoint that this process was handed; None where it was handed none.

    A process that has it writes its spans into the run's own file as well: not every agent has an exporter.
    """
    url = os.environ.get(URL_VARIABLE)
    if not url:
        return None
    spans = os.environ.get(SPANS_VARIABLE)
    if spans:
        from rejudge.replay.listening import listen_too

        listen_too(Path(spans))
    return RemoteReplay(url, os.environ.get(TOKEN_VARIABLE, ""))


class RemoteReplay:
    """Asks a tape endpoint. Each thread keeps its own connection."""

    def __init__(self, url: str, token: str) -> None:
        self._at = urlsplit(url)
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        self._local = threading.local()
        self._ended: str | None = None

    def refuse_when_over(self) -> None:
        """See `rejudge.replay.rerun.Rerun.refuse_when_over`."""
        if self._ended is not None:
            raise ReplayEnded(self._ended)

    def ask_tool(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        spellings: Sequence[Mapping[str, JsonValue]] = (),
        call_id: str | None = None,
        schema: Callable[[], Mapping[str, Any] | None] | None = None,
    ) -> ToolAnswer | None:
        """See `rejudge.replay.rerun.Rerun.ask_tool`."""
        question = {"name": name, "arguments": arguments, "call_id": call_id}
        answer = self._post(
            "/tool", {**question, "spellings": spellings, "schema": schema() if schema is not None else None}
        )
        if not self._answered(answer):
            return None
        error = answer.get("error") or {}
        return ToolAnswer(
            source=answer.get("source", "history"),
            result=answer.get("result"),
            node_id=answer.get("node_id"),
            failed=answer.get("error") is not None,
            error=error.get("message"),
            error_type=error.get("type"),
            inferred=bool(answer.get("inferred")),
        )

    def ask_model(self, request: ModelRequest) -> tuple[ModelRequest, ModelAnswer | None]:
        """See `rejudge.replay.rerun.Rerun.ask_model`."""
        answer = self._post("/model", request_json(request))
        changed = request_of(answer["request"]) if "request" in answer else request
        try:
            answered = self._answered(answer)
        except (ReplayEnded, NoRecordedAnswer) as refused:
            refused.request = changed
            raise
        if not answered:
            return changed, None
        error = answer.get("error") or {}
        response = dict(answer.get("response") or {})
        return changed, ModelAnswer(
            response=ModelResponse(**{**response, "messages": tuple(response.get("messages") or ())}),
            node_id=answer.get("node_id"),
            failed=answer.get("error") is not None,
            error=error.get("message"),
            error_type=error.get("type"),
        )

    def offered_tools(self) -> list[Mapping[str, Any]]:
        """See `rejudge.replay.rerun.Rerun.offered_tools`."""
        return list(self._post("/offered-tools", {}).get("tools") or ())

    def take_override(self, part: str) -> bool:
        """See `rejudge.replay.rerun.Rerun.take_override`."""
        return bool(self._post("/override", {"part": part}).get("applies"))

    def misfit(self, name: str, arguments: Mapping[str, JsonValue], reason: str) -> NoReturn:
        """See `rejudge.replay.rerun.Rerun.misfit`."""
        self._post("/misfit", {"name": name, "arguments": arguments, "reason": reason})
        raise ReplayEnded(reason)

    def _answered(self, answer: Mapping[str, Any]) -> bool:
        """Whether a recorded answer is there; False: make the call."""
        if answer.get("answered"):
            return True
        if answer.get("action") == "stop":
            self._ended = str(answer.get("miss"))
            raise ReplayEnded(self._ended)
        if answer.get("action") == "error":
            raise NoRecordedAnswer(str(answer.get("miss")))
        return False

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        content = orjson.dumps(body, default=str, option=orjson.OPT_NON_STR_KEYS)
        for fresh in (False, True):
            connection = self._connection(fresh=fresh)
            try:
                connection.request("POST", f"{self._at.path}{path}", content, self._headers)
                response = connection.getresponse()
                loaded: dict[str, Any] = orjson.loads(response.read())
            except (OSError, http.client.HTTPException, ValueError) as error:
                failure: Exception = error
                continue
            if response.status == 200:
                return loaded
            failure = ValueError(loaded.get("error"))
            break
        # Without the tape nothing may be called: the agent must not go on as if it were live.
        raise ReplayEnded(f"the tape endpoint at {self._at.netloc} did not answer: {failure}")

    def _connection(self, *, fresh: bool) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None or fresh:
            if connection is not None:
                connection.close()
            connection = http.client.HTTPConnection(self._at.hostname or "127.0.0.1", self._at.port, timeout=60)
            self._local.connection = connection
        return connection


def request_json(request: ModelRequest) -> dict[str, JsonValue]:
    """A request as the endpoint reads and writes it."""
    return {
        "model": request.model,
        "messages": list(request.messages),
        "system_instructions": list(request.system_instructions),
        "tools": list(request.tools) if request.tools is not None else None,
        "parameters": dict(request.parameters),
        "provider": request.provider,
    }


def request_of(body: Mapping[str, Any]) -> ModelRequest:
    """The request that a body of the endpoint holds."""
    tools = body.get("tools")
    return ModelRequest(
        model=str(body.get("model") or ""),
        messages=tuple(body.get("messages") or ()),
        system_instructions=tuple(body.get("system_instructions") or ()),
        tools=tuple(tools) if tools is not None else None,
        parameters=body.get("parameters") or {},
        provider=body.get("provider"),
    )
