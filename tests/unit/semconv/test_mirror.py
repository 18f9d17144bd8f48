"""Values under the names of other conventions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tracetape.config import Settings
from tracetape.model.call import BoundarySpec
from tracetape.model.payload import Payload
from tracetape.semconv import names, write
from tracetape.semconv.mirror import mirrored

GIVEN = Payload.of('{"quantity":1000}')
OUTPUT = Payload.of('{"status":"filled"}')
BOTH = ("openinference", "gen_ai")


def mirror(
    kind: str = "tool",
    words: tuple[str, ...] = BOTH,
    *,
    known: dict[str, Any] | None = None,
    given: Payload | None = GIVEN,
    output: Payload | None = OUTPUT,
    **settings: Any,
) -> dict[str, Any]:
    said = Settings(mirror=words, **settings)
    written = write.host_content(given, output, said)
    known = {names.OUTCOME_TYPE: "returned", **(known or {})}
    return mirrored(BoundarySpec(name="place_order", kind=kind), known, written, given, output, said)


def test_of_a_tool() -> None:
    assert mirror() == {
        "openinference.span.kind": "TOOL",
        "tool.name": "place_order",
        "input.value": '{"quantity":1000}',
        "input.mime_type": "application/json",
        "output.value": '{"status":"filled"}',
        "output.mime_type": "application/json",
        "gen_ai.tool.call.arguments": '{"quantity":1000}',
        "gen_ai.tool.call.result": '{"status":"filled"}',
    }


def test_of_a_model_call() -> None:
    known = {
        "gen_ai.request.model": "asked",
        "gen_ai.response.model": "answered",
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 4,
    }
    found = mirror("llm", known=known, output=Payload.of('"He said \\"no\\"."'))
    assert found["llm.model_name"] == "answered"
    assert (found["llm.token_count.prompt"], found["llm.token_count.completion"]) == (3, 4)
    assert found["llm.token_count.total"] == 7
    assert json.loads(found["gen_ai.input.messages"]) == [
        {"role": "user", "parts": [{"type": "text", "content": '{"quantity":1000}'}]}
    ]
    # A text is that text, and not its JSON.
    assert json.loads(found["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": [{"type": "text", "content": 'He said "no".'}]}
    ]


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("llm", "LLM"),
        ("tool", "TOOL"),
        ("retrieval", "RETRIEVER"),
        ("embedding", "EMBEDDING"),
        ("agent", "AGENT"),
        ("memory", "CHAIN"),
        ("router", "CHAIN"),
        ("custom", "CHAIN"),
        ("effect", "CHAIN"),
    ],
)
def test_each_kind_has_its_word(kind: str, shown: str) -> None:
    assert mirror(kind, ("openinference",))["openinference.span.kind"] == shown


def test_one_convention_alone() -> None:
    assert set(mirror(words=("gen_ai",))) == {"gen_ai.tool.call.arguments", "gen_ai.tool.call.result"}
    assert not any(key.startswith("gen_ai.") for key in mirror(words=("openinference",)))


def test_nothing_where_nobody_asked() -> None:
    assert mirror(words=()) == {}


def test_with_content_off_no_value_is_anywhere() -> None:
    found = mirror("tool", host_content=False)
    assert found == {"openinference.span.kind": "TOOL", "tool.name": "place_order"}


def test_an_exception_is_no_answer() -> None:
    found = mirror(known={names.OUTCOME_TYPE: "raised"})
    assert "output.value" not in found
    assert "gen_ai.tool.call.result" not in found
    assert found["input.value"] == GIVEN.text


def test_ours_have_the_first_claim_on_the_limit() -> None:
    ours = GIVEN.size + OUTPUT.size
    found = mirror(words=("openinference",), export_limit=ours)
    assert found == {
        "openinference.span.kind": "TOOL",
        "tool.name": "place_order",
        "tracetape.mirror": "omitted",
    }
    # With room for one, it is the output.
    found = mirror(words=("openinference",), export_limit=ours + OUTPUT.size)
    assert found["output.value"] == OUTPUT.text
    assert "input.value" not in found
    assert found["tracetape.mirror"] == "omitted"
    assert "tracetape.mirror" not in mirror(words=("openinference",), export_limit=2 * ours)


def test_what_ours_omit_is_not_brought_in_by_this_door() -> None:
    large = Payload.of(json.dumps("x" * 2_000))
    found = mirror(given=large, export_limit=1_000)
    assert "input.value" not in found
    assert "gen_ai.tool.call.arguments" not in found
    assert found["output.value"] == OUTPUT.text


def test_characters_count_as_the_bytes_that_they_are() -> None:
    text = Payload.of(json.dumps("é" * 100, ensure_ascii=False))
    found = mirror(words=("openinference",), given=None, output=text, export_limit=2 * text.size - 1)
    assert "output.value" not in found
