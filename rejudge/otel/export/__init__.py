"""What leaves as telemetry: sessions as OTLP traces or as Kitaru's JSONL, evaluations as OpenTelemetry events."""

from rejudge.otel.export.evaluations import Judged, event_of, request_of
from rejudge.otel.export.kitaru import line_of
from rejudge.otel.export.sending import Sent, send
from rejudge.otel.export.traces import traces_of

__all__ = ["Judged", "Sent", "event_of", "line_of", "request_of", "send", "traces_of"]
