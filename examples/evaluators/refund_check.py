"""Judge how a support session pays refunds: an evaluator of your own is a file like this one.

rejudge evaluator register refund-check --script examples/evaluators/refund_check.py
"""

from typing import Any

from rejudge import EvaluationResult, SessionView


def evaluate(session: SessionView) -> list[EvaluationResult]:
    """Pass when every refund came after a policy check that allowed it, and was of the order's amount."""
    allowed: set[str] = set()
    amounts: dict[str, Any] = {}
    unchecked: list[str] = []
    wrong: list[str] = []
    refunds: list[str] = []
    for call in session.tool_calls:
        given, result = _fields(call.inputs), _fields(call.outputs)
        order, amount = str(given.get("order_id")), given.get("amount")
        if call.tool_name == "check_refund_policy" and result.get("allowed"):
            allowed.add(order)
        elif call.tool_name == "lookup_order":
            amounts[order] = result.get("amount")
        elif call.tool_name == "refund_payment":
            refunds.append(call.id)
            if order not in allowed:
                unchecked.append(order)
            if amount != amounts.get(order):
                why = f"it cost {amounts[order]}" if order in amounts else "not looked up"
                wrong.append(f"{amount} for {order}, {why}")
    return [
        _verdict("refund_checked", unchecked, "refunded without a policy check", refunds),
        _verdict("refund_amount", wrong, "refunded", refunds),
    ]


def _verdict(name: str, wrong: list[str], complaint: str, refunds: list[str]) -> EvaluationResult:
    fine = f"{len(refunds)} refund(s), each as it should be" if refunds else "no refund in this session"
    return EvaluationResult(
        name=name,
        score=not wrong,
        passed=not wrong,
        direction="higher",
        explanation=f"{complaint}: {'; '.join(wrong)}" if wrong else fine,
        evidence={"refunds": refunds},
    )


def _fields(payload: object) -> dict[str, Any]:
    return payload if isinstance(payload, dict) else {}
