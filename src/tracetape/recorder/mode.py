"""The recording mode: what happens around one call."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import SpanContext, StatusCode, TraceFlags

from tracetape import __version__
from tracetape._frames import FrameScope, current_frame
from tracetape.codec import encode, unnoticed
from tracetape.config import Settings
from tracetape.model.call import Call, Cancelled, Flow, Mode, Outcome, Raised, Returned, Streamed
from tracetape.model.crossing import Crossing
from tracetape.model.span import Event, Link, Scope, SpanRecord, Status
from tracetape.recorder import host
from tracetape.recorder.run import Run
from tracetape.recorder.storing import guard, stored_input, stored_output, stream_payload, text_of, usage
from tracetape.semconv import genai, names, write

__all__ = ["Recorder"]

_seq = itertools.count(1)
# Of the last call in this task or thread: tasks that make the same call are told apart by what they did before.
# With the trace, since another run's call says nothing.
_last: ContextVar[tuple[str, int] | None] = ContextVar("tracetape_last_call", default=None)
_process_id = os.urandom(8).hex()

# Exceptions by which a program or framework steers: they are no failures of the call.
_CONTROL_FLOW = frozenset(
    {"CancelledError", "Cancelled", "GeneratorExit", "StopIteration", "StopAsyncIteration", "GraphInterrupt"}
)
_STATUS_TEXT = 1_000
_SCOPE = Scope(names.SCOPE_NAME, __version__)


def _renew() -> None:
    global _process_id
    _process_id = os.urandom(8).hex()


os.register_at_fork(after_in_child=_renew)


@dataclass(slots=True)
class _Opened:
    """A call that has been started: its span, and what was stored before the function ran."""

    span: host.HostSpan
    crossing: Crossing
    attributes: dict[str, Any]
    items: list[Any] = field(default_factory=list)
    failed: bool = False

    def watch(self, item: Any) -> None:
        """Stream items are stored as consumed: encoded now, since the consumer may change them."""
        payload = guard("a stream item", encode, item)
        self.items.append(payload)


class Recorder:
    """Records each call on the host's provider and in every open recording, around an inner mode (the
    player in a replay, else the bare function).

    An error of its own never reaches the program: the call goes on, the loss is counted and said once.
    """

    def __init__(self, inner: Mode, runs: tuple[Run, ...], settings: Settings) -> None:
        self._inner, self._runs, self._settings = inner, runs, settings

    @property
    def fails(self) -> str:
        return self._inner.fails

    def cross(self, call: Call) -> Flow:
        opened = guard("a call", self._open, call)
        if opened is None:
            self._count_lost()
            return (yield from self._inner.cross(call))
        seq = opened.crossing.seq or 0
        for run in self._runs:
            run.opened(seq)
        guard("that a call has begun", self._mark, opened)
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
        if opened.crossing.process_id != _process_id:
            return  # a forked child leaves the call too: it is the parent's to end
        for run in self._runs:
            run.ended(opened.crossing.seq or 0)
        if not isinstance(outcome, Streamed):
            self._note_last(opened.crossing)  # not what was called inside it
        if guard("an outcome", unnoticed, self._close, opened, call, outcome) is None:
            self._count_lost()
            guard("a span", opened.span.span.end)

    def _open(self, call: Call) -> _Opened:
        spec, arguments = call.spec, call.arguments
        stored, failed = stored_input(spec, arguments)
        within = self._within()
        model = text_of("model=", spec.model, arguments)
        if model is None and spec.kind in ("llm", "embedding") and isinstance(arguments.get("model"), str):
            model = arguments["model"]
        crossing = Crossing(
            boundary=spec.name,
            kind=spec.kind,
            version=text_of("version=", spec.version, arguments),
            model=model,
            input=stored,
            seq=next(_seq),
            process_id=_process_id,
            seq_before=self._before(),
            detached=within is not None and not self._runs[-1].joined,
            started=time.time_ns(),
        )
        self._note_last(crossing)
        attributes = write.identity(crossing, spec.code, arguments, self._settings.build_id or host.revision())
        span = host.start_span(write.span_name(crossing), attributes, crossing.started, within)
        if span.unseen_parent:
            for run in self._runs:
                run.note_unseen_foreign_spans()
        return _Opened(span, crossing, attributes, failed=failed)

    def _before(self) -> int | None:
        last = _last.get()
        return last[1] if last is not None and last[0] == self._trace_id() else None

    def _note_last(self, crossing: Crossing) -> None:
        _last.set((self._trace_id(), crossing.seq or 0))

    def _trace_id(self) -> str:
        return self._runs[-1].trace_id if self._runs else ""

    def _mark(self, opened: _Opened) -> bool:
        """Note the call before its function runs, in case that the process dies in it."""
        runs = [run for run in self._runs if run.marks]
        if runs:
            mark = _record(opened, opened.attributes | write.mark(opened.crossing, failed=opened.failed))
            for run in runs:
                run.mark(mark)
        return True

    def _placed(self) -> tuple[FrameScope, ...]:
        """For a bare thread: what its call opens inside belongs to the same recordings."""
        frame = current_frame()
        return () if frame.recordings or not self._runs else (FrameScope(replace(frame, recordings=self._runs)),)

    def _within(self) -> otel_context.Context | None:
        """The current context; the run's root where the current span is not of the run's trace (a bare
        thread has no current span, and its call would start a trace of its own)."""
        if not self._runs:
            return None
        here = trace.get_current_span().get_span_context()
        run = self._runs[-1]
        inside = here.is_valid and trace.format_trace_id(here.trace_id) == run.trace_id
        return None if inside else run.context

    def _close(self, opened: _Opened, call: Call, outcome: Outcome) -> bool:
        ended = time.time_ns()
        crossing = _finished(opened, call, outcome, ended)
        result = outcome.value if isinstance(outcome, Returned) else None
        attributes = opened.attributes | write.outcome(crossing, genai.response_model_of(result))
        links: tuple[Link, ...] = ()
        if call.replayed is not None:
            attributes[names.REPLAY_MODE] = call.replayed.mode
            if call.replayed.span_id:
                links = (Link(call.replayed.trace_id, call.replayed.span_id),)
        error = _failure(outcome)
        record = _record(
            opened,
            attributes | write.content(crossing, failed=opened.failed),
            end_ns=ended,
            status=Status() if error is None else Status("ERROR", _message(error)),
            events=() if error is None else (_exception_event(error, ended),),
            links=links,
        )
        for run in self._runs:
            run.write(record)
        guard("a host span", self._end_host_span, opened, crossing, record, error)
        return True

    def _end_host_span(
        self, opened: _Opened, crossing: Crossing, record: SpanRecord, error: BaseException | None
    ) -> bool:
        """The host's view of the same call: its sampler and limits, and our switch for content."""
        span = opened.span.span
        if span.is_recording():
            told = {key: value for key, value in record.attributes.items() if key not in _CONTENT_KEYS}
            shown_content = write.host_content(crossing, self._settings, failed=opened.failed)
            span.set_attributes(told | shown_content)
            for link in record.links:
                context = SpanContext(
                    int(link.trace_id, 16), int(link.span_id, 16), True, TraceFlags(TraceFlags.SAMPLED)
                )
                span.add_link(context)
            if error is not None:
                event = record.events[0]
                shown = dict(event.attributes)
                if not self._settings.host_content:
                    shown.pop(names.EXCEPTION_MESSAGE)
                span.add_event(event.name, shown, event.time_ns)
                span.set_status(StatusCode.ERROR, record.status.message if self._settings.host_content else None)
        span.end(record.end_ns)
        return True

    def _abort(self, opened: _Opened, call: Call, error: BaseException) -> bool:
        """End the host's span of a call that a halt cut off; it is no crossing, and no line is written."""
        if opened.crossing.process_id != _process_id:
            return True
        for run in self._runs:
            run.unmark(opened.span.span_id)
        span = opened.span.span
        if span.is_recording():
            span.set_attribute(names.REPLAY_MODE, call.replayed.mode if call.replayed else "halted")
            span.set_attribute(names.ERROR_TYPE, type(error).__qualname__)
        span.end()
        return True

    def _count_lost(self) -> None:
        for run in self._runs:
            run.count_lost()


_CONTENT_KEYS = frozenset(
    {
        names.INPUT_VALUE,
        names.INPUT_DIGEST,
        names.INPUT_SIZE,
        names.OUTPUT_VALUE,
        names.OUTPUT_DIGEST,
        names.OUTPUT_SIZE,
    }
)


def _record(opened: _Opened, attributes: Mapping[str, Any], **more: Any) -> SpanRecord:
    """The span of a call for our own file."""
    return SpanRecord(
        trace_id=opened.span.trace_id,
        span_id=opened.span.span_id,
        parent_id=opened.span.parent_id,
        name=write.span_name(opened.crossing),
        start_ns=opened.crossing.started,
        attributes=attributes,
        scope=_SCOPE,
        **more,
    )


def _finished(opened: _Opened, call: Call, outcome: Outcome, ended: int) -> Crossing:
    """The crossing with its outcome."""
    begun = opened.crossing
    duration = max(0, ended - begun.started)
    failed = _failure(outcome)
    error_type = None if failed is None else type(failed).__qualname__
    if isinstance(outcome, Returned):
        stored = stored_output(call.spec, outcome.value)
        opened.failed = opened.failed or stored is None
        return replace(
            begun,
            duration=duration,
            outcome="returned",
            shape=outcome.shape,
            output=stored,
            usage=usage(call.spec, outcome.value),
        )
    if isinstance(outcome, Raised):
        return replace(
            begun,
            duration=duration,
            outcome="raised",
            shape=outcome.shape,
            output=encode(outcome.error),
            error_type=error_type,
        )
    if isinstance(outcome, Cancelled):
        return replace(begun, duration=duration, outcome="cancelled", shape=outcome.shape)
    items = opened.items or [encode(item) for item in outcome.items]
    return replace(
        begun,
        duration=duration,
        outcome="streamed",
        stream_end=outcome.end,
        shape=outcome.shape,
        item_count=len(items),
        output=stream_payload(items, outcome),
        error_type=error_type,
    )


def _failure(outcome: Outcome) -> BaseException | None:
    """The exception that the span's status tells of: none where it was control flow."""
    error = outcome.error if isinstance(outcome, (Raised, Streamed)) else None
    names_of = {cls.__name__ for cls in type(error).__mro__}
    return None if error is None or names_of & _CONTROL_FLOW else error


def _exception_event(error: BaseException, when: int) -> Event:
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return Event(
        names.EXCEPTION_EVENT,
        when,
        {names.EXCEPTION_TYPE: name, names.EXCEPTION_MESSAGE: _message(error)},
    )


def _message(error: BaseException) -> str:
    return guard("an exception's text", lambda: str(error)[:_STATUS_TEXT]) or ""
