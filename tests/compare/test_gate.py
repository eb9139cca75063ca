from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rejudge.compare import compare
from rejudge.compare.gate_file import load_gate, parse_gate, with_versions
from rejudge.compare.gating import judge_gate
from rejudge.compare.noise import with_noise
from rejudge.errors import NotFound, RejudgeError, UsageError
from rejudge.models.calibration import Calibration
from rejudge.models.comparison import Comparison, Estimate, Metric
from rejudge.models.gate import Gate, Rule, RuleResult
from tests.compare.cohorts import compared, member, rows

METRIC = "check@1:result"
FILE = """
[gate]
missing = "allow:0.05"
[[gate.rule]]
metric = "refund-check@3:refund_issued"
rule = "no-regression"
margin = 0.02
[[gate.rule]]
metric = "rejudge/cost@latest:cost"
rule = "max-increase"
relative = 0.10
"""


def gate(rule: str, *, missing: str = "fail", **options: Any) -> Gate:
    return Gate(missing=missing, rule=(Rule(metric=METRIC, rule=rule, **options),))  # type: ignore[arg-type]


def judged(comparison: Comparison, rule: str, *, missing: str = "fail", **options: Any) -> RuleResult:
    return judge_gate(gate(rule, missing=missing, **options), comparison).results[0]


def passes(before: int, after: int, n: int, *, lost: int = 0) -> Comparison:
    """n members of which so many pass before and after, and some of whose replays are lost."""
    observations = rows(
        [index < before for index in range(n)], [index < after for index in range(n)], direction="higher"
    )
    members = [member(index) for index in range(n - lost)]
    members += [member(index, status="crashed") for index in range(n - lost, n)]
    return compare(observations, members)


def test_a_gate_file_is_read_whole() -> None:
    found = parse_gate(FILE)
    assert found.allowed_missing == 0.05
    assert [rule.rule for rule in found.rule] == ["no-regression", "max-increase"]
    assert found.rule[0].margin == 0.02 and found.rule[1].relative == 0.1
    assert found.rule[0].evaluator == "refund-check@3"


def test_a_gate_can_live_in_pyproject(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(FILE.replace("[gate]", "[tool.rejudge.gate]").replace("[[gate.", "[[tool.rejudge.gate."))
    assert len(load_gate(path).rule) == 2
    with pytest.raises(NotFound):
        load_gate(tmp_path / "none.toml")


def test_latest_is_resolved_by_name() -> None:
    found = with_versions(parse_gate(FILE), {"rejudge/cost": 4})
    assert found.metrics == ("refund-check@3:refund_issued", "rejudge/cost@4:cost")
    with pytest.raises(NotFound):
        with_versions(parse_gate(FILE), {})


RULE = '[[gate.rule]]\nmetric = "a@1:b"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no [gate]"),
        ("[gate", "gate: "),
        ("[gate]", "rule"),
        ("gate = 3", "no [gate]"),
        (RULE + 'rule = "no-regresion"', "rule 1, rule"),
        (RULE + 'rule = "no-regression"\nmargins = 1', "rule 1, margins: there is no such option"),
        (RULE + 'rule = "no-regression"\nmargin = -1', "rule 1, margin"),
        (RULE + 'rule = "no-regression"\nmargin = nan', "rule 1, margin"),
        (RULE + 'rule = "no-regression"\nvalue = 1', "no-regression takes no value"),
        (RULE + 'rule = "min-pass-rate"', "needs a value"),
        (RULE + 'rule = "min-pass-rate"\nvalue = 90', "from 0 to 1"),
        (RULE + 'rule = "max-increase"', "absolute or relative"),
        (RULE + 'rule = "max-increase"\nrelative = 0.1\nabsolute = 1', "not both"),
        (RULE + 'rule = "equivalent"', "needs a margin"),
        (RULE + 'rule = "no-regression"\nmin-kappa = 0.6', "need the label"),
        ('[[gate.rule]]\nmetric = "refund"\nrule = "no-regression"', "is no metric"),
        ('[gate]\nmissing = "allow:5"\n' + RULE + 'rule = "no-new-failures"', "missing"),
    ],
)
def test_a_wrong_gate_is_refused_before_anything_runs(text: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_gate(text)
    assert told in str(caught.value) and caught.value.mend


@pytest.mark.parametrize(
    ("comparison", "rule", "options", "outcome"),
    [
        (passes(20, 5, 20), "no-regression", {}, "failed"),
        (passes(5, 20, 20), "no-regression", {}, "passed"),
        (passes(20, 20, 20), "no-regression", {}, "inconclusive"),
        (passes(20, 20, 20), "no-regression", {"margin": 0.2}, "passed"),
        (passes(19, 16, 20), "no-regression", {"margin": 0.02}, "inconclusive"),
        (passes(200, 199, 200), "equivalent", {"margin": 0.05}, "passed"),
        (passes(20, 5, 20), "equivalent", {"margin": 0.05}, "failed"),
        (passes(20, 20, 20), "equivalent", {"margin": 0.05}, "inconclusive"),
        (passes(20, 30, 30), "min-pass-rate", {"value": 0.8}, "passed"),
        (passes(20, 10, 30), "min-pass-rate", {"value": 0.8}, "failed"),
        (passes(20, 27, 30), "min-pass-rate", {"value": 0.8}, "inconclusive"),
        (passes(20, 27, 30), "min-pass-rate", {"value": 0.8, "on": "point"}, "passed"),
        (passes(20, 19, 30), "no-new-failures", {}, "failed"),
        (passes(20, 21, 30), "no-new-failures", {}, "passed"),
        (compared([1.0, 1.1, 1.2] * 5, [1.1, 1.2, 1.2] * 5), "max-mean", {"value": 1.5}, "passed"),
        (compared([1.0, 1.1, 1.2] * 5, [2.1, 2.2, 2.2] * 5), "max-mean", {"value": 1.5}, "failed"),
        (compared([1.0, 1.1, 1.2] * 5, [1.4, 1.5, 1.6] * 5), "max-mean", {"value": 1.5}, "inconclusive"),
        (compared([1.0, 1.1, 1.2] * 5, [1.05, 1.1, 1.2] * 5), "max-increase", {"relative": 0.1}, "passed"),
        (compared([1.0, 1.1, 1.2] * 5, [1.3, 1.5, 1.5] * 5), "max-increase", {"relative": 0.1}, "failed"),
        (compared([1.0, 1.1, 1.2] * 5, [1.3, 1.5, 1.5] * 5), "max-increase", {"absolute": 0.5}, "passed"),
        (compared([1.0, 1.1, 1.2] * 5, [1.0, 1.1, 1.2] * 5), "no-regression", {}, "error"),
        (compared([1.0, 1.1], [1.0, 1.1]), "min-pass-rate", {"value": 0.5}, "error"),
        (compared([1.0, 1.1], [1.0, 1.1]), "no-new-failures", {}, "error"),
        (compared(["a"], ["b"]), "max-mean", {"value": 1}, "error"),
        (compared(["a"], ["b"]), "equivalent", {"margin": 1}, "error"),
    ],
)
def test_rules(comparison: Comparison, rule: str, options: dict[str, Any], outcome: str) -> None:
    result = judged(comparison, rule, **options)
    assert result.outcome == outcome and result.reason


@pytest.mark.parametrize(
    ("missing", "lost", "rule", "outcome"),
    [
        ("fail", 1, "no-new-failures", "failed"),
        ("bound", 1, "no-new-failures", "inconclusive"),
        ("allow:0.05", 1, "no-new-failures", "passed"),
        ("allow:0.05", 2, "no-new-failures", "inconclusive"),
        ("fail", 1, "min-pass-rate", "failed"),
        ("bound", 1, "min-pass-rate", "passed"),
        ("bound", 12, "min-pass-rate", "inconclusive"),
        ("allow:0.5", 12, "min-pass-rate", "passed"),
        ("bound", 1, "no-regression", "passed"),
        ("bound", 12, "no-regression", "inconclusive"),
        ("allow:0.0", 1, "no-regression", "inconclusive"),
    ],
)
def test_missing_members(missing: str, lost: int, rule: str, outcome: str) -> None:
    options = {"min-pass-rate": {"value": 0.5}, "no-regression": {"margin": 0.3}}.get(rule, {})
    result = judged(passes(26, 26, 26, lost=lost), rule, missing=missing, **options)
    assert result.outcome == outcome, result.reason
    assert outcome == "passed" or "missing" in result.reason


@pytest.mark.parametrize(("margin", "sessions"), [(0.02, 189), (0.05, 73), (0.1, 35)])
def test_the_sessions_that_a_margin_takes_are_those_of_the_pages(margin: float, sessions: int) -> None:
    few, enough = (judged(passes(n, n, n), "no-regression", margin=margin) for n in (sessions - 1, sessions))
    assert (few.outcome, enough.outcome) == ("inconclusive", "passed")
    assert judged(passes(5, 5, 5), "no-new-failures").outcome == "passed"
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "gate-in-ci.md").read_text("utf-8")
    assert f"{margin} takes {sessions}" in page


def test_a_metric_without_rows_closes_the_gate() -> None:
    result = judge_gate(gate("no-new-failures"), compared([True], [True], name="other"))
    assert (result.outcome, result.exit_code) == ("error", 2)
    assert result.results[0].reason.endswith("; it has check@1:other")


def test_a_metric_of_several_params_has_to_be_named() -> None:
    observations = rows([True], [True], params_digest="a" * 64) + rows([True], [True], params_digest="b" * 64)
    result = judge_gate(gate("no-new-failures"), compare(observations, [member(0)]))
    assert result.outcome == "error" and "check@1#aaaaaaaa:result" in result.results[0].reason


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        (["passed"], 0),
        (["passed", "failed", "error"], 1),
        (["passed", "error", "inconclusive"], 2),
        (["inconclusive"], 3),
    ],
)
def test_exit_codes(outcomes: list[str], code: int) -> None:
    made = {
        "passed": gate("no-regression", margin=0.3).rule[0],
        "failed": gate("equivalent", margin=0.001).rule[0].model_copy(update={"metric": "check@1:worse"}),
        "error": gate("max-mean", value=1).rule[0].model_copy(update={"metric": "check@9:none"}),
        "inconclusive": gate("no-regression").rule[0],
    }
    observations = rows([True] * 20, [True] * 20, direction="higher")
    observations += rows([True] * 20, [False] * 20, direction="higher", name="worse")
    comparison = compare(observations, [member(index) for index in range(20)])
    result = judge_gate(Gate(rule=tuple(made[word] for word in outcomes)), comparison)
    assert [one.outcome for one in result.results] == outcomes
    assert result.exit_code == code


def test_a_regression_has_to_survive_the_number_of_rules() -> None:
    # The interval alone would fail it; over twenty rules one such is chance.
    weak = rows([True] * 12, [False] * 6 + [True] * 6, direction="higher", name="m0")
    calm = [one for i in range(1, 20) for one in rows([True] * 12, [True] * 12, direction="higher", name=f"m{i}")]
    comparison = compare(weak + calm, [member(index) for index in range(12)])
    alone = Gate(rule=(Rule(metric="check@1:m0", rule="no-regression"),))
    many = Gate(rule=tuple(Rule(metric=f"check@1:m{index}", rule="no-regression") for index in range(20)))
    assert judge_gate(alone, comparison).results[0].outcome == "failed"
    result = judge_gate(many, comparison).results[0]
    assert result.outcome == "inconclusive" and "Holm" in result.reason


@pytest.mark.parametrize(("noisy", "outcome"), [(0, "failed"), (15, "inconclusive"), (None, "error")])
def test_a_regression_can_have_to_exceed_the_noise(noisy: int | None, outcome: str) -> None:
    comparison = passes(20, 5, 20)
    if noisy is not None:
        comparison = with_noise(comparison, passes(20, 20 - noisy, 20))
    assert judged(comparison, "no-regression", above_noise=True).outcome == outcome


def calibration(**changed: Any) -> Calibration:
    whole = Estimate(value=0.8, low=0.7, high=0.9, n=50)
    facts: dict[str, Any] = {
        "metric": Metric(evaluator="check", version=1, name="result"),
        "label": "human",
        "fingerprint": "f1",
        "kind": "binary",
        "n": 50,
        "agreement": whole,
        "kappa": whole,
    }
    return Calibration(**(facts | changed))


@pytest.mark.parametrize(
    ("found", "options", "outcome"),
    [
        (calibration(), {}, "passed"),
        (calibration(), {"min_kappa": 0.75}, "inconclusive"),
        (calibration(), {"min_kappa": 0.75, "on": "point"}, "passed"),
        (calibration(), {"min_kappa": 0.95}, "failed"),
        (calibration(n=20), {}, "failed"),
        (calibration(kappa=None), {}, "inconclusive"),
        (calibration(fingerprint="f2"), {}, "error"),
        (calibration(label="other"), {}, "error"),
        (None, {}, "error"),
    ],
)
def test_a_rule_can_demand_a_calibration(found: Calibration | None, options: dict[str, Any], outcome: str) -> None:
    rule = {"value": 0.5, "label": "human", "min_kappa": 0.6, "min_labels": 30} | options
    comparison = compared([True] * 20, [True] * 20, fingerprint="f1")
    known = {} if found is None else {METRIC: found}
    assert judge_gate(gate("min-pass-rate", **rule), comparison, calibrations=known).results[0].outcome == outcome


def test_a_gate_s_errors_are_ours() -> None:
    with pytest.raises(RejudgeError):
        parse_gate("[gate]\nrule = 3")


def test_a_gate_that_was_written_out_is_read_back_the_same() -> None:
    rules = [
        {"metric": "a@1:b", "rule": "no-regression", "margin": 0.1, "above-noise": True},
        {"metric": "a@1:b", "rule": "min-pass-rate", "value": 0.5, "on": "point"},
        {"metric": "a@latest:b", "rule": "no-new-failures", "label": "good", "min-kappa": 0.6},
    ]
    gate = Gate.model_validate({"missing": "bound", "rule": rules})
    for by_alias in (True, False):
        assert Gate.model_validate_json(gate.model_dump_json(by_alias=by_alias)) == gate
