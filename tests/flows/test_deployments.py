"""The deployment files name flows that are there, with parameters that they take."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DEPLOYMENTS = [
    pytest.param(one, id=f"{file.stem}: {one['entrypoint']} {one['name']}")
    for file in sorted((ROOT / "deployments").glob("*.yaml"))
    for one in yaml.safe_load(file.read_text()).get("deployments", [])
]


@pytest.mark.parametrize("deployment", DEPLOYMENTS)
def test_a_deployment_runs_a_flow_of_ours(deployment: dict[str, Any]) -> None:
    path, _, name = deployment["entrypoint"].partition(":")
    assert (ROOT / path).is_file()
    flow = getattr(importlib.import_module(f"rejudge.flows.{Path(path).stem}"), name)
    assert deployment["description"]
    given = deployment.get("parameters")
    if given is not None:
        assert flow.validate_parameters(given)


def test_every_flow_can_be_deployed_and_is_served() -> None:
    from rejudge.cli.serving import FLOWS

    files = {file.stem for file in (ROOT / "flows").glob("*.py")} - {"__init__"}
    assert set(FLOWS) == files
    deployed = {one.values[0]["entrypoint"].split(":")[1] for one in DEPLOYMENTS}
    assert deployed == files


@pytest.mark.parametrize("name", ["evaluate_sessions", "run_experiment", "replay_session", "nightly_evaluation"])
def test_a_flows_form_is_made_of_models(name: str) -> None:
    flow = getattr(importlib.import_module(f"rejudge.flows.{name}"), name)
    [request] = flow.parameters.properties
    assert request == "request"
    assert flow.name == name.replace("_", "-")
