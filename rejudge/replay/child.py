"""In the agent's process: from a run's folder to a journal that says how it went.

``python -m rejudge.replay.child FOLDER`` runs one by hand, without a warden.
"""

from __future__ import annotations

import atexit
import os
import shlex
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

from opentelemetry import trace
from opentelemetry.trace import Span

from rejudge.errors import RejudgeError, ReplayEnded
from rejudge.models.replay import ReplayPlan
from rejudge.replay.active import decide_for_process
from rejudge.replay.context import AgentContext
from rejudge.replay.entrypoint import call_agent, load_entrypoint
from rejudge.replay.failures import type_name
from rejudge.replay.journal import FileJournal
from rejudge.replay.listening import listen_everywhere
from rejudge.replay.rerun import Rerun
from rejudge.replay.simulate import simulated_result
from rejudge.replay.spans import set_failure, set_outputs, start_agent_span
from rejudge.replay.tape import Tape
from rejudge.replay.values import jsonable

ENDED_GRACE: Final = 2.0
"""Seconds an agent has to return after the replay has ended: it may catch even what is no Exception."""

_EXIT_SECONDS: Final = 2.0


def become_agent(request: dict[str, Any]) -> NoReturn:
    """Turn this process, which is set up already, into the agent."""
    if request["kind"] == "command":
        _execute(request["command"], request["environment"])
    _add_python_path(request["environment"].get("PYTHONPATH", ""))
    sys.argv = [request["command"]]
    code = run_function(Path(request["folder"]))
    _leave(code)


def _execute(command: str, environment: dict[str, str]) -> NoReturn:
    words = [] if set(command) & set("|&;<>()$`\\*?[#~\n{") else shlex.split(command)
    if not words or "=" in words[0]:
        os.execve("/bin/sh", ["/bin/sh", "-c", command], environment)
    with suppress(OSError):
        os.execvpe(words[0], words, environment)
    os.execve("/bin/sh", ["/bin/sh", "-c", command], environment)  # a builtin, or the shell says what is wrong


def _add_python_path(value: str) -> None:
    # Read by an interpreter when it starts, which was before this run's environment was known.
    for path in reversed(value.split(os.pathsep)):
        if path and path not in sys.path:
            sys.path.insert(0, path)


def run_function(folder: Path) -> int:
    """Run a function agent from its folder; give back the exit code, 0 where the agent returned."""
    plan = ReplayPlan.model_validate_json((folder / "plan.json").read_bytes())
    tape = Tape.from_bytes((folder / plan.tape).read_bytes())
    journal = FileJournal(folder / "journal.jsonl")
    listen_everywhere(folder / "spans.jsonl", plan.agent)
    rerun = Rerun(plan, tape, journal, simulate=simulated_result, on_end=_end_soon)
    root = start_agent_span(plan.agent, plan.inputs)
    decide_for_process(rerun, root)
    with trace.use_span(root, end_on_exit=False, record_exception=False, set_status_on_exception=False):
        code = _run(plan, rerun, journal, root)
    root.end()
    return code


def _run(plan: ReplayPlan, rerun: Rerun, journal: FileJournal, root: Span) -> int:
    context = AgentContext(rerun, plan.override, plan.baseline_session_id, plan.replay_id, plan.trial)
    try:
        function = load_entrypoint(plan.spec.entrypoint, plan.spec.working_folder)
        outputs = jsonable(call_agent(function, plan.inputs, context))
    except ReplayEnded as ended:
        set_failure(root, ended)
        return 1
    except BaseException as error:
        set_failure(root, error)
        journal.write({"event": "raised", "type": type_name(error), "message": _message(error)})
        traceback.print_exc()
        return 1
    set_outputs(root, outputs)
    rerun.finish()
    journal.write({"event": "returned", "outputs": outputs})
    return 0


def _message(error: BaseException) -> str:
    if isinstance(error, RejudgeError) and error.mend:
        return f"{error.message}; {error.mend}"
    if isinstance(error, SystemExit):
        return f"the agent left with exit code {error.code!r}"
    return str(error)


def _end_soon() -> None:
    timer = threading.Timer(ENDED_GRACE, os._exit, (1,))
    timer.daemon = True
    timer.start()


def _leave(code: int) -> NoReturn:
    """End the process: what the agent left to do at exit gets some seconds, its threads get none."""
    last = threading.Thread(target=atexit._run_exitfuncs, daemon=True)
    last.start()
    last.join(_EXIT_SECONDS)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _leave(run_function(Path(sys.argv[1])))
