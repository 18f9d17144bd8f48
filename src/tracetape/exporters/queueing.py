"""Spans that wait for their receiver, bounded by the memory that they hold."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan

from tracetape.exporters.sizes import size_of, size_of_origin

__all__ = ["SpanQueue", "Waiting", "bytes_of"]


class Waiting:
    """One span that waits.

    size, origin_size:  its bytes in a request; those that it shares with others of the same `origin`.
    alone:  how often it was not taken although it was sent by itself.
    since:  how many spans had been taken when that began.
    tried:  in which round of sending, and how often in that round.
    """

    __slots__ = ("alone", "origin", "origin_size", "since", "size", "span", "tried")

    def __init__(self, span: ReadableSpan) -> None:
        self.span = span
        self.size = size_of(span)
        self.origin = (id(span.resource), id(span.instrumentation_scope))
        self.origin_size = 0
        self.alone = self.since = 0
        self.tried = (0, 0)


class SpanQueue:
    """First in, first out. What was taken out still counts, until it is said to be `done`: it is in memory.

    But one that is larger than a request should be waits until no other does: an exporter may try it again and
    again, and hold up all that comes after it.

    The lock may be taken again by the thread that has it: a signal handler, or the garbage collector, may end a
    span while this thread is putting one in.

    most_bytes:     of all that waits.
    request_bytes:  over that a span is large.
    """

    def __init__(self, most_bytes: int, request_bytes: int) -> None:
        self._most, self._request_bytes = most_bytes, request_bytes
        self._lock = threading.RLock()
        self._waiting: deque[Waiting] = deque()
        self._large: deque[Waiting] = deque()
        self._origins: dict[tuple[int, int], tuple[Any, int]] = {}
        self.bytes = 0
        self.count = 0

    def put(self, one: Waiting) -> bool:
        """False where there is no room. A span that is larger than all the room there is comes in where nothing
        else is."""
        with self._lock:
            if self.bytes + one.size > self._most and self.count:
                return False
            one.origin_size = self._origin_size(one)
            self.bytes += one.size
            self.count += 1
            self._line_of(one).append(one)
            return True

    def take(self, most_bytes: int, most_spans: int) -> list[Waiting]:
        """The next request: as many as fit. One that does not fit by itself, or was refused, goes alone."""
        with self._lock:
            if not self._waiting and self._large:
                return [self._large.popleft()]
            taken: list[Waiting] = []
            origins: set[tuple[int, int]] = set()
            size = 0
            while self._waiting and len(taken) < most_spans:
                one = self._waiting[0]
                size += one.size + (0 if one.origin in origins else one.origin_size)
                if taken and (size > most_bytes or one.alone):
                    break
                taken.append(self._waiting.popleft())
                origins.add(one.origin)
                if one.alone:
                    break
            return taken

    def put_back(self, several: Iterable[Waiting]) -> None:
        """Where they were: at the front, in their order."""
        with self._lock:
            for one in reversed(list(several)):
                self._line_of(one).appendleft(one)

    def put_last(self, one: Waiting) -> None:
        with self._lock:
            self._line_of(one).append(one)

    def done(self, several: Iterable[Waiting]) -> None:
        """They are held no longer: taken by the receiver, or given up."""
        with self._lock:
            for one in several:
                self.bytes -= one.size
                self.count -= 1

    def rest(self) -> list[Waiting]:
        with self._lock:
            return [*self._waiting, *self._large]

    def __len__(self) -> int:
        return len(self._waiting) + len(self._large)

    def _line_of(self, one: Waiting) -> deque[Waiting]:
        return self._large if one.size > self._request_bytes else self._waiting

    def _origin_size(self, one: Waiting) -> int:
        """Measured once: a process has few of them, which live as long as it does."""
        found = self._origins.get(one.origin)
        span = one.span
        if found is None:
            if len(self._origins) > 256:
                self._origins.clear()
            # With what the ids are of, so that these are nobody else's as long as they stand here.
            found = self._origins[one.origin] = ((span.resource, span.instrumentation_scope), size_of_origin(span))
        return found[1]


def bytes_of(several: Iterable[Waiting]) -> int:
    """Of one request with these."""
    origins = {}
    size = 0
    for one in several:
        size += one.size
        origins[one.origin] = one.origin_size
    return size + sum(origins.values())
