"""From what was asked for to what can be run: evaluator references and params, resolved and checked."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from rejudge.errors import NotFound, UsageError
from rejudge.evaluators.catalog import CATALOG
from rejudge.models.requests import EvaluatorChoice
from rejudge.scoring.batch import Judge
from rejudge.scoring.built_in import built_in_spec
from rejudge.scoring.outcome import Assignment
from rejudge.scoring.params import checked_params, params_digest
from rejudge.scoring.version import RESERVED, EvaluatorSpec, parse_reference
from rejudge.store.engine import Database
from rejudge.store.evaluators import find_evaluator_version, list_evaluator_versions, register_evaluator
from rejudge.store.scorings import Requested
from rejudge.tasks.connections import ConnectionElsewhere, connection_of


def find_judges(database: Database, choices: Sequence[EvaluatorChoice], *, ask_prefect: bool = False) -> list[Judge]:
    """The evaluator versions of a request, with their params as they will stand on the rows.

    Args:
        ask_prefect: Whether connections may be looked up at Prefect's server; else those are left to the flow.

    Raises:
        NotFound: Where an evaluator or a version of it is not there.
        UsageError: Where params or a connection do not fit, or the same is asked for twice.
    """
    return [_judge(database, choice, ask_prefect=ask_prefect) for choice in choices]


def pinned(choices: Sequence[EvaluatorChoice], judges: Sequence[Judge]) -> tuple[EvaluatorChoice, ...]:
    """The choices with ``latest`` replaced by the number that it was."""
    return tuple(
        choice.model_copy(update={"evaluator": judge.requested.reference})
        for choice, judge in zip(choices, judges, strict=True)
    )


def find_spec(database: Database, reference: str) -> EvaluatorSpec:
    """The version behind ``name@3``, ``name@latest`` or a bare name, ready to run."""
    name, number = parse_reference(reference, bare_means_latest=True)
    if name.startswith(f"{RESERVED}/"):
        return _built_in(database, name, number)
    found = find_evaluator_version(database, reference, bare=True)
    return EvaluatorSpec.stored(found.spec, name=found.name, number=found.number, fingerprint=found.fingerprint)


def _judge(database: Database, choice: EvaluatorChoice, *, ask_prefect: bool) -> Judge:
    spec = find_spec(database, choice.evaluator)
    params = judged_params(spec, choice.params)
    requested = Requested(spec.name, spec.number, spec.fingerprint, params, params_digest(spec, params))
    try:
        variables = connection_of(with_needs(spec, params), choice.connection, ask_prefect=ask_prefect)
    except ConnectionElsewhere:
        variables = {}
    return Judge(requested, Assignment(spec, params, variables), choice.connection)


def judged_params(spec: EvaluatorSpec, params: Mapping[str, Any]) -> dict[str, Any]:
    """The params as they stand on rows; files that a built-in evaluator reads stand there by their content.

    Raises:
        UsageError: Where they do not fit, or a file cannot be read. Rules between params are the evaluator's own, and
            checked in its own process: see `WorkerPool.check`.
    """
    pin = getattr(_installed(spec), "pin_params", None)
    try:
        return checked_params(spec, params if pin is None else pin(params))
    except ValueError as error:
        raise UsageError(f"params of {spec.reference}: {error}") from error


def with_needs(spec: EvaluatorSpec, params: Mapping[str, Any]) -> EvaluatorSpec:
    """The version with the connection that it needs under these params, where that depends on them."""
    required = getattr(_installed(spec), "required_fields", None)
    if required is None or spec.connection_schema is None:
        return spec
    schema = {**spec.connection_schema, "required": list(required(params))}
    return spec.model_copy(update={"connection_schema": schema})


def _installed(spec: EvaluatorSpec) -> ModuleType | None:
    """The module of a built-in evaluator; None for a user's."""
    if spec.kind != "package" or not spec.name.startswith(f"{RESERVED}/"):
        return None
    return import_module(spec.file)


def _built_in(database: Database, name: str, number: int | None) -> EvaluatorSpec:
    """The installed version of a built-in evaluator; its number counts the contents that this database has seen."""
    entry = CATALOG.get(name)
    if entry is None:
        near = difflib.get_close_matches(name, CATALOG, n=1)
        mend = f"did you mean {near[0]}@latest?" if near else "list them: rejudge evaluator list"
        raise NotFound(f"there is no built-in evaluator {name!r}", mend=mend)
    spec = built_in_spec(name, entry.entrypoint, description=entry.description, mode=entry.mode)
    known = list_evaluator_versions(database, name, deleted=True)
    here = next((one for one in known if one.fingerprint == spec.fingerprint), None)
    if here is None:
        here, _ = register_evaluator(database, name, spec.fingerprint, spec.model_dump(mode="json"))
    if number is not None and number != here.number:
        raise UsageError(
            f"{name}@{number} is not installed: this rejudge holds {name}@{here.number}",
            mend=f"name {name}@latest, or install the rejudge that had it",
        )
    return spec.numbered(name, here.number)
