"""The program: its nouns, and how a command ends."""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import click

from rejudge import __version__, settings
from rejudge.cli.groups import LazyGroup
from rejudge.errors import PartialFailure, RejudgeError, UsageError

INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141

_OF_THE_MACHINE: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE, errno.ENFILE}
)
"""A full disk and its like: a sentence says all, and where in the code it happened says nothing."""

NOUNS: Final = {
    "session": "rejudge.cli.session:session",
    "evaluator": "rejudge.cli.evaluator:evaluator",
    "evaluation": "rejudge.cli.evaluation:evaluation",
    "scoring": "rejudge.cli.evaluation:scoring",
    "label": "rejudge.cli.label:label",
    "agent": "rejudge.cli.agent:agent",
    "cohort": "rejudge.cli.cohort:cohort",
    "replay": "rejudge.cli.replay:replay",
    "experiment": "rejudge.cli.experiment:experiment",
    "receive": "rejudge.cli.receive:receive",
    "db": "rejudge.cli.db:db",
    "up": "rejudge.cli.up:up",
    "down": "rejudge.cli.up:down",
}
"""Where each noun's commands live."""


@click.group(
    cls=LazyGroup,
    homes=NOUNS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done; 1 a gate's rule failed; 2 usage or configuration; 3 inconclusive or "
    "incomplete; 4 not found, or nothing matched; 5 conflict; 8 done in part; 130 interrupted.",
)
@click.version_option(__version__, message="rejudge %(version)s")
def rejudge() -> None:
    """Turn recorded agent runs into tests.

    Import traces as sessions, judge every session with versioned evaluators, fork and replay them
    against a change, and gate on the difference.
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the program and end the process with the exit code that says how it went."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Importing makes a million objects that stay: looking through them again and again is an eighth of its time.
    gc.disable()
    gc.set_threshold(50_000, 20, 100)
    settings.reach_this_machine()
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # Recorded text may hold what the terminal's encoding cannot.
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    code = _run(given)
    gc.freeze()  # or Python looks through all of them once more before it ends
    gc.enable()
    sys.exit(code)


def _run(given: list[str]) -> int:
    try:
        code = rejudge.main(given, prog_name="rejudge", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return UsageError.exit_code
    except click.ClickException as error:
        return _refuse(_usage_error(error), given)
    except RejudgeError as error:
        return _refuse(error, given)
    except (click.Abort, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _write_no_more()
        return PIPE_CLOSED
    except SystemExit:
        # How click ends when a pipe closes; its code 1 would say that a gate's rule failed.
        return PIPE_CLOSED
    except Exception as error:
        # Left to Python this would be exit code 1: that a gate's rule failed.
        return _refuse(_unforeseen(error, given), given)
    return code if isinstance(code, int) else 0


def _unforeseen(error: Exception, given: list[str]) -> PartialFailure:
    """What nobody made a sentence of; where it is no matter of the machine, where it happened is told first."""
    try:
        sys.stdout.flush()
    except OSError:
        _write_no_more()
    if isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
        where = f": {error.filename!r}" if error.filename else ""
        return PartialFailure(
            f"{error.strerror}{where}", mend="see to that, and run it again; what was stored is whole"
        )
    message = f"rejudge itself failed: {type(error).__name__}: {error}"
    if "--json" in given:
        return PartialFailure(message, mend="report it; without --json it says where it happened")
    import traceback

    from rejudge.models.safe_text import plain

    print(plain("".join(traceback.format_exception(error))), file=sys.stderr)
    return PartialFailure(message, mend="report it, with the lines above; what was stored is whole")


def _write_no_more() -> None:
    """Nobody takes what is written to stdout; Python would complain once more when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_closed_streams() -> None:
    """A stream that the caller closed (``>&-``) takes everything and keeps nothing."""
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 -- open until the process ends
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 -- open until the process ends


def _refuse(error: RejudgeError, given: list[str]) -> int:
    """Say on stderr what was wrong and what mends it: two lines, or one of JSON."""
    if "--json" in given:
        import json

        body = {"error": error.message, "mend": error.mend, "exit_code": error.exit_code}
        print(json.dumps(body), file=sys.stderr)
        return error.exit_code
    from rejudge.cli.output import plain

    print(f"error: {plain(error.message)}", file=sys.stderr)
    if error.mend:
        print(f"  {plain(error.mend)}", file=sys.stderr)
    return error.exit_code


def _usage_error(error: click.ClickException) -> UsageError:
    message = error.message.strip().rstrip(".") if error.message else error.format_message()
    path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "rejudge"
    mend = f"see `{path} --help`"
    if isinstance(error, click.NoSuchOption):
        message = f"no such option {error.option_name!r}"
        if error.possibilities:
            mend = f"did you mean {' or '.join(error.possibilities)}? {mend}"
    elif isinstance(error, click.BadParameter):
        message = error.format_message().rstrip(".")
    return UsageError(message[:1].lower() + message[1:], mend=mend)
