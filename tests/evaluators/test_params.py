"""What params the built-in evaluators refuse, before anything runs."""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest
from pydantic import TypeAdapter

from rejudge.evaluators.catalog import BUILT_IN, CATALOG
from tests.evaluators.build import load, run, session

REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "no output rule": ("output-contract", {}, "at least one of expected"),
    "an expected null": ("output-contract", {"expected": None}, "at least one of expected"),
    "an expected NaN": ("output-contract", {"expected": [math.nan]}, "what JSON cannot"),
    "a pointer without a slash": ("output-contract", {"required_paths": ["id"]}, "no JSON pointer"),
    "a bad escape": ("output-contract", {"type_requirements": {"/~2": "null"}}, "no JSON pointer"),
    "an unknown type": ("output-contract", {"type_requirements": {"/id": "int"}}, "'int' is no JSON type"),
    "no ceiling": ("resource-budget", {}, "at least one of max_duration_seconds"),
    "an infinite ceiling": ("resource-budget", {"max_cost": math.inf}, "no ceiling"),
    "a negative ceiling": ("resource-budget", {"max_nodes": -1}, "no ceiling"),
    "no tool rule": ("tool-policy", {}, "at least one of required_tools"),
    "required and forbidden": ("tool-policy", {"required_tools": ["a"], "forbidden_tools": ["a"]}, "'a' is required"),
    "required and never": (
        "tool-policy",
        {"required_tools": ["a"], "max_calls_per_tool": {"a": 0}},
        "'a' is required",
    ),
    "no model rule": ("model-policy", {"require_requested_model_match": False}, "at least one of allowed_models"),
    "no text rule": ("text-checks", {"pointer": "/a"}, "at least one of contains"),
    "a bad pattern": ("text-checks", {"regex": ["("]}, "no regular expression"),
    "a bad schema": ("text-checks", {"json_schema": {"type": "int"}}, "no valid JSON Schema"),
    "a schema from elsewhere": (
        "text-checks",
        {"json_schema": {"properties": {"a": {"$ref": "https://example.org/x.json"}}}},
        "refers to 'https://example.org/x.json'",
    ),
    "lengths that exclude each other": ("text-checks", {"min_length": 3, "max_length": 2}, "above max_length"),
    "no argument rule": ("tool-arguments", {"match": "any"}, "at least one of schemas"),
    "a bad argument schema": ("tool-arguments", {"schemas": {"a": {"minimum": "1"}}}, "schemas.'a'. is no valid"),
    "an unknown kind": ("leaks", {"kinds": ["emails"]}, "'emails' is unknown"),
    "a bad exception": ("leaks", {"allowed": ["["]}, "no regular expression"),
    "nothing to compare with": ("answer-match", {}, "set either expected"),
    "two things to compare with": ("answer-match", {"expected": ["a"], "reference": "baseline"}, "set either"),
    "no pointer": ("answer-match", {"reference": "want"}, "no JSON pointer"),
    "any work would do": (
        "workflow-conformance",
        {"expected_tools": [], "mode": "in_order"},
        "every session matches",
    ),
}


@pytest.mark.parametrize(("name", "params", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_params_that_cannot_work_are_refused(name: str, params: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        run(f"rejudge/{name}", session(), **params)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_parameter_has_a_json_schema(name: str) -> None:
    module, evaluate = load(name)
    signature = inspect.signature(evaluate, eval_str=True)
    knobs = [each for each in signature.parameters.values() if each.kind is inspect.Parameter.KEYWORD_ONLY]

    for knob in knobs:
        assert TypeAdapter(knob.annotation).json_schema() is not None
    assert module.__doc__ and f"``{name}``" in module.__doc__
    assert CATALOG[name].description
