"""The tables, one file per noun."""

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

__all__ = [
    "AgentRow",
    "AgentVersionRow",
    "CohortMemberRow",
    "CohortRow",
    "CohortVersionRow",
    "CounterRow",
    "EvaluationRow",
    "EvaluatorRow",
    "EvaluatorVersionRow",
    "ExperimentRow",
    "ExperimentRunRow",
    "NodeRow",
    "PackRow",
    "ReplayRow",
    "ScoringRow",
    "SessionPackRow",
    "SessionRow",
    "SessionSourceRow",
    "SessionTraceRow",
    "Table",
    "TagRow",
]
