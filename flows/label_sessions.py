"""The flow `label-sessions`: put sessions before a person, one after the other, in the run's own form."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from rejudge.models.requests import LabelRequest
from rejudge.tasks.labelling import ask_for_labels, finish_labelling, unlabelled
from rejudge.tasks.naming import label_name


@flow(name="label-sessions", flow_run_name=label_name)
def label_sessions(request: LabelRequest) -> State[Any]:
    """Pause at each session that has no such label yet, and store what the person says of it."""
    waiting = unlabelled(request)
    return finish_labelling(request, ask_for_labels(request, waiting))
