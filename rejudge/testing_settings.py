"""What the pytest plugin and `compare` do when a call does not say: command line, environment, pyproject."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from rejudge.errors import UsageError

Mode: TypeAlias = Literal["score", "llm", "fallback"]

MODES: Final[Mapping[str, Mode]] = {"score": "score", "llm": "llm", "fallback": "fallback"}


@dataclass(frozen=True, slots=True)
class TestingSettings:
    """Defaults for comparisons in tests."""

    __test__ = False  # no class of tests, whatever pytest makes of its name

    provider: str = "rejudge"
    mode: Mode = "score"
    threshold: float | None = None
    """None: the provider's own."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the provider."""


def testing_settings(
    folder: Path, environment: Mapping[str, str], *, provider: str | None = None, mode: str | None = None
) -> TestingSettings:
    """The defaults: what is given here, else ``REJUDGE_PROVIDER``, ``REJUDGE_MODE`` and ``REJUDGE_THRESHOLD``, else
    ``provider``, ``mode``, ``threshold`` and ``options`` of ``[tool.rejudge]`` in the folder's pyproject.toml.

    Raises:
        UsageError: For a value that cannot be, with where it stands.
    """
    found = _from_pyproject(folder / "pyproject.toml")
    text = environment.get("REJUDGE_THRESHOLD")
    return replace(
        found,
        provider=provider or environment.get("REJUDGE_PROVIDER") or found.provider,
        mode=_mode(mode or environment.get("REJUDGE_MODE") or found.mode),
        threshold=_threshold(text, "REJUDGE_THRESHOLD") if text else found.threshold,
    )


testing_settings.__test__ = False  # type: ignore[attr-defined]


def _from_pyproject(path: Path) -> TestingSettings:
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return TestingSettings()
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    table = content.get("tool", {}).get("rejudge", {})
    if not isinstance(table, dict):
        raise UsageError(f"[tool.rejudge] in {path} is no table")
    options = table.get("options", {})
    if not isinstance(options, dict):
        raise UsageError(f"options of [tool.rejudge] in {path} is no table")
    threshold = table.get("threshold")
    return TestingSettings(
        provider=str(table.get("provider", "rejudge")),
        mode=_mode(table.get("mode", "score")),
        threshold=None if threshold is None else _threshold(threshold, f"threshold of [tool.rejudge] in {path}"),
        options=options,
    )


def _mode(value: object) -> Mode:
    if value not in MODES:
        raise UsageError(f"mode {value!r} is unknown", mend=f"use {', '.join(MODES)}")
    return MODES[str(value)]


def _threshold(value: object, where: str) -> float:
    try:
        threshold = float(str(value))
    except ValueError:
        threshold = -1
    if not 0 <= threshold <= 1:
        raise UsageError(f"{where} is {value!r}", mend="use a number from 0 to 1")
    return threshold
