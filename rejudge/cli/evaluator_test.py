"""`rejudge evaluator test`: an evaluator really called, its rows shown, nothing stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from rejudge.cli.evaluation import said, what_failed
from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options, table
from rejudge.errors import PartialFailure, UsageError

if TYPE_CHECKING:
    from rejudge.models.evaluation import EvaluationResult
    from rejudge.models.session import SessionView
    from rejudge.models.wire import WireSession
    from rejudge.scoring.outcome import ScoringOutcome
    from rejudge.scoring.version import EvaluatorSpec


@click.command()
@click.argument("target", metavar="FILE|MODULE:ATTRIBUTE|NAME@V")
@click.option("--session", "sessions", multiple=True, metavar="SESSION", help="A stored session. Repeat for several.")
@click.option("--trace", metavar="FILE", help="The sessions of a trace file, which is not imported.")
@click.option("--sample", is_flag=True, help="A small made-up session.")
@click.option("--params", metavar="JSON", help="Its params, as a JSON object.")
@click.option("--connection", metavar="NAME", help="Its credentials.")
@output_options
def test(
    output: Output,
    *,
    target: str,
    sessions: tuple[str, ...],
    trace: str | None,
    sample: bool,
    params: str | None,
    connection: str | None,
) -> int:
    """Really call an evaluator, and show the rows it would store; nothing is stored."""
    from rejudge.api.trying import try_evaluator

    if sum((bool(sessions), trace is not None, sample)) != 1:
        raise UsageError("say on what to try it", mend="use exactly one of --session, --trace, --sample")
    given = _params(params)
    spec, wires = _target(target), _wires(sessions, trace)
    printed: list[str] = []
    outcomes = try_evaluator(spec, wires, params=given, connection=connection, printed=printed.append)
    names = [str(wire.facts.get("number") or wire.facts.get("external_id") or "sample") for wire in wires]
    if output.as_json:
        items = [{"session": name, **_facts(one)} for name, one in zip(names, outcomes, strict=True)]
        output.document({"items": items, "count": len(items)})
    else:
        _show(output, names, outcomes)
    for line in "".join(printed).splitlines():
        output.note(f"it printed: {line}")
    return 0 if all(outcome.status == "scored" for outcome in outcomes) else PartialFailure.exit_code


def _target(target: str) -> EvaluatorSpec:
    from rejudge.api.trying import target_spec

    spec = target_spec(target)
    if spec is not None:
        return spec
    with opened() as store:
        return store.evaluators.get(target)


def _wires(sessions: Sequence[str], trace: str | None) -> list[WireSession]:
    from rejudge.models.wire import wire_of

    if sessions:
        from rejudge.store.reading import load_stored

        with opened() as store:
            return load_stored(store.database, [one.id for one in store.sessions.list(ids=list(sessions))])
    if trace is None:
        from rejudge.scoring.sample import sample_session

        return [wire_of(sample_session())]
    return [wire_of(view) for view in _views(trace)]


def _views(trace: str) -> list[SessionView]:
    from rejudge.otel import Assembler, Options, Refusal, read

    refused: list[Refusal] = []
    with Assembler(Options()) as assembler:
        for batch in read([trace], refuse=refused.append):
            assembler.add(batch)
        views = [recording.view for recording in assembler.recordings()]
    if not views:
        raise UsageError(f"no session in {trace}: {refused[0] if refused else 'it holds no span'}")
    return views


def _params(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"--params is no JSON: {error}", mend="write --params '{\"x\": 1}'") from error
    if not isinstance(value, dict):
        raise UsageError("--params is no JSON object", mend="write --params '{\"x\": 1}'")
    return value


def _facts(outcome: ScoringOutcome) -> dict[str, Any]:
    return {
        "status": outcome.status,
        "error": outcome.error,
        "duration_seconds": outcome.duration_seconds,
        "results": [{**dict(row), "data_type": row.data_type} for row in _rows(outcome)],
    }


def _rows(outcome: ScoringOutcome) -> list[EvaluationResult]:
    from rejudge.models.evaluation import EvaluationResult

    return [EvaluationResult(**result) for result in outcome.results]


def _show(output: Output, names: Sequence[str], outcomes: Sequence[ScoringOutcome]) -> None:
    lines: list[tuple[object, ...]] = []
    for name, outcome in zip(names, outcomes, strict=True):
        if not outcome.results:
            lines.append((name, outcome.status, None, None, None, None, what_failed(outcome.error)))
        for row in _rows(outcome):
            why = row.explanation or row.unscored
            lines.append((name, outcome.status, row.name, row.data_type, said(row), row.passed, why))
    table(lines, ("session", "status", "result", "type", "score", "passed", "why"))
    whole = dict.fromkeys(one.error for one in outcomes if one.error and len(one.error.splitlines()) > 1)
    for error in whole:
        for line in error.splitlines():
            output.note(line)
