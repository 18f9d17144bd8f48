"""`provider`: a tracer provider that gets spans with large values whole to an OTLP receiver."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Sampler

from tracetape.config import otlp_protocol, said_in_environment
from tracetape.errors import UsageError
from tracetape.exporters.batching import BatchingProcessor
from tracetape.exporters.drops import LocalFiles
from tracetape.exporters.ids import Ids

__all__ = ["DEFAULT_QUEUE_BYTES", "DEFAULT_REQUEST_BYTES", "provider"]

DEFAULT_REQUEST_BYTES = 3_670_016  # 3.5 MiB: receivers take 4 MiB by default over gRPC
DEFAULT_QUEUE_BYTES = 2**27
MOST_ATTRIBUTES = 1_024

# What gRPC's exporter tries again by itself. A request that is too large (RESOURCE_EXHAUSTED, OUT_OF_RANGE) is
# not one of them: the same again is refused again.
_TRIED_AGAIN = ("CANCELLED", "DEADLINE_EXCEEDED", "ABORTED", "UNAVAILABLE", "DATA_LOSS")
_TRIED_AGAIN_SAID = "_OTEL_PYTHON_EXPORTER_OTLP_GRPC_RETRYABLE_ERROR_CODES"


class _AtOnce(SpanProcessor):
    """Exports each span when it ends. The SDK's own attaches a context for it, which must not be done in the
    collector (see `_collecting`), where boundaries end too."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def on_end(self, span: ReadableSpan) -> None:
        if span.context is not None and span.context.trace_flags.sampled:
            self._exporter.export((span,))

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


class _Generator(Ids, IdGenerator):
    """Ours, for a provider that asks for one of the SDK."""


def provider(
    *,
    exporter: SpanExporter | None = None,
    resource: Resource | None = None,
    sampler: Sampler | None = None,
    folder: str | os.PathLike[str] | None = None,
    request_bytes: int = DEFAULT_REQUEST_BYTES,
    request_spans: int = 512,
    queue_bytes: int = DEFAULT_QUEUE_BYTES,
    delay: float = 1.0,
    exit_seconds: float = 2.0,
) -> TracerProvider:
    """An SDK tracer provider that exports over OTLP, and loses as little as it can: say it to OpenTelemetry with
    `trace.set_tracer_provider(tracetape.exporters.provider())`.

    Its requests are cut by bytes; a span that the receiver refuses harms no other; values are of any length; a
    program whose receiver is not there ends in `exit_seconds`; what was not exported is counted and said.

    exporter:       what sends. Default: the stock OTLP exporter, by gRPC or HTTP as
                    OTEL_EXPORTER_OTLP_[TRACES_]PROTOCOL says (gRPC); endpoint, headers and certificates by its own
                    variables.
    resource, sampler:  as the SDK's `TracerProvider` has them, by its variables by default.
    folder:         a folder of this machine to which every span is written as well, before it is sent; see
                    `tracetape.exporters.FolderExporter`.
    request_bytes, request_spans:  most of one request.
    queue_bytes:    of the spans that may wait.
    delay:          seconds after which a request goes that is not full.
    exit_seconds:   how long the end of the program waits for a receiver that takes nothing.

    Raises UsageError: a number that is not above zero; EXTRA_MISSING where the OTLP exporter is not installed.
    """
    for name, value in (
        ("request_bytes", request_bytes),
        ("request_spans", request_spans),
        ("queue_bytes", queue_bytes),
        ("delay", delay),
        ("exit_seconds", exit_seconds),
    ):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
            raise UsageError(f"provider({name}=…) takes a number above zero, not {value!r}")
    make = _stock() if exporter is None else lambda: exporter
    unset = SpanLimits.UNSET
    made = TracerProvider(
        sampler=sampler,
        resource=resource,
        id_generator=_Generator(),
        span_limits=SpanLimits(
            max_attributes=MOST_ATTRIBUTES,
            max_span_attributes=MOST_ATTRIBUTES,
            max_event_attributes=MOST_ATTRIBUTES,
            max_link_attributes=MOST_ATTRIBUTES,
            max_events=MOST_ATTRIBUTES,
            max_links=MOST_ATTRIBUTES,
            max_attribute_length=unset,
            max_span_attribute_length=unset,
        ),
    )
    if folder is not None:
        from tracetape.exporters.folder import FolderExporter

        made.add_span_processor(_AtOnce(FolderExporter(folder)))
    made.add_span_processor(
        BatchingProcessor(
            make,
            most_bytes=request_bytes,
            most_spans=request_spans,
            queue_bytes=queue_bytes,
            delay=delay,
            exit_seconds=exit_seconds,
            files=LocalFiles(None if folder is None else os.fspath(folder)),
        )
    )
    return made


def _stock() -> Callable[[], SpanExporter]:
    """What makes the stock exporter: imported here, so that one that is missing is said at once."""
    protocol = otlp_protocol()
    try:
        if protocol == "grpc":
            from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

            return lambda: OTLPSpanExporter(**_own_retries(OTLPSpanExporter))
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as OTLPHttpExporter
    except ImportError as error:
        raise UsageError(
            f"tracetape.exporters.provider() sends over OTLP ({protocol}), and {error.name or 'its exporter'} is "
            'not installed: pip install "tracetape[otlp]", or give it another exporter=…',
            code="EXTRA_MISSING",
        ) from None
    return OTLPHttpExporter


def _own_retries(exporter: type[Any]) -> dict[str, Any]:
    """Newer exporters can be told what to try again; those that cannot send a large request again for a minute."""
    if said_in_environment(_TRIED_AGAIN_SAID):
        return {}
    if "retryable_error_codes" not in inspect.signature(exporter.__init__).parameters:
        return {}
    import grpc

    return {"retryable_error_codes": [grpc.StatusCode[name] for name in _TRIED_AGAIN]}
