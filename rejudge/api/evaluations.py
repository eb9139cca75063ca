"""Batches of scorings, and what they gave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rejudge.api.sessions import as_selection
from rejudge.errors import UsageError
from rejudge.models.requests import EvaluationRequest, EvaluatorChoice, Mode
from rejudge.store.engine import Database
from rejudge.store.evaluations import Evaluation, Scoring, Wanted, list_evaluations, list_scorings
from rejudge.store.evaluators import newest_number
from rejudge.store.references import parse_reference
from rejudge.store.selecting import resolve_ids

if TYPE_CHECKING:
    from rejudge.scoring.report import BatchReport
    from rejudge.tasks.surroundings import Progress


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that was run."""

    sessions: tuple[str, ...]
    """Ids of the sessions it judged, in order."""
    report: BatchReport
    """Counts, figures, and what could not be scored."""


class Evaluations:
    """Judging sessions, and reading the results."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self,
        *,
        evaluators: Sequence[str | EvaluatorChoice],
        params: Mapping[str, Mapping[str, Any]] | None = None,
        connections: Mapping[str, str] | None = None,
        mode: Mode = "missing",
        ephemeral: bool = False,
        **selection: Any,
    ) -> Batch:
        """Judges sessions as a flow run, and waits.

        Args:
            evaluators: References (``name@3``, ``name@latest``, or a bare name for the latest), or choices with
                params of their own.
            params: By reference as written in `evaluators`.
            connections: Names of credentials, likewise.
            mode: ``missing`` skips what is scored already; ``force`` scores again; ``changed`` is missing plus what a
                late span re-opened.
            ephemeral: Use Prefect's temporary server instead of the one in the background.
            selection: Exactly one of ``ids``, ``tag``, ``agent``, ``cohort``, ``filter``, ``all``.

        Raises:
            NotFound: Where no session matches, or an evaluator is not there.
            UsageError: Where params do not fit, or the selection is none.
        """
        request = EvaluationRequest(
            selection=as_selection(selection),
            evaluators=_choices(evaluators, params or {}, connections or {}),
            mode=mode,
        )
        chosen = self._selected(request)
        return Batch(chosen, self.run(request, ephemeral=ephemeral))

    def run(
        self,
        request: EvaluationRequest,
        *,
        ephemeral: bool = False,
        say: Callable[[str], None] = lambda _: None,
        progress: Callable[[Progress], None] | None = None,
    ) -> BatchReport:
        """Runs a request as a flow run, and waits (see `create`).

        Args:
            say: Told in one line what a person should know.
            progress: Called as scorings are stored.
        """
        from rejudge.tasks.batches import run_evaluation

        return run_evaluation(self._database, request, ephemeral=ephemeral, say=say, progress=progress)

    def list(
        self,
        *,
        session: str | int | None = None,
        evaluator: str | None = None,
        name: str | None = None,
        history: bool = False,
        limit: int | None = None,
    ) -> list[Evaluation]:
        """Evaluations, labels among them, in the order they were made.

        Args:
            session: Id, number, or the beginning of an id.
            evaluator: ``name``, ``name@number`` or ``name@latest``.
            name: The row's name.
            history: Superseded rows too.
        """
        return list_evaluations(self._database, self._wanted(session, evaluator, name, history), limit=limit)

    def scorings(
        self,
        *,
        session: str | int | None = None,
        evaluator: str | None = None,
        statuses: Sequence[str] | None = None,
        history: bool = False,
        limit: int | None = None,
    ) -> Sequence[Scoring]:
        """How units of scoring work ended, in the order they were stored."""
        wanted = self._wanted(session, evaluator, None, history, statuses)
        return list_scorings(self._database, wanted, limit=limit)

    def _wanted(
        self,
        session: str | int | None,
        evaluator: str | None,
        name: str | None,
        history: bool,
        statuses: Sequence[str] | None = None,
    ) -> Wanted:
        session_ids = None
        if session is not None:
            with self._database.read() as connection:
                session_ids = resolve_ids(connection, [str(session)])
        reference = parse_reference(evaluator, kind="evaluator", bare=True) if evaluator is not None else None
        number = reference.number if reference else None
        if reference is not None and str(evaluator).endswith("@latest"):
            number = newest_number(self._database, reference.name)
        return Wanted(
            session_ids=session_ids,
            evaluator=reference.name if reference else None,
            evaluator_version=number,
            name=name,
            statuses=statuses,
            history=history,
        )

    def _selected(self, request: EvaluationRequest) -> tuple[str, ...]:
        from rejudge.store.selecting import select_sessions

        return select_sessions(self._database, request.selection).session_ids


def _choices(
    evaluators: Sequence[str | EvaluatorChoice],
    params: Mapping[str, Mapping[str, Any]],
    connections: Mapping[str, str],
) -> tuple[EvaluatorChoice, ...]:
    named = [one for one in evaluators if isinstance(one, str)]
    for what, given in (("params", params), ("connections", connections)):
        strange = [name for name in given if name not in named]
        if strange:
            raise UsageError(
                f"{what} are for {strange[0]!r}, which is not among the evaluators",
                mend=f"name one of {', '.join(named)}" if named else "put them into its EvaluatorChoice",
            )
    return tuple(
        EvaluatorChoice(evaluator=one, params=dict(params.get(one, {})), connection=connections.get(one))
        if isinstance(one, str)
        else one
        for one in evaluators
    )
