"""Overrides: the one thing that a fork changes."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict

from rejudge.models.canonical import JsonValue


class Override(BaseModel):
    """What a fork changes in the requests to models; everything else stays the agent's own."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    model: str | dict[str, str] | None = None
    """A model for every call, or OLD → NEW for the calls that ask for OLD."""
    system_prompt: str | None = None
    prompt: str | None = None
    """Replaces the text of the first user message."""
    model_params: dict[str, JsonValue] | None = None
    """Merged key by key into the request's parameters; null takes a parameter out."""

    @property
    def parts(self) -> tuple[str, ...]:
        """What has to be applied somewhere for the fork to count, one name each."""
        models = [f"model:{old}" for old in self.model] if isinstance(self.model, dict) else ["model"]
        others = ("system_prompt", "prompt", "model_params")
        return (
            *(models if self.model is not None else ()),
            *(name for name in others if getattr(self, name) is not None),
        )

    def __bool__(self) -> bool:
        return bool(self.parts)

    def model_for(self, name: str) -> str | None:
        """The model to ask instead of this one; None where the override does not speak of it."""
        return self.model.get(name) if isinstance(self.model, dict) else self.model


def parse_models(values: Iterable[str]) -> str | dict[str, str] | None:
    """What ``--model NEW`` or ``--model OLD=NEW`` (repeated) asks for.

    Raises:
        ValueError: Where both forms are mixed, or one model is given two successors.

    Example:
        >>> parse_models(["gpt-a=gpt-b"])
        {'gpt-a': 'gpt-b'}
    """
    whole = [value for value in values if "=" not in value]
    pairs = [value.split("=", 1) for value in values if "=" in value]
    if not whole and not pairs:
        return None
    if len(whole) > 1 or (whole and pairs):
        raise ValueError("write --model NEW once, or --model OLD=NEW for each model to change")
    if whole:
        return whole[0]
    mapping = dict(pairs)
    if len(mapping) != len(pairs) or not all(old and new for old, new in pairs):
        raise ValueError("--model OLD=NEW names each OLD once, and both sides")
    return mapping


def change_words(override: Override) -> list[str]:
    """What an override changes, a few words a part.

    Example:
        >>> change_words(Override(model={"a": "b"}, prompt="hello"))
        ['model a → b', 'prompt']
    """
    words = []
    if isinstance(override.model, str):
        words.append(f"model {override.model}")
    elif override.model:
        words += [f"model {old} → {new}" for old, new in override.model.items()]
    others = ("system_prompt", "prompt", "model_params")
    return words + [name.replace("_", " ") for name in others if getattr(override, name) is not None]
