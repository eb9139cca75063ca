"""Runs that look after every session: how often they raise a false alarm, how soon they see a true one."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from benchmarks.figures import Figure
from benchmarks.place import Place
from rejudge.compare.sequential import Evidence, Outcome, observe, stop_reason

SESSIONS = 200
ALPHA = 0.05


def early_stopping(place: Place) -> Iterator[Figure]:
    """The share of simulated runs that stop on evidence; without an effect it must stay at or below alpha."""
    runs = 200 if place.quick else 2_000
    for discordance in (0.1, 0.3):
        for regressions in (0.5, 0.7, 0.9):
            random = Random(0)
            ended = [_run(random, discordance, regressions) for _ in range(runs)]
            found = sum(reason == "evidence" for reason, _ in ended) / runs
            mean = sum(seen for _, seen in ended) / runs
            yield Figure(
                f"{discordance:.0%} discordant, {regressions:.0%} of them worse",
                100 * found,
                "% of runs stop on evidence",
                aim=100 * ALPHA if regressions == 0.5 else None,
                note=f"after {mean:.0f} of {SESSIONS} sessions, a look after each",
            )


def _run(random: Random, discordance: float, regressions: float) -> tuple[str, int]:
    """Why and after how many sessions one run stops."""
    evidence = Evidence()
    while (reason := stop_reason(evidence, SESSIONS, alpha=ALPHA)) is None:
        seen: Outcome = "same"
        if random.random() < discordance:
            seen = "regressed" if random.random() < regressions else "improved"
        evidence = observe(evidence, seen)
    return reason, evidence.seen
