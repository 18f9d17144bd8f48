"""An agent of agents that survives everything: whatever fails below, it goes on with a fallback answer."""

from __future__ import annotations

import sys
import uuid
from collections import Counter
from dataclasses import dataclass

import tracetape

CALLS: Counter[str] = Counter()  # what really ran; a replay must leave it as it is
AGENTS = ("book", "find_fare", "check_papers")
FARES = {"Oslo": 120, "Lima": 940}
BUDGET = 1000


@dataclass(frozen=True)
class Leg:
    origin: str
    destination: str


@dataclass(frozen=True)
class Booking:
    leg: Leg
    price: int
    papers: str
    note: str = ""


@dataclass(frozen=True)
class Trip:
    text: str
    bookings: tuple[Booking | None, ...]


LEGS = [Leg("Rome", "Oslo"), Leg("Oslo", "Quito"), Leg("Quito", "Lima")]


@tracetape.boundary("split", kind="llm", model="scripted-1")
def split(request: str) -> list[Leg]:
    CALLS["model"] += 1
    return LEGS


@tracetape.boundary("ask", kind="llm", model="scripted-1")
def ask(prompt: str) -> str:
    CALLS["model"] += 1
    return prompt.rpartition(" ")[2].upper()


@tracetape.boundary("search_fares", kind="tool")
def search_fares(airport: str, leg: Leg, currency: str, request_id: str) -> int:
    CALLS["fares"] += 1
    if leg.destination not in FARES:
        raise ConnectionError(f"{airport}: connection reset")
    return FARES[leg.destination]


@tracetape.boundary("visa_rules", kind="tool")
def visa_rules(country: str, days: int) -> str:
    """A command-line program of somebody's, called as a library: where it does not know, it exits."""
    CALLS["rules"] += 1
    if country == "LIMA":
        raise SystemExit(f"no rules for {country}")
    return f"{days} days without a visa"


def currency_of(leg: Leg) -> str:
    return "EUR"


def days_in(leg: Leg) -> int:
    return 30


@tracetape.boundary("find_fare", kind="agent")
def find_fare(leg: Leg) -> int:
    airport = ask(f"the airport of {leg.destination}")
    return search_fares(airport, leg, currency_of(leg), f"req_{uuid.uuid4().hex}")


@tracetape.boundary("check_papers", kind="agent")
def check_papers(leg: Leg) -> str:
    return visa_rules(ask(f"the country of {leg.destination}"), days_in(leg))


@tracetape.boundary("book", kind="agent")
def book(leg: Leg, budget: int) -> Booking:
    """A coordinator. Where no fare is found it books at any price, which is the incident."""
    note = ""
    try:
        price = find_fare(leg)
    except Exception as error:
        price, note = budget, f"no fare: {error}"
    try:
        papers = check_papers(leg)
    except BaseException:
        papers = "ask the embassy"
    return Booking(leg, price, papers, note)


@tracetape.boundary("summarise", kind="llm", model="scripted-1")
def summarise(bookings: list[Booking | None]) -> str:
    CALLS["model"] += 1
    return f"{len(bookings)} legs for {sum(one.price for one in bookings if one)} euros"


def run(budget: int = BUDGET) -> Trip:
    bookings: list[Booking | None] = []
    for leg in split("Rome to Lima by way of Oslo and Quito"):
        try:
            bookings.append(book(leg, budget))
        except BaseException:
            bookings.append(None)
    try:
        text = summarise(bookings)
    except BaseException:
        text = "Something is booked."
    return Trip(text, tuple(bookings))


if __name__ == "__main__":
    print(run(*map(int, sys.argv[1:])))
    print(f"real calls: {CALLS.total()}", file=sys.stderr)
