"""`rejudge receive`: an endpoint for OpenTelemetry exporters."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from rejudge.cli.choosing import evaluator_options
from rejudge.cli.import_options import import_options
from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options
from rejudge.errors import RejudgeError

if TYPE_CHECKING:
    from rejudge.api.receiving import Arrival
    from rejudge.models.requests import EvaluatorChoice

_MIB = 1024 * 1024
_TICK = 0.25
_ANNOUNCE_AGAIN = 10.0


@click.command()
@click.option("--agent", required=True, metavar="NAME", help="The agent that these are runs of.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Put on every session. Repeat for several.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=4318, show_default=True, type=click.IntRange(0, 65535), help="0: any that is free.")
@click.option("--token", metavar="TOKEN", help="A bearer token to ask for; or REJUDGE_RECEIVE_TOKEN.")
@click.option(
    "--max-body",
    default=64,
    show_default=True,
    type=click.IntRange(min=1),
    metavar="MIB",
    help="Size of one request, before and after decompression.",
)
@click.option(
    "--spool",
    default=256,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    metavar="MIB",
    help="Requests that may wait to be stored.",
)
@click.option("--announce", is_flag=True, help="Tell Prefect of what arrived, as the event rejudge.session.arrived.")
@import_options
@evaluator_options(required=False)
@output_options
def receive(
    output: Output,
    *,
    agent: str,
    tags: tuple[str, ...],
    host: str,
    port: int,
    token: str | None,
    max_body: int,
    spool: float,
    announce: bool,
    options: Callable[[], Any],
    evaluators: tuple[EvaluatorChoice, ...],
) -> int:
    """Receive traces from OpenTelemetry exporters, and store them as sessions while they come.

    Point an exporter at it with OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf. What was
    answered with 200 is not lost, whatever happens. With --evaluator, every session is judged once it is complete.
    Ctrl-C ends it.
    """
    from rejudge import settings
    from rejudge.api.receiving import Reception

    chosen = settings.current()
    reception = Reception(
        agent=agent,
        tags=tags,
        host=host,
        port=port,
        token=token or chosen.receive_token,
        body_bytes=max_body * _MIB,
        spool_bytes=int(spool * _MIB),
        options=options(),
    )
    with opened() as store:
        if evaluators:
            from rejudge.tasks.judges import find_judges

            find_judges(store.database, evaluators)  # refused now, not when the first session arrives
        follow = _Following(output, store, agent, evaluators, announce=announce)
        with store.sessions.receive(reception, on_arrival=follow.arrived) as receiver:
            _say_where(output, receiver.url, reception)
            follow.until_stopped(lambda: receiver.alive)
        ended = receiver.outcomes
    counts = {name: ended.get(name, 0) for name in ("new", "updated")}
    output.result(counts, f"{counts['new']:,} sessions new, {counts['updated']:,} times one updated")
    return 0


def _say_where(output: Output, url: str, reception: Any) -> None:
    if output.as_json:
        output.document({"url": url, "agent": reception.agent})
    output.note(f"receiving traces of {reception.agent} at {url} (Ctrl-C ends it)")
    if reception.token is None and reception.host not in ("127.0.0.1", "::1", "localhost"):
        output.note("no token is asked for, and this address may be reached from other machines: see --token")


class _Following:
    """What happens to sessions after they arrived, in the main thread: flows want it."""

    def __init__(
        self,
        output: Output,
        store: Any,
        agent: str,
        evaluators: tuple[EvaluatorChoice, ...],
        *,
        announce: bool,
    ) -> None:
        from rejudge.api.arrivals import Waiting

        self._output = output
        self._store = store
        self._agent = agent
        self._evaluators = evaluators
        self._announce = announce
        self._arrived: list[Arrival] = []
        self._lock = threading.Lock()
        self._waiting = Waiting()
        self._unannounced: list[str] = []
        self._announce_again_at = 0.0

    def arrived(self, arrivals: Sequence[Arrival]) -> None:
        """Notes sessions that were stored; called from the receiver's thread."""
        with self._lock:
            self._arrived += arrivals

    def until_stopped(self, alive: Callable[[], bool]) -> None:
        """Judges and announces what arrives until a signal comes."""
        with _stopped_by_signals() as stop:
            while not stop.wait(_TICK):
                if not alive():
                    raise RejudgeError("the receiver ended by itself", mend="its log on stderr says why")
                try:
                    self._follow_up(time.monotonic())
                except KeyboardInterrupt:  # a flow that runs takes the signal, and passes it on as this
                    return

    def _follow_up(self, now: float) -> None:
        with self._lock:
            arrivals, self._arrived = self._arrived, []
        if not (self._evaluators or self._announce):
            return
        self._waiting.add(arrivals, now)
        ready = self._waiting.ready(now)
        if self._announce:
            self._unannounced += ready
            if self._unannounced and now >= self._announce_again_at:
                self._tell_prefect(now)
        if ready and self._evaluators:
            try:
                self._judge(ready)
            except RejudgeError as error:
                self._complain("judging", error)

    def _complain(self, what: str, error: RejudgeError) -> None:
        self._output.note(f"{what} failed: {error.message}" + (f" ({error.mend})" if error.mend else ""))

    def _judge(self, session_ids: list[str]) -> None:
        from rejudge.models.requests import EvaluationRequest
        from rejudge.models.selection import Selection

        request = EvaluationRequest(
            selection=Selection(ids=tuple(session_ids)), evaluators=self._evaluators, mode="changed"
        )
        report = self._store.evaluations.run(request, say=self._output.note)
        self._output.note(report.sentence)

    def _tell_prefect(self, now: float) -> None:
        from rejudge.tasks.announcing import announce_arrivals

        try:
            announce_arrivals(self._agent, self._unannounced)
        except RejudgeError as error:
            self._complain("announcing", error)
            self._announce_again_at = now + _ANNOUNCE_AGAIN
        else:
            self._unannounced = []


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    stop = threading.Event()

    def note(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
