"""Embeddings, retrievals, memory: as the GenAI conventions have them."""

from __future__ import annotations

from typing import Any

from tracetape.model.span import Gap, SpanRecord
from tracetape.sources.conventions import names
from tracetape.sources.conventions.contents import content_of, counts, lack, strings
from tracetape.sources.conventions.observed import ABSENT, Observed, failure_of, loaded_parameter

__all__ = ["embedding", "memory", "retrieval"]

_USAGE = {names.USAGE_INPUT_TOKENS: "input_tokens", names.USAGE_PROMPT_TOKENS: "input_tokens"}


def embedding(span: SpanRecord, *, source: str) -> Observed:
    """An embeddings call: no family of `gen_ai.*` attributes records the vectors."""
    attributes = span.attributes
    made = Observed(span=span, kind="embedding", boundary="embeddings", source=source)
    made.model = strings(attributes, names.REQUEST_MODEL, names.RESPONSE_MODEL)
    made.usage = counts(attributes, _USAGE)
    made.failure = failure_of(span)
    if made.failure is None:
        made.gaps.append(
            Gap(
                "CONTENT_NOT_RECORDED",
                f"{source} records no vectors of embeddings, whatever is switched on; OpenInference's "
                "instrumentation does (openinference-instrumentation-openai)",
                made.where,
            )
        )
    return made


def retrieval(span: SpanRecord, operation: str, *, source: str, switch: str) -> Observed:
    """A retrieval: the query by `query`, documents as they are given."""
    attributes = span.attributes
    boundary = strings(attributes, names.DATA_SOURCE_ID, names.TOOL_NAME) or operation
    made = Observed(span=span, kind="retrieval", boundary=boundary, source=source, switch=switch)
    made.failure = failure_of(span)
    query = strings(attributes, names.RETRIEVAL_QUERY_TEXT)
    if query is not None:
        made.inputs = {"query": query}
    else:
        lack(made, "query")
    content_of(made, attributes.get(names.RETRIEVAL_DOCUMENTS, ABSENT))
    if isinstance(made.result, list) and all(_is_id_alone(one) for one in made.result) and made.result:
        made.result, made.is_whole = ABSENT, False
        made.gaps.append(
            Gap(
                "CONTENT_NOT_RECORDED",
                f"{source} records the ids of documents, not their text, whatever is switched on; OpenInference's "
                "and Traceloop's instrumentations record it",
                made.where,
            )
        )
    return made


def _is_id_alone(document: Any) -> bool:
    return isinstance(document, dict) and not set(document) - {"id", "score"}


def memory(span: SpanRecord, operation: str, *, source: str, switch: str) -> Observed:
    """A memory operation: what it was asked by the names after `gen_ai.memory.`, records as they are given."""
    attributes = span.attributes
    made = Observed(span=span, kind="memory", boundary=operation, source=source, switch=switch)
    made.failure = failure_of(span)
    given: dict[str, Any] = {
        key.removeprefix(names.MEMORY): loaded_parameter(attributes[key])
        for key in attributes
        if key.startswith(names.MEMORY) and not key.endswith((".records", ".count"))
    }
    records = attributes.get(names.MEMORY_RECORDS, ABSENT)
    if operation in ("create_memory", "update_memory", "upsert_memory") and records is not ABSENT:
        given["records"] = loaded_parameter(records)
        records = ABSENT
    made.inputs = given
    if records is ABSENT and not operation.startswith("search"):
        made.result, made.is_whole = None, False
        made.gaps.append(
            Gap(
                "CONTENT_NOT_RECORDED",
                f"{source} records nothing that {operation} gives back, whatever is switched on: None is served",
                made.where,
            )
        )
    else:
        content_of(made, records)
    return made
