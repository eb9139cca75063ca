"""Labels from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from rejudge.api.label_files import WrongLine, read_labels
from rejudge.errors import NotFound, UsageError
from rejudge.models.evaluation import EvaluationResult
from rejudge.store.engine import Database
from rejudge.store.evaluations import Evaluation, Label, Wanted, add_labels, list_evaluations
from rejudge.store.selecting import find_ids, no_session, resolve_ids

_SHOWN: Final = 5
"""Labels that are wrong, named in one message."""


class Labels:
    """Human evaluations, written directly onto sessions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, session: str | int, *, name: str, author: str | None = None, **result: Any) -> Evaluation:
        """Adds one label.

        Args:
            session: Id, number, or an unambiguous beginning of an id.
            name: Unique among the labels of its session.
            result: ``score``, ``value``, ``passed``, ``explanation`` and the other fields of `EvaluationResult`.
                A verdict alone (``passed``) is a yes or a no.

        Raises:
            Conflict: Where the session has a label of this name; nothing is changed.
            NotFound: Where there is no such session.
            UsageError: For a result that is none.
        """
        return self.add_many([{"session": session, "name": name, "author": author, "where": "", **result}])[0]

    def add_many(self, labels: Sequence[Mapping[str, Any]]) -> Sequence[Evaluation]:
        """Adds labels, all or none.

        Args:
            labels: Each with ``session``, ``name``, and what `add` takes; ``where`` says where it was written.

        Raises:
            Conflict: Where a session has a label of this name, or is given two.
            NotFound: Where a session is not there.
            UsageError: With every label that is none.
        """
        given = [{"where": f"label {number}", **label} for number, label in enumerate(labels, start=1)]
        if not given:
            return []
        return self._add([_read(fields) for fields in given])

    def import_(self, file: str | Path, *, author: str | None = None) -> Sequence[Evaluation]:
        """Adds the labels of a CSV or JSONL file, all or none.

        Args:
            author: Whose labels they are, where the file does not say.

        Raises:
            UsageError: For lines that are no labels, with their numbers.
        """
        given = {} if author is None else {"author": author}
        lines = read_labels(Path(file))
        return self._add([line if isinstance(line, WrongLine) else _read({**given, **line}) for line in lines])

    def list(self, *, session: str | int | None = None, name: str | None = None) -> list[Evaluation]:
        """Labels in the order they were made; of one session, of one name, or all."""
        session_ids = None
        if session is not None:
            with self._database.read() as connection:
                session_ids = resolve_ids(connection, [str(session)])
        return list_evaluations(self._database, Wanted(session_ids=session_ids, name=name, labels=True))

    def _add(self, read: Sequence[Label | WrongLine]) -> Sequence[Evaluation]:
        wrong = [one for one in read if isinstance(one, WrongLine)]
        if wrong:
            said = _joined([one.where for one in wrong], [one.reason for one in wrong])
            raise UsageError(said, mend=wrong[0].mend)
        return add_labels(self._database, self._placed([one for one in read if isinstance(one, Label)]))

    def _placed(self, labels: Sequence[Label]) -> Sequence[Label]:
        """The labels with the full ids of their sessions."""
        with self._database.read() as connection:
            ids = find_ids(connection, (label.session_id for label in labels))
        missing = [label for label in labels if label.session_id not in ids]
        if missing:
            errors = [no_session(label.session_id) for label in missing]
            said = _joined([label.where for label in missing], [error.message for error in errors])
            raise NotFound(said, mend=errors[0].mend)
        return [replace(label, session_id=ids[label.session_id]) for label in labels]


def _read(given: Mapping[str, Any]) -> Label | WrongLine:
    """A label whose session is named as it was given."""
    fields = dict(given)
    where, session, author = fields.pop("where"), fields.pop("session", None), fields.pop("author", None)
    if isinstance(session, bool) or not isinstance(session, str | int) or session == "":
        return WrongLine(where, "no session given", "name a session by its number or id")
    if author is not None and not isinstance(author, str):
        return WrongLine(where, f"author: a {type(author).__name__} is no name")
    if isinstance(fields.get("passed"), bool) and fields.get("score") is None and fields.get("value") is None:
        fields["score"] = fields["passed"]
    try:
        return Label(str(session), EvaluationResult(**fields), author, where)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        reason = f"{place + ': ' if place else ''}{first['msg'].removeprefix('Value error, ')}"
        return WrongLine(where, reason, "give a score, a value, or passed" if "set score, value" in reason else None)


def _joined(places: Sequence[str], reasons: Sequence[str]) -> str:
    lines = [f"{place}: {reason}" if place else reason for place, reason in zip(places, reasons, strict=True)]
    more = f"; and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return "; ".join(lines[:_SHOWN]) + more
