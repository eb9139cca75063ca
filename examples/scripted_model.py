"""The model behind `model_server.py`: a script instead of a network, so that the demo needs no key.

It does what its system prompt tells it to, and nothing that the prompt leaves out:

========================  =================================================================
the prompt says           what it does
========================  =================================================================
look up the order         calls ``lookup_order`` before anything else
check the refund policy   calls ``check_refund_policy``, and refunds only what may be refunded
the order shows           refunds the amount of the order, not the one the customer names
apologise                 says sorry
========================  =================================================================

``desk-large`` reads the whole prompt. ``desk-small`` reads its first `ATTENTION` characters: it is cheap, and
forgets what comes later. Equal requests get equal answers.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

ATTENTION = 160
"""Characters of the system prompt that the small model heeds."""

PRICES = {"desk-large": (2.00, 8.00), "desk-small": (0.20, 0.80)}
"""US dollars per million input and output tokens."""

_ORDER = re.compile(r"HG-\d{4}")
_MONEY = re.compile(r"(\d+\.\d{2})")


@dataclass(frozen=True, slots=True)
class Rules:
    """What the model was told, as far as it heeds it."""

    looks_up: bool
    checks_policy: bool
    trusts_the_order: bool
    apologises: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """What has happened since the customer's last message: results of tools by order."""

    text: str
    orders: dict[str, dict[str, Any]]
    policies: dict[str, dict[str, Any]]
    refunds: dict[str, dict[str, Any]]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The body of a chat completion for the body of a request."""
    messages = request.get("messages") or []
    model = str(request.get("model"))
    rules = _rules(_system_text(messages), model)
    message = _next_step(rules, _seen(messages))
    key = hashlib.sha256(json.dumps([model, messages], sort_keys=True).encode()).hexdigest()[:16]
    for place, call in enumerate(message.get("tool_calls") or ()):
        call["id"] = f"call_{key}_{place}"
    return {
        "id": f"chatcmpl-{key}",
        "object": "chat.completion",
        "created": 1_793_610_000,
        "model": model,
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        ],
        "usage": _usage(model, request, message),
    }


def _rules(prompt: str, model: str) -> Rules:
    heeded = (prompt[:ATTENTION] if "small" in model else prompt).lower()
    return Rules(
        looks_up="look up the order" in heeded,
        checks_policy="check the refund policy" in heeded,
        trusts_the_order="the order shows" in heeded,
        apologises="apologise" in heeded,
    )


def _next_step(rules: Rules, seen: Seen) -> dict[str, Any]:
    numbers = list(dict.fromkeys(_ORDER.findall(seen.text)))
    wants_refund = any(word in seen.text.lower() for word in ("refund", "money back"))
    if not numbers:
        return _says("We answer every day from 8 to 20, and parcels leave our warehouse from Monday to Friday.")
    if not wants_refund:
        return _tells_status(rules, seen, numbers)
    return _handles_refund(rules, seen, numbers[0])


def _tells_status(rules: Rules, seen: Seen, numbers: list[str]) -> dict[str, Any]:
    missing = [number for number in numbers if number not in seen.orders]
    if missing and rules.looks_up:
        return _calls(*(("lookup_order", {"order_id": number}) for number in missing))
    if missing:
        return _says("Your order is on its way and will arrive soon.")
    return _says(" ".join(_status(number, seen.orders[number]) for number in numbers))


def _status(number: str, order: dict[str, Any]) -> str:
    if "error" in order:
        return f"I cannot see order {number}: {order['error']}."
    return f"Order {number} ({order['item']}) is {order['status']}."


def _handles_refund(rules: Rules, seen: Seen, number: str) -> dict[str, Any]:
    claimed = _MONEY.search(seen.text)
    order = seen.orders.get(number)
    if number in seen.refunds:
        return _reports_refund(rules, seen.refunds[number], number)
    # Without an order and without a sum in the message it has nothing to refund.
    if order is None and (rules.looks_up or claimed is None):
        return _calls(("lookup_order", {"order_id": number}))
    if order is not None and "error" in order:
        return _says(f"{_sorry(rules)}I cannot find order {number}: {order['error']}. Please check the number.")
    if rules.checks_policy:
        policy = seen.policies.get(number)
        if policy is None:
            return _calls(("check_refund_policy", {"order_id": number}))
        if not policy.get("allowed"):
            why = policy.get("reason") or policy.get("error")
            return _says(f"{_sorry(rules)}I cannot refund order {number}: {why}.")
    return _calls(("refund_payment", {"order_id": number, "amount": _amount(rules, order, claimed)}))


def _amount(rules: Rules, order: dict[str, Any] | None, claimed: re.Match[str] | None) -> float:
    if order is not None and (rules.trusts_the_order or claimed is None):
        return float(order["amount"])
    assert claimed is not None
    return float(claimed[1])


def _reports_refund(rules: Rules, refund: dict[str, Any], number: str) -> dict[str, Any]:
    if "error" in refund:
        return _says(f"{_sorry(rules)}The refund of order {number} did not go through: {refund['error']}.")
    return _says(f"{_sorry(rules)}I have refunded {refund['amount']:.2f} EUR for order {number}.")


def _sorry(rules: Rules) -> str:
    return "I am sorry for the trouble. " if rules.apologises else ""


def _says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def _calls(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    made = [
        {"id": "", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for name, arguments in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def _system_text(messages: list[dict[str, Any]]) -> str:
    return "\n".join(_text(message) for message in messages if message.get("role") in {"system", "developer"})


def _seen(messages: list[dict[str, Any]]) -> Seen:
    """The customer's last message and every tool result after it."""
    asked = max((place for place, message in enumerate(messages) if message.get("role") == "user"), default=0)
    seen = Seen(_text(messages[asked]) if messages else "", {}, {}, {})
    kept = {"lookup_order": seen.orders, "check_refund_policy": seen.policies, "refund_payment": seen.refunds}
    calls: dict[str, dict[str, Any]] = {}
    for message in messages[asked:]:
        for call in message.get("tool_calls") or ():
            calls[call["id"]] = call["function"]
        function = calls.get(message.get("tool_call_id") or "")
        if message.get("role") == "tool" and function is not None and function["name"] in kept:
            order = json.loads(function["arguments"])["order_id"]
            kept[function["name"]][order] = json.loads(_text(message))
    return seen


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def _usage(model: str, request: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
    read = len(json.dumps([request.get("messages"), request.get("tools")])) // 4
    written = max(1, len(json.dumps(message)) // 4)
    per_input, per_output = PRICES.get(model, PRICES["desk-large"])
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "cost": round((read * per_input + written * per_output) / 1_000_000, 9),
    }
