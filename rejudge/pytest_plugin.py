"""The pytest plugin: the ``rejudge`` fixture, its options, its summary. Light: pytest loads it in every project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rejudge.testing_fixture import Rejudge
    from rejudge.testing_settings import TestingSettings

_PREFIX = "rejudge."
_SETTINGS: pytest.StashKey[TestingSettings] = pytest.StashKey()
_MARKER = "rejudge: judges with models or on recorded sessions; runs only with --rejudge"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--rejudge`` and what it judges with."""
    group = parser.getgroup("rejudge", "judging answers and sessions (rejudge)")
    group.addoption("--rejudge", action="store_true", help="run tests marked 'rejudge' too, and show every score")
    group.addoption("--rejudge-provider", metavar="NAME", help="who scores answers: rejudge, deepeval, opik, jev, …")
    group.addoption(
        "--rejudge-mode",
        choices=("score", "llm", "fallback"),
        help="score offline, by a judge, or by a judge where the score does not pass",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known."""
    config.addinivalue_line("markers", _MARKER)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skips what is marked ``rejudge`` unless it was asked for."""
    if config.getoption("--rejudge"):
        return
    skip = pytest.mark.skip(reason="runs only with --rejudge")
    for item in items:
        if item.get_closest_marker("rejudge"):
            item.add_marker(skip)


@pytest.fixture
def rejudge(request: pytest.FixtureRequest) -> Rejudge:
    """Compares answers and judges sessions: ``rejudge.compare(…)``, ``rejudge.assert_session(…)``."""
    from rejudge.testing_fixture import Note, Rejudge

    return Rejudge(_settings(request.config), Note(request.node.user_properties))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Shows the scores of failed tests; all of them with ``--rejudge``."""
    reports = [
        report
        for kind, each in terminalreporter.stats.items()
        if kind in ("passed", "failed", "error", "xfailed", "xpassed")
        for report in each
        if getattr(report, "when", None) == "call"
    ]
    scores = [
        (report.nodeid, name.removeprefix(_PREFIX), str(value), report.outcome)
        for report in reports
        for name, value in report.user_properties
        if name.startswith(_PREFIX)
    ]
    if not scores:
        return
    shown = scores if config.getoption("--rejudge") else [score for score in scores if score[3] == "failed"]
    failed = sum(" | failed | " in value for _, _, value, _ in scores)
    if shown or config.getoption("--rejudge"):
        terminalreporter.section("rejudge scores")
    for test, name, value, _ in shown:
        score, _, rest = value.partition(" | ")
        verdict, _, beside = rest.partition(" | ")
        terminalreporter.write_line(f"{verdict:<10} {score:>10}  {name}  {test}{f'  ({beside})' if beside else ''}")
    if shown:
        terminalreporter.write_line(f"{len(scores)} score{'' if len(scores) == 1 else 's'}, {failed} failed")


def _settings(config: pytest.Config) -> TestingSettings:
    if _SETTINGS not in config.stash:
        from rejudge import settings
        from rejudge.errors import UsageError
        from rejudge.testing_settings import testing_settings

        try:
            config.stash[_SETTINGS] = testing_settings(
                config.rootpath,
                settings.environment_with({}),
                provider=config.getoption("--rejudge-provider"),
                mode=config.getoption("--rejudge-mode"),
            )
        except UsageError as error:
            raise pytest.UsageError(f"{error.message}; {error.mend}" if error.mend else error.message) from error
    return config.stash[_SETTINGS]
