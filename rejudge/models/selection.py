"""Which sessions: exactly one way of naming them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, model_validator

WAYS = ("ids", "tag", "agent", "cohort", "filter", "all")


class Selection(BaseModel):
    """Exactly one way of naming sessions.

    Raises:
        pydantic.ValidationError: Where none or several are given, or an id is named twice.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ids: tuple[str, ...] | None = None
    """Session ids, numbers, or unambiguous beginnings of ids."""
    tag: str | None = None
    agent: str | None = None
    cohort: str | None = None
    """``name@version`` or ``name@latest``."""
    filter: str | None = None
    """An expression over session fields, such as ``status == "failed" and cost > 0.1``."""
    all: bool = False

    @model_validator(mode="after")
    def _exactly_one(self) -> Selection:
        given = [way for way in WAYS if getattr(self, way) not in (None, False)]
        if len(given) != 1:
            found = "none is" if not given else f"{', '.join(given)} are"
            raise ValueError(f"give exactly one of {', '.join(WAYS)}: {found} given")
        if self.ids is not None and len(set(self.ids)) != len(self.ids):
            twice = sorted({one for one in self.ids if self.ids.count(one) > 1})
            raise ValueError(f"session given twice: {', '.join(twice)}")
        return self

    def __str__(self) -> str:
        if self.all:
            return "all sessions"
        if self.ids is not None:
            return self.ids[0] if len(self.ids) == 1 else f"{len(self.ids)} sessions"
        way = next(way for way in WAYS if getattr(self, way) is not None)
        return f"{way} {getattr(self, way)}"
