"""`rejudge evaluator`: write, try, register, look up."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rejudge.cli.evaluator_test import test
from rejudge.cli.groups import NounGroup
from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options
from rejudge.errors import Conflict, UsageError

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
    made = False
    try:
        with path.open("x", encoding="utf-8") as stream:
            made = True
            stream.write(text)
    except FileExistsError as error:
        raise Conflict(f"{path} is there already", mend="name another with --file, or remove it") from error
    except OSError as error:
        if made:
            path.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {error.strerror}", mend="name another with --file") from error
    output.result({"file": str(path), "name": name}, f"wrote {path}; try it: rejudge evaluator test {path} --sample")


evaluator.add_command(test)


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
        "latest": made.latest,
        "restored": made.restored,
    }
    said = f"registered {reference}" if made.created else f"{reference} is unchanged"
    if made.restored:
        said = f"{reference} is unchanged; what was stored of it had been damaged, and is right again"
    output.result(document, said, *(f"  {change}" for change in made.changes))
    if made.latest != version.number:
        output.note(f"{version.name}@latest is still {version.name}@{made.latest}")


@evaluator.command("list")
@click.option("--available", is_flag=True, help="What installed packages offer, to be registered.")
@click.option("--deleted", is_flag=True, help="Deleted ones too.")
@output_options
def list_(output: Output, *, available: bool, deleted: bool) -> None:
    """List the built-in and the registered evaluators."""
    if available:
        from rejudge.scoring.built_in import available as offered

        columns = {
            "name": _field("name"),
            "package": _field("distribution"),
            "version": _field("version"),
            "register with": _register_line,
        }
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
        ("provider", spec.provider),
        ("connection", json.dumps(spec.connection_schema) if spec.connection_schema else None),
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
    from rejudge.api.evaluators import check_evaluator_name

    try:
        check_evaluator_name(one.name)
    except UsageError:
        return f"rejudge evaluator register NAME --package {one.entrypoint}"
    return f"rejudge evaluator register {one.name} --package {one.entrypoint}"
