"""How many spans of a flood reach a real Collector's file: our provider beside the stock batch processor.

    python -m tests.backends.flood [--spans 20000] [--payload 4096]

A program ends that many spans as fast as it can, at the defaults of each, and then ends itself.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.backends import Collector, available

__all__ = ["PROVIDERS", "arrived"]

CONFIG = Path(__file__).parents[2] / "collector-config" / "to-file.yaml"

PROVIDERS = {
    "tracetape.exporters.provider()": """
        from tracetape.exporters import provider
        made = provider()
    """,
    "the stock batch processor": """
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        made = TracerProvider()
        made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(insecure=True)))
    """,
}
FLOOD = """
import sys
count, size = map(int, sys.argv[1:])
text = "x" * (size // 2)
tracer = made.get_tracer("flood")
for number in range(count):
    with tracer.start_as_current_span("flood", attributes={"input.value": text, "output.value": text}):
        pass
"""


def arrived(provider: str, spans: int, payload: int, folder: Path) -> tuple[int, float]:
    """How many of the spans are in the Collector's file; the seconds from the program's start to its end."""
    import textwrap

    import tracetape

    file = folder / "recordings" / "spans.jsonl"
    with Collector(CONFIG, folder, {"SPANS_FILE": str(file)}) as collector:
        env = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "TRACETAPE_"))}
        code = textwrap.dedent(PROVIDERS[provider]) + FLOOD
        began = time.monotonic()
        subprocess.run(
            [sys.executable, "-c", code, str(spans), str(payload)],
            env=env | {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.grpc},
            check=True,
            capture_output=True,
        )
        seconds = time.monotonic() - began
    found = {(one.trace_id, one.span_id) for one in tracetape.read_spans(file.parent)}
    return len(found), seconds


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=20_000)
    parser.add_argument("--payload", type=int, default=4_096)
    options = parser.parse_args(arguments)
    missing = available("collector")
    if missing:
        raise SystemExit(f"the Collector is not built: {missing}")
    for provider in PROVIDERS:
        with tempfile.TemporaryDirectory() as folder:
            count, seconds = arrived(provider, options.spans, options.payload, Path(folder))
        lost = options.spans - count
        print(f"{provider}: {count:,} of {options.spans:,} spans arrived, {lost:,} lost, in {seconds:.1f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
