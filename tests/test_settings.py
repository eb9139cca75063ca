"""What the environment says, and how it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from rejudge import settings
from rejudge.errors import UsageError


def test_nothing_set_is_a_file_here_and_a_home_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chosen = settings.current({"HOME": "/home/ann"})
    assert chosen.database_url == f"sqlite:///{tmp_path}/.rejudge/rejudge.db"
    assert chosen.is_default_database
    assert chosen.home.is_relative_to("/home/ann")
    assert chosen.prefect_home == chosen.home / "prefect"
    assert (chosen.ephemeral, chosen.prefect_api_url, chosen.deployment) == (False, None, None)
    assert 1 <= chosen.workers <= 8


@pytest.mark.parametrize(
    ("variables", "field", "value"),
    [
        ({"REJUDGE_DATABASE_URL": "postgresql://h/x"}, "database_url", "postgresql://h/x"),
        ({"REJUDGE_HOME": "/data/r"}, "home", Path("/data/r")),
        ({"XDG_DATA_HOME": "/data"}, "home", Path("/data/rejudge")),
        ({"REJUDGE_HOME": "/data/r", "PREFECT_HOME": "/p"}, "prefect_home", Path("/p")),
        ({"PREFECT_API_URL": "http://p/api"}, "prefect_api_url", "http://p/api"),
        ({"CI": "true"}, "ephemeral", True),
        ({"CI": "woodpecker"}, "ephemeral", True),
        ({"CI": "false"}, "ephemeral", False),
        ({"CI": "true", "REJUDGE_EPHEMERAL": "0"}, "ephemeral", False),
        ({"REJUDGE_EPHEMERAL": "yes"}, "ephemeral", True),
        ({"REJUDGE_WORKERS": "3"}, "workers", 3),
        ({"REJUDGE_DATABASE_URL": ""}, "is_default_database", True),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else None,
)
def test_each_variable_is_taken(variables: dict[str, str], field: str, value: object) -> None:
    assert getattr(settings.current({"HOME": "/home/ann", **variables}), field) == value


@pytest.mark.parametrize(
    "variables",
    [{"REJUDGE_WORKERS": "0"}, {"REJUDGE_WORKERS": "many"}, {"REJUDGE_EPHEMERAL": "perhaps"}],
    ids=str,
)
def test_a_value_that_cannot_be_is_refused_by_name(variables: dict[str, str]) -> None:
    [name] = variables
    with pytest.raises(UsageError) as refused:
        settings.current(variables)
    assert name in refused.value.message and name in (refused.value.mend or name)


@pytest.mark.parametrize(
    ("environment", "exempted"),
    [
        ({}, None),
        ({"NO_PROXY": "corp.example"}, None),
        ({"http_proxy": ""}, None),
        ({"HTTP_PROXY": "http://p:3128"}, "127.0.0.1,localhost"),
        ({"all_proxy": "socks5://p"}, "127.0.0.1,localhost"),
        ({"http_proxy": "http://p", "no_proxy": " corp.example, localhost"}, "corp.example,localhost,127.0.0.1"),
        ({"http_proxy": "http://p", "NO_PROXY": ".corp"}, ".corp,127.0.0.1,localhost"),
        ({"http_proxy": "http://p", "NO_PROXY": "*"}, None),
    ],
    ids=str,
)
def test_this_machine_is_reached_past_a_proxy(environment: dict[str, str], exempted: str | None) -> None:
    wanted = {} if exempted is None else {"NO_PROXY": exempted, "no_proxy": exempted}
    assert settings.without_proxy(environment) == wanted


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:////a/b.db", "sqlite:////a/b.db"),
        ("postgresql://ann:s3cret@db:5432/x", "postgresql://ann:***@db:5432/x"),
        ("postgresql+psycopg://ann:p%40ss@/x?host=/tmp/s", "postgresql+psycopg://ann:***@/x?host=/tmp/s"),
        ("postgresql://db/x?user=ann&password=s3cret", "postgresql://db/x?user=ann&password=***"),
        ("postgresql://ann@db/x", "postgresql://ann@db/x"),
        ("postgresql://a:b:c@d@db/x", "postgresql://a:***@db/x"),
        ("nonsense", "nonsense"),
        ("http://[", "***"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    assert settings.masked(url) == shown


def test_a_child_gets_defaults_less_what_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJUDGE_TEST_KEPT", "mine")
    monkeypatch.setenv("REJUDGE_TEST_WITHHELD", "secret")
    given = settings.environment_with(
        {"REJUDGE_TEST_KEPT": "default", "REJUDGE_TEST_NEW": "default"},
        without=("REJUDGE_TEST_WITHHELD",),
        set_to={"REJUDGE_TEST_SET": "whatever"},
    )
    assert (given["REJUDGE_TEST_KEPT"], given["REJUDGE_TEST_NEW"]) == ("mine", "default")
    assert given["REJUDGE_TEST_SET"] == "whatever" and "REJUDGE_TEST_WITHHELD" not in given
