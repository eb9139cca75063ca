"""``rejudge.record``: the spans of one run of an agent, stored as a session."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, TypeVar

from opentelemetry import _logs, trace
from opentelemetry import context as otel_context
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.trace import TracerProvider

from rejudge.models.canonical import JsonValue
from rejudge.otel.processor import LogHandOver, SpanHandOver
from rejudge.otel.span import Batch, LogRecord, Span
from rejudge.replay.active import current_replay, has_root
from rejudge.replay.listening import new_provider
from rejudge.replay.spans import set_failure, set_outputs, start_agent_span
from rejudge.replay.values import jsonable

SAVE_SECONDS: Final = 20.0
"""How long an agent waits for a store that does not answer."""

Ended: TypeAlias = tuple[Batch, str]
"""What was heard of a run, and the external id of its session."""

Function = TypeVar("Function", bound=Callable[..., Any])

_log = logging.getLogger("rejudge")
_NOTHING: Final = object()
_CURRENT: Final = "rejudge-recording"


class record:
    """Record a run of an agent as a session: a context manager (``async with`` too), and a decorator for functions
    and coroutines.

    Whatever writes OpenTelemetry spans meanwhile (an instrumentation, `rejudge.tool`, an adapter) is in the session.
    Recording never breaks the agent: where it cannot be stored, one line is logged, and that is all. In a replay it
    does nothing: the replay records.

    Args:
        agent: The agent's name.
        inputs: What the run is started with; by default what a decorated function is called with (its only argument,
            or its arguments by name), else the first words of the user.
        session: The conversation's id, where a session is made of several runs, one after the other.
        tag: One tag or several.
        save: What to do with the recording instead of storing it.

    Example:
        >>> with record("support", inputs={"message": "hello"}, save=print) as run:  # doctest: +SKIP
        ...     run.outputs = answer({"message": "hello"})
    """

    def __init__(
        self,
        agent: str,
        *,
        inputs: JsonValue = _NOTHING,
        session: str | None = None,
        tag: str | tuple[str, ...] = (),
        save: Callable[[Any], object] | None = None,
    ) -> None:
        self.agent = agent
        self.outputs: Any = _NOTHING
        """Set it to what the run answered; by default the last words of a model."""
        self.saved: Any = None
        """What the store gave back; None where nothing was stored."""
        self._inputs = inputs
        self._session = session
        self._tag = tag
        self._save = save
        self._run: _Run | None = None
        self._root: _Root | None = None

    def __call__(self, function: Function) -> Function:
        """The function, each of its calls recorded as a session of its own."""
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def recorded_coroutine(*args: Any, **kwargs: Any) -> Any:
                async with self._for_call(function, args, kwargs) as run:
                    run.outputs = await function(*args, **kwargs)
                return run.outputs

            return recorded_coroutine  # type: ignore[return-value]

        @wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with self._for_call(function, args, kwargs) as run:
                run.outputs = function(*args, **kwargs)
            return run.outputs

        return recorded  # type: ignore[return-value]

    def __enter__(self) -> Self:
        if current_replay() is None:
            self._run = _started(self.agent, self._inputs)
        elif not has_root():  # the spans of a command agent: whoever started it collects them
            self._root = _Root(self.agent, self._inputs)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace_back: TracebackType | None
    ) -> None:
        self._keep(self._ended(error))

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace_back: TracebackType | None
    ) -> None:
        ended = self._ended(error)
        if ended is not None:
            await asyncio.to_thread(self._keep, ended)  # a store takes its time, and an event loop has none

    def _ended(self, error: BaseException | None) -> Ended | None:
        """End the run's span; what was heard of the run, None where nothing is recorded here."""
        run, self._run = self._run, None
        root, self._root = self._root, None
        try:
            if root is not None:
                root.end(self.outputs, error)
            return (run.end(self.outputs, error), self._session or run.trace_id) if run is not None else None
        except Exception as failure:  # recording never breaks the agent
            self._give_up(failure)
            return None

    def _keep(self, ended: Ended | None) -> None:
        if ended is None:
            return
        try:
            self.saved = _bounded(lambda: self._store(*ended))
        except Exception as failure:  # recording never breaks the agent
            self._give_up(failure)

    def _give_up(self, failure: Exception) -> None:
        _log.warning("rejudge: this run of %r is not recorded: %s", self.agent, _first_line(failure))

    def _for_call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> record:
        inputs = _inputs_of(function, args, kwargs) if self._inputs is _NOTHING else self._inputs
        return record(self.agent, inputs=inputs, session=self._session, tag=self._tag, save=self._save)

    def _store(self, batch: Batch, external_id: str) -> Any:
        from rejudge.replay.storing import recording_of, store_run

        if self._save is not None:
            return self._save(recording_of(batch, external_id))
        return store_run(batch, agent=self.agent, external_id=external_id, tag=self._tag)


class _Root:
    """The span of a whole run, current while the run lasts."""

    def __init__(self, agent: str, inputs: JsonValue) -> None:
        given = inputs is not _NOTHING
        self._span = start_agent_span(agent, jsonable(inputs) if given else None, has_inputs=given)
        self._token = otel_context.attach(trace.set_span_in_context(self._span))
        self.trace_id = trace.format_trace_id(self._span.get_span_context().trace_id)

    def end(self, outputs: Any, error: BaseException | None) -> None:
        """Write how the run ended."""
        if error is not None:
            set_failure(self._span, error)
        elif outputs is not _NOTHING:
            set_outputs(self._span, jsonable(outputs))
        otel_context.detach(self._token)
        self._span.end()


class _Run:
    """One run being recorded."""

    def __init__(self, agent: str, inputs: JsonValue) -> None:
        self._lock = threading.Lock()
        self._ended: list[Span] = []
        self._open: dict[tuple[str, str], Span] = {}
        self._logs: list[LogRecord] = []
        self._traces: set[str] = set()
        self._token = otel_context.attach(otel_context.set_value(_CURRENT, self))
        with _Listener.lock:
            _Listener.runs.add(self)
        self._root = _Root(agent, inputs)
        self.trace_id = self._root.trace_id

    def end(self, outputs: Any, error: BaseException | None) -> Batch:
        """End the run; everything that was heard of it."""
        self._root.end(outputs, error)
        otel_context.detach(self._token)
        with _Listener.lock:
            _Listener.runs.discard(self)
        with self._lock:
            return Batch([*self._ended, *self._open.values()], list(self._logs))

    def started(self, span: Span) -> None:
        with self._lock:
            self._traces.add(span.trace_id)
            self._open[span.trace_id, span.span_id] = span

    def ended(self, span: Span) -> bool:
        with self._lock:
            if self._open.pop((span.trace_id, span.span_id), None) is None:
                return False
            self._ended.append(span)
            return True

    def emitted(self, log: LogRecord) -> None:
        with self._lock:
            if not log.trace_id or log.trace_id in self._traces:
                self._logs.append(log)


class _Listener:
    """What hears the spans of this process, once per provider, and gives each to its run."""

    lock = threading.Lock()
    runs: set[_Run] = set()  # noqa: RUF012
    heard: set[int] = set()  # noqa: RUF012

    @classmethod
    def listen(cls, agent: str) -> None:
        """Hear the global providers; make them where there are none."""
        provider = trace.get_tracer_provider()
        if isinstance(provider, trace.ProxyTracerProvider):
            trace.set_tracer_provider(new_provider(agent))
            provider = trace.get_tracer_provider()
        with cls.lock:
            if isinstance(provider, TracerProvider) and id(provider) not in cls.heard:
                cls.heard.add(id(provider))
                provider.add_span_processor(SpanHandOver(cls._ended, started=cls._started))
            logs = _logs.get_logger_provider()
            if isinstance(logs, LoggerProvider) and id(logs) not in cls.heard:
                cls.heard.add(id(logs))
                logs.add_log_record_processor(LogHandOver(cls._emitted))

    @classmethod
    def _started(cls, span: Span, context: otel_context.Context | None) -> None:
        run = otel_context.get_value(_CURRENT, context)
        if not isinstance(run, _Run):
            run = cls._only_run()
        if run is not None:
            run.started(span)

    @classmethod
    def _ended(cls, span: Span) -> None:
        for run in tuple(cls.runs):
            if run.ended(span):
                return

    @classmethod
    def _emitted(cls, log: LogRecord) -> None:
        run = otel_context.get_value(_CURRENT)
        found = run if isinstance(run, _Run) else cls._only_run()
        if found is not None:
            found.emitted(log)

    @classmethod
    def _only_run(cls) -> _Run | None:
        """A thread inherits no context: what it does belongs to the run there is, if there is but one."""
        runs = tuple(cls.runs)
        return runs[0] if len(runs) == 1 else None


def _started(agent: str, inputs: JsonValue) -> _Run | None:
    try:
        _Listener.listen(agent)
        return _Run(agent, inputs)
    except Exception as failure:  # recording never breaks the agent
        _log.warning("rejudge: this run of %r is not recorded: %s", agent, _first_line(failure))
        return None


def _inputs_of(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> JsonValue:
    if len(args) == 1 and not kwargs:
        return args[0]
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:
        return _NOTHING
    return {name: value for name, value in bound.items() if name not in {"self", "cls"}}


def _bounded(store: Callable[[], Any]) -> Any:
    """What storing gives back; a store that hangs costs the recording, and some seconds."""
    result: list[Any] = []
    failure: list[Exception] = []

    def run() -> None:
        try:
            result.append(store())
        except Exception as error:
            failure.append(error)

    thread = threading.Thread(target=run, name="rejudge-recording", daemon=True)
    thread.start()
    thread.join(SAVE_SECONDS)
    if thread.is_alive():
        raise TimeoutError(f"the store did not answer within {SAVE_SECONDS:g} s")
    if failure:
        raise failure[0]
    return result[0]


def _first_line(failure: Exception) -> str:
    return (str(failure) or type(failure).__name__).partition("\n")[0]
