"""What a user may say about an import: redaction, no content; and what it costs by list price."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import orjson
import pytest
from genai_prices import Usage, calc_price

from rejudge.models.session import Session, SessionView
from rejudge.otel import Options, Recording, Redaction, assemble
from rejudge.otel.packing import unpack
from rejudge.otel.prices import estimate
from tests.otel.traces import ANSWERS, CHAT, otlp, sessions_of, spans_in, spans_of, wire_span

SECRETS = ("Paris", "Lima", "A-1009", "°C", "weather desk assistant", "Weather Desk assistant")
WITH_CONTENT = [
    answer["files"]
    for answer in ANSWERS
    if answer["scenario"] in ("tools2", "toolerr", "multi") and answer["producer"] not in ("crewai_oi",)
]


def everything(recording: Recording) -> str:
    kept = unpack(recording.spans)
    view = recording.view
    return " ".join(
        [
            view.session.decoded().model_dump_json(exclude={"error"}),
            *(node.decoded().model_dump_json(exclude={"error"}) for node in view.nodes),
            *(str(span.attributes) + span.name for span in kept.spans),
            *(str(record.body) + str(record.attributes) for record in kept.logs),
        ]
    )


@pytest.mark.parametrize("files", WITH_CONTENT[::3], ids=lambda files: files[0])
def test_without_content_nothing_that_was_said_is_kept(files: list[str]) -> None:
    whole = sessions_of(*files)

    recordings = sessions_of(*files, options=Options(content=False))

    for recording in recordings:
        text = everything(recording)
        assert not [secret for secret in SECRETS if secret in text]
    assert [one.view.session.llm_call_count for one in recordings] == [
        one.view.session.llm_call_count for one in whole
    ]


def redacted(*, attributes: tuple[str, ...] = (), patterns: tuple[str, ...] = (), **said: Any) -> Recording:
    message = orjson.dumps(
        [{"role": "user", "parts": [{"type": "text", "content": said.pop("text", "hello")}]}]
    ).decode()
    span = wire_span(1, attributes={**CHAT, "gen_ai.input.messages": message, "user.email": "a@b.example", **said})
    batch = spans_in(orjson.dumps(otlp(span, resource={"service.name": "shop", "host.name": "db-7"})))
    (recording,) = assemble(batch.spans, options=Options(redact=Redaction(attributes, patterns)))
    return recording


def test_attribute_globs_hide_values_by_name() -> None:
    recording = redacted(attributes=("user.*", "host.name"))

    text = everything(recording)

    assert "a@b.example" not in text and "db-7" not in text and "[redacted]" in text
    assert recording.view.session.source == "otel:shop"


def test_patterns_hide_what_they_match_wherever_it_stands() -> None:
    recording = redacted(patterns=(r"sk-\w+", r"\S+@\S+\.example"), text='key sk-abc123 of "Zoë" a@b.example')

    text = everything(recording)

    assert "sk-abc123" not in text and "a@b.example" not in text and "Zoë" in text
    assert recording.view.nodes[0].incomplete == "redacted"


def test_patterns_see_through_the_escapes_of_json_in_text() -> None:
    escaped = '[{"role":"user","parts":[{"type":"text","content":"M\\u00fcller \\"says\\" hi"}]}]'

    recording = redacted(patterns=("Müller",), **{"gen_ai.output.messages": escaped})

    text = everything(recording)
    assert "Müller" not in text and "fcller" not in text and "says" in text


def test_an_untouched_span_is_not_called_redacted() -> None:
    assert redacted(patterns=("nothing like this",)).view.nodes[0].incomplete != "redacted"


@pytest.mark.parametrize(
    ("provider", "library", "model"),
    [
        ("openai", "openai", "gpt-4o-mini"),
        ("anthropic", "anthropic", "claude-sonnet-4-5"),
        ("gcp.gemini", "google", "gemini-2.5-pro"),
        ("openai", "openai", "gpt-4o-audio-preview"),
        ("deepseek", "deepseek", "deepseek-chat"),
    ],
)
@pytest.mark.parametrize("inputs", [900, 250_000], ids=["short", "past the thresholds"])
def test_prices_are_those_of_the_library(provider: str, library: str, model: str, inputs: int) -> None:
    counts = {"input_tokens": inputs, "output_tokens": 321, "cache_read_tokens": 123}
    if "claude" in model:
        counts["cache_write_tokens"] = 77
    if "audio" in model:
        counts["input_audio_tokens"] = 50
    right = calc_price(Usage(**counts), model, provider_id=library).total_price

    assert estimate(provider, model, None, **counts) == right


def cost(**attributes: Any) -> Session:
    call = {**CHAT, "gen_ai.usage.input_tokens": 1_000, "gen_ai.usage.output_tokens": 100, **attributes}
    batch = spans_in(orjson.dumps(otlp(wire_span(1, attributes=call))))
    (recording,) = assemble(batch.spans)
    return recording.view.session


def test_a_cost_says_where_it_comes_from() -> None:
    estimated, recorded = cost(), cost(**{"operation.cost": 0.25})
    zero, unknown = cost(**{"gen_ai.usage.cost": 0}), cost(**{"gen_ai.request.model": "house-model-1"})

    assert (estimated.cost_status, estimated.cost) == ("estimated", Decimal("0.00021"))
    assert (recorded.cost_status, recorded.cost) == ("recorded", Decimal("0.25"))
    assert zero.cost_status == "estimated"
    assert (unknown.cost_status, unknown.cost) == ("unpriced", None)


def test_what_the_trace_said_the_whole_run_cost_stands_beside_what_its_calls_cost() -> None:
    root = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk", "operation.cost": 0.5}
    called = {**CHAT, "operation.cost": 0.25}
    batch = spans_in(orjson.dumps(otlp(wire_span(1, attributes=root), wire_span(2, parent=1, attributes=called))))
    (recording,) = assemble(batch.spans)

    session = recording.view.session

    assert (session.cost, session.recorded_cost) == (Decimal("0.25"), Decimal("0.5"))


def test_a_call_without_counts_makes_the_cost_partial() -> None:
    counted = {**CHAT, "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 1}
    batch = spans_in(orjson.dumps(otlp(wire_span(1, attributes=counted), wire_span(2, attributes=CHAT))))

    (recording,) = assemble(batch.spans)

    assert recording.view.session.cost_status == "partial"
    assert [node.cost_status for node in recording.view.nodes] == ["estimated", "unpriced"]


def test_prices_do_not_change_the_digest() -> None:
    batch = spans_of("pyai2/tools2.traces.00.pb")

    priced, bare = assemble(batch.spans), assemble(batch.spans, options=Options(price=False))

    assert priced[0].view.session.digest == bare[0].view.session.digest


def view_of(recordings: list[Recording]) -> SessionView:
    (recording,) = recordings
    return recording.view
