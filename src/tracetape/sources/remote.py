"""Gets what is not on this machine: traces of backends, files of servers, objects of stores."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain

from tracetape.config import access
from tracetape.errors import SourceError, TraceSelectionError
from tracetape.sources import addresses
from tracetape.sources.addresses import shown
from tracetape.sources.backends import Address, Backend, Document, Found, Wanted
from tracetape.sources.backends.http import ANSWER_LIMIT, Client, is_web_page
from tracetape.sources.backends.registry import BACKENDS
from tracetape.sources.backends.stores import objects
from tracetape.sources.blobs import Blob

__all__ = ["blobs_of", "look_for"]

# Seconds: a backend shows a trace some time after it was sent, Tempo after up to ten.
_TRACE_ID = re.compile(r"[0-9a-f]{32}")

_PAUSES = (0.5, 1.0, 2.0, 4.0)
_PAUSES_WHERE_MISSING = (0.5, 1.0, 2.0)

IsSettled = Callable[[list[Blob]], bool]
"""Whether the documents of a trace are all that there will be."""


def blobs_of(url: str, trace_id: str | None, is_settled: IsSettled) -> list[Blob]:
    """What a URL stands for.

    trace_id:    32 hex digits, for an address of a backend that says none.
    is_settled:  asked of a fresh trace, which is asked for again until it is, some seconds at most.

    Raises SourceError UNKNOWN_SOURCE, UNREACHABLE, TIMED_OUT, NOT_AUTHORIZED, WEB_PAGE, TOO_LARGE, BACKEND_ERROR,
    FILE_NOT_FOUND; TraceSelectionError TRACE_NOT_FOUND.
    """
    address = addresses.meant(url)
    if address is not None:
        address = address if address.trace_id or trace_id is None else replace(address, trace_id=trace_id)
        return _trace(address, is_settled)
    if url.lower().startswith(("http://", "https://")):
        return [_file(url)]
    return [Blob(name, opening) for name, opening in objects(url)]


def look_for(address: Address, wanted: Wanted) -> list[Found]:
    """The traces of a backend that are wanted, newest first. Raises SourceError as `blobs_of` does."""
    backend, client = _asked(address)
    try:
        found = backend.find(address, wanted, client.get)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise SourceError(
            f"{address}: is not what a search in {address.backend} answers ({type(error).__name__})",
            code="BACKEND_ERROR",
        ) from None
    for one in found:
        times = (one.started, one.duration)
        if not _TRACE_ID.fullmatch(str(one.trace_id)) or not all(map(_is_number, times)):
            listed = str(one.trace_id)[:80]
            raise SourceError(f"{address}: lists {listed!r}, which is no trace", code="BACKEND_ERROR")
    return sorted(found, key=lambda one: one.started or 0, reverse=True)[: wanted.limit]


def _is_number(value: object) -> bool:
    return value is None or (type(value) is int and -(2**63) <= value < 2**64)


def _asked(address: Address) -> tuple[Backend, Client]:
    backend = next(one for one in BACKENDS if one.name == address.backend)
    return backend, Client(access(address.backend), f"TRACETAPE_{address.backend.upper()}")


def _trace(address: Address, is_settled: IsSettled) -> list[Blob]:
    if not address.trace_id:
        raise addresses.no_trace(address)
    backend, client = _asked(address)
    missing = iter(_PAUSES_WHERE_MISSING)
    pauses = iter(_PAUSES)
    while True:
        try:
            found = list(_bounded(backend.documents(address, client.get), address))
        except TraceSelectionError:
            pause = next(missing, None)
            if pause is None:
                raise
        else:
            pause = None if is_settled(found) else next(pauses, None)
            if pause is None:
                return found
        time.sleep(pause)


def _bounded(documents: Iterator[Document], address: Address) -> Iterator[Blob]:
    size = 0
    for one in documents:
        size += len(one.content)
        if size > ANSWER_LIMIT:
            raise SourceError(
                f"{address}: has more than {ANSWER_LIMIT:,} bytes, the most that is taken of a trace. Export it "
                "to a file there, and give that.",
                code="TOO_LARGE",
            )
        yield Blob.of(one.name, one.content)


def _file(url: str) -> Blob:
    client = Client(access("http"), "TRACETAPE_HTTP")

    @contextmanager
    def opening() -> Iterator[Iterator[bytes]]:
        with client.opened(url) as (status, content_type, chunks):
            if status == 404:
                raise SourceError(f"{shown(url)}: there is no such file (404)", code="FILE_NOT_FOUND")
            if status != 200:
                raise SourceError(f"{shown(url)}: the server answers {status}", code="BACKEND_ERROR")
            first = next(chunks, b"")
            if is_web_page(content_type, first):
                spellings = ", ".join(one.spelling for one in BACKENDS)
                raise SourceError(
                    f"{shown(url)}: is a web page, not a file of spans. A page for logging in is one too: see "
                    "TRACETAPE_HTTP_TOKEN and TRACETAPE_HTTP_BASIC. If it shows a trace of a backend, give the "
                    f"trace's address there: {spellings}.",
                    code="WEB_PAGE",
                )
            yield chain((first,), chunks)

    return Blob(shown(url), opening)
