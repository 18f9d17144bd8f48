"""Rows of streams: what recording costs per item."""

from __future__ import annotations

import collections
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import tracetape
from bench import floors
from bench.measuring import Plan, Row, Side, in_turn, timed

__all__ = ["streams"]

ITEMS = 1_000
STEPPED = "re-yielded, context attached around each step"
STORED = "the same, each item's JSON kept"


def words(number: int) -> Generator[str, None, None]:
    for _ in range(number):
        yield "token "


async def awords(number: int) -> AsyncGenerator[str, None]:
    for _ in range(number):
        yield "token "


def streams(plan: Plan) -> Iterator[Row]:
    """Long streams, so that the call around the items weighs little."""
    marked = tracetape.boundary("words", kind="llm")(words)
    amarked = tracetape.boundary("awords", kind="llm")(awords)
    with tempfile.TemporaryDirectory() as folder:
        for floor, store, must in ((STEPPED, False, 2.0), (STORED, True, None)):
            with tracetape.record(Path(folder) / "ours.jsonl", mode="w", marks=False):
                sides = _sides(_consumed, marked, floors.restepped(words, store=store), plan)
                asides = _sides(_aconsumed, amarked, floors.arestepped(awords, store=store), plan)
            suffix = ", floor stores too" if store else ""
            yield Row(f"stream item, sync{suffix}", floor, "µs an item", *sides, must=must)
            yield Row(f"stream item, async{suffix}", floor, "µs an item", *asides, must=must)


def _sides(
    consumed: Callable[[Any], Callable[[int], None]], ours: Any, least: Any, plan: Plan
) -> tuple[Side, Side]:
    return in_turn(lambda: timed(consumed(ours), ITEMS), lambda: timed(consumed(least), ITEMS), plan.repeat)


def _consumed(function: Callable[[int], Any]) -> Callable[[int], None]:
    def run(number: int) -> None:
        collections.deque(function(number), maxlen=0)

    return run


def _aconsumed(function: Callable[[int], Any]) -> Callable[[int], None]:
    """Driven by hand: the items never wait, so one step is the whole stream."""

    async def consume(number: int) -> None:
        async for _ in function(number):
            pass

    def run(number: int) -> None:
        try:
            consume(number).send(None)
        except StopIteration:
            pass

    return run
