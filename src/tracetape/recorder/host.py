"""The host's OpenTelemetry: its provider, its resource, spans on it."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, ProxyTracerProvider, Span, SpanContext, TraceFlags, Tracer

from tracetape import __version__
from tracetape.semconv import names

__all__ = [
    "HostSpan",
    "nearest_in",
    "present",
    "remote_span",
    "resource",
    "revision",
    "sees_foreign_spans",
    "start_span",
]

_random = random.Random(os.urandom(16))  # noqa: S311 (ids need to be unlike, not secret)
os.register_at_fork(after_in_child=lambda: _random.seed(os.urandom(16)))


class _Ids:
    """Ids from a source of our own: the SDK's generator draws from the program's `random` stream, so that
    `random.seed(1)` gives every run one trace id, and recording changes what the program draws next."""

    def generate_span_id(self) -> int:
        return _random.getrandbits(64) or 1

    def generate_trace_id(self) -> int:
        return _random.getrandbits(128) or 1

    def is_trace_id_random(self) -> bool:
        """W3C trace context level 2: the SDK asks in order to set the random flag."""
        return True


_log = logging.getLogger("tracetape")
_said = False
_ids = _Ids()
_NEAREST = otel_context.create_key("tracetape-nearest-span")
_tracer: tuple[Any, Tracer] | None = None


@dataclass(frozen=True, slots=True)
class HostSpan:
    """A started span. `context` makes it current; ids are lower-case hex.

    parent_id:      the nearest span that can be in a file: where the host's sampler dropped the spans of
                    others in between, the one of ours above them.
    unseen_parent:  there are such dropped spans.
    """

    span: Span
    context: Context
    trace_id: str
    span_id: str
    parent_id: str | None
    unseen_parent: bool

    def current(self) -> Context:
        return otel_context.get_current()

    def attach(self) -> None:
        otel_context.attach(self.context)

    def detach(self, before: Context) -> None:
        """By value, not by a token: OpenTelemetry logs an error for one of another context, and an exception
        out of a signal handler may come between the two."""
        now = otel_context.get_current()
        if now is self.context:
            otel_context.attach(before)
        elif trace.get_current_span(now) is self.span:
            # The function has left something for its caller (baggage): that stays, our span does not.
            below = otel_context.set_value(_NEAREST, otel_context.get_value(_NEAREST, before), now)
            otel_context.attach(trace.set_span_in_context(trace.get_current_span(before), below))


def present() -> bool:
    """Whether the program has set a tracer provider."""
    return type(trace.get_tracer_provider()) is not ProxyTracerProvider


def start_span(name: str, attributes: Mapping[str, Any], start_ns: int, within: Context | None = None) -> HostSpan:
    """Start a span on the provider that is set now, under `within` (default: the current context).

    Where no SDK is set up or it is disabled, the ids are made here: a recording needs them all the same.
    """
    parent = otel_context.get_current() if within is None else within
    above = trace.get_current_span(parent).get_span_context()
    span = _started(name, parent, attributes, start_ns)
    own = span.get_span_context()
    if not own.is_valid or own.span_id == above.span_id:
        own = SpanContext(
            trace_id=above.trace_id if above.is_valid else _ids.generate_trace_id(),
            span_id=_ids.generate_span_id(),
            is_remote=False,
            trace_flags=above.trace_flags if above.is_valid else TraceFlags(TraceFlags.SAMPLED),
        )
        span = NonRecordingSpan(own)
    nearest = otel_context.get_value(_NEAREST, parent)
    unseen = _was_dropped(trace.get_current_span(parent), nearest)
    above_id = nearest if unseen else trace.format_span_id(above.span_id) if above.is_valid else None
    span_id = trace.format_span_id(own.span_id)
    current = otel_context.set_value(_NEAREST, span_id, trace.set_span_in_context(span, parent))
    return HostSpan(
        span=span,
        context=current,
        trace_id=trace.format_trace_id(own.trace_id),
        span_id=span_id,
        parent_id=above_id if isinstance(above_id, str) else None,
        unseen_parent=unseen,
    )


def _started(name: str, parent: Context, attributes: Mapping[str, Any], start_ns: int) -> Span:
    """The host's span; none where its sampler or a processor raises, which is no reason to lose the call."""
    global _said
    try:
        return _current_tracer().start_span(name, context=parent, attributes=dict(attributes), start_time=start_ns)
    except Exception as error:  # noqa: BLE001
        if not _said:
            _said = True
            _log.warning("tracetape: the host's tracer provider made no span: %s: %s", type(error).__name__, error)
        return trace.INVALID_SPAN


def nearest_in(trace_id: str) -> tuple[str, int] | None:
    """The nearest span above here that can be in a file of that trace, with its flags; None where the current
    span is of another trace."""
    context = trace.get_current_span().get_span_context()
    if not context.is_valid or trace.format_trace_id(context.trace_id) != trace_id:
        return None
    nearest = otel_context.get_value(_NEAREST)
    span_id = nearest if isinstance(nearest, str) else trace.format_span_id(context.span_id)
    return span_id, int(context.trace_flags)


def remote_span(trace_id: str, span_id: str, flags: int) -> HostSpan:
    """The span of another process in which this one was started."""
    span = NonRecordingSpan(SpanContext(int(trace_id, 16), int(span_id, 16), True, TraceFlags(flags)))
    within = otel_context.set_value(_NEAREST, span_id, trace.set_span_in_context(span, Context()))
    return HostSpan(span, within, trace_id, span_id, parent_id=None, unseen_parent=False)


def _was_dropped(current: Span, nearest: object) -> bool:
    """Whether the current span is another's that the sampler dropped, under a span of ours. A remote one
    is in its own service's file."""
    context = current.get_span_context()
    return (
        nearest is not None
        and context.is_valid
        and not context.is_remote
        and not current.is_recording()
        and trace.format_span_id(context.span_id) != nearest
    )


def resource(service_name: str) -> Mapping[str, Any]:
    """The provider's resource, else the service name alone."""
    found = getattr(trace.get_tracer_provider(), "resource", None)
    attributes = getattr(found, "attributes", None)
    return attributes if isinstance(attributes, Mapping) else {"service.name": service_name}


def revision() -> str | None:
    """The commit that the provider's resource names, for `tracetape.build.id`. Git is never run for it."""
    found = resource("").get(names.VCS_REVISION)
    return found if isinstance(found, str) else None


def sees_foreign_spans(wanted: Callable[[str], list[Any]]) -> str:
    """Have the provider hand the spans of other instrumentations to `wanted(trace_id)`'s listeners.

    Once per provider. Returns why not, where the provider is set and takes no processor; "" where it does,
    and where there is no provider (then nobody else makes spans either).
    """
    provider = trace.get_tracer_provider()
    if type(provider) is ProxyTracerProvider or id(provider) in _watched:
        return ""
    add = getattr(provider, "add_span_processor", None)
    if not callable(add):
        return f"the provider ({type(provider).__name__}) takes no span processor: spans of others are not seen"
    from tracetape.exporters.processor import ForeignSpans

    _watched[id(provider)] = provider
    add(ForeignSpans(wanted))
    return ""


_watched: dict[int, Any] = {}


def _current_tracer() -> Tracer:
    """Ours on the provider set now. Fetched once per provider: the SDK's get_tracer takes a lock, on which
    a signal handler could deadlock."""
    global _tracer
    provider = trace.get_tracer_provider()
    if _tracer is not None and _tracer[0] is provider:
        return _tracer[1]
    tracer = provider.get_tracer(names.SCOPE_NAME, __version__)
    # The SDK's own generator alone: a host that has set another (X-Ray's) needs that one's ids.
    if type(getattr(tracer, "id_generator", None)).__name__ == "RandomIdGenerator":
        tracer.id_generator = _ids  # type: ignore[attr-defined]
    _tracer = (provider, tracer)
    return tracer
