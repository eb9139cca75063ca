"""A small made-up session, to try an evaluator on where there is no real one yet."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from rejudge.models.session import Node, Session, SessionView

_START: Final = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
_QUESTION: Final = "My order 1042 arrived broken. Can I have my money back?"
_ANSWER: Final = "I am sorry about that. I have refunded 24.90 EUR to your card; it takes 3 days to arrive."


def sample_session() -> SessionView:
    """A customer asks for a refund: two model calls, two tool calls, an answer."""
    asked = {"role": "user", "parts": [{"type": "text", "content": _QUESTION}]}
    looked_up = _called("call-1", "lookup_order", {"order_id": "1042"})
    found = _responded("call-1", {"order_id": "1042", "total": 24.9, "status": "delivered"})
    refunding = _called("call-2", "refund_payment", {"order_id": "1042", "amount": 24.9})
    refunded = _responded("call-2", {"refunded": True, "amount": 24.9})
    answer = {"role": "assistant", "parts": [{"type": "text", "content": _ANSWER}], "finish_reason": "stop"}
    nodes = [
        Node(id="root", index=0, node_type="span", name="invoke_agent support", agent_name="support", **_at(0, 9)),
        _model_call(1, [asked], looked_up, tokens=(212, 18), **_at(0, 2)),
        _tool_call(2, "lookup_order", {"order_id": "1042"}, {"order_id": "1042", "total": 24.9}, **_at(2, 3)),
        _model_call(3, [asked, looked_up, found], refunding, tokens=(301, 22), **_at(3, 5)),
        _tool_call(4, "refund_payment", {"order_id": "1042", "amount": 24.9}, {"refunded": True}, **_at(5, 6)),
        _model_call(5, [asked, looked_up, found, refunding, refunded], answer, tokens=(362, 31), **_at(6, 9)),
    ]
    return SessionView(_session(nodes), nodes)


def _session(nodes: list[Node]) -> Session:
    return Session(
        id="sample",
        number=1,
        agent="support",
        external_id="sample",
        source="sample",
        name="A refund, made up",
        started_at=_START,
        ended_at=_START + timedelta(seconds=9),
        llm_call_count=3,
        tool_call_count=2,
        node_count=len(nodes),
        tool_names=("lookup_order", "refund_payment"),
        agents=("support",),
        models=("gpt-4o-mini",),
        providers=("openai",),
        input_tokens=875,
        output_tokens=71,
        cost=Decimal("0.000174"),
        cost_status="recorded",
        digest="0" * 64,
        inputs=_QUESTION,
        outputs=_ANSWER,
        metadata={"channel": "chat"},
    )


def _at(start: float, end: float) -> dict[str, Any]:
    return {"started_at": _START + timedelta(seconds=start), "ended_at": _START + timedelta(seconds=end)}


def _called(identifier: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    part = {"type": "tool_call", "id": identifier, "name": name, "arguments": arguments}
    return {"role": "assistant", "parts": [part], "finish_reason": "tool_call"}


def _responded(identifier: str, response: dict[str, Any]) -> dict[str, Any]:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": identifier, "response": response}]}


def _model_call(
    index: int, messages: list[dict[str, Any]], reply: dict[str, Any], *, tokens: tuple[int, int], **times: Any
) -> Node:
    return Node(
        id=f"model-{index}",
        index=index,
        node_type="llm_call",
        name="chat gpt-4o-mini",
        parent_id="root",
        model="gpt-4o-mini",
        requested_model="gpt-4o-mini",
        provider="openai",
        finish_reason=reply["finish_reason"],
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        cost=Decimal("0.000058"),
        cost_status="recorded",
        inputs={"messages": messages},
        outputs={"messages": [reply]},
        **times,
    )


def _tool_call(index: int, name: str, arguments: Any, result: Any, **times: Any) -> Node:
    return Node(
        id=f"tool-{index}",
        index=index,
        node_type="tool_call",
        name=f"execute_tool {name}",
        parent_id="root",
        tool_name=name,
        tool_call_id=f"call-{index // 2}",
        inputs=arguments,
        outputs=result,
        **times,
    )
