"""What an evaluator returns, and how a scoring ends."""

from __future__ import annotations

import hashlib
import math
import re
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, TypeAlias

import orjson
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from rejudge.models.canonical import canonical_bytes

DataType: TypeAlias = Literal["float", "bool", "str", "categorical", "unscored"]
Direction: TypeAlias = Literal["higher", "lower", "none"]
ScoringStatus: TypeAlias = Literal[
    "scored",
    "missing_input",
    "not_supported",
    "failed",
    "timed_out",
    "crashed",
    "invalid_result",
    "not_run",
]

SETTLED: Final = frozenset({"scored", "missing_input", "not_supported"})
"""Statuses that a rerun leaves alone: trying again could not change them."""

EVIDENCE_LIMIT: Final = 64 * 1024
"""Bytes of canonical JSON beyond which evidence is replaced by its digest and size."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.\-]{0,253}[A-Za-z0-9])?")


def check_name(name: str, *, kind: str = "result") -> str:
    """The name itself, where it is 1-255 of letters, digits, ``_ . -`` and starts and ends in a letter or digit.

    Raises:
        ValueError: With the name and the rule.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{kind} name {name!r} is not allowed: use 1-255 letters, digits, '_', '.' or '-', "
            "starting and ending in a letter or digit"
        )
    return name


class EvaluationResult(BaseModel):
    """One named, typed result for one session.

    The stored type is derived from what is set: a number in ``score`` is a ``float``, a bool a ``bool``, ``value``
    alone a ``str``, both together ``categorical``, and ``unscored`` says why there is no result. A lone positional
    goes to ``score`` or ``value`` by its type.

    Raises:
        pydantic.ValidationError: For NaN or infinite numbers, bad names, nothing set, or a mixture that has no type.

    Example:
        >>> EvaluationResult(0.9, name="similarity").data_type
        'float'
        >>> EvaluationResult("escalated", name="outcome").data_type
        'str'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    score: bool | int | float | None = None
    value: str | None = None
    passed: bool | None = None
    """A verdict of its own, never derived from the score; None = held back."""
    explanation: str | None = None
    """The sentence read when a gate goes red."""
    unscored: str | None = None
    """Why there is no score; excludes ``score`` and ``value``."""
    min_score: float | None = None
    max_score: float | None = None
    target_score: float | None = None
    direction: Direction = "none"
    """Which way is better; ``none``: a comparison reports a change, not an improvement."""
    evidence: Any = None
    """Small JSON that points at the nodes behind the verdict."""
    cost: Annotated[Decimal, Field(ge=0, lt=10**18)] | None = None
    """What this evaluation itself cost, US dollars."""
    input_tokens: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    output_tokens: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    model: str | None = None
    """The model that answered, where one was asked."""

    def __init__(self, positional: bool | int | float | str | None = None, /, **fields: Any) -> None:
        if positional is not None:
            slot = "value" if isinstance(positional, str) else "score"
            if slot in fields:
                raise TypeError(f"{slot} given twice: positionally and by name")
            fields[slot] = positional
        super().__init__(**fields)

    @field_validator("name")
    @classmethod
    def _name_is_allowed(cls, name: str) -> str:
        return check_name(name)

    @field_validator("score", mode="before")
    @classmethod
    def _score_is_a_finite_number(cls, score: object) -> object:
        if score is None or isinstance(score, bool):
            return score
        if isinstance(score, str) or not hasattr(score, "__float__"):
            raise ValueError(f"score must be a number or a bool, not {type(score).__name__}; text belongs in value")
        if getattr(getattr(score, "dtype", None), "kind", None) == "b":
            return bool(score)  # numpy's own, which is no subclass of bool
        try:
            number = float(score)
        except OverflowError as error:
            raise ValueError("score is too large for a float") from error
        if not math.isfinite(number):
            raise ValueError(f"score must be finite, not {number}; use unscored=... where there is no score")
        return score if isinstance(score, int) else number

    @field_validator("min_score", "max_score", "target_score", mode="after")
    @classmethod
    def _bound_is_finite(cls, bound: float | None) -> float | None:
        if bound is not None and not math.isfinite(bound):
            raise ValueError(f"score bounds must be finite, not {bound}")
        return bound

    @field_validator("evidence")
    @classmethod
    def _evidence_is_small_json(cls, evidence: Any) -> Any:
        if evidence is None:
            return None
        text = canonical_bytes(evidence)
        if len(text) > EVIDENCE_LIMIT:
            return {"omitted": "too large", "bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
        return orjson.loads(text)

    @model_validator(mode="after")
    def _one_type(self) -> EvaluationResult:
        has_result = self.score is not None or self.value is not None
        if self.unscored is not None and (has_result or self.passed is not None):
            raise ValueError(f"{self.name}: unscored excludes score, value and passed")
        if self.unscored is None and not has_result:
            raise ValueError(f"{self.name}: set score, value or unscored")
        bounds = (self.min_score, self.max_score, self.target_score)
        if self.data_type != "float" and any(bound is not None for bound in bounds) and self.unscored is None:
            raise ValueError(f"{self.name}: min_score, max_score and target_score belong to float results only")
        return self

    @property
    def data_type(self) -> DataType:
        """The stored type, derived from what was set."""
        if self.unscored is not None:
            return "unscored"
        if self.value is not None:
            return "str" if self.score is None else "categorical"
        return "bool" if isinstance(self.score, bool) else "float"
