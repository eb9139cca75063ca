"""What a person sees on a flow run's page: progress, the results as tables, the closing words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)

from rejudge.models.safe_text import markdown, one_line
from rejudge.scoring.report import BatchReport
from rejudge.store.summaries import MetricSummary
from rejudge.tasks import policy
from rejudge.tasks.working import Work

_CELL = 300


def begin_progress(at: Work) -> None:
    """Put a progress bar on the flow run's page."""
    made: Any = create_progress_artifact(0.0, key="scoring-progress", description=_progress_line(at))
    at.progress_artifact = made


def publish_progress(at: Work) -> None:
    """Move the progress bar."""
    if at.progress_artifact is not None:
        share = 100.0 * at.done / at.batch.to_do if at.batch.to_do else 100.0
        update_progress_artifact(at.progress_artifact, min(100.0, share), description=_progress_line(at))


def publish_report(report: BatchReport) -> None:
    """Put the results on the flow run's page: a table, what gave no score, and the sentence."""
    create_table_artifact(
        [_metric_row(report, one) for one in report.metrics[: policy.TABLE_ROWS_MAX]] or [{"result": "none"}],
        key="evaluation-results",
        description=one_line(report.sentence),
    )
    if report.unscored:
        create_table_artifact(
            [_unscored_row(report, place) for place in range(len(report.unscored))][: policy.TABLE_ROWS_MAX],
            key="not-scored",
            description="Scorings without a score; `rejudge session evaluate` again tries what can change",
        )
    create_markdown_artifact(_markdown(report), key="evaluation-report", description=one_line(report.sentence))


def _progress_line(at: Work) -> str:
    names = ", ".join(judge.requested.reference for judge in at.batch.judges)
    return one_line(f"{at.done:,} of {at.batch.to_do:,} scorings by {names}", limit=_CELL)


def _metric_row(report: BatchReport, one: MetricSummary) -> dict[str, Any]:
    verdicts = one.passed + one.failed
    return {
        "evaluator": one_line(report.title(one), limit=_CELL),
        "result": one_line(one.result, limit=_CELL),
        "type": one.data_type,
        "sessions": one.count,
        "mean": None if one.mean is None else round(one.mean, 6),
        "lowest": one.lowest,
        "highest": one.highest,
        "passed": f"{one.passed} of {verdicts}" if verdicts else None,
    }


def _unscored_row(report: BatchReport, place: int) -> dict[str, Any]:
    one = report.unscored[place]
    return {
        "session": one.session_id,
        "evaluator": one_line(report.evaluators[one.judge], limit=_CELL),
        "status": one.status,
        "why": one_line(one.error, limit=_CELL),
    }


def _markdown(report: BatchReport) -> str:
    lines = ["## " + ("Everything is scored" if not report.not_scored else "Done in part"), ""]
    lines += [markdown(report.sentence), ""]
    if report.metrics:
        lines += _markdown_table(
            ("evaluator", "result", "sessions", "mean", "passed"),
            [
                (row["evaluator"], row["result"], row["sessions"], row["mean"], row["passed"])
                for row in (_metric_row(report, one) for one in report.metrics[: policy.TABLE_ROWS_MAX])
            ],
        )
    if report.not_tried_again:
        lines += ["", f"{report.not_tried_again} that may yet work were not tried again now: run it again later."]
    lines += ["", *(markdown(why, limit=_CELL) for why in report.lost[:10])]
    return "\n".join(lines)


def _markdown_table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    def line(cells: Sequence[object]) -> str:
        return f"| {' | '.join('' if cell is None else markdown(str(cell)) for cell in cells)} |"

    return [line(headings), line(["---"] * len(headings)).replace("\\", ""), *map(line, rows)]
