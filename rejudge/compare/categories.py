"""Labels: how they moved, and whether they moved one way more than the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from scipy.special import chdtrc

from rejudge.models.comparison import Significance, Transitions


def transitions(moves: Sequence[tuple[str, str]]) -> Transitions | None:
    """How labels moved, labels in alphabetical order; None where there is none."""
    if not moves:
        return None
    labels = tuple(sorted({label for move in moves for label in move}))
    counted = Counter(moves)
    counts = tuple(tuple(counted[before, after] for after in labels) for before in labels)
    return Transitions(labels=labels, counts=counts, symmetry=bowker(counts))


def bowker(counts: Sequence[Sequence[int]]) -> Significance | None:
    """Bowker's test of symmetry (Bowker 1948); None where no label moved.

    Degrees of freedom are the pairs of labels between which anything moved: pairs that were never used would
    only hide what happened.
    """
    size = len(counts)
    cells = [(counts[row][column], counts[column][row]) for row in range(size) for column in range(row)]
    used = [(one, other) for one, other in cells if one + other > 0]
    if not used:
        return None
    statistic = sum((one - other) ** 2 / (one + other) for one, other in used)
    p_value = float(chdtrc(len(used), statistic))
    return Significance(method="Bowker", p_value=p_value, statistic=statistic, n=sum(map(sum, used)))
