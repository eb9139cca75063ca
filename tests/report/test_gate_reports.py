from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ElementTree

import pytest
from rich.console import Console

from rejudge.compare.gating import judge_gate
from rejudge.models.gate import Gate, GateResult, Rule
from rejudge.report.gate import demand, gate_document, gate_headline, gate_markdown, gate_table
from rejudge.report.html import html_report
from rejudge.report.junit import junit_xml
from tests.compare.cohorts import compared

COMPARISON = compared([True] * 20, [False] * 15 + [True] * 5, direction="higher")


@pytest.fixture
def result() -> GateResult:
    rules = (
        Rule(metric="check@1:result", rule="no-regression", margin=0.02),
        Rule(metric="check@1:result", rule="min-pass-rate", value=0.3),
        Rule(metric="check@1:result", rule="max-mean", value=0.9),
        Rule(metric="check@1:other", rule="no-new-failures"),
    )
    return judge_gate(Gate(rule=rules), COMPARISON)


def test_the_outcomes_are_as_meant(result: GateResult) -> None:
    assert [one.outcome for one in result.results] == ["failed", "inconclusive", "passed", "error"]
    assert gate_headline(result) == "gate failed: 1 failed, 1 error, 1 inconclusive, 1 passed"


def test_junit_has_a_failure_an_error_and_a_skip(result: GateResult) -> None:
    suite = ElementTree.fromstring(junit_xml(result)).find("testsuite")
    assert suite is not None
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    kinds = [[child.tag for child in case] for case in suite.findall("testcase")]
    assert kinds == [["failure"], ["skipped"], [], ["error"]]
    assert "worse side" in (suite.findall("testcase/failure")[0].get("message") or "")


def test_junit_survives_hostile_text(result: GateResult) -> None:
    evil = result.results[0].model_copy(update={"reason": ']]></failure>\x00\x1b[2J<a b="&">\ud800'})
    told = ElementTree.fromstring(junit_xml(GateResult(results=(evil,))).encode())
    message = told.find("testsuite/testcase/failure")
    assert message is not None and (message.get("message") or "").startswith("]]></failure>")


def test_markdown_and_terminal_name_every_rule(result: GateResult) -> None:
    out = io.StringIO()
    Console(file=out, width=200, color_system=None).print(gate_table(result))
    for told in (out.getvalue(), gate_markdown(result)):
        assert all(one.rule.rule in told and one.outcome in told for one in result.results)
    assert gate_markdown(result).startswith("## ✗ gate failed")


def test_the_document_holds_the_exit_code(result: GateResult) -> None:
    told = json.loads(json.dumps(gate_document(result)))
    assert (told["outcome"], told["exit_code"], told["count"]) == ("failed", 1, 4)


def test_the_page_leads_with_the_gate(result: GateResult) -> None:
    page = html_report(COMPARISON, gate=result)
    assert "✗ Gate failed" in page and "no-new-failures" in page


def test_a_rule_reads_as_it_was_written() -> None:
    rule = Rule(metric="a@1:b", rule="max-increase", relative=0.1, on="point")
    assert demand(rule) == "max-increase relative 0.1 on point"
