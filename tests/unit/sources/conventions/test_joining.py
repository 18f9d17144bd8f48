"""Spans of one call are one crossing, whoever wrote them, and spans of two calls are never made one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.sources.conventions.spans import (
    GENAI,
    GENAI_LANGCHAIN,
    OPENINFERENCE,
    OPENINFERENCE_LANGCHAIN,
    TRACELOOP,
    TRACELOOP_LANGCHAIN,
    TWO,
    answers,
    assistant,
    llm,
    names,
    read,
    shown_by,
    span,
    tool,
    user,
    value_of,
)

from tracetape.model.span import SpanRecord
from tracetape.sources.conventions.alike import same_model

ASKED = [user("What is ACME?")]
SAID = assistant("A company.")
SAID_PARTS = [{"type": "text", "content": "A company."}]
OTHER_PARTS = [{"type": "text", "content": "A stock."}]

PAIRS = [
    (OPENINFERENCE_LANGCHAIN, OPENINFERENCE),
    (OPENINFERENCE_LANGCHAIN, GENAI),
    (TRACELOOP_LANGCHAIN, OPENINFERENCE),
    (GENAI_LANGCHAIN, TRACELOOP),
]


@pytest.mark.parametrize(("framework", "client"), PAIRS)
def test_a_framework_s_span_over_the_client_s_is_one_call(framework: str, client: str) -> None:
    recording = read(
        llm(1, 10, 40, ASKED, SAID, scope=framework),
        span(2, 11, 39, {}, under=1),
        llm(3, 12, 38, ASKED, SAID, scope=client, under=2),
    )
    assert shown_by(recording) == [[1, 3]]
    assert answers(recording) == [SAID_PARTS]


def test_what_a_framework_has_made_of_the_only_answer_inside_is_no_other_answer() -> None:
    recording = read(
        llm(1, 10, 40, ASKED, assistant("Parsed: A company."), scope=OPENINFERENCE_LANGCHAIN),
        llm(2, 12, 38, ASKED, SAID, scope=GENAI, under=1),
    )
    assert shown_by(recording) == [[1, 2]]


@pytest.mark.parametrize("scope", [OPENINFERENCE, GENAI, TRACELOOP])
def test_another_answer_of_the_same_family_is_another_call(scope: str) -> None:
    recording = read(
        llm(1, 10, 40, ASKED, SAID, scope=scope),
        llm(2, 12, 38, ASKED, assistant("A stock."), scope=scope, under=1),
    )
    assert shown_by(recording) == [[1], [2]]
    assert answers(recording) == [SAID_PARTS, OTHER_PARTS]


def test_another_question_with_another_answer_is_another_call() -> None:
    recording = read(
        llm(1, 10, 40, ASKED, SAID, scope=OPENINFERENCE_LANGCHAIN),
        llm(2, 12, 38, [user("Summarise")], assistant("A stock."), scope=OPENINFERENCE, under=1),
    )
    assert shown_by(recording) == [[1], [2]]


@pytest.mark.parametrize("content", [True, False], ids=["with content", "without content"])
def test_what_a_framework_has_tried_again_is_no_failure(content: bool) -> None:
    told: tuple[Any, Any] = (ASKED, SAID) if content else (None, None)
    recording = read(
        llm(1, 10, 90, *told, scope=GENAI_LANGCHAIN),
        llm(2, 20, 30, ASKED, scope=OPENINFERENCE, under=1, error="overloaded"),
        llm(3, 40, 80, ASKED, SAID, scope=OPENINFERENCE, under=1),
    )
    [crossing] = recording.crossings
    assert crossing.outcome == "returned"
    assert set(crossing.span_ids) == {f"{number:016x}" for number in (1, 2, 3)}
    assert answers(recording) == [SAID_PARTS]


def test_tries_that_all_failed_are_one_failed_call() -> None:
    recording = read(
        llm(1, 10, 90, ASKED, scope=GENAI_LANGCHAIN, error="overloaded"),
        llm(2, 20, 30, ASKED, scope=OPENINFERENCE, under=1, error="overloaded"),
        llm(3, 40, 80, ASKED, scope=OPENINFERENCE, under=1, error="overloaded"),
    )
    [crossing] = recording.crossings
    assert (crossing.outcome, crossing.error_message) == ("raised", "overloaded")


def test_a_wrapper_around_several_calls_is_none() -> None:
    recording = read(
        llm(1, 10, 90, scope=OPENINFERENCE_LANGCHAIN),
        llm(2, 20, 30, ASKED, SAID, under=1),
        llm(3, 40, 80, [user("And BETA?")], assistant("A stock."), under=1),
    )
    assert shown_by(recording) == [[2], [3]]


def test_a_tool_that_calls_itself_with_other_arguments_is_two_runs() -> None:
    recording = read(
        tool(1, 10, 40, "walk", {"depth": 1}, "a"), tool(2, 20, 30, "walk", {"depth": 2}, "b", under=1)
    )
    assert names(recording) == ["walk@1", "walk@2"]
    assert [value_of(one.output) for one in recording.crossings] == ["a", "b"]


@pytest.mark.parametrize("inner", [OPENINFERENCE, GENAI, TRACELOOP])
def test_a_run_that_two_spans_show_with_equal_arguments_is_one(inner: str) -> None:
    recording = read(
        tool(1, 10, 40, "walk", {"depth": 1}, "a"),
        tool(2, 20, 30, "walk", {"depth": 1}, "a", scope=inner, under=1),
    )
    assert shown_by(recording) == [[1, 2]]


def test_a_tool_inside_another_tool_is_its_own() -> None:
    recording = read(
        tool(1, 10, 40, "walk", {"depth": 1}, "a"), tool(2, 20, 30, "look", {"depth": 1}, "b", under=1)
    )
    assert names(recording) == ["walk@1", "look@1"]


@pytest.mark.parametrize("said", [SAID, None], ids=["with an answer", "without an answer"])
def test_a_call_of_another_model_inside_is_its_own(said: Any) -> None:
    recording = read(
        llm(1, 10, 40, ASKED, said, scope=OPENINFERENCE_LANGCHAIN, model="gpt-5"),
        llm(2, 20, 30, ASKED, SAID, under=1, model="claude-sonnet-5"),
    )
    assert shown_by(recording) == [[1], [2]]


@pytest.mark.parametrize("inner", ["gpt-5-mini-2026-09-01", "openai/gpt-5-mini", "GPT-5-Mini"])
def test_another_name_of_the_same_model_is_the_same_model(inner: str) -> None:
    recording = read(
        llm(1, 10, 40, ASKED, SAID, scope=OPENINFERENCE_LANGCHAIN),
        llm(2, 20, 30, ASKED, SAID, under=1, model=inner),
    )
    assert shown_by(recording) == [[1, 2]]


@pytest.mark.parametrize("asked", [[user("And BETA?")], ASKED], ids=["other inputs", "equal inputs"])
def test_a_cache_answers_two_calls_of_one_family_with_one_response_id(asked: list[dict[str, Any]]) -> None:
    recording = read(
        llm(1, 10, 30, ASKED, SAID, scope=GENAI, response_id="r"),
        llm(2, 20, 40, asked, SAID, scope=GENAI, response_id="r"),
    )
    assert shown_by(recording) == [[1], [2]]


def test_one_response_id_with_other_inputs_at_the_same_time_is_of_two_calls() -> None:
    recording = read(
        llm(1, 10, 30, ASKED, SAID, scope=GENAI_LANGCHAIN, response_id="r"),
        llm(2, 20, 40, [user("And BETA?")], SAID, scope=TRACELOOP, response_id="r"),
    )
    assert shown_by(recording) == [[1], [2]]


def test_one_response_id_one_after_the_other_is_of_two_calls() -> None:
    recording = read(
        llm(1, 10, 20, ASKED, SAID, scope=GENAI_LANGCHAIN, response_id="r"),
        llm(2, 30, 40, ASKED, SAID, scope=TRACELOOP, response_id="r"),
    )
    assert shown_by(recording) == [[1], [2]]


def test_one_response_id_that_two_families_saw_at_the_same_time_is_of_one_call() -> None:
    recording = read(
        span(1, 5, 50, {}),
        llm(2, 10, 30, ASKED, SAID, scope=GENAI_LANGCHAIN, response_id="r", under=1),
        llm(3, 20, 40, ASKED, SAID, scope=TRACELOOP, response_id="r", under=1),
    )
    assert shown_by(recording) == [[2, 3]]


def beside(
    *,
    at: int = 0,
    first: int = 10,
    framework: str = OPENINFERENCE_LANGCHAIN,
    client: str = GENAI,
    said: tuple[Any, Any] = (SAID, SAID),
    error: str | None = None,
) -> list[SpanRecord]:
    """A chain with a framework's call in it, and the client's call beside the chain."""
    return [
        span(first, 100 + at, 200 + at, {}, under=1),
        llm(first + 1, 110 + at, 190 + at, ASKED, said[0], scope=framework, under=first, error=error),
        llm(first + 2, 120 + at, 180 + at, ASKED, said[1], scope=client, under=1, error=error),
    ]


ROOT = span(1, 1, 1000, {})


@pytest.mark.parametrize(("framework", "client"), PAIRS)
def test_two_families_beside_each_other_saw_one_call(framework: str, client: str) -> None:
    recording = read(ROOT, *beside(framework=framework, client=client))
    assert shown_by(recording) == [[11, 12]]


def test_two_families_beside_each_other_saw_one_error() -> None:
    recording = read(ROOT, *beside(said=(None, None), error="overloaded"))
    [crossing] = recording.crossings
    assert (crossing.outcome, crossing.error_message) == ("raised", "overloaded")
    assert shown_by(recording) == [[11, 12]]


def test_two_calls_beside_each_other_with_other_answers_are_two() -> None:
    recording = read(ROOT, *beside(said=(SAID, assistant("A stock."))))
    assert shown_by(recording) == [[11], [12]]


def test_a_call_in_another_branch_is_another_where_the_answers_do_not_tell() -> None:
    framework, client = (
        llm(11, 110, 190, ASKED, scope=OPENINFERENCE_LANGCHAIN, under=2),
        llm(12, 120, 180, ASKED, scope=GENAI, under=3),
    )
    recording = read(ROOT, span(2, 100, 200, {}, under=1), span(3, 100, 200, {}, under=1), framework, client)
    assert shown_by(recording) == [[11], [12]]


@pytest.mark.parametrize("content", [True, False], ids=["with answers", "without answers"])
def test_two_pairs_at_the_same_time_with_equal_prompts_are_two_calls_of_two_spans(content: bool) -> None:
    said = (SAID, SAID) if content else (None, None)
    recording = read(ROOT, *beside(said=said), *beside(at=5, first=20, said=said))
    found = shown_by(recording)
    assert [len(one) for one in found] == [2, 2]
    assert sorted(number for one in found for number in one) == [11, 12, 21, 22]
    assert [one[0] for one in found] == [11, 21]


def test_pairs_at_the_same_time_are_told_apart_by_their_answers() -> None:
    other = assistant("A stock.")
    recording = read(ROOT, *beside(), *beside(at=5, first=20, said=(other, other)))
    assert shown_by(recording) == [[11, 12], [21, 22]]
    assert answers(recording) == [SAID_PARTS, OTHER_PARTS]


def test_one_family_s_calls_beside_each_other_are_two() -> None:
    recording = read(ROOT, *beside(framework=GENAI, client=GENAI))
    assert shown_by(recording) == [[11], [12]]


@pytest.mark.parametrize(
    ("said", "error"), [((SAID, SAID), None), ((None, SAID), None), ((None, None), "overloaded")]
)
def test_a_call_in_two_traces_is_one(said: tuple[Any, Any], error: str | None) -> None:
    recording = read(
        llm(1, 10, 40, ASKED, said[0], scope=OPENINFERENCE_LANGCHAIN, error=error),
        span(2, 15, 35, {}, trace=TWO),
        llm(3, 20, 30, ASKED, said[1], scope=GENAI, trace=TWO, under=2, error=error),
    )
    assert shown_by(recording) == [[1, 3]]


def test_a_call_that_outlasts_another_is_not_the_same() -> None:
    recording = read(
        llm(1, 10, 30, ASKED, SAID, scope=OPENINFERENCE_LANGCHAIN),
        llm(2, 20, 40, ASKED, SAID, scope=GENAI, trace=TWO),
    )
    assert shown_by(recording) == [[1], [2]]


def test_equal_calls_of_two_traces_one_after_the_other_are_two() -> None:
    recording = read(
        llm(1, 10, 20, ASKED, SAID, scope=OPENINFERENCE_LANGCHAIN),
        llm(2, 30, 40, ASKED, SAID, scope=GENAI, trace=TWO),
    )
    assert shown_by(recording) == [[1], [2]]


def logfire(number: int, start: int, end: int, question: str, said: Any = None) -> SpanRecord:
    """The request of a stream; with said the span in which it ended."""
    about = {"logfire.span_type": "span", "logfire.msg_template": "Message with {request_data[model]!r}"}
    if said is not None:
        template = "streaming response from {request_data[model]!r} took {duration:.2f}s"
        about = {"logfire.span_type": "log", "logfire.msg_template": template}
    return llm(number, start, end, [user(question)], said, scope="logfire.anthropic", more=about)


def test_logfire_s_request_and_its_streaming_response_are_one_stream() -> None:
    recording = read(logfire(1, 10, 20, "What is ACME?"), logfire(2, 40, 40, "What is ACME?", SAID))
    [crossing] = recording.crossings
    assert (crossing.outcome, crossing.stream_end) == ("streamed", "finished")
    assert value_of(crossing.output)["items"][0]["messages"][0]["parts"] == SAID_PARTS
    assert (crossing.started, crossing.ended) == (10, 40)
    assert shown_by(recording) == [[1, 2]]


def test_logfire_s_streams_at_the_same_time_are_told_apart_by_their_requests() -> None:
    recording = read(
        logfire(1, 10, 20, "What is ACME?"),
        logfire(2, 11, 21, "And BETA?"),
        logfire(3, 40, 40, "And BETA?", assistant("A stock.")),
        logfire(4, 50, 50, "What is ACME?", SAID),
    )
    assert shown_by(recording) == [[1, 4], [2, 3]]


def test_logfire_s_equal_streams_are_as_many_calls_as_requests() -> None:
    recording = read(
        logfire(1, 10, 20, "What is ACME?"),
        logfire(2, 11, 21, "What is ACME?"),
        logfire(3, 40, 40, "What is ACME?", SAID),
        logfire(4, 50, 50, "What is ACME?", SAID),
    )
    assert shown_by(recording) == [[1, 3], [2, 4]]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("openai/gpt-5-mini", "gpt-5-mini-2026-09-01", True),
        ("gpt-4", "gpt-4-0613", True),
        ("gemini-3-flash", "gemini-3-flash-001", True),
        ("claude-3-5-sonnet", "claude-3-5-sonnet-20240620-v1:0", True),
        ("ollama/llama3", "llama3:latest", True),
        (None, "gpt-5", True),
        ("gpt-5", "gpt-5-mini", False),
        ("gpt-4", "gpt-4o", False),
        ("claude-opus-4", "claude-opus-4-5", False),
        ("llama-3", "llama-3-70", False),
        ("o1", "o1-preview", False),
    ],
)
def test_a_models_build_is_the_model_and_its_next_version_is_another(
    one: str | None, other: str, is_same: bool
) -> None:
    assert same_model(one, other) is is_same is same_model(other, one)


def test_a_retriever_that_shows_itself_twice_is_one_retrieval() -> None:
    outer = {"openinference.span.kind": "RETRIEVER", "input.value": "ACME"}
    outer["retrieval.documents.0.document.content"] = "a company"
    inner = {"openinference.span.kind": "RETRIEVER", "output.value": '["<Node object>"]'}
    inner["input.value"] = '{"query_bundle": {"query_str": "ACME", "embedding": null}}'
    scope = "openinference.instrumentation.llama_index"
    recording = read(
        span(1, 10, 40, outer, scope=scope, name="Index.retrieve"),
        span(2, 11, 39, inner, scope=scope, name="Index._retrieve", under=1),
    )
    [crossing] = recording.crossings
    assert (crossing.name, value_of(crossing.output)) == ("Index.retrieve@1", [{"content": "a company"}])
