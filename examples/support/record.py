"""Let the support agent answer every customer, each run recorded as a session of the agent ``support``.

python examples/support/record.py
"""

from __future__ import annotations

import json
from pathlib import Path

import agent

import rejudge

CUSTOMERS = Path(__file__).parent / "customers.jsonl"


def main() -> None:
    """Record a run per customer."""
    for line in CUSTOMERS.read_text("utf-8").splitlines():
        customer = json.loads(line)
        with rejudge.record(agent="support", inputs=customer, tag="baseline") as run:
            run.outputs = agent.run(customer)
        print(f"{customer['message']}\n  {run.outputs['answer']}")


if __name__ == "__main__":
    main()
