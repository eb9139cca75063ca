from __future__ import annotations

import io
import json

from markdown_it import MarkdownIt
from rich.console import Console

from rejudge.compare.back_test import back_test
from rejudge.compare.calibration import calibrate
from rejudge.models.calibration import Calibration, LabelledSession
from rejudge.models.comparison import Metric
from rejudge.report.calibration import (
    back_test_markdown,
    calibration_document,
    calibration_markdown,
    calibration_terminal,
)
from tests.compare.cohorts import row

EVIL = "<b>x</b> | [y](https://evil.example)\x1b[2J"


def calibration() -> Calibration:
    labelled = [
        LabelledSession(session_id=f"s{index}", label=index % 2 == 0, judged=index % 3 == 0, judged_explanation=EVIL)
        for index in range(60)
    ]
    metric = Metric(evaluator="judge", version=2, name="tone")
    return calibrate(labelled, metric=metric, label="human_tone", unlabelled=[True, False])


def test_markdown_tells_every_figure_and_no_markup() -> None:
    source = calibration_markdown(calibration())
    parsed = MarkdownIt("commonmark", {"html": True}).enable("table").parse(source)
    kinds = {child.type for token in parsed for child in (token, *(token.children or []))}
    assert not kinds & {"link_open", "image", "html_inline", "html_block"}
    assert sum(token.type == "table_open" for token in parsed) == 2
    assert "Cohen's kappa" in source and "PABAK" in source and "and 10 more" in source


def test_the_terminal_gets_the_same() -> None:
    out = io.StringIO()
    Console(file=out, width=120, color_system=None).print(calibration_terminal(calibration()))
    assert "sensitivity" in out.getvalue() and "\x1b" not in out.getvalue()


def test_the_document_is_json() -> None:
    told = json.loads(json.dumps(calibration_document(calibration())))
    assert told["key"] == "judge@2:tone" and told["n"] == 60


def test_a_back_test_is_told_in_markdown() -> None:
    old = [row(index, "baseline", True, version=1) for index in range(10)]
    new = [row(index, "baseline", index < 6, version=2, explanation=EVIL) for index in range(10)]
    source = back_test_markdown(back_test(old, new, new_calibration=calibration()))
    assert "10 of 10 sessions" in source and "40.0 pp" in source and "kappa of the new version" in source
