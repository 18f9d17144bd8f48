"""The recording mode: what happens around one call."""

from __future__ import annotations

import itertools
import os
import time
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from opentelemetry.trace import SpanContext, StatusCode, TraceFlags

from tracetape._collecting import is_collecting
from tracetape._crossing import BARE
from tracetape._frames import FrameScope, current_frame
from tracetape.codec import encode, unnoticed
from tracetape.config import Settings, settings
from tracetape.exporters import otlp_json, whole
from tracetape.model.call import BoundarySpec, Call, Flow, Mode, Outcome, Raised, Returned, Streamed
from tracetape.model.payload import Payload
from tracetape.model.span import Event, Link, Status
from tracetape.recorder import host
from tracetape.recorder.failures import exception_event, failure_of, message_of
from tracetape.recorder.run import Run
from tracetape.recorder.storing import (
    ASKING_A_MODEL,
    answer_of,
    guard,
    model_of,
    stored_input,
    stored_item,
    stored_output,
    stream_payload,
    text_of,
)
from tracetape.semconv import names, write

__all__ = ["Recorder", "on_host"]

_seq = itertools.count(1)
# Of the last call in this task or thread: tasks that make the same call are told apart by what they did before.
# With the trace, since another run's call says nothing.
_last: ContextVar[tuple[str, int] | None] = ContextVar("tracetape_last_call", default=None)
_process_id = os.urandom(8).hex()
_UNSET = Status()


def _renew() -> None:
    global _process_id
    _process_id = os.urandom(8).hex()


os.register_at_fork(after_in_child=_renew)


@dataclass(slots=True)
class _Opened:
    """A call that has been started: its span, and what was stored before the function ran.

    attributes:  those of the host's span that were known.
    head, told:  the span as far as it is known, for the file: its head and its attributes.
    failed:      a payload is not there, for a function of the boundary raised.
    """

    span: host.HostSpan
    seq: int
    process_id: str
    given: Payload | None
    failed: bool
    attributes: dict[str, Any]
    head: otlp_json.Body = field(default_factory=dict)
    told: list[otlp_json.Entry] = field(default_factory=list)
    items: list[Any] = field(default_factory=list)

    def watch(self, item: Any) -> None:
        """Stream items are stored as consumed."""
        self.items.append(item if type(item) is str else guard("a stream item", stored_item, item))


@dataclass(slots=True)
class _Ended:
    """What a call's outcome adds to its span."""

    attributes: dict[str, Any]
    output: Payload | None
    status: Status = _UNSET
    events: tuple[Event, ...] = ()
    links: tuple[Link, ...] = ()


class Recorder:
    """Records each call on the host's provider and in every open recording, around an inner mode (the
    player in a replay, else the bare function).

    An error of its own never reaches the program: the call goes on, the loss is counted and said once.
    """

    def __init__(self, inner: Mode, runs: tuple[Run, ...], told: Settings) -> None:
        self._inner, self._runs, self._settings = inner, runs, told

    @property
    def fails(self) -> str:
        return self._inner.fails

    def cross(self, call: Call) -> Flow:
        opened = guard("a call", self._open, call)
        if opened is None:
            self._count_lost()
            return (yield from self._inner.cross(call))
        for run in self._runs:
            run.opened(opened.seq)
            if run.marks:
                guard("that a call has begun", self._mark, run, opened)
        call.scopes = (opened.span, *self._placed(), *call.scopes)
        call.watchers = (*call.watchers, opened.watch)
        try:
            outcome = yield from self._inner.cross(call)
        except BaseException as error:
            if isinstance(error, GeneratorExit) and call.given_up is not None:
                # Collected before, or together with, the stream whose call it is.
                self._settle(opened, call, call.given_up)
            else:
                # A halt of the player, or a flow that was thrown away: the function has no outcome.
                guard("an aborted call", self._abort, opened, call, error)
            raise
        self._settle(opened, call, outcome)
        return outcome

    def _settle(self, opened: _Opened, call: Call, outcome: Outcome) -> None:
        if opened.process_id != _process_id:
            return  # a forked child leaves the call too: it is the parent's to end
        for run in self._runs:
            run.ended(opened.seq)
        if type(outcome) is not Streamed and not is_collecting():
            # Not what was called inside it.
            _last.set((self._runs[-1].trace_id if self._runs else "", opened.seq))
        if guard("an outcome", unnoticed, self._close, opened, call, outcome) is None:
            self._count_lost()
            guard("a span", opened.span.span.end)

    def _open(self, call: Call) -> _Opened:
        spec, arguments, runs = call.spec, call.arguments, self._runs
        given, failed = stored_input(spec, arguments)
        said = _said_by(spec)
        model, name = said.model, said.name
        if name is None:
            model = model_of(spec, arguments)
            name = write.span_name(spec, model)
        parent, is_placed = host.place(runs[-1].root if runs else None)
        seq, last, trace_id = next(_seq), _last.get(), runs[-1].trace_id if runs else ""
        own = write.call(
            spec,
            arguments,
            seq=seq,
            process_id=_process_id,
            seq_before=last[1] if last is not None and last[0] == trace_id else 0,
            detached=not (is_placed or runs[-1].joined),
            version=None if spec.version is None else text_of("version=", spec.version, arguments),
            model=model,
            build_id=self._settings.build_id or host.revision(),
        )
        if not is_collecting():
            _last.set((trace_id, seq))
        started = time.time_ns()
        attributes = {**said.attributes, **own}
        span = host.start_span(name, attributes, started, parent)
        opened = _Opened(span, seq, _process_id, given, failed, attributes)
        if runs:
            opened.head = otlp_json.begun(span.trace_id, span.span_id, span.parent_id, name, started)
            opened.told = [said.encoded, *otlp_json.entries(own)]
            if span.unseen_parent:
                for run in runs:
                    run.note_unseen_foreign_spans()
        return opened

    def _mark(self, run: Run, opened: _Opened) -> None:
        """Note the call before its function runs, in case that the process dies in it."""
        mark = otlp_json.entries(write.mark(opened.given, failed=opened.failed))
        run.mark(otlp_json.body(opened.head, None, [*opened.told, *mark]))

    def _placed(self) -> tuple[FrameScope, ...]:
        """For a bare thread: what its call opens inside belongs to the same recordings."""
        frame = current_frame()
        return () if frame.recordings or not self._runs else (FrameScope(replace(frame, recordings=self._runs)),)

    def _close(self, opened: _Opened, call: Call, outcome: Outcome) -> bool:
        now = time.time_ns()
        ended = _ended(opened, call, outcome, now)
        if self._runs:
            content = write.content(opened.given, ended.output, failed=opened.failed)
            attributes = opened.told + otlp_json.entries({**ended.attributes, **content})
            body = otlp_json.body(opened.head, now, attributes, ended.status, ended.events, ended.links)
            for run in self._runs:
                run.append(body)
        guard("a host span", self._end_host_span, call.spec, opened, ended, now)
        return True

    def _end_host_span(self, spec: BoundarySpec, opened: _Opened, ended: _Ended, now: int) -> None:
        """The host's view of the same call: its sampler and limits, and our switch for content."""
        span = opened.span.span
        if span.is_recording():
            content = write.host_content(opened.given, ended.output, self._settings, failed=opened.failed)
            if whole.is_wanted and content.get(names.CONTENT) == "omitted":
                whole.keep(span, write.content(opened.given, ended.output, failed=opened.failed))
            if self._settings.mirror:
                from tracetape.semconv.mirror import mirrored  # by the few that want it

                # Before ours: where the host's limit drops some, the oldest go.
                known = {**opened.attributes, **ended.attributes}
                span.set_attributes(mirrored(spec, known, content, opened.given, ended.output, self._settings))
            span.set_attributes({**ended.attributes, **content})
            kept = getattr(span, "attributes", None)
            if kept is None or names.SCHEMA_VERSION not in kept:
                # Dropped by the host's limit, as the oldest are, or not handed on by its sampler. Set last, they
                # are the youngest.
                span.set_attributes({**opened.attributes, **ended.attributes, **content})
            for link in ended.links:
                context = SpanContext(
                    int(link.trace_id, 16), int(link.span_id, 16), True, TraceFlags(TraceFlags.SAMPLED)
                )
                span.add_link(context)
            for event in ended.events:
                shown = dict(event.attributes)
                if not self._settings.host_content:
                    shown.pop(names.EXCEPTION_MESSAGE)
                span.add_event(event.name, shown, event.time_ns)
                span.set_status(StatusCode.ERROR, ended.status.message if self._settings.host_content else None)
        span.end(now)

    def _abort(self, opened: _Opened, call: Call, error: BaseException) -> None:
        """End the host's span of a call that a halt cut off; it is no crossing, and no line is written."""
        if opened.process_id != _process_id:
            return
        for run in self._runs:
            run.unmark(opened.span.span_id)
        span = opened.span.span
        if span.is_recording():
            span.set_attribute(names.REPLAY_MODE, call.replayed.mode if call.replayed else "halted")
            span.set_attribute(names.ERROR_TYPE, type(error).__qualname__)
        span.end()

    def _count_lost(self) -> None:
        for run in self._runs:
            run.count_lost()


def on_host(inner: Mode = BARE) -> Recorder:
    """Records on the host's provider alone. The settings are those of when the provider was first met: reading the
    environment anew for each call would cost more than all the rest."""
    global _met
    owner = host.provider()
    if _met is None or _met[0] is not owner:
        told = settings()
        _met = (owner, told, Recorder(BARE, (), told))
    return _met[2] if inner is BARE else Recorder(inner, (), _met[1])


_met: tuple[Any, Settings, Recorder] | None = None


@dataclass(frozen=True, slots=True)
class _Said:
    """What a boundary says of each of its calls: as attributes, and as what the file has for them; the span's name
    and the model, where they are the same for each."""

    attributes: dict[str, Any]
    encoded: otlp_json.Entry
    name: str | None
    model: str | None


def _said_by(spec: BoundarySpec) -> _Said:
    found = spec.kept.get(_Said)
    if found is None:
        found = spec.kept[_Said] = _saying(spec)
    return found


def _saying(spec: BoundarySpec) -> _Said:
    attributes = write.boundary(spec)
    model = spec.model if isinstance(spec.model, str) else None
    is_same = model is not None or (spec.model is None and spec.kind not in ASKING_A_MODEL)
    name = write.span_name(spec, model) if is_same else None
    return _Said(attributes, otlp_json.constant(attributes), name, model)


def _ended(opened: _Opened, call: Call, outcome: Outcome, now: int) -> _Ended:
    """`now`: nanoseconds since the epoch."""
    kind = type(outcome)
    if kind is Returned:
        ended = _returned(opened, call.spec, outcome)  # type: ignore[arg-type]
    elif kind is Raised or kind is Streamed:
        ended = _failed_or_streamed(opened, outcome, now)  # type: ignore[arg-type]
    else:
        ended = _Ended(write.outcome("cancelled", outcome.shape), None)
    replayed = call.replayed
    if replayed is not None:
        ended.attributes[names.REPLAY_MODE] = replayed.mode
        recorded = replayed.span
        if recorded is not None:
            ended.links = (Link(*recorded),)
    return ended


def _returned(opened: _Opened, spec: BoundarySpec, outcome: Returned) -> _Ended:
    output = stored_output(spec, outcome.value)
    opened.failed = opened.failed or output is None
    usage, model = answer_of(spec, outcome.value)
    return _Ended(write.outcome("returned", outcome.shape, response_model=model, usage=usage), output)


def _failed_or_streamed(opened: _Opened, outcome: Raised | Streamed, now: int) -> _Ended:
    error = failure_of(outcome)
    error_type = None if error is None else type(error).__qualname__
    if isinstance(outcome, Raised):
        output = encode(outcome.error)
        attributes = write.outcome("raised", outcome.shape, error_type=error_type)
    else:
        items = opened.items or [stored_item(item) for item in outcome.items]
        output = stream_payload(items, outcome)
        attributes = write.outcome(
            "streamed", outcome.shape, stream_end=outcome.end, item_count=len(items), error_type=error_type
        )
    if error is None:
        return _Ended(attributes, output)
    return _Ended(attributes, output, Status("ERROR", message_of(error)), (exception_event(error, now),))
