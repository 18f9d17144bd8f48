"""Where traces are kept: one module per backend, listed in `registry`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import SplitResult

__all__ = ["Address", "Answer", "Backend", "Document", "Found", "Get", "Wanted"]


@dataclass(frozen=True, slots=True)
class Address:
    """A place in a backend.

    backend:   its name, as in `jaeger+http://…`.
    base:      `http://host:16686`, with the path that it is served under, without a slash at the end.
    trace_id:  32 lower-case hex digits; "" for the backend as a whole.
    project:   Phoenix's; "" elsewhere.
    """

    backend: str
    base: str
    trace_id: str = ""
    project: str = ""

    def __str__(self) -> str:
        scheme, _, rest = self.base.partition("://")
        return "/".join(filter(None, (f"{self.backend}+{scheme}://{rest}", self.project, self.trace_id)))


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said. url: without what may be secret in it, for messages."""

    status: int
    content_type: str
    body: bytes
    url: str


Get = Callable[[str, str], Answer]
"""Asks for a URL, and for a content type ("" for any)."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file in memory. name: for messages."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Wanted:
    """What traces to look for.

    attributes:    of a span of the trace, all of them.
    since, until:  nanoseconds since the epoch.
    errors:        only those with a span whose status is ERROR.
    service:       the resource's service.name; None for any.
    limit:         the most that are listed, newest first.
    """

    since: int
    until: int
    attributes: Mapping[str, str]
    errors: bool = False
    service: str | None = None
    limit: int = 20


@dataclass(frozen=True, slots=True)
class Found:
    """A trace that was found; None for what the backend does not say. started, duration: nanoseconds."""

    trace_id: str
    name: str
    service: str | None = None
    started: int | None = None
    duration: int | None = None
    spans: int | None = None
    failed: bool | None = None


class Backend(Protocol):
    """One backend. A module with these names is one.

    name:       as in `name+http://…`.
    spelling:   the address of a trace, for messages.
    pasted:     the address that a browser's address bar means; None for what is no page of this backend.
    documents:  what holds the trace, in a format that is read. Raises TraceSelectionError TRACE_NOT_FOUND;
                SourceError for another refusal.
    find:       the traces that are wanted, newest first.
    """

    @property
    def name(self) -> str: ...

    @property
    def spelling(self) -> str: ...

    def pasted(self, parts: SplitResult) -> Address | None: ...

    def documents(self, address: Address, get: Get) -> Iterator[Document]: ...

    def find(self, address: Address, wanted: Wanted, get: Get) -> list[Found]: ...
