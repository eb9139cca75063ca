"""The shop that the support agent works for: three tools over a handful of orders.

`refund_payment` is what must never run by accident: it pays money back. Each real payment is a line in
``payments.log`` of the folder that ``SUPPORT_LEDGER`` names, so that you can see that a replay adds none.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import rejudge


@dataclass(frozen=True, slots=True)
class Order:
    """One order."""

    item: str
    amount: float
    status: str
    days_since_delivery: int | None
    final_sale: bool = False


ORDERS = {
    "HG-1001": Order("kettle", 42.90, "delivered", 6),
    "HG-1002": Order("two-person tent", 189.00, "delivered", 12),
    "HG-1003": Order("rain jacket", 75.50, "delivered", 64),
    "HG-1004": Order("desk lamp", 31.20, "delivered", 3, final_sale=True),
    "HG-1005": Order("pan set", 96.40, "in transit", None),
    "HG-1006": Order("sleeping bag", 129.99, "delivered", 9),
    "HG-1007": Order("toaster", 39.00, "delivered", 21),
    "HG-1008": Order("water filter", 54.25, "delivered", 15),
}

RETURN_DAYS = 30
CLOSED_CARDS = {"HG-1007"}


class OrderNotFound(Exception):
    """No order has that number."""


class PaymentDeclined(Exception):
    """The bank did not take the payment."""


@rejudge.tool
def lookup_order(order_id: str) -> dict[str, Any]:
    """Find an order by its number."""
    return {"order_id": order_id, **asdict(_order(order_id))}


@rejudge.tool
def check_refund_policy(order_id: str) -> dict[str, Any]:
    """Say whether an order may be refunded, and why."""
    order = _order(order_id)
    if order.final_sale:
        return {"order_id": order_id, "allowed": False, "reason": "it was a final sale"}
    if order.days_since_delivery is None:
        return {"order_id": order_id, "allowed": False, "reason": "it has not been delivered yet"}
    if order.days_since_delivery > RETURN_DAYS:
        late = f"it was delivered {order.days_since_delivery} days ago and can be returned for {RETURN_DAYS}"
        return {"order_id": order_id, "allowed": False, "reason": late}
    return {"order_id": order_id, "allowed": True, "reason": f"returned within {RETURN_DAYS} days"}


@rejudge.tool
def refund_payment(order_id: str, amount: float) -> dict[str, Any]:
    """Pay an amount of an order back to the customer. Cannot be undone."""
    _order(order_id)
    if order_id in CLOSED_CARDS:
        raise PaymentDeclined("the card that paid for it has been closed")
    ledger = Path(os.environ.get("SUPPORT_LEDGER", ".")) / "payments.log"
    with ledger.open("a", encoding="utf-8") as file:
        file.write(f"{order_id} {amount:.2f} EUR\n")
    return {"order_id": order_id, "status": "paid", "amount": amount}


def _order(order_id: str) -> Order:
    order = ORDERS.get(order_id)
    if order is None:
        raise OrderNotFound(f"no order is numbered {order_id}")
    return order


TOOLS = {tool.__name__: tool for tool in (lookup_order, check_refund_policy, refund_payment)}


def _definition(name: str, description: str, **parameters: dict[str, str]) -> dict[str, Any]:
    schema = {"type": "object", "properties": parameters, "required": list(parameters)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


ORDER_ID = {"type": "string", "description": "The order's number, such as HG-1001."}
DEFINITIONS = (
    _definition("lookup_order", "Find an order by its number.", order_id=ORDER_ID),
    _definition("check_refund_policy", "Say whether an order may be refunded, and why.", order_id=ORDER_ID),
    _definition(
        "refund_payment",
        "Pay an amount of an order back to the customer. Cannot be undone.",
        order_id=ORDER_ID,
        amount={"type": "number", "description": "In EUR."},
    ),
)
"""The tools as a model is told of them."""
