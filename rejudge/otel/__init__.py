"""OpenTelemetry traces of agents, read from anything and assembled into sessions.

`read` gives batches of normalised spans; `assemble` makes sessions of what is in memory; `Assembler` does the same
for any amount, with what a store already holds.
"""

from rejudge.models.recording import Recording
from rejudge.otel.assembler import Assembler, Known, assemble
from rejudge.otel.options import Options, Redaction
from rejudge.otel.read import read, read_bytes
from rejudge.otel.refusal import Refusal
from rejudge.otel.span import Batch, LogRecord, Span, SpanEvent, SpanLink

__all__ = [
    "Assembler",
    "Batch",
    "Known",
    "LogRecord",
    "Options",
    "Recording",
    "Redaction",
    "Refusal",
    "Span",
    "SpanEvent",
    "SpanLink",
    "assemble",
    "read",
    "read_bytes",
]
