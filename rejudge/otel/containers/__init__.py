"""What spans come wrapped in, told by content and never by name; asked in order.

To add one: a file with ``matches(document)`` and ``decode(document, batch, refuse)``, and a line in the tuple.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from rejudge.otel.containers import (
    console,
    jaeger,
    kitaru,
    langfuse,
    langsmith,
    mlflow,
    otlp_json,
    phoenix,
    zipkin,
)
from rejudge.otel.refusal import Malformed
from rejudge.otel.span import Batch

Refuse = Callable[[Malformed], None]


class Container(NamedTuple):
    """One way of wrapping spans in JSON."""

    name: str
    matches: Callable[[Any], bool]
    decode: Callable[[Any, Batch, Refuse], None]


CONTAINERS: Final = (
    Container("otlp", otlp_json.matches, otlp_json.decode),
    Container("console", console.matches, console.decode),
    Container("kitaru", kitaru.matches, kitaru.decode),
    Container("langfuse", langfuse.matches, langfuse.decode),
    Container("langsmith", langsmith.matches, langsmith.decode),
    Container("mlflow", mlflow.matches, mlflow.decode),
    Container("phoenix", phoenix.matches, phoenix.decode),
    Container("jaeger", jaeger.matches, jaeger.decode),
    Container("zipkin", zipkin.matches, zipkin.decode),
)


def decode_document(document: Any, batch: Batch, refuse: Refuse) -> str | None:
    """Append what one JSON document holds to a batch.

    Returns:
        The name of the container, None where no container is like that.
    """
    for container in CONTAINERS:
        if container.matches(document):
            try:
                container.decode(document, batch, refuse)
            except RecursionError:
                refuse(Malformed(f"this {container.name} document is nested too deep"))
            except Exception as error:  # whatever hostile data makes a decoder stumble over costs this document only
                refuse(Malformed(f"this {container.name} document cannot be read: {type(error).__name__}: {error}"))
            return container.name
    return None


__all__ = ["CONTAINERS", "Container", "decode_document"]
