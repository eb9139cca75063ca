"""`make demo`: from a folder of traces to a verdict on a change, with the commands that a user types.

Needs no key and no network. Everything it makes is in ``examples/.demo/``, which each run makes anew.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).absolute().parent
STEPS = 7
PAYMENTS = 4
"""What the customers of the recorded runs were paid."""

SIGNALS = ("rejudge/cost@latest", "rejudge/latency@latest", "rejudge/tool-call-patterns@latest")
JUDGES = ("refund-check@latest", "rejudge/cost@latest")


class Failed(Exception):
    """A command ended as it should not have."""


class Demo:
    """The commands of the demo, each shown before it is run.

    Args:
        folder: Where they run, and keep what they make.
        environment: Of every command.
    """

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self._environment = environment
        self._began = time.monotonic()
        self._step = 0

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._began

    def step(self, what: str) -> None:
        """Say what comes next."""
        self._step += 1
        print(f"\n[{self._step}/{STEPS}] {what}", flush=True)

    def example(self, name: str) -> str:
        """Path of a file of the examples, as it is typed in the demo's folder."""
        return os.path.relpath(EXAMPLES / name, self.folder)

    def rejudge(self, *arguments: str) -> None:
        """Run a command, shown as it is typed."""
        print(f"  $ rejudge {shlex.join(arguments)}", flush=True)
        self._run([sys.executable, "-m", "rejudge.cli", *arguments])

    def python(self, *arguments: str) -> None:
        """Run a script of the examples."""
        print(f"  $ python {shlex.join(arguments)}", flush=True)
        self._run([sys.executable, *arguments])

    def document(self, *arguments: str) -> Any:
        """What a command says with ``--json``; not shown."""
        command = [sys.executable, "-m", "rejudge.cli", *arguments, "--json"]
        done = subprocess.run(
            command, cwd=self.folder, env=self._environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise Failed(f"rejudge {shlex.join(arguments)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def _run(self, command: list[str]) -> None:
        with subprocess.Popen(
            command,
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as running:
            assert running.stdout is not None
            for line in running.stdout:
                print(f"    {line}" if line.strip() else "", end="" if line.strip() else "\n", flush=True)
        if running.returncode != 0:
            raise Failed(f"that ended with exit code {running.returncode}; what it left is in {self.folder}")


def run(demo: Demo) -> None:
    """All of it, in the order in which a user would."""
    demo.step("Import real traces of seven frameworks, as they left them: OTLP in JSON and protobuf")
    demo.rejudge("session", "import", demo.example("traces"), "--agent", "weather-desk")
    demo.rejudge("session", "list", "--agent", "weather-desk")

    demo.step("Judge them with built-in evaluators (this starts a local Prefect server first)")
    demo.rejudge("session", "evaluate", "--agent", "weather-desk", *_evaluators(SIGNALS))

    demo.step("Record an agent of ours: twelve customers ask a support desk, a scripted model answers")
    demo.python(demo.example("support/record.py"))

    demo.step("Say how to run it again, how to judge it, and which sessions count")
    demo.rejudge("agent", "register", "support", "--entrypoint", f"{demo.example('support/agent.py')}:run")
    demo.rejudge("evaluator", "register", "refund-check", "--script", demo.example("evaluators/refund_check.py"))
    demo.rejudge("cohort", "create", "customers", "--tag", "baseline")

    demo.step("Replay unchanged: the agent's code runs, the recording answers its tools. What differs is noise")
    misses = ("--tools", "history(baseline, on_miss=error_result)")
    demo.rejudge("experiment", "create", "unchanged", *_evaluators(JUDGES), *misses)
    demo.rejudge("experiment", "run", "unchanged", "--cohort", "customers@1")

    demo.step("Replay with a shorter prompt, which leaves a rule out: check the refund policy before you refund")
    prompt = ("--system-prompt", f"@{demo.example('support/prompts/terse.md')}")
    demo.rejudge("experiment", "create", "terse-prompt", *_evaluators(JUDGES), *misses, *prompt)
    demo.rejudge("experiment", "run", "terse-prompt", "--cohort", "customers@1", "--html", "report.html")

    demo.step("Read the verdict from stored rows, and see that no replay paid anybody: only recordings answered")
    verdicts = _verdicts(demo.document("experiment", "compare", "terse-prompt"))
    paid = len((demo.folder / "payments.log").read_text("utf-8").splitlines())
    for name, verdict in verdicts.items():
        print(f"    {name}: {verdict}")
    print(f"    payments.log: {paid} payments, those of step 3")
    if verdicts.get("refund_checked") != "regressed" or paid != PAYMENTS:
        raise Failed(f"the shorter prompt should have regressed, and {PAYMENTS} payments should have been made")


def _verdicts(comparison: Any) -> dict[str, str]:
    return {one["metric"]["name"]: one["verdict"]["word"] for one in comparison["metrics"]}


def say_what_to_type_next(demo: Demo) -> None:
    """The end of it."""
    rejudge = os.path.relpath(Path(sys.executable).with_name("rejudge"), demo.folder)
    print(
        f"""
Done in {demo.seconds:.0f} s. The terse prompt is cheaper, and refunds what nobody checked.

  Report     {os.path.relpath(demo.folder / "report.html")}

Next, in {os.path.relpath(demo.folder)}:

  alias rejudge={rejudge}
  rejudge experiment compare terse-prompt              the verdict again, out of what is stored
  rejudge replay list                                  what was replayed, and how that ended
  rejudge session show 8                               one run, step by step
  rejudge evaluation list --session 8                  what was judged of it
  REJUDGE_HOME=home rejudge up                         Prefect's page with the runs above

Nothing was left running. Your own traces: rejudge session import PATH --agent NAME; see docs/README.md."""
    )


def _evaluators(names: Sequence[str]) -> list[str]:
    return [word for name in names for word in ("--evaluator", name)]


@contextmanager
def model_server() -> Iterator[str]:
    """The address of a scripted model that runs as long as the demo."""
    command = [sys.executable, str(EXAMPLES / "model_server.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def environment(folder: Path, *, model_url: str = "") -> dict[str, str]:
    """Nothing of the user's own store, server or model: the demo neither reads nor touches them."""
    own = ("REJUDGE_", "PREFECT_", "OTEL_", "OPENAI_", "SUPPORT_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    return {
        **kept,
        "REJUDGE_HOME": str(folder / "home"),
        "REJUDGE_EPHEMERAL": "0",
        "OPENAI_BASE_URL": model_url,
        "SUPPORT_LEDGER": str(folder),
        "COLUMNS": "110",
        "PYTHONUTF8": "1",
    }


def stop_prefect(folder: Path) -> None:
    """End the server that a demo in this folder started, if it did."""
    command = [sys.executable, "-m", "rejudge.cli", "down"]
    subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, check=False)


def make_anew(folder: Path) -> None:
    """An empty folder, whatever an earlier demo left there.

    Raises:
        Failed: Where the folder holds something else.
    """
    mark = folder / ".made-by-the-demo"
    if folder.exists():
        if not mark.exists() and any(folder.iterdir()):
            raise Failed(f"{folder} holds something that the demo did not make; name another folder")
        stop_prefect(folder)
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    mark.touch()


def run_in(folder: Path) -> Demo:
    """Run the demo in a folder, and stop there whatever it started."""
    try:
        with model_server() as url:
            print(f"A scripted model answers at {url} (OPENAI_BASE_URL), so that no key is needed.")
            demo = Demo(folder, environment(folder, model_url=url))
            run(demo)
            return demo
    finally:
        stop_prefect(folder)


def main() -> int:
    """Run the demo; 0 where all of it worked."""
    parser = argparse.ArgumentParser(description="From a folder of traces to a verdict on a change.")
    parser.add_argument("--folder", type=Path, default=EXAMPLES / ".demo", help="made anew each time")
    folder: Path = parser.parse_args().folder.absolute()
    print(f"rejudge demo. Everything it makes is in {os.path.relpath(folder)}, made anew each time.", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what is started here is stopped here
    try:
        make_anew(folder)
        say_what_to_type_next(run_in(folder))
    except Failed as failure:
        print(f"\n{failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
