"""An agent that asks twelve stations at once, four at a time, then has a model merge what they read."""

from __future__ import annotations

import asyncio
import random
import sys
import uuid
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

import tracetape

CALLS: Counter[str] = Counter()  # what really ran; a replay must leave it as it is
CELSIUS = {
    "Accra": 31,
    "Bergen": 9,
    "Cairo": 34,
    "Dakar": 29,
    "Esbjerg": 11,
    "Fargo": 4,
    "Galway": 12,
    "Hobart": 14,
    "Izmir": 27,
    "Juneau": 5,
    "Kyoto": 21,
    "Lima": 18,
}
HANGS = "Hobart"
USUAL_C = 13  # what the tables say of it
AT_ONCE = 4


@dataclass(frozen=True)
class Reading:
    station: str
    degrees: int
    unit: str
    taken: datetime | None = None


def place_of(station: str) -> str:
    return station


def unit_of(station: str) -> str:
    return "C"


def patience_of(station: str) -> float:
    """Short for the one that is known to hang; long for the others, so that a busy machine changes nothing."""
    return 0.02 if station == HANGS else 60


@tracetape.boundary("fetch", kind="tool")
async def fetch(place: str, unit: str, call_id: str) -> Reading:
    CALLS["network"] += 1
    await asyncio.sleep(random.random() / 200)
    if place == HANGS:
        await asyncio.Event().wait()
    return Reading(place, CELSIUS[place], unit, datetime.now(UTC))


@tracetape.boundary("usual", kind="retrieval")
async def usual(station: str, unit: str) -> Reading:
    CALLS["tables"] += 1
    return Reading(station, USUAL_C, unit)


@tracetape.boundary("merge", kind="llm", model="scripted-1")
async def merge(question: str, readings: list[Reading]) -> dict[str, object]:
    CALLS["model"] += 1
    warmest = max(readings, key=lambda one: one.degrees)
    mean = sum(one.degrees for one in readings) / len(readings)
    return {"text": f"It is warmest in {warmest.station}.", "warmest": warmest, "mean": mean}


async def read(station: str, gate: asyncio.Semaphore) -> Reading:
    """The jitter stands for a production's own: in each run the calls begin, and end, in another order."""
    call_id = f"call_{uuid.uuid4().hex}"
    await asyncio.sleep(random.random() / 200)
    async with gate:
        try:
            asked = fetch(place_of(station), unit_of(station), call_id)
            return await asyncio.wait_for(asked, patience_of(station))
        except TimeoutError:
            return await usual(station, unit_of(station))


async def main(question: str) -> dict[str, object]:
    gate = asyncio.Semaphore(AT_ONCE)
    readings = await asyncio.gather(*(read(station, gate) for station in CELSIUS))
    return await merge(question, readings)


def run() -> dict[str, object]:
    return asyncio.run(main("Where is it warmest?"))


if __name__ == "__main__":
    print(run())
    print(f"real calls: {CALLS.total()}", file=sys.stderr)
