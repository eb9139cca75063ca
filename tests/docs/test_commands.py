"""What the docs tell a reader to type is what the program takes."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from rejudge.cli.program import rejudge

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
SHELLS = frozenset({"sh", "bash", "shell", "console"})

_BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_OPERATORS = frozenset({"&&", "||", "|", ";", ">", ">>", "2>", "<"})


def typed_in(page: Path) -> Iterator[list[str]]:
    """Every rejudge command of a page's shell blocks, as its words after ``rejudge``."""
    for language, block in _BLOCK.findall(page.read_text("utf-8")):
        if language in SHELLS:
            for line in lines_of(block, prompted=language == "console"):
                yield from commands_in(line)


def lines_of(block: str, *, prompted: bool) -> Iterator[str]:
    joined = re.sub(r"\\\n\s*(> )?", "", block)
    for line in joined.splitlines():
        if prompted and not line.startswith("$ "):
            continue  # what the command printed
        yield line.removeprefix("$ ").strip()


def commands_in(line: str) -> Iterator[list[str]]:
    words = shlex.split(line, comments=True)
    command: list[str] = []
    for word in [*words, ";"]:
        if word not in _OPERATORS:
            command.append(word)
            continue
        while command and re.fullmatch(r"\w+=.*", command[0]):
            command.pop(0)
        if command[:1] == ["rejudge"]:
            yield command[1:]
        command = []


TYPED = [
    pytest.param(words, id=f"{page.relative_to(ROOT)}: {' '.join(words)[:60]}")
    for page in PAGES
    for words in typed_in(page)
]


@pytest.mark.parametrize("words", TYPED)
def test_a_command_in_the_docs_is_one_that_the_program_takes(words: list[str]) -> None:
    command, context, rest = found(words)
    if command is rejudge and rest in (["--help"], ["--version"]):
        return
    assert not isinstance(command, click.Group) or "--help" in rest, f"{context.command_path} needs a command"
    values, left, _ = command.make_parser(context).parse_args(args=rest)
    assert not left, f"{context.command_path} takes no {left}"
    if "--help" not in rest:
        missing = [one.name for one in command.params if one.required and not values.get(one.name or "")]
        assert not missing, f"{context.command_path} needs {missing}"
    for parameter in command.params:
        check_choice(parameter, values.get(parameter.name or ""), context)


def found(words: list[str]) -> tuple[click.Command, click.Context, list[str]]:
    """The command that the words name, its context, and the words after its name."""
    command: click.Command = rejudge
    context = click.Context(rejudge, info_name="rejudge", **rejudge.context_settings)
    rest = list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        name, following, rest = command.resolve_command(context, rest)
        assert following is not None
        command, context = following, click.Context(following, info_name=name, parent=context)
    return command, context, rest


def check_choice(parameter: click.Parameter, value: object, context: click.Context) -> None:
    if isinstance(parameter.type, click.Choice | click.types.IntParamType | click.types.FloatParamType):
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, str):
                parameter.type.convert(one, parameter, context)


def test_the_page_of_commands_is_what_the_program_says() -> None:
    reference = cli_reference()
    assert reference.PAGE.read_text("utf-8") == reference.reference(), "run: python docs/cli_reference.py"


def test_every_command_is_in_the_docs_beyond_its_reference() -> None:
    prose = "\n".join(page.read_text("utf-8") for page in PAGES if page.name != "cli.md")
    missing = [typed for typed, _ in cli_reference().commands() if typed not in prose]
    assert missing == []


def cli_reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cli_reference", ROOT / "docs" / "cli_reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_links_between_pages_lead_somewhere() -> None:
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []
