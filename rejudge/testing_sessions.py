"""Sessions in tests: read from a trace file or the store, and judged here, in the test's own process."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rejudge.errors import NotFound, UsageError

if TYPE_CHECKING:
    from rejudge.models import EvaluationResult, SessionView

Evaluator: TypeAlias = "str | Path | Callable[..., Any]"
Choice: TypeAlias = "Evaluator | tuple[Evaluator, Mapping[str, Any]]"


def session_of(source: SessionView | str | int | Path) -> SessionView:
    """A session: itself, the one in a trace file, or a stored one by its id or number.

    Raises:
        NotFound: Where it is not there.
        UsageError: A trace file that holds several sessions, or cannot be read.
    """
    from rejudge.models import SessionView

    if isinstance(source, SessionView):
        return source
    if isinstance(source, Path) or (isinstance(source, str) and _is_path(source)):
        return _traced(Path(source))
    from rejudge.api import open

    with open() as store:
        return store.sessions.get(source)


def judge_session(view: SessionView, evaluators: Sequence[Choice]) -> dict[str, EvaluationResult]:
    """The rows of evaluators on a session, by ``evaluator:row``.

    Args:
        view: The session.
        evaluators: Built-in names (``rejudge/cost``), functions, script files (``checks/refund.py``, with
            ``:function`` where it is not ``evaluate``) or references to registered ones (``refund-check@3``); or
            pairs of one of those and its params.

    Raises:
        UsageError: Where an evaluator is not there, its params do not fit, or two have one name.
        EvaluatorSignal: Whatever an evaluator raises.
    """
    rows: dict[str, EvaluationResult] = {}
    for choice in evaluators:
        chosen, params = choice if isinstance(choice, tuple) else (choice, {})
        name, results = _results(view, chosen, params)
        for row in results:
            key = f"{name}:{row.name}"
            if key in rows:
                raise UsageError(f"two evaluators give {key!r}; name one of the functions otherwise")
            rows[key] = row
    return rows


def _results(
    view: SessionView, chosen: Evaluator, params: Mapping[str, Any]
) -> tuple[str, Sequence[EvaluationResult]]:
    if isinstance(chosen, str):
        from rejudge.evaluators.catalog import BUILT_IN

        built_in = chosen.removesuffix("@latest")
        if built_in in BUILT_IN:
            module_name, attribute = BUILT_IN[built_in].split(":")
            module = importlib.import_module(module_name)
            return built_in, _called(view, getattr(module, attribute), params, built_in, module)
        if built_in.startswith("rejudge/"):
            raise NotFound(f"there is no built-in evaluator {chosen!r}", mend=f"use one of {', '.join(BUILT_IN)}")
        if not _is_script(chosen):
            return chosen, _registered(view, chosen, params)
    if isinstance(chosen, str | Path):
        return _scripted(view, str(chosen), params)
    name = getattr(chosen, "__name__", type(chosen).__name__)
    return name, _called(view, chosen, params, name, inspect.getmodule(chosen))


def _scripted(view: SessionView, script: str, params: Mapping[str, Any]) -> tuple[str, Sequence[EvaluationResult]]:
    """A script as it would be registered: with the modules beside it that it imports."""
    from rejudge.scoring.fingerprint import walk_script
    from rejudge.scoring.load import attribute_of, script_module

    file, _, attribute = script.partition(":") if not Path(script).exists() else (script, "", "")
    path = Path(file)
    try:
        sources = walk_script(path.name, path.parent).sources
    except OSError as error:
        raise NotFound(f"the evaluator {file!r} cannot be read: {error.strerror or error}") from error
    module = script_module(path.name, sources)
    name = attribute or path.stem
    return name, _called(view, attribute_of(module, attribute or "evaluate", path.name), params, name, module)


def _called(
    view: SessionView, function: Callable[..., Any], params: Mapping[str, Any], name: str, module: Any
) -> Sequence[EvaluationResult]:
    from rejudge.evaluators.providers.comparing import waited
    from rejudge.scoring.contract import normalised
    from rejudge.scoring.load import check_params
    from rejudge.scoring.signature import parameters_of

    values = parameters_of(function, where=name).values(params)
    if module is not None:
        check_params(module, values, name)
    returned = function(view.pristine(), **values)
    if inspect.iscoroutine(returned):
        running = returned
        returned = waited(lambda: running)
    return normalised(returned, name.rpartition("/")[2].replace("-", "_"))


def _registered(view: SessionView, reference: str, params: Mapping[str, Any]) -> Sequence[EvaluationResult]:
    from rejudge.api import open
    from rejudge.errors import EvaluationError, MissingInput, NotSupported
    from rejudge.models import EvaluationResult
    from rejudge.models.wire import wire_of

    with open() as store:
        (outcome,) = store.evaluators.test(
            reference if "@" in reference else f"{reference}@latest", sessions=[wire_of(view)], params=params
        )
    if outcome.status == "scored":
        return [EvaluationResult(**result) for result in outcome.results]
    said = outcome.error or outcome.status
    if outcome.status == "missing_input":
        raise MissingInput(said)
    if outcome.status == "not_supported":
        raise NotSupported(said)
    raise EvaluationError(f"{reference} ended {outcome.status}: {said}", retryable=outcome.retryable)


def _traced(path: Path) -> SessionView:
    from rejudge.otel import Assembler, Refusal, read

    if not path.exists():
        raise NotFound(f"there is no trace file {str(path)!r}")
    refused: list[Refusal] = []
    with Assembler() as assembler:
        for batch in read([path], refuse=refused.append):
            assembler.add(batch)
        views = [recording.view for recording in assembler.recordings()]
    if refused:
        raise UsageError(f"{refused[0]} ({len(refused)} such)" if len(refused) > 1 else str(refused[0]))
    if len(views) != 1:
        raise UsageError(
            f"{str(path)!r} holds {len(views)} sessions", mend="give a file that holds one, or a SessionView"
        )
    return views[0]


def _is_path(text: str) -> bool:
    return "/" in text or "\\" in text or Path(text).suffix != "" or Path(text).exists()


def _is_script(text: str) -> bool:
    return Path(text).exists() or Path(text.partition(":")[0]).suffix == ".py"
