"""A replay in this very process: for tests of tools and adapters. Nothing bounds it, and nothing cleans up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from rejudge.models.agent import AgentSpec
from rejudge.models.override import Override
from rejudge.models.policy import PolicySet, Scope
from rejudge.models.replay import ReplayPlan
from rejudge.models.session import SessionView
from rejudge.replay.active import deciding
from rejudge.replay.context import AgentContext
from rejudge.replay.fork import fork_point
from rejudge.replay.journal import MemoryJournal
from rejudge.replay.outcome import Told, told_by
from rejudge.replay.recorded import build_tape
from rejudge.replay.rerun import Rerun
from rejudge.replay.simulate import simulated_result


class Replayed:
    """A replay in progress in this process."""

    def __init__(self, rerun: Rerun, journal: MemoryJournal) -> None:
        self.rerun = rerun
        self._journal = journal

    @property
    def told(self) -> Told:
        """What has happened so far: counts by source, misses, applied overrides."""
        return told_by(dict(event) for event in self._journal.events)

    @property
    def context(self) -> AgentContext:
        """What an agent's function would be given."""
        plan = self.rerun.plan
        return AgentContext(self.rerun, plan.override, plan.baseline_session_id, plan.replay_id, plan.trial)


@contextmanager
def replaying(
    baseline: SessionView,
    *,
    policies: PolicySet | None = None,
    override: Override | None = None,
    fork: str | None = None,
    wider: Mapping[Scope, Iterable[SessionView]] | None = None,
) -> Iterator[Replayed]:
    """Let a baseline's tape decide on the calls made in a block.

    Example:
        >>> from rejudge.models import Session
        >>> with replaying(SessionView(Session(inputs="hello"))) as replay:
        ...     replay.told.misses
        0
    """
    plan = ReplayPlan(
        replay_id="here",
        baseline_session_id=baseline.session.id,
        agent=baseline.session.agent,
        spec=AgentSpec(kind="function", entrypoint="here:block"),
        inputs=baseline.session.inputs,
        policies=policies or PolicySet(),
        override=override or Override(),
        fork=fork_point(baseline, fork) if fork is not None else None,
    )
    journal = MemoryJournal()
    rerun = Rerun(plan, build_tape(baseline, wider=wider), journal, simulate=simulated_result)
    with deciding(rerun):
        yield Replayed(rerun, journal)
    rerun.finish()
