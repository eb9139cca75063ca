"""The page on adapters against what they declare."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from pathlib import Path

import pytest

import rejudge
from rejudge.replay.adapters import ADAPTERS, Capabilities, details, overview

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adapters.md").read_text("utf-8")
NAMES = [adapter.adapter for adapter in ADAPTERS]


def between(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", PAGE, re.DOTALL)
    assert found, f"docs/adapters.md has no part {name}"
    return found[1]


def test_the_table_is_the_one_in_the_code() -> None:
    assert between("overview") == overview(ADAPTERS)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=NAMES)
def test_each_list_is_the_one_in_the_code(adapter: Capabilities) -> None:
    assert between(adapter.adapter) == details(adapter)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=NAMES)
def test_each_adapter_is_reached_by_its_name_and_says_what_it_can(adapter: Capabilities) -> None:
    module = getattr(rejudge.adapters, adapter.adapter)
    assert module.CAPABILITIES is adapter
    assert module is importlib.import_module(f"rejudge.adapters.{adapter.adapter}")
    assert all(hasattr(module, name) for name in module.__all__)


def test_each_adapter_has_an_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {name.replace("_", "-") for name in NAMES} <= project["optional-dependencies"].keys()


def test_the_code_on_the_page_is_python() -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        ast.parse(block)


def test_no_other_adapter_is_named() -> None:
    assert sorted(rejudge.adapters.__all__) == sorted(NAMES)
