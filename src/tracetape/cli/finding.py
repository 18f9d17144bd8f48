"""`find`: the traces of a backend that are wanted."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from rich.text import Text

from tracetape.cli.render import counted
from tracetape.cli.tree import duration
from tracetape.errors import UsageError
from tracetape.model.printing import escaped
from tracetape.sources.addresses import meant, shown
from tracetape.sources.backends import Address, Found, Wanted
from tracetape.sources.backends.registry import BACKENDS
from tracetape.sources.remote import look_for

__all__ = ["as_json", "found", "lines", "moment"]

_MOST = 50 * 366 * 86_400
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def found(
    backend: str, attributes: tuple[str, ...], since: str, errors: bool, service: str | None, limit: int
) -> tuple[list[Found], Address]:
    """The traces, newest first, and the backend. Raises UsageError, SourceError."""
    address = meant(backend)
    if address is None:
        known = ", ".join(one.spelling.removesuffix("/TRACE_ID") for one in BACKENDS if one.name != "mlflow")
        raise UsageError(f"find looks into a backend, and {shown(backend)} is none: {known}")
    address = replace(address, trace_id="")
    now = time.time_ns()
    for text in (*attributes, service or ""):
        if not text.isprintable():
            raise UsageError(f"{text!r} holds characters that nobody can look for")
    pairs = dict(map(_pair, attributes))
    wanted = Wanted(now - _nanoseconds(since), now, pairs, errors, service, limit)
    return look_for(address, wanted), address


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"--attribute takes a name and a value, as in order.id=ord-42, not {text!r}")
    return key, value


def _nanoseconds(since: str) -> int:
    given = re.fullmatch(r"([0-9]{1,6})([smhdw])", since.strip().lower())
    if given is None:
        raise UsageError(f"--since takes a time such as 90s, 30m, 2h or 7d, not {since!r}")
    seconds = int(given[1]) * _SECONDS[given[2]]
    if seconds > _MOST:
        raise UsageError(f"--since goes back fifty years at most, not {since!r}")
    return seconds * 10**9


def lines(traces: list[Found], address: Address) -> Iterator[Text]:
    """A line a trace, then what to do with one."""
    if not traces:
        yield Text(f"{escaped(str(address))}: nothing found. Look further back with --since 7d, or for less.")
        return
    for one in traces:
        line = Text(f"{escaped(one.trace_id)}  {moment(one.started)}  ")
        line.append(f"{'' if one.duration is None else duration(one.duration):>8}")
        line.append(f"  {'' if one.spans is None else counted(one.spans, 'span'):>9}")
        line.append("  failed" if one.failed else "        ", style="red")
        line.append(f"  {escaped(one.name)}")
        if one.service:
            line.append(f" ({escaped(one.service)})", style="dim")
        yield line
    one_of_them = str(replace(address, trace_id=traces[0].trace_id))
    yield Text(f"One of them: tracetape show {escaped(one_of_them)}", style="dim")


def as_json(traces: list[Found], address: Address) -> dict[str, Any]:
    """`{traces: [{source, trace_id, name, service, started, duration, spans, failed}]}`; times in nanoseconds,
    null for what the backend does not say."""
    return {
        "traces": [
            {
                "source": str(replace(address, trace_id=one.trace_id)),
                "trace_id": one.trace_id,
                "name": one.name,
                "service": one.service,
                "started": one.started,
                "duration": one.duration,
                "spans": one.spans,
                "failed": one.failed,
            }
            for one in traces
        ]
    }


def moment(ns: int | None) -> str:
    """A point of time to the second, in UTC."""
    if ns is None:
        return " " * 20
    try:
        return f"{datetime.fromtimestamp(ns // 10**9, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (OverflowError, OSError, ValueError):
        return f"{ns} ns"
