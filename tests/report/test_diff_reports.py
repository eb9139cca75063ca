"""Two sessions side by side: what a reader sees, whatever was recorded."""

from __future__ import annotations

import io
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from rejudge.models.replay import AlignedStep, ArgumentDifference, Divergence, DivergenceSide
from rejudge.models.session import Session
from rejudge.models.session_diff import DiffSide, SessionDiff
from rejudge.report.diff_html import html_diff, pieces
from rejudge.report.diff_markdown import markdown_diff
from rejudge.report.diff_terminal import terminal_diff
from rejudge.report.diff_words import Gap, excerpts, folded, rows

EVIL = "</div><script>alert(1)</script>\x1b[2J\x1b]8;;https://evil.example\x07![x](https://evil.example/p) | x\n# y"


def side(number: int, name: str, arguments: object, result: object = "fine") -> DivergenceSide:
    return DivergenceSide(
        node_id=f"n{number}",
        index=number,
        node_type="tool_call",
        name=name,
        value={"arguments": arguments, "result": result},
    )


def same(number: int) -> AlignedStep:
    one = side(number, "look", {"at": number})
    return AlignedStep(state="same", baseline=one, replay=one, answered=True)


def diff_of(
    *steps: AlignedStep, first: int | None = None, outputs: tuple[object, object] = ("ok", "ok")
) -> SessionDiff:
    ends = [DiffSide.of(Session(id=f"s{n}", number=n, agent="desk", outputs=outputs[n - 1])) for n in (1, 2)]
    told = (
        Divergence(kind="arguments", step=first, message=f"step {first + 1}: {EVIL}") if first is not None else None
    )
    return SessionDiff(
        baseline=ends[0],
        replay=ends[1],
        steps=steps,
        divergence=told,
        first=first,
        same_output=outputs[0] == outputs[1],
    )


@pytest.fixture
def parted() -> SessionDiff:
    """Seven equal steps, then one of each kind, everything hostile."""
    changed = AlignedStep(
        state="changed",
        baseline=side(7, EVIL, {"at": EVIL}),
        replay=side(7, EVIL, {"at": "home"}),
        differences=(ArgumentDifference(path=f"/{EVIL}", recorded=EVIL, called="home"),),
    )
    result = AlignedStep(state="result", baseline=side(8, "pay", {}, EVIL), replay=side(8, "pay", {}, "no"))
    missing = AlignedStep(state="missing", baseline=side(9, "thank", {"who": EVIL}))
    extra = AlignedStep(state="extra", replay=side(9, "sorry", {"who": EVIL}))
    steps = (*map(same, range(7)), changed, result, missing, extra)
    return diff_of(*steps, first=7, outputs=(EVIL, {"said": EVIL}))


def test_equal_steps_far_from_a_difference_are_counted(parted: SessionDiff) -> None:
    shown = list(folded(rows(parted)))
    assert shown[0] == Gap(5) and [one.number for one in shown[1:] if not isinstance(one, Gap)] == list(range(6, 12))
    assert list(folded(rows(diff_of(*map(same, range(3)))))) == [Gap(3)]


class Tags(HTMLParser):
    """What a page is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_page_runs_and_fetches_nothing_and_opens_where_they_part(parted: SessionDiff) -> None:
    page = html_diff(parted)
    tags = Tags(page).tags
    assert not {"script", "img", "link", "iframe"} & {name for name, _ in tags}
    assert [attributes["href"] for name, attributes in tags if name == "a"] == ["#first"]
    opened = [attributes for name, attributes in tags if name == "details" and "open" in attributes]
    assert [one["id"] for one in opened] == ["first"] and "changed" in str(opened[0]["class"])
    assert "\x1b" not in page and "default-src 'none'" in page
    assert sum(name == "details" for name, _ in tags) == len(parted.steps)


def test_in_markdown_recorded_text_is_text(parted: SessionDiff) -> None:
    written = markdown_diff(parted)
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(written)
    tags = {name for name, _ in Tags(html).tags}
    assert tags <= {"h3", "p", "br", "table", "thead", "tbody", "tr", "th", "td", "strong", "code"}
    assert html.count("<tr>") == 1 + 1 + 2 + 4 + 1  # head, gap, two around, four that differ, output


def test_the_terminal_marks_where_they_part_and_obeys_nothing(parted: SessionDiff) -> None:
    stream = io.StringIO()
    Console(file=stream, width=200).print(terminal_diff(parted))
    lines = stream.getvalue().splitlines()
    assert [line for line in lines if line.startswith("▶")] == [line for line in lines if "  8 ≠" in line]
    assert "\x1b" not in stream.getvalue() and any("5 the same" in line for line in lines)
    assert "returned something else" in lines[-1] and "another output" in lines[-1]


@pytest.mark.parametrize(
    ("was", "now", "marked"),
    [("a b c", "a x c", ("b", "x")), ("same", "same", ("", "")), ("", "new", ("", "new"))],
    ids=["a-word", "nothing", "all"],
)
def test_what_only_one_text_has_is_marked(was: str, now: str, marked: tuple[str, str]) -> None:
    left, right = pieces(was, now)
    assert ("".join(one.text for one in left), "".join(one.text for one in right)) == (was, now)
    assert tuple("".join(one.text for one in side if one.differs) for side in (left, right)) == marked


def test_long_texts_are_shown_from_where_they_part() -> None:
    was, now = excerpts("x" * 5_000 + "old" + "y" * 5_000, "x" * 5_000 + "new" + "y" * 5_000, limit=100)
    assert len(was) == len(now) == 100 and "old" in was and "new" in now
    assert excerpts("short", "text", limit=100) == ("short", "text")
