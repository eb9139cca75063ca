"""From a file or a package to a version, and what is refused on the way."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from rejudge.errors import UsageError
from rejudge.scoring.built_in import available, built_in_spec
from rejudge.scoring.outcome import Assignment
from rejudge.scoring.register import inspect_package, inspect_script
from rejudge.scoring.version import EvaluatorSpec, check_evaluator_name, parse_reference
from tests.scoring.bench import ENVIRONMENT, Bench

PLAIN = '''
"""Whether it ended well."""

def evaluate(session, *, minimum: int = 1):
    """Count refunds.

    More."""
    return minimum
'''


def test_a_script_becomes_a_version(bench: Bench) -> None:
    source = """
    PROVIDER = "acme"
    CONNECTION_SCHEMA = {"type": "object", "properties": {"ACME_KEY": {"type": "string"}}}
    MODE = "slow"
    TIME_LIMIT = 12
    MEMORY_LIMIT = 500_000_000

    async def evaluate(session, *, minimum: int = 1):
        '''Ask acme.'''
        return True
    """
    spec = bench.inspect(bench.write(source))
    assert (spec.kind, spec.entrypoint, spec.is_async, spec.description) == (
        "script",
        "check.py:evaluate",
        True,
        "Ask acme.",
    )
    assert (spec.provider, spec.mode, spec.time_limit, spec.memory_limit) == ("acme", "slow", 12.0, 500_000_000)
    assert spec.connection_schema is not None
    assert list(spec.sources) == ["check.py"]
    assert EvaluatorSpec.model_validate_json(spec.model_dump_json()) == spec


def test_limits_follow_the_mode_where_none_are_set(bench: Bench) -> None:
    fast = bench.inspect(bench.write(PLAIN))
    slow = bench.inspect(bench.write("MODE = 'slow'\n" + PLAIN))
    assert (fast.mode, fast.time_limit, slow.time_limit) == ("fast", 60.0, 300.0)
    assert fast.description == "Count refunds."


@pytest.mark.parametrize(
    ("source", "suffix", "attribute"),
    [
        ("def evaluate(session): return 1\ndef other(session): return 2", "", "evaluate"),
        ("def grade(session): return 1\ndef _helper(): ...\ndef check_params(): ...", "", "grade"),
        ("def one(session): return 1\ndef two(session): return 2", ":two", "two"),
        (
            "class Judge:\n    def __call__(self, session, *, strict: bool = False): return 1\ngrade = Judge()",
            ":grade",
            "grade",
        ),
        ("class Judges:\n    @staticmethod\n    def grade(session): return 1", ":Judges.grade", "Judges.grade"),
        (
            "import functools\ndef _g(session, *, n: int): return n\ngrade = functools.partial(_g, n=3)",
            ":grade",
            "grade",
        ),
    ],
    ids=["evaluate", "the only one", "named", "an instance", "dotted", "partial"],
)
def test_the_callable_is_found_and_runs(bench: Bench, source: str, suffix: str, attribute: str) -> None:
    path = bench.folder / "check.py"
    path.write_text(source)
    spec = bench.inspect(f"{path}{suffix}")
    assert spec.attribute == attribute
    assert bench.score(spec.numbered("check", 1))["check:ok"].status == "scored"


REFUSED: dict[str, tuple[str, str]] = {
    "no function": ("x = 1", "check.py holds no function"),
    "several": ("def a(session): ...\ndef b(session): ...", "check.py holds several functions: a, b"),
    "syntax": ("def evaluate(session)\n    return 1", "check.py:1: expected ':'"),
    "import error": ("x = 1\nimport no_such_module_at_all", "check.py:2: importing it raises ModuleNotFoundError"),
    "raises on import": ("def f():\n    raise OSError('no')\n\nf()", "check.py:2: importing it raises OSError: no"),
    "exits on import": ("import sys\nsys.exit(3)", "check.py:2: importing it raises SystemExit"),
    "ends its process": ("import os\nos._exit(4)", "ended its process: it ended itself with exit code 4"),
    "no session": ("def evaluate(): ...", "check.py:1 evaluate: it does not take a session"),
    "bad mode": ("MODE = 'quick'\ndef evaluate(session): ...", "MODE is 'quick'; it is 'fast' or 'slow'"),
    "bad limit": ("TIME_LIMIT = 0\ndef evaluate(session): ...", "TIME_LIMIT is 0; it is a number above 0"),
    "odd limit": ("TIME_LIMIT = '5 s'\ndef evaluate(session): ...", "TIME_LIMIT is '5 s', a str"),
    "bad schema": ("CONNECTION_SCHEMA = {'a': object()}\ndef evaluate(session): ...", "CONNECTION_SCHEMA is no JSON"),
    "NUL": ("x = '\0'\ndef evaluate(session): ...", "check.py"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_registered_is_refused_by_file_and_line(bench: Bench, case: str) -> None:
    source, message = REFUSED[case]
    path = bench.folder / "check.py"
    path.write_text(source)
    with pytest.raises(UsageError) as refused:
        bench.inspect(path)
    assert message in refused.value.message


@pytest.mark.parametrize(
    ("target", "message"),
    [("nowhere.py", "nowhere.py cannot be read: No such file"), (".", "cannot be read: Is a directory")],
    ids=["missing", "folder"],
)
def test_a_file_that_is_not_there_is_refused(bench: Bench, target: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        inspect_script(target, environment=ENVIRONMENT, environments=bench.folder)


def test_the_attribute_that_is_not_there_is_named_with_those_that_are(bench: Bench) -> None:
    path = bench.write(PLAIN)
    with pytest.raises(UsageError, match=r"check.py has no callable 'grade'; it has evaluate"):
        bench.inspect(f"{path}:grade")


def test_a_version_runs_after_its_files_are_gone(bench: Bench) -> None:
    bench.write("LIMIT = 7\n", "rules/limits.py")
    bench.write("def pick():\n    from rules.limits import LIMIT\n    return LIMIT\n", "picking.py")
    bench.write("raise RuntimeError('never imported')\n", "unrelated.py")
    spec = bench.register("import picking\n\ndef evaluate(session):\n    return picking.pick()\n")
    assert sorted(spec.sources) == ["check.py", "picking.py", "rules/limits.py"]
    for file in bench.folder.rglob("*.py"):
        file.unlink()
    assert bench.score(spec)["check:ok"].results[0]["score"] == 7


def test_two_versions_with_local_modules_of_one_name_stay_apart(bench: Bench) -> None:
    def version(limit: int) -> EvaluatorSpec:
        bench.write(f"LIMIT = {limit}\n", "limits.py")
        return bench.register("import limits\n\ndef evaluate(session):\n    return limits.LIMIT\n", name=f"v{limit}")

    outcomes = bench.score(version(1), version(2))
    assert [outcomes[key].results[0]["score"] for key in ("v1:ok", "v2:ok")] == [1, 2]


@pytest.mark.parametrize(
    "change",
    [
        {"sources": {"check.py": "def evaluate(session): return 0"}},
        {"sources": {}},
        {"fingerprint": "0" * 64},
        {"entrypoint": "check.py:other"},
        {"parameter_schema": {"type": "object"}},
    ],
    ids=["other code", "no code", "other fingerprint", "other function", "other schema"],
)
def test_a_tampered_version_is_refused(bench: Bench, change: dict[str, Any]) -> None:
    spec = bench.register("def evaluate(session): return 1\ndef other(session): return 2\n", **change)
    with pytest.raises(UsageError, match=r"check@1"):
        bench.pool.check([Assignment(spec)])
    outcome = bench.score(spec)["check:ok"]
    assert (outcome.status, outcome.results) == ("failed", ())


def test_a_package_becomes_a_version_and_changed_code_is_refused(bench: Bench) -> None:
    package = bench.folder / "acme_checks"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "rules.py").write_text("LIMIT = 1\n")
    (package / "checks.py").write_text("from .rules import LIMIT\n\ndef grade(session):\n    return LIMIT\n")
    environment = {**ENVIRONMENT, "PYTHONPATH": str(bench.folder)}
    spec = inspect_package("acme_checks.checks:grade", environment=environment).numbered("grade", 1)
    assert (spec.kind, spec.sources, spec.source_digest) == ("package", {}, None)
    assert list(spec.parts.code) == ["acme_checks", "acme_checks.checks", "acme_checks.rules"]

    from rejudge.scoring.pool import WorkerPool

    with WorkerPool(environment, environments=bench.folder) as pool:
        pool.check([Assignment(spec)])
    (package / "rules.py").write_text("LIMIT = 2\n")
    with WorkerPool(environment, environments=bench.folder) as pool, pytest.raises(UsageError) as refused:
        pool.check([Assignment(spec)])
    assert "acme_checks.rules changed" in refused.value.message


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("no_such_package_here:f", "there is no module 'no_such_package_here' here"),
        ("json:no_such_function", "json has no callable 'no_such_function'"),
        ("not a module", "is no module:attribute"),
        ("json:", "is no module:attribute"),
    ],
)
def test_a_package_that_is_not_there_is_refused(target: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        inspect_package(target, environment=ENVIRONMENT)


def test_built_in_versions_need_no_registering(bench: Bench) -> None:
    spec = built_in_spec("rejudge/latency", "rejudge.evaluators.latency:evaluate")
    assert (spec.name, spec.number, spec.result_name) == ("rejudge/latency", 1, "latency")
    assert spec.parts.code.keys() >= {"rejudge.evaluators.latency"}
    assert all(module.startswith("rejudge.evaluators") for module in spec.parts.code)
    assert "rejudge" not in spec.parts.dependencies
    assert bench.score(spec)["rejudge/latency:ok"].status == "scored"


def test_packages_offer_evaluators_by_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distribution = tmp_path / "acme_checks-1.2.dist-info"
    distribution.mkdir()
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-checks\nVersion: 1.2\n")
    (distribution / "entry_points.txt").write_text("[rejudge.evaluators]\nacme/tone = acme_checks.tone:evaluate\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    (offered,) = [one for one in available() if one.distribution == "acme-checks"]
    assert (offered.name, offered.entrypoint, offered.version) == ("acme/tone", "acme_checks.tone:evaluate", "1.2")


@pytest.mark.parametrize("name", ["refund-check", "acme/refund_check.v2", "A", "1"])
def test_evaluator_names(name: str) -> None:
    assert check_evaluator_name(name) == name


@pytest.mark.parametrize("name", ["", "a/b/c", "/a", "a/", "-a", "a b", "rejudge/cost", "a" * 256, "a@1", "ä"])
def test_evaluator_names_that_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        check_evaluator_name(name)


@pytest.mark.parametrize(
    ("text", "reference"),
    [("check@3", ("check", 3)), ("rejudge/cost@latest", ("rejudge/cost", None)), ("a/b@12", ("a/b", 12))],
)
def test_references(text: str, reference: tuple[str, int | None]) -> None:
    assert parse_reference(text) == reference


@pytest.mark.parametrize(
    "text", ["check", "check@", "check@0", "check@-1", "@3", "check@3@4", "check@newest", "a b@1"]
)
def test_references_that_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_reference(text)


def test_a_bare_name_means_latest_where_python_is_written() -> None:
    assert parse_reference("check", bare_means_latest=True) == ("check", None)


def test_registering_leaves_the_users_folder_and_modules_alone(bench: Bench) -> None:
    before = set(sys.modules)
    bench.write("import json, check_helper\ndef evaluate(session): return 1\n")
    bench.write("VALUE = 1\n", "check_helper.py")
    bench.inspect(bench.folder / "check.py")
    assert set(sys.modules) - before == set()
    assert sorted(os.listdir(bench.folder)) == ["check.py", "check_helper.py"]
