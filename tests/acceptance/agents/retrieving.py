"""An agent that looks things up in threads: searches at once, each over shards at once, with a memory."""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import tracetape

CALLS: Counter[str] = Counter()  # what really ran; a replay must leave it as it is
Vector = tuple[float, ...]
SHARDS = ("north", "south")
# document → its shard, its tags
LIBRARY: dict[str, tuple[str, frozenset[str]]] = {
    "trains.md": ("north", frozenset({"travel", "rail"})),
    "trams.md": ("south", frozenset({"travel", "rail", "city"})),
    "museums.md": ("south", frozenset({"city", "art"})),
    "ferries.md": ("north", frozenset({"travel", "sea"})),
    "harbour.md": ("south", frozenset({"sea", "city"})),
}


@dataclass(frozen=True)
class Query:
    text: str
    tags: frozenset[str]
    limit: int


@dataclass(frozen=True)
class Passage:
    document: str
    tags: frozenset[str]


@dataclass
class Profile:
    user: str
    interests: set[str]


@dataclass(frozen=True)
class Answer:
    text: str
    sources: tuple[str, ...]
    remembered: int


@tracetape.boundary("recall", kind="memory")
def recall(user: str) -> Profile:
    CALLS["memory"] += 1
    return Profile(user, {"rail", "sea", "art"})


@tracetape.boundary("remember", kind="memory")
def remember(profile: Profile, seen: set[str], at: datetime) -> int:
    CALLS["memory"] += 1
    return len(profile.interests | seen)


@tracetape.boundary("embed", kind="embedding")
def embed(text: str) -> Vector:
    CALLS["model"] += 1
    return tuple(ord(letter) / 128 for letter in text[:4])


@tracetape.boundary("scan", kind="retrieval")
def scan(vector: Vector, tags: frozenset[str], shard: str) -> set[Passage]:
    CALLS["index"] += 1
    time.sleep(random.random() / 500)
    return {Passage(name, has) for name, (where, has) in LIBRARY.items() if where == shard and tags & has}


@tracetape.boundary("search", kind="retrieval")
def search(query: Query) -> list[Passage]:
    """Without `propagate`, the scans would hang under the run instead of under their own search."""
    scanning = tracetape.propagate(partial(scan, embed(query.text), query.tags))
    with ThreadPoolExecutor(len(SHARDS)) as pool:
        found = set[Passage]().union(*pool.map(scanning, SHARDS))
    return sorted(found, key=lambda one: one.document)[: query.limit]


@tracetape.boundary("answer", kind="llm", model="scripted-1")
def answer(question: str, passages: frozenset[Passage], profile: Profile) -> str:
    CALLS["model"] += 1
    return f"For {profile.user}: " + ", ".join(sorted(one.document for one in passages))


def limit_of(interest: str) -> int:
    return 2


def look_up(query: Query) -> list[Passage]:
    """The jitter stands for a production's own: in each run the searches begin in another order."""
    time.sleep(random.random() / 200)
    return search(query)


def run(question: str = "What should I see?") -> Answer:
    profile = recall("Ada")
    queries = [Query(f"{topic} in town", frozenset({topic}), limit_of(topic)) for topic in profile.interests]
    with ThreadPoolExecutor(4) as pool:
        found: Any = pool.map(tracetape.propagate(look_up), queries)
        passages = frozenset(passage for several in found for passage in several)
    seen = {tag for passage in passages for tag in passage.tags}
    text = answer(question, passages, profile)
    remembered = remember(profile, seen, tracetape.effect("now", lambda: datetime.now(UTC)))
    return Answer(text, tuple(sorted(one.document for one in passages)), remembered)


if __name__ == "__main__":
    print(run())
    print(f"real calls: {CALLS.total()}", file=sys.stderr)
