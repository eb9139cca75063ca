"""Labels by a paused flow run: its form is the question, its answer a label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from prefect import get_run_logger
from prefect.client.schemas.objects import State
from prefect.flow_runs import pause_flow_run
from prefect.input import RunInput
from prefect.states import Completed

from rejudge.errors import Conflict
from rejudge.models.evaluation import EvaluationResult
from rejudge.models.requests import LabelRequest
from rejudge.models.safe_text import markdown, markdown_code
from rejudge.models.session import SessionView
from rejudge.store.evaluations import Label, Wanted, add_labels, list_evaluations
from rejudge.store.reading import load_views
from rejudge.store.selecting import select_sessions
from rejudge.tasks import policy
from rejudge.tasks.evaluating import open_database

_SHOWN: Final = 4_000
"""Characters of inputs and outputs that the form shows."""


class Answer(RunInput):
    """What a person says of one session."""

    passed: bool
    explanation: str = ""
    skip: bool = False
    """Say nothing of this one."""
    stop: bool = False
    """And of none after it."""


def unlabelled(request: LabelRequest) -> list[str]:
    """Ids of the selected sessions that have no label of this name yet."""
    database = open_database()
    chosen = select_sessions(database, request.selection).session_ids
    rows = list_evaluations(database, Wanted(session_ids=chosen, name=request.name, labels=True))
    labelled = {row.session_id for row in rows}
    return [one for one in chosen if one not in labelled]


def ask_for_labels(request: LabelRequest, session_ids: Sequence[str]) -> int:
    """Ask about one session after the other.

    Returns:
        How many were labelled.
    """
    database = open_database()
    made = 0
    for place, session_id in enumerate(session_ids, start=1):
        [view] = load_views(database, [session_id])
        description = _question(request, view, place, len(session_ids))
        answer: Any = pause_flow_run(
            wait_for_input=Answer.with_initial_data(description=description, explanation="", skip=False, stop=False),
            timeout=policy.LABEL_SECONDS,
            key=f"label-{place}",
        )
        if answer.stop:
            break
        if answer.skip:
            continue
        result = EvaluationResult(
            name=request.name,
            score=answer.passed,
            passed=answer.passed,
            explanation=answer.explanation or None,
        )
        try:
            add_labels(database, [Label(session_id, result, request.author)])
            made += 1
        except Conflict as error:
            # Somebody else was faster: theirs stands.
            get_run_logger().warning(error.message)
    return made


def finish_labelling(request: LabelRequest, made: int) -> State[Any]:
    """The state that says how many labels were made."""
    return Completed(name="Labelled", message=f"{made} labels {request.name}")


def _question(request: LabelRequest, view: SessionView, place: int, of: int) -> str:
    head = view.session
    question = request.question or f"{request.name}: does it pass?"
    parts = [
        f"**{markdown(question)}**",
        f"Session {head.number}, {place} of {of}; agent {markdown(head.agent)}; {len(view.tool_calls)} tool calls",
        "Inputs",
        markdown_code(_text(head.inputs), limit=_SHOWN),
        "Outputs",
        markdown_code(_text(head.outputs), limit=_SHOWN),
    ]
    return "\n\n".join(parts)


def _text(value: object) -> str:
    from rejudge.models.canonical import canonical_text

    if isinstance(value, str):
        return value
    try:
        return canonical_text(value)
    except ValueError:
        return repr(value)
