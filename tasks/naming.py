"""What flow runs are called: what was judged, by what."""

from __future__ import annotations

from collections.abc import Sequence

from prefect.runtime import flow_run

from rejudge.models.requests import (
    EvaluationRequest,
    EvaluatorChoice,
    ExperimentRequest,
    ImportRequest,
    LabelRequest,
    NightlyRequest,
    ReplayRequest,
)
from rejudge.models.safe_text import one_line
from rejudge.tasks.surroundings import around

LENGTH = 120


def evaluation_name() -> str:
    """``all sessions by rejudge/cost@latest, …``."""
    request = EvaluationRequest.model_validate(flow_run.parameters["request"])
    named = around().session_ids
    which = request.selection if named is None else f"{len(named)} sessions"
    return one_line(f"{which} by {_evaluators(request.evaluators)}", limit=LENGTH)


def _evaluators(chosen: Sequence[EvaluatorChoice]) -> str:
    names = [one.evaluator for one in chosen]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def replay_name() -> str:
    """``replay session 12`` and what is changed."""
    from rejudge.api.experimenting import change_line  # brings numpy along, which an evaluation can do without

    request = ReplayRequest.model_validate(flow_run.parameters["request"])
    change = {"override": request.override.model_dump(exclude_none=True), "fork_point": request.fork_point}
    return one_line(f"replay session {request.session}: {change_line(change)}", limit=LENGTH)


def experiment_name() -> str:
    """``terse-prompt on refunds@1``."""
    request = ExperimentRequest.model_validate(flow_run.parameters["request"])
    return one_line(f"{request.experiment} on {request.cohort}", limit=LENGTH)


def import_name() -> str:
    """``traces/ as support``."""
    request = ImportRequest.model_validate(flow_run.parameters["request"])
    more = f" and {len(request.paths) - 1} more" if len(request.paths) > 1 else ""
    return one_line(f"{request.paths[0]}{more} as {request.agent}", limit=LENGTH)


def nightly_name() -> str:
    """``whatever is new of support by rejudge/cost@latest``."""
    request = NightlyRequest.model_validate(flow_run.parameters["request"])
    whose = f" of {', '.join(request.agents)}" if request.agents else ""
    return one_line(f"whatever is new{whose} by {_evaluators(request.evaluators)}", limit=LENGTH)


def label_name() -> str:
    """``human_quality on tag monday``."""
    request = LabelRequest.model_validate(flow_run.parameters["request"])
    return one_line(f"{request.name} on {request.selection}", limit=LENGTH)
