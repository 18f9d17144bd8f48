"""What was not exported: it is counted, then said aloud."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import format_trace_id

from tracetape import _sessions

__all__ = ["FULL", "LATE", "REFUSED", "UNSENT", "Drops", "LocalFiles"]

_log = logging.getLogger("tracetape")

FULL = "full"
REFUSED = "refused"
LATE = "late"
UNSENT = "unsent"

_TOTAL = {
    UNSENT: "{:,} not taken by the receiver before the program ended",
    REFUSED: "{:,} refused by the receiver",
    FULL: "{:,} dropped because too many waited",
    LATE: "{:,} ended after the shutdown",
}
_MOST_TRACES = 1024


class LocalFiles:
    """Which traces are in a file of this machine too: those of open recordings, as their spans come by.

    always:  a folder that has all of them.
    """

    def __init__(self, always: str | None = None) -> None:
        self._always = always
        self._paths: dict[int, str] = {}

    def note(self, trace_id: int) -> None:
        if trace_id in self._paths:
            return
        runs = _sessions.opened_recordings()
        if not runs:
            return
        text = format_trace_id(trace_id)
        for run in runs:
            if getattr(run, "trace_id", None) == text:
                if len(self._paths) >= _MOST_TRACES:
                    self._paths.pop(next(iter(self._paths)), None)
                self._paths[trace_id] = str(getattr(run, "path", ""))

    def of(self, trace_id: int) -> str | None:
        return self._paths.get(trace_id, self._always)


class Drops:
    """Each kind is said once, when it begins; the total at the end. Nothing is said where nothing was dropped."""

    def __init__(self, files: LocalFiles) -> None:
        self._files = files
        self._counts: Counter[str] = Counter()
        self._local: Counter[str] = Counter()
        self._said: set[str] = set()

    def count_of(self, kind: str) -> int:
        return self._counts[kind]

    def add(self, kind: str, span: ReadableSpan, why: Callable[[], str] | None = None) -> None:
        """why: for the line that is said when the first of this kind is dropped."""
        self._counts[kind] += 1
        local = self._files.of(span.context.trace_id) if span.context is not None else None
        if local is not None:
            self._local[local] += 1
        if why is not None and kind not in self._said:
            self._said.add(kind)
            where = "" if local is None else f" It is in {local}."
            _log.warning(
                "tracetape: a span was not exported: %s.%s More of this kind are counted; the sum is said at exit",
                why(),
                where,
            )

    def total(self, delivered: int) -> str:
        """The sum in one line; "" where nothing was dropped."""
        dropped = sum(self._counts.values())
        if not dropped:
            return ""
        kinds = ", ".join(text.format(self._counts[kind]) for kind, text in _TOTAL.items() if self._counts[kind])
        kept = sum(self._local.values())
        text = f"{dropped:,} of {dropped + delivered:,} spans were not exported: {kinds}."
        files = ", ".join(list(self._local)[:3]) + (" and others" if len(self._local) > 3 else "")
        if kept == dropped:
            return f"{text} All of them are in {files}."
        if kept:
            return f"{text} {kept:,} of them are in {files}; no local file has the other {dropped - kept:,}: lost."
        return f"{text} No local file has them: they are lost."

    def say_total(self, delivered: int) -> None:
        text = self.total(delivered)
        if text:
            _log.warning("tracetape: %s", text)
