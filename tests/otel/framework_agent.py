"""A pydantic-ai agent with its own instrumentation, exporting through the SDK: ``framework_agent.py ENDPOINT``."""

import sys

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pydantic_ai import Agent
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.test import TestModel

provider = TracerProvider(resource=Resource.create({"service.name": "support"}))
provider.add_span_processor(
    BatchSpanProcessor(OTLPSpanExporter(f"{sys.argv[1]}/v1/traces"), schedule_delay_millis=200)
)
agent = Agent(
    TestModel(custom_output_text="Your refund is on its way."),
    name="support",
)
agent.instrument = InstrumentationSettings(tracer_provider=provider)


@agent.tool_plain
def look_up_order(order: str) -> str:
    """Finds an order."""
    return f"order {order} was paid"


agent.run_sync("Where is my refund?")
provider.shutdown()
