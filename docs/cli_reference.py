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
| 8 | done in part: something failed, the rest is stored |
| 130 | interrupted |
"""


def commands(
    group: click.Group = rejudge, path: tuple[str, ...] = ("rejudge",)
) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by what is typed: ``rejudge session import``."""
    context = click.Context(group, info_name=path[-1])
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        elif not command.hidden:
            yield " ".join((*path, name)), command


def reference() -> str:
    """The page."""
    found = list(commands())
    index = "\n".join(f"- [`{typed}`](#{_anchor(typed)}): {_first_line(command)}" for typed, command in found)
    return "\n".join([_HEAD, index, "", *(_section(typed, command) for typed, command in found), _EXIT_CODES])


def _section(typed: str, command: click.Command) -> str:
    context = click.Context(rejudge, info_name="rejudge", **rejudge.context_settings, terminal_width=100)
    for word in typed.split()[1:]:
        context = click.Context(command, info_name=word, parent=context)
    return f"## `{typed}`\n\n```text\n{command.get_help(context).rstrip()}\n```\n"


def _first_line(command: click.Command) -> str:
    return command.get_short_help_str(limit=200)


def _anchor(typed: str) -> str:
    return typed.replace(" ", "-")


if __name__ == "__main__":
    PAGE.write_text(reference(), "utf-8")
