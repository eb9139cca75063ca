"""What a person sees on a replay's page: how it ended, how its calls were answered, and both runs side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prefect.artifacts import create_markdown_artifact

from rejudge.api.experimenting import change_line
from rejudge.api.sessions import Sessions
from rejudge.models.replay import CallMiss
from rejudge.models.safe_text import markdown, one_line
from rejudge.models.session_diff import SessionDiff
from rejudge.report.diff_markdown import markdown_diff
from rejudge.report.diff_words import difference_text, json_text
from rejudge.report.replay_words import fidelity_line, models_line, tools_line
from rejudge.store.engine import Database
from rejudge.store.replays import Replay

_LONGEST = 500
_DIFFERENCES = 8


def publish_replay(database: Database, replay: Replay) -> str:
    """Put a replay on the flow run's page.

    Returns:
        How it ended, in one line.
    """
    told = one_line(sentence(replay), limit=_LONGEST)
    create_markdown_artifact(replay_page(database, replay), key="replay", description=told)
    return told


def sentence(replay: Replay) -> str:
    """How a replay ended, in one line."""
    divergence = (replay.result or {}).get("divergence")
    told = f"replay {replay.number} {replay.status.replace('_', ' ')}"
    if replay.error:
        return f"{told}: {replay.error}"
    return f"{told}; {divergence['message']}" if divergence else f"{told}, equal to its baseline"


def replay_page(database: Database, replay: Replay) -> str:
    """The page in Markdown; everything recorded is escaped."""
    diff = None
    if replay.result_session_id is not None:
        diff = Sessions(database).diff(replay.baseline_session_id, replay.result_session_id)
    parts = [
        f"## Replay {replay.number}: {replay.status.replace('_', ' ')}",
        markdown(replay.error, limit=_LONGEST) if replay.error else "",
        "\n".join(_facts(replay, diff)),
        "\n".join(_miss((replay.result or {}).get("miss"))),
    ]
    if diff is not None:
        command = f"rejudge session diff {diff.baseline.number} {diff.replay.number}"
        parts += [markdown_diff(diff), f"The whole of it: `{command} --html diff.html`"]
    return "\n\n".join(part for part in parts if part) + "\n"


def _facts(replay: Replay, diff: SessionDiff | None) -> Iterator[str]:
    result = replay.result or {}
    fidelity = result.get("fidelity") or {}
    facts = (
        ("change", change_line({**replay.plan, "fork_point": _fork_point(replay, diff)})),
        ("agent", f"{replay.agent}@{replay.agent_version}"),
        ("applied", ", ".join(result.get("applied") or ())),
        ("tools", tools_line(fidelity)),
        ("models", models_line(fidelity)),
        ("misses", fidelity.get("misses")),
        ("fidelity", fidelity_line(fidelity)),
    )
    for name, value in facts:
        if value:
            yield f"- {name}: {markdown(str(value), limit=_LONGEST)}"


def _fork_point(replay: Replay, diff: SessionDiff | None) -> str | None:
    """The fork point as a person looks it up, where the baseline is at hand."""
    node_id: str | None = replay.plan.get("fork_point")
    for step in diff.steps if diff is not None else ():
        if node_id is not None and step.baseline is not None and step.baseline.node_id == node_id:
            return f"node {step.baseline.index} ({step.baseline.name})"
    return node_id


def _miss(written: Mapping[str, Any] | None) -> Iterator[str]:
    """The call that ended the replay, and what sets the nearest recorded one apart."""
    if not written:
        return
    miss = CallMiss.model_validate(written)
    yield f"### Nothing answered {miss.call} {markdown(miss.name)}\n"
    yield f"Called with {markdown(json_text(miss.arguments), limit=_LONGEST)}: {markdown(miss.reason)}\n"
    if miss.differences:
        yield "| where | the nearest recorded call | this call |\n|---|---|---|"
    for one in miss.differences[:_DIFFERENCES]:
        yield f"| {' | '.join(markdown(text, limit=_LONGEST) for text in difference_text(one))} |"
