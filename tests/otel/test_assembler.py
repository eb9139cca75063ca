"""One session whatever way its spans arrive: in any order, twice, in pieces, late, through memory or a file."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable
from dataclasses import replace

import orjson
import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from rejudge.otel import Assembler, Batch, Known, Options, Recording, assemble
from rejudge.otel.packing import pack, unpack
from tests.otel.traces import ANSWERS, CHAT, DATA, digests, otlp, sessions_of, spans_in, spans_of, wire_span

RUNS = [answer["files"] for answer in ANSWERS if answer["scenario"] in ("multi", "handoff", "subagent", "toolerr")]
CLIS = [answer["files"] for answer in ANSWERS if answer["producer"] in ("claude_code", "gemini_cli")]
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}


def named(files: list[str]) -> str:
    return files[0].split(".")[0]


def shuffled(batch: Batch, seed: int = 7) -> Batch:
    chance = random.Random(seed)
    spans, records = batch.spans * 2, batch.logs * 2
    chance.shuffle(spans)
    chance.shuffle(records)
    return Batch(spans, records)


@pytest.mark.parametrize("files", RUNS, ids=named)
def test_order_and_duplicates_change_nothing(files: list[str]) -> None:
    batch = spans_of(*files)
    right = digests(assemble(batch.spans, batch.logs))

    mixed = shuffled(batch)

    assert digests(assemble(mixed.spans, mixed.logs)) == right


@pytest.mark.parametrize("files", RUNS[::6], ids=named)
def test_a_file_on_the_way_changes_nothing(files: list[str]) -> None:
    batch = spans_of(*files)
    right = digests(assemble(batch.spans, batch.logs))

    with Assembler(keep_in_memory=2) as assembler:
        for span in batch.spans:
            assembler.add(Batch([span]))
        assembler.add(Batch([], batch.logs))
        found = digests(assembler.recordings())

    assert found == right


@pytest.mark.parametrize("files", RUNS[::6], ids=named)
def test_kept_spans_give_the_same_session_again(files: list[str]) -> None:
    for recording in sessions_of(*files):
        kept = unpack(recording.spans)

        (again,) = assemble(kept.spans, kept.logs)

        assert again.view.session.digest == recording.view.session.digest
        assert again.spans == recording.spans


@pytest.mark.parametrize(
    "name", ["lc_oi/tools2.traces.00.pb", "pyai2/toolerr.traces.00.pb", "strands/tools2.traces.00.pb"]
)
def test_protobuf_json_and_lines_give_one_digest(name: str) -> None:
    body = (DATA / name).read_bytes()
    right = digests(assemble(spans_in(body).spans))
    document = MessageToDict(ExportTraceServiceRequest.FromString(body))

    names_and_base64 = spans_in(orjson.dumps(document))
    hexed = spans_in(orjson.dumps(with_hex_ids(document), option=orjson.OPT_INDENT_2))
    delimited = spans_in(len(body).to_bytes(4, "big") + body + len(body).to_bytes(4, "big") + body)
    twice = spans_in(body + body)

    assert digests(assemble(names_and_base64.spans)) == right
    assert digests(assemble(hexed.spans)) == right
    assert digests(assemble(delimited.spans)) == right
    assert digests(assemble(twice.spans)) == right


def with_hex_ids(document: dict[str, object]) -> dict[str, object]:
    import base64

    def changed(value: object) -> object:
        if isinstance(value, dict):
            return {
                key: base64.b64decode(item).hex() if key in ("traceId", "spanId", "parentSpanId") else changed(item)
                for key, item in value.items()
            }
        return [changed(item) for item in value] if isinstance(value, list) else value

    return changed(document)  # type: ignore[return-value]


class Store:
    """What a store does with recordings, in memory."""

    def __init__(self) -> None:
        self.held: dict[str, Recording] = {}
        self.count = 0

    def known(self, trace_ids: Collection[str], keys: Collection[tuple[str, str]]) -> Iterable[Known]:
        for identity, recording in self.held.items():
            session = recording.view.session
            if set(recording.trace_ids) & set(trace_ids) or (session.source, session.external_id) in set(keys):
                yield Known(identity, recording.trace_ids, recording.spans)

    def save(self, recordings: Iterable[Recording]) -> None:
        for recording in list(recordings):
            for identity in recording.replaces:
                del self.held[identity]
            self.count += 1
            self.held[f"session-{self.count}"] = recording

    def take(self, batch: Batch, keep_in_memory: int = 1_000) -> None:
        with Assembler(keep_in_memory=keep_in_memory) as assembler:
            assembler.add(batch)
            self.save(assembler.recordings(self.known))

    @property
    def digests(self) -> list[str]:
        return digests(self.held.values())


@pytest.mark.parametrize("keep_in_memory", [1_000, 0], ids=["in memory", "through a file"])
@pytest.mark.parametrize("files", RUNS[::4], ids=named)
def test_spans_that_come_late_join_what_is_stored(files: list[str], keep_in_memory: int) -> None:
    batch = spans_of(*files)
    right = digests(assemble(batch.spans, batch.logs))
    store = Store()

    middle = len(batch.spans) // 2
    store.take(Batch(batch.spans[:middle], batch.logs[::2]), keep_in_memory)
    store.take(Batch(batch.spans[middle:], batch.logs[1::2]), keep_in_memory)

    assert store.digests == right


@pytest.mark.parametrize("keep_in_memory", [1_000, 0], ids=["in memory", "through a file"])
@pytest.mark.parametrize("files", [*RUNS[::4], *CLIS], ids=named)
def test_the_same_again_is_the_same_session(files: list[str], keep_in_memory: int) -> None:
    batch = spans_of(*files)
    store = Store()

    store.take(batch, keep_in_memory)
    before, count = store.digests, len(store.held)
    store.take(spans_of(*files), keep_in_memory)

    assert (store.digests, len(store.held)) == (before, count)
    assert all(recording.replaces for recording in store.held.values())


@pytest.mark.parametrize("files", RUNS[::8], ids=named)
def test_spans_that_come_one_by_one_end_up_the_same(files: list[str]) -> None:
    batch = spans_of(*files)
    store = Store()

    store.take(Batch([], batch.logs))
    for span in shuffled(batch).spans:
        store.take(Batch([span]))

    assert counts(store.held.values()) == counts(assemble(batch.spans, batch.logs))


def counts(recordings: Iterable[Recording]) -> list[tuple[int, int]]:
    """Model and tool calls; a span of no agent that comes alone is noise, and not kept until the rest is there."""
    sessions = [recording.view.session for recording in recordings]
    return sorted((session.llm_call_count, session.tool_call_count) for session in sessions)


def test_a_late_root_that_names_the_session_moves_its_trace() -> None:
    child = spans_in(orjson.dumps(otlp(wire_span(2, parent=1, attributes=CHAT))))
    root = spans_in(orjson.dumps(otlp(wire_span(1, attributes={"session.id": "s-1"}))))
    store = Store()

    store.take(child)
    (first,) = store.held.values()
    store.take(root)
    (second,) = store.held.values()

    assert first.view.session.external_id == f"{1:032x}" and not first.view.session.complete
    assert second.view.session.external_id == "s-1" and second.view.session.complete
    assert second.replaces == ("session-1",)


def test_a_session_is_complete_once_its_root_is_there_and_nothing_is_open() -> None:
    root, call = wire_span(1, attributes=TOOL), wire_span(2, parent=1, attributes=CHAT)
    open_call = {**call, "endTimeUnixNano": "0"}

    def session(*spans: dict[str, object]) -> object:
        (recording,) = assemble(spans_in(orjson.dumps(otlp(*spans))).spans)
        return recording.view.session

    assert session(root, call).complete
    assert not session(call).complete
    assert not session(root, open_call).complete and session(root, open_call).status == "in_progress"


def test_join_on_takes_the_session_from_an_attribute_of_span_or_resource() -> None:
    one = otlp(wire_span(1, trace=1, attributes={**CHAT, "ticket": "T-7"}))
    two = otlp(wire_span(1, trace=2, attributes=CHAT), resource={"ticket": "T-7"})
    batch = spans_in(orjson.dumps(one) + b"\n" + orjson.dumps(two))

    (recording,) = assemble(batch.spans, options=Options(join_on="ticket"))

    assert recording.view.session.external_id == "T-7"
    assert [node.id for node in recording.view.nodes] == [f"{1:032x}:{1:016x}", f"{2:032x}:{1:016x}"]


def test_the_same_session_id_in_two_services_is_two_sessions() -> None:
    bodies = [
        otlp(wire_span(1, trace=n, attributes={**CHAT, "session.id": "s"}), resource={"service.name": name})
        for n, name in ((1, "shop"), (2, "desk"))
    ]
    batch = spans_in(b"\n".join(map(orjson.dumps, bodies)))

    sources = [recording.view.session.source for recording in assemble(batch.spans)]

    assert sources == ["otel:shop", "otel:desk"]


def test_stitching_joins_turns_by_their_history() -> None:
    files = next(answer["files"] for answer in ANSWERS if answer["run"] == "oai_agents_oi__multi")

    apart, joined = sessions_of(*files), sessions_of(*files, options=Options(stitch=True))

    assert (len(apart), len(joined)) == (3, 1)
    assert joined[0].view.session.llm_call_count == sum(one.view.session.llm_call_count for one in apart)


def test_traces_without_an_agent_make_no_session() -> None:
    http = wire_span(1, attributes={"http.method": "GET", "http.status_code": 200})

    assert assemble(spans_in(orjson.dumps(otlp(http))).spans) == []


def test_links_within_the_session_are_kept() -> None:
    linked = {**wire_span(2, attributes=CHAT), "links": [{"traceId": f"{1:032x}", "spanId": f"{1:016x}"}]}
    batch = spans_in(orjson.dumps(otlp(wire_span(1, attributes=TOOL), linked)))

    (recording,) = assemble(batch.spans)

    assert [node.link_ids for node in recording.view.nodes] == [(), (f"{1:016x}",)]


def test_a_conversation_that_repeats_its_history_is_kept_small() -> None:
    history: list[dict[str, object]] = []
    spans, size = [], 0
    chance = random.Random(3)
    for turn in range(1, 101):
        words = " ".join(f"{chance.getrandbits(32):x}" for _ in range(40))
        history += [{"role": "user", "parts": [{"type": "text", "content": f"{turn} {words}"}]}]
        messages = orjson.dumps(history).decode()
        spans.append(
            wire_span(turn, attributes={**CHAT, "gen_ai.conversation.id": "c", "gen_ai.input.messages": messages})
        )
        size += len(messages)
        history += [{"role": "assistant", "parts": [{"type": "text", "content": f"answer {turn} {words[::-1]}"}]}]

    (recording,) = assemble(spans_in(orjson.dumps(otlp(*spans))).spans)

    assert len(recording.spans) <= 0.03 * size
    assert len(recording.view.nodes[-1].inputs["messages"]) == 199


def test_packing_keeps_everything() -> None:
    batch = spans_of("strands/tools2.traces.00.pb", "openai_v2/llmerr.logs.00.pb")

    again = unpack(pack(batch.spans, batch.logs))

    assert [replace(span) for span in again.spans] == [replace(span) for span in batch.spans]
    assert again.logs == batch.logs
