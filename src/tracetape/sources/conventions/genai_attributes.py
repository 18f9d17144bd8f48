"""Reads `gen_ai.*` attributes, which most families write: model calls, runs of tools."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tracetape.model import messages as normal
from tracetape.model.forms import genai
from tracetape.model.forms.shapes import mapped
from tracetape.model.span import Event, Gap, SpanRecord
from tracetape.sources.conventions import names
from tracetape.sources.conventions.contents import content_of, counts, cut, incomplete, lack, strings
from tracetape.sources.conventions.genai_before import choices_in, flattened, messages_in
from tracetape.sources.conventions.observed import (
    ABSENT,
    CUT,
    REDACTED,
    Observed,
    failure_of,
    json_value,
    loaded,
    loaded_parameter,
    text_value,
)

__all__ = ["KINDS", "Around", "model_call", "named_call", "tool_run"]

KINDS = {
    "chat": "llm",
    "generate_content": "llm",
    "text_completion": "llm",
    "embeddings": "embedding",
    "execute_tool": "tool",
    "retrieval": "retrieval",
    "vector_db_retrieve": "retrieval",
    **dict.fromkeys(
        (
            "create_memory_store",
            "delete_memory_store",
            "create_memory",
            "update_memory",
            "upsert_memory",
            "search_memory",
            "delete_memory",
        ),
        "memory",
    ),
}
"""`gen_ai.operation.name` → kind, for the operations that are calls. All others are structure."""

_REQUEST = names.REQUEST
# Characters of definitions that are remembered.
_LONGEST_KEPT = 65_536
_MESSAGES = (names.INPUT_MESSAGES, names.OUTPUT_MESSAGES)
_DETAILS = names.DETAILS_EVENT
_USAGE = {
    names.USAGE_INPUT_TOKENS: "input_tokens",
    names.USAGE_PROMPT_TOKENS: "input_tokens",
    names.USAGE_OUTPUT_TOKENS: "output_tokens",
    names.USAGE_COMPLETION_TOKENS: "output_tokens",
}
# Not the request's: what the client was asked to do with it.
_NO_PARAMETERS = frozenset({"model", "stream", "is_stream", "headers"})


class Around(NamedTuple):
    """What else is known of a span: its events, those of log records among them, uploaded content by address (CUT
    where it is no JSON), and the span it is in."""

    events: Sequence[Event] = ()
    uploads: Mapping[str, Any] = {}
    parent: SpanRecord | None = None


def named_call(span: SpanRecord) -> tuple[str, str] | None:
    """Operation and kind of a span that is a call; None for structure."""
    operation = text_value(span.attributes.get(names.OPERATION_NAME))
    kind = KINDS.get(operation or "")
    return None if operation is None or kind is None else (operation, kind)


def model_call(span: SpanRecord, around: Around, *, source: str, switch: str) -> Observed:
    """A chat, a completion, or embeddings.

    switch: what would have recorded its content.
    """
    attributes = span.attributes
    made = Observed(span=span, kind="llm", boundary="chat", source=source, switch=switch)
    failure = failure_of(span)
    made.failure = failure
    made.model = strings(attributes, names.REQUEST_MODEL, names.RESPONSE_MODEL)
    made.usage = counts(attributes, _USAGE)
    made.response_id = strings(attributes, names.RESPONSE_ID)
    made.is_stream = _is_stream(attributes)
    request = _request(span, around, made)
    if request is not None:
        made.inputs = request
    answer = _answer(span, around, made)
    if answer is not None:
        made.answer = made.result = answer
        made.rank = 20
        reasons = [one.get("finish_reason") for one in answer["messages"]]
        # The consumer left: the official packages call that an error, without one.
        made.ended_early = made.is_stream and "error" in reasons and failure is None
    if request is not None:
        made.rank += 10
    return made


def tool_run(
    span: SpanRecord,
    *,
    source: str,
    switch: str,
    arguments: Any = ABSENT,
    result: Any = ABSENT,
    name: str | None = None,
) -> Observed:
    """A tool's run. arguments, result: where the family has them elsewhere than the conventions say; the result as
    text or value."""
    attributes = span.attributes
    called = name or strings(attributes, names.TOOL_NAME) or span.name.removeprefix("execute_tool ")
    made = Observed(span=span, kind="tool", boundary=called, source=source, switch=switch)
    made.call_id = strings(attributes, names.TOOL_CALL_ID)
    made.failure = failure_of(span)
    given = json_value(attributes, names.TOOL_CALL_ARGUMENTS) if arguments is ABSENT else arguments
    if given is CUT:
        made.gaps.append(cut(made, "arguments"))
    elif isinstance(given, Mapping):
        made.inputs = given
    elif given is not ABSENT and given is not REDACTED:
        made.inputs = {"input": given}
    else:
        lack(made, "arguments")
    found = attributes.get(names.TOOL_CALL_RESULT, ABSENT) if result is ABSENT else result
    content_of(made, found)
    return made


def _is_stream(attributes: Mapping[str, Any]) -> bool:
    return (
        any(attributes.get(key) is True for key in (names.REQUEST_STREAM, names.IS_STREAMING, "llm.is_streaming"))
        or names.RESPONSE_TIME_TO_FIRST_CHUNK in attributes
        or names.CLIENT_OPERATION_TIME_TO_FIRST_CHUNK in attributes
    )


def _request(span: SpanRecord, around: Around, made: Observed) -> normal.Request | None:
    attributes = span.attributes
    found = _content(span, around, made, names.INPUT_MESSAGES, "input")
    messages = genai.messages(found) if isinstance(found, list) else None
    if messages is None and found is ABSENT:
        messages = messages_in(around.events) or flattened(attributes, names.OLD_PROMPT) or None
    if messages is CUT:
        made.gaps.append(incomplete(made, "input"))
        return None
    if messages is None:
        if found is not CUT:
            lack(made, "input")
        return None
    system = _content(span, around, made, names.SYSTEM_INSTRUCTIONS, "system instructions")
    head = genai.parts(system) if isinstance(system, (list, str)) else []
    told = attributes.get(names.TOOL_DEFINITIONS)
    tools = _definitions(told) if isinstance(told, str) and len(told) <= _LONGEST_KEPT else None
    if tools is None:
        tools = genai.tools(_content(span, around, made, names.TOOL_DEFINITIONS, "definitions of tools"))
    parameters = {
        key[len(_REQUEST) :].replace(".", "_"): loaded_parameter(value)
        for key, value in attributes.items()
        if key.startswith(_REQUEST) and key[len(_REQUEST) :] not in _NO_PARAMETERS and value != {}
    }
    return normal.request(
        made.model,
        [*([normal.message("system", head)] if head else []), *messages],
        tools,
        **parameters,
    )


@functools.lru_cache(maxsize=64)
def _definitions(text: str) -> list[dict[str, Any]] | None:
    """The same in each call of an agent, and nobody changes them; None for what is no list."""
    found = loaded(text)
    return genai.tools(found) if isinstance(found, list) else None


def _answer(span: SpanRecord, around: Around, made: Observed) -> normal.Answer | None:
    attributes = span.attributes
    found = _content(span, around, made, names.OUTPUT_MESSAGES, "output")
    reasons = json_value(attributes, names.RESPONSE_FINISH_REASONS)
    about: dict[str, Any] = {
        "reasons": reasons if isinstance(reasons, list) else [],
        "model": strings(attributes, names.RESPONSE_MODEL),
        "response_id": made.response_id,
        "usage": made.usage,
    }
    if isinstance(found, list) and found and not _is_empty(found, about):
        return genai.answer(found, **about)
    if found is CUT:
        return None
    choices = choices_in(around.events)
    listed = flattened(attributes, names.OLD_COMPLETION) if choices is None else []
    if listed is CUT:
        made.gaps.append(incomplete(made, "output"))
        return None
    if listed:
        choices = (
            listed,
            [text_value(attributes.get(f"gen_ai.completion.{at}.finish_reason")) for at in range(len(listed))],
        )
    if choices is not None:
        about["reasons"] = choices[1]
        return normal.answer(choices[0], about.pop("reasons"), **about)
    if made.failure is None:
        lack(made, "output")
    return None


def _is_empty(found: Sequence[Any], about: Mapping[str, Any]) -> bool:
    """Whether messages are those that a framework makes before an answer comes: PydanticAI's, of a stream that
    failed."""
    return not (about["reasons"] or about["response_id"] or any(one.get("parts") for one in mapped(found)))


def _content(span: SpanRecord, around: Around, made: Observed, key: str, what: str) -> Any:
    """Content wherever it lives: the attribute, the details event, an upload; a text that is no JSON as it is.
    ABSENT, or CUT with a gap."""
    found = json_value(span.attributes, key)
    if found is CUT and (text := text_value(span.attributes[key])) and text[:1] not in ("[", "{"):
        return text
    if found is ABSENT:
        for event in around.events:
            if event.name == _DETAILS and key in event.attributes:
                found = loaded(event.attributes[key])
    if found is ABSENT:
        address = text_value(span.attributes.get(f"{key}_ref"))
        if address is not None:
            found = around.uploads.get(address, ABSENT)
            if found is ABSENT:
                made.gaps.append(_upload_missing(made, what, address))
                return CUT
    if found is CUT:
        made.gaps.append(cut(made, what))
    is_hollow = key in _MESSAGES and _is_hollow(found)
    return ABSENT if found is REDACTED or is_hollow else found


def _is_hollow(found: Any) -> bool:
    """Whether messages have their shape and not their content, as PydanticAI writes them with content off, and
    `openai_v2` what the user gave as a list of parts."""
    for one in mapped(found):
        if one.get("role") == "user" and one.get("parts") == []:
            return True
        for part in mapped(one.get("parts")):
            kind = part.get("type")
            if kind == "text" and "content" not in part and "text" not in part:
                return True
            if kind == "tool_call" and "arguments" not in part:
                return True
    return False


def _upload_missing(made: Observed, what: str, address: str) -> Gap:
    return Gap(
        "UPLOAD_MISSING",
        f"the {what} was uploaded to {address[:200]!r}, and is not beside the spans, or is no JSON: put the "
        "folder of uploads beside their file, or set TRACETAPE_UPLOADS to its place. A full queue drops uploads: "
        "it may be lost",
        made.where,
    )
