"""However a line of ours is read, by a template or by itself, what comes of it is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.sources.two_ways import told_generally, told_quickly
from tracetape.exporters.otlp_json import encode_line
from tracetape.model.payload import Payload
from tracetape.model.span import Event, Scope, SpanRecord, Status
from tracetape.semconv import names

TRACE = "5c" * 16
SETTINGS: dict[str, Any] = {"deadline": None, "suppress_health_check": list(HealthCheck)}

# Texts that are canonical, that only look so, that cannot be: numbers over 64 bits, hidden tags, other spellings.
TEXTS = st.one_of(
    st.sampled_from(['{"b":1,"a":2}', '{"a":2,"b":1}', '{"text":"said \\"he\\""}', "{}"]),
    st.sampled_from(
        [
            "{}",
            "null",
            '{"b":1,"a":2}',
            '{"a":2,"b":1}',
            '{"a": 2}',
            '{"n":18446744073709551616}',
            '{"n":1844674407370955200000}',
            '{"n":1e3}',
            '{"n":-0}',
            '{"n":NaN}',
            '{"when":{"$type":"set","items":[3,1]}}',
            '{"when":{"\\u0024type":"set","items":[3,1]}}',
            '{"x":{"$type":"opaque","class":"m:C","text":"<C>"}}',
            '{"text":"costs $1, said \\"he\\" \\\\ \\u00e9 é 🚀"}',
            '{"text":"\\"}},{\\"key\\":\\"tracetape.output.digest\\""}',
            '{"text":"}}],\\"status\\""}',
            "[" * 300 + "]" * 300,
            "{",
            "",
            '"\\ud800"',
        ]
    ),
    st.text(max_size=30).filter(lambda text: text.encode("utf-8", "ignore").decode() == text),
)


@st.composite
def spans(draw: st.DrawFn, number: int) -> SpanRecord:
    def rarely(usual: Any, other: st.SearchStrategy[Any], times: int = 15) -> Any:
        return draw(other) if draw(st.integers(0, times)) == times else usual

    name = draw(st.sampled_from(["plan", "ask"]))
    given, result = Payload.of(draw(TEXTS)), Payload.of(draw(TEXTS))
    start = 1_796_021_663_798_029_559 + number * 1_000_000
    attributes = {
        names.SCHEMA_VERSION: rarely(1, st.just(2), 100),
        names.BOUNDARY_NAME: name,
        names.SEQ: rarely(number, st.integers(-(2**62), 2**62)),
        names.PROCESS_ID: rarely("e18ae5f6a15e1ff3", st.just("other")),
        names.OUTCOME_TYPE: rarely("returned", st.sampled_from(["raised", "streamed", "cancelled"])),
    }
    if name == "ask":
        attributes[names.GEN_AI_USAGE + "input_tokens"] = draw(st.integers(0, 10**6))
    for payload, keys in (
        (given, (names.INPUT_DIGEST, names.INPUT_SIZE, names.INPUT_VALUE)),
        (result, (names.OUTPUT_DIGEST, names.OUTPUT_SIZE, names.OUTPUT_VALUE)),
    ):
        attributes |= dict(zip(keys, (payload.digest, payload.size, payload.text), strict=True))
    parent = rarely(draw(st.integers(0, number - 1)), st.integers(number, 20), 40)
    return SpanRecord(
        trace_id=rarely(TRACE, st.just("7d" * 16), 40),
        span_id=f"{number:016x}",
        parent_id=rarely(f"{0xAA if parent == 0 else parent:016x}", st.sampled_from([None, "0" * 16]), 40),
        name=name,
        start_ns=start + rarely(0, st.integers(-(10**7), 10**7)),
        end_ns=rarely(start + 10**8, st.sampled_from([start - 5_000, start, None, 5])),
        status=rarely(Status(), st.just(Status("ERROR", "no"))),
        events=rarely((), st.just((Event("exception", start),))),
        scope=Scope(names.SCOPE_NAME, rarely("1", st.just("2"))),
        attributes=attributes,
    )


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Lines of ours, some of them not quite."""
    resource = {"service.name": "agent"}
    numbers = draw(st.permutations(range(1, draw(st.integers(4, 14)))))
    lines = [encode_line(draw(spans(number)), resource) for number in numbers]
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        at = draw(st.integers(0, len(lines) - 1))
        lines[at] = _changed(draw, lines[at], draw(st.sampled_from(lines)))
    return b"".join(lines)


def _changed(draw: st.DrawFn, line: bytes, other: bytes) -> bytes:
    at = draw(st.integers(0, max(0, len(line) - 1)))
    to = min(len(line), at + draw(st.integers(1, 40)))
    match draw(st.sampled_from(["digit", "flip", "cut", "double", "insert", "splice", "twice", "blank", "upper"])):
        case "digit":
            digits = [place for place, byte in enumerate(line) if chr(byte).isdigit()]
            place = draw(st.sampled_from(digits)) if digits else 0
            return line[:place] + b"%d" % draw(st.integers(0, 9)) + line[place + 1 :]
        case "flip":
            return line[:at] + bytes([draw(st.integers(1, 255))]) + line[at + 1 :]
        case "cut":
            return line[:at] + line[to:]
        case "double":
            return line[:to] + line[at:]
        case "insert":
            bad = [b"\\", b'"', b'"}},{"key":', b"\xff", b"\n", b" ", b"\x00", b'"}}],"', b"\\u0041"]
            return line[:at] + draw(st.sampled_from(bad)) + line[at:]
        case "splice":
            return line[:at] + other[at:]
        case "twice":
            return line + other
        case "blank":
            return b" " + line.rstrip() + b"\r\n\n"
        case _:
            return line[:at] + line[at:to].upper() + line[to:]


def check(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    for options in ({}, {"traces": "all"}, {"strict": True}):
        assert told_quickly(path, **options) == told_generally(path, **options)


@settings(max_examples=60, **SETTINGS)
@given(data=files())
def test_a_template_changes_nothing(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    check(tmp_path_factory.getbasetemp() / "own-lines", data)


@pytest.mark.slow
@settings(max_examples=3_000, **SETTINGS)
@given(data=files())
def test_a_template_never_changes_anything(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    check(tmp_path_factory.getbasetemp() / "own-lines", data)
