"""Tags on the command line: what is put on a session can be read, and typed again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.program import Program

TRACE = str(Path(__file__).parents[2] / "examples" / "traces" / "vercel-ai-sdk.json")
WRONG = pytest.mark.parametrize(
    "tag",
    ["", " ", "\x1b[31mred", "two\nlines", "hidden\u200b", "x" * 256],
    ids=["empty", "blank", "escape", "lines", "hidden", "long"],
)
WAYS = {
    "import": ("session", "import", TRACE, "--agent", "desk", "--tag"),
    "receive": ("receive", "--agent", "desk", "--port", "0", "--tag"),
    "tag": ("session", "tag", "--all", "--add"),
}


@WRONG
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_a_tag_that_cannot_be_typed_again_is_refused(five: Program, way: tuple[str, ...], tag: str) -> None:
    ended = five(*way, tag)
    assert ended.code == 2 and "is not allowed\n  use 1-255 characters" in ended.err
    rows = five("session", "list", "--json").document["items"]
    assert [row["tags"] for row in rows] == [[]] * 5


@pytest.mark.parametrize("tag", ["monday", "release 41", "größe", "a,b", "=1"])
def test_any_other_tag_finds_its_sessions(five: Program, tag: str) -> None:
    assert five("session", "import", TRACE, "--agent", "desk", "--tag", tag).code == 0
    assert five("session", "list", "--tag", tag, "--json").document["count"] == 1
