"""A comparison as plain rows, for a table artifact."""

from __future__ import annotations

from rejudge.models.comparison import Comparison
from rejudge.models.safe_text import one_line
from rejudge.report.wording import table_rows

ROWS = 200
"""Beyond which a table in the Prefect UI is no longer read."""


def artifact_rows(comparison: Comparison, *, limit: int = ROWS) -> list[dict[str, str]]:
    """The paired table as at most ``limit`` rows of text; the last says how many are not shown."""
    rows = [
        {
            "metric": one_line(row.metric, limit=300),
            "statistic": row.statistic,
            "baseline": row.baseline,
            "replay": row.replay,
            "difference": row.difference,
            "interval": row.interval,
            "p": row.p_value,
            "pairs": row.coverage,
            "verdict": row.verdict,
            "reason": one_line(row.reason, limit=300),
        }
        for row in table_rows(comparison)
    ]
    if len(rows) <= limit:
        return rows
    more = dict.fromkeys(rows[0], "") | {"metric": f"{len(rows) - limit + 1} more are not shown"}
    return [*rows[: limit - 1], more]
