"""A span processor whose requests are cut by bytes.

What the SDK's own does otherwise: it cuts by count, so that a request may be larger than its receiver takes, and
all that is in it is lost; it holds spans by count, of whatever size; it says of no span that it was lost; and with
no receiver a program takes 7 to 30 seconds to end.
"""

from __future__ import annotations

import logging
import os
import queue
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter

from tracetape.exporters.drops import FULL, LATE, REFUSED, UNSENT, Drops, LocalFiles
from tracetape.exporters.queueing import SpanQueue, Waiting
from tracetape.exporters.sending import Sender

__all__ = ["BatchingProcessor"]

_SUPPRESS: Any = getattr(otel_context, "_SUPPRESS_INSTRUMENTATION_KEY", "suppress_instrumentation")
_log = logging.getLogger("tracetape")

_LONGEST_PAUSE = 30.0
_LONGEST_EXIT = 30.0


class BatchingProcessor(SpanProcessor):
    """Hands ended spans to an exporter, from a thread of its own that starts with the first of them.

    make:          gives the exporter; asked again in a forked process, since no connection outlives a fork.
    most_bytes:    of one request. A span that is larger goes alone.
    most_spans:    of one request.
    queue_bytes:   of the spans that wait; what comes when they are more is dropped, counted and said.
    delay:         seconds after which a request goes that is not full.
    exit_seconds:  how long `shutdown` waits for a receiver that takes nothing. While it takes spans it is waited
                   for, up to half a minute.
    """

    def __init__(
        self,
        make: Callable[[], SpanExporter],
        *,
        most_bytes: int,
        most_spans: int,
        queue_bytes: int,
        delay: float,
        exit_seconds: float,
        files: LocalFiles | None = None,
    ) -> None:
        self._make = make
        self._most_bytes, self._most_spans, self._queue_bytes = most_bytes, most_spans, queue_bytes
        self._delay, self._exit_seconds = delay, exit_seconds
        self._files = files or LocalFiles()
        self._begin()
        renew = weakref.WeakMethod(self._begin)

        def after_fork() -> None:
            begin = renew()
            if begin is not None:
                begin()

        os.register_at_fork(after_in_child=after_fork)

    def _begin(self) -> None:
        """Start with nothing: what a forked child has of its parent is the parent's to send."""
        self.drops = Drops(self._files)
        self._queue = SpanQueue(self._queue_bytes, self._most_bytes)
        self._sender = Sender(self._make, self._queue, self.drops, self._most_bytes, self._most_spans)
        # Its `put` may interrupt itself, in a signal handler; an Event's `set` would wait for itself.
        self._calls: queue.SimpleQueue[_Flush | None] = queue.SimpleQueue()
        self._is_called = False
        self._worker: threading.Thread | None = None
        self._starting = threading.RLock()
        self._closed = False

    @property
    def delivered(self) -> int:
        """Spans that the receiver has taken."""
        return self._sender.delivered

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        pass

    def on_end(self, span: ReadableSpan) -> None:
        context = span.context
        if context is None or not context.trace_flags.sampled:
            return
        self._files.note(context.trace_id)
        if self._closed:
            self.drops.add(LATE, span, lambda: "it ended after the provider was shut down")
            return
        if not self._queue.put(Waiting(span)):
            self.drops.add(FULL, span, lambda: f"{self._queue.bytes:,} bytes of them wait for the receiver")
            return
        if self._worker is None:
            self._start()
        is_full = self._queue.bytes >= self._most_bytes or self._queue.count >= self._most_spans
        if is_full and not self._is_called:
            self._is_called = True
            self._calls.put(None)

    def force_flush(self, timeout_millis: int | None = 30_000) -> bool:
        """Send what waits now. True where all of it was taken in time, and nothing has been refused since the last
        flush: some of it may have gone before."""
        if self._closed or self._worker is None:
            return self._queue.count == 0
        flush = _Flush()
        self._calls.put(flush)
        flush.done.wait(30.0 if timeout_millis is None else timeout_millis / 1000)
        return flush.is_delivered

    def shutdown(self) -> None:
        """Send what waits, as long as the receiver takes it; then say what was not sent."""
        if self._closed:
            return
        self._closed = True
        worker = self._worker
        if worker is not None:
            self._calls.put(None)
            self._wait_for(worker)
            if worker.is_alive():
                self._sender.stop(self._exit_seconds / 10)
                worker.join(self._exit_seconds / 10)
        for one in [*self._sender.in_flight, *self._queue.rest()][: self._queue.count]:
            self.drops.add(UNSENT, one.span)
        self.drops.say_total(self.delivered)

    def _wait_for(self, worker: threading.Thread) -> None:
        """Until it has ended, or the receiver has taken nothing for most of `exit_seconds`."""
        patience = 0.8 * self._exit_seconds
        began = since = time.monotonic()
        delivered = self.delivered
        while worker.is_alive():
            worker.join(0.05)
            now = time.monotonic()
            if self.delivered > delivered:
                delivered, since = self.delivered, now
            if now - since > patience or now - began > _LONGEST_EXIT:
                return

    def _start(self) -> None:
        with self._starting:
            if self._worker is None:
                worker = threading.Thread(target=self._work, name="tracetape-export", daemon=True)
                try:
                    worker.start()
                except RuntimeError:
                    return  # no thread to be had, as at the interpreter's end: the next span tries again
                self._worker = worker
                self._end_with_pool()

    def _end_with_pool(self) -> None:
        """Processes of `multiprocessing` leave by `os._exit`, and call what that module was told to."""
        util: Any = sys.modules.get("multiprocessing.util")
        process: Any = sys.modules.get("multiprocessing.process")
        if util is not None and process is not None and process.parent_process() is not None:
            util.Finalize(None, self.shutdown, exitpriority=0)

    def _work(self) -> None:
        otel_context.attach(otel_context.set_value(_SUPPRESS, True))  # for good: this thread does nothing else
        sender, calls = self._sender, self._calls
        pause, not_before, refused = self._delay, 0.0, 0
        while True:
            flushes = self._called(calls, pause)
            is_last = self._closed
            if not flushes and not is_last and time.monotonic() < not_before:
                continue  # a full request, for a receiver that has just taken nothing
            is_empty = self._drain(sender)
            if flushes:
                before, refused = refused, self.drops.count_of(REFUSED)
            for flush in flushes:
                flush.is_delivered = is_empty and refused == before
                flush.done.set()
            if is_last:
                sender.stop(self._exit_seconds / 10)
                return
            pause = self._delay if is_empty else min(2 * max(pause, 0.5), _LONGEST_PAUSE)
            not_before = 0.0 if is_empty else time.monotonic() + pause

    def _drain(self, sender: Sender) -> bool:
        try:
            return sender.drain()
        except Exception as error:  # noqa: BLE001 (the thread goes on: what waits is sent the next time)
            _log.warning("tracetape: spans were not exported: %s: %s", type(error).__name__, error)
            return False

    def _called(self, calls: queue.SimpleQueue[_Flush | None], pause: float) -> list[_Flush]:
        """Wait for a call, at most for that long; who waits for an answer to it."""
        found: list[_Flush] = []
        try:
            call = calls.get(timeout=pause)
            self._is_called = False
            while True:
                if call is not None:
                    found.append(call)
                call = calls.get_nowait()
        except queue.Empty:
            return found


class _Flush:
    """Somebody waits until what waited has been sent."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.is_delivered = False
