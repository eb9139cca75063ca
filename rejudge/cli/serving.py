"""The process behind `rejudge up`: every flow of ours as a deployment that this folder's database is the store of."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import sys
from typing import Any, Final

from rejudge import server, settings
from rejudge.served import READY

FLOWS: Final = (
    "import_traces",
    "evaluate_sessions",
    "replay_session",
    "run_experiment",
    "nightly_evaluation",
    "label_sessions",
)


def main(name: str) -> None:
    """Serve until the process is ended.

    Args:
        name: What the deployments are called.
    """
    settings.put_defaults(server.variables(settings.current()))

    from prefect.runner import Runner
    from prefect.types.entrypoint import EntrypointType

    # By default a restart would leave every schedule paused.
    runner: Any = Runner(pause_on_shutdown=False)
    for flow_name in FLOWS:
        flow = getattr(importlib.import_module(f"rejudge.flows.{flow_name}"), flow_name)
        runner.add_deployment(
            flow.to_deployment(name=name, tags=["rejudge"], entrypoint_type=EntrypointType.MODULE_PATH)
        )
    print(READY, flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(runner.start())


if __name__ == "__main__":
    main(sys.argv[1])
