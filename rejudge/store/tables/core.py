"""The same tables as Core objects: what statements are written with."""

from __future__ import annotations

from typing import Final

import sqlalchemy

from rejudge.store.tables.agent import AgentRow, AgentVersionRow
from rejudge.store.tables.base import Table
from rejudge.store.tables.cohort import CohortMemberRow, CohortRow, CohortVersionRow
from rejudge.store.tables.evaluation import EvaluationRow
from rejudge.store.tables.evaluator import EvaluatorRow, EvaluatorVersionRow
from rejudge.store.tables.experiment import ExperimentRow, ExperimentRunRow
from rejudge.store.tables.node import NodeRow
from rejudge.store.tables.payload import PackRow, SessionPackRow
from rejudge.store.tables.replay import ReplayRow
from rejudge.store.tables.scoring import ScoringRow
from rejudge.store.tables.session import CounterRow, SessionRow, SessionSourceRow, SessionTraceRow
from rejudge.store.tables.tag import TagRow


def core_table(row: type[Table]) -> sqlalchemy.Table:
    """The Core table behind a row class."""
    return row.metadata.tables[str(row.__tablename__)]


agents: Final = core_table(AgentRow)
agent_versions: Final = core_table(AgentVersionRow)
cohorts: Final = core_table(CohortRow)
cohort_members: Final = core_table(CohortMemberRow)
cohort_versions: Final = core_table(CohortVersionRow)
counters: Final = core_table(CounterRow)
evaluations: Final = core_table(EvaluationRow)
evaluators: Final = core_table(EvaluatorRow)
evaluator_versions: Final = core_table(EvaluatorVersionRow)
experiments: Final = core_table(ExperimentRow)
experiment_runs: Final = core_table(ExperimentRunRow)
nodes: Final = core_table(NodeRow)
packs: Final = core_table(PackRow)
replays: Final = core_table(ReplayRow)
scorings: Final = core_table(ScoringRow)
session_packs: Final = core_table(SessionPackRow)
session_sources: Final = core_table(SessionSourceRow)
session_traces: Final = core_table(SessionTraceRow)
sessions: Final = core_table(SessionRow)
tags: Final = core_table(TagRow)
