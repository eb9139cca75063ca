"""Judging sessions from a command or from Python: checked first, then run as a flow. Prefect is imported last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rejudge.models.requests import IDS_LIMIT, EvaluationRequest
from rejudge.models.selection import Selection
from rejudge.scoring.batch import Batch, plan_batch
from rejudge.scoring.report import BatchReport, Tally, report_of
from rejudge.store.engine import Database
from rejudge.store.summaries import summarize
from rejudge.tasks.embedded import run_flow
from rejudge.tasks.judges import find_judges, pinned
from rejudge.tasks.pools import make_pool
from rejudge.tasks.surroundings import Progress, Surroundings

FLOW = "rejudge.flows.evaluate_sessions:evaluate_sessions"


def run_evaluation(
    database: Database,
    request: EvaluationRequest,
    *,
    ephemeral: bool = False,
    say: Callable[[str], None] = lambda _: None,
    progress: Callable[[Progress], None] | None = None,
) -> BatchReport:
    """Judge sessions here, and wait.

    Everything that can be refused is refused before a server is looked for; where everything is scored already, no
    flow is run.

    Args:
        ephemeral: Use Prefect's temporary server.
        say: Told in one line what a person should know.
        progress: Called as scorings are stored.

    Raises:
        NotFound: Where no session matches, or an evaluator is not there.
        UsageError: Where params do not fit.
        KeyboardInterrupt: When it was interrupted; what was finished is stored.
    """
    judges = find_judges(database, request.evaluators)
    batch = plan_batch(database, request, judges)
    if not batch.todo:
        return report_of(batch, Tally(), summarize(database, batch.session_ids, [one.requested for one in judges]))
    with make_pool(judges) as pool:
        pool.check([judge.assignment for judge in judges])
        by = Surroundings(
            database=database, pool=pool, on_progress=progress, session_ids=_too_many(batch, request), in_process=True
        )
        asked = request.model_copy(update={"evaluators": pinned(request.evaluators, judges), **_shortened(by)})
        end = run_flow(FLOW, asked, by=by, ephemeral=ephemeral, say=say)
    report = end.result
    assert isinstance(report, BatchReport)
    return replace(report, url=end.url)


def _too_many(batch: Batch, request: EvaluationRequest) -> tuple[str, ...] | None:
    ids = request.selection.ids
    return batch.session_ids if ids is not None and len(ids) > IDS_LIMIT else None


def _shortened(by: Surroundings) -> dict[str, Selection]:
    """A flow run's parameters hold some thousand ids and no more: beyond, the first stands for them all there."""
    return {} if by.session_ids is None else {"selection": Selection(ids=by.session_ids[:IDS_LIMIT])}
