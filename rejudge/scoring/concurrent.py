"""Several sessions at once in one process, for evaluators that wait for something outside."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, BinaryIO

from rejudge.models.session import SessionView
from rejudge.models.wire import view_of
from rejudge.scoring.calling import within
from rejudge.scoring.frames import Frame, read_frame, unpack_session
from rejudge.scoring.load import Loaded

if TYPE_CHECKING:
    from rejudge.scoring.worker import Worker


def serve(worker: Worker, stream: BinaryIO, concurrency: int) -> None:
    """Frames until the stream ends; each session is a task, async evaluators await, others get a thread.

    How many sessions are here at once is the parent's choice; each scoring is announced before it is called, so
    that the parent knows which ones are in flight.
    """
    asyncio.run(_serve(worker, stream, concurrency))


async def _serve(worker: Worker, stream: BinaryIO, concurrency: int) -> None:
    loop = asyncio.get_running_loop()
    frames: asyncio.Queue[Frame | None] = asyncio.Queue()
    threads = ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="rejudge-call")

    def read() -> None:
        while True:
            frame = read_frame(stream)
            loop.call_soon_threadsafe(frames.put_nowait, frame)
            if frame is None:
                return

    threading.Thread(target=read, name="rejudge-read", daemon=True).start()
    tasks: set[asyncio.Task[None]] = set()
    while (frame := await frames.get()) is not None:
        if frame.message["do"] != "score":
            worker.answer(frame)
            continue
        task = asyncio.create_task(_session(worker, threads, frame))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    threads.shutdown(wait=False, cancel_futures=True)


async def _session(worker: Worker, threads: ThreadPoolExecutor, frame: Frame) -> None:
    try:
        view = view_of(unpack_session(frame))
    except Exception as error:  # a damaged session ends its own scorings only
        worker.refuse(frame.message["scorings"], error)
        return
    for sequence, number in frame.message["scorings"]:
        worker.send({"begin": sequence})
        loaded = worker.loaded[number]
        started = time.perf_counter()
        try:
            returned = await _called(threads, loaded, view.pristine())
        except BaseException as error:  # SystemExit and KeyboardInterrupt are bugs like any other
            worker.send(worker.caller.failed(sequence, error, started))
        else:
            worker.send(worker.caller.settled(sequence, loaded, returned, started))


async def _called(threads: ThreadPoolExecutor, loaded: Loaded, view: SessionView) -> object:
    if loaded.is_async:
        return await within(loaded.spec.time_limit, loaded.call(view))
    returned = await asyncio.get_running_loop().run_in_executor(threads, _call, loaded, view)
    if isinstance(returned, _Raised):
        raise returned.error
    return await within(loaded.spec.time_limit, returned) if inspect.isawaitable(returned) else returned


class _Raised:
    """An exception carried out of a thread as a value: a future refuses StopIteration, and SystemExit ends a loop."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def _call(loaded: Loaded, view: SessionView) -> object:
    try:
        return loaded.call(view)
    except BaseException as error:
        return _Raised(error)
