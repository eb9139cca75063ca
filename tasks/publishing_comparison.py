"""The verdict on a flow run's page: a table, and a Markdown artifact with the reasons."""

from __future__ import annotations

from typing import Any

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from rejudge.models.comparison import Comparison
from rejudge.models.gate import GateResult
from rejudge.models.report import ReportContext
from rejudge.models.safe_text import one_line
from rejudge.report.gate import gate_headline, gate_markdown
from rejudge.report.markdown import markdown_report
from rejudge.report.table import artifact_rows
from rejudge.report.wording import headline
from rejudge.tasks import policy


def publish_comparison(comparison: Comparison, context: ReportContext, gate: GateResult | None = None) -> str:
    """Put a comparison, and what became of a gate, on the flow run's page.

    Returns:
        Its headline.
    """
    line = one_line(f"{gate_headline(gate)}; metrics: {headline(comparison)}" if gate else headline(comparison))
    rows: list[dict[str, Any]] = [dict(row) for row in artifact_rows(comparison, limit=policy.TABLE_ROWS_MAX)]
    create_table_artifact(rows or [{"metric": "none"}], key="comparison", description=line)
    page = markdown_report(comparison, context)
    if gate is not None:
        page = f"{gate_markdown(gate)}\n{page}"
    create_markdown_artifact(page, key="verdict", description=line)
    return line
