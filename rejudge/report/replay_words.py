"""A replay's fidelity in words: the same on the terminal and on its page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_SOURCES: Final = {"history": "from the tape", "static": "written", "llm": "made up by a model", "live": "live"}


def tools_line(fidelity: Mapping[str, Any]) -> str | None:
    """How the calls of tools were answered: ``6 from the tape, 1 live``; None where there were none."""
    return _answers({name: fidelity.get(name) for name in _SOURCES})


def models_line(fidelity: Mapping[str, Any]) -> str | None:
    """The same for the requests to models."""
    return _answers({name: fidelity.get(f"model_{name}") for name in ("history", "live")})


def fidelity_line(fidelity: Mapping[str, Any]) -> str | None:
    """The share that the tape answered, and what equals the baseline; None where nothing is known."""
    if not fidelity:
        return None
    ratio = fidelity.get("ratio")
    told = [] if ratio is None else [f"{ratio:.0%} of the calls from the tape"]
    for name, what in (("tools", "tools"), ("requests", "model requests"), ("output", "output")):
        told.append(f"{'the same' if fidelity.get(f'{name}_equal') else 'other'} {what}")
    return ", ".join(told)


def _answers(counts: Mapping[str, Any]) -> str | None:
    return ", ".join(f"{count} {_SOURCES[name]}" for name, count in counts.items() if count) or None
