"""Whatever is sent, the receiver answers: with a verdict or with a refusal, never with anything else."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from rejudge.otel.receiver.decoding import Verdict, inspect
from rejudge.otel.receiver.encoding import decompress
from rejudge.otel.receiver.refused import Refused
from tests.otel.agent_spans import content_logs, request

LIMIT = 200_000
PACKERS = {"gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstandard.compress}
VALID = request("chat", "tool", "root")

NAMES = (
    *("resourceSpans", "resourceLogs", "scopeSpans", "scopeLogs", "spans", "logRecords", "resource", "scope", "name"),
    *("attributes", "key", "value", "stringValue", "intValue", "kvlistValue", "arrayValue", "values", "traceId"),
    *("spanId", "startTimeUnixNano", "endTimeUnixNano", "status", "code", "events", "links", "body", "kind"),
)

JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(), inner, max_size=4)
    ),
    max_leaves=20,
)


def verdict_or_refusal(body: bytes, kind: Any, form: Any) -> Verdict | Refused:
    try:
        return inspect(body, kind, form)
    except Refused as error:
        assert error.status == 400
        return error


@given(st.binary(), st.sampled_from(["traces", "logs"]), st.sampled_from(["protobuf", "json"]))
def test_any_bytes(body: bytes, kind: str, form: str) -> None:
    verdict_or_refusal(body, kind, form)


@settings(max_examples=200)
@given(JSON, st.sampled_from(["traces", "logs"]))
def test_any_json(value: Any, kind: str) -> None:
    verdict_or_refusal(json.dumps(value).encode("utf-8", "surrogatepass"), kind, "json")


@settings(max_examples=200)
@given(st.integers(0, len(VALID)), st.integers(0, len(VALID)), st.binary(max_size=8))
def test_a_request_with_some_bytes_changed(start: int, end: int, put: bytes) -> None:
    verdict_or_refusal(VALID[: min(start, end)] + put + VALID[max(start, end) :], "traces", "protobuf")


@pytest.mark.parametrize("kind", ["traces", "logs"])
def test_a_request_cut_anywhere(kind: Any) -> None:
    whole = VALID if kind == "traces" else content_logs()
    for end in range(len(whole)):
        verdict_or_refusal(whole[:end], kind, "protobuf")


@settings(max_examples=200)
@given(st.binary(max_size=300), st.sampled_from(sorted(PACKERS)), st.integers(0, 400), st.binary(max_size=5))
def test_a_compressed_body_comes_back_whole_or_is_refused(body: bytes, name: str, cut: int, junk: bytes) -> None:
    packed = PACKERS[name](body)
    assert decompress(packed, name, limit=LIMIT) == body
    for damaged in (packed[: min(cut, len(packed) - 1)], packed + junk, junk + packed):
        try:
            decompress(damaged, name, limit=LIMIT)
        except Refused as error:
            assert error.status in (400, 413)


@settings(max_examples=30)
@given(st.sampled_from(sorted(PACKERS)), st.integers(1, 50))
def test_nothing_grows_beyond_the_limit(name: str, times: int) -> None:
    packed = PACKERS[name](b"\0" * (LIMIT * times))
    if times == 1:
        assert len(decompress(packed, name, limit=LIMIT)) == LIMIT
        return
    with pytest.raises(Refused, match="larger than"):
        decompress(packed, name, limit=LIMIT)
