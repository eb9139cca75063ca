"""Labels from Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rejudge.errors import NotFound, UsageError
from rejudge.models.evaluation import EvaluationResult
from rejudge.store.engine import Database
from rejudge.store.evaluations import Evaluation, Label, Wanted, add_labels, list_evaluations
from rejudge.store.selecting import resolve_ids


class Labels:
    """Human evaluations, written directly onto sessions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, session: str, *, name: str, author: str | None = None, **result: Any) -> Evaluation:
        """Adds one label.

        Args:
            session: Id, number, or an unambiguous beginning of an id.
            name: Unique among the labels of its session.
            result: ``score``, ``value``, ``passed``, ``explanation`` and the other fields of `EvaluationResult`.

        Raises:
            Conflict: Where the session has a label of this name; nothing is changed.
            NotFound: Where there is no such session.
            UsageError: For a result that is none.
        """
        return self.add_many([{"session": session, "name": name, "author": author, **result}])[0]

    def add_many(self, labels: Sequence[dict[str, Any]]) -> list[Evaluation]:
        """Adds labels, all or none.

        Args:
            labels: Each with ``session``, ``name``, and what `add` takes; ``where`` says where it was written.
        """
        return add_labels(self._database, [self._label(index, dict(label)) for index, label in enumerate(labels)])

    def import_(self, file: str | Path, *, author: str | None = None) -> Sequence[Evaluation]:
        """Adds the labels of a CSV or JSONL file, all or none.

        Args:
            author: Whose labels they are, where the file does not say.

        Raises:
            UsageError: For a line that is no label, with its number.
        """
        from rejudge.api.label_files import read_labels

        given = {} if author is None else {"author": author}
        return self.add_many([{**given, **fields} for fields in read_labels(Path(file))])

    def list(self, *, session: str | None = None, name: str | None = None) -> list[Evaluation]:
        """Labels in the order they were made; of one session, of one name, or all."""
        session_ids = None if session is None else self._resolve(session)
        return list_evaluations(self._database, Wanted(session_ids=session_ids, name=name, labels=True))

    def _label(self, index: int, fields: dict[str, Any]) -> Label:
        where = fields.pop("where", f"label {index + 1}")
        try:
            session = str(fields.pop("session"))
            [session_id] = self._resolve(session)
            author = fields.pop("author", None)
            return Label(session_id, EvaluationResult(**fields), author)
        except NotFound as error:
            raise NotFound(f"{where}: {error.message}", mend=error.mend) from error
        except KeyError as error:
            raise UsageError(f"{where}: no {error.args[0]} given", mend="name the session") from error
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            reason = f"{place + ': ' if place else ''}{first['msg'].removeprefix('Value error, ')}"
            raise UsageError(f"{where}: {reason}", mend="set score, value or passed with a score") from error

    def _resolve(self, session: str) -> Sequence[str]:
        with self._database.read() as connection:
            return resolve_ids(connection, [session])
