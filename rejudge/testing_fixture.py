"""The ``rejudge`` fixture: `compare` and `assert_session` under the project's settings, every score noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejudge import testing
from rejudge.testing_settings import TestingSettings

if TYPE_CHECKING:
    from rejudge.evaluators.providers.case import CaseResult, Mode
    from rejudge.models import EvaluationResult, SessionView
    from rejudge.testing_sessions import Choice


class Rejudge:
    """What a test is given.

    Args:
        settings: What holds where a call does not say.
        note: Told of every score: name, score or value, verdict, and what to say beside it.
    """

    def __init__(self, settings: TestingSettings, note: Note) -> None:
        self.settings = settings
        self._note = note

    def compare(
        self,
        actual: object,
        expected: Sequence[str] | str,
        *,
        user_input: str | None = None,
        threshold: float | None = None,
        mode: Mode | None = None,
        provider: str | None = None,
        options: Mapping[str, Any] | None = None,
        context: Sequence[str] = (),
        criteria: str | None = None,
        return_result: bool = False,
    ) -> CaseResult:
        """`rejudge.testing.compare`, with the result given back in either case; raises where none passes."""
        __tracebackhide__ = True
        from rejudge.evaluators.money import amount_text

        chosen = provider or self.settings.provider
        result = testing.compare(
            actual,
            expected,
            user_input=user_input,
            threshold=self.settings.threshold if threshold is None else threshold,
            mode=mode or self.settings.mode,
            provider=chosen,
            options=options if options is not None or provider is not None else self.settings.options,
            context=context,
            criteria=criteria,
            return_result=True,
        )
        needs = "" if result.threshold is None else f"needs {result.threshold:g}, "
        calls = len(result.attempts) + 1
        cost = "" if result.total_cost is None else f", {amount_text(result.total_cost)} USD"
        beside = f"{needs}{result.mode}, {calls} call{'s' if calls > 1 else ''}{cost}"
        self._note(f"{result.provider}.{result.metric}", result.score, result.passed, beside)
        if not return_result and not result.passed:
            from rejudge.evaluators.answer_text import answer_text

            alternatives = [expected] if isinstance(expected, str) else list(expected)
            raise testing.ComparisonFailed(testing.failure_text(answer_text(actual), alternatives, result), result)
        return result

    def assert_session(
        self, session: SessionView | str | int | Path, *, evaluators: Sequence[Choice], decided: bool = False
    ) -> dict[str, EvaluationResult]:
        """`rejudge.testing.assert_session`."""
        __tracebackhide__ = True
        try:
            rows: Mapping[str, EvaluationResult] = testing.assert_session(
                session, evaluators=evaluators, decided=decided
            )
        except testing.SessionFailed as failed:
            self._note_rows(failed.rows)
            raise
        self._note_rows(rows)
        return dict(rows)

    def _note_rows(self, rows: Mapping[str, EvaluationResult]) -> None:
        for key, row in rows.items():
            self._note(key, row.score if row.value is None else row.value, row.passed, row.explanation or "")


class Note:
    """Where scores are noted: the test's properties, which end in JUnit files and in the summary."""

    def __init__(self, properties: list[tuple[str, object]]) -> None:
        self._properties = properties

    def __call__(self, name: str, score: object, passed: bool | None, beside: str) -> None:
        """Note one score."""
        verdict = {True: "passed", False: "failed", None: "no verdict"}[passed]
        shown = "not scored" if score is None else f"{score:.4g}" if isinstance(score, float) else str(score)[:200]
        self._properties.append((f"rejudge.{name}", _plain(f"{shown} | {verdict} | {beside}")))


def _plain(text: str) -> str:
    """Recorded text without what would move a terminal's cursor or break an XML file."""
    return "".join(character if character.isprintable() else " " for character in text)[:500]
