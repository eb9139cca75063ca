"""A gate: the rules that turn a comparison into an exit code."""

from __future__ import annotations

import re
from typing import Final, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from rejudge.models.comparison import Coverage, Estimate, Frozen

RuleName: TypeAlias = Literal[
    "no-regression", "min-pass-rate", "max-mean", "max-increase", "equivalent", "no-new-failures"
]
GateOutcome: TypeAlias = Literal["passed", "failed", "inconclusive", "error"]

_METRIC: Final = re.compile(r"(?P<evaluator>[^@#:\s]+)@(?P<version>\d+|latest)(?:#[0-9a-f]+)?:[^:\s]+")
_ALLOWED: Final = re.compile(r"allow:(0(?:\.\d+)?|1(?:\.0+)?|\.\d+)")
_TAKES: Final[dict[str, frozenset[str]]] = {
    "no-regression": frozenset({"margin", "statistic", "above_noise"}),
    "min-pass-rate": frozenset({"value", "on"}),
    "max-mean": frozenset({"value", "on"}),
    "max-increase": frozenset({"absolute", "relative", "on"}),
    "equivalent": frozenset({"margin", "statistic"}),
    "no-new-failures": frozenset(),
}
_OPTIONS: Final = frozenset[str]().union(*_TAKES.values())


class _Written(BaseModel):
    """Something written by hand: hyphens or underscores in names, numbers finite, nothing unknown."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        populate_by_name=True,
        alias_generator=lambda name: name.replace("_", "-"),
    )


class Rule(_Written):
    """One demand on one metric."""

    metric: str
    """``evaluator@version:row``."""
    rule: RuleName
    margin: float | None = Field(default=None, ge=0)
    """In the metric's own unit, 0.02 for two percentage points of a rate: what is too small to matter."""
    value: float | None = None
    """The least pass rate, or the largest mean."""
    absolute: float | None = None
    """The largest increase, in the metric's own unit."""
    relative: float | None = None
    """The largest increase, as a share of the baseline's mean."""
    on: Literal["interval", "point"] = "interval"
    """What has to keep a limit: the whole interval, or the figure alone."""
    statistic: Literal["score", "pass-rate"] | None = None
    """Which figure, where a row has both a score with a direction and a verdict."""
    above_noise: bool = False
    """A regression fails only where it exceeds the noise floor."""
    label: str | None = None
    min_kappa: float | None = Field(default=None, ge=-1, le=1)
    min_labels: int | None = Field(default=None, ge=1)
    """What the evaluator's calibration against that label has to show before the rule counts."""

    @field_validator("metric")
    @classmethod
    def _metric_is_a_key(cls, metric: str) -> str:
        if not _METRIC.fullmatch(metric):
            raise ValueError(f"{metric!r} is no metric: write evaluator@version:row, as refund-check@3:refund_issued")
        return metric

    @model_validator(mode="after")
    def _options_fit_the_rule(self) -> Self:
        # What stands at its default was not asked for: a gate that was written out and read back is the same.
        given = {name for name in _OPTIONS if getattr(self, name) != type(self).model_fields[name].default}
        strange = sorted(name.replace("_", "-") for name in given - _TAKES[self.rule])
        if strange:
            raise ValueError(f"{self.rule} takes no {strange[0]}")
        if "value" in _TAKES[self.rule] and self.value is None:
            raise ValueError(f"{self.rule} needs a value")
        if self.rule == "max-increase" and (self.absolute is None) == (self.relative is None):
            raise ValueError("max-increase needs absolute or relative, and not both")
        if self.rule == "equivalent" and not self.margin:
            raise ValueError("equivalent needs a margin above 0")
        if self.rule == "min-pass-rate" and not 0 <= (self.value or 0) <= 1:
            raise ValueError("min-pass-rate needs a value from 0 to 1")
        if (self.min_kappa is not None or self.min_labels is not None) and self.label is None:
            raise ValueError("min-kappa and min-labels need the label they are about")
        return self

    @property
    def evaluator(self) -> str:
        """``evaluator@version``: what has to have been run."""
        return self.metric.split(":", 1)[0].split("#", 1)[0]

    @property
    def calibrated(self) -> bool:
        """Whether the rule demands a calibration."""
        return self.label is not None


class Gate(_Written):
    """All rules, and what happens where members are missing."""

    missing: str = "fail"
    """``fail``: a rule with missing members fails; ``bound``: it is judged at the worst and the best they could
    be; ``allow:0.05``: up to that share is ignored."""
    rule: tuple[Rule, ...] = Field(min_length=1)

    @field_validator("missing")
    @classmethod
    def _missing_is_known(cls, missing: str) -> str:
        if missing not in ("fail", "bound") and not _ALLOWED.fullmatch(missing):
            raise ValueError(f'missing is "fail", "bound" or "allow:0.05", not {missing!r}')
        return missing

    @property
    def allowed_missing(self) -> float | None:
        """The share that may be missing; None where the rule is another."""
        found = _ALLOWED.fullmatch(self.missing)
        return float(found[1]) if found else None

    @property
    def metrics(self) -> tuple[str, ...]:
        """The keys that rules name, each once, in order."""
        return tuple(dict.fromkeys(rule.metric for rule in self.rule))


class RuleResult(Frozen):
    """What became of one rule."""

    rule: Rule
    outcome: GateOutcome
    reason: str
    estimate: Estimate | None = None
    """The figure it was decided on."""
    coverage: Coverage | None = None
    members: tuple[str, ...] = ()
    """Those that broke it, where single members can."""


class GateResult(Frozen):
    """What became of a gate."""

    results: tuple[RuleResult, ...]
    missing: str = "fail"

    @property
    def outcome(self) -> GateOutcome:
        """``failed`` where any rule did, else ``error``, else ``inconclusive``, else ``passed``."""
        outcomes = {result.outcome for result in self.results}
        order: tuple[GateOutcome, ...] = ("failed", "error", "inconclusive")
        return next((word for word in order if word in outcomes), "passed" if outcomes else "error")

    @property
    def exit_code(self) -> int:
        """0 passed, 1 a rule failed, 2 a rule could not be judged at all, 3 inconclusive or incomplete."""
        return {"passed": 0, "failed": 1, "error": 2, "inconclusive": 3}[self.outcome]
