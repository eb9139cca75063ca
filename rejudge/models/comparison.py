"""A comparison: paired evaluations of a cohort and its replays, each figure with its interval and its n."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from rejudge.models.canonical import digest_of
from rejudge.models.evaluation import DataType, Direction, ScoringStatus

SideName: TypeAlias = Literal["baseline", "replay"]
VerdictWord: TypeAlias = Literal["improved", "regressed", "equivalent", "inconclusive", "changed", "unchanged"]
RunStatus: TypeAlias = Literal["completed", "failed", "timed_out", "crashed", "canceled", "in_progress", "not_run"]
MetricKind: TypeAlias = Literal["rate", "mean", "categorical", "text", "none"]
Statistic: TypeAlias = Literal["rate of true", "mean", "pass rate"]
FlipKind: TypeAlias = Literal["worse", "better", "changed"]
Adjustment: TypeAlias = Literal["holm", "benjamini-hochberg"]

_NO_PARAMS: Final = frozenset({"", digest_of({}), digest_of(None)})
_PREFIX: Final = 8


class Frozen(BaseModel):
    """A value of a comparison: frozen, and unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Metric(Frozen):
    """What is compared: one row name of one evaluator version with one set of params."""

    evaluator: str
    version: int | None = None
    """None for a label: people have no version."""
    params_digest: str = ""
    """Hex digest of the params; empty where there were none."""
    name: str = ""
    """The row's name; empty where the evaluator never gave a row."""

    @property
    def key(self) -> str:
        """``evaluator@version#params:name``, what a gate's rule names; ``#params`` only where there were any.

        Example:
            >>> Metric(evaluator="refund-check", version=3, name="refund_issued").key
            'refund-check@3:refund_issued'
        """
        version = "" if self.version is None else f"@{self.version}"
        params = "" if self.params_digest in _NO_PARAMS else f"#{self.params_digest[:_PREFIX]}"
        return f"{self.evaluator}{version}{params}" + (f":{self.name}" if self.name else "")

    @property
    def plain_key(self) -> str:
        """The key without its params: enough for a rule where one set of params was run."""
        return self.model_copy(update={"params_digest": ""}).key


class Observation(Frozen):
    """One evaluation as it enters a comparison, or one scoring that ended without any (``name`` empty)."""

    member: str
    """The cohort session's id, on both sides."""
    side: SideName
    trial: int = 1
    evaluator: str
    version: int | None = None
    params_digest: str = ""
    name: str = ""
    """The row's name; empty: the scoring as a whole gave no row, ``status`` and ``unscored`` say why."""
    data_type: DataType
    score: bool | float | None = None
    value: str | None = None
    passed: bool | None = None
    unscored: str | None = None
    explanation: str | None = None
    direction: Direction = "none"
    min_score: float | None = None
    max_score: float | None = None
    session_id: str = ""
    """The session that was scored: the member itself, or its replay's result."""
    scoring_id: str = ""
    evaluation_id: str = ""
    fingerprint: str = ""
    status: ScoringStatus = "scored"

    @property
    def metric(self) -> Metric:
        """The metric that this row belongs to."""
        return Metric(
            evaluator=self.evaluator, version=self.version, params_digest=self.params_digest, name=self.name
        )


class Run(Frozen):
    """One replay of a member, as far as a comparison cares."""

    trial: int = 1
    status: RunStatus = "completed"
    session_id: str = ""
    """The result session; empty where there is none."""
    replay_id: str = ""
    reason: str | None = None
    """Why it did not complete."""


class Member(Frozen):
    """One session of the cohort with its replays."""

    id: str
    number: int | None = None
    """What a person types for the session."""
    name: str | None = None
    cluster: str | None = None
    """What members are not independent within: a user, a conversation. None: the member stands alone."""
    runs: tuple[Run, ...] = (Run(),)
    """One per trial that was asked for."""


class Estimate(Frozen):
    """A figure with its interval and the number of units behind it."""

    value: float | None
    """None where nothing was there to estimate from."""
    low: float | None = None
    high: float | None = None
    """None where no interval can be given (n too small)."""
    level: float = 0.95
    method: str = ""
    n: int = 0


class Significance(Frozen):
    """One test of "no difference"."""

    method: str
    p_value: float
    statistic: float | None = None
    n: int = 0
    """Units that bear on it (discordant pairs, for McNemar)."""


class Coverage(Frozen):
    """How much of what was asked for could be compared."""

    scored: int
    """Members scored on both sides."""
    total: int
    """Members of the cohort."""
    baseline_missing: int = 0
    replay_missing: int = 0
    """Members missing on each side; one can be missing on both."""
    trials_scored: int = 0
    trials_total: int = 0
    """Replays that gave a figure, of those asked for."""
    imbalance: Significance | None = None
    """Sign test of whether one side loses more members than the other; None where none is missing."""

    @property
    def share(self) -> float:
        """Scored of total, 0 to 1."""
        return self.scored / self.total if self.total else 0.0

    @property
    def complete(self) -> bool:
        """Whether every member was compared, in all its trials."""
        return self.scored == self.total and self.trials_scored == self.trials_total


class Missing(Frozen):
    """One member that a metric could not be compared on, and why."""

    member: str
    side: SideName
    reason: str
    trial: int | None = None
    """The trial, where the member has others that were scored."""
    session_id: str = ""


class Bounds(Frozen):
    """What the figures could be if everything missing had been there; None where scores have no known range."""

    baseline_low: float | None = None
    baseline_high: float | None = None
    replay_low: float | None = None
    replay_high: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    lowest: Estimate | None = None
    """The difference, its interval included, with everything missing at its lowest."""
    highest: Estimate | None = None
    """The same at its highest."""
    replay_lowest: Estimate | None = None
    replay_highest: Estimate | None = None
    """The replay's own figure likewise; None, as the two above, where nothing is missing."""


class Power(Frozen):
    """What this many sessions could have shown."""

    minimum_detectable_effect: float | None
    """The smallest difference found with the power below, at this n and the observed spread."""
    required_n: int | None
    """Sessions it would take to settle the observed difference; None where no number would."""
    more_sessions: int | None
    power: float = 0.8


class Verdict(Frozen):
    """One word, and the sentence that says why."""

    word: VerdictWord
    reason: str
    observed: VerdictWord
    """What the scored pairs alone say, whatever is missing."""
    margin: float = 0.0


class Figure(Frozen):
    """One statistic on both sides, and its difference (replay minus baseline)."""

    statistic: Statistic
    direction: Direction
    n: int
    """Pairs behind it."""
    coverage: Coverage
    baseline: Estimate
    replay: Estimate
    difference: Estimate
    bounds: Bounds
    tests: tuple[Significance, ...] = ()
    """The first is the one that adjustment for several metrics uses."""
    adjusted_p: float | None = None
    adjustment: Adjustment | None = None
    power: Power | None = None
    verdict: Verdict

    @property
    def p_value(self) -> float | None:
        """Of the first test; None where there was none."""
        return self.tests[0].p_value if self.tests else None


class Pair(Frozen):
    """One member on one metric: both sides, and the rows they came from."""

    member: str
    cluster: str | None = None
    baseline: float | None = None
    replay: float | None = None
    """Mean score over the trials; a bool counts 1 or 0. None: not scored, or not a number."""
    baseline_passed: float | None = None
    replay_passed: float | None = None
    """Share of the trials that passed; None where no verdict was given."""
    baseline_text: str | None = None
    replay_text: str | None = None
    """The label or text; of the first trial, where there are several."""
    baseline_scores: tuple[float, ...] = ()
    replay_scores: tuple[float, ...] = ()
    """The scores of each trial."""
    baseline_verdicts: tuple[bool, ...] = ()
    replay_verdicts: tuple[bool, ...] = ()
    """The verdicts of each trial."""
    baseline_sessions: tuple[str, ...] = ()
    replay_sessions: tuple[str, ...] = ()
    baseline_evaluations: tuple[str, ...] = ()
    replay_evaluations: tuple[str, ...] = ()

    @property
    def scored(self) -> bool:
        """Whether both sides gave something to compare."""
        numbers = self.baseline is not None and self.replay is not None
        return numbers or (self.baseline_text is not None and self.replay_text is not None)


class Flip(Frozen):
    """One member whose verdict, truth, label or text is not what it was."""

    member: str
    kind: FlipKind
    trial: int = 1
    baseline: str
    replay: str
    """Both sides as text: ``passed``, ``true``, the label, the text itself."""
    baseline_explanation: str | None = None
    replay_explanation: str | None = None
    baseline_session: str = ""
    replay_session: str = ""
    baseline_evaluation: str = ""
    replay_evaluation: str = ""


class Transitions(Frozen):
    """How labels moved: ``counts[i][j]`` members went from label i to label j."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    symmetry: Significance | None = None
    """Bowker's test; None where nothing moved."""


class TrialRates(Frozen):
    """Several trials a member: the chance that any, and that all, of k pass, averaged over members."""

    k: int
    any_of_k: float
    """pass@k."""
    all_of_k: float
    """pass^k."""
    members: int
    """Members with at least k scored trials; the rest have no figure at this k."""


class NoiseFloor(Frozen):
    """How often verdicts flip when nothing, only the judge, and the change is at work."""

    unchanged: Estimate
    """f_AA: between two unchanged replays."""
    judge: Estimate | None = None
    """f_J: one replay judged twice."""
    change: Estimate
    """f_AB: under the change."""
    excess: Estimate
    """f_AB - f_AA."""


class MetricComparison(Frozen):
    """One metric, compared."""

    metric: Metric
    kind: MetricKind
    direction: Direction
    fingerprints: tuple[str, ...] = ()
    score: Figure | None = None
    """The score itself: the rate of true, or the mean; None where it is text."""
    pass_rate: Figure | None = None
    """The verdicts, where the rows carry any."""
    changed: Estimate | None = None
    """Share of the scored members whose label, text, truth or verdict is not what it was."""
    coverage: Coverage
    verdict: Verdict
    pairs: tuple[Pair, ...] = ()
    """Every member, in cohort order, scored or not."""
    missing: tuple[Missing, ...] = ()
    flips: tuple[Flip, ...] = ()
    transitions: Transitions | None = None
    trials: tuple[TrialRates, ...] = ()
    """Of the replays."""
    noise: NoiseFloor | None = None

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The score's and the verdicts' figures, those that exist."""
        return tuple(figure for figure in (self.score, self.pass_rate) if figure is not None)


class Stopping(Frozen):
    """How a run that was allowed to stop early ended."""

    reason: Literal["evidence", "futility", "exhausted"]
    """The e-value reached 1/alpha; no outcome left could change the verdict; every member was replayed."""
    after: int
    """Members replayed."""
    total: int
    stopped_at: str | None = None
    """The member that decided it."""
    discordant: int = 0
    regressions: int = 0
    e_value: float = 1.0
    """The largest seen."""
    p_value: float = 1.0
    """Valid at every look."""


class Comparison(Frozen):
    """Every metric of one cohort against its replays."""

    metrics: tuple[MetricComparison, ...]
    """In the order of their keys."""
    members: tuple[Member, ...]
    alpha: float = 0.05
    margin: float = 0.0
    margins: dict[str, float] = Field(default_factory=dict)
    """By metric key, where it is not ``margin``."""
    gating: tuple[str, ...] = ()
    """Keys of the metrics that a gate decides on."""
    seed: int = 0
    stopping: Stopping | None = None

    @property
    def digest(self) -> str:
        """Hex SHA-256 over everything here: two comparisons of one digest say the same."""
        return digest_of(self.model_dump(mode="json"))

    def metric(self, key: str) -> MetricComparison | None:
        """The metric of that key, or of that key without params where only one has it; None where there is none."""
        whole = [metric for metric in self.metrics if metric.metric.key == key]
        plain = [metric for metric in self.metrics if metric.metric.plain_key == key]
        found = whole or plain
        return found[0] if len(found) == 1 else None
