"""The verdict on a flow run's page: a table, and a Markdown artifact with the reasons."""

from __future__ import annotations

from typing import Any

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from rejudge.models.comparison import Comparison
from rejudge.models.report import ReportContext
from rejudge.models.safe_text import one_line
from rejudge.report.markdown import markdown_report
from rejudge.report.table import artifact_rows
from rejudge.report.wording import headline
from rejudge.tasks import policy


def publish_comparison(comparison: Comparison, context: ReportContext) -> str:
    """Put a comparison on the flow run's page.

    Returns:
        Its headline.
    """
    line = one_line(headline(comparison))
    rows: list[dict[str, Any]] = [dict(row) for row in artifact_rows(comparison, limit=policy.TABLE_ROWS_MAX)]
    create_table_artifact(rows or [{"metric": "none"}], key="comparison", description=line)
    create_markdown_artifact(markdown_report(comparison, context), key="verdict", description=line)
    return line
