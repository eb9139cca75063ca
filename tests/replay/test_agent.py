"""Agent versions: what makes two of them the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rejudge.errors import UsageError
from rejudge.replay import agent_digest, agent_spec, current_source_digest, require_entrypoint


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose agent imports its own files, an installed package and the standard library."""
    files = {
        "shop/__init__.py": "",
        "shop/agent.py": "import json, pydantic\nfrom . import tools\nfrom shop.text import words\ndef run(i): 1",
        "shop/tools.py": "from shop import deep\ndef look(): ...",
        "shop/text/__init__.py": "",
        "shop/text/words.py": "HELLO = 'hello'",
        "shop/deep.py": "def inner():\n    import lazy\n",
        "lazy.py": "LATE = 1",
        "other.py": "UNUSED = 1",
        "agent.ts": 'import { a } from "./lib/a.js";\nconst b = require("./lib/b");\nimport x from "node:fs";',
        "lib/a.ts": "export const a = 1;",
        "lib/b.js": "module.exports = 1;",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    return tmp_path


PYTHON = {"shop/__init__.py", "shop/agent.py", "shop/tools.py", "shop/deep.py", "lazy.py", "shop/text/__init__.py"}


@pytest.mark.parametrize(
    ("how", "sources"),
    [
        ({"entrypoint": "shop.agent:run"}, PYTHON | {"shop/text/words.py"}),
        ({"entrypoint": "shop/agent.py:run"}, PYTHON | {"shop/text/words.py"}),
        ({"command": "python -m shop.agent --fast"}, PYTHON | {"shop/text/words.py"}),
        ({"command": "python shop/agent.py"}, PYTHON | {"shop/text/words.py"}),
        ({"command": "npx tsx agent.ts"}, {"agent.ts", "lib/a.ts", "lib/b.js"}),
        ({"command": "echo hello"}, set()),
    ],
    ids=lambda value: next(iter(value.values())) if isinstance(value, dict) else "",
)
def test_its_source_is_its_file_and_the_projects_files_that_it_imports(
    project: Path, how: dict[str, str], sources: set[str]
) -> None:
    assert set(agent_spec(folder=project, **how).sources) == sources


@pytest.mark.parametrize(
    ("path", "changes"), [("lazy.py", True), ("shop/text/words.py", True), ("other.py", False)], ids=str
)
def test_changed_source_is_another_version_and_the_same_source_the_same(
    project: Path, path: str, changes: bool
) -> None:
    before = agent_spec(entrypoint="shop.agent:run", folder=project)
    assert agent_digest(before) == agent_digest(agent_spec(entrypoint="shop.agent:run", folder=project))
    (project / path).write_text("CHANGED = True")
    after = agent_spec(entrypoint="shop.agent:run", folder=project)
    assert (agent_digest(before) != agent_digest(after)) is changes
    assert (current_source_digest(before) != before.source_digest) is changes


def test_limits_are_not_part_of_a_version(project: Path) -> None:
    one = agent_spec(entrypoint="shop.agent:run", folder=project)
    other = agent_spec(entrypoint="shop.agent:run", folder=project, limits={"timeout_seconds": 5})
    assert other.limits.timeout_seconds == 5 and agent_digest(one) == agent_digest(other)
    assert agent_digest(one) != agent_digest(
        agent_spec(entrypoint="shop.agent:run", folder=project, environment={"A": "1"})
    )


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({}, "either a function or a command"),
        ({"entrypoint": "a.py:run", "command": "a"}, "either a function or a command"),
        ({"entrypoint": "agent.py"}, "names no function"),
        ({"entrypoint": "nowhere.py:run"}, "no file"),
        ({"entrypoint": "nowhere:run"}, "no module"),
        ({"command": "  "}, "command is empty"),
        ({"command": "echo 'x"}, "cannot be read"),
        ({"command": "echo", "folder": "/nowhere"}, "no folder"),
        ({"command": "echo", "environment": {"OPENAI_API_KEY": "x"}}, "looks like a secret"),
        ({"command": "echo", "limits": {"timeout_seconds": 0}}, "timeout_seconds"),
        ({"command": "echo", "limits": {"seconds": 1}}, "seconds"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_run_is_refused_with_the_reason(project: Path, how: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        agent_spec(**{"folder": project, **how})


@pytest.mark.parametrize(
    "source",
    [
        "async def run(inputs): ...",
        "def make(): ...\nrun = make()",
        "try:\n    from fast import run\nexcept ImportError:\n    def run(inputs): ...",
        "if True:\n    (run, other) = print, None",
        "import shop.tools as run",
        "from shop.agent import *",
        "def start():\n    global run\n    run = print\nstart()",
        "globals()['run'] = print",
        "def __getattr__(name): return print",
        "with open(__file__) as run: ...",
        "class run:\n    def __call__(self, inputs): ...",
    ],
)
def test_a_function_may_come_to_its_name_in_any_way(project: Path, source: str) -> None:
    (project / "way.py").write_text(source)
    for entrypoint in ("way.py:run", "way:run"):
        require_entrypoint(agent_spec(entrypoint=entrypoint, folder=project))


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def rum(inputs): ...\ndef _run(inputs): ...", "no function 'run'.*it has: rum$"),
        ("class Agent:\n    def run(self, inputs): ...", "no function 'run'.*it has: none$"),
        ("def start():\n    run = 1", "no function 'run'.*it has: start$"),
        ("def run(inputs) ...", r"way\.py:1 is no Python: expected ':'.*mend the file"),
    ],
    ids=["mistyped", "method", "local", "broken"],
)
def test_a_function_that_is_not_there_is_told_with_those_that_are(project: Path, source: str, says: str) -> None:
    (project / "way.py").write_text(source)
    with pytest.raises(UsageError) as refusal:
        require_entrypoint(agent_spec(entrypoint="way.py:run", folder=project))
    assert re.search(says, f"{refusal.value.message} {refusal.value.mend}")
