"""One call through one boundary: the waist of the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tracetape.model.payload import Payload
from tracetape.model.span import Gap, nothing

__all__ = ["EXACT", "GRADES", "REBUILT", "UNUSABLE", "Crossing", "Kin", "ValueReader"]

EXACT, REBUILT, UNUSABLE = "exact", "rebuilt", "unusable"
GRADES = (EXACT, REBUILT, UNUSABLE)


class ValueReader(Protocol):
    """Turns payloads into values. The codec is one; the model does not know it."""

    def inputs(self, payload: Payload) -> Mapping[str, Any]: ...

    def result(self, payload: Payload) -> Any: ...

    def error(self, payload: Payload) -> BaseException: ...

    def items(self, payload: Payload) -> tuple[Any, ...]: ...

    def stream(self, payload: Payload) -> tuple[tuple[Any, ...], BaseException | None, Any]: ...


@dataclass(slots=True, eq=False)
class Kin:
    """Where a crossing hangs in its recording. Filled once, when the recording is put together."""

    parent: Crossing | None = None
    children: tuple[Crossing, ...] = ()


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True, eq=False)
class Crossing:
    """One call through one boundary.

    boundary, kind:  the mark in the code. occurrence: the n-th of that boundary in its recording, in
                     start order, from 1 (0 while it is being recorded).
    outcome:         `returned`, `raised`, `streamed`, `cancelled`, `unfinished`.
    stream_end:      of a stream: `finished`, `raised`, `abandoned`.
    shape:           what the function handed out: `plain`, `awaitable`, `generator`, `async_generator`,
                     `iterator`, `async_iterator`; `awaitable_generator` and so on: an awaitable of that.
    input, output:   payloads; None where nothing was recorded.
    error_status:    of HTTP, where a call of a service failed and its spans say it.
    foreign:         spans of another instrumentation show it: its name and inputs are what these say, not those of
                     a function of the program.
    detached:        it was made in a thread without a context, so that its caller is not known.
    seq, process_id: start order within one process; None in foreign traces.
    seq_before:      the seq of the call before it in the same task or thread: 0 where there was none, None where
                     that is not known.
    started:         nanoseconds since the epoch. duration: nanoseconds, None while unfinished.
    span_ids:        the spans it was read from (16 hex digits each), the main one first.
    grade:           `exact`, `rebuilt` or `unusable`; the gaps say why.
    """

    boundary: str
    kind: str = "custom"
    occurrence: int = 0
    version: str | None = None
    model: str | None = None
    usage: Mapping[str, int] = field(default_factory=nothing)
    outcome: str = "returned"
    stream_end: str | None = None
    shape: str = "plain"
    input: Payload | None = None
    output: Payload | None = None
    item_count: int | None = None
    error_type: str | None = None
    error_message: str = ""
    error_status: int | None = None
    seq: int | None = None
    process_id: str | None = None
    seq_before: int | None = None
    foreign: bool = False
    detached: bool = False
    started: int = 0
    duration: int | None = None
    trace_id: str = ""
    span_ids: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()
    grade: str = EXACT
    values: ValueReader | None = field(default=None, repr=False)
    kin: Kin = field(default_factory=Kin, repr=False)

    @property
    def name(self) -> str:
        """`boundary@occurrence`, as plans and reports write it."""
        return f"{self.boundary}@{self.occurrence}"

    @property
    def parent(self) -> Crossing | None:
        """The nearest ancestor that is a crossing."""
        return self.kin.parent

    @property
    def children(self) -> tuple[Crossing, ...]:
        """The crossings inside this one, in start order."""
        return self.kin.children

    @property
    def ended(self) -> int | None:
        """Nanoseconds since the epoch, None while unfinished."""
        return None if self.duration is None else self.started + self.duration

    @property
    def inputs(self) -> Mapping[str, Any]:
        """The recorded arguments by name. Empty where none were recorded."""
        return self.values.inputs(self.input) if self.input and self.values else {}

    @property
    def result(self) -> Any:
        """The recorded result; None unless it returned. Raises ValueNotRebuilt where it cannot be given."""
        if self.outcome != "returned" or not self.output or not self.values:
            return None
        return self.values.result(self.output)

    @property
    def error(self) -> BaseException | None:
        """The recorded exception of a call or stream that raised, else None."""
        raised = self.outcome == "raised" or self.stream_end == "raised"
        return self.values.error(self.output) if raised and self.output and self.values else None

    @property
    def items(self) -> tuple[Any, ...]:
        """The recorded items of a stream, else ()."""
        if self.outcome != "streamed" or not self.output or not self.values:
            return ()
        return self.values.items(self.output)
