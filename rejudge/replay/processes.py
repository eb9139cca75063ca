"""The agent's process: what it is handed, and what it leaves behind."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from rejudge.models.canonical import JsonValue
from rejudge.models.replay import ReplayPlan
from rejudge.otel.span import Batch
from rejudge.otel.spanfile import read_span_file
from rejudge.replay.active import URL_VARIABLE
from rejudge.replay.endpoint import Endpoint
from rejudge.replay.journal import FileJournal
from rejudge.replay.launch import run_process
from rejudge.replay.remote import SPANS_VARIABLE, TOKEN_VARIABLE
from rejudge.replay.rerun import Rerun
from rejudge.replay.simulate import simulated_result
from rejudge.replay.tape import Tape
from rejudge.settings import environment_with, without_proxy

_OTEL: Final = {
    "OTEL_TRACES_SAMPLER": "always_on",
    "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "100000",
    "OTEL_BSP_SCHEDULE_DELAY": "500",
    "OTEL_BLRP_SCHEDULE_DELAY": "500",
}
_UNSET: Final = (
    "OTEL_SDK_DISABLED",
    "OTEL_TRACES_SAMPLER_ARG",
    "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_COMPRESSION",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
    "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL",
)
"""Would send the spans elsewhere, or cut them."""

_OUTPUT_LIMIT: Final = 64 * 1024 * 1024
_STOP_SECONDS: Final = 3.0
"""How long a command agent may go on after it was told that the replay is over."""


def run_function_agent(
    plan: ReplayPlan,
    tape: Tape,
    folder: Path,
    *,
    environment: Mapping[str, str],
    canceled: Callable[[], bool],
) -> tuple[dict[str, Any] | None, Batch]:
    """Run a function agent; the warden's report and the spans it left."""
    (folder / "plan.json").write_text(plan.model_dump_json())
    (folder / plan.tape).write_bytes(tape.to_bytes())
    report = run_process(_request(plan, folder, environment), canceled=canceled)
    return report, read_span_file(folder / "spans.jsonl")


def run_command(
    plan: ReplayPlan,
    tape: Tape,
    folder: Path,
    *,
    environment: Mapping[str, str],
    canceled: Callable[[], bool],
) -> tuple[dict[str, Any] | None, Batch]:
    """Run a command agent, its tape and its spans behind an endpoint of this process."""
    request = _request(plan, folder, environment)
    variables = request["environment"]
    journal = FileJournal(folder / "journal.jsonl")
    ended = _Ended()
    rerun = Rerun(plan, tape, journal, simulate=_simulating(variables), on_end=ended)
    public = plan.model_dump(mode="json", exclude={"spec", "tape", "inputs"})
    endpoint = Endpoint(rerun, public)
    try:
        (folder / "inputs.json").write_bytes(orjson.dumps(plan.inputs))
        (folder / "replay.json").write_bytes(orjson.dumps({**public, "tape_url": endpoint.tape_url}))
        variables.update(_handed(folder, endpoint))
        variables.update(without_proxy(variables))
        request["stdin"] = str(folder / "inputs.json")
        report = run_process(request, canceled=lambda: canceled() or ended.for_seconds(_STOP_SECONDS))
        if report is not None and report["exit_code"] == 0:
            rerun.finish()
    finally:
        received = endpoint.close()
        journal.close()
    written = read_span_file(folder / "spans.jsonl")
    return report, Batch(received.spans + written.spans, received.logs + written.logs)


def read_outputs(folder: Path) -> JsonValue:
    """What a command agent wrote into ``REJUDGE_OUTPUTS_FILE``; None where it wrote nothing readable."""
    path = folder / "outputs.json"
    if not path.is_file() or path.stat().st_size > _OUTPUT_LIMIT:
        return None
    content = path.read_bytes()
    try:
        return orjson.loads(content)
    except ValueError:
        return content.decode("utf-8", "replace")


def _request(plan: ReplayPlan, folder: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    limits, spec = plan.limits, plan.spec
    variables = {**environment_with({}, without=_UNSET), **_OTEL, **spec.environment, **environment}
    if sys.prefix != sys.base_prefix:  # "python agent.py" means this environment's Python
        variables["PATH"] = f"{Path(sys.executable).parent}:{variables.get('PATH', '')}"
    return {
        "kind": spec.kind,
        "command": spec.entrypoint,
        "folder": str(folder),
        "working_folder": spec.working_folder or str(Path.cwd()),
        "environment": variables,
        "timeout_seconds": limits.timeout_seconds,
        "output_bytes": limits.output_bytes,
        "memory_bytes": limits.memory_bytes,
    }


def _handed(folder: Path, endpoint: Endpoint) -> dict[str, str]:
    return {
        "REJUDGE_INPUTS_FILE": str(folder / "inputs.json"),
        "REJUDGE_REPLAY_FILE": str(folder / "replay.json"),
        "REJUDGE_OUTPUTS_FILE": str(folder / "outputs.json"),
        URL_VARIABLE: endpoint.tape_url,
        TOKEN_VARIABLE: endpoint.token,
        SPANS_VARIABLE: str(folder / "spans.jsonl"),
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint.otlp_url,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_METRICS_EXPORTER": "none",
    }


def _simulating(variables: Mapping[str, str]) -> Callable[..., JsonValue]:
    def simulate(*asked: Any) -> JsonValue:
        return simulated_result(*asked, environment=variables)

    return simulate


class _Ended:
    """Since when a run is over."""

    _since: float | None = None

    def __call__(self) -> None:
        self._since = self._since or time.monotonic()

    def for_seconds(self, seconds: float) -> bool:
        return self._since is not None and time.monotonic() - self._since > seconds
