"""Agents from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rejudge.store.agents import (
    AgentSummary,
    AgentVersion,
    find_agent_version,
    list_agent_versions,
    list_agents,
    register_agent,
)
from rejudge.store.engine import Database


class Agents:
    """Programs under test and their versions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def register(
        self,
        name: str,
        *,
        entrypoint: str | None = None,
        command: str | None = None,
        folder: str | Path | None = None,
        environment: Mapping[str, str] | None = None,
        limits: Mapping[str, Any] | None = None,
    ) -> tuple[AgentVersion, bool]:
        """The version of an agent that is run this way with the source it has now, and whether it is new.

        Args:
            entrypoint: ``FILE.py:FUNCTION`` or ``package.module:FUNCTION``.
            command: A shell command, instead.
            folder: The working folder; the current one where None.
            environment: Variables set for it. Stored as they are: no secrets.
            limits: ``timeout_seconds``, ``memory_bytes``, ``output_bytes``.

        Raises:
            UsageError: Where what is to be run cannot be found: the file, or the function in it.
        """
        from rejudge.replay import agent_digest, agent_spec, require_entrypoint

        spec = agent_spec(
            entrypoint=entrypoint, command=command, folder=folder, environment=environment, limits=limits
        )
        require_entrypoint(spec)
        return register_agent(self._database, name, agent_digest(spec), spec.model_dump(mode="json"))

    def get(self, reference: str) -> AgentVersion:
        """The version that ``name@3``, ``name@latest`` or a bare name stands for."""
        return find_agent_version(self._database, reference)

    def list(self) -> list[AgentSummary]:
        """Every agent, by name."""
        return list_agents(self._database)

    def versions(self, name: str) -> Sequence[AgentVersion]:
        """Every version of an agent, oldest first."""
        return list_agent_versions(self._database, name)
