"""What a replay was asked, and what came of it, in lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from rejudge.cli.output import Output, plain, text

_DIFFERENCES = 8


def document_of(one: Any) -> dict[str, Any]:
    """A replay's JSON."""
    names = (
        "id",
        "number",
        "baseline_session_id",
        "result_session_id",
        "experiment_run_id",
        "agent",
        "agent_version",
        "trial",
        "plan",
        "status",
        "error",
        "result",
        "created_at",
        "started_at",
        "ended_at",
        "flow_run_id",
    )
    return {name: getattr(one, name) for name in names}


def show_replay(output: Output, store: Any, found: Any) -> None:
    """Its lineage, how it ended, how its calls were answered, where it left its baseline, and which call missed."""
    from rejudge.report.replay_words import fidelity_line, models_line, tools_line

    result = found.result or {}
    fidelity = result.get("fidelity") or {}
    lines = (
        ("replay", found.number),
        ("of session", _session(store, found.baseline_session_id)),
        ("result", _session(store, found.result_session_id)),
        ("agent", f"{found.agent}@{found.agent_version}"),
        ("changes", _changes(store, found)),
        ("policies", _policies(found.plan.get("policies") or {})),
        ("trial", found.trial or None),
        ("status", found.status.replace("_", " ")),
        ("why", found.error),
        ("applied", result.get("applied") or None),
        ("tools", tools_line(fidelity)),
        ("models", models_line(fidelity)),
        ("misses", fidelity.get("misses") or None),
        ("fidelity", fidelity_line(fidelity)),
        ("divergence", (result.get("divergence") or {}).get("message") or (_none(found))),
        ("seconds", round(result["duration_seconds"], 3) if result.get("duration_seconds") else None),
        ("exit code", result.get("exit_code") or None),
        ("printed", f"{result['output_bytes']:,} bytes" if result.get("output_bytes") else None),
    )
    output.item(found, lines)
    for line in (*_miss(store, found, result.get("miss")), *_printed(found, result)):
        click.echo(line)


def _session(store: Any, session_id: str | None) -> str | None:
    from rejudge.store.selecting import list_sessions_by_id

    if session_id is None:
        return None
    [session] = list_sessions_by_id(store.database, [session_id])
    return f"{session.number}  {session_id}"


def _changes(store: Any, found: Any) -> str:
    from rejudge.api.experimenting import change_line

    change = dict(found.plan)
    if change.get("fork_point"):
        change["fork_point"] = _node(store, found, change["fork_point"])
    return change_line(change)


def _node(store: Any, found: Any, node_id: str) -> str:
    """A node of the baseline as a person looks it up: ``node 5 (lookup_order)``."""
    for node in store.sessions.get(found.baseline_session_id).nodes:
        if node.id == node_id:
            return f"node {node.index} ({node.tool_name or node.model or node.name})"
    return f"node {node_id}"


def _policies(written: Mapping[str, Any]) -> str | None:
    """What is not as it is by default."""
    from rejudge.models.policy import PolicySet

    chosen, default = PolicySet.model_validate(written), PolicySet()
    kept: dict[str, Any] = {}
    for name in ("tools_default", "models_default"):
        if getattr(chosen, name) != getattr(default, name):
            kept[name.removesuffix("_default")] = _policy(getattr(chosen, name))
    kept |= {f"tool {name}": _policy(one) for name, one in chosen.tools.items()}
    kept |= {f"model {name}": _policy(one) for name, one in chosen.models.items()}
    return "; ".join(f"{name}: {_short(one)}" for name, one in kept.items()) or None


def _policy(policy: Any) -> Any:
    options = policy.model_dump(mode="json", exclude_defaults=True)
    return {"kind": policy.kind, **options} if options else policy.kind


def _none(found: Any) -> str | None:
    return "none" if found.status == "completed" else None


def _miss(store: Any, found: Any, miss: Mapping[str, Any] | None) -> Iterator[str]:
    """The call that ended the replay, and what sets the nearest recorded one apart."""
    if not miss:
        return
    yield f"\nthe call that nothing answered: {miss['call']} {plain(miss['name'])}"
    yield f"  {plain(miss['reason'])}"
    yield f"  called with {_short(miss.get('arguments'))}"
    if miss.get("nearest_node_id"):
        nearest = plain(_node(store, found, miss["nearest_node_id"]))
        told = ", with these differences:" if miss.get("differences") else ""
        yield f"  the nearest recorded call is {nearest} of the baseline{told}"
    for one in (miss.get("differences") or [])[:_DIFFERENCES]:
        was = "nothing" if one["kind"] == "added" else _short(one["recorded"])
        now = "nothing" if one["kind"] == "removed" else _short(one["called"])
        yield f"    {plain(one['path'] or '/')}: recorded {was}, called with {now}"


def _printed(found: Any, result: Mapping[str, Any]) -> Iterator[str]:
    """The end of what an agent printed that did not complete: why is mostly in there."""
    from rejudge.models.safe_text import plain as harmless

    if found.status in ("completed", "canceled") or not result.get("output"):
        return
    yield "\nthe end of what it printed"
    for line in harmless(result["output"]).splitlines()[-12:]:
        yield f"  {line[:300]}"


def _short(value: Any, limit: int = 300) -> str:
    from rejudge.models.safe_text import cut
    from rejudge.report.diff_words import json_text, message_text

    shown = message_text(value) if isinstance(value, dict) and "parts" in value else json_text(value)
    return cut(text(shown), limit)
