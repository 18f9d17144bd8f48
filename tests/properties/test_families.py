"""Whatever happens to the attributes of an instrumentation's spans, nothing raises and nothing is made up."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import orjson
import pytest

import tracetape
from tests.corpus import CASES, Case
from tracetape.cli.checking import crossing_as_json
from tracetape.model.crossing import Crossing
from tracetape.model.span import SpanRecord
from tracetape.sources.assemble import assemble

HOSTILE: list[Any] = [
    "",
    "{",
    '{"a":',
    "null",
    7,
    -1,
    True,
    None,
    1.5,
    [],
    {},
    [[]],
    [{}],
    {"a": 1},
    b"x",
    ["x", 1],
]


def spans_of(case: Case) -> list[SpanRecord]:
    try:
        return list(tracetape.read_spans(case.spans))
    except tracetape.errors.SourceError:
        return []


def crossings_of(spans: list[SpanRecord]) -> list[Crossing]:
    return list(assemble(spans, source="", everything=True).crossings) if spans else []


def pieces(crossing: Crossing) -> set[str]:
    """What a stub would answer, as far as one reads it: a text, tool calls, a result."""
    told = crossing_as_json(crossing)
    if crossing.kind == "llm":
        calls = [repr((one["name"], one["arguments"])) for one in told["tool_calls"] or []]
        return {repr(told["text"] or ""), *calls}
    if crossing.kind == "embedding":
        result = told["result"]
        return {
            repr(one)
            for one in ([one["embedding"] for one in result["data"]] if isinstance(result, dict) else result)
        }
    return {repr(told["result"])}


def answers(crossings: list[Crossing]) -> set[str]:
    usable = [one for one in crossings if one.grade != "unusable" and one.outcome != "raised"]
    return {piece for one in usable for piece in pieces(one)}


def with_attributes(span: SpanRecord, attributes: dict[str, Any]) -> SpanRecord:
    return replace(span, attributes=attributes)


@pytest.mark.parametrize("case", CASES[::3], ids=lambda case: case.name)
def test_attributes_of_any_type_never_raise(case: Case) -> None:
    chance = random.Random(case.name)
    spans = spans_of(case)
    for _ in range(12):
        changed = [
            with_attributes(
                span,
                {
                    key: chance.choice(HOSTILE) if chance.random() < 0.3 else value
                    for key, value in span.attributes.items()
                },
            )
            for span in spans
        ]
        for crossing in crossings_of(changed):
            assert crossing.grade in ("exact", "rebuilt", "unusable")
            crossing_as_json(crossing)


# Each span is there twice in it: two that differ are refused.
ONCE = [case for case in CASES if case.name != "formats/double-export"]


@pytest.mark.parametrize("case", ONCE, ids=lambda case: case.name)
def test_what_is_dropped_is_not_made_up(case: Case) -> None:
    chance = random.Random(case.name)
    spans = spans_of(case)
    known = answers(crossings_of(spans)) | {repr("")}
    for _ in range(6):
        changed = [
            with_attributes(span, {key: value for key, value in span.attributes.items() if chance.random() > 0.25})
            for span in spans
        ]
        found = crossings_of(changed)
        assert all(one.gaps for one in found if one.grade == "unusable")
        assert answers(found) <= known


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_json_that_is_cut_is_a_gap_never_a_guess(case: Case) -> None:
    spans = spans_of(case)
    known = answers(crossings_of(spans))
    for limit in (40, 100, 200):
        changed = [
            with_attributes(span, {key: cut(value, limit) for key, value in span.attributes.items()})
            for span in spans
        ]
        found = crossings_of(changed)
        assert all(one.gaps for one in found if one.grade == "unusable")
        assert answers(found) <= known


def cut(value: Any, limit: int) -> Any:
    return value[:limit] if isinstance(value, str) and value[:1] in ("{", "[") else value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_order_of_spans_and_attributes_does_not_matter(case: Case) -> None:
    chance = random.Random(case.name)
    spans = spans_of(case)
    told = [crossing_as_json(one) for one in crossings_of(spans)]
    for _ in range(3):
        changed = [
            with_attributes(span, dict(chance.sample(list(span.attributes.items()), len(span.attributes))))
            for span in chance.sample(spans, len(spans))
        ]
        assert [crossing_as_json(one) for one in crossings_of(changed)] == told


def test_attributes_that_nobody_knows_change_nothing() -> None:
    for case in CASES[::5]:
        spans = spans_of(case)
        more = [
            with_attributes(
                span, {"new.one": "x", **span.attributes, "gen_ai.new": orjson.dumps({"a": 1}).decode()}
            )
            for span in spans
        ]
        assert [crossing_as_json(one) for one in crossings_of(more)] == [
            crossing_as_json(one) for one in crossings_of(spans)
        ]
