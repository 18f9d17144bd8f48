"""The floors of recording: the cheapest known parts that keep the same promises, put together by hand.

The promises of a recorded call: the arguments by name; values that an encoder would change in silence are
refused (so each value is looked at by its exact type; orjson itself refuses integers over 64 bits and strings
that UTF-8 cannot hold); both payloads as JSON text, digest and size; input stored before the function runs; a
span that is current while it runs; the line in the page cache before the call returns. What is constant is made
once, each part is the fastest that is known.

Which span is a choice. The goals were set by a floor with one span of the SDK, as whoever builds on it makes one:
that floor has a target also where no provider is set, and ours makes a span of the API alone. The floor with that
span stands beside it, without a target.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import random
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any

import orjson
import wrapt
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, Tracer

from bench.floor_lines import SUFFIX, attributes_of, prefix

__all__ = ["arestepped", "bound", "host_crossing", "passing", "plain", "provider", "recorded", "restepped"]

_LEAVES = frozenset({str, int, bool, NoneType})
_PIECE = 2_000


def provider(*processors: Any) -> TracerProvider:
    """A provider of the SDK, as a host sets one up."""
    made = TracerProvider(resource=Resource({"service.name": "bench"}), shutdown_on_exit=False)
    for processor in processors:
        made.add_span_processor(processor)
    return made


def passing(function: Callable[..., Any]) -> Any:
    """A wrapper that does nothing. Of a coroutine function it hands the coroutine on."""

    def passed(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        return wrapped(*args, **kwargs)

    return wrapt.FunctionWrapper(function, passed)


def bound(value: Any) -> dict[str, Any]:
    """What a binder generated for `f(value)` is: arguments by name, and the interpreter's own TypeError."""
    return {"value": value}


def plain(value: Any) -> None:
    """Refuse what a JSON encoder would write as something else. Raises TypeError."""
    kind = type(value)
    if kind is dict:
        for key, one in value.items():
            if type(key) is not str:
                raise TypeError(key)
            if type(one) not in _LEAVES:
                plain(one)
    elif kind is list:
        for one in value:
            if type(one) not in _LEAVES:
                plain(one)
    elif kind is float:
        if not math.isfinite(value):
            raise TypeError(value)
    elif kind not in _LEAVES:
        raise TypeError(value)


def host_crossing(
    function: Any, tracer: Tracer, name: str, known: Mapping[str, Any], rest: Mapping[str, Any]
) -> Any:
    """One span by hand around each call: attributes known before at its start, the rest at once at its end."""
    start, current = tracer.start_span, trace.set_span_in_context
    attach, detach = otel_context.attach, otel_context.detach

    def crossed(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        span = start(name, attributes=dict(known))
        token = attach(current(span))
        try:
            return wrapped(*args, **kwargs)
        finally:
            detach(token)
            span.set_attributes(dict(rest))
            span.end()

    return wrapt.FunctionWrapper(function, crossed)


def recorded(function: Any, path: Path, tracer: Tracer | None) -> Any:
    """Each call is a span and a line of the file before it returns.

    tracer: the SDK's, for a span that carries what the host's span of ours carries; None: a span of the API
    alone, current while the function runs.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    before, dumps, sha256 = prefix({"service.name": "bench"}, "tracetape", "1"), orjson.dumps, hashlib.sha256
    name = f"execute_tool {function.__name__}"
    process = os.urandom(8).hex()
    code = f"{function.__module__}.{function.__qualname__}"
    constant = {
        "tracetape.schema.version": 1,
        "tracetape.boundary.name": function.__name__,
        "tracetape.boundary.kind": "tool",
        "tracetape.process.id": process,
        "code.function.name": code,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": function.__name__,
    }
    written = attributes_of(constant)
    seq = itertools.count(1)
    attach, detach, current = otel_context.attach, otel_context.detach, trace.set_span_in_context
    start = _api_span if tracer is None else tracer.start_span

    def crossed(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        arguments = bound(*args, **kwargs)
        plain(arguments)
        taken = dumps(arguments)
        taken_digest = "sha256:" + sha256(taken).hexdigest()
        number = next(seq)
        started = time.time_ns()
        above = trace.get_current_span().get_span_context()
        known = None
        if tracer is not None:
            known = constant | {"tracetape.seq": number, "tracetape.seq.before": number - 1}
        span = start(name, attributes=known, start_time=started)
        token = attach(current(span))
        try:
            value = wrapped(*args, **kwargs)
        finally:
            detach(token)
        plain(value)
        given = dumps(value)
        given_digest = "sha256:" + sha256(given).hexdigest()
        taken_text, given_text = taken.decode(), given.decode()
        ended = time.time_ns()
        own = span.get_span_context()
        body = dumps(
            {
                "traceId": format(own.trace_id, "032x"),
                "spanId": format(own.span_id, "016x"),
                "parentSpanId": format(above.span_id, "016x"),
                "name": name,
                "kind": 1,
                "startTimeUnixNano": str(started),
                "endTimeUnixNano": str(ended),
                "attributes": [
                    *written,
                    {"key": "tracetape.seq", "value": {"intValue": str(number)}},
                    {"key": "tracetape.seq.before", "value": {"intValue": str(number - 1)}},
                    {"key": "tracetape.outcome.type", "value": {"stringValue": "returned"}},
                    {"key": "tracetape.input.digest", "value": {"stringValue": taken_digest}},
                    {"key": "tracetape.input.size", "value": {"intValue": str(len(taken))}},
                    {"key": "tracetape.input.value", "value": {"stringValue": taken_text}},
                    {"key": "tracetape.output.digest", "value": {"stringValue": given_digest}},
                    {"key": "tracetape.output.size", "value": {"intValue": str(len(given))}},
                    {"key": "tracetape.output.value", "value": {"stringValue": given_text}},
                ],
                "status": {},
            }
        )
        os.write(descriptor, before + body + SUFFIX)
        if tracer is not None:
            span.set_attributes(
                {
                    "tracetape.outcome.type": "returned",
                    "tracetape.input.digest": taken_digest,
                    "tracetape.input.size": len(taken),
                    "tracetape.input.value": _pieces(taken_text),
                    "tracetape.output.digest": given_digest,
                    "tracetape.output.size": len(given),
                    "tracetape.output.value": _pieces(given_text),
                }
            )
            span.end(ended)
        return value

    return wrapt.FunctionWrapper(function, crossed)


def _api_span(name: str, attributes: Any, start_time: int) -> NonRecordingSpan:
    """A span of the API alone, with an id of its own in the current trace."""
    above = trace.get_current_span().get_span_context()
    return NonRecordingSpan(
        SpanContext(above.trace_id, _random.getrandbits(64), False, above.trace_flags or _SAMPLED)
    )


_random = random.Random(os.urandom(16))
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)


def _pieces(text: str) -> str | list[str]:
    """A payload on a host's span: over 2,000 bytes an array of strings. (The measured payloads are ASCII.)"""
    if len(text) <= _PIECE:
        return text
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]


def restepped(function: Callable[[int], Generator[str, None, None]], *, store: bool) -> Callable[[int], Any]:
    """A generator function whose span is current while its own code runs, never across a `yield`.

    store: keep each item's JSON text as it goes by, as a recorder must. As `str`: bytes that orjson gives are
    cheap only until they are kept (it makes them of 1 KB, which shrink where they lie).
    """
    attach, detach, dumps = otel_context.attach, otel_context.detach, orjson.dumps

    def stepped(number: int) -> Generator[str, None, None]:
        inner, context, kept = function(number), _stream_context(), []
        send = inner.send
        given = None
        try:
            while True:
                token = attach(context)
                try:
                    item = send(given)
                except StopIteration:
                    return
                finally:
                    detach(token)
                if store:
                    plain(item)
                    kept.append(dumps(item).decode())
                given = yield item
        finally:
            inner.close()
            ",".join(kept)

    return stepped


def arestepped(function: Callable[[int], AsyncGenerator[str, None]], *, store: bool) -> Callable[[int], Any]:
    """The same of an async generator function."""
    attach, detach, dumps = otel_context.attach, otel_context.detach, orjson.dumps

    async def stepped(number: int) -> AsyncGenerator[str, None]:
        inner, context, kept = function(number), _stream_context(), []
        send = inner.asend
        given = None
        try:
            while True:
                token = attach(context)
                try:
                    item = await send(given)
                except StopAsyncIteration:
                    return
                finally:
                    detach(token)
                if store:
                    plain(item)
                    kept.append(dumps(item).decode())
                given = yield item
        finally:
            await inner.aclose()
            ",".join(kept)

    return stepped


def _stream_context() -> otel_context.Context:
    return trace.set_span_in_context(_api_span("stream", None, 0))
