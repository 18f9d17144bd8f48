"""Gets what is not on this machine: traces of backends, files of servers, objects of stores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from tracetape.config import access
from tracetape.errors import SourceError, TraceSelectionError
from tracetape.sources import addresses
from tracetape.sources.addresses import shown
from tracetape.sources.backends import Address, Backend, Found, Wanted
from tracetape.sources.backends.http import Client
from tracetape.sources.backends.registry import BACKENDS
from tracetape.sources.backends.stores import objects
from tracetape.sources.blobs import Blob

__all__ = ["blobs_of", "look_for"]

# Seconds: a backend shows a trace some time after it was sent, Tempo after up to ten.
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
    found = backend.find(address, wanted, client.get)
    return sorted(found, key=lambda one: one.started or 0, reverse=True)[: wanted.limit]


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
            found = [Blob.of(one.name, one.content) for one in backend.documents(address, client.get)]
        except TraceSelectionError:
            pause = next(missing, None)
            if pause is None:
                raise
        else:
            pause = None if is_settled(found) else next(pauses, None)
            if pause is None:
                return found
        time.sleep(pause)


def _file(url: str) -> Blob:
    client = Client(access("http"), "TRACETAPE_HTTP")

    @contextmanager
    def opening() -> Iterator[Iterator[bytes]]:
        with client.opened(url) as (status, _, chunks):
            if status == 404:
                raise SourceError(f"{shown(url)}: there is no such file (404)", code="FILE_NOT_FOUND")
            if status != 200:
                raise SourceError(f"{shown(url)}: the server answers {status}", code="BACKEND_ERROR")
            yield chunks

    return Blob(shown(url), opening)
