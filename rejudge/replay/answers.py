"""What a call gets instead of being made, and who says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from rejudge.models.canonical import JsonValue
from rejudge.replay.request import ModelRequest, ModelResponse

if TYPE_CHECKING:
    from rejudge.models.replay import AnswerSource


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool call gets instead of being made."""

    source: AnswerSource
    result: JsonValue = None
    node_id: str | None = None
    """The recorded call it came from."""
    failed: bool = False
    """True where the recorded call failed: raise it again (see `recorded_failure`)."""
    error: str | None = None
    error_type: str | None = None
    inferred: bool = False


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model call gets instead of being made."""

    response: ModelResponse
    node_id: str | None = None
    failed: bool = False
    error: str | None = None
    error_type: str | None = None


class Replaying(Protocol):
    """Who decides on the calls of a run: `Rerun` in this process, or one far away behind HTTP."""

    def refuse_when_over(self) -> None:
        """Raise `ReplayEnded` where the run is over: asked before anything is written about a call."""

    def ask_tool(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        spellings: Sequence[Mapping[str, JsonValue]] = (),
        call_id: str | None = None,
        schema: Callable[[], Mapping[str, Any] | None] | None = None,
    ) -> ToolAnswer | None:
        """The answer to a tool call; None: make it."""

    def ask_model(self, request: ModelRequest) -> tuple[ModelRequest, ModelAnswer | None]:
        """The request as it is to be sent, and the answer to it; None: send it."""

    def offered_tools(self) -> Sequence[Mapping[str, Any]]:
        """Definitions of the tools that the baseline's models were offered, each once."""

    def take_override(self, part: str) -> bool:
        """Whether a part of the override is in force now; asking marks it as applied."""

    def misfit(self, name: str, arguments: Mapping[str, JsonValue], reason: str) -> NoReturn:
        """A recorded result was given out and is not what the tool returns: the same as a miss that ends the run."""
