"""A gate's result as JUnit XML, which every CI reads."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from rejudge.models.gate import GateOutcome, GateResult, RuleResult
from rejudge.models.safe_text import one_line, plain
from rejudge.report.gate import demand

_ELEMENT: dict[GateOutcome, str] = {"failed": "failure", "error": "error", "inconclusive": "skipped"}


def junit_xml(result: GateResult, *, name: str = "rejudge gate") -> str:
    """One test case a rule: a failed one a failure, one that could not run an error, an inconclusive one skipped."""
    counts = {word: sum(one.outcome == word for one in result.results) for word in _ELEMENT}
    totals = {
        "tests": str(len(result.results)),
        "failures": str(counts["failed"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["inconclusive"]),
    }
    suites = ElementTree.Element("testsuites", {"name": one_line(name), **totals})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": one_line(name), **totals})
    for one in result.results:
        suite.append(_case(one))
    ElementTree.indent(suites)
    body = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _case(one: RuleResult) -> ElementTree.Element:
    row = one.rule.metric.split(":", 1)[1]
    facts = {"classname": one_line(one.rule.evaluator), "name": one_line(f"{row} {demand(one.rule)}"), "time": "0"}
    case = ElementTree.Element("testcase", facts)
    tag = _ELEMENT.get(one.outcome)
    if tag is None:
        return case
    told = ElementTree.SubElement(case, tag, {"message": one_line(one.reason)})
    if tag != "skipped":
        told.set("type", one.rule.rule)
        told.text = plain(_details(one))
    return case


def _details(one: RuleResult) -> str:
    lines = [one.reason]
    if one.estimate is not None and one.estimate.value is not None:
        figure = one.estimate
        lines.append(f"figure {figure.value:.6g}, interval {figure.low} to {figure.high}, n = {figure.n}")
    if one.coverage is not None:
        lines.append(f"{one.coverage.scored} of {one.coverage.total} sessions compared")
    lines += [f"session {member}" for member in one.members]
    return "\n".join(lines)
