"""Replays against the store: asked for once, run in a process of their own, stored whole."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from rejudge.api.owners import attempt, is_gone
from rejudge.api.scopes import wider_sessions
from rejudge.errors import UsageError
from rejudge.models.agent import AgentSpec
from rejudge.models.override import Override
from rejudge.models.policy import PolicySet
from rejudge.models.replay import ReplayResult
from rejudge.models.requests import ReplayRequest
from rejudge.models.session import SessionView
from rejudge.store.agents import AgentVersion, find_agent_version
from rejudge.store.engine import Database
from rejudge.store.reading import load_views
from rejudge.store.replays import (
    ENDED,
    AskedReplay,
    Replay,
    ask_replay,
    begin_replay,
    end_replay,
    find_replay,
    give_back_replay,
)
from rejudge.store.selecting import resolve_ids

_LOOK_SECONDS: Final = 0.5
"""Between two looks at a replay that somebody else is running."""
_LEASE_SECONDS: Final = 600.0
"""How much longer than the agent's limit a replay may take on another machine before it counts as abandoned."""


def ask(database: Database, request: ReplayRequest, *, experiment_run_id: str | None = None) -> tuple[Replay, bool]:
    """The replay that a request stands for, and whether it is new. Nothing is run.

    Args:
        experiment_run_id: The run that it belongs to.

    Raises:
        NotFound: Where the session, the agent version or the fork point is not there.
        UsageError: Where the session cannot be replayed, or a policy reads what only an experiment run has.
    """
    if experiment_run_id is None and "cohort_version" in request.policies.scopes:
        raise UsageError("the scope cohort_version is for experiment runs", mend="use the scope agent, or baseline")
    with database.read() as connection:
        [session_id] = resolve_ids(connection, [request.session])
    [baseline] = load_views(database, [session_id])
    version = agent_version_for(database, request.agent or baseline.session.agent)
    _check_replayable(baseline)
    plan = {
        "override": request.override.model_dump(mode="json", exclude_none=True),
        "policies": request.policies.model_dump(mode="json"),
        "fork_point": _fork_node(baseline, request.fork_point),
    }
    asked = AskedReplay(
        baseline_session_id=session_id,
        baseline_digest=baseline.session.digest,
        agent=version.agent,
        agent_version=version.number,
        plan=plan,
        trial=request.trial,
        experiment_run_id=experiment_run_id,
    )
    return ask_replay(database, asked, again=request.again)


def perform(
    database: Database,
    replay_id: str,
    *,
    flow_run_id: str | None = None,
    canceled: Callable[[], bool] = lambda: False,
) -> Replay:
    """Runs a replay that was asked for, to its end, and stores it with its session in one transaction.

    One that has ended is given back as it is. One that somebody else is running is waited for; where that one died,
    it is taken up here. An agent that fails, crashes or hangs is a result, not an error.

    Args:
        canceled: Asked while the agent runs; True ends it, and nothing but the fact is stored.

    Raises:
        ReplayError: Where no process could be started: the replay stays open, and may be tried again.
    """
    while True:
        replay = find_replay(database, replay_id)
        if replay.status in ENDED:
            return replay
        version = find_agent_version(database, f"{replay.agent}@{replay.agent_version}")
        spec = AgentSpec.model_validate(version.spec)
        dead = [replay.owner] if replay.owner is not None and _is_abandoned(replay, spec) else []
        with attempt() as owner:
            if begin_replay(database, replay_id, owner, dead_owners=dead, flow_run_id=flow_run_id):
                return _carry_out(database, replay, spec, owner, canceled)
        if canceled():
            return replay
        time.sleep(_LOOK_SECONDS)


def _carry_out(
    database: Database, replay: Replay, spec: AgentSpec, owner: str, canceled: Callable[[], bool]
) -> Replay:
    try:
        result = _run(database, replay, spec, canceled)
        return end_replay(
            database,
            replay.id,
            status=result.status,
            error=result.reason,
            result=result.facts(),
            # Half a run that was called off says nothing of the agent.
            recording=result.recording if result.status != "canceled" else None,
        )
    except BaseException:
        give_back_replay(database, replay.id, owner)
        raise


def _is_abandoned(replay: Replay, spec: AgentSpec) -> bool:
    """Whether who took a replay is no more: seen here, or, on another machine, by the time that has passed."""
    if replay.owner is not None and is_gone(replay.owner):
        return True
    if replay.started_at is None:
        return False
    seconds = (datetime.now(UTC) - replay.started_at).total_seconds()
    return seconds > spec.limits.timeout_seconds + _LEASE_SECONDS


def agent_version_for(database: Database, reference: str) -> AgentVersion:
    """The agent version of a reference; the latest where it names none."""
    return find_agent_version(database, reference)


def _run(database: Database, replay: Replay, spec: AgentSpec, canceled: Callable[[], bool]) -> ReplayResult:
    from rejudge.replay.run import replay_session

    [baseline] = load_views(database, [replay.baseline_session_id])
    policies = PolicySet.model_validate(replay.plan["policies"])
    return replay_session(
        baseline,
        spec,
        agent=replay.agent,
        policies=policies,
        override=Override.model_validate(replay.plan["override"]),
        fork=replay.plan.get("fork_point"),
        trial=replay.trial,
        wider=wider_sessions(database, replay, baseline, policies),
        replay_id=replay.id,
        canceled=canceled,
    )


def _check_replayable(baseline: SessionView) -> None:
    from rejudge.replay.inputs import is_replayable

    if not is_replayable(baseline):
        raise UsageError(
            f"session {baseline.session.number} cannot be replayed: what it was started with is not recorded",
            mend="import it with content, or replay another session",
        )


def _fork_node(baseline: SessionView, written: str | None) -> str | None:
    """The fork point as a node's id: however it was written, the same point is the same replay."""
    if written is None:
        return None
    from rejudge.replay.fork import fork_point

    return fork_point(baseline, written).node_id
