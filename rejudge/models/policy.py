"""Policies: what a call gets while a session is replayed."""

from __future__ import annotations

import ast
import json
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from rejudge.models.canonical import JsonValue

OnMiss: TypeAlias = Literal["fail", "error_result", "passthrough"]
"""What a call gets that no recorded answer fits: the end of the replay, an error to cope with, the real thing."""

Scope: TypeAlias = Literal["baseline", "cohort_version", "agent"]
"""Whose recordings may answer: the baseline's, its cohort version's, or all of the agent's."""


class Policy(BaseModel):
    """What every policy has in common: it is a value, told apart by ``kind``."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class HistoryPolicy(Policy):
    """The recorded result of the same call."""

    kind: Literal["history"] = "history"
    scope: Scope = "baseline"
    on_miss: OnMiss = "fail"
    ignore: tuple[str, ...] = ()
    """Arguments to leave out of the match: a name (``request_id``) or a JSON pointer (``/meta/now``)."""


class StaticCase(Policy):
    """One answer that was written down, with the arguments it is for."""

    match: dict[str, JsonValue] | None = None
    """None matches any arguments."""
    mode: Literal["exact", "subset"] = "subset"
    """``subset``: what ``match`` says must be there, at any depth; anything else may be there too."""
    result: JsonValue = None
    error: str | None = None
    """Text of an error to raise instead of returning ``result``."""


class StaticPolicy(Policy):
    """The first case whose arguments match."""

    kind: Literal["static"] = "static"
    cases: tuple[StaticCase, ...] = ()
    on_miss: OnMiss = "fail"


class PassthroughPolicy(Policy):
    """The real thing: a live call."""

    kind: Literal["passthrough"] = "passthrough"


class LlmPolicy(Policy):
    """A result made up by a model from the tool's schema and its past results; marked as such."""

    kind: Literal["llm"] = "llm"
    model: str
    """``openai:NAME`` or ``anthropic:NAME``; a bare name is an OpenAI-compatible one."""
    instructions: str = ""


class UntilDivergencePolicy(Policy):
    """For models: the recorded answer as long as the run has not diverged, live from there."""

    kind: Literal["until-divergence"] = "until-divergence"


ToolPolicy: TypeAlias = Annotated[
    HistoryPolicy | StaticPolicy | PassthroughPolicy | LlmPolicy, Field(discriminator="kind")
]
ModelPolicy: TypeAlias = Annotated[
    HistoryPolicy | UntilDivergencePolicy | PassthroughPolicy, Field(discriminator="kind")
]


class PolicySet(Policy):
    """Every policy of one replay.

    Told nothing, tools are answered from the baseline and a call that was not recorded ends the replay;
    models are live.
    """

    tools_default: ToolPolicy = HistoryPolicy()
    tools: dict[str, ToolPolicy] = {}
    """By tool name."""
    models_default: ModelPolicy = PassthroughPolicy()
    models: dict[str, ModelPolicy] = {}
    """By the name of the model that the agent asked for."""

    @model_validator(mode="after")
    def _models_fail_or_go_live(self) -> PolicySet:
        for policy in (self.models_default, *self.models.values()):
            if isinstance(policy, HistoryPolicy) and policy.ignore:
                raise ValueError("a model policy takes no ignore: a model request has no arguments to leave out")
        return self

    def for_tool(self, name: str) -> HistoryPolicy | StaticPolicy | PassthroughPolicy | LlmPolicy:
        """The policy of a tool."""
        return self.tools.get(name, self.tools_default)

    def for_model(self, name: str) -> HistoryPolicy | UntilDivergencePolicy | PassthroughPolicy:
        """The policy of a model."""
        return self.models.get(name, self.models_default)

    @property
    def scopes(self) -> frozenset[Scope]:
        """Every scope that some policy reads: what a tape has to be built from."""
        policies = (self.tools_default, *self.tools.values(), self.models_default, *self.models.values())
        return frozenset(policy.scope for policy in policies if isinstance(policy, HistoryPolicy))


_TOOL: Final[TypeAdapter[Any]] = TypeAdapter(ToolPolicy)
_MODEL: Final[TypeAdapter[Any]] = TypeAdapter(ModelPolicy)
_POSITIONAL: Final = {"history": "scope", "llm": "model", "static": "cases"}


def parse_tool_policy(text: str) -> HistoryPolicy | StaticPolicy | PassthroughPolicy | LlmPolicy:
    """A tool policy as a person writes it.

    Raises:
        ValueError: For what is none, with the forms that are.

    Example:
        >>> parse_tool_policy("history(agent, on_miss=error_result)").scope
        'agent'
        >>> parse_tool_policy('{"kind": "static", "cases": [{"result": 1}]}').cases[0].result
        1
    """
    policy: HistoryPolicy | StaticPolicy | PassthroughPolicy | LlmPolicy = _parse(text, _TOOL)
    return policy


def parse_model_policy(text: str) -> HistoryPolicy | UntilDivergencePolicy | PassthroughPolicy:
    """A model policy as a person writes it: ``live``, ``history``, ``until-divergence``, or JSON.

    Raises:
        ValueError: For what is none, with the forms that are.

    Example:
        >>> parse_model_policy("live").kind
        'passthrough'
    """
    policy: HistoryPolicy | UntilDivergencePolicy | PassthroughPolicy = _parse(text, _MODEL)
    return policy


def _parse(text: str, adapter: TypeAdapter[Any]) -> Any:
    try:
        return adapter.validate_python(_fields(text.strip()))
    except (ValidationError, SyntaxError, ValueError) as error:
        raise ValueError(
            f"not a policy: {text!r}; write passthrough, history, history(agent, on_miss=error_result), "
            f"llm(MODEL) or a JSON object with a kind ({_why(error)})"
        ) from error


def _why(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        if first["type"] == "union_tag_invalid":
            return f"there is no kind {first['ctx']['tag']!r}"
        place = ".".join(str(part) for part in first["loc"])
        return f"{place}: {first['msg']}" if place else str(first["msg"])
    return str(error)


def _fields(text: str) -> dict[str, Any]:
    if text.startswith("{"):
        loaded: dict[str, Any] = json.loads(text)
        return loaded
    # Written as a call, and read with Python's own parser: nothing is evaluated.
    call = ast.parse(text.replace("until-divergence", "until_divergence"), mode="eval").body
    name = call.func if isinstance(call, ast.Call) else call
    if not isinstance(name, ast.Name):
        raise ValueError("a name was expected")
    kind = {"until_divergence": "until-divergence", "live": "passthrough"}.get(name.id, name.id)
    fields: dict[str, Any] = {"kind": kind}
    if isinstance(call, ast.Call):
        if len(call.args) > 1 or (call.args and kind not in _POSITIONAL):
            raise ValueError(f"{name.id} takes its options by name")
        if call.args:
            fields[_POSITIONAL[kind]] = _literal(call.args[0])
        fields.update({str(keyword.arg): _literal(keyword.value) for keyword in call.keywords})
    return fields


def _literal(value: ast.expr) -> Any:
    return value.id if isinstance(value, ast.Name) else ast.literal_eval(value)
