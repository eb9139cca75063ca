"""An answer against its alternatives: which provider calls are made, in which order, and which of them decides."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar, get_args

from rejudge.errors import EvaluationError, NotSupported
from rejudge.evaluators.providers.case import CallMode, Case, CaseResult, Mode
from rejudge.evaluators.providers.provider import Provider

T = TypeVar("T")


async def compare_case(provider: Provider, case: Case, alternatives: Sequence[str], mode: Mode) -> CaseResult:
    """The result that decides: the first that passes, else the last; all calls before it are in its attempts.

    ``score`` makes one score call per alternative, ``llm`` one judge call; ``fallback`` scores first and asks the
    judge only where that did not pass, at once where the provider has no score.

    Args:
        provider: Who scores.
        case: The answer; its own ``expected`` is not looked at.
        alternatives: Expected answers, in order.
        mode: Which calls are made.

    Raises:
        ValueError: No alternatives, or an unknown mode.
        EvaluatorSignal: Whatever the provider raises.
    """
    if mode not in get_args(Mode):
        raise ValueError(f"mode {mode!r} is unknown; use {', '.join(get_args(Mode))}")
    if not alternatives:
        raise ValueError("expected is empty: name at least one answer that would do")
    made: list[CaseResult] = []
    for index, alternative in enumerate(alternatives):
        asked = case.model_copy(update={"expected": alternative})
        async for result in _calls(provider, asked, mode):
            stamped = _stamped(result, asked, provider, index)
            if stamped.passed:
                return stamped.model_copy(update={"attempts": tuple(made)})
            made.append(stamped)
    return made[-1].model_copy(update={"attempts": tuple(made[:-1])})


def compare_case_sync(provider: Provider, case: Case, alternatives: Sequence[str], mode: Mode) -> CaseResult:
    """`compare_case` for those who do not await, inside a running event loop too."""
    return waited(lambda: _and_close(compare_case(provider, case, alternatives, mode)))


def waited(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of a coroutine, in a loop of its own; in another thread where this one has a loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(asyncio.run(make()))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="rejudge-compare")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


async def _and_close(running: Awaitable[T]) -> T:
    from rejudge.evaluators.chat import close

    try:
        return await running
    finally:
        await close()


async def _calls(provider: Provider, case: Case, mode: Mode) -> AsyncIterator[CaseResult]:
    if mode != "llm":
        try:
            yield await _call(provider, case, "score")
        except NotSupported:
            if mode == "score":
                raise
        else:
            if provider.empty_answer(case, "llm") is not None:
                return
    if mode != "score":
        yield await _call(provider, case, "llm")


async def _call(provider: Provider, case: Case, mode: CallMode) -> CaseResult:
    empty = provider.empty_answer(case, mode)
    if empty is not None:
        return empty
    method = provider.evaluate_by_score if mode == "score" else provider.evaluate_by_llm
    returned = method(case)
    result = await returned if inspect.isawaitable(returned) else returned
    if not isinstance(result, CaseResult):
        kind = type(result).__name__
        raise EvaluationError(f"provider {provider.label} returned a {kind}, no CaseResult", retryable=False)
    return result.model_copy(update={"mode": mode})


def _stamped(result: CaseResult, case: Case, provider: Provider, index: int) -> CaseResult:
    threshold = result.threshold if result.threshold is not None else provider.threshold_for(case)
    metadata = {**result.metadata, "alternative": index}
    return result.model_copy(update={"threshold": threshold, "expected": case.expected, "metadata": metadata})
