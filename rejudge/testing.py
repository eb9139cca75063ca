"""Answers and sessions in tests: `compare` and `assert_session` raise an AssertionError, and nothing else does.

Example:
    >>> compare("The refund was sent.", expected=["the refund was sent"])
    >>> compare("Paris", expected=["London", "paris"], return_result=True).passed
    True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

if TYPE_CHECKING:
    from pathlib import Path

    from rejudge.evaluators.providers.case import CaseResult, Mode
    from rejudge.models import EvaluationResult, SessionView
    from rejudge.testing_sessions import Choice

__all__ = ["ComparisonFailed", "SessionFailed", "assert_session", "compare"]


class ComparisonFailed(AssertionError):
    """The answer matches none of the expected ones; ``result`` is the one that decided."""

    def __init__(self, message: str, result: CaseResult) -> None:
        super().__init__(message)
        self.result = result


class SessionFailed(AssertionError):
    """An evaluator says that the session does not pass; ``rows`` are all the rows by ``evaluator:row``."""

    def __init__(self, message: str, rows: Mapping[str, EvaluationResult]) -> None:
        super().__init__(message)
        self.rows = rows


@overload
def compare(
    actual: object,
    expected: Sequence[str] | str,
    *,
    user_input: str | None = ...,
    threshold: float | None = ...,
    mode: Mode = ...,
    provider: str = ...,
    options: Mapping[str, Any] | None = ...,
    context: Sequence[str] = ...,
    criteria: str | None = ...,
    return_result: Literal[False] = ...,
) -> None: ...


@overload
def compare(
    actual: object,
    expected: Sequence[str] | str,
    *,
    user_input: str | None = ...,
    threshold: float | None = ...,
    mode: Mode = ...,
    provider: str = ...,
    options: Mapping[str, Any] | None = ...,
    context: Sequence[str] = ...,
    criteria: str | None = ...,
    return_result: Literal[True],
) -> CaseResult: ...


def compare(
    actual: object,
    expected: Sequence[str] | str,
    *,
    user_input: str | None = None,
    threshold: float | None = None,
    mode: Mode = "score",
    provider: str = "rejudge",
    options: Mapping[str, Any] | None = None,
    context: Sequence[str] = (),
    criteria: str | None = None,
    return_result: bool = False,
) -> CaseResult | None:
    """Nothing where an answer matches one of the expected ones; the first that passes decides.

    Args:
        actual: The answer: a text, or what an agent returned.
        expected: Answers that would do, in order.
        user_input: What the answer answers.
        threshold: From which score on it passes, 0 to 1; None: the provider's own.
        mode: ``score`` offline, ``llm`` by a judge, ``fallback``: the judge only where the score does not pass.
        provider: ``rejudge``, ``deepeval``, ``opik``, ``jev``, or a dotted path to a `Provider` of your own.
        options: Keyword arguments of the provider.
        context: Texts that the answer should rest on.
        criteria: What a judge is to look at.
        return_result: Give back the result that decided, with every call in its attempts, instead of raising.

    Raises:
        ComparisonFailed: An AssertionError, where none passes.
        ValueError: No expected answers, or an unknown mode.
        UsageError: A provider that is not there.
        EvaluatorSignal: What the provider raises passes through.
    """
    __tracebackhide__ = True  # pytest shows the test's own line
    from rejudge.evaluators.answer_text import answer_text
    from rejudge.evaluators.providers import Case, compare_case_sync, resolve_provider

    alternatives = [expected] if isinstance(expected, str) else list(expected)
    case = Case(
        actual=answer_text(actual),
        user_input=user_input,
        threshold=threshold,
        context=tuple(context),
        criteria=criteria,
    )
    result = compare_case_sync(resolve_provider(provider, options), case, alternatives, mode)
    if return_result:
        return result
    if not result.passed:
        raise ComparisonFailed(failure_text(case.actual, alternatives, result), result)
    return None


def assert_session(
    session: SessionView | str | int | Path, *, evaluators: Sequence[Choice], decided: bool = False
) -> dict[str, EvaluationResult]:
    """The rows of evaluators on one session, where none of them says that it does not pass.

    Args:
        session: A session, a trace file that holds one, or the id or number of a stored one.
        evaluators: Built-in names (``rejudge/cost``), functions, script files, or references to registered
            evaluators; each alone or as a pair with its params.
        decided: Whether a row that holds its verdict back fails the test too, where every row should have one.

    Returns:
        The rows by ``evaluator:row``.

    Raises:
        SessionFailed: An AssertionError, with the rows that do not pass.
        UsageError: An evaluator or a session that is not there, or params that do not fit.
        EvaluatorSignal: Where an evaluator cannot score.

    Example:
        >>> from rejudge import Node, Session, SessionView
        >>> view = SessionView(Session(id="s"), [Node(id="a", index=0, node_type="tool_call", tool_name="search")])
        >>> rows = assert_session(view, evaluators=[("rejudge/tool-policy", {"required_tools": ["search"]})])
        >>> rows["rejudge/tool-policy:required_tools"].passed
        True
    """
    __tracebackhide__ = True
    from rejudge.testing_sessions import judge_session, session_of

    rows = judge_session(session_of(session), evaluators)
    failed = {key: row for key, row in rows.items() if row.passed is False or (decided and row.passed is None)}
    if failed:
        lines = [f"{len(failed)} of {len(rows)} rows do not pass"]
        lines += [f"  {key}: {_short(row.explanation or 'no explanation')}" for key, row in failed.items()]
        raise SessionFailed("\n".join(lines), rows)
    return rows


def failure_text(actual: str, alternatives: Sequence[str], result: CaseResult) -> str:
    """What stands in the test's output: the answers side by side, and every call with its score."""
    lines = ["the answer matches none of the expected ones", f"  actual:   {_short(actual)}"]
    lines += [f"  expected: {_short(alternative)}" for alternative in alternatives]
    for call in (*result.attempts, result):
        score = "not scored" if call.score is None else f"{call.score:.3f}, needs {call.threshold:g}"
        reason = f": {_short(call.reason)}" if call.reason else ""
        where = f"expected answer {call.metadata.get('alternative', 0) + 1}"
        lines.append(f"  {call.provider} {call.metric} ({call.mode}, {where}) {score}{reason}")
    return "\n".join(lines)


def _short(text: str, limit: int = 300) -> str:
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")
