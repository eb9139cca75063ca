"""Hearing every span of this process, whichever tracer provider it comes from."""

from __future__ import annotations

from pathlib import Path

from opentelemetry import _logs, trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider

from rejudge.otel.processor import LogHandOver, SpanHandOver
from rejudge.otel.spanfile import SpanFile

_MANY = 1 << 20
"""Attributes on a span: the SDK's default of 128 cuts the flattened messages of some conventions."""


def listen_everywhere(path: Path, service: str) -> None:
    """Write every span and log record of this process to a file, for good.

    A provider of ours is the global one; one that the agent makes for itself is listened to as well. For a
    process that is the agent's alone.
    """
    file = SpanFile(path)
    spans = SpanHandOver(file.ended, started=file.started)
    _listen_to_new_providers(spans)
    provider = new_provider(service)  # listened to already
    trace.set_tracer_provider(provider)
    logs = LoggerProvider(resource=provider.resource, shutdown_on_exit=False)
    logs.add_log_record_processor(LogHandOver(file.emitted))
    _logs.set_logger_provider(logs)


def listen_too(path: Path) -> None:
    """Write every span of this process to a file, beside whatever is done with them already."""
    file = SpanFile(path)
    spans = SpanHandOver(file.ended, started=file.started)
    provider = trace.get_tracer_provider()
    if isinstance(provider, TracerProvider):
        provider.add_span_processor(spans)
        return
    _listen_to_new_providers(spans)
    if isinstance(provider, trace.ProxyTracerProvider):
        trace.set_tracer_provider(new_provider(""))


def new_provider(service: str) -> TracerProvider:
    """A tracer provider that drops nothing."""
    limits = SpanLimits(max_span_attributes=_MANY, max_attributes=_MANY, max_events=_MANY)
    resource = Resource.create({"service.name": service or "agent"})
    return TracerProvider(resource=resource, span_limits=limits, shutdown_on_exit=False)


def _listen_to_new_providers(spans: SpanHandOver) -> None:
    construct = TracerProvider.__init__

    def construct_and_listen(self: TracerProvider, *args: object, **kwargs: object) -> None:
        construct(self, *args, **kwargs)  # type: ignore[arg-type]
        self.add_span_processor(spans)

    TracerProvider.__init__ = construct_and_listen  # type: ignore[method-assign]
