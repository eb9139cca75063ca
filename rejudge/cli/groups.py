"""Groups of commands that name the right one, and load only what is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import click

from rejudge.errors import UsageError


class NounGroup(click.Group):
    """A group that answers a wrong command with the right one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("no_args_is_help", True)
        super().__init__(*args, **kwargs)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order they were written: import before show, create before run."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of that name; see `click.Group`."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None and not ctx.resilient_parsing:
            raise UsageError(f"no such command {name!r}", mend=self._mend(ctx, name))
        return super().resolve_command(ctx, args)

    def _mend(self, ctx: click.Context, name: str) -> str:
        close = get_close_matches(name, self.list_commands(ctx), cutoff=0.5)
        if close:
            return f"did you mean `{ctx.command_path} {close[0]}`?"
        return f"one of: {', '.join(self.list_commands(ctx))}; see `{ctx.command_path} --help`"


class LazyGroup(NounGroup):
    """A group whose commands are imported when they are needed.

    Args:
        homes: ``module:attribute`` by command name.
    """

    def __init__(self, *args: Any, homes: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._homes = dict(homes)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the table."""
        return list(self._homes)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now; None where there is none."""
        home = self._homes.get(cmd_name)
        if home is None:
            return None
        module, _, attribute = home.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command
