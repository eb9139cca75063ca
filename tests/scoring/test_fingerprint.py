"""What changes a fingerprint, what does not, and how the change is told."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejudge.scoring.distributions import versions_of
from rejudge.scoring.fingerprint import changes, parts_of, walk_script
from rejudge.scoring.register import changes_between
from rejudge.scoring.sources import imported_names, normalised_digest, parse
from rejudge.scoring.version import FingerprintParts
from tests.scoring.bench import Bench

BASE = '''
"""Refunds."""
import json

LIMIT = 3

def evaluate(session, *, minimum: int = 1):
    """Count refunds."""
    # the interesting ones
    calls = [n for n in session.nodes if n.tool_name == "refund"]
    return len(calls) >= minimum
'''


def _digest(source: str) -> str:
    return normalised_digest(parse(source, "check.py"), source)


SAME = {
    "other comments": BASE.replace("# the interesting ones", "# all of them\n    # really"),
    "no comments": BASE.replace("    # the interesting ones\n", ""),
    "other docstrings": BASE.replace("Count refunds.", "Counts the refunds.\n\n    Args: none").replace(
        "Refunds.", "x"
    ),
    "no docstring": BASE.replace('    """Count refunds."""\n', ""),
    "other quotes": BASE.replace('"refund"', "'refund'"),
    "other layout": BASE.replace("[n for n in", "[\n        n\n        for n in").replace(
        "LIMIT = 3", "LIMIT   =   (3)"
    ),
    "blank lines": BASE.replace("\n", "\n\n"),
    "other line ends": BASE.replace("\n", "\r\n"),
    "other digits": BASE.replace("LIMIT = 3", "LIMIT = 0x3"),
}

OTHER = {
    "a constant": BASE.replace("LIMIT = 3", "LIMIT = 4"),
    "a type of number": BASE.replace("LIMIT = 3", "LIMIT = 3.0"),
    "a comparison": BASE.replace(">=", ">"),
    "a name": BASE.replace('"refund"', '"refunds"'),
    "a default": BASE.replace("minimum: int = 1", "minimum: int = 2"),
    "an import": BASE.replace("import json", "import csv"),
    "an order": BASE.replace("import json\n\nLIMIT = 3", "LIMIT = 3\nimport json"),
    "None for nothing": BASE.replace("return len(calls) >= minimum", "return None"),
    "a decorator": BASE.replace("def evaluate", "@staticmethod\ndef evaluate"),
    "async": BASE.replace("def evaluate", "async def evaluate"),
}


@pytest.mark.parametrize("case", SAME)
def test_formatting_does_not_change_the_code(case: str) -> None:
    assert SAME[case] != BASE
    assert _digest(SAME[case]) == _digest(BASE)


@pytest.mark.parametrize("case", OTHER)
def test_code_changes_the_code(case: str) -> None:
    assert OTHER[case] != BASE
    assert _digest(OTHER[case]) != _digest(BASE)


def test_a_docstring_that_the_code_reads_counts() -> None:
    prompt = 'def evaluate(session):\n    """Is it polite?"""\n    return ask(evaluate.__doc__, session)\n'
    assert _digest(prompt) != _digest(prompt.replace("polite", "rude"))


def _sources_of_the_standard_library() -> Iterator[Path]:
    folder = Path(ast.__file__).parent
    yield from (folder / name for name in ("json/decoder.py", "dataclasses.py", "typing.py", "asyncio/tasks.py"))


@given(st.data())
def test_any_source_survives_being_written_out_anew(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(list(_sources_of_the_standard_library())))
    tree = parse(path.read_text(), path.name)
    chosen = data.draw(st.sampled_from(tree.body))
    source = ast.unparse(ast.Module([chosen], []))
    assert _digest(source) == _digest(ast.unparse(parse(source, "again.py")))


@pytest.mark.parametrize(
    ("source", "package", "names"),
    [
        ("import a.b.c as d", "", ["a", "a.b", "a.b.c"]),
        ("from a.b import c, d", "", ["a", "a.b", "a.b.c", "a.b.d"]),
        ("from a import *", "", ["a"]),
        ("from . import c", "a.b", ["a", "a.b", "a.b.c"]),
        ("from ..x import c", "a.b", ["a", "a.x", "a.x.c"]),
        ("from ... import c", "a.b", []),
        ("from . import c", "", []),
        ("def f():\n    import late", "", ["late"]),
        ("try:\n    import fast\nexcept ImportError:\n    import slow", "", ["fast", "slow"]),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import big\nelse:\n    import small", "",
         ["typing", "typing.TYPE_CHECKING", "small"]),
    ],
)  # fmt: skip
def test_imported_names(source: str, package: str, names: list[str]) -> None:
    assert imported_names(parse(source, "x.py"), package) == names


def test_a_script_counts_what_it_imports_from_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "pkg" / "deep").mkdir(parents=True)
    (tmp_path / "pkg" / "__init__.py").write_text("from .deep import thing\n")
    (tmp_path / "pkg" / "deep" / "thing.py").write_text("import check\nimport other\n")
    (tmp_path / "other.py").write_text("X = 1\n")
    (tmp_path / "unused.py").write_text("Y = 1\n")
    (tmp_path / "json.py").write_text("shadows nothing")
    (tmp_path / "check.py").write_text(
        "import json\nimport pkg\nfrom rejudge import SessionView\ndef evaluate(session): ...\n"
    )
    walk = walk_script("check.py", tmp_path)
    assert sorted(walk.sources) == ["check.py", "other.py", "pkg/__init__.py", "pkg/deep/thing.py"]
    assert walk.versions == {}
    assert walk_script("check.py", walk.sources).code == walk.code


def test_versions_of_what_is_imported_count() -> None:
    script = {"check.py": "import numpy.linalg\nimport yaml\nimport no_such_thing\ndef evaluate(session): ...\n"}
    versions = walk_script("check.py", script).versions
    assert set(versions) == {"numpy", "pyyaml"}
    assert versions["numpy"] == versions_of("numpy")["numpy"]


def test_a_distribution_installed_from_a_folder_counts_by_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "local_rules-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: local-rules\nVersion: 0.1\n")
    (info / "top_level.txt").write_text("local_rules\n")
    (info / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {"editable": true}}')
    (tmp_path / "local_rules.py").write_text("LIMIT = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    script = {"check.py": "from local_rules import LIMIT\ndef evaluate(session): ...\n"}
    before = walk_script("check.py", script)
    (tmp_path / "local_rules.py").write_text("LIMIT = 20\n")
    after = walk_script("check.py", script)
    assert before.versions == {}
    assert before.code["local_rules"] != after.code["local_rules"]


def _parts(source: str, schema: dict[str, object] | None = None) -> FingerprintParts:
    walk = walk_script("check.py", {"check.py": source})
    return parts_of(walk, attribute="evaluate", schema=schema or {}, resolved=None)


def test_each_part_changes_the_fingerprint_and_says_so() -> None:
    old = _parts(BASE)
    new = {
        "code": _parts(OTHER["a constant"]),
        "parameters": _parts(BASE, {"type": "object"}),
        "dependency": old.model_copy(update={"dependencies": {"numpy": "9"}}),
        "entrypoint": old.model_copy(update={"attribute": "grade"}),
        "contract": old.model_copy(update={"contract": "2"}),
    }
    told = {name: changes(old, parts) for name, parts in new.items()}
    assert all(lines[0].startswith(f"{name}: ") and len(lines) == 1 for name, lines in told.items())
    assert len({old.digest(), *(parts.digest() for parts in new.values())}) == 6
    assert changes(old, _parts(SAME["no comments"])) == []


def test_registering_says_what_changed(bench: Bench) -> None:
    bench.write("LIMIT = 1\n", "limits.py")
    source = (
        "import limits\nimport numpy\ndef evaluate(session, *, a: str = ''{more}):\n    return limits.LIMIT{plus}\n"
    )
    old = bench.register(source.format(more="", plus=""))
    bench.write("LIMIT = 2\n", "limits.py")
    new = bench.register(source.format(more=", minimum: int = 1", plus=" + 1"))
    newer = new.model_copy(update={"parts": new.parts.model_copy(update={"dependencies": {"numpy": "9.9"}})})
    assert changes_between(old, new) == [
        "code: the script changed",
        "code: limits.py changed",
        "parameters: minimum is new",
    ]
    assert changes_between(new, newer) == [f"dependency: numpy {versions_of('numpy')['numpy']} became 9.9"]


def test_the_same_file_is_the_same_version_wherever_it_lies(bench: Bench) -> None:
    first = bench.inspect(bench.write(BASE, "here/check.py"))
    second = bench.inspect(bench.write(SAME["other layout"], "there/renamed.py"))
    assert first.fingerprint == second.fingerprint
    assert changes_between(first, second) == []


def test_a_dependency_that_drifted_is_reported(bench: Bench) -> None:
    spec = bench.register("import numpy\ndef evaluate(session): return 1\n")
    parts = spec.parts.model_copy(update={"dependencies": {"numpy": "0.1"}})
    drifted = spec.model_copy(update={"parts": parts, "fingerprint": parts.digest(), "number": 7})
    assert bench.score(drifted)["check:ok"].status == "scored"
    version = versions_of("numpy")["numpy"]
    assert bench.pool.drift["check@7"] == [f"dependency: numpy 0.1 became {version}"]


OF_ALL_VERSIONS = '''
def pick(x: int, /, *rest, key=lambda y: y, **more) -> str:
    """Any."""
    match x:
        case [1, *_] | {"a": 2}:
            return f"{x!r:>{10}} {key=} {x:%Y-%m}"
    try:
        return (y := 3) if x else ...
    except* ValueError:
        raise
'''


def test_digests_do_not_depend_on_the_python_version() -> None:
    # Worked out on Python 3.11, 3.12 and 3.13: a team's versions must not differ with its interpreters.
    assert (_digest(BASE)[:16], _digest(OF_ALL_VERSIONS)[:16]) == ("34a5ea3d23d322f0", "ea807855f2bb916e")
