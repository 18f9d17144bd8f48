"""Whatever is in a file: a recording, or an error of ours; never another exception, never a hang."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tracetape
from tracetape.errors import TracetapeError

SAMPLES = sorted(
    path
    for path in (Path(__file__).parents[1] / "recordings").rglob("*")
    if path.is_file() and path.suffix not in (".md", ".py", ".sh", ".sha256") and path.stat().st_size < 100_000
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A sample with a few bytes changed, a part cut out, doubled, or taken from another sample."""
    data = bytearray(draw(st.sampled_from(SAMPLES)).read_bytes())
    for _ in range(draw(st.integers(1, 4))):
        if not data:
            break
        at = draw(st.integers(0, len(data) - 1))
        to = min(len(data), at + draw(st.integers(1, 400)))
        match draw(st.sampled_from(["flip", "cut", "double", "insert", "splice"])):
            case "flip":
                data[at] ^= draw(st.integers(1, 255))
            case "cut":
                del data[at:to]
            case "double":
                data[at:at] = data[at:to]
            case "insert":
                data[at:at] = draw(
                    st.sampled_from(
                        [b"\x00", b"\xff\xfe", b"[" * 500, b'{"a":' * 300, b"9" * 5_000, b'"\\ud800"', b"\n"]
                    )
                )
            case "splice":
                other = draw(st.sampled_from(SAMPLES)).read_bytes()
                start = draw(st.integers(0, max(0, len(other) - 1)))
                data[at:to] = other[start : start + 400]
    return bytes(data)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=mutated())
def test_only_our_own_errors_come_out_of_any_file(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated"
    path.write_bytes(data)
    try:
        recording = tracetape.load(path, traces="all")
        for crossing in recording.crossings:
            try:
                _ = crossing.inputs, crossing.result, crossing.error, crossing.items
            except TracetapeError:
                continue
        for _ in tracetape.read_spans(path):
            pass
        str(recording.obstacles())
    except TracetapeError as error:
        assert error.code
        assert str(error)
