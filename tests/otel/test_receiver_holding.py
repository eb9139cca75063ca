"""What waits for its session: joined when it comes, let go when it does not."""

from __future__ import annotations

from pathlib import Path

from rejudge.otel import Options
from rejudge.otel.receiver import Covered, Holding
from rejudge.otel.receiver.holding import HELD_SECONDS
from rejudge.otel.span import Batch, LogRecord, Span


def span(trace: int, number: int = 1) -> Span:
    attributes = {"n": number}
    return Span(
        f"{trace:032x}", f"{number:016x}", None, "http", 1, 2, 1, 0, "", attributes, [], [], {"service.name": "s"}
    )


def log(conversation: str) -> LogRecord:
    return LogRecord("", "", "said", 1, "hello", {"gen_ai.conversation.id": conversation}, {"service.name": "s"})


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_it_joins_what_its_trace_brings_and_is_let_go_once_covered(tmp_path: Path) -> None:
    holding = Holding(tmp_path, options=Options())
    holding.settle(Batch([span(1), span(2)]), Covered())
    joined = holding.join(Batch([span(1, 2)]))
    assert [(one.trace_id[-1], one.attributes["n"]) for one in joined.spans] == [("1", 1), ("1", 2)]
    holding.settle(joined, Covered(trace_ids={f"{1:032x}"}))
    assert len(holding) == 1
    holding.settle(holding.join(Batch([span(2, 2)])), Covered(trace_ids={f"{2:032x}"}))
    assert (len(holding), list(tmp_path.iterdir())) == (0, [])


def test_it_is_there_again_after_a_restart(tmp_path: Path) -> None:
    Holding(tmp_path, options=Options()).settle(Batch([span(1)], [log("c")]), Covered())
    again = Holding(tmp_path, options=Options())
    joined = again.join(Batch([span(1, 2)]))
    assert (joined.spans[0], joined.logs) == (span(1), [log("c")])


def test_a_record_without_a_trace_waits_for_its_conversation(tmp_path: Path) -> None:
    holding = Holding(tmp_path, options=Options())
    holding.settle(Batch(logs=[log("c"), log("d")]), Covered())
    joined = holding.join(Batch([span(1)]))
    assert [one.attributes["gen_ai.conversation.id"] for one in joined.logs] == ["c", "d"]
    holding.settle(joined, Covered(trace_ids={f"{1:032x}"}, keys={("otel:s", "c")}))
    assert [one.attributes["gen_ai.conversation.id"] for one in holding.join(Batch([span(3)])).logs] == ["d"]


def test_what_no_session_comes_for_is_let_go_after_an_hour(tmp_path: Path) -> None:
    clock = Clock()
    holding = Holding(tmp_path, options=Options(), clock=clock)
    holding.settle(Batch([span(1)]), Covered())
    clock.now += HELD_SECONDS - 1
    holding.settle(Batch([span(2)]), Covered())
    assert len(holding) == 2
    clock.now += 2
    holding.settle(Batch(), Covered())
    assert (len(holding), len(list(tmp_path.iterdir()))) == (1, 1)


def test_other_programs_cannot_fill_it(tmp_path: Path) -> None:
    holding = Holding(tmp_path, options=Options(), limit=100)
    for start in range(0, 300, 50):
        holding.settle(Batch([span(start + n) for n in range(1, 51)]), Covered())
    assert len(holding) == 100
    assert len(list(tmp_path.iterdir())) == 2


def test_many_batches_of_one_trace_do_not_pile_up(tmp_path: Path) -> None:
    holding = Holding(tmp_path, options=Options())
    for number in range(1, 20):
        holding.settle(holding.join(Batch([span(1, number)])), Covered())
    assert (len(holding), len(list(tmp_path.iterdir()))) == (19, 1)
