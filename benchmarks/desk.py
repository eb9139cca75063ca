"""What is said and done at an invented support desk: the content of generated traces."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Final

SYSTEM_PROMPT: Final = (
    "You are the support assistant of Harbour Goods, an online shop for household and outdoor equipment. "
    "Look up the order before you speak about it. Check the refund policy before you promise or pay a refund. "
    "Never state an amount that no tool returned. Answer in at most four sentences, and apologise where we erred."
)

MODELS: Final = (("openai", "gpt-4o-mini"), ("openai", "gpt-4.1"), ("anthropic", "claude-sonnet-4-5"))

TOOLS: Final[Mapping[str, tuple[str, str]]] = {
    "lookup_order": ("Find an order by its number.", "order_id"),
    "check_refund_policy": ("Say whether an order may be refunded, and why.", "order_id"),
    "refund_payment": ("Pay an order back. Not reversible.", "order_id"),
    "track_parcel": ("Where a parcel was last seen.", "parcel_id"),
    "search_help": ("Search the help centre.", "query"),
}

_GOODS = ("kettle", "tent", "desk lamp", "rain jacket", "pan set", "sleeping bag", "water filter", "toaster")
_PLACES = ("Leeds", "Gdynia", "Porto", "Aarhus", "Lyon", "Tartu", "Kobe", "Galway")
_OPENINGS = (
    "Hello, my {goods} from order {order} arrived broken and I would like my money back, please.",
    "Where is my {goods}? Order {order} was promised for last week and nobody in {place} has seen it.",
    "I was charged twice for order {order} (one {goods}). Can you check that and put it right?",
    "The {goods} in order {order} is the wrong size. What are my options, and who pays the return?",
)
_REASONS = (
    "The parcel was scanned in {place} and has not moved since, so the carrier has opened a search for it.",
    "The {goods} is still inside the thirty days in which it can be returned without giving a reason.",
    "Order {order} shows one payment and one reservation; the reservation lapses by itself after five days.",
    "I am sorry about the damage to the {goods}: that should not have left our warehouse in {place}.",
    "For order {order} the return label has been sent by mail, and the post office in {place} takes it.",
)
_ERRORS = (
    ("TimeoutError", "the order service did not answer within 5 s"),
    ("ConnectionError", "connection to payments.internal:443 was reset"),
    ("OrderNotFound", "no order with that number"),
)


class Desk:
    """One customer's affair, told by a seeded generator: the same seed tells the same story.

    Args:
        random: Where everything invented comes from.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._words = {
            "goods": random.choice(_GOODS),
            "place": random.choice(_PLACES),
            "order": f"HG-{random.randrange(10_000, 99_999)}",
        }
        self.provider, self.model = random.choice(MODELS)

    @property
    def order(self) -> str:
        """The order it is about."""
        return self._words["order"]

    def question(self) -> str:
        """What the customer asks."""
        return self._told(_OPENINGS)

    def answer(self, sentences: int = 2) -> str:
        """What the assistant says."""
        return " ".join(self._told(_REASONS) for _ in range(sentences))

    def tool_call(self) -> tuple[str, dict[str, Any]]:
        """Name and arguments of a tool call."""
        name = self._random.choice(tuple(TOOLS))
        arguments: dict[str, Any] = {TOOLS[name][1]: self.order}
        if name == "refund_payment":
            arguments |= {"amount": self._amount(), "currency": "EUR"}
        if name == "search_help":
            arguments = {"query": f"{self._words['goods']} return {self._random.choice(_PLACES)}"}
        return name, arguments

    def tool_result(self, name: str) -> dict[str, Any]:
        """What that tool returns."""
        number = self._random.randrange(1_000_000)
        return {
            "reference": f"{name}-{number:06d}",
            "order_id": self.order,
            "status": self._random.choice(("delivered", "in transit", "refundable", "closed")),
            "amount": self._amount(),
            "note": self._told(_REASONS),
        }

    def tool_error(self) -> tuple[str, str] | None:
        """Class and text of a tool's failure; None for the great most calls."""
        return self._random.choice(_ERRORS) if self._random.random() < 0.03 else None

    def _amount(self) -> float:
        return self._random.randrange(500, 25_000) / 100

    def _told(self, templates: tuple[str, ...]) -> str:
        # A reference number in each sentence: no two texts are equal, as in life.
        text = self._random.choice(templates).format(**self._words)
        return f"{text} (ref. {self._random.getrandbits(40):010x})"
