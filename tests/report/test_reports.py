from __future__ import annotations

import io
import json
import re
from decimal import Decimal
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from rejudge.compare import compare
from rejudge.compare.recheck import recheck
from rejudge.errors import UsageError
from rejudge.models.comparison import Comparison, Member, Run
from rejudge.models.report import ChangedText, Divergence, Fidelity, LedgerEntry, ReportContext, SideBySide, Step
from rejudge.report.document import document
from rejudge.report.html import embedded, html_report
from rejudge.report.markdown import markdown_report
from rejudge.report.table import artifact_rows
from rejudge.report.terminal import terminal_report
from rejudge.report.wording import power_line
from tests.compare.cohorts import compared, member, row, rows

MINUS = "\N{MINUS SIGN}"
EVIL = (
    "</script><script>alert(1)</script>\x1b[2J\x1b]8;;https://evil.example\x07![x](https://evil.example/p) | x\n# y"
)


@pytest.fixture(scope="module")
def worse() -> Comparison:
    """Twenty sessions that passed, of which twelve now fail and one never came back."""
    replay = [False] * 12 + [True] * 8
    observations = [
        one.model_copy(update={"passed": one.score, "explanation": f"{EVIL} {one.side}"})
        for one in rows([True] * 20, replay, name="refund_issued")
        if one.score is not None
    ]
    observations = [one for one in observations if not (one.side == "replay" and one.member == "s19")]
    observations += rows([0.5] * 20, [0.25] * 20, evaluator="rejudge/cost", name="cost", direction="lower")
    observations += rows([EVIL] * 20, ["b"] * 20, name="text")
    members = [member(index) for index in range(19)]
    members.append(Member(id="s19", number=20, runs=(Run(status="timed_out", reason=EVIL),)))
    observations = [one for one in observations if not (one.side == "replay" and one.member == "s19")]
    return compare(observations, members)


@pytest.fixture(scope="module")
def context() -> ReportContext:
    return ReportContext(
        title=EVIL,
        change=EVIL,
        texts=(ChangedText(label=EVIL, text=EVIL),),
        ledger=(LedgerEntry(label=EVIL, count=2, cost=Decimal("0.5"), priced="partial"),),
        fidelity=Fidelity(answers={EVIL: 3}, replays=20),
        divergences=(Divergence(label=EVIL, count=4),),
        runs=(SideBySide(member="s0", baseline=(Step(label=EVIL, text=EVIL),)),),
    )


class Elements(HTMLParser):
    """The elements of a page and what their attributes point at."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.targets: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.targets += [value or "" for name, value in attrs if name in ("src", "href", "action", "style")]
        assert not any(name.startswith("on") for name, _ in attrs)


def test_the_page_holds_nothing_that_runs_or_is_fetched(worse: Comparison, context: ReportContext) -> None:
    page = html_report(worse, context)
    elements = Elements(page)
    assert elements.names.count("script") == 1
    assert not {"img", "iframe", "link", "object", "form"} & set(elements.names)
    assert all(target.startswith("#m") or re.fullmatch(r"[a-z\-: 0-9.%]+", target) for target in elements.targets)
    assert "url(" not in page and "@import" not in page
    assert "\x1b" not in page and "default-src 'none'" in page


def test_the_page_gives_its_figures_back(worse: Comparison, context: ReportContext) -> None:
    assert embedded(html_report(worse, context)) == worse


def test_the_page_names_verdicts_reasons_and_ids(worse: Comparison) -> None:
    page = html_report(worse)
    assert "regressed" in page and "replay timed out" in page
    assert "e-replay-0-1" in page and "r0t1" in page


def test_another_page_is_refused() -> None:
    with pytest.raises(UsageError):
        embedded("<html></html>")


def test_an_empty_comparison_still_makes_a_page() -> None:
    nothing = compare([], [])
    assert "Nothing was compared" in html_report(nothing)
    assert embedded(html_report(nothing)) == nothing


def test_markdown_renders_as_text_and_tables(worse: Comparison, context: ReportContext) -> None:
    source = markdown_report(worse, context)
    parsed = MarkdownIt("commonmark", {"html": True}).enable("table").parse(source)
    kinds = {child.type for token in parsed for child in (token, *(token.children or []))}
    assert not kinds & {"link_open", "image", "html_block", "html_inline", "hr"}
    assert sum(token.type == "heading_open" for token in parsed) == 1
    assert "\x1b" not in source and "**regressed**" in source


def test_the_terminal_gets_no_control_sequence(worse: Comparison) -> None:
    out = io.StringIO()
    Console(file=out, width=140, color_system=None).print(terminal_report(worse))
    assert "\x1b" not in out.getvalue()
    assert "▼ regressed" in out.getvalue() and "19/20" in out.getvalue()


def test_square_brackets_are_no_markup_on_the_terminal() -> None:
    out = io.StringIO()
    Console(file=out, width=140, color_system=None).print(terminal_report(compared(["[bold]a"], ["[/bold]b"])))
    assert "[bold]a → [/bold]b" in out.getvalue()


def test_a_table_artifact_stops_at_its_limit() -> None:
    many = [one for index in range(250) for one in rows([1.0, 2.0], [1.5, 2.0], name=f"m{index}")]
    table = artifact_rows(compare(many, [member(0), member(1)]))
    assert len(table) == 200
    assert table[-1]["metric"] == "51 more are not shown"
    assert all(isinstance(cell, str) for line in table for cell in line.values())


def test_the_document_is_json_with_keys_and_digest(worse: Comparison) -> None:
    told = json.loads(json.dumps(document(worse)))
    assert told["count"] == 3 and told["digest"] == worse.digest
    assert {metric["key"] for metric in told["metrics"]} >= {"check@1:refund_issued", "rejudge/cost@1:cost"}
    assert "pairs" not in document(worse, pairs=False)["metrics"][0]


def test_a_repeated_verdict_is_shown_once() -> None:
    both = [one.model_copy(update={"passed": bool(one.score)}) for one in rows([True, False], [True, True])]
    assert [line["statistic"] for line in artifact_rows(compare(both, [member(0), member(1)]))] == ["pass rate"]


def test_a_score_with_a_verdict_is_shown_as_both() -> None:
    both = [row(0, side, 0.5, passed=True, direction="lower") for side in ("baseline", "replay")]
    assert [line["statistic"] for line in artifact_rows(compare(both, [member(0)]))] == ["mean", "pass rate"]


def test_a_report_can_be_checked_against_its_rows() -> None:
    observations = rows([True] * 20, [False] * 12 + [True] * 8) + rows([0.5, 0.7] * 10, [0.4, 0.9] * 10, name="cost")
    told = embedded(html_report(compare(observations, [member(index) for index in range(20)], seed=7)))
    assert recheck(told, observations) == ()
    observations[0] = observations[0].model_copy(update={"score": False})
    assert recheck(told, observations) == ("check@1:result",)
    assert recheck(told, observations[:40]) == ("check@1:cost", "check@1:result")


def pages(comparison: Comparison) -> str:
    """All that a person is shown of a comparison."""
    shown = io.StringIO()
    Console(file=shown, width=10_000).print(terminal_report(comparison))
    return html_report(comparison) + markdown_report(comparison) + shown.getvalue()


def test_what_is_settled_is_not_said_to_need_more_sessions() -> None:
    regressed = compared([True] * 12, [False] * 7 + [True] * 5, direction="higher")
    assert regressed.metrics[0].verdict.word == "regressed"
    assert not re.search("would settle|% power", pages(regressed))


@pytest.mark.parametrize(("flips", "said"), [(1, "a difference of 70.0 pp"), (3, "so few sessions find no")])
def test_a_rate_that_cannot_move_as_far_as_its_power_reaches_is_told_so(flips: int, said: str) -> None:
    few = compared([True] * 4, [False] * flips + [True] * (4 - flips)).metrics[0]
    assert said in power_line(few.figures[0].power, rate=True)


def test_the_headline_gives_the_figures_of_every_metric_of_its_verdict() -> None:
    both = rows([True] * 12, [False] * 12, name="one") + rows([True] * 12, [False] * 11 + [True], name="two")
    banner = html_report(compare(both, [member(index) for index in range(12)])).partition("<dl")[0]
    assert f"check@1:one: 100.0 % → 0.0 %, {MINUS}100.0 pp [" in banner
    assert f"check@1:two: 100.0 % → 8.3 %, {MINUS}91.7 pp [" in banner


def test_a_headline_that_decides_nothing_says_why() -> None:
    banner = html_report(compared([True] * 4, [False] + [True] * 3)).partition("<dl")[0]
    assert f": 100.0 % → 75.0 %, {MINUS}25.0 pp [" in banner and "reaches across 0" in banner


def test_the_page_shows_a_changed_prompt_whole(worse: Comparison) -> None:
    prompt = "Refund what is asked for.\n" + "Be short. " * 300 + "Never check <policies>."
    page = html_report(worse, ReportContext(texts=(ChangedText(label="system prompt", text=prompt),)))
    assert "The system prompt of the replays" in page and "Refund what is asked for.\nBe short." in page
    assert "Never check &lt;policies&gt;." in page
