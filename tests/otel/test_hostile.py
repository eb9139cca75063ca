"""What is broken costs only itself: no crash, no hang, a refusal that says where and why."""

from __future__ import annotations

import gzip
import json
from typing import Any

import orjson
import pytest
import zstandard

from rejudge.otel import Refusal, assemble
from tests.otel.traces import CHAT, DATA, otlp, spans_in, wire_span

GOOD = orjson.dumps(otlp(wire_span(1, attributes=CHAT)))


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


def nested_value(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"stringValue": "bottom"}
    for _ in range(levels):
        value = {"arrayValue": {"values": [value]}}
    return value


def nested_text(levels: int) -> bytes:
    """A span whose attribute is nested so deep that no parser of documents goes there."""
    inner = '{"arrayValue":{"values":[' * levels + '{"stringValue":"x"}' + "]}}" * levels
    span = json.dumps(wire_span(2, attributes=CHAT)).replace(
        '"attributes": [', '"attributes": [{"key":"deep","value":' + inner + "},"
    )
    return json.dumps(otlp(wire_span(1, attributes=CHAT), {})).replace("{}]", f"{span}]").encode()


@pytest.mark.parametrize(
    ("body", "spans", "reasons"),
    [
        pytest.param(b"", 0, ["empty"], id="empty file"),
        pytest.param(b"\n\n  \n", 0, ["empty"], id="blank lines"),
        pytest.param(b"<html><body>Sign in</body></html>", 0, ["HTML"], id="an HTML page"),
        pytest.param(b"hello, world\n" * 50, 0, ["text that is not JSON"], id="plain text"),
        pytest.param(b"starting up\n" + GOOD + b"\nbye", 1, ["was passed over"], id="text around JSON"),
        pytest.param(b"\x89PNG\r\n\x1a\n" + bytes(64), 0, ["neither JSON nor OTLP protobuf"], id="a picture"),
        pytest.param(b"PK\x03\x04" + bytes(64), 0, ["ZIP"], id="a ZIP archive"),
        pytest.param(b'{"a": 1}\n', 0, ["not of any kind of trace"], id="other JSON"),
        pytest.param(b"[]", 0, ["not of any kind of trace"], id="an empty list"),
        pytest.param(b"null\n42\n", 0, ["not of any kind", "not of any kind"], id="JSON values"),
        pytest.param(GOOD + b"\nnonsense\n" + GOOD, 2, ["not JSON"], id="a bad line between good ones"),
        pytest.param(GOOD + b"\n" + GOOD[:-40], 1, ["not JSON"], id="a cut last line"),
        pytest.param(GOOD[:-3], 1, ["cut short"], id="a cut document"),
        pytest.param(b"\xef\xbb\xbf" + GOOD, 1, [], id="a byte order mark"),
        pytest.param(GOOD.decode().encode("utf-16"), 1, [], id="UTF-16, as PowerShell writes"),
        pytest.param(
            b"\xfe\xff" + (GOOD + b"\n" + GOOD).decode().encode("utf-16-be"), 2, [], id="UTF-16 the other way"
        ),
        pytest.param(gzip.compress(GOOD.decode().encode("utf-16")), 1, [], id="UTF-16 in gzip"),
        pytest.param(GOOD.decode().encode("utf-16")[:-5], 1, ["cut short"], id="cut UTF-16"),
        pytest.param(b"\xff\xfe" + bytes(range(256)) * 40, 0, ["not a trace"], id="no UTF-16 at all"),
        pytest.param(gzip.compress(GOOD + b"\n") + gzip.compress(GOOD), 2, [], id="gzip members behind each other"),
        pytest.param(gzip.compress(GOOD + b"\n") + gzip.compress(GOOD)[:-30], 1, ["cut short"], id="cut gzip"),
        pytest.param(gzip.compress(GOOD) + b"\x1f\x8bgarbage", 1, ["damaged gzip"], id="gzip and garbage"),
        pytest.param(gzip.compress(gzip.compress(GOOD)), 1, [], id="gzip in gzip"),
        pytest.param(zstandard.compress(gzip.compress(GOOD)), 1, [], id="gzip in zstd"),
        pytest.param(zstandard.compress(GOOD) + zstandard.compress(b"\n" + GOOD), 2, [], id="zstd frames"),
        pytest.param(zstandard.compress(GOOD * 50)[:-9], None, ["cut short"], id="cut zstd"),
        pytest.param(nested_text(100_000), 1, ["nested too deep"], id="200,000 levels in a document"),
    ],
)
def test_a_broken_file_is_refused_with_reasons(body: bytes, spans: int | None, reasons: list[str]) -> None:
    refused: list[Refusal] = []

    batch = spans_in(body, refused)

    assert spans is None or len(batch.spans) == spans, [str(refusal) for refusal in refused]
    told = [str(refusal) for refusal in refused]
    assert all(any(reason in text for text in told) for reason in reasons), told
    assert bool(reasons) == bool(told), told


def test_two_thousand_levels_cost_no_more_than_their_span() -> None:
    refused: list[Refusal] = []

    batch = spans_in(nested_text(1_000), refused)
    (recording,) = assemble(batch.spans)

    # How deep its parser goes is Python's own affair: 3.13's goes further than 3.11's.
    assert len(recording.view.nodes) == 2 or "nested too deep" in str(refused[0])


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({"traceId": "abc"}, "'abc'", id="a short trace id"),
        pytest.param({"traceId": "0" * 32}, "zeros", id="a trace id of zeros"),
        pytest.param({"traceId": "g" * 32}, "hex digits", id="a trace id of other letters"),
        pytest.param({"traceId": None}, "no id", id="no trace id"),
        pytest.param({"spanId": "1" * 17}, "hex digits", id="a long span id"),
        pytest.param({"parentSpanId": "xyz"}, "hex digits", id="a bad parent id"),
        pytest.param({"startTimeUnixNano": "yesterday"}, "no time", id="a time in words"),
        pytest.param({"startTimeUnixNano": [1, "2"]}, "no time", id="a time of a wrong kind"),
        pytest.param({"startTimeUnixNano": "9" * 40}, "no time", id="a time beyond 64 bits"),
    ],
)
def test_a_bad_span_is_refused_and_its_neighbours_are_not(fields: dict[str, Any], reason: str) -> None:
    refused: list[Refusal] = []
    bad = {**wire_span(2, attributes=CHAT), **fields}

    batch = spans_in(orjson.dumps(otlp(wire_span(1, attributes=CHAT), bad, wire_span(3, attributes=CHAT))), refused)

    assert [span.span_id for span in batch.spans] == [f"{1:016x}", f"{3:016x}"]
    assert len(refused) == 1
    assert reason in refused[0].reason and refused[0].span is not None and refused[0].line == 1


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"attributes": None}, id="attributes null"),
        pytest.param({"attributes": "none"}, id="attributes a text"),
        pytest.param(
            {"attributes": [None, 3, {"key": 5}, {"key": "x"}, {"value": {}}]}, id="attributes of other kinds"
        ),
        pytest.param({"attributes": [{"key": "n", "value": {"doubleValue": "NaN"}}]}, id="NaN"),
        pytest.param({"attributes": [{"key": "n", "value": {"intValue": "9" * 50}}]}, id="an endless integer"),
        pytest.param({"attributes": [{"key": "n", "value": {"intValue": {"low": 1, "high": 0}}}]}, id="low and high"),
        pytest.param({"attributes": [{"key": "n", "value": nested_value(150)}]}, id="a list in a list, 150 times"),
        pytest.param(
            {"attributes": [{"key": "gen_ai.input.messages", "value": {"stringValue": deep(2_000)}}]},
            id="deep JSON text",
        ),
        pytest.param(
            {"attributes": [{"key": "gen_ai.input.messages", "value": {"stringValue": deep(600)}}]},
            id="less deep JSON text",
        ),
        pytest.param({"events": [None, {"name": None}, {"timeUnixNano": "x"}]}, id="events of other kinds"),
        pytest.param(
            {"links": [None, {"traceId": "x"}], "status": 3, "kind": "nonsense"}, id="links and status of other kinds"
        ),
        pytest.param({"name": None}, id="no name"),
        pytest.param({"startTimeUnixNano": "-5000000000000000"}, id="a time before 1970"),
        pytest.param({"startTimeUnixNano": "9000000000000000000"}, id="a time in 2255"),
        pytest.param({"startTimeUnixNano": "18000000000000000000"}, id="a time in 2540"),
        pytest.param({"endTimeUnixNano": "5"}, id="an end before its start"),
        pytest.param({"parentSpanId": f"{2:016x}"}, id="a span that is its own parent"),
    ],
)
def test_odd_values_neither_crash_nor_cost_the_session(fields: dict[str, Any]) -> None:
    odd = {**wire_span(2, attributes=CHAT), **fields}
    if "attributes" in fields and isinstance(fields["attributes"], list):
        odd["attributes"] = [*wire_span(2, attributes=CHAT)["attributes"], *fields["attributes"]]

    batch = spans_in(json.dumps(otlp(wire_span(1, attributes=CHAT), odd)).encode())
    (recording,) = assemble(batch.spans)

    assert recording.view.session.llm_call_count >= 1
    assert_storable(recording.view.session.decoded().model_dump_json())
    for node in recording.view.nodes:
        assert_storable(node.decoded().model_dump_json())


def assert_storable(text: str) -> None:
    """JSON that a database takes: no NUL, no lone surrogate, no NaN."""
    assert "\\u0000" not in text and "\0" not in text
    text.encode()
    json.loads(text, parse_constant=lambda name: pytest.fail(name))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a\\u0000b", id="NUL"),
        pytest.param("a\\ud800b", id="a lone high surrogate"),
        pytest.param("a\\udc00b", id="a lone low surrogate"),
        pytest.param("\\ud83d\\ude00 \\u2028 \\u202e", id="pairs, line separators, right to left"),
    ],
)
@pytest.mark.parametrize("key", ["gen_ai.agent.name", "gen_ai.input.messages", "some.other", "session.id"])
def test_hostile_text_is_cleaned_before_it_reaches_a_row(text: str, key: str) -> None:
    value = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "X"}]}]).replace("X", text)
    value = value if key == "gen_ai.input.messages" else text
    raw = json.dumps(otlp(wire_span(1, attributes={**CHAT, key: "PLACE"})))
    body = raw.replace("PLACE", value.replace('"', '\\"')).encode()

    batch = spans_in(body)
    (recording,) = assemble(batch.spans)

    assert_storable(recording.view.session.decoded().model_dump_json())
    assert_storable(recording.view.nodes[0].decoded().model_dump_json())
    recording.view.session.external_id.encode()


@pytest.mark.parametrize("key", ["gen_ai.input.messages", "gen_ai.tool.call.arguments", "input.value", "other"])
@pytest.mark.parametrize("levels", [200, 500, 900, 1_000])
def test_deep_values_are_kept_as_text_below_some_depth(key: str, levels: int) -> None:
    value = '{"messages":' * levels + "1" + "}" * levels if levels % 200 else deep(levels)
    span = wire_span(1, attributes={**CHAT, key: value, "openinference.span.kind": "LLM"})

    (recording,) = assemble(spans_in(orjson.dumps(otlp(span))).spans)

    node = recording.view.nodes[0].decoded()
    assert_storable(json.dumps([node.inputs, node.outputs, node.attributes]))


def test_a_cycle_of_parents_is_cut() -> None:
    body = otlp(*(wire_span(number, parent=(number % 3) + 1, attributes=CHAT) for number in (1, 2, 3)))

    batch = spans_in(orjson.dumps(body))
    (recording,) = assemble(batch.spans)

    assert len(recording.view.nodes) + 2 >= 3
    assert not recording.view.session.complete


def test_an_attribute_of_ten_megabytes_is_kept() -> None:
    text = "x" * 10_000_000
    message = orjson.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]}]).decode()

    batch = spans_in(orjson.dumps(otlp(wire_span(1, attributes={**CHAT, "gen_ai.input.messages": message}))))
    (recording,) = assemble(batch.spans)

    assert recording.view.nodes[0].inputs["messages"][0]["parts"][0]["content"] == text
    assert len(recording.spans) < 100_000


def test_a_decompression_bomb_is_refused_early() -> None:
    bomb = zstandard.ZstdCompressor().compress(bytes(600_000_000))
    refused: list[Refusal] = []

    batch = spans_in(bomb, refused)

    assert not batch.spans
    assert refused


def test_protobuf_saves_what_is_good_in_a_cut_body() -> None:
    whole = (DATA / "lc_oi/tools2.traces.00.pb").read_bytes()
    all_spans = len(spans_in(whole).spans)
    refused: list[Refusal] = []

    batch = spans_in(whole[: len(whole) * 2 // 3], refused)

    assert 0 < len(batch.spans) < all_spans
    assert any("cut short" in str(refusal) for refusal in refused), [str(one) for one in refused]
    assert all(refusal.byte is not None for refusal in refused)


def test_protobuf_with_a_broken_span_keeps_the_others() -> None:
    whole = bytearray((DATA / "lc_oi/tools2.traces.00.pb").read_bytes())
    all_spans = len(spans_in(bytes(whole)).spans)
    whole[whole.index(b"input.value")] = 0xFF  # no UTF-8 any more
    refused: list[Refusal] = []

    batch = spans_in(bytes(whole), refused)

    assert len(batch.spans) == all_spans - 1
    assert len(refused) == 1
