"""Sends what waits to a receiver, so that a span which it refuses harms no other.

An exporter says of a request only that it failed, not why. So of a request that failed its smallest span is sent
by itself, and where that fails too a request with nothing in it: where one of them is taken, the receiver is there
and has refused what it was given, and the rest is halved until what it refuses stands alone; where none is, all of
them wait for another time. A span that is refused alone is given up only when the receiver has taken others since,
or answers to an empty request now.
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable

from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from tracetape.exporters.drops import REFUSED, Drops
from tracetape.exporters.queueing import SpanQueue, Waiting, bytes_of

__all__ = ["Sender", "is_refused"]

_log = logging.getLogger("tracetape")

LEAST_REQUEST = 65_536
_ALONE = 3


def is_refused(alone: int, *, is_large: bool, receiver_takes_others: bool) -> bool:
    """Whether a span that failed by itself, for the so-many-th time, is to be given up.

    While the receiver takes nothing at all it may be that nobody is there. One that is larger than a request
    should be is tried twice, another three times: it may have met a receiver that was busy.
    """
    return receiver_takes_others and alone >= (2 if is_large else _ALONE)


class Sender:
    """Used by one thread, but for `stop`.

    make:  gives the exporter, when the first span is sent.
    """

    def __init__(
        self, make: Callable[[], SpanExporter], queue: SpanQueue, drops: Drops, most_bytes: int, most_spans: int
    ) -> None:
        self._make, self._queue, self._drops = make, queue, drops
        self._most_bytes, self._most_spans = most_bytes, most_spans
        self._request_bytes = most_bytes
        self._exporter: SpanExporter | None = None
        self._round = 0
        self._suspects: list[Waiting] = []
        self._stopped = self._has_raised = False
        self.delivered = 0
        self.requests = 0
        self.in_flight: list[Waiting] = []

    def drain(self) -> bool:
        """Send until nothing waits: True. False where something is left, since the receiver takes nothing, or
        not that, or `stop` was called."""
        self._round += 1
        while not self._stopped:
            batch = self._queue.take(self._request_bytes, self._most_spans)
            if not batch:
                return True
            if batch[0].tried >= (self._round, 2):
                self._queue.put_back(batch)
                return False
            self.in_flight = batch
            try:
                is_there = self._deliver(batch)
            finally:
                self.in_flight = []
            if not is_there:
                return False
        return False

    def stop(self, seconds: float) -> None:
        """Send nothing more, and have the exporter give up what it is at. From any thread."""
        self._stopped = True
        exporter, self._exporter = self._exporter, None
        if exporter is not None:
            _shut(exporter, seconds)

    def _deliver(self, batch: list[Waiting]) -> bool:
        """Whether the receiver is there; what it did not take is in the queue again, or given up."""
        if self._export(batch):
            return True
        if self._stopped:
            self._queue.put_back(batch)
            return False
        if len(batch) == 1:
            return self._failed_alone(batch[0])
        smallest = min(batch, key=lambda one: one.size)
        rest = [one for one in batch if one is not smallest]
        if not self._export([smallest]):
            if not self._answers():
                self._queue.put_back(batch)
                for one in self._suspects:
                    one.alone = 0
                self._suspects.clear()
                return False
            self._failed_alone(smallest, takes_others=True)
        largest = self._halve(rest)
        if largest is not None:
            # Nothing but the size was wrong: a proxy before the receiver may have a limit of its own.
            self._request_bytes = max(LEAST_REQUEST, min(self._request_bytes, largest))
        return True

    def _halve(self, refused: list[Waiting]) -> int | None:
        """Deliver what was refused together. The bytes of the largest request that was taken; None where a span
        was not taken."""
        middle = (len(refused) + 1) // 2
        largest: int | None = 0
        for part in (refused[:middle], refused[middle:]):
            if not part:
                continue
            taken: int | None = None
            if self._stopped:
                self._queue.put_back(part)
            elif self._export(part):
                taken = bytes_of(part)
            elif len(part) == 1:
                self._failed_alone(part[0])
            else:
                taken = self._halve(part)
            largest = None if taken is None or largest is None else max(largest, taken)
        return largest

    def _answers(self) -> bool:
        """Whether the receiver takes a request with nothing in it: then it is there."""
        return self._export([])

    def _failed_alone(self, one: Waiting, *, takes_others: bool = False) -> bool:
        """Whether to go on with what else waits."""
        if not one.alone:
            one.since = self.delivered
            self._suspects.append(one)
        one.alone += 1
        times = one.tried[1] + 1 if one.tried[0] == self._round else 1
        one.tried = (self._round, times)
        takes_others = takes_others or self.delivered > one.since or self._answers()
        if is_refused(one.alone, is_large=one.size > self._most_bytes, receiver_takes_others=takes_others):
            self._suspects.remove(one)
            self._queue.done([one])
            self._drops.add(
                REFUSED, one.span, lambda: f"the receiver refuses {one.span.name!r} of {one.size:,} bytes"
            )
            return True
        self._queue.put_last(one)
        return takes_others or len(self._queue) > len(self._suspects)

    def _export(self, several: list[Waiting]) -> bool:
        if self._stopped:
            return False
        self.requests += 1
        try:
            exporter = self._exporter
            if exporter is None:
                exporter = self._exporter = self._make()
            is_taken = exporter.export([one.span for one in several]) is SpanExportResult.SUCCESS
        except Exception as error:  # noqa: BLE001 (an old one raises where there is no connection; any, in encoding)
            is_taken = False
            if not self._has_raised:
                self._has_raised = True
                _log.warning("tracetape: the exporter raised %s: %s; spans wait", type(error).__name__, error)
        if is_taken:
            self.delivered += len(several)
            self._queue.done(several)
            for one in several:
                if one.alone:
                    self._suspects.remove(one)
        return is_taken


def _shut(exporter: SpanExporter, seconds: float) -> None:
    """An old exporter does not come back from this before its own retries are over."""
    if "timeout_millis" in inspect.signature(exporter.shutdown).parameters:
        exporter.shutdown(timeout_millis=seconds * 1000)  # type: ignore[call-arg]
        return
    helper = threading.Thread(target=exporter.shutdown, name="tracetape-export-end", daemon=True)
    try:
        helper.start()
    except RuntimeError:
        return  # the interpreter is so near its end that it starts no thread: it ends this one's too
    helper.join(seconds)
