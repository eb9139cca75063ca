"""What a session was started with, for a run that starts the same way."""

from __future__ import annotations

from rejudge.errors import ReplayError
from rejudge.models.canonical import JsonValue
from rejudge.models.session import SessionView
from rejudge.replay.request import text_of


def replay_inputs(view: SessionView) -> JsonValue:
    """The inputs of a session: what its root was given, else what the first model call's user said.

    Raises:
        ReplayError: Where neither is known: the session cannot be replayed.
    """
    if view.session.inputs not in (None, "", {}, []):
        return view.session.inputs
    if view.session.origin != "imported" and view.session.inputs is not None:
        return view.session.inputs
    said = _first_user_message(view)
    if said is not None:
        return said
    head = view.session
    name = head.number or repr(head.external_id or head.id)  # a number once it is stored
    raise ReplayError(
        f"session {name} cannot be replayed: what it was started with is not recorded",
        mend="record content (prompts) with the trace, or replay a session that has inputs",
    )


def is_replayable(view: SessionView) -> bool:
    """Whether it is known what the session was started with."""
    try:
        replay_inputs(view)
    except ReplayError:
        return False
    return True


def _first_user_message(view: SessionView) -> str | None:
    for node in view.llm_calls:
        inputs = node.inputs if isinstance(node.inputs, dict) else {}
        for message in inputs.get("messages") or ():
            texts = [text for part in message.get("parts") or () if (text := text_of(part))]
            if message.get("role") == "user" and texts:
                return "\n".join(texts)
    return None
