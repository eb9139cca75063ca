"""Reading a gate from TOML, whole and strictly, before anything runs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rejudge.errors import NotFound, UsageError
from rejudge.models.gate import Gate, Rule


def load_gate(path: Path) -> Gate:
    """The gate in a TOML file: its ``[gate]``, or ``[tool.rejudge.gate]`` in a ``pyproject.toml``.

    Raises:
        NotFound: Where there is no such file.
        UsageError: Where it holds no gate, or one that cannot be judged.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotFound(f"there is no gate file {str(path)!r}", mend="name the TOML file that holds [gate]") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error}", mend="give a TOML file in UTF-8") from error
    return parse_gate(text, source=str(path))


def parse_gate(text: str, *, source: str = "gate") -> Gate:
    """The gate in TOML text.

    Raises:
        UsageError: With the place and what is wrong with it.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source}: {error}", mend="correct the TOML") from error
    table = _table(document, source)
    try:
        return Gate.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{source}: {_place(first['loc'])}{_what(first)}", mend=_mend(first)) from error


def with_versions(gate: Gate, versions: Mapping[str, int]) -> Gate:
    """The gate with every ``@latest`` replaced.

    Args:
        versions: By evaluator name, what ``latest`` is.

    Raises:
        NotFound: For an evaluator that has no version.
    """
    return gate.model_copy(update={"rule": tuple(_with_version(rule, versions) for rule in gate.rule)})


def _with_version(rule: Rule, versions: Mapping[str, int]) -> Rule:
    name, _, version = rule.evaluator.rpartition("@")
    if version != "latest":
        return rule
    if name not in versions:
        raise NotFound(f"the gate names {name!r}, which is not registered", mend="register the evaluator first")
    return rule.model_copy(update={"metric": rule.metric.replace("@latest", f"@{versions[name]}", 1)})


def _table(document: Mapping[str, Any], source: str) -> Mapping[str, Any]:
    tool = document.get("tool")
    rejudge = tool.get("rejudge") if isinstance(tool, dict) else None
    found = document.get("gate", rejudge.get("gate") if isinstance(rejudge, dict) else None)
    if not isinstance(found, dict):
        raise UsageError(f"{source} holds no [gate]", mend="write [gate] with one [[gate.rule]] or more")
    return found


def _place(place: tuple[int | str, ...]) -> str:
    """``rule 2, margin: `` for what pydantic calls ("rule", 1, "margin")."""
    words = [f"{one + 1}" if isinstance(one, int) else str(one).replace("_", "-") for one in place]
    return ", ".join(words).replace("rule, ", "rule ", 1) + ": " if words else ""


def _what(error: Mapping[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        return "there is no such option"
    message = str(error["msg"])
    return message.removeprefix("Value error, ")


def _mend(error: Mapping[str, Any]) -> str:
    if error["type"] == "extra_forbidden" and error["loc"]:
        fields = Rule.model_fields if "rule" in error["loc"][:1] and len(error["loc"]) > 1 else Gate.model_fields
        return "a gate takes " + ", ".join(sorted(name.replace("_", "-") for name in fields))
    return "correct the gate; nothing was run"
