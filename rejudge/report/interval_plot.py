"""The geometry of an interval plot: where its parts lie, in percent of its width."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10

from rejudge.models.comparison import Estimate, Figure
from rejudge.report.wording import difference, number

PADDING = 0.08
"""Of the shown range, left and right."""


@dataclass(frozen=True, slots=True)
class Tick:
    """One mark of the axis."""

    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the axis."""

    x: float
    width: float


@dataclass(frozen=True, slots=True)
class IntervalPlot:
    """One difference with its interval; every position in percent from the left."""

    point: float
    interval: Span
    zero: float
    ticks: tuple[Tick, ...]
    margin: Span | None = None
    bounds: Span | None = None
    """From the lowest to the highest that missing members allow."""
    left: str = ""
    right: str = ""
    """What the two directions mean: ``worse``, ``better``."""


@dataclass(frozen=True, slots=True)
class SidePlot:
    """Both sides of a figure on one axis."""

    baseline: float
    baseline_interval: Span
    replay: float
    replay_interval: Span
    ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear axis."""

    low: float
    high: float

    def x(self, value: float) -> float:
        """The value's place in percent, held inside the plot."""
        return round(min(100.0, max(0.0, 100 * (value - self.low) / (self.high - self.low))), 3)

    def span(self, low: float, high: float) -> Span:
        """The stretch between two values."""
        left, right = self.x(low), self.x(high)
        return Span(left, round(right - left, 3))


def difference_plot(figure: Figure) -> IntervalPlot | None:
    """The difference with its interval, margin and bounds; None where there is no interval."""
    shown, bounds = figure.difference, figure.bounds
    if shown.value is None or shown.low is None or shown.high is None:
        return None
    extremes = [0.0, shown.low, shown.high, -figure.verdict.margin, figure.verdict.margin]
    ends = (bounds.difference_low, bounds.difference_high)
    outer = None if figure.coverage.complete or ends[0] is None or ends[1] is None else (ends[0], ends[1])
    scale = _scale([*extremes, *(outer or ())])
    rate, margin = figure.statistic != "mean", figure.verdict.margin
    words = {"higher": ("worse", "better"), "lower": ("better", "worse"), "none": ("", "")}[figure.direction]
    return IntervalPlot(
        point=scale.x(shown.value),
        interval=scale.span(shown.low, shown.high),
        zero=scale.x(0.0),
        ticks=tuple(Tick(scale.x(at), _difference_label(at, rate=rate)) for at in _ticks(scale)),
        margin=scale.span(-margin, margin) if margin else None,
        bounds=None if outer is None else scale.span(*outer),
        left=words[0],
        right=words[1],
    )


def overview_plot(figure: Figure) -> IntervalPlot | None:
    """The difference alone around a zero in the middle, turned so that right is better."""
    shown = figure.difference
    if shown.value is None or shown.low is None or shown.high is None:
        return None
    turn = -1.0 if figure.direction == "lower" else 1.0
    low, high = sorted((turn * shown.low, turn * shown.high))
    reach = max(abs(low), abs(high), figure.verdict.margin) * (1 + PADDING) or 1.0
    scale, margin = Scale(-reach, reach), figure.verdict.margin
    return IntervalPlot(
        point=scale.x(turn * shown.value),
        interval=scale.span(low, high),
        zero=scale.x(0.0),
        ticks=(),
        margin=scale.span(-margin, margin) if margin else None,
    )


def side_plot(figure: Figure) -> SidePlot | None:
    """Both sides with their intervals; None where one has none."""
    ends = [_ends(figure.baseline), _ends(figure.replay)]
    (baseline, replay) = ends
    if baseline is None or replay is None:
        return None
    rate = figure.statistic != "mean"
    scale = Scale(0.0, 1.0) if rate else _scale([baseline[0], baseline[2], replay[0], replay[2]])
    return SidePlot(
        baseline=scale.x(baseline[1]),
        baseline_interval=scale.span(baseline[0], baseline[2]),
        replay=scale.x(replay[1]),
        replay_interval=scale.span(replay[0], replay[2]),
        ticks=tuple(Tick(scale.x(at), _side_label(at, rate=rate)) for at in _ticks(scale)),
    )


def _difference_label(value: float, *, rate: bool) -> str:
    if value == 0:
        return "0"
    return difference(value, rate=rate).replace(".0 pp", " pp")


def _side_label(value: float, *, rate: bool) -> str:
    return f"{value * 100:.0f} %" if rate else number(value, rate=False)


def _ends(estimate: Estimate) -> tuple[float, float, float] | None:
    if estimate.low is None or estimate.value is None or estimate.high is None:
        return None
    return estimate.low, estimate.value, estimate.high


def _scale(values: list[float]) -> Scale:
    low, high = min(values), max(values)
    room = (high - low) * PADDING or max(abs(high), 1.0) * PADDING
    return Scale(low - room, high + room)


def _ticks(scale: Scale) -> list[float]:
    """Round numbers within the scale, four or so."""
    rough = (scale.high - scale.low) / 4
    power = 10.0 ** floor(log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough - 1e-12 * power)
    # Forgiving of rounding, so that an end which is a round number keeps its tick.
    first, last = ceil(scale.low / step - 1e-9), floor(scale.high / step + 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]
