"""An agent that is a class: it refunds an order through a flaky bank, with retries."""

from __future__ import annotations

import random
import sys
import time
import uuid
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import tracetape

CALLS: Counter[str] = Counter()  # what really ran; a replay must leave it as it is
ORDER = {"lamp": "49.50", "desk": "1,250.00", "pen": "2.00"}
ATTEMPTS = 4
BACKOFF_S = 0.001


class Bank:
    """Times out on the first two transfers of a run, as one does under load."""

    def __init__(self) -> None:
        self.asked = 0

    def transfer(self, cents: int, key: str) -> dict[str, Any]:
        CALLS["bank"] += 1
        self.asked += 1
        if self.asked <= 2:
            raise TimeoutError(f"no answer to transfer {self.asked}")
        return {"transfer": f"tr_{uuid.uuid4().hex}", "cents": cents, "key": key}


@dataclass(frozen=True)
class Refund:
    text: str
    cents: int
    retries: int


def cents_of(price: str) -> int:
    return round(float(price.replace(",", "")) * 100)


class RefundAgent:
    def __init__(self, bank: Bank) -> None:
        self.bank = bank
        self.refunded: dict[str, int] = {}
        self.left_out: list[str] = []
        self.retries = 0

    @tracetape.boundary("look_up", kind="tool")
    def look_up(self, order: str) -> dict[str, str]:
        CALLS["shop"] += 1
        return dict(ORDER)

    @tracetape.boundary("choose", kind="llm", model="scripted-1")
    def choose(self, prices: dict[str, str], refunded: dict[str, int], left_out: list[str]) -> str | None:
        """The next item to refund, None when all are done."""
        CALLS["model"] += 1
        return next((item for item in prices if item not in refunded and item not in left_out), None)

    @tracetape.boundary("pay_out", kind="tool")
    def pay_out(self, item: str, cents: int, key: str) -> dict[str, Any]:
        return self.bank.transfer(cents, key)

    @tracetape.boundary("ask_a_person", kind="tool")
    def ask_a_person(self, item: str, why: str) -> str:
        CALLS["person"] += 1
        return "I shall look at it."

    @tracetape.boundary("write", kind="llm", model="scripted-1")
    def write(self, refunded: dict[str, int], asked_at: datetime) -> str:
        CALLS["model"] += 1
        return f"Refunded {', '.join(refunded)}: {sum(refunded.values()) / 100:,.2f} euros."

    def refund(self, item: str, price: str) -> dict[str, Any]:
        """One key for all attempts: a transfer whose answer alone was lost is not to be made twice."""
        key = f"refund_{uuid.uuid4().hex}"
        for attempt in range(ATTEMPTS):
            try:
                return self.pay_out(item, cents_of(price), key)
            except TimeoutError:
                self.retries += 1
                time.sleep(BACKOFF_S * 2**attempt * (1 + random.random()))
        return {"refused": "the bank does not answer"}

    def answer(self, order: str) -> Refund:
        asked_at = tracetape.effect("now", lambda: datetime.now(UTC))
        prices = self.look_up(order)
        while (item := self.choose(prices, self.refunded, self.left_out)) is not None:
            receipt = self.refund(item, prices[item])
            if "refused" in receipt:
                self.left_out.append(item)
                self.ask_a_person(item, receipt["refused"])
            else:
                self.refunded[item] = receipt["cents"]
            tracetape.checkpoint("ledger", {"refunded": self.refunded, "retries": self.retries})
        return Refund(self.write(self.refunded, asked_at), sum(self.refunded.values()), self.retries)


def run(agent: type[RefundAgent] = RefundAgent) -> Refund:
    return agent(Bank()).answer("order 17")


if __name__ == "__main__":
    print(run())
    print(f"real calls: {CALLS.total()}", file=sys.stderr)
