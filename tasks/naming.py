"""What flow runs are called: what was judged, by what."""

from __future__ import annotations

from collections.abc import Sequence

from prefect.runtime import flow_run

from rejudge.models.requests import EvaluationRequest, EvaluatorChoice
from rejudge.models.safe_text import one_line

LENGTH = 120


def evaluation_name() -> str:
    """``all sessions by rejudge/cost@latest, …``."""
    request = EvaluationRequest.model_validate(flow_run.parameters["request"])
    return one_line(f"{request.selection} by {_evaluators(request.evaluators)}", limit=LENGTH)


def _evaluators(chosen: Sequence[EvaluatorChoice]) -> str:
    names = [one.evaluator for one in chosen]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
