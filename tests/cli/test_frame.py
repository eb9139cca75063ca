"""What every command has in common."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from rejudge.cli.program import rejudge
from tests.cli.program import Program

ROOT = Path(__file__).parents[2]


def commands(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        below = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from commands(command, below)
        else:
            yield below.command_path, command


ALL = list(commands(rejudge, click.Context(rejudge, info_name="rejudge")))


@pytest.mark.parametrize(("path", "command"), ALL, ids=[path for path, _ in ALL])
def test_every_command_has_json_quiet_and_a_sentence_of_help(path: str, command: click.Command) -> None:
    options = {option for parameter in command.params for option in parameter.opts}
    assert {"--json", "--quiet"} <= options
    assert command.get_short_help_str()
    undocumented = [one.name for one in command.params if isinstance(one, click.Option) and not one.help]
    assert undocumented == []


@pytest.mark.parametrize(
    ("words", "right"),
    [
        (["sesion", "list"], "rejudge session"),
        (["session", "evalute"], "rejudge session evaluate"),
        (["session", "list", "--taag", "x"], "--tag"),
        (["session", "evaluate", "--all", "--evaluators", "a@1"], "--evaluator"),
        (["experiment", "run", "x", "--cohrt", "y@1"], "--cohort"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else words,
)
def test_a_wrong_word_is_answered_with_the_right_one(program: Program, words: list[str], right: str) -> None:
    ended = program(*words)
    assert (ended.code, ended.out) == (2, "")
    what, mend = ended.err.splitlines()
    assert what.startswith("error: ") and right in mend


def test_with_json_errors_are_json_on_stderr(program: Program) -> None:
    ended = program("session", "list", "--json", "--nope")
    told = json.loads(ended.err)
    assert (ended.code, ended.out, told["exit_code"]) == (2, "", 2)
    assert "--nope" in told["error"] and told["mend"]


def test_a_group_alone_shows_its_commands(program: Program) -> None:
    ended = program("cohort")
    assert ended.code == 2 and "version" in ended.err


def test_help_costs_little() -> None:
    """The budget is 250 ms of processor time; on a slow machine, five times what importing click takes."""
    assert least_cost("-m", "rejudge.cli", "--help") < max(0.25, 5 * least_cost("-c", "import click"))


def least_cost(*arguments: str) -> float:
    """Seconds of processor time, the least of three tries: others use the machine too."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    spent = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(spent)


def test_help_imports_none_of_the_heavy_ones() -> None:
    heavy = "('prefect', 'pydantic', 'sqlalchemy', 'sqlmodel', 'numpy', 'httpx', 'rich')"
    script = (
        "import sys; from rejudge.cli import main\n"
        "try: main(['--help'])\n"
        f"finally: print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr.strip() == "[]"


def test_a_reader_that_goes_away_is_no_error(five: Program, tmp_path: Path) -> None:
    line = f"{sys.executable} -m rejudge.cli session list --json | true"
    script = f"set -o pipefail; {line}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) in ((0, ""), (141, ""))


def test_recorded_text_reaches_a_terminal_harmless(program: Program, tmp_path: Path) -> None:
    from rejudge.models.recording import Recording
    from rejudge.models.session import Session, SessionView
    from rejudge.store.writing import Placement, save_recordings
    from tests.flows.stored import store_with_sessions

    database = store_with_sessions(tmp_path / ".rejudge" / "rejudge.db", 1)
    hostile = "\x1b]0;owned\x07\x1b[31m[bold]x\u202e\r"
    head = Session(external_id="e", source="s", error=hostile, outputs={"text": hostile}, digest="0" * 64)
    save_recordings(database, [Recording(SessionView(head))], Placement(agent="desk", tags=("[red]t",)))
    database.close()
    for ended in (program("session", "show", "2"), program("session", "list")):
        assert ended.code == 0
        assert not {"\x1b", "\x07", "\r", "\u202e"} & set(ended.out)
    assert "[red]t" in ended.out
