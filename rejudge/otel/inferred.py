"""Tool calls that have no span of their own: what models asked for, and what they were told came back.

Raw clients and some frameworks write model calls only. Each requested call of such a session becomes a node with
``inferred`` set, so that trajectories can be read and replays answered. A session's counts (``tool_call_count``,
``tool_names``) hold what was seen to run, and leave inferred nodes out.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from rejudge.otel.facts import BLANK


def inferred_tools(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The nodes with one inferred tool call after each model call that asked for it, numbered anew."""
    answers: dict[Any, Any] | None = None
    found: list[dict[str, Any]] = []
    for position, facts in enumerate(nodes):
        found.append(facts)
        outputs = facts["outputs"] if facts["node_type"] == "llm_call" else None
        if not outputs:
            continue
        number = 0
        for message in outputs["messages"]:
            for part in message["parts"]:
                if part.get("type") != "tool_call" or not part.get("name"):
                    continue
                if answers is None:
                    answers = _answers(nodes)
                number += 1
                identity = part.get("id")
                result = answers.get(identity, _ABSENT) if isinstance(identity, str) else _ABSENT
                if result is _ABSENT:
                    result = _answer_after(nodes, position, part)
                found.append(_node(facts, part, number, result))
    if len(found) > len(nodes):
        for index, facts in enumerate(found):
            facts["index"] = index
    return found


_ABSENT = object()


def _answers(nodes: list[dict[str, Any]]) -> dict[Any, Any]:
    """What tools answered, by call id, as the later model calls were told."""
    found: dict[Any, Any] = {}
    for facts in nodes:
        inputs = facts["inputs"] if facts["node_type"] == "llm_call" else None
        if not isinstance(inputs, dict):
            continue
        for message in reversed(inputs.get("messages", ())):
            for part in message["parts"]:
                if part.get("type") == "tool_call_response":
                    identity = part.get("id")
                    if isinstance(identity, str) and identity not in found:
                        found[identity] = part.get("response")
    return found


_NEAR: Final = 3
"""Model calls behind one that are looked at for what its tools answered."""


def _answer_after(nodes: list[dict[str, Any]], position: int, part: dict[str, Any]) -> Any:
    """What came back where no id ties it to the call (Gemini has none, some producers write another one).

    The calls that follow were told it in the last round of their history.
    """
    following = (facts for facts in islice(nodes, position + 1, None) if facts["node_type"] == "llm_call")
    for facts in islice(following, _NEAR):
        inputs = facts["inputs"]
        messages = inputs.get("messages") if isinstance(inputs, dict) else None
        calls, answers = _last_round(messages or [])
        for number, call in enumerate(calls):
            if call.get("name") == part.get("name") and call.get("arguments") == part.get("arguments"):
                named = [answer for answer in answers if answer.get("name") == call.get("name")]
                same = [other for other in calls[:number] if other.get("name") == call.get("name")]
                if named:
                    return named[min(len(same), len(named) - 1)].get("response")
                if number < len(answers):
                    return answers[number].get("response")
    return _ABSENT


def _last_round(messages: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The tool calls that a history ends with, and what was answered to them."""
    calls: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    for message in reversed(messages):
        told = [part for part in message["parts"] if part.get("type") == "tool_call_response"]
        asked = [part for part in message["parts"] if part.get("type") == "tool_call"]
        if calls and not asked:
            break
        answers[:0] = told
        calls[:0] = asked if answers else []
    return calls, answers


def _node(call: dict[str, Any], part: dict[str, Any], number: int, result: Any) -> dict[str, Any]:
    identity = part.get("id")
    known = result is not _ABSENT
    status = "in_progress" if call["status"] == "in_progress" and not known else "completed"
    return {
        **BLANK,
        "id": f"{call['id']}:tool:{number}",
        "index": call["index"],
        "node_type": "tool_call",
        "name": str(part["name"]),
        "status": status,
        "parent_id": call["parent_id"],
        "trace_id": call["trace_id"],
        "started_at": call["ended_at"],
        "tool_name": str(part["name"]),
        "tool_call_id": identity if isinstance(identity, str) else None,
        "agent_name": call["agent_name"],
        "inferred": True,
        "incomplete": None if known else "not captured",
        "inputs": part.get("arguments"),
        "outputs": result if known else None,
    }
