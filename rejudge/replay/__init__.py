"""Replay: an agent's real code runs again, and the recording answers for the world.

The way of a replay: `replay_session` makes a plan and a tape (``recorded``, ``tape``) from the baseline, and runs the
agent in a process of its own (``processes``, ``launch``, ``template``, ``warden``, ``child``). In there a `Rerun`
decides on every call (``rerun``, ``fork``, ``overrides``) and writes what it decided to a journal. What comes back is
assembled into a session (``rejudge.otel``), aligned with the baseline (``steps``, ``divergence``) and summed up
(``outcome``).

The seam for adapters
---------------------

An adapter makes a framework's calls go through this room, at the framework's own public seam and without changing the
agent's behaviour. There are two kinds of calls, and for each there is a function that does all there is to do:

``call_tool(name, arguments, make, *, call_id=None, spellings=(), description=None, function=None)``
    for a call of a tool, and ``await call_tool_async(…)``. ``make()`` runs the tool; it is not called where the
    replay answers. ``arguments`` are JSON values by name (`jsonable` makes them so); ``function``, where there is
    one, types the recorded result by its return annotation and helps to find the classes of recorded exceptions.

``call_model(request, send)``
    for a request to a model, and ``await call_model_async(request, send)``. ``send(request)`` sends what it is
    given, which has the fork's override in it, and returns a `ModelResponse`; it is not called where the replay
    answers.

Each writes one span in the GenAI conventions; in a replay it asks `current_replay`. With no replay and no tracer
provider both cost next to nothing. A call that does not fit into one function (a stream, a framework's own hooks)
uses `ToolCall` or `ModelCall`::

    with ModelCall(request, current=False) as call:    # current=False: entered and left in different contexts
        answer = call.ask()                             # raises ReplayEnded, NoRecordedAnswer
        if answer is not None:
            response = call.deliver(answer)             # or raises the recorded failure
        else:
            response = …stream with call.request…
            call.returned(response)                     # when the stream is done: what is recorded

- Messages are in the GenAI schema, as ``gen_ai.input.messages`` has it. ``messages_of`` and ``output_messages_of`` of
  `rejudge.otel.conventions.messages` make them of OpenAI's, Anthropic's, Gemini's or LangChain's shapes.
- ``ModelResponse.raw`` is for what the messages cannot hold: any JSON (a response body, the list of a stream's
  chunks). It is recorded with the span, and is there again in a recorded answer; None in answers from imported
  sessions, for which an adapter builds the framework's response out of ``messages``, ``finish_reason`` and the token
  counts.
- A framework that has instrumentation of its own writes a second span for the same call. Where it can be told not
  to, tell it; two model spans one under the other are merged when they are assembled, two tool spans are not.
- `ReplayEnded` is a BaseException on purpose: let it through. A framework that turns it into a tool's error message
  does no harm: every call after it is refused, and the replay has failed all the same.
- A sub-agent that is called as a tool should not go through `call_tool`: let its inner calls be answered one by one.
- What an adapter cannot intercept it says before the run (its capability table), not in it.

To test an adapter without a process: `replaying` lets a `Rerun` over a baseline decide on the calls of a block.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rejudge.replay.active import current_replay
    from rejudge.replay.agent import agent_digest, agent_spec, current_source_digest, require_entrypoint
    from rejudge.replay.alignment import aligned_steps
    from rejudge.replay.answers import ModelAnswer, Replaying, ToolAnswer
    from rejudge.replay.by_hand import chat_messages, model_call
    from rejudge.replay.calls import (
        ModelCall,
        ToolCall,
        call_model,
        call_model_async,
        call_tool,
        call_tool_async,
        tool_call_id,
    )
    from rejudge.replay.context import AgentContext
    from rejudge.replay.divergence import first_divergence, same_output, same_steps
    from rejudge.replay.fork import fork_point
    from rejudge.replay.here import replaying
    from rejudge.replay.inputs import is_replayable, replay_inputs
    from rejudge.replay.request import ModelRequest, ModelResponse
    from rejudge.replay.run import replay_session, run_plan
    from rejudge.replay.values import jsonable

# Imported on first use: an agent that decorates a tool must not pay for what starts processes.
_HOMES = {
    "AgentContext": "context",
    "ModelAnswer": "answers",
    "ModelCall": "calls",
    "ModelRequest": "request",
    "ModelResponse": "request",
    "Replaying": "answers",
    "ToolAnswer": "answers",
    "ToolCall": "calls",
    "agent_digest": "agent",
    "agent_spec": "agent",
    "aligned_steps": "alignment",
    "call_model": "calls",
    "call_model_async": "calls",
    "call_tool": "calls",
    "call_tool_async": "calls",
    "chat_messages": "by_hand",
    "current_replay": "active",
    "current_source_digest": "agent",
    "first_divergence": "divergence",
    "fork_point": "fork",
    "is_replayable": "inputs",
    "jsonable": "values",
    "model_call": "by_hand",
    "replay_inputs": "inputs",
    "replay_session": "run",
    "replaying": "here",
    "require_entrypoint": "agent",
    "run_plan": "run",
    "same_output": "divergence",
    "same_steps": "divergence",
    "tool_call_id": "calls",
}

__all__ = [
    "AgentContext",
    "ModelAnswer",
    "ModelCall",
    "ModelRequest",
    "ModelResponse",
    "Replaying",
    "ToolAnswer",
    "ToolCall",
    "agent_digest",
    "agent_spec",
    "aligned_steps",
    "call_model",
    "call_model_async",
    "call_tool",
    "call_tool_async",
    "chat_messages",
    "current_replay",
    "current_source_digest",
    "first_divergence",
    "fork_point",
    "is_replayable",
    "jsonable",
    "model_call",
    "replay_inputs",
    "replay_session",
    "replaying",
    "require_entrypoint",
    "run_plan",
    "same_output",
    "same_steps",
    "tool_call_id",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
