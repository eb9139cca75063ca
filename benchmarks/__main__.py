"""`make bench`: run the benchmarks and print their figures.

    python -m benchmarks                      all of them
    python -m benchmarks scoring import       some
    python -m benchmarks --quick              small sizes: whether they run, not how fast

Times are a property of this machine at this moment. No test reads them.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import psutil

from benchmarks.cases.importing import conversation, importing, large_session, memory
from benchmarks.cases.replaying import replaying
from benchmarks.cases.scoring import scoring
from benchmarks.figures import Figure
from benchmarks.measure import BenchmarkFailed
from benchmarks.place import Place, new_place

BENCHMARKS: Final[Mapping[str, Callable[[Place], Iterator[Figure]]]] = {
    "import": importing,
    "large-session": large_session,
    "conversation": conversation,
    "memory": memory,
    "scoring": scoring,
    "replay": replaying,
}
"""By the name they are asked for."""


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for; 1 where one of them could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="CPU and wall time, by unit of work.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; all where none is given"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: whether they run, not how fast")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the places are removed, and their servers stopped
    memory_gib = psutil.virtual_memory().total / 1024**3
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} processors, {memory_gib:.0f} GiB, {platform.system()}"
    )
    return max([_bench(name, quick=given.quick) for name in given.names or BENCHMARKS])


def _bench(name: str, *, quick: bool) -> int:
    busy = psutil.cpu_percent(interval=0.5)
    print(f"\n{name}" + (f" (the machine is {busy:.0f} % busy with other things)" if busy > 20 else ""), flush=True)
    try:
        with new_place(quick=quick) as place:
            for figure in BENCHMARKS[name](place):
                print(figure.line(), flush=True)
    except BenchmarkFailed as failure:
        print(f"  could not be measured: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
