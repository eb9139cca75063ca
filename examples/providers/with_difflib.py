"""What a provider that comes with rejudge looks like: a library imported only when it is chosen.

It stands in ``evaluators/providers/with_NAME.py``; its short name goes into ``SHORT_NAMES`` in ``resolving.py``, its
extra into ``pyproject.toml``, and what switches the library's telemetry off into ``extras.py``.
"""

from __future__ import annotations

import importlib
from typing import Any, ClassVar

from rejudge.errors import UsageError
from rejudge.evaluators.providers import Case, CaseResult, Provider


class DifflibProvider(Provider):
    """The ratio of difflib's sequence matcher; there is no judge, so mode ``llm`` is not supported."""

    name: ClassVar[str] = "difflib"
    threshold: ClassVar[float] = 0.8

    def __init__(self) -> None:
        # In rejudge itself: import_extra("difflib", "difflib", feature="provider 'difflib'")
        try:
            self._library: Any = importlib.import_module("difflib")
        except ImportError as error:
            raise UsageError("provider 'difflib' needs difflib", mend='pip install "rejudge[difflib]"') from error

    def evaluate_by_score(self, case: Case) -> CaseResult:
        """The ratio, 0 to 1."""
        empty = self.empty_answer(case, "score")
        if empty is not None:
            return empty
        score = self._library.SequenceMatcher(a=case.expected, b=case.actual, autojunk=False).ratio()
        return self.result(case, metric="sequence_ratio", score=score, reason=f"ratio {score:.3f}")
