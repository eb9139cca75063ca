"""Judge how a support session pays refunds: an evaluator of your own is a file like this one.

rejudge evaluator register refund-check --script examples/evaluators/refund_check.py
"""

from typing import Any

from rejudge import EvaluationResult, SessionView


def evaluate(session: SessionView, *, policy_tool: str = "check_refund_policy") -> list[EvaluationResult]:
    """Pass when every refund came after a policy check that allowed it, and was of the order's amount.

    Args:
        policy_tool: The tool that says whether an order may be refunded.
    """
    allowed: set[str] = set()
    amounts: dict[str, Any] = {}
    unchecked: list[str] = []
    wrong: list[str] = []
    refunds: list[str] = []
    for call in session.tool_calls:
        given, result = _fields(call.inputs), _fields(call.outputs)
        order = str(given.get("order_id"))
        if call.tool_name == policy_tool and result.get("allowed"):
            allowed.add(order)
        elif call.tool_name == "lookup_order":
            amounts[order] = result.get("amount")
        elif call.tool_name == "refund_payment":
            refunds.append(call.id)
            if order not in allowed:
                unchecked.append(order)
            if given.get("amount") != amounts.get(order):
                wrong.append(
                    f"{order}: {given.get('amount')} instead of {amounts.get(order, 'what the order shows')}"
                )
    return [
        _verdict("refund_checked", unchecked, "refunded without a policy check", refunds),
        _verdict("refund_amount", wrong, "refunded an amount that no look-up gave", refunds),
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
