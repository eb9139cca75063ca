"""Two sessions as one value: aligned, with the row where they part."""

from __future__ import annotations

from collections.abc import Sequence

from rejudge.models.replay import AlignedStep, Divergence
from rejudge.models.session import SessionView
from rejudge.models.session_diff import DiffSide, SessionDiff
from rejudge.replay.alignment import aligned_steps
from rejudge.replay.divergence import first_divergence, same_output, same_value


def session_diff(baseline: SessionView, replay: SessionView) -> SessionDiff:
    """Two sessions side by side; any two, though what they share is most where one is a replay of the other."""
    steps = tuple(aligned_steps(baseline, replay))
    divergence = first_divergence(baseline, replay)
    return SessionDiff(
        baseline=DiffSide.of(baseline.session),
        replay=DiffSide.of(replay.session),
        steps=steps,
        divergence=divergence,
        first=_row(steps, divergence),
        same_inputs=same_value(baseline.session.inputs, replay.session.inputs),
        same_output=same_output(baseline.session, replay.session),
    )


def _row(steps: Sequence[AlignedStep], divergence: Divergence | None) -> int | None:
    """The row with the node that a divergence names: the replay's, else the baseline's."""
    if divergence is None or divergence.kind == "output":
        return None
    for side in ("replay", "baseline"):
        named = getattr(divergence, side)
        for row, step in enumerate(steps):
            here = getattr(step, side)
            if named is not None and here is not None and here.node_id == named.node_id:
                return row
    return next((row for row, step in enumerate(steps) if step.state != "same"), None)
