"""One question to a model, against a server that misbehaves."""

from __future__ import annotations

import asyncio
import time
from decimal import Decimal
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from rejudge.errors import EvaluationError
from rejudge.evaluators.chat import Answer, ask, close
from rejudge.evaluators.endpoint import Endpoint, endpoint_from
from tests.model_server import ModelServer, Reply, Request, cut_off, dropped, malformed, says, status

MESSAGES = [{"role": "user", "content": "well?"}]


def asked(server: ModelServer, model: str = "gpt-4o-mini", **options: Any) -> Answer:
    async def once() -> Answer:
        try:
            return await ask(Endpoint(server.base_url, model, "sk-our-own-key-000001"), MESSAGES, **options)
        finally:
            await close()

    return asyncio.run(once())


def test_an_answer_says_what_it_took() -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400}}
    with ModelServer([says("yes", model="gpt-4o-mini-2024-07-18", usage=usage)]) as server:
        answer = asked(server)

    # $0.15 a million in, $0.075 cached, $0.60 out: 600 x 0.15 + 400 x 0.075 + 100 x 0.6 = 180 millionths.
    assert (answer.text, answer.model, answer.cost) == ("yes", "gpt-4o-mini-2024-07-18", Decimal("0.00018"))
    assert (answer.input_tokens, answer.output_tokens) == (1000, 100)
    assert server.requests[0].headers["authorization"] == "Bearer sk-our-own-key-000001"


def test_an_answer_without_usage_or_price_claims_none() -> None:
    with ModelServer([says("yes", usage=None), says("yes", usage={"prompt_tokens": -3, "cost": "0.5"})]) as server:
        first, second = asked(server, model="our-own"), asked(server, model="our-own")

    assert (first.cost, first.input_tokens, first.model) == (None, None, "our-own")
    assert (second.cost, second.input_tokens) == (Decimal("0.5"), None)


LATER = {
    "too many requests": (status(429, "slow down", retry_after=2), "answers 429.*slow down", 2.0),
    "by date": (status(429, retry_after=formatdate(time.time() + 1800, usegmt=True)), "429", 1800),
    "in milliseconds": (Reply(status=503, raw=b"x", headers={"retry-after-ms": "1500"}), "503", 1.5),
    "a wait that is none": (status(429, retry_after="soon"), "429", None),
    "server error": (status(500, "oops"), "answers 500: oops", None),
    "gateway": (Reply(status=502, raw=b"<html>bad gateway</html>"), "502: <html>", None),
    "dropped": (dropped(), "connection failed", None),
    "cut off": (cut_off(), "connection failed", None),
    "malformed": (malformed(), "no JSON", None),
    "another shape": (Reply(raw=b'{"choices": []}'), "no message", None),
    "no object": (Reply(raw=b"[1]"), "no chat completion", None),
    "empty": (says(""), "empty", None),
    "out of tokens": (says('{"a":', finish_reason="length"), "cut off at the endpoint's limit", None),
}
NEVER = {
    "credentials": (status(401, "bad key sk-our-own-key-000001"), r"credentials \(401\): bad key \[redacted\]"),
    "forbidden": (status(403, "not yours"), "credentials"),
    "no such model": (status(404, "no such model"), r"request \(404\)"),
    "a redirect": (Reply(status=302, raw=b"", headers={"location": "http://127.0.0.1:1/"}), r"request \(302\)"),
    "refused": (says("", refusal="I will not"), "refuses to judge: I will not"),
    "filtered": (says("x", finish_reason="content_filter"), "content filter"),
}


@pytest.mark.parametrize(("reply", "words", "wait"), LATER.values(), ids=LATER.keys())
def test_what_may_go_well_later_is_retryable(reply: Reply, words: str, wait: float | None) -> None:
    with ModelServer([reply]) as server, pytest.raises(EvaluationError, match=words) as raised:
        asked(server)

    assert raised.value.retryable
    assert raised.value.retry_after == (None if wait is None else pytest.approx(wait, abs=900 if wait > 60 else 0))
    assert len(server.requests) == 1


@pytest.mark.parametrize(("reply", "words"), NEVER.values(), ids=NEVER.keys())
def test_what_cannot_go_well_is_not(reply: Reply, words: str) -> None:
    with ModelServer([reply]) as server, pytest.raises(EvaluationError, match=words) as raised:
        asked(server)

    assert not raised.value.retryable
    assert "sk-our-own" not in str(raised.value)


def test_a_slow_answer_is_not_waited_for() -> None:
    begun = time.monotonic()
    with ModelServer([says("late", delay=30)]) as server, pytest.raises(EvaluationError, match=r"within 0\.2 s"):
        asked(server, timeout=0.2)

    assert time.monotonic() - begun < 20


def test_a_server_that_is_away_is_retryable() -> None:
    with ModelServer([says("x")]) as server:
        pass

    with pytest.raises(EvaluationError, match="connection failed") as raised:
        asked(server)

    assert raised.value.retryable


def test_options_an_endpoint_does_not_take_are_left_out_and_remembered() -> None:
    def picky(request: Request) -> Reply:
        for option in ("response_format", "temperature"):
            if option in request.body:
                return status(400, f"Unsupported parameter: '{option}'")
        return says("yes")

    with ModelServer(picky) as server:
        assert asked(server, schema={"type": "object"}).text == "yes"
        assert asked(server, schema={"type": "object"}).text == "yes"

    assert len(server.requests) == 4


def test_a_connection_that_is_not_there_is_said_before_anything_is_sent() -> None:
    with pytest.raises(EvaluationError, match="REJUDGE_JUDGE_BASE_URL and REJUDGE_JUDGE_MODEL missing") as raised:
        endpoint_from({})
    with pytest.raises(EvaluationError, match="no http or https address"):
        endpoint_from({"REJUDGE_JUDGE_BASE_URL": "file:///etc", "REJUDGE_JUDGE_MODEL": "m"})

    assert not raised.value.retryable
    assert "key" not in repr(Endpoint("http://x", "m", "key"))


def test_an_account_without_quota_is_not_asked_again() -> None:
    empty = Reply(status=429, raw=b'{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}')
    with ModelServer([empty]) as server, pytest.raises(EvaluationError, match="no quota left") as raised:
        asked(server)

    assert not raised.value.retryable


def test_in_a_batch_a_call_that_was_one_too_many_takes_another_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REJUDGE_SHARED_FOLDER", str(tmp_path))
    with ModelServer([status(429, retry_after=0.2), says("yes")]) as server:
        assert asked(server).text == "yes"
    first, second = server.requests
    assert second.at - first.at >= 0.2

    with ModelServer([status(429, retry_after=30)]) as server, pytest.raises(EvaluationError) as raised:
        asked(server)
    assert (raised.value.retry_after, len(server.requests)) == (30, 1)
