"""Experiments and their runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, insert, select, update

from rejudge.errors import Conflict, NotFound, UsageError
from rejudge.models.evaluation import check_name
from rejudge.store.engine import Database
from rejudge.store.ids import new_id, now
from rejudge.store.locks import alone
from rejudge.store.references import parse_reference
from rejudge.store.tables import core


@dataclass(frozen=True, slots=True)
class Experiment:
    """A named change with its evaluators."""

    id: str
    name: str
    spec: dict[str, Any]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ExperimentRun:
    """One run of an experiment."""

    id: str
    experiment: str
    number: int
    cohort_version_id: str
    agent: str
    agent_version: int
    spec: dict[str, Any]
    status: str
    summary: dict[str, Any] | None
    flow_run_id: str | None
    created_at: datetime
    ended_at: datetime | None

    @property
    def reference(self) -> str:
        """``experiment@number``."""
        return f"{self.experiment}@{self.number}"


def create_experiment(database: Database, name: str, spec: dict[str, Any]) -> Experiment:
    """A new experiment.

    Raises:
        Conflict: Where one of this name is there with another change; the same again is the one that is there.
    """
    try:
        check_name(name, kind="experiment")
    except ValueError as error:
        raise UsageError(str(error)) from error
    with database.write() as connection:
        alone(connection, "experiment", name)
        experiment = core.experiments.c
        query = select(experiment.id, experiment.name, experiment.spec, experiment.created_at)
        found = connection.execute(query.where(experiment.name == name)).one_or_none()
        if found is not None:
            if found[2] != spec:
                raise Conflict(f"there is an experiment {name!r} with another change", mend="choose another name")
            return Experiment(*found)
        made = Experiment(new_id(), name, spec, now())
        connection.execute(
            insert(core.experiments).values(id=made.id, name=name, spec=spec, created_at=made.created_at)
        )
        return made


def find_experiment(database: Database, name: str) -> Experiment:
    """The experiment of this name.

    Raises:
        NotFound: Where there is none.
    """
    found = [one for one in list_experiments(database) if one.name == name]
    if not found:
        raise NotFound(f"no experiment {name!r}", mend="list them: rejudge experiment list")
    return found[0]


def list_experiments(database: Database) -> list[Experiment]:
    """Every experiment, by name."""
    experiment = core.experiments.c
    query = select(experiment.id, experiment.name, experiment.spec, experiment.created_at).order_by(experiment.name)
    with database.read() as connection:
        return [Experiment(*row) for row in connection.execute(query)]


def begin_experiment_run(
    database: Database,
    experiment: Experiment,
    *,
    cohort_version_id: str,
    agent: str,
    agent_version: int,
    spec: dict[str, Any],
    flow_run_id: str | None = None,
) -> tuple[ExperimentRun, bool]:
    """The run of this experiment on this cohort version with this agent version, and whether it is new.

    A run that was interrupted is taken up again; one that has ended is followed by another.
    """
    with database.write() as connection:
        run = core.experiment_runs.c
        mine = run.experiment_id == experiment.id
        # SQLite allows one writer; on PostgreSQL the experiment's row is the lock.
        connection.execute(
            select(core.experiments.c.id).where(core.experiments.c.id == experiment.id).with_for_update()
        )
        open_runs = select(run.number, run.spec).where(
            mine,
            run.status == "running",
            run.cohort_version_id == cohort_version_id,
            run.agent == agent,
            run.agent_version == agent_version,
        )
        same = [number for number, found in connection.execute(open_runs) if found == spec]
        if not same:
            last = connection.execute(select(func.max(run.number)).where(mine)).scalar()
            connection.execute(
                insert(core.experiment_runs).values(
                    id=new_id(),
                    experiment_id=experiment.id,
                    number=(last or 0) + 1,
                    cohort_version_id=cohort_version_id,
                    agent=agent,
                    agent_version=agent_version,
                    spec=spec,
                    status="running",
                    flow_run_id=flow_run_id,
                    created_at=now(),
                )
            )
        number = same[-1] if same else (last or 0) + 1
    return find_experiment_run(database, f"{experiment.name}@{number}"), not same


def end_experiment_run(
    database: Database, run_id: str, *, status: str, summary: dict[str, Any] | None = None
) -> None:
    """Marks a run as ended, with its figures."""
    with database.write() as connection:
        connection.execute(
            update(core.experiment_runs)
            .where(core.experiment_runs.c.id == run_id)
            .values(status=status, summary=summary, ended_at=now())
        )


def find_experiment_run(database: Database, reference: str) -> ExperimentRun:
    """The run that ``experiment@2``, ``experiment@latest`` or a bare name (its latest) stands for.

    Raises:
        NotFound: Where it is not there.
    """
    wanted = parse_reference(reference, kind="experiment run", bare=True)
    runs = [one for one in list_experiment_runs(database, wanted.name) if wanted.number in (None, one.number)]
    if not runs:
        raise NotFound(f"no run {reference!r} of an experiment", mend="list them: rejudge experiment list")
    return runs[-1]


def list_experiment_runs(database: Database, experiment: str | None = None) -> list[ExperimentRun]:
    """Runs by experiment and number."""
    run, name = core.experiment_runs.c, core.experiments.c.name
    query = (
        select(
            run.id,
            name,
            run.number,
            run.cohort_version_id,
            run.agent,
            run.agent_version,
            run.spec,
            run.status,
            run.summary,
            run.flow_run_id,
            run.created_at,
            run.ended_at,
        )
        .join(core.experiments, core.experiments.c.id == run.experiment_id)
        .order_by(name, run.number)
    )
    if experiment is not None:
        query = query.where(name == experiment)
    with database.read() as connection:
        return [ExperimentRun(*tuple(row)) for row in connection.execute(query)]
