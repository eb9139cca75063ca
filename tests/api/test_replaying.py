"""Replays against the store: asked for once, run once, whoever is ended meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from rejudge.api import replaying
from rejudge.errors import NotFound, ReplayError, UsageError
from rejudge.models.override import Override
from rejudge.models.policy import HistoryPolicy, PolicySet, parse_tool_policy
from rejudge.models.requests import ReplayRequest
from rejudge.store.engine import Database
from rejudge.store.reading import load_views
from rejudge.store.replays import begin_replay, find_replay
from rejudge.store.tables import core
from tests.api.replays import LIVE, TALK, lines, record, register, start_performing, until
from tests.model_server import ModelServer, says
from tests.replay.build import running_in

ASKING = """def answer(request):
        import json, urllib.request
        from rejudge.replay import chat_messages
        body = json.dumps({{"model": request.model, "messages": chat_messages(request)}}).encode()
        asked = urllib.request.Request("{url}/chat/completions", body, {{"content-type": "application/json"}})
        return json.load(urllib.request.urlopen(asked))

    def unused(request):"""
QUICK = "def run(inputs): return 'fine'"
SLOW = """
    import os, signal, subprocess, time
    def run(inputs):
        with open("began", "a") as log:
            log.write(f"{os.getpid()}\\n")
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.path.exists("slow"):
            subprocess.Popen(["sleep", "617"], start_new_session=True)
            time.sleep(600)
        time.sleep(0.5)
        return "fine"
"""
TAPED = PolicySet(models_default=HistoryPolicy())


@pytest.fixture
def slow(database: Database, tmp_path: Path) -> str:
    """An agent that hangs as long as there is a file ``slow``; session 1 is a quick one's."""
    record(database, tmp_path, QUICK)
    return register(database, tmp_path, SLOW, name="slow", timeout=300)


def sessions(database: Database) -> int:
    with database.read() as connection:
        return connection.execute(select(func.count()).where(core.sessions.c.origin == "replay")).scalar_one()


def test_the_same_replay_is_one_however_its_fork_point_is_written(database: Database, tmp_path: Path) -> None:
    record(database, tmp_path, TALK)
    asked = ReplayRequest(session="1", override=Override(model="new"), fork_point="tool:look#2")
    first, created = replaying.ask(database, asked)
    same = [
        replaying.ask(database, asked.model_copy(update=change))
        for change in ({}, {"fork_point": "4"}, {"agent": "desk@1"}, {"session": first.baseline_session_id})
    ]
    assert created and [(one.id, new) for one, new in same] == [(first.id, False)] * 4
    others = [
        replaying.ask(database, asked.model_copy(update=change))[0].id
        for change in ({"trial": 1}, {"fork_point": "3"}, {"override": Override(model="old")}, {"again": True})
    ]
    assert len({first.id, *others}) == 5


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"session": "9"}, NotFound),
        ({"agent": "nobody"}, NotFound),
        ({"agent": "desk@7"}, NotFound),
        ({"fork_point": "tool:look#9"}, NotFound),
        ({"fork_point": "0"}, UsageError),
    ],
    ids=["session", "agent", "version", "fork-point", "no-call"],
)
def test_what_is_not_there_is_refused_before_anything_is_stored(
    database: Database, tmp_path: Path, change: dict[str, str], error: type[Exception]
) -> None:
    record(database, tmp_path, TALK)
    with pytest.raises(error):
        replaying.ask(database, ReplayRequest(session="1").model_copy(update=change))
    assert replaying.ask(database, ReplayRequest(session="1"))[0].number == 1


def test_two_processes_that_race_make_one_replay_and_run_it_once(
    database: Database, tmp_path: Path, slow: str
) -> None:
    racers = [start_performing(database, slow) for _ in range(2)]
    told = [racer.communicate(timeout=120)[0].split()[1:] for racer in racers]
    assert sorted(created for created, *_ in told) == ["False", "True"]
    assert told[0][1:] == told[1][1:] and told[0][2] == "completed"
    assert len(lines(tmp_path / "began")) == 1 and sessions(database) == 1


def test_killed_in_the_middle_and_run_again_there_is_one_session(
    database: Database, tmp_path: Path, slow: str
) -> None:
    (tmp_path / "slow").touch()
    with start_performing(database, slow) as racer:
        until(lambda: lines(tmp_path / "began"))
        racer.kill()
    (tmp_path / "slow").unlink()
    replay, created = replaying.ask(database, ReplayRequest(session="1", agent=slow))
    assert (created, replay.status, sessions(database)) == (False, "running", 0)
    ended = replaying.perform(database, replay.id)
    assert (ended.status, ended.owner, sessions(database)) == ("completed", None, 1)
    assert len(lines(tmp_path / "began")) == 2
    until(lambda: not running_in(tmp_path), seconds=20)


def test_a_canceled_replay_leaves_no_session_and_no_process_and_is_run_anew_when_asked_for(
    database: Database, tmp_path: Path, slow: str
) -> None:
    (tmp_path / "slow").touch()
    request = ReplayRequest(session="1", agent=slow)
    replay, _ = replaying.ask(database, request)
    canceled = replaying.perform(database, replay.id, canceled=lambda: bool(lines(tmp_path / "began")))
    assert (canceled.status, canceled.error, sessions(database)) == ("canceled", "it was canceled", 0)
    assert not running_in(tmp_path)
    (tmp_path / "slow").unlink()
    again, created = replaying.ask(database, request)
    assert (again.id, again.status, created) == (replay.id, "pending", True)
    assert replaying.perform(database, again.id).status == "completed" and sessions(database) == 1


@pytest.mark.parametrize(
    ("ago", "status"),
    [(timedelta(minutes=1), "running"), (timedelta(minutes=20), "completed")],
    ids=["may-be-at-work", "abandoned"],
)
def test_on_another_machine_time_tells_who_is_gone(
    database: Database, slow: str, ago: timedelta, status: str
) -> None:
    replay, _ = replaying.ask(database, ReplayRequest(session="1", agent=slow))
    assert begin_replay(database, replay.id, "elsewhere/1/2.0/abc")
    with database.write() as connection:
        connection.execute(update(core.replays).values(started_at=datetime.now(UTC) - ago))
    replaying.perform(database, replay.id, canceled=lambda: status == "running")
    assert find_replay(database, replay.id).status == status


def test_a_replay_that_could_not_be_started_stays_open(database: Database, slow: str, tmp_path: Path) -> None:
    replay, _ = replaying.ask(database, ReplayRequest(session="1", agent=slow))

    def out_of_order() -> bool:
        raise ReplayError("no process")

    with pytest.raises(ReplayError, match="no process"):
        replaying.perform(database, replay.id, canceled=out_of_order)
    assert find_replay(database, replay.id).status == "pending"
    assert replaying.perform(database, replay.id).status == "completed"


def test_at_each_step_of_a_fork_what_is_before_it_is_free_and_the_same(database: Database, tmp_path: Path) -> None:
    with ModelServer(lambda request: says(f"{len(request.body['messages'])} messages")) as server:
        asking = TALK.replace("def answer(request):", ASKING.format(url=server.base_url))
        record(database, tmp_path, asking)
        server.requests.clear()
        for step in range(1, 13):
            request = ReplayRequest(session="1", policies=LIVE, fork_point=str(step))
            replay, _ = replaying.ask(database, request)
            ended = replaying.perform(database, replay.id)
            models, tools = (13 - step) // 2, (14 - step) // 2
            assert ended.result is not None and (ended.status, ended.result["divergence"]) == ("completed", None)
            assert ended.result["fidelity"]["history"] + ended.result["fidelity"]["model_history"] == step - 1
            asked = [len(one.body["messages"]) for one in server.requests]
            assert asked == [2 * number + 2 for number in range(6 - models, 6)]
            assert lines(tmp_path / "looked") == [str(number) for number in range(6 - tools, 6)]
            server.requests.clear()
            (tmp_path / "looked").unlink()


PAYS = """
    import rejudge
    @rejudge.tool
    def pay(order: str, amount: int) -> str:
        with open("payments", "a") as log:
            log.write(f"{order} {amount}\\n")
        return "paid"
    def run(inputs):
        try:
            return pay("A", 1) + ", " + pay("A", AMOUNT)
        except Exception as error:
            return type(error).__name__
"""


@pytest.mark.parametrize(
    ("tools", "payments", "status", "outputs"),
    [
        (None, [], "failed", None),
        ("history", [], "failed", None),
        ("history(on_miss=error_result)", [], "completed", "NoRecordedAnswer"),
        ("history(on_miss=passthrough)", ["A 3"], "completed", "paid, paid"),
        ("history(agent)", [], "failed", None),
        ("history(agent, on_miss=passthrough)", ["A 3"], "completed", "paid, paid"),
        ("history(ignore=['amount'])", [], "completed", "paid, paid"),
        ("passthrough", ["A 1", "A 3"], "completed", "paid, paid"),
        ('{"kind": "static", "cases": [{"result": "said"}]}', [], "completed", "said, said"),
        ('{"kind": "static", "cases": [{"match": {"amount": 1}, "result": "said"}]}', [], "failed", None),
        (
            '{"kind": "static", "cases": [{"match": {"amount": 1}, "result": "said"}], "on_miss": "error_result"}',
            [],
            "completed",
            "NoRecordedAnswer",
        ),
        (
            '{"kind": "static", "cases": [{"match": {"amount": 1}, "result": "said"}], "on_miss": "passthrough"}',
            ["A 3"],
            "completed",
            "said, paid",
        ),
        ('{"kind": "static", "cases": [{"error": "no money"}]}', [], "completed", "RecordedToolError"),
        ("llm(nobody)", [], "failed", None),
    ],
    ids=lambda value: value if isinstance(value, str) and value[0] in "hpl" and "paid" not in value else "",
)
def test_a_side_effect_happens_where_a_policy_says_so_and_nowhere_else(
    database: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tools: str | None,
    payments: list[str],
    status: str,
    outputs: str | None,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    record(database, tmp_path, PAYS.replace("AMOUNT", "2"))
    (tmp_path / "payments").unlink()
    register(database, tmp_path, PAYS.replace("AMOUNT", "3"))
    policies = PolicySet(tools_default=parse_tool_policy(tools)) if tools else PolicySet()
    replay, _ = replaying.ask(database, ReplayRequest(session="1", agent="desk@2", policies=policies))
    ended = replaying.perform(database, replay.id)
    assert (ended.status, lines(tmp_path / "payments")) == (status, payments), ended.error
    if outputs is not None:
        [view] = load_views(database, [ended.result_session_id or ""])
        assert view.session.outputs == outputs


@pytest.mark.parametrize("fork_point", [None, "7", "12"], ids=["replay", "fork", "fork-at-the-end"])
def test_what_a_replay_shares_with_its_baseline_is_stored_once(
    database: Database, tmp_path: Path, fork_point: str | None
) -> None:
    record(database, tmp_path, TALK)
    held = stored_bytes(database)
    policies = PolicySet() if fork_point else TAPED
    replay, _ = replaying.ask(database, ReplayRequest(session="1", policies=policies, fork_point=fork_point))
    assert replaying.perform(database, replay.id).status == "completed"
    assert stored_bytes(database) - held < held / 20


def stored_bytes(database: Database) -> int:
    """What the payloads of all sessions take, and the spans that are kept of replays."""
    spans = select(func.sum(func.length(core.session_sources.c.spans))).join(
        core.sessions,
        (core.sessions.c.id == core.session_sources.c.session_id) & (core.sessions.c.origin == "replay"),
    )
    with database.read() as connection:
        payloads = connection.execute(select(func.sum(func.length(core.packs.c.data)))).scalar()
        return int(payloads or 0) + int(connection.execute(spans).scalar() or 0)


LOOKS = """
    import rejudge
    @rejudge.tool
    def look(key: str) -> str:
        with open("looked", "a") as log:
            log.write(key)
        return "live"
    def run(inputs):
        return look("KEY")
"""


def test_an_agents_other_recordings_answer_and_later_ones_are_seen(database: Database, tmp_path: Path) -> None:
    record(database, tmp_path, LOOKS.replace("KEY", "A"))
    agent = register(database, tmp_path, LOOKS.replace("KEY", "B"), name="other")
    request = ReplayRequest(
        session="1", agent=agent, policies=PolicySet(tools_default=parse_tool_policy("history(agent)"))
    )

    def ended_as(trial: int) -> str:
        replay, _ = replaying.ask(database, request.model_copy(update={"trial": trial}))
        return replaying.perform(database, replay.id).status

    assert ended_as(0) == "failed"
    record(database, tmp_path, LOOKS.replace("KEY", "B"))
    (tmp_path / "looked").unlink(missing_ok=True)
    register(database, tmp_path, LOOKS.replace("KEY", "B"), name="other")
    assert ended_as(1) == "completed" and lines(tmp_path / "looked") == []


def test_a_scope_that_only_an_experiment_run_has_is_refused(database: Database, tmp_path: Path) -> None:
    record(database, tmp_path, LOOKS)
    policies = PolicySet(tools={"look": parse_tool_policy("history(cohort_version)")})
    with pytest.raises(UsageError, match="experiment runs"):
        replaying.ask(database, ReplayRequest(session="1", policies=policies))
