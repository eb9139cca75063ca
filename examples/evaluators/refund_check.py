"""Judge how a support session pays refunds: an evaluator of your own is a file like this one.

rejudge evaluator register refund-check --script examples/evaluators/refund_check.py
"""

from rejudge import EvaluationResult, SessionView


def evaluate(session: SessionView, *, policy_tool: str = "check_refund_policy") -> list[EvaluationResult]:
    """Pass when every refund came after a policy check that allowed it, and was of the order's amount.

    Args:
        policy_tool: The tool that says whether an order may be refunded.
    """
    allowed: set[str] = set()
    amounts: dict[str, float] = {}
    unchecked, wrong, nodes = [], [], []
    for call in session.tool_calls:
        order = call.inputs.get("order_id") if isinstance(call.inputs, dict) else None
        result = call.outputs if isinstance(call.outputs, dict) else {}
        if call.tool_name == policy_tool and result.get("allowed"):
            allowed.add(order)
        elif call.tool_name == "lookup_order" and "amount" in result:
            amounts[order] = result["amount"]
        elif call.tool_name == "refund_payment":
            nodes.append(call.id)
            if order not in allowed:
                unchecked.append(order)
            if call.inputs.get("amount") != amounts.get(order):
                wrong.append(f"{order}: {call.inputs.get('amount')}, not {amounts.get(order, 'looked up')}")
    return [
        _verdict("refund_checked", not unchecked, f"refunded without a policy check: {', '.join(unchecked)}", nodes),
        _verdict("refund_amount", not wrong, f"refunded a wrong amount: {'; '.join(wrong)}", nodes),
    ]


def _verdict(name: str, good: bool, complaint: str, nodes: list[str]) -> EvaluationResult:
    fine = f"{len(nodes)} refund(s), none of them wrong" if nodes else "no refund in this session"
    return EvaluationResult(
        name=name,
        score=good,
        passed=good,
        direction="higher",
        explanation=fine if good else complaint,
        evidence={"refunds": nodes},
    )
