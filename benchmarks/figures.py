"""What a benchmark found, one line each: the figure, its aim, and the same without rejudge."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure, beside a baseline measured in the same run."""

    what: str
    value: float
    unit: str
    aim: float | None = None
    """What it should be at most."""
    baseline: float | None = None
    """The same unit, without rejudge."""
    baseline_is: str = ""
    note: str = ""

    def line(self) -> str:
        """For a terminal."""
        parts = [f"  {self.what:<44} {_short(self.value):>9} {self.unit}"]
        if self.aim is not None:
            parts.append(f"(aim {_short(self.aim)}: {'met' if self.value <= self.aim else 'missed'})")
        if self.baseline is not None:
            ratio = f", x{self.value / self.baseline:.1f}" if self.baseline else ""
            parts.append(f"| {self.baseline_is} {_short(self.baseline)} {self.unit}{ratio}")
        if self.note:
            parts.append(f"| {self.note}")
        return " ".join(parts)


def _short(value: float) -> str:
    if value and abs(value) < 0.01:
        return f"{value:.4f}"
    return f"{value:,.3f}" if abs(value) < 10 else f"{value:,.1f}"
