"""Jaeger's query service."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import SplitResult, urlencode

import orjson

from tracetape.errors import SourceError, TraceSelectionError
from tracetape.sources.backends import Address, Answer, Document, Found, Get, Wanted
from tracetape.sources.backends.traces import found_in, refuse_status
from tracetape.sources.formats.jaeger_v3 import NOT_KEPT

__all__ = ["documents", "find", "name", "pasted", "spelling"]

name = "jaeger"
spelling = "jaeger+http://HOST:16686/TRACE_ID"

_PAGE = re.compile(r"(?P<prefix>.*)/trace/(?P<id>[0-9A-Fa-f]{16,32})/?")


def pasted(parts: SplitResult) -> Address | None:
    """The UI's page of a trace: `/trace/ID`."""
    found = _PAGE.fullmatch(parts.path)
    if found is None:
        return None
    return Address(name, f"{parts.scheme}://{parts.netloc}{found['prefix']}", found["id"].lower().zfill(32))


def documents(address: Address, get: Get) -> Iterator[Document]:
    """By API v3, which is true OTLP; by the legacy one, which loses types, where that is not there."""
    url = f"{address.base}/api/v3/traces/{address.trace_id}?rawTraces=true"
    answer = _asked(url, get)
    if answer is not None and answer.status == 200:
        yield Document(answer.url, answer.body)
        return
    if answer is not None and answer.status == 404 and b"No traces found" in answer.body:
        raise _not_found(address)
    answer = get(f"{address.base}/api/traces/{address.trace_id}?raw=true", "application/json")
    if answer.status == 404:
        raise _not_found(address)
    refuse_status(answer, "Jaeger", address)
    yield Document(answer.url, answer.body)


def _asked(url: str, get: Get) -> Answer | None:
    """None where v3 is not served: Jaeger before 1.60, or another program, answers with its web page."""
    try:
        return get(url, "application/json")
    except SourceError as error:
        if error.code == "WEB_PAGE":
            return None
        raise


def _not_found(address: Address) -> TraceSelectionError:
    return TraceSelectionError(
        f"{address}: Jaeger has no such trace. {NOT_KEPT} To look: tracetape find {Address(name, address.base)}",
        code="TRACE_NOT_FOUND",
    )


def find(address: Address, wanted: Wanted, get: Get) -> list[Found]:
    """By API v3, a service at a time, for it wants one."""
    services = [wanted.service] if wanted.service else _services(address, get)
    traces: list[Found] = []
    for service in services:
        query = {
            "query.service_name": service,
            "query.start_time_min": _rfc3339(wanted.since),
            "query.start_time_max": _rfc3339(wanted.until),
            "query.num_traces": str(wanted.limit),
        }
        attributes = dict(wanted.attributes)
        if wanted.errors:
            attributes["error"] = "true"
        if attributes:
            query["query.attributes"] = orjson.dumps(attributes).decode()
        answer = get(f"{address.base}/api/v3/traces?{urlencode(query)}", "application/json")
        if answer.status == 404:
            continue
        refuse_status(answer, "Jaeger", address)
        traces += found_in(answer)
    return traces


def _services(address: Address, get: Get) -> list[str]:
    answer = get(f"{address.base}/api/v3/services", "application/json")
    refuse_status(answer, "Jaeger", address)
    try:
        found: Any = orjson.loads(answer.body)
        return [str(one) for one in found["services"] or ()]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise SourceError(
            f"{answer.url}: is not what Jaeger's API v3 answers; its API is there since version 1.60",
            code="BACKEND_ERROR",
        ) from None


def _rfc3339(moment: int) -> str:
    seconds, rest = divmod(moment, 10**9)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
