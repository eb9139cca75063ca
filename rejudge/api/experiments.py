"""Experiments from Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rejudge.models.override import Override
from rejudge.models.policy import PolicySet
from rejudge.models.requests import EvaluatorChoice, ExperimentRequest
from rejudge.store.engine import Database
from rejudge.store.experiments import (
    Experiment,
    ExperimentRun,
    create_experiment,
    find_experiment_run,
    list_experiment_runs,
    list_experiments,
)

if TYPE_CHECKING:
    from rejudge.models.comparison import Comparison
    from rejudge.tasks.experimenting import ExperimentReport
    from rejudge.tasks.surroundings import Progress


class Experiments:
    """Named changes, their runs, and what the runs show."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self,
        name: str,
        *,
        evaluators: Sequence[EvaluatorChoice | str],
        override: Override | None = None,
        policies: PolicySet | None = None,
        fork_point: str | None = None,
    ) -> Experiment:
        """Names a change with its evaluators; no override is an unchanged replay.

        Raises:
            Conflict: Where an experiment of this name has another change.
            NotFound: Where an evaluator is not there.
            UsageError: Where params do not fit.
        """
        from rejudge.tasks.judges import find_judges

        choices = [EvaluatorChoice(evaluator=one) if isinstance(one, str) else one for one in evaluators]
        find_judges(self._database, choices)
        change: dict[str, Any] = {
            "override": (override or Override()).model_dump(mode="json", exclude_none=True),
            "policies": (policies or PolicySet()).model_dump(mode="json"),
            "fork_point": fork_point,
        }
        spec = {"change": change, "evaluators": [choice.model_dump(mode="json") for choice in choices]}
        return create_experiment(self._database, name, spec)

    def run(
        self,
        request: ExperimentRequest,
        *,
        ephemeral: bool = False,
        say: Callable[[str], None] = lambda _: None,
        progress: Callable[[Progress], None] | None = None,
    ) -> ExperimentReport:
        """Replays a cohort version under the change as a flow run, scores both sides, compares, and waits.

        A run that was interrupted is taken up where it was.
        """
        from rejudge.tasks.runs import run_experiment

        return run_experiment(self._database, request, ephemeral=ephemeral, say=say, progress=progress)

    def compare(self, reference: str, **options: Any) -> Comparison:
        """The comparison of a run (``name@2``, ``name@latest`` or a bare name), out of what is stored now.

        Args:
            options: ``margin``, ``margins``, ``gating``, ``alpha``, ``seed``.
        """
        from rejudge.api.comparing import compare_run

        return compare_run(self._database, self.get_run(reference), **options)

    def get_run(self, reference: str) -> ExperimentRun:
        """A run by ``name@2``, ``name@latest`` or a bare name."""
        return find_experiment_run(self._database, reference)

    def list(self) -> list[Experiment]:
        """Every experiment, by name."""
        return list_experiments(self._database)

    def runs(self, experiment: str | None = None) -> Sequence[ExperimentRun]:
        """Runs by experiment and number."""
        return list_experiment_runs(self._database, experiment)
