"""Trying an evaluator: really called, in its own process, and nothing stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejudge.errors import UsageError

if TYPE_CHECKING:
    from rejudge.models.wire import WireSession
    from rejudge.scoring.outcome import ScoringOutcome
    from rejudge.scoring.version import EvaluatorSpec


def try_evaluator(
    spec: EvaluatorSpec,
    sessions: Sequence[WireSession],
    *,
    params: Mapping[str, Any] | None = None,
    connection: str | None = None,
    printed: Callable[[str], None] = lambda _: None,
) -> list[ScoringOutcome]:
    """How each session would be scored, in their order.

    Args:
        spec: The evaluator version, registered or not.
        params: Its parameters.
        connection: Name of its credentials; None: those in its own variables.
        printed: Told what the evaluator printed, without secrets.

    Raises:
        UsageError: Where params or the connection do not fit, or its code cannot be loaded.
    """
    from rejudge.scoring.outcome import Assignment, SessionJob
    from rejudge.tasks.embedded import connection_here
    from rejudge.tasks.judges import judged_params, with_needs
    from rejudge.tasks.pools import make_pool

    checked = judged_params(spec, params or {})
    assignment = Assignment(spec, checked, connection_here(with_needs(spec, checked), connection))
    jobs = [SessionJob(session, ((str(index), 0),)) for index, session in enumerate(sessions)]
    with make_pool() as pool:
        pool.check([assignment])
        outcomes = {outcome.key: outcome for outcome in pool.score([assignment], jobs)}
        text = pool.log.strip("\n")
        if text:
            printed(text)
    return [outcomes[str(index)] for index in range(len(jobs))]


def target_spec(target: str) -> EvaluatorSpec | None:
    """The version that a file (``FILE.py``, ``FILE.py:function``) or ``module:attribute`` is now.

    Returns:
        None where `target` is a reference to a registered or built-in evaluator.

    Raises:
        UsageError: Where it is no evaluator.
    """
    from rejudge.api.evaluators import inspect

    if "@" in target and not Path(target).exists():
        return None
    is_file = Path(target.partition(":")[0]).suffix == ".py" or Path(target).exists()
    if not is_file and ":" not in target:
        raise UsageError(
            f"{target!r} is no evaluator", mend=f"write FILE.py, module:function, or a version: {target}@latest"
        )
    spec = inspect(script=target) if is_file else inspect(package=target)
    name = Path(spec.file).stem if is_file else spec.attribute
    return spec.numbered(name.replace("_", "-").strip("-.") or "evaluator", 0)
