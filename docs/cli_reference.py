"""Writes docs/cli.md from the commands themselves.

python docs/cli_reference.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from rejudge.cli.program import rejudge

PAGE: Final = Path(__file__).with_name("cli.md")

_HEAD = """# Commands

Written by `python docs/cli_reference.py` out of `--help`. Every command takes `--json`, which puts its result on
stdout as JSON and an error as JSON on stderr. What the exit codes mean is [below](#exit-codes).
"""

_EXIT_CODES = """## Exit codes

| code | means |
|---|---|
| 0 | done |
| 1 | a gate's rule failed |
| 2 | usage or configuration |
| 3 | inconclusive or incomplete |
| 4 | not found, or nothing matched |
| 5 | conflict |
| 8 | done in part: something failed (the machine, a server or rejudge itself, too); the rest is stored |
| 130 | interrupted |
"""


def commands() -> list[tuple[str, click.Context]]:
    """Every command that does something, by what is typed (``rejudge session import``), with its context."""
    return list(_below(click.Context(rejudge, info_name="rejudge", terminal_width=100, **rejudge.context_settings)))


def _below(context: click.Context) -> Iterator[tuple[str, click.Context]]:
    group = context.command
    assert isinstance(group, click.Group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from _below(inner)
        elif not command.hidden:
            yield inner.command_path, inner


def reference() -> str:
    """The page."""
    found = commands()
    index = "\n".join(f"- [`{typed}`](#{_anchor(typed)}): {_first_line(one.command)}" for typed, one in found)
    return "\n".join([_HEAD, index, "", *(_section(typed, one) for typed, one in found), _EXIT_CODES])


def _section(typed: str, context: click.Context) -> str:
    return f"## `{typed}`\n\n```text\n{context.command.get_help(context).rstrip()}\n```\n"


def _first_line(command: click.Command) -> str:
    return command.get_short_help_str(limit=200)


def _anchor(typed: str) -> str:
    return typed.replace(" ", "-")


if __name__ == "__main__":
    PAGE.write_text(reference(), "utf-8")
