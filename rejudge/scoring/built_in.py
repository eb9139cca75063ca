"""Evaluators that need no registering: the built-in ones, and what installed packages offer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from typing import Final, Literal

from rejudge.scoring.inspection import inspect_target
from rejudge.scoring.version import TIME_LIMITS, EvaluatorSpec

GROUP: Final = "rejudge.evaluators"
"""Entry point group under which a package offers evaluators."""


@dataclass(frozen=True, slots=True)
class Available:
    """An evaluator that an installed package offers."""

    name: str
    """The entry point's name: what to register it as."""
    entrypoint: str
    """``module:attribute``, for ``--package``."""
    distribution: str
    version: str


@lru_cache(maxsize=128)
def built_in_spec(
    name: str, entrypoint: str, *, description: str = "", mode: Literal["fast", "slow"] = "fast"
) -> EvaluatorSpec:
    """The version of a built-in evaluator that is installed: number 1, fingerprinted as it is now.

    It is imported here, unlike a user's.

    Args:
        name: Such as ``rejudge/cost``.
        entrypoint: ``module:attribute``.
        description: One line for lists; else its docstring's first.
        mode: ``slow`` where it may wait for a model.

    Raises:
        UsageError: Where what it needs is not installed.
    """
    module, _, attribute = entrypoint.partition(":")
    spec = EvaluatorSpec.model_validate(inspect_target(package=module, attribute=attribute))
    # A limit that is nobody's choice follows the mode.
    chosen = spec.time_limit not in TIME_LIMITS.values()
    return spec.model_copy(
        update={
            "name": name,
            "number": 1,
            "mode": mode,
            "description": description or spec.description,
            "time_limit": spec.time_limit if chosen else TIME_LIMITS[mode],
        }
    )


def available() -> list[Available]:
    """What installed packages offer, by name."""
    offered = [
        Available(
            name=point.name,
            entrypoint=point.value,
            distribution=point.dist.name if point.dist is not None else "",
            version=point.dist.version if point.dist is not None else "",
        )
        for point in metadata.entry_points(group=GROUP)
    ]
    return sorted(offered, key=lambda one: (one.name, one.entrypoint))
