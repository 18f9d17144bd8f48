"""Arize Phoenix."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC
from typing import Any
from urllib.parse import SplitResult, quote, unquote, urlencode

import orjson

from tracetape.errors import SourceError, TraceSelectionError
from tracetape.sources.backends import Address, Answer, Document, Found, Get, Wanted
from tracetape.sources.backends.traces import refuse_status
from tracetape.sources.formats.json_fields import time_of
from tracetape.sources.formats.otlp_span import list_of

__all__ = ["documents", "find", "name", "pasted", "spelling"]

name = "phoenix"
spelling = "phoenix+http://HOST:6006/PROJECT/TRACE_ID"

_PAGE = re.compile(r"(?P<prefix>.*)/projects/(?P<project>[^/]+)/traces/(?P<id>[0-9A-Fa-f]{16,32})/?")
_LIMIT = 1_000
# Of a trace of a million spans; what goes round for ever ends too.
_PAGES = 1_000


def pasted(parts: SplitResult) -> Address | None:
    """The UI's page of a trace: `/projects/PROJECT/traces/ID`; the API takes a project's id where it takes its
    name."""
    found = _PAGE.fullmatch(parts.path)
    if found is None:
        return None
    base = f"{parts.scheme}://{parts.netloc}{found['prefix']}"
    return Address(name, base, found["id"].lower().zfill(32), unquote(found["project"]))


def documents(address: Address, get: Get) -> Iterator[Document]:
    """Every page of the trace's spans."""
    for number, (answer, found) in enumerate(_pages(address, {"trace_id": address.trace_id}, get), 1):
        if number == 1 and not found["data"]:
            raise TraceSelectionError(
                f"{address}: Phoenix has no spans of this trace in project {address.project!r}. Is it of another "
                f"project? To look: tracetape find {Address(name, address.base, project=address.project)}",
                code="TRACE_NOT_FOUND",
            )
        yield Document(f"{answer.url}, page {number}", answer.body)


def find(address: Address, wanted: Wanted, get: Get) -> list[Found]:
    """By filters on spans."""
    query: dict[str, Any] = {
        "start_time": _iso(wanted.since),
        "end_time": _iso(wanted.until + 10**9),  # to the second, and that of now is not over
        "attribute": [f"{key}:{value}" for key, value in wanted.attributes.items()],
    }
    if wanted.errors:
        query["status_code"] = "ERROR"
    if wanted.service:
        raise SourceError(
            f"{address}: Phoenix keeps no service.name; look for an attribute instead", code="BACKEND_ERROR"
        )
    traces: dict[str, Found] = {}
    for answer, found in _pages(address, query, get):
        for span in found["data"]:
            try:
                _note(span, traces, wanted.errors)
            except (KeyError, TypeError, AttributeError):
                raise _unexpected(answer) from None
        if len(traces) >= wanted.limit:
            break
    return list(traces.values())


def _note(span: dict[str, Any], traces: dict[str, Found], failed: bool) -> None:
    trace_id = span["context"]["trace_id"]
    known = traces.get(trace_id)
    if known is None or span.get("parent_id") is None:
        started = time_of(span.get("start_time"), "start_time", "a span of Phoenix")
        ended = time_of(span.get("end_time"), "end_time", "a span of Phoenix")
        traces[trace_id] = Found(
            trace_id,
            str(span.get("name") or ""),
            started=started,
            duration=ended - started if started is not None and ended is not None else None,
            failed=True if failed else None,
        )


def _pages(address: Address, query: dict[str, Any], get: Get) -> Iterator[tuple[Answer, dict[str, Any]]]:
    cursor = None
    for _ in range(_PAGES):
        asked = {**query, "limit": _LIMIT, **({"cursor": cursor} if cursor else {})}
        path = f"/v1/projects/{quote(address.project, safe='')}/spans"
        answer = get(f"{address.base}{path}?{urlencode(asked, doseq=True)}", "application/json")
        if answer.status == 404:
            raise TraceSelectionError(
                f"{address}: Phoenix has no project {address.project!r}. The address is {spelling}; a project is "
                "the resource attribute openinference.project.name, else `default`.",
                code="TRACE_NOT_FOUND",
            )
        refuse_status(answer, "Phoenix", address)
        try:
            found = orjson.loads(answer.body)
            before = cursor
            found["data"], cursor = list_of(found["data"], "data", answer.url), found["next_cursor"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise _unexpected(answer) from None
        yield answer, found
        if not cursor:
            return
        if cursor == before:
            raise SourceError(f"{answer.url}: names itself as the page after it", code="BACKEND_ERROR")
    raise SourceError(f"{address}: more than {_PAGES:,} pages of {_LIMIT:,} spans", code="TOO_LARGE")


def _unexpected(answer: Answer) -> SourceError:
    return SourceError(f"{answer.url}: is not what Phoenix answers", code="BACKEND_ERROR")


def _iso(moment: int) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(moment // 10**9, UTC).isoformat()
