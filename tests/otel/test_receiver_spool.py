"""Between the acknowledgement and the store: nothing is lost, and what cannot be held is not acknowledged."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rejudge.errors import Conflict, StoreError, UsageError
from rejudge.otel.receiver import Drain, Spool
from rejudge.otel.receiver.segments import Record, pack, read_records, segment_numbers, segment_path
from rejudge.otel.receiver.spool import SEGMENT_BYTES, SpoolFull
from tests.otel.receiving import PROTOBUF, Received, receiving, traces

BIG = 2**30


def record(body: bytes, *, encoding: str = "") -> Record:
    return Record("traces", "protobuf", encoding, body, len(body))


def drained(spool: Spool, *, size: int = BIG) -> list[bytes]:
    bodies: list[bytes] = []
    while spool.pending:
        records, place = spool.take(size)
        bodies += [one.body for one in records]
        spool.done(records, place)
    return bodies


def test_gives_requests_back_in_order_and_forgets_them_when_done(tmp_path: Path) -> None:
    spool = Spool(tmp_path, limit=BIG)
    for number in range(5):
        spool.append(record(bytes([number]) * 10))
    first, place = spool.take(25)
    assert [one.body[0] for one in first] == [0, 1]
    assert [one.body[0] for one in spool.take(25)[0]] == [0, 1]
    spool.done(first, place)
    assert [body[0] for body in drained(spool)] == [2, 3, 4]
    spool.close()
    assert segment_numbers(tmp_path) == []


def test_a_restart_finds_what_was_not_done(tmp_path: Path) -> None:
    spool = Spool(tmp_path, limit=BIG)
    for number in range(3):
        spool.append(record(bytes([number])))
    taken, place = spool.take(1)
    spool.done(taken, place)
    spool.close()
    again = Spool(tmp_path, limit=BIG)
    again.append(record(b"new"))
    assert again.pending == 3
    assert drained(again) == [b"\1", b"\2", b"new"]
    again.close()


def test_spans_many_files_and_removes_those_that_are_done(tmp_path: Path) -> None:
    spool = Spool(tmp_path, limit=BIG)
    body = random.Random(1).randbytes(SEGMENT_BYTES // 3)
    for _ in range(10):
        spool.append(record(body))
    assert len(segment_numbers(tmp_path)) == 5
    taken, place = spool.take(4 * len(body))
    spool.done(taken, place)
    assert len(taken) == 4 and len(segment_numbers(tmp_path)) <= 4
    assert drained(spool) == [body] * 6
    spool.close()


@settings(max_examples=60, deadline=None)
@given(bodies=st.lists(st.binary(max_size=40), min_size=1, max_size=5), cut=st.integers(0, 400), junk=st.binary())
def test_a_torn_end_costs_only_itself(tmp_path_factory, bodies: list[bytes], cut: int, junk: bytes) -> None:
    folder = tmp_path_factory.mktemp("spool")
    packed = [pack(record(body)) for body in bodies]
    whole = b"".join(packed)
    kept = whole[: min(cut, len(whole))]
    segment_path(folder, 1).write_bytes(kept + (junk if junk[:4] != b"RJS1" else b""))
    expected, end = [], 0
    for body, data in zip(bodies, packed, strict=True):
        end += len(data)
        if end <= len(kept):
            expected.append(body)
    spool = Spool(folder, limit=BIG)
    spool.append(record(b"new"))
    assert [body for body in drained(spool)][:-1] in (expected, bodies[: len(expected) + 1])
    spool.close()


def test_damage_is_noticed(tmp_path: Path) -> None:
    path = segment_path(tmp_path, 1)
    path.write_bytes(pack(record(b"good")) + pack(record(b"bad")).replace(b"bad", b"BAD"))
    assert [one.body for one, _ in read_records(path)] == [b"good"]


def test_a_full_spool_takes_nothing_but_always_one(tmp_path: Path) -> None:
    spool = Spool(tmp_path, limit=100)
    spool.append(record(b"x" * 500))
    with pytest.raises(SpoolFull, match="1 requests are waiting"):
        spool.append(record(b"x"))
    drained(spool)
    spool.append(record(b"y"))
    spool.close()


def test_two_receivers_do_not_share_a_folder(tmp_path: Path) -> None:
    spool = Spool(tmp_path, limit=BIG)
    with pytest.raises(Conflict, match="another receiver"):
        Spool(tmp_path, limit=BIG)
    spool.close()
    Spool(tmp_path, limit=BIG).close()


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be used"):
        Spool(tmp_path / "file" / "spool", limit=BIG)


def test_many_threads_append_and_nothing_is_lost(tmp_path: Path) -> None:
    spool = Spool(tmp_path, limit=BIG)
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda n=n: [spool.append(record(b"%d.%d" % (n, i))) for i in range(40)])
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        found += drained(spool)
    found += drained(spool)
    assert sorted(found) == sorted(b"%d.%d" % (n, i) for n in range(6) for i in range(40))
    spool.close()


def test_a_killed_writer_loses_nothing_that_it_was_told_is_kept(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from rejudge.otel.receiver.segments import Record
from rejudge.otel.receiver.spool import Spool
spool = Spool(Path(sys.argv[1]), limit=2**30)
number = 0
while True:
    body = b"%08d" % number * 200
    spool.append(Record("traces", "protobuf", "", body, len(body)))
    print(number, flush=True)
    number += 1
"""
    writer = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    for _ in range(30):
        last = int(writer.stdout.readline())
    writer.kill()
    told = [last, *(int(line) for line in writer.stdout.read().split("\n") if line)][-1]
    writer.wait()
    writer.stdout.close()
    spool = Spool(tmp_path, limit=BIG)
    numbers = [int(body[:8]) for body in drained(spool)]
    assert numbers[: told + 1] == list(range(told + 1)) and len(numbers) <= told + 2
    spool.close()


def test_bursts_are_held_back_and_nothing_is_lost(tmp_path: Path) -> None:
    received = Received()
    received.hold.clear()
    sent = 0
    with receiving(tmp_path, received, spool_limit=2_000) as client:
        for number in range(1, 200):
            answer = client.post("/v1/traces", content=traces(number), headers={"content-type": PROTOBUF})
            if answer.status_code != 200:
                break
            sent = number
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert b"waiting" in answer.content
        received.hold.set()
        while client.get("/health").json()["pending_requests"]:
            threading.Event().wait(0.05)
        answer = client.post("/v1/traces", content=traces(sent + 1), headers={"content-type": PROTOBUF})
        assert answer.status_code == 200
    assert received.span_ids == [f"{number:016x}" for number in range(1, sent + 2)]


def test_what_was_acknowledged_waits_for_the_next_receiver(tmp_path: Path) -> None:
    received = Received()
    with receiving(tmp_path, received, draining=False) as client:
        assert client.post("/v1/traces", content=traces(1, 2), headers={"content-type": PROTOBUF}).status_code == 200
    with receiving(tmp_path, received):
        pass
    assert received.span_ids == [f"{1:016x}", f"{2:016x}"]


@pytest.mark.parametrize("errors", [[StoreError("locked")], [ValueError("bug"), ValueError("bug")]], ids=str)
def test_what_fails_to_be_stored_is_tried_again(tmp_path: Path, errors: list[Exception]) -> None:
    received = Received()
    received.errors = list(errors)
    with receiving(tmp_path, received) as client:
        client.post("/v1/traces", content=traces(1), headers={"content-type": PROTOBUF})
        while client.get("/health").json()["pending_requests"]:
            threading.Event().wait(0.05)
    assert received.span_ids == [f"{1:016x}"]


def test_one_request_that_can_never_be_stored_is_set_aside_and_holds_up_nothing(tmp_path: Path) -> None:
    stored: list[str] = []

    def ingest(batch) -> None:
        if any(span.span_id == f"{2:016x}" for span in batch.spans):
            raise ValueError("poison")
        stored.extend(span.span_id for span in batch.spans)

    spool = Spool(tmp_path, limit=BIG)
    for number in (1, 2, 3):
        body = traces(number)
        spool.append(Record("traces", "protobuf", "", body, len(body)))
    drain = Drain(spool, ingest, limit=BIG)
    drain.start()
    drain.stop(within=30)
    assert (stored, spool.pending) == ([f"{1:016x}", f"{3:016x}"], 0)
    assert [path.read_bytes() for path in (tmp_path / "refused").iterdir()] == [traces(2)]
    spool.close()


def test_a_drain_that_is_stopped_while_the_store_is_down_keeps_what_waits(tmp_path: Path) -> None:
    def ingest(batch) -> None:
        raise StoreError("down")

    spool = Spool(tmp_path, limit=BIG)
    body = traces(1)
    spool.append(Record("traces", "protobuf", "", body, len(body)))
    drain = Drain(spool, ingest, limit=BIG)
    drain.start()
    drain.stop(within=0.2)
    assert spool.pending == 1
    spool.close()
