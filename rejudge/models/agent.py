"""How an agent is run: what an agent version pins."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Limits(BaseModel):
    """What one run of an agent may use."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    timeout_seconds: float = Field(default=300.0, gt=0)
    """Wall-clock seconds; then it is asked to end, and ended."""
    output_bytes: int = Field(default=64 * 1024, ge=0)
    """How much of the start, and of the end, of what it prints is kept; the rest is counted."""
    memory_bytes: int | None = Field(default=None, gt=0)
    """Address space of each of its processes; None = as the machine has it."""


class AgentSpec(BaseModel):
    """One pinned way to run an agent. The same source gives the same spec, and so the same digest."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["function", "command"]
    entrypoint: str
    """``path.py:function``, ``package.module:function``, or the command line."""
    working_folder: str = ""
    """Absolute folder it runs in, and that a relative path is read from."""
    environment: dict[str, str] = {}
    """Variables set for it on top of the inherited ones. Stored as they are: no secrets."""
    source_digest: str = ""
    """Hex SHA-256 over its source and the project-local files that it imports."""
    sources: tuple[str, ...] = ()
    """Those files, relative to the working folder where they are in it."""
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _says_what_to_run(self) -> AgentSpec:
        if not self.entrypoint.strip():
            raise ValueError("an agent needs an entrypoint or a command")
        if self.kind == "function" and ":" not in self.entrypoint:
            raise ValueError(f"entrypoint {self.entrypoint!r} names no function: write FILE.py:FUNCTION")
        return self
