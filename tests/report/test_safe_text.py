from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rejudge.models.safe_text import csv_cell, markdown, markdown_code, one_line, plain

HOSTILE = st.one_of(
    st.text(),
    st.text(alphabet="\x1b[]()<>|*_`#!&;:/\\@w.htps\n\r\t \u202e\u2028\x9b\x07=+-~$01a"),
    st.sampled_from(
        [
            "![x](https://evil.example/p.png)",
            "<img src=x onerror=alert(1)>",
            "[click](javascript:alert(1))",
            "| a | b |\n|---|---|",
            "\x1b]8;;https://evil.example\x07here\x1b]8;;\x07",
            "\x1b[2J\x1b[H",
            "www.evil.example",
            "mail me@evil.example",
            "    indented",
            "# title",
            "1. one",
            "```\ncode",
            "&lt;b&gt;",
            "\\|",
        ]
    ),
)


@given(HOSTILE)
def test_plain_text_has_no_control_character_but_tab_and_newline(text: str) -> None:
    clean = plain(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", clean)
    assert plain(clean) == clean


@given(HOSTILE)
def test_plain_text_can_be_written_as_xml(text: str) -> None:
    element = ElementTree.Element("a")
    element.text = plain(text)
    assert ElementTree.fromstring(ElementTree.tostring(element)).text in (plain(text), None)


@given(HOSTILE)
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


@given(st.text(), st.integers(min_value=1, max_value=20))
def test_a_limit_is_kept(text: str, limit: int) -> None:
    assert len(plain(text, limit=limit)) <= limit


@given(HOSTILE)
def test_markdown_reads_as_text_and_nothing_else(text: str) -> None:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    kinds = {child.type for token in parser.parse(markdown(text)) for child in (token, *(token.children or []))}
    assert kinds <= {"paragraph_open", "paragraph_close", "inline", "text", "text_special"}


@given(HOSTILE)
def test_markdown_shows_what_was_written(text: str) -> None:
    parser = MarkdownIt("commonmark")
    shown = "".join(child.content for token in parser.parse(markdown(text)) for child in (token.children or []))
    assert shown.replace("\u2060", "") == one_line(text)


@given(HOSTILE)
def test_markdown_stays_in_its_cell(text: str) -> None:
    parser = MarkdownIt("commonmark").enable("table")
    table = f"| a | b |\n|---|---|\n| {markdown(text)} | end |\n"
    opened = [token.type for token in parser.parse(table)]
    assert opened.count("td_open") == 2 and opened.count("tr_open") == 2


@given(HOSTILE)
def test_markdown_leaves_nothing_for_an_autolink(text: str) -> None:
    source = markdown(text)
    assert "://" not in source and not re.search(r"(?i)www\.", source)
    assert not re.search(r"@\w", source)


@given(HOSTILE)
def test_a_code_block_ends_where_it_should(text: str) -> None:
    parsed = MarkdownIt("commonmark").parse(markdown_code(text) + "\n\nafter")
    assert [token.type for token in parsed] == ["fence", "paragraph_open", "inline", "paragraph_close"]


@pytest.mark.parametrize(
    "text", ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", " =1", '"=1', "\uff1d1", "=cmd|' /C calc'!A0"]
)
def test_a_cell_that_a_spreadsheet_would_run_is_prefixed(text: str) -> None:
    assert csv_cell(text).startswith("'")


@pytest.mark.parametrize("text", ["-1.5", "+3", "1e-9", "refund", "a=b", ""])
def test_a_harmless_cell_is_left_alone(text: str) -> None:
    assert csv_cell(text) == text


@given(HOSTILE)
def test_a_cell_never_starts_a_formula(text: str) -> None:
    cell = csv_cell(text)
    written = io.StringIO()
    csv.writer(written).writerow([cell])
    assert not cell.lstrip().startswith(("=", "@", "|", "%")) or cell.startswith("'")
