"""LangSmith exports: runs as JSON lines, a list, or under ``runs``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rejudge.otel.containers.times import any_nanoseconds
from rejudge.otel.refusal import Malformed
from rejudge.otel.span import Attributes, Batch, Span
from rejudge.otel.text import undo_json

_KINDS: Final = frozenset({"llm", "chain", "tool", "retriever", "embedding", "prompt", "parser"})


def matches(document: Any) -> bool:
    """True for one run, a list of runs, or an answer that holds them."""
    items = _items(document)
    return bool(items) and _is_run(items[0])


def decode(document: Any, batch: Batch, refuse: Callable[[Malformed], None]) -> None:
    """Append the runs of one document, children included, to a batch as spans."""
    waiting = list(reversed(_items(document)))
    while waiting:
        raw = waiting.pop()
        try:
            batch.spans.append(_span(raw))
        except Malformed as error:
            if isinstance(raw, dict):
                error.span = f"{str(raw.get('trace_id'))[:64]}:{str(raw.get('id'))[:64]}"
            refuse(error)
            continue
        children = raw.get("child_runs")
        waiting += reversed(children) if isinstance(children, list) else ()


def _items(document: Any) -> list[Any]:
    if isinstance(document, dict):
        runs = document.get("runs")
        return runs if isinstance(runs, list) else [document]
    return document if isinstance(document, list) else []


def _is_run(raw: Any) -> bool:
    return isinstance(raw, dict) and raw.get("run_type") in _KINDS and "id" in raw


def _span(raw: Any) -> Span:
    if not _is_run(raw):
        raise Malformed("no LangSmith run")
    trace_id = raw.get("trace_id") or str(raw.get("dotted_order") or "").partition(".")[0].rpartition("Z")[2]
    trace_id = trace_id or raw["id"]
    parent = raw.get("parent_run_id")
    if parent is None and isinstance(raw.get("parent_run_ids"), list) and raw["parent_run_ids"]:
        parent = raw["parent_run_ids"][-1]
    error = raw.get("error")
    return Span(
        str(trace_id),
        str(raw["id"]),
        str(parent) if parent else None,
        str(raw.get("name") or ""),
        any_nanoseconds(raw.get("start_time")),
        any_nanoseconds(raw.get("end_time")),
        0,
        2 if error or raw.get("status") == "error" else 0,
        str(error) if error else "",
        _attributes(raw),
        [],
        [],
        {},
        "langsmith",
        "",
        False,
        "langsmith",
    )


def _attributes(raw: dict[str, Any]) -> Attributes:
    extra = undo_json(raw.get("extra"))
    extra = extra if isinstance(extra, dict) else {}
    metadata = undo_json(extra.get("metadata", raw.get("metadata")))
    metadata = metadata if isinstance(metadata, dict) else {}
    attributes: Attributes = {
        f"langsmith.metadata.{key}": value for key, value in metadata.items() if value is not None
    }
    parameters = extra.get("invocation_params")
    own = {
        "langsmith.span.kind": raw["run_type"],
        "langsmith.span.tags": raw.get("tags") or None,
        "langsmith.trace.session_name": raw.get("session_name"),
        "langsmith.usage": _usage(raw),
        "langsmith.invocation_params": parameters if isinstance(parameters, dict) else None,
        "gen_ai.prompt": undo_json(raw.get("inputs")),
        "gen_ai.completion": undo_json(raw.get("outputs")),
        "gen_ai.cost.total_cost": raw.get("total_cost"),
    }
    attributes.update({key: value for key, value in own.items() if value is not None})
    return attributes


def _usage(raw: dict[str, Any]) -> dict[str, Any] | None:
    found = {
        key: raw[key] for key in ("prompt_tokens", "completion_tokens", "total_tokens") if raw.get(key) is not None
    }
    for key in ("prompt_token_details", "completion_token_details"):
        details = raw.get(key)
        if isinstance(details, dict):
            found[key.replace("_token_", "_tokens_")] = {
                "cached_tokens": details.get("cache_read"),
                "reasoning_tokens": details.get("reasoning"),
            }
    return found if any(found.get(key) for key in ("prompt_tokens", "completion_tokens")) else None
