"""Cut and altered payloads are proved by the size and digest beside them."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from tracetape.model.span import SpanRecord
from tracetape.sources.payload_checks import content_gaps

TEXT = '{"text":"' + "ü" * 1500 + '"}'
SIZE = len(TEXT.encode())
DIGEST = hashlib.sha256(TEXT.encode()).hexdigest()


def gaps_of(attributes: dict[str, Any], dropped: int = 0) -> list[str]:
    span = SpanRecord(
        trace_id="0a" * 16,
        span_id="0b" * 8,
        parent_id=None,
        name="n",
        attributes=attributes,
        dropped_attributes=dropped,
        where="f:1",
    )
    return [str(gap) for gap in content_gaps(span)]


def pieces(text: str, size: int = 700) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@pytest.mark.parametrize(
    "attributes",
    [
        {"a.in": TEXT, "a.in.size": SIZE, "a.in.digest": DIGEST},
        {"a.in": TEXT, "a.in.size": SIZE, "a.in.digest": "sha256:" + DIGEST},
        {"a.in": TEXT, "a.in.bytes": SIZE, "a.in.sha256": DIGEST.upper()},
        {"a.in.value": TEXT, "a.in.size": SIZE, "a.in.digest": DIGEST},
        {"a.in.value": pieces(TEXT), "a.in.size": SIZE, "a.in.digest": DIGEST},
        {"a.in.value": str(pieces(TEXT)).replace("'", '\\"'), "x": 1},
        {"a.in.size": SIZE, "a.in.digest": DIGEST},
        {"a.in": TEXT, "a.in.size": 7},
        {"a.in": TEXT, "a.in.size": 7, "a.in.digest": "md5:1"},
        {"a.in": {"k": 1}, "a.in.size": 7, "a.in.digest": DIGEST},
        {"a.in": TEXT.encode(), "a.in.size": SIZE, "a.in.digest": DIGEST},
        {"a": "[INFO] hello", "b": "{not json", "c": "{", "d": "[", "e": "{}", "f": "{'python': 1"},
    ],
    ids=lambda attributes: ", ".join(attributes),
)
def test_whole_and_unprovable_payloads_are_left_alone(attributes):
    assert gaps_of(attributes) == []


def test_an_array_that_a_backend_made_text_is_joined():
    import json

    text = json.dumps(pieces(TEXT))

    assert gaps_of({"a.value": text, "a.size": SIZE, "a.digest": DIGEST}) == []


@pytest.mark.parametrize("ending", [(".size", ".digest"), (".bytes", ".sha256")])
def test_a_cut_payload_is_said_with_both_sizes(ending):
    cut = TEXT.encode()[:1000].decode("utf-8", "ignore")

    assert gaps_of({"a.in": cut, "a.in" + ending[0]: SIZE, "a.in" + ending[1]: DIGEST}) == [
        f"PAYLOAD_TRUNCATED: attribute 'a.in' is cut: it has {len(cut.encode())} of {SIZE} bytes; raise the limit "
        "of the backend, or OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT (span 0b0b0b0b0b0b0b0b 'n', f:1)"
    ]


def test_a_cut_at_tempos_default_names_tempo():
    cut = TEXT.encode()[:2048].decode("utf-8", "ignore")
    [text] = gaps_of({"a.in": cut, "a.in.size": SIZE, "a.in.digest": DIGEST})

    assert "distributor.max_attribute_bytes" in text


def test_lost_pieces_are_a_cut():
    [text] = gaps_of({"a.value": pieces(TEXT)[:-1], "a.size": SIZE, "a.digest": DIGEST})

    assert text.startswith("PAYLOAD_TRUNCATED: attribute 'a.value' is cut: it has ")
    assert f" of {SIZE} bytes" in text


@pytest.mark.parametrize(
    "text", ['{"a": "b', '{"a": 1, ', "[1, 2", '[{"role": "user", "content": "hé', '{"a": tr']
)
def test_json_text_that_ends_in_the_middle_is_cut_of_unknown_size(text):
    [gap] = gaps_of({"gen_ai.input.messages": text})

    assert gap.startswith(
        f"PAYLOAD_TRUNCATED: attribute 'gen_ai.input.messages' is cut: it has {len(text.encode())} bytes, "
        "and ends in the middle of its JSON text; "
    )


def test_a_masked_payload_is_altered():
    masked = TEXT.replace("üü", "**")

    assert gaps_of({"a.in": masked + " " * SIZE, "a.in.size": SIZE, "a.in.digest": DIGEST}) == [
        f"PAYLOAD_ALTERED: attribute 'a.in' has {len(masked.encode()) + SIZE:,} bytes that are not those recorded "
        "(its digest differs): something between the program and this file has rewritten or masked it "
        "(span 0b0b0b0b0b0b0b0b 'n', f:1)"
    ]


def test_dropped_attributes_are_counted():
    assert gaps_of({}, dropped=3) == [
        "ATTRIBUTES_DROPPED: the SDK dropped 3 attributes of it: raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT (128 by "
        "default) (span 0b0b0b0b0b0b0b0b 'n', f:1)"
    ]
