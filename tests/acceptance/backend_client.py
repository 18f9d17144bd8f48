"""What holds for our client against any real backend: it shows, finds, saves and replays a run by its address."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from subprocess import CompletedProcess, run

import tracetape
from tests.backends import program as payload_program

__all__ = ["assert_client_works"]


def assert_client_works(backend: str, page: str, own: Path, folder: Path) -> None:
    """backend: the address of the whole, as `jaeger+http://…`. page: what a browser shows of the trace."""
    recorded = tracetape.load(own)
    source = f"{backend}/{recorded.trace_id}"
    for address in (source, page):
        given = tracetape.load(address)
        assert tracetape.compare(recorded, given) == []
        assert given.grade == recorded.grade
    found = typed("find", backend, "--since", "1h", "--json")
    assert source in {one["source"] for one in json.loads(found.stdout)["traces"]}
    failed = typed("find", backend, "--since", "1h", "--errors", "--json")
    assert (source in {one["source"] for one in json.loads(failed.stdout)["traces"]}) == any(
        span.status.code == "ERROR" for span in recorded.spans
    )
    saved = folder / "saved.otlp.jsonl"
    assert typed("fetch", source, "-o", str(saved)).returncode == 0
    assert typed("diff", str(own), str(saved)).returncode == 0
    assert typed("diff", str(own), source).returncode == 0
    with tracetape.replay(source, live=["answer"]) as tape:
        assert payload_program.calls() == recorded["answer", 1].result
    assert (tape.report.model_calls, tape.report.divergences) == (0, [])
    nowhere = typed("show", f"{backend}/{'0' * 31}1")
    assert nowhere.returncode == 3
    assert nowhere.stderr.startswith(f"tracetape: {backend}/{'0' * 31}1: ")


def typed(*words: str) -> CompletedProcess[str]:
    done = run([sys.executable, "-m", "tracetape", *words], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    return done
