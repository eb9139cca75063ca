"""What a fork changes and how its calls are answered: the same options on every command that replays."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejudge.errors import UsageError

if TYPE_CHECKING:
    from rejudge.models.override import Override
    from rejudge.models.policy import PolicySet


@dataclass(frozen=True, slots=True)
class Change:
    """A change and its policies."""

    override: Override
    policies: PolicySet
    fork_point: str | None


def change_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command what a fork can change; it is called with ``change=``, a function that reads it."""

    @click.option("--model", "models", multiple=True, metavar="NEW|OLD=NEW", help="Another model. Repeat OLD=NEW.")
    @click.option("--system-prompt", metavar="TEXT|@FILE", help="Another system prompt.")
    @click.option("--prompt", metavar="TEXT|@FILE", help="Another text of the first user message.")
    @click.option("--model-params", metavar="JSON", help="Merged into each request; null takes a parameter out.")
    @click.option(
        "--from", "fork_point", metavar="NODE", help="Answer all before it from the tape: id, no., tool:X#2."
    )
    @click.option("--tools", metavar="POLICY", help="How tool calls are answered. [default: history, or end]")
    @click.option("--tool", multiple=True, metavar="NAME=POLICY", help="The same for one tool. Repeat for several.")
    @click.option("--models", "model_policy", metavar="POLICY", help="How model calls are answered. [default: live]")
    @functools.wraps(command)
    def with_change(
        *args: Any,
        models: tuple[str, ...],
        system_prompt: str | None,
        prompt: str | None,
        model_params: str | None,
        fork_point: str | None,
        tools: str | None,
        tool: tuple[str, ...],
        model_policy: str | None,
        **kwargs: Any,
    ) -> Any:
        def change() -> Change:
            from rejudge.models.override import Override, parse_models

            override = Override(
                model=_read("--model", lambda: parse_models(models)),
                system_prompt=_text("--system-prompt", system_prompt),
                prompt=_text("--prompt", prompt),
                model_params=_object("--model-params", model_params),
            )
            return Change(override, _policies(tools, tool, model_policy), fork_point)

        return command(*args, change=change, **kwargs)

    return with_change


def _policies(tools: str | None, tool: tuple[str, ...], models: str | None) -> PolicySet:
    from rejudge.models.policy import PolicySet, parse_model_policy, parse_tool_policy

    given: dict[str, Any] = {}
    if tools is not None:
        given["tools_default"] = _read("--tools", lambda: parse_tool_policy(tools))
    if tool:
        pairs = [_pair(one) for one in tool]
        given["tools"] = {name: _read("--tool", functools.partial(parse_tool_policy, text)) for name, text in pairs}
    if models is not None:
        given["models_default"] = _read("--models", lambda: parse_model_policy(models))
    return PolicySet(**given)


def _pair(text: str) -> tuple[str, str]:
    name, equals, policy = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--tool {text!r} has no name and policy", mend="write --tool NAME=passthrough")
    return name, policy


def _read(option: str, parse: Callable[[], Any]) -> Any:
    try:
        return parse()
    except ValueError as error:
        raise UsageError(f"{option}: {error}", mend=f"see `--help` for {option}") from error


def _text(option: str, given: str | None) -> str | None:
    if given is None or not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{option}: cannot read {given[1:]}: {error}", mend="name a text file after the @"
        ) from error


def _object(option: str, given: str | None) -> dict[str, Any] | None:
    text = _text(option, given)
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{option} is no JSON: {error}", mend=f"write {option} '{{\"temperature\": 0}}'") from error
    if not isinstance(value, dict):
        raise UsageError(f"{option} is no JSON object", mend=f"write {option} '{{\"temperature\": 0}}'")
    return value
