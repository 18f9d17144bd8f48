"""The host's OpenTelemetry: its provider, its resource, spans on it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext
from opentelemetry.trace import (
    NonRecordingSpan,
    ProxyTracerProvider,
    Span,
    SpanContext,
    TraceFlags,
    Tracer,
    TracerProvider,
)

from tracetape import __version__
from tracetape.exporters.ids import Ids
from tracetape.semconv import names

__all__ = [
    "HostSpan",
    "current_span_in",
    "nearest_in",
    "place",
    "present",
    "provider",
    "remote_span",
    "resource",
    "revision",
    "sees_foreign_spans",
    "start_span",
]

_log = logging.getLogger("tracetape")
_said = False
_ids = Ids()
_TOLD = "_tracetape_told"
_NEAREST = otel_context.create_key("tracetape-nearest-span")
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_tracer: tuple[Any, Tracer] | None = None
_revision: tuple[Any, str | None] | None = None


# The one key of a context that has nothing but a span.
(_SPAN,) = trace.set_span_in_context(trace.INVALID_SPAN, Context())


class HostSpan:
    """A started span. `context` makes it current; ids are lower-case hex.

    trace_number:   the id of the trace as an int.
    parent_id:      the nearest span that can be in a file: where the host's sampler dropped the spans of
                    others in between, the one of ours above them.
    unseen_parent:  there are such dropped spans.
    """

    __slots__ = ("context", "parent_id", "span", "span_id", "trace_id", "trace_number", "unseen_parent")

    current: Callable[[], Context] = staticmethod(otel_context.get_current)
    _set: Callable[[Context], Any] = staticmethod(otel_context.attach)

    def __init__(self, span: Span, context: Context, trace_number: int, trace_id: str, span_id: str) -> None:
        self.span, self.context = span, context
        self.trace_number, self.trace_id, self.span_id = trace_number, trace_id, span_id
        self.parent_id: str | None = None
        self.unseen_parent = False

    def attach(self) -> None:
        self._set(self.context)

    def detach(self, before: Context) -> None:
        """By value, not by a token: OpenTelemetry logs an error for one of another context, and an exception
        out of a signal handler may come between the two."""
        now = self.current()
        if now is self.context:
            self._set(before)
        elif trace.get_current_span(now) is self.span:
            # The function has left something for its caller (baggage): that stays, our span does not.
            below = otel_context.set_value(_NEAREST, otel_context.get_value(_NEAREST, before), now)
            self._set(trace.set_span_in_context(trace.get_current_span(before), below))


# Each step of a function asks four times. The runtime that the API comes with keeps the current context in a
# ContextVar, and does nothing besides: where that is the one in use, the variable itself is asked.
_STOCK: Any = getattr(otel_context, "_RUNTIME_CONTEXT", None)
_var: Any = getattr(_STOCK, "_current_context", None)
_has_stock = type(_STOCK) is ContextVarsRuntimeContext and isinstance(_var, ContextVar)


class _QuickSpan(HostSpan):
    __slots__ = ()

    if _has_stock:
        current = staticmethod(_var.get)
        _set = staticmethod(_var.set)


def _kind_of_span() -> type[HostSpan]:
    """Asked for each span: a program may put another runtime in the place of the one that was there."""
    is_stock = _has_stock and getattr(otel_context, "_RUNTIME_CONTEXT", None) is _STOCK
    return _QuickSpan if is_stock else HostSpan


def present() -> bool:
    """Whether the program has set a tracer provider."""
    return provider() is not None


def _first_look() -> TracerProvider | None:
    """By the API's own function, which loads a provider that the environment names. It looks into the environment
    at every call; so later ones go by what it keeps, where that is still kept under this name."""
    global provider
    found = _as_the_api_says()
    provider = _kept_by_the_api if hasattr(trace, "_TRACER_PROVIDER") else _as_the_api_says
    return found


def _as_the_api_says() -> TracerProvider | None:
    found = trace.get_tracer_provider()
    return None if type(found) is ProxyTracerProvider else found


def _kept_by_the_api() -> TracerProvider | None:
    return getattr(trace, "_TRACER_PROVIDER", None)


provider: Callable[[], TracerProvider | None] = _first_look
"""What the program has set."""


def current_span_in(context: Context) -> Span:
    """The span that is current in a context; the API's invalid one where none is. What is there has been put there
    as one: the API's own function asks an abstract class about it, which takes longer than all else here."""
    found: Any = context.get(_SPAN)
    return trace.INVALID_SPAN if found is None else found


def place(root: HostSpan | None) -> tuple[Context, bool]:
    """The context in which a span that is started now hangs, and whether it was found: the current one, or that of
    the root of a run where the current span is not of its trace (a bare thread has no current span, and its call
    would start a trace of its own)."""
    here = otel_context.get_current()
    if root is None or current_span_in(here).get_span_context().trace_id == root.trace_number:
        return here, True
    return root.context, False


def start_span(name: str, attributes: dict[str, Any], start_ns: int, parent: Context) -> HostSpan:
    """Start a span on the provider that is set now.

    Where no SDK is set up or it is disabled, the ids are made here: a recording needs them all the same.
    """
    over = current_span_in(parent)
    above = over.get_span_context()
    above_id = f"{above.span_id:016x}" if above.is_valid else None
    owner = provider()
    span = trace.INVALID_SPAN if owner is None else _started(owner, name, parent, attributes, start_ns)
    own = span.get_span_context()
    if own.span_id == above.span_id or not own.is_valid:
        own = SpanContext(
            above.trace_id if above_id else _ids.generate_trace_id(),
            _ids.generate_span_id(),
            False,
            above.trace_flags if above_id else _SAMPLED,
        )
        span = NonRecordingSpan(own)
    trace_number, span_id = own.trace_id, f"{own.span_id:016x}"
    context = Context({**parent, _SPAN: span, _NEAREST: span_id})
    started = _kind_of_span()(span, context, trace_number, f"{trace_number:032x}", span_id)
    started.parent_id = above_id
    nearest = parent.get(_NEAREST)
    if nearest is not None and nearest != above_id and _was_dropped(over):
        started.parent_id, started.unseen_parent = str(nearest), True
    return started


def _started(owner: TracerProvider, name: str, parent: Context, attributes: dict[str, Any], start_ns: int) -> Span:
    """The host's span; none where its sampler or a processor raises, which is no reason to lose the call."""
    global _said
    try:
        tracer = _tracer_of(owner)
        return tracer.start_span(name, context=parent, attributes=attributes, start_time=start_ns)
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
    return _kind_of_span()(span, within, int(trace_id, 16), trace_id, span_id)


def _was_dropped(current: Span) -> bool:
    """Whether a current span that is not ours was dropped by the sampler. A remote one is in its own service's
    file."""
    context = current.get_span_context()
    return context.is_valid and not context.is_remote and not current.is_recording()


def resource(service_name: str) -> Mapping[str, Any]:
    """The provider's resource, else the service name alone."""
    found = getattr(provider(), "resource", None)
    attributes = getattr(found, "attributes", None)
    return attributes if isinstance(attributes, Mapping) else {"service.name": service_name}


def revision() -> str | None:
    """The commit that the provider's resource names, for `tracetape.build.id`. Git is never run for it. Asked at
    each call, since the program may set its provider during a run."""
    global _revision
    owner = provider()
    if _revision is None or _revision[0] is not owner:
        found = resource("").get(names.VCS_REVISION)
        _revision = (owner, found if isinstance(found, str) else None)
    return _revision[1]


def sees_foreign_spans(wanted: Callable[[str], list[Any]]) -> str:
    """Have the provider hand the spans of other instrumentations to `wanted(trace_id)`'s listeners.

    Once per provider. Returns why not, where the provider is set and takes no processor; "" where it does,
    and where there is no provider (then nobody else makes spans either).
    """
    owner = provider()
    if owner is None or id(owner) in _watched:
        return ""
    add = getattr(owner, "add_span_processor", None)
    if not callable(add):
        return f"the provider ({type(owner).__name__}) takes no span processor: spans of others are not seen"
    from tracetape.exporters.processor import ForeignSpans

    _watched[id(owner)] = owner
    add(ForeignSpans(wanted))
    return ""


_watched: dict[int, Any] = {}


def _tracer_of(owner: TracerProvider) -> Tracer:
    """Ours on a provider. Fetched once for each: the SDK's get_tracer takes a lock, on which a signal handler
    could deadlock."""
    global _tracer
    if _tracer is not None and _tracer[0] is owner:
        return _tracer[1]
    tracer = owner.get_tracer(names.SCOPE_NAME, __version__)
    # The SDK's own generator alone: a host that has set another (X-Ray's) needs that one's ids.
    if type(getattr(tracer, "id_generator", None)).__name__ == "RandomIdGenerator":
        tracer.id_generator = _ids  # type: ignore[attr-defined]
    _tracer = (owner, tracer)
    if not getattr(owner, _TOLD, False):
        try:
            setattr(owner, _TOLD, True)
        except AttributeError:
            return tracer  # nor can it be told that it has been said: a provider of no SDK
        from tracetape.recorder.host_facts import say_losses  # once for each provider

        say_losses(owner)
    return tracer
