"""The one way of saying which sessions: the same options on every command that takes them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejudge.cli.importing import import_models
from rejudge.errors import UsageError

if TYPE_CHECKING:
    from rejudge.models.selection import Selection

_WAYS = "SESSION…, --sessions-file, --tag, --agent, --cohort, --filter or --all"


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the options that name sessions; it is called with ``selection=``, a function that reads them.

    A function, because reading them imports the models, and a command may have more to refuse first.
    """

    @click.argument("sessions", nargs=-1, metavar="[SESSION]...")
    @click.option("--sessions-file", metavar="FILE", help="A file with one session a line; - is stdin.")
    @click.option("--tag", metavar="TAG", help="Sessions with this tag.")
    @click.option("--agent", metavar="NAME", help="Sessions of this agent.")
    @click.option("--cohort", metavar="NAME@V", help="The sessions of a cohort version.")
    @click.option("--filter", "expression", metavar="EXPR", help="Sessions that fit, such as 'cost > 0.1'.")
    @click.option("--all", "everything", is_flag=True, help="All sessions.")
    @functools.wraps(command)
    def with_selection(
        *args: Any,
        sessions: tuple[str, ...],
        sessions_file: str | None,
        tag: str | None,
        agent: str | None,
        cohort: str | None,
        expression: str | None,
        everything: bool,
        **kwargs: Any,
    ) -> Any:
        def selection() -> Selection | None:
            ids = sessions + _from_file(sessions_file)
            if sessions_file is not None and not ids:
                raise UsageError(f"{sessions_file} names no session", mend="write one session a line")
            if sessions_file is not None and sessions:
                raise UsageError("sessions are named both here and in a file", mend=f"use exactly one of {_WAYS}")
            return _selection(ids, tag=tag, agent=agent, cohort=cohort, filter=expression, all=everything)

        return command(*args, selection=selection, **kwargs)

    return with_selection


def required(selection: Selection | None) -> Selection:
    """The selection itself.

    Raises:
        UsageError: Where none was given.
    """
    if selection is None:
        raise UsageError("no sessions are named", mend=f"use exactly one of {_WAYS}")
    return selection


def _selection(ids: tuple[str, ...], **ways: Any) -> Selection | None:
    given = {name: value for name, value in ways.items() if value not in (None, False)}
    if ids:
        given["ids"] = ids
    if not given:
        return None
    if len(given) > 1:
        raise UsageError(f"sessions are named in {len(given)} ways", mend=f"use exactly one of {_WAYS}")
    twice = sorted({one for one in ids if ids.count(one) > 1}) if len(set(ids)) < len(ids) else []
    if twice:
        raise UsageError(f"session {twice[0]} is named twice", mend="name each session once")
    import_models()
    from rejudge.models.selection import Selection

    return Selection(**given)


def _from_file(name: str | None) -> tuple[str, ...]:
    if name is None:
        return ()
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {name}: {error}", mend="name a text file with one session a line") from error
    lines = (line.strip() for line in text.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))
