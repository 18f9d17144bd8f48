"""Of memories and retrievals what came back is served where it was recorded, and never made up."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.sources.conventions.spans import GENAI, codes, read, span, value_of

from tracetape.model.crossing import Crossing


def only(attributes: dict[str, Any], **about: Any) -> Crossing:
    [crossing] = read(span(1, 1, 2, attributes, scope=GENAI, **about)).crossings
    return crossing


def memory(operation: str, **attributes: Any) -> Crossing:
    told = {f"gen_ai.memory.{key.replace('__', '.')}": value for key, value in attributes.items()}
    return only({"gen_ai.operation.name": operation, **told})


@pytest.mark.parametrize(
    "operation",
    [
        "create_memory",
        "update_memory",
        "upsert_memory",
        "delete_memory",
        "create_memory_store",
        "delete_memory_store",
    ],
)
def test_of_what_gives_nothing_back_that_is_recorded_none_is_served(operation: str) -> None:
    found = memory(operation, id="m1")
    assert (found.boundary, found.kind, found.outcome) == (operation, "memory", "returned")
    assert (found.grade, codes(found)) == ("rebuilt", {"CONTENT_NOT_RECORDED"})
    assert value_of(found.output) is None
    assert value_of(found.input) == {"id": "m1"}


@pytest.mark.parametrize("operation", ["create_memory", "update_memory", "upsert_memory"])
def test_records_that_are_written_are_asked_and_not_given_back(operation: str) -> None:
    found = memory(operation, records='[{"content": "likes tea"}]', store__id="s1")
    assert value_of(found.input) == {"store.id": "s1", "records": [{"content": "likes tea"}]}
    assert value_of(found.output) is None
    assert found.grade == "rebuilt"


def test_a_search_gives_the_records_that_it_found() -> None:
    found = memory(
        "search_memory", query__text="tea", records='[{"content": "likes tea"}]', search__result__count=1
    )
    assert value_of(found.input) == {"query.text": "tea"}
    assert value_of(found.output) == [{"content": "likes tea"}]
    assert (found.grade, codes(found)) == ("exact", set())


def test_a_search_without_records_is_unusable() -> None:
    found = memory("search_memory", query__text="tea")
    assert (found.grade, found.output, codes(found)) == ("unusable", None, {"CONTENT_OFF"})


def test_a_text_that_is_asked_is_a_text() -> None:
    assert value_of(memory("search_memory", query__text="[tea", filter="7").input) == {
        "query.text": "[tea",
        "filter": "7",
    }


def test_a_memory_that_failed_raises() -> None:
    found = only({"gen_ai.operation.name": "create_memory"}, error="store is full")
    assert (found.outcome, found.error_message) == ("raised", "store is full")


def retrieval(documents: Any = None, **about: Any) -> Crossing:
    attributes = {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": "tea"}
    given = {} if documents is None else {"gen_ai.retrieval.documents": json.dumps(documents)}
    return only({**attributes, **given}, **about)


@pytest.mark.parametrize("documents", [[{"id": "d1"}], [{"id": "d1", "score": 0.5}, {"id": "d2", "score": 0.4}]])
def test_documents_that_are_ids_alone_are_unusable(documents: Any) -> None:
    found = retrieval(documents)
    assert (found.grade, found.output, codes(found)) == ("unusable", None, {"CONTENT_NOT_RECORDED"})
    assert value_of(found.input) == {"query": "tea"}


@pytest.mark.parametrize(
    "documents", [[{"id": "d1", "content": "Tea."}], [{"id": "d1"}, {"id": "d2", "content": "Tea."}], []]
)
def test_documents_with_content_are_served(documents: Any) -> None:
    found = retrieval(documents)
    assert value_of(found.output) == documents
    assert (found.grade, codes(found)) == ("exact", set())


def test_a_retrieval_without_documents_is_unusable() -> None:
    found = retrieval()
    assert (found.grade, found.output, codes(found)) == ("unusable", None, {"CONTENT_OFF"})


def test_a_retrieval_is_called_as_its_source_of_data() -> None:
    found = only(
        {
            "gen_ai.operation.name": "retrieval",
            "gen_ai.data_source.id": "leaflets",
            "gen_ai.retrieval.query.text": "tea",
            "gen_ai.retrieval.documents": '[{"content": "Tea."}]',
        }
    )
    assert found.name == "leaflets@1"


def test_of_an_embedding_no_vectors_are_served() -> None:
    found = only(
        {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "e", "gen_ai.usage.input_tokens": 3}
    )
    assert (found.boundary, found.kind, found.model, found.usage) == (
        "embeddings",
        "embedding",
        "e",
        {"input_tokens": 3},
    )
    assert (found.grade, found.output, codes(found)) == ("unusable", None, {"CONTENT_NOT_RECORDED"})
