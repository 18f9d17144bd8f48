"""The demo's spans, sent over OTLP: the incident beside its repaired replay."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import orjson
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from rich.console import Console
from rich.text import Text

from tracetape.cli.demo import Untold
from tracetape.config import otlp_endpoint, said_in_environment
from tracetape.errors import SourceError
from tracetape.exporters import provider
from tracetape.recorder.run import Run

__all__ = ["Telling"]

_SERVICE = "tracetape-demo"
_JAEGER, _GRAFANA = "http://127.0.0.1:16686", "http://127.0.0.1:3000"
_SECONDS = 3


class Telling(Untold):
    """A tracer provider for this process, which sends to where OTEL_EXPORTER_OTLP_ENDPOINT says.

    Raises UsageError EXTRA_MISSING without the extra `otlp`.
    """

    def __init__(self) -> None:
        said = said_in_environment("OTEL_SERVICE_NAME")
        service = said[1] if said is not None else _SERVICE
        self._provider = provider(resource=Resource.create({"service.name": service}))
        trace.set_tracer_provider(self._provider)
        self._traces: list[tuple[str, str]] = []

    @contextmanager
    def replaying(self, what: str, run: Run) -> Iterator[None]:
        """A replay is a trace of its own, linked to the root of the recorded one."""
        recorded = trace.SpanContext(int(run.trace_id, 16), int(run.root_id, 16), True, trace.TraceFlags(1))
        tracer = trace.get_tracer(_SERVICE)
        if not self._traces:
            self._traces.append(("the incident", run.trace_id))
        with tracer.start_as_current_span(what, links=[trace.Link(recorded)]) as span:
            self._traces.append((what, f"{span.get_span_context().trace_id:032x}"))
            yield

    def finish(self, console: Console) -> None:
        """Send what is left, and say where to look. Raises SourceError UNREACHABLE where nobody took it."""
        taken = self._provider.force_flush(_SECONDS * 1_000)
        self._provider.shutdown()
        if not taken:
            raise SourceError(
                f"{otlp_endpoint()} has not taken the spans: is a receiver running there? `docker compose up -d` "
                "starts one, with Jaeger, Tempo and Grafana behind it; OTEL_EXPORTER_OTLP_ENDPOINT names another",
                code="UNREACHABLE",
            )
        console.print()
        console.print(Text("8. Sent: the same in Jaeger and in Grafana", style="bold cyan"))
        for what, trace_id in self._traces:
            console.print(f"{what}:")
            console.print(f"  {_JAEGER}/trace/{trace_id}")
            console.print(f"  {_in_grafana(trace_id)}")
        console.print("Each replay is linked to the incident, span by span.")


def _in_grafana(trace_id: str) -> str:
    """The page of a trace in Explore, at the data source `tempo` of collector-config/grafana."""
    source = {"type": "tempo", "uid": "tempo"}
    query = {"refId": "A", "datasource": source, "queryType": "traceql", "query": trace_id}
    panes = {"demo": {"datasource": "tempo", "queries": [query], "range": {"from": "now-1h", "to": "now"}}}
    return f"{_GRAFANA}/explore?schemaVersion=1&panes={quote(orjson.dumps(panes).decode())}"
