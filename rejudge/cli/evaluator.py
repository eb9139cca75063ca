"""`rejudge evaluator`: write, try, register, look up."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejudge.cli.groups import NounGroup
from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options, table
from rejudge.errors import Conflict, PartialFailure, UsageError

if TYPE_CHECKING:
    from rejudge.models.session import SessionView
    from rejudge.models.wire import WireSession
    from rejudge.scoring.outcome import ScoringOutcome

_COLUMNS: dict[str, Callable[[Any], object]] = {
    "evaluator": lambda one: f"{one['name']}@{one['number']}" if one["number"] else one["name"],
    "what it says": lambda one: one["description"],
    "mode": lambda one: one["mode"],
    "from": lambda one: one["entrypoint"],
    "fingerprint": lambda one: one["fingerprint"][:12] if one["fingerprint"] else None,
}


@click.group(cls=NounGroup)
def evaluator() -> None:
    """What judges a session: write one, try it, register it."""


@evaluator.command()
@click.argument("name", metavar="NAME")
@click.option("--file", "file", type=click.Path(path_type=Path), metavar="FILE", help="Instead of NAME.py here.")
@output_options
def scaffold(output: Output, *, name: str, file: Path | None) -> None:
    """Write an evaluator to start from: it runs as it is."""
    from rejudge.scoring.scaffold import file_name
    from rejudge.scoring.scaffold import scaffold as scaffolded

    path = file or Path(file_name(name))
    text = scaffolded(name)
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError as error:
        raise Conflict(f"{path} is there already", mend="name another with --file, or remove it") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", mend="name another with --file") from error
    output.result({"file": str(path), "name": name}, f"wrote {path}; try it: rejudge evaluator test {path} --sample")


@evaluator.command()
@click.argument("target", metavar="FILE|MODULE:ATTRIBUTE|NAME@V")
@click.option("--session", "sessions", multiple=True, metavar="SESSION", help="A stored session. Repeat for several.")
@click.option("--trace", metavar="FILE", help="The sessions of a trace file, which is not imported.")
@click.option("--sample", is_flag=True, help="A small made-up session.")
@click.option("--params", metavar="JSON", help="Its params, as a JSON object.")
@output_options
def test(
    output: Output, *, target: str, sessions: tuple[str, ...], trace: str | None, sample: bool, params: str | None
) -> int:
    """Really call an evaluator, and show the rows it would store; nothing is stored."""
    if sum((bool(sessions), trace is not None, sample)) != 1:
        raise UsageError("say on what to try it", mend="use exactly one of --session, --trace, --sample")
    given = _params(params)
    with opened() as store:
        wires = _wires(store, sessions, trace)
        outcomes = store.evaluators.test(target, sessions=wires, params=given)
    rows = [
        {"session": str(wire.facts.get("number") or wire.facts.get("external_id") or "sample"), **_outcome(outcome)}
        for wire, outcome in zip(wires, outcomes, strict=True)
    ]
    if output.as_json:
        output.document({"items": rows, "count": len(rows)})
    else:
        _show_outcomes(rows)
    return 0 if all(outcome.status == "scored" for outcome in outcomes) else PartialFailure.exit_code


@evaluator.command()
@click.argument("name", metavar="NAME")
@click.option("--script", metavar="FILE[:FUNCTION]", help="A Python file; it is stored whole.")
@click.option("--package", metavar="MODULE:ATTRIBUTE", help="A callable of an installed package.")
@output_options
def register(output: Output, *, name: str, script: str | None, package: str | None) -> None:
    """Register an evaluator: unchanged content is the same version, changed content the next one."""
    with opened() as store:
        made = store.evaluators.register(name, script=script, package=package)
    version = made.version
    reference = f"{version.name}@{version.number}"
    document = {
        "name": version.name,
        "number": version.number,
        "reference": reference,
        "fingerprint": version.fingerprint,
        "created": made.created,
        "changes": list(made.changes),
    }
    said = f"registered {reference}" if made.created else f"{reference} is unchanged"
    output.result(document, said)
    for change in made.changes:
        output.note(f"  {change}")


@evaluator.command("list")
@click.option("--available", is_flag=True, help="What installed packages offer, to be registered.")
@click.option("--deleted", is_flag=True, help="Deleted ones too.")
@output_options
def list_(output: Output, *, available: bool, deleted: bool) -> None:
    """List the built-in and the registered evaluators."""
    if available:
        from rejudge.scoring.built_in import available as offered

        columns = {"name": _field("name"), "package": _field("distribution"), "register with": _register_line}
        output.items(offered(), columns)
        return
    from rejudge.evaluators.catalog import CATALOG

    rows = [
        {
            "name": name,
            "number": None,
            "description": entry.description,
            "mode": entry.mode,
            "entrypoint": entry.entrypoint,
            "fingerprint": None,
            "built_in": True,
            "deleted": False,
        }
        for name, entry in CATALOG.items()
    ]
    with opened() as store:
        registered = store.evaluators.list(deleted=deleted)
    rows += [_version(one) for one in registered if not one.name.startswith("rejudge/")]
    output.items(rows, _COLUMNS)


@evaluator.command()
@click.argument("reference", metavar="NAME@V")
@output_options
def show(output: Output, *, reference: str) -> None:
    """Show one version: its params, its limits, where it came from."""
    with opened() as store:
        spec = store.evaluators.get(reference)
    if output.as_json:
        output.document(spec.model_dump(mode="json"))
        return
    lines = (
        ("evaluator", spec.reference),
        ("what it says", spec.description or None),
        ("from", spec.entrypoint),
        ("mode", spec.mode),
        ("time limit", f"{spec.time_limit:g} s"),
        ("memory limit", f"{spec.memory_limit // 1024**2:,} MiB"),
        ("fingerprint", spec.fingerprint),
        ("dependencies", spec.dependencies),
        ("params", json.dumps(spec.parameter_schema)),
    )
    output.item(spec, lines)


@evaluator.command()
@click.argument("name", metavar="NAME")
@output_options
def delete(output: Output, *, name: str) -> None:
    """Hide an evaluator from listing and use; every row it made stays."""
    with opened() as store:
        store.evaluators.delete(name)
    output.result({"name": name, "deleted": True}, f"deleted {name}; its rows stay")


def _wires(store: Any, sessions: Sequence[str], trace: str | None) -> list[WireSession]:
    from rejudge.models.wire import wire_of

    if sessions:
        from rejudge.store.reading import load_stored

        return load_stored(store.database, [one.id for one in store.sessions.list(ids=list(sessions))])
    if trace is None:
        from rejudge.scoring.sample import sample_session

        return [wire_of(sample_session())]
    return [wire_of(view) for view in _views(trace)]


def _views(trace: str) -> list[SessionView]:
    from rejudge.otel import Assembler, Options, Refusal, read

    refused: list[Refusal] = []
    assembler = Assembler(Options())
    for batch in read([trace], refuse=refused.append):
        assembler.add(batch)
    views = [recording.view for recording in assembler.recordings(lambda *_: ())]
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


def _outcome(outcome: ScoringOutcome) -> dict[str, Any]:
    return {
        "status": outcome.status,
        "error": outcome.error,
        "duration_seconds": outcome.duration_seconds,
        "results": list(outcome.results),
    }


def _show_outcomes(rows: Sequence[dict[str, Any]]) -> None:
    lines = []
    for row in rows:
        for result in row["results"] or [{}]:
            shown = result.get("value") if result.get("score") is None else result.get("score")
            why = row["error"] or result.get("explanation") or result.get("unscored")
            lines.append((row["session"], row["status"], result.get("name"), shown, result.get("passed"), why))
    table(lines, ("session", "status", "result", "score", "passed", "why"))


def _version(one: Any) -> dict[str, Any]:
    return {
        "name": one.name,
        "number": one.number,
        "description": one.spec.get("description") or None,
        "mode": one.spec.get("mode"),
        "entrypoint": one.spec.get("entrypoint"),
        "fingerprint": one.fingerprint,
        "built_in": False,
        "deleted": one.deleted,
    }


def _field(name: str) -> Callable[[Any], object]:
    return lambda one: getattr(one, name)


def _register_line(one: Any) -> str:
    return f"rejudge evaluator register {one.name} --package {one.entrypoint}"
