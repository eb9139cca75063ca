"""An evaluator's process, from inside: reads frames, loads evaluators, calls them, sends each result at once.

It imports pydantic and orjson only, and is started by `rejudge.scoring.child`.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import threading
import time
from typing import Any, BinaryIO, Final

from rejudge.models.wire import view_of
from rejudge.scoring.calling import Caller
from rejudge.scoring.contract import bounded, encoded, traceback_of
from rejudge.scoring.frames import Frame, pack, read_frame, unpack_session
from rejudge.scoring.load import Loaded, load
from rejudge.scoring.version import EvaluatorSpec

_PR_SET_PDEATHSIG: Final = 1
_COLLECT: Final = (50_000, 20, 100)
"""When garbage is looked for: decoding a long session makes a million objects, and none of them is any."""
_GRACE: Final = 5.0
"""Seconds that an evaluator has to end by itself once the parent is gone."""


def main(requests: int, replies: int, parent: int, concurrency: int) -> None:
    """Serves until the parent closes its end.

    Args:
        requests: Descriptor that frames are read from.
        replies: Descriptor that frames are written to.
        parent: Process id of who started this.
        concurrency: Sessions to work on at once.
    """
    _die_with(parent, requests)
    # What was imported stays: there is nothing to collect in it, neither now nor at the end.
    gc.freeze()
    gc.set_threshold(*_COLLECT)
    gc.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for descriptor in (requests, replies):
        os.set_inheritable(descriptor, False)
    worker = Worker(replies)
    with open(requests, "rb", buffering=1 << 18) as stream:
        if concurrency > 1:
            from rejudge.scoring.concurrent import serve

            serve(worker, stream, concurrency)
        else:
            worker.serve(stream)
    gc.freeze()


class Worker:
    """What one process holds between frames: the loaded evaluators and the way back."""

    def __init__(self, replies: int) -> None:
        self._replies = replies
        self._pid = os.getpid()
        self.loaded: dict[int, Loaded] = {}
        self.caller = Caller()

    def serve(self, stream: BinaryIO) -> None:
        """One frame after the other, until the stream ends."""
        while (frame := read_frame(stream)) is not None:
            if frame.message["do"] == "score":
                self._score(frame)
            else:
                self.answer(frame)

    def send(self, message: Any) -> None:
        """Sends one frame to the parent.

        A process that the evaluator forked and that came back here is none of ours: it ends.
        """
        if os.getpid() != self._pid:
            os._exit(0)
        frame = memoryview(pack(message if isinstance(message, bytes) else encoded(message)))
        try:
            while frame:
                frame = frame[os.write(self._replies, frame) :]
        except OSError as error:  # the evaluator closed our descriptor
            os.write(2, f"rejudge's own pipe is closed: {error}\n".encode())
            os._exit(70)

    def _score(self, frame: Frame) -> None:
        scorings = frame.message["scorings"]
        try:
            view = view_of(unpack_session(frame))
        except Exception as error:  # a damaged session ends its own scorings only
            self.refuse(scorings, error)
            return
        ours = True
        for sequence, number in scorings:
            loaded = self.loaded[number]
            # What one of ours has decoded the next need not; what another may have changed nobody is to see.
            if not (ours and loaded.spec.is_built_in):
                view = view.pristine()
            ours = loaded.spec.is_built_in
            self.send(self.caller.score(sequence, loaded, view))

    def refuse(self, scorings: list[list[int]], error: Exception) -> None:
        """Every scoring of a session that cannot be read ends so."""
        text = f"the session cannot be read: {bounded(traceback_of(error))}"
        for sequence, _ in scorings:
            self.send([sequence, "failed", [], text, False, None, 0.0])

    def answer(self, frame: Frame) -> None:
        """Does what is asked besides scoring, and says how it went."""
        started = time.perf_counter()
        try:
            self.send({"answer": self._do(frame.message), "seconds": time.perf_counter() - started})
        except BaseException as error:  # user code runs in there: sys.exit too is an answer
            self.send({"refused": _refusal(error)})

    def _do(self, message: dict[str, Any]) -> Any:
        if message["do"] == "load":
            spec = EvaluatorSpec.model_validate(message["spec"])
            loaded = load(spec, message["params"])
            self.loaded[message["number"]] = loaded
            return {"is_async": loaded.is_async, "drift": loaded.drift}
        if message["do"] == "inspect":
            from rejudge.scoring.inspection import inspect_target

            return inspect_target(**message["target"])
        return "here"


def _refusal(error: BaseException) -> dict[str, Any]:
    from rejudge.errors import RejudgeError

    if isinstance(error, RejudgeError):
        return {"message": error.message, "mend": error.mend, "usage": True}
    return {"message": bounded(traceback_of(error)), "mend": None, "usage": False}


def _die_with(parent: int, requests: int) -> None:
    """Never outlives the parent, however it ended."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)
    threading.Thread(target=_watch, args=(requests,), name="rejudge-watch", daemon=True).start()


def _watch(requests: int) -> None:
    poll = select.poll()
    poll.register(requests, 0)  # hang-up only: the frames are the main thread's
    while True:
        events = poll.poll()
        if any(event & (select.POLLHUP | select.POLLERR) for _, event in events):
            time.sleep(_GRACE)
            os.killpg(os.getpgrp(), signal.SIGKILL)
        if events:  # POLLNVAL: the evaluator closed it; the main thread ends at its next frame
            return
