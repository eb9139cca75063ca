"""The frame of an evaluation: the batch resolved, its processes up, its report published."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.states import Completed, Failed

from rejudge import settings
from rejudge.errors import NotFound
from rejudge.models.requests import EvaluationRequest, NightlyRequest
from rejudge.models.selection import Selection
from rejudge.scoring.batch import Batch, plan_batch
from rejudge.scoring.report import BatchReport, report_of
from rejudge.store.engine import Database, connect
from rejudge.store.schema import prepare
from rejudge.store.selecting import select_sessions
from rejudge.store.summaries import summarize
from rejudge.tasks.judges import find_judges
from rejudge.tasks.pools import make_pool
from rejudge.tasks.publishing import begin_progress, publish_progress, publish_report
from rejudge.tasks.surroundings import around
from rejudge.tasks.telling import tell
from rejudge.tasks.working import Work, working


@contextmanager
def at_work(request: EvaluationRequest) -> Iterator[Work]:
    """The batch of a request, with the database open and the evaluators' processes at hand."""
    database = open_database()
    judges = find_judges(database, request.evaluators, ask_prefect=True)
    batch = plan_batch(database, request, judges, session_ids=around().session_ids)
    pool = around().pool or make_pool(judges)
    with working(Work(batch, database, pool, flow_run_id=flow_run_id())) as work:
        if around().pool is None:  # a command has checked them before it looked for a server
            pool.check([judge.assignment for judge in judges])
        begin_progress(work)
        yield work


@contextmanager
def at_night_work(request: NightlyRequest) -> Iterator[Work]:
    """Whatever of the request's sessions is not scored yet, or was re-opened; nothing at all is no error."""
    database = open_database()
    ids: dict[str, None] = {}
    for agent in request.agents or (None,):
        selection = Selection(all=True) if agent is None else Selection(agent=agent)
        with contextlib.suppress(NotFound):
            ids |= dict.fromkeys(select_sessions(database, selection).session_ids)
    judges = find_judges(database, request.evaluators, ask_prefect=True)
    asked = EvaluationRequest(selection=Selection(all=True), evaluators=request.evaluators, mode="changed")
    batch = plan_batch(database, asked, judges, session_ids=tuple(ids)) if ids else Batch((), tuple(judges), {})
    with working(Work(batch, database, around().pool or make_pool(judges), flow_run_id=flow_run_id())) as work:
        work.pool.check([judge.assignment for judge in judges])
        begin_progress(work)
        yield work


def open_database() -> Database:
    """The database around the flow: the command's own, or the one that the settings name."""
    given = around().database
    if given is not None:
        return given
    database = connect(settings.current().database_url)
    prepare(database)
    return database


def finish(work: Work, left_over: int) -> State[Any]:
    """Publish what the batch came to, and the state that says so."""
    publish_progress(work)
    report = make_report(work.database, work, left_over)
    publish_report(report)
    tell(report.sentence)
    return final_state(report)


def make_report(database: Database, work: Work, left_over: int) -> BatchReport:
    """What a batch came to, with every metric over its sessions."""
    requested = [judge.requested for judge in work.batch.judges]
    metrics = summarize(database, work.batch.session_ids, requested)
    return report_of(work.batch, work.tally, metrics, not_tried_again=left_over, flow_run_id=work.flow_run_id)


def final_state(report: BatchReport) -> State[Any]:
    """``AllScored``, or ``DoneInPart`` as a failure, so that automations and the retry button see it."""
    if report.exit_code == 0:
        return Completed(name="AllScored", message=report.sentence, data=report)
    return Failed(name="DoneInPart", message=report.sentence, data=report)


def flow_run_id() -> str | None:
    """The id of the flow run that this is called in; None outside of one."""
    context = FlowRunContext.get()
    return str(context.flow_run.id) if context is not None and context.flow_run is not None else None
