"""Our convention: what is written on a span, and that it reads back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetape.config import Settings
from tracetape.errors import FormatError
from tracetape.model.call import BoundarySpec
from tracetape.model.crossing import Crossing
from tracetape.model.payload import Payload
from tracetape.model.span import SpanRecord
from tracetape.semconv import genai, names, write
from tracetape.semconv.read import read_crossing

BIG = Payload.of('{"text":"' + "é" * 5_000 + '"}')
CROSSING = Crossing(
    boundary="ask",
    kind="llm",
    version="v1",
    model="gpt-5-mini",
    usage={"input_tokens": 3, "output_tokens": 4},
    input=Payload.of('{"prompt":"hi","temperature":0.5}'),
    output=Payload.of('"answer"'),
    seq=7,
    process_id="ab",
    started=5,
    duration=10,
    trace_id="1" * 32,
    span_ids=("2" * 16,),
)


def span(attributes: dict[str, Any], **more: Any) -> SpanRecord:
    return SpanRecord(
        trace_id="1" * 32,
        span_id="2" * 16,
        parent_id=None,
        name="x",
        start_ns=5,
        **({"end_ns": 15} | more),
        attributes=attributes,
    )


SPEC = BoundarySpec(name="ask", kind="llm", code="app.ask")


def written(crossing: Crossing, content: dict[str, Any]) -> dict[str, Any]:
    """What the recorder writes of a call that becomes this crossing."""
    spec = replace(SPEC, name=crossing.boundary, kind=crossing.kind)
    return (
        write.boundary(spec)
        | write.call(
            spec,
            {"prompt": "hi", "temperature": 0.5},
            seq=crossing.seq or 0,
            process_id=crossing.process_id or "",
            version=crossing.version,
            model=crossing.model,
            build_id="build-9",
        )
        | write.outcome(crossing.outcome, crossing.shape, response_model="gpt-5-mini-2026", usage=crossing.usage)
        | content
    )


def in_file(crossing: Crossing) -> dict[str, Any]:
    return write.content(crossing.input, crossing.output)


def on_host(crossing: Crossing, settings: Settings) -> dict[str, Any]:
    return write.host_content(crossing.input, crossing.output, settings)


def facts(crossing: Crossing) -> dict[str, Any]:
    return {
        name: getattr(crossing, name)
        for name in (
            "boundary",
            "kind",
            "version",
            "model",
            "usage",
            "outcome",
            "shape",
            "input",
            "output",
            "seq",
            "process_id",
            "started",
            "duration",
            "trace_id",
            "span_ids",
            "grade",
            "gaps",
        )
    }


def test_the_attributes_are_those_of_the_design() -> None:
    assert written(CROSSING, in_file(CROSSING)) == {
        "tracetape.schema.version": 1,
        "tracetape.boundary.name": "ask",
        "tracetape.boundary.kind": "llm",
        "tracetape.boundary.version": "v1",
        "tracetape.seq": 7,
        "tracetape.process.id": "ab",
        "tracetape.build.id": "build-9",
        "code.function.name": "app.ask",
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-5-mini",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.response.model": "gpt-5-mini-2026",
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 4,
        "tracetape.outcome.type": "returned",
        "tracetape.input.value": '{"prompt":"hi","temperature":0.5}',
        "tracetape.input.digest": CROSSING.input.digest if CROSSING.input else "",
        "tracetape.input.size": 33,
        "tracetape.output.value": '"answer"',
        "tracetape.output.digest": CROSSING.output.digest if CROSSING.output else "",
        "tracetape.output.size": 8,
    }


def test_payloads_are_set_last_since_the_sdk_drops_the_oldest() -> None:
    keys = list(written(CROSSING, on_host(CROSSING, Settings())))
    assert [key for key in keys[-6:] if ".input." in key or ".output." in key] == keys[-6:]


@pytest.mark.parametrize("view", ["file", "host", "host, small pieces"])
def test_a_crossing_reads_back_as_it_was_written(view: str) -> None:
    crossing = replace(CROSSING, output=BIG)
    settings = Settings(piece_limit=7) if view == "host, small pieces" else Settings()
    content = in_file(crossing) if view == "file" else on_host(crossing, settings)
    read = read_crossing(span(written(crossing, content)))
    assert read is not None
    assert facts(read) == facts(crossing)


def test_pieces_that_a_backend_made_json_text_are_joined_too() -> None:
    crossing = replace(CROSSING, output=BIG)
    import json

    attributes = written(crossing, on_host(crossing, Settings()))
    attributes[names.OUTPUT_VALUE] = json.dumps(attributes[names.OUTPUT_VALUE])
    read = read_crossing(span(attributes))
    assert read is not None
    assert read.output == BIG


@given(st.text(), st.integers(4, 50))
def test_pieces_are_cut_between_characters_within_the_limit(text: str, limit: int) -> None:
    text = text.encode("utf-8", "ignore").decode("utf-8")
    cut = write.pieces(text, limit)
    whole = cut if isinstance(cut, str) else "".join(cut)
    assert whole == text
    assert all(len(piece.encode()) <= limit for piece in ([cut] if isinstance(cut, str) else cut))


def test_with_content_off_no_value_is_on_the_host_s_span_and_it_says_so() -> None:
    settings = Settings(host_content=False)
    attributes = on_host(replace(CROSSING, output=BIG), settings)
    assert attributes == {
        "tracetape.content": "off",
        "tracetape.input.size": 33,  # no digest: so short a value could be guessed
        "tracetape.output.digest": BIG.digest,
        "tracetape.output.size": BIG.size,
    }
    read = read_crossing(span(written(CROSSING, on_host(CROSSING, settings))))
    assert read is not None
    assert read.grade == "unusable"
    assert [gap.code for gap in read.gaps] == ["CONTENT_OFF", "CONTENT_OFF"]
    assert "TRACETAPE_CONTENT=off" in read.gaps[0].text


def test_over_the_export_limit_payloads_are_left_out_and_the_span_says_so() -> None:
    crossing = replace(CROSSING, output=BIG)
    attributes = on_host(crossing, Settings(export_limit=1_000))
    assert attributes[names.CONTENT] == "omitted"
    assert names.OUTPUT_VALUE not in attributes
    read = read_crossing(span(written(crossing, attributes)))
    assert read is not None
    assert {gap.code for gap in read.gaps} == {"PAYLOAD_OMITTED"}
    assert f"{BIG.size:,} bytes" in read.gaps[1].text


def test_over_the_limit_the_input_goes_first_for_it_only_weakens_matching() -> None:
    crossing = replace(CROSSING, input=BIG)
    read = read_crossing(span(written(crossing, on_host(crossing, Settings(export_limit=1_000)))))
    assert read is not None
    assert (read.input, read.output, read.grade) == (None, CROSSING.output, "rebuilt")


@pytest.mark.parametrize(
    ("change", "code", "grade"),
    [
        ({names.OUTPUT_VALUE: '"ans'}, "PAYLOAD_TRUNCATED", "unusable"),
        ({names.OUTPUT_VALUE: '"answeR"'}, "PAYLOAD_ALTERED", "unusable"),
        ({names.INPUT_VALUE: '{"prompt":'}, "PAYLOAD_TRUNCATED", "rebuilt"),
        ({names.OUTPUT_VALUE: None}, "PAYLOAD_MISSING", "unusable"),
        ({names.OUTCOME_TYPE: None}, "UNFINISHED", "unusable"),
    ],
)
def test_what_a_span_lacks_is_graded_and_named(change: dict[str, Any], code: str, grade: str) -> None:
    attributes = written(CROSSING, in_file(CROSSING)) | change
    read = read_crossing(span({key: value for key, value in attributes.items() if value is not None}))
    assert read is not None
    assert code in {gap.code for gap in read.gaps}
    assert read.grade == grade


def test_ints_that_a_backend_made_text_are_ints_again() -> None:
    attributes = {
        key: str(value) if isinstance(value, int) else value
        for key, value in written(CROSSING, in_file(CROSSING)).items()
    }
    read = read_crossing(span(attributes))
    assert read is not None
    assert (read.seq, read.grade) == (7, "exact")


def test_a_newer_schema_is_refused_with_the_line_to_upgrade() -> None:
    with pytest.raises(FormatError) as caught:
        read_crossing(span({names.BOUNDARY_NAME: "ask", names.SCHEMA_VERSION: 2}, where="run.jsonl:3"))
    assert caught.value.code == "NEWER_RECORDING"
    assert str(caught.value) == (
        "run.jsonl:3: written by a newer tracetape (schema version 2; this one reads up to 1). Upgrade with: "
        "pip install --upgrade tracetape"
    )


def test_a_span_without_a_boundary_is_no_crossing() -> None:
    assert read_crossing(span({"gen_ai.operation.name": "chat"})) is None


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("llm", "chat gpt-5-mini"),
        ("tool", "execute_tool ask"),
        ("agent", "invoke_agent ask"),
        ("embedding", "embeddings gpt-5-mini"),
        ("memory", "ask"),
        ("custom", "ask"),
    ],
)
def test_span_names_are_those_of_the_genai_conventions(kind: str, name: str) -> None:
    assert write.span_name(replace(SPEC, kind=kind), "gpt-5-mini") == name


@pytest.mark.parametrize(
    ("result", "usage", "model"),
    [
        (
            {"usage": {"prompt_tokens": 1, "completion_tokens": 2}, "model": "m"},
            {"input_tokens": 1, "output_tokens": 2},
            "m",
        ),
        ({"usage": {"input_tokens": 1}, "model": "m"}, {"input_tokens": 1}, "m"),
        ({"model": "a car"}, {}, None),
        ({"usage": "heavy"}, {}, None),
        (None, {}, None),
        ([1], {}, None),
    ],
)
def test_usage_is_read_from_what_the_sdks_give(result: Any, usage: dict[str, int], model: str | None) -> None:
    assert genai.answer_of(result) == (usage, model)


def test_looking_for_usage_runs_no_property_of_a_program_s_class() -> None:
    class Trap:
        @property
        def usage(self) -> Any:
            raise AssertionError("ran")

    assert genai.answer_of(Trap()) == ({}, None)
