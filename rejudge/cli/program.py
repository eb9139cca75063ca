"""The program: its nouns, and how a command ends."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import click

from rejudge import __version__
from rejudge.cli.groups import LazyGroup
from rejudge.errors import RejudgeError, UsageError

INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141

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
        # Nobody reads on; Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except SystemExit:
        # How click ends when a pipe closes; its code 1 would say that a gate's rule failed.
        return PIPE_CLOSED
    return code if isinstance(code, int) else 0


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
