"""Labels on both databases: once a session, all or none, whoever sends them and however many at once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rejudge.api import Store, open
from rejudge.errors import Conflict, NotFound, RejudgeError, UsageError
from rejudge.store.engine import Database
from tests.flows.stored import fill

WRITERS = 20


@pytest.fixture
def store(database: Database) -> Store:
    fill(database, 3)
    return Store(database)


def test_a_label_is_an_evaluation_without_an_evaluator(store: Store) -> None:
    made = store.labels.add(2, name="human_quality", score=True, explanation="Good tone", author="ann")
    [listed] = store.labels.list(session=2)
    assert listed == made
    assert (made.evaluator, made.scoring_id, made.data_type, made.author) == (None, None, "bool", "ann")
    assert store.labels.list(name="other") == []
    assert [row.name for row in store.evaluations.list(session="2")] == ["human_quality"]


TYPES: dict[str, tuple[dict[str, Any], tuple[str, Any, Any, Any]]] = {
    "a number": ({"score": 4}, ("float", 4.0, None, None)),
    "yes or no": ({"score": False, "passed": True}, ("bool", False, None, True)),
    "a word": ({"value": "escalated"}, ("str", None, "escalated", None)),
    "a category": ({"value": "escalated", "score": 2}, ("categorical", 2.0, "escalated", None)),
    "a verdict alone": ({"passed": False}, ("bool", False, None, False)),
}


@pytest.mark.parametrize(("given", "stored"), TYPES.values(), ids=TYPES.keys())
def test_its_type_is_derived(store: Store, given: dict[str, Any], stored: tuple[Any, ...]) -> None:
    store.labels.add("1", name="one", **given)
    [row] = store.labels.list()
    assert (row.data_type, row.score, row.value, row.passed) == stored


def test_a_second_label_of_a_name_is_refused_and_changes_nothing(store: Store) -> None:
    first = store.labels.add(1, name="human_quality", score=True)
    with pytest.raises(Conflict, match=f"session {first.session_id} has a label 'human_quality' already"):
        store.labels.add(first.session_id[:34], name="human_quality", score=False)
    store.labels.add(2, name="human_quality", score=False)
    assert [(row.session_id == first.session_id, row.score) for row in store.labels.list()] == [
        (True, True),
        (False, False),
    ]


def test_text_that_no_database_takes_is_made_storable(store: Store) -> None:
    store.labels.add(1, name="odd", value="a\0b", explanation="half a pair: \ud83d", author="x\0y")
    [row] = store.labels.list()
    assert (row.value, row.explanation, row.author) == ("a\ufffdb", "half a pair: ?", "x\ufffdy")


def test_a_race_of_writers_has_one_winner(store: Store, database_url: str) -> None:
    barrier, ends = threading.Barrier(WRITERS), Counter[str]()

    def write(number: int) -> None:
        with open(database_url) as mine:
            barrier.wait()
            try:
                mine.labels.add(1, name="human_quality", score=number)
                ends["won"] += 1
            except Conflict:
                ends["conflict"] += 1

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ends == {"won": 1, "conflict": WRITERS - 1}
    assert len(store.labels.list()) == 1


FILES: dict[str, tuple[str, str]] = {
    "CSV": (
        "labels.csv",
        'session,name,score,value,passed,explanation,author\n1,tone,0.5,,,"two\nlines",bob\n2,tone,true,,no,,\n'
        "3,tone,,cold,,,\n",
    ),
    "CSV with a byte order mark and Windows line ends": (
        "labels.csv",
        '\ufeffsession,name,score,value,passed,explanation,author\r\n1,tone,0.5,,,"two\nlines",bob\r\n'
        "2,tone,TRUE,,0,,\r\n3,tone,,cold,,,\r\n\r\n",
    ),
    "JSON lines": (
        "labels.jsonl",
        '{"session": 1, "name": "tone", "score": 0.5, "explanation": "two\\nlines", "author": "bob"}\n\n'
        '{"session": "2", "name": "tone", "score": true, "passed": false}\n'
        '{"session": 3, "name": "tone", "value": "cold", "score": null}\n',
    ),
}


@pytest.mark.parametrize(("name", "text"), FILES.values(), ids=FILES.keys())
def test_a_file_of_labels_is_read_whole(store: Store, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    store.labels.import_(tmp_path / name, author="eve")
    assert [(row.score, row.value, row.passed, row.explanation, row.author) for row in store.labels.list()] == [
        (0.5, None, None, "two\nlines", "bob"),
        (True, None, False, None, "eve"),
        (None, "cold", None, None, "eve"),
    ]


HEADING = "session,name,score\n"
WRONG: dict[str, tuple[str, type[RejudgeError], str]] = {
    "a score that is none": (f"{HEADING}1,a,1\n2,a,high\n", UsageError, r"f:3: score: score must be a number"),
    "not a number": (f"{HEADING}1,a,NaN\n", UsageError, r"f:2: score: score must be finite"),
    "no session": (f"{HEADING}1,a,1\n77,a,1\n", NotFound, r"f:3: no session '77'"),
    "nothing said": (f"{HEADING}1,a,1\n2,a,\n", UsageError, r"f:3: a: set score, value or unscored"),
    "several at once": (f"{HEADING}1,a,x\n2,a,1\n3,a,y\n", UsageError, r"f:2: score: .*f:4: score: "),
    "there already": (f"{HEADING}2,a,1\n1,there,1\n", Conflict, r"f:3: session .* has a label 'there' already"),
    "twice in the file": (f"{HEADING}2,a,1\n1,a,1\n2,a,0\n", Conflict, r"f:4: .* 'a' twice, first at .*f:2"),
    "a field that is none": ("session,name,scor\n1,a,1\n2,a,1\n", UsageError, r"f:1: there is no field 'scor'$"),
    "every kind in CSV": (
        f"{HEADING}1,a,1\n2,a\n,b,1\n3,a,x\n",
        UsageError,
        r"f:3: not as many cells.*; .*f:4: no session given; .*f:5: score: ",
    ),
    "every kind in JSON": (
        '{"session": 1, "name": "a", "score": 1}\nno\n[1]\n{"session": 1, "name": "b", "scor": 1}\n{"name": "c"}\n',
        UsageError,
        r"f:2: no JSON: .*; .*f:3: no JSON object; .*f:4: there is no field 'scor'; .*f:5: no session given$",
    ),
    "a cell too few": (f"{HEADING}1,a\n", UsageError, r"f:2: not as many cells"),
    "no name": (f"{HEADING}1,,1\n", UsageError, r"f:2: no name given"),
    "no JSON": ('{"session": 1, "name": "a", "score": 1}\n{"session":\n', UsageError, r"f:2: no JSON"),
    "no object": ('{"session": 1, "name": "a", "score": 1}\n[1]\n', UsageError, r"f:2: no JSON object"),
    "an author that is none": (
        '{"session": 1, "name": "a", "score": 1, "author": {"x": 1}}\n',
        UsageError,
        r"f:1: author: a dict is no name",
    ),
    "a name that is none": ('{"session": 1, "name": ["a"], "score": 1}\n', UsageError, r"f:1: name: "),
    "a session that is none": ('{"session": [1], "name": "a", "score": 1}\n', UsageError, r"f:1: no session given"),
    "no label at all": (HEADING, UsageError, r"holds no label"),
}


@pytest.mark.parametrize(("text", "error", "said"), WRONG.values(), ids=WRONG.keys())
def test_a_file_with_a_line_that_is_no_label_stores_none(
    store: Store, tmp_path: Path, text: str, error: type[RejudgeError], said: str
) -> None:
    store.labels.add(1, name="there", score=1)
    (tmp_path / "f").write_text(text)
    with pytest.raises(error, match=said):
        store.labels.import_(tmp_path / "f")
    assert [row.name for row in store.labels.list()] == ["there"]


def test_many_labels_cost_a_few_queries(store: Store, database: Database) -> None:
    statements: list[str] = []
    note: Callable[..., None] = lambda *given: statements.append(given[2])  # noqa: E731
    from sqlalchemy import event

    event.listen(database.engine, "before_cursor_execute", note)
    made = store.labels.add_many([{"session": n % 3 + 1, "name": f"label-{n}", "score": n} for n in range(2_500)])
    assert len(made) == 2_500 and len(statements) < 20
