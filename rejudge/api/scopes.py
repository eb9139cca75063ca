"""The recorded calls that a replay's policies read beyond its baseline: read once for all replays of a run."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rejudge.models.policy import PolicySet, Scope
from rejudge.models.session import SessionView
from rejudge.store.engine import Database
from rejudge.store.reading import load_views
from rejudge.store.replays import Replay
from rejudge.store.scopes import Member, agent_sessions, cohort_sessions_of_run


@dataclass(frozen=True, slots=True)
class _Held:
    """What a scope held when it was last read."""

    url: str
    members: tuple[Member, ...]
    views: Sequence[SessionView]


_held: dict[Scope, _Held] = {}
_lock = threading.Lock()


def wider_sessions(
    database: Database, replay: Replay, baseline: SessionView, policies: PolicySet
) -> Mapping[Scope, Sequence[SessionView]]:
    """By scope that some policy reads, its sessions. The baseline's own is not among them."""
    wider: dict[Scope, Sequence[SessionView]] = {}
    if "agent" in policies.scopes:
        members = agent_sessions(database, {replay.agent, baseline.session.agent})
        wider["agent"] = _views(database, "agent", members)
    if "cohort_version" in policies.scopes and replay.experiment_run_id is not None:
        members = cohort_sessions_of_run(database, replay.experiment_run_id)
        wider["cohort_version"] = _views(database, "cohort_version", members)
    return wider


def _views(database: Database, scope: Scope, members: Sequence[Member]) -> Sequence[SessionView]:
    # One replay at a time reads: those that wait for it find it done. A session that has changed has another digest.
    key = database.url.render_as_string(hide_password=True)
    with _lock:
        held = _held.get(scope)
        if held is None or (held.url, held.members) != (key, tuple(members)):
            views = load_views(database, [session_id for session_id, _ in members])
            held = _held[scope] = _Held(key, tuple(members), views)
        return held.views
