"""An evaluator version: all that is needed to run it again, as one JSON value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from rejudge.errors import UsageError
from rejudge.models.canonical import digest_of
from rejudge.models.evaluation import check_name

CONTRACT: Final = "1"
"""The contract between rejudge and evaluators. It counts in every fingerprint."""

RESERVED: Final = "rejudge"
"""The namespace of the built-in evaluators."""

TIME_LIMITS: Final[Mapping[str, float]] = {"fast": 60.0, "slow": 300.0}
"""Seconds for one scoring where the evaluator names none, by mode."""

MEMORY_LIMIT: Final = 1024**3
"""Bytes for one scoring where the evaluator names none."""

_REFERENCE = re.compile(r"(?P<name>[^@]+)@(?P<number>latest|[1-9][0-9]{0,8})")


class FingerprintParts(BaseModel):
    """What a fingerprint was computed from, kept so that a change can be named."""

    model_config = ConfigDict(frozen=True)

    contract: str
    attribute: str
    """The callable's name in its module."""
    code: dict[str, str]
    """Digest of the normalised source, by file of the script's folder (``""`` is the script) or by module."""
    parameters: str
    """Digest of the parameter schema."""
    dependencies: dict[str, str]
    """Versions of the distributions it imports."""

    def digest(self) -> str:
        """The fingerprint itself: hex SHA-256."""
        return digest_of(self.model_dump())


class EvaluatorSpec(BaseModel):
    """One evaluator version. It crosses to the worker and into the store as JSON."""

    model_config = ConfigDict(frozen=True)

    name: str = ""
    """Registered name; empty until registered."""
    number: int = 0
    """Version number, from 1; 0 until registered."""
    fingerprint: str
    parts: FingerprintParts
    kind: Literal["script", "package"]
    entrypoint: str
    """``module:attribute``, or ``file.py:attribute`` for a script."""
    sources: dict[str, str] = {}
    """A script and the local modules it imports, by path relative to its folder."""
    source_digest: str | None = None
    """Hex SHA-256 over `sources`; None for a package."""
    parameter_schema: dict[str, Any]
    """JSON Schema of the keyword parameters."""
    is_async: bool = False
    provider: str | None = None
    connection_schema: dict[str, Any] | None = None
    """JSON Schema of the connection it needs; None where it needs none."""
    mode: Literal["fast", "slow"] = "fast"
    """``slow``: it waits for something outside, several at once make sense."""
    time_limit: float = TIME_LIMITS["fast"]
    """Seconds for one scoring."""
    memory_limit: int = MEMORY_LIMIT
    """Bytes its process may hold while it scores."""
    requires_python: str | None = None
    dependencies: tuple[str, ...] | None = None
    """Resolved requirements (``name==version``) of a script with inline dependencies; None where it has none."""
    declared_dependencies: tuple[str, ...] | None = None
    """What the script itself asks for."""
    description: str = ""
    """First line of its docstring."""

    @property
    def file(self) -> str:
        """The script's file, or the module."""
        return self.entrypoint.rpartition(":")[0]

    @property
    def attribute(self) -> str:
        """The callable's name in its module."""
        return self.entrypoint.rpartition(":")[2]

    @property
    def result_name(self) -> str:
        """What a bare result is called: the evaluator's name without its namespace."""
        return self.name.rpartition("/")[2] or self.attribute

    @property
    def is_built_in(self) -> bool:
        """Whether it is one of ours, which change nothing of what they read."""
        return self.name.startswith(f"{RESERVED}/")

    @property
    def reference(self) -> str:
        """``name@number``, or the entrypoint where it is not registered."""
        return f"{self.name}@{self.number}" if self.name and self.number else self.name or self.entrypoint

    def numbered(self, name: str, number: int) -> Self:
        """This version under a registered name and number."""
        return self.model_copy(update={"name": name, "number": number})

    @classmethod
    def stored(cls, spec: Mapping[str, Any], *, name: str, number: int, fingerprint: str) -> Self:
        """The version that a store holds under a name and a number.

        Raises:
            UsageError: Where what is stored is no version, or another one than was registered under this fingerprint.
        """
        try:
            found = cls.model_validate(spec).numbered(name, number)
        except ValidationError as error:
            raise _damaged(f"{name}@{number}") from error
        if found.fingerprint != fingerprint:
            raise _damaged(found.reference)
        return found

    def check_sources(self) -> None:
        """Refuses a stored script that is no longer what was registered.

        Raises:
            UsageError: With the version's reference.
        """
        if self.kind == "script" and digest_of(self.sources) != self.source_digest:
            raise UsageError(
                f"the stored source of {self.reference} is not what was registered: its digest differs",
                mend="registering the same file again puts it right; do not edit stored versions",
            )
        parts = self.parts
        own = parts.attribute == self.attribute and parts.parameters == digest_of(self.parameter_schema)
        if not own or parts.digest() != self.fingerprint:
            raise _damaged(self.reference)


def _damaged(reference: str) -> UsageError:
    return UsageError(
        f"the stored version {reference} does not match its fingerprint",
        mend="registering the same evaluator again puts it right; do not edit stored versions",
    )


def check_evaluator_name(name: str, *, own: bool = True) -> str:
    """The name itself where an evaluator may be called so: at most one ``namespace/``, and not ours.

    Args:
        name: Such as ``refund-check`` or ``acme/refund-check``.
        own: False lets the reserved namespace through.

    Raises:
        UsageError: With the rule that it breaks.
    """
    namespace, _, rest = name.rpartition("/")
    try:
        for part in ([namespace] if "/" in name else []) + [rest]:
            check_name(part, kind="evaluator")
    except ValueError as error:
        raise UsageError(
            f"evaluator name {name!r} is not allowed",
            mend="use letters, digits, '_', '.' or '-', starting and ending in a letter or digit, "
            "with at most one 'namespace/' before it",
        ) from error
    if own and namespace == RESERVED:
        raise UsageError(f"{name!r}: the namespace {RESERVED}/ is reserved for built-in evaluators")
    return name


def parse_reference(text: str, *, bare_means_latest: bool = False) -> tuple[str, int | None]:
    """Name and number of ``name@3`` or ``name@latest`` (None).

    Args:
        text: As the user wrote it.
        bare_means_latest: True where Python is written; the command line wants the version said.

    Raises:
        UsageError: Where it is no reference.
    """
    if bare_means_latest and "@" not in text:
        return check_evaluator_name(text, own=False), None
    match = _REFERENCE.fullmatch(text)
    if match is None:
        name = text.partition("@")[0] or "NAME"
        raise UsageError(
            f"{text!r} is not an evaluator version", mend=f"write {name}@latest, or {name}@ and a number"
        )
    number = match["number"]
    return check_evaluator_name(match["name"], own=False), None if number == "latest" else int(number)
