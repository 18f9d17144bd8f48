"""OpenInference: Arize's instrumentations, whatever library they are of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracetape.model import messages as normal
from tracetape.model.forms import answer_of, gemini, genai, openai_chat, request_of
from tracetape.model.span import SpanRecord
from tracetape.sources.conventions import openinference_messages as flat
from tracetape.sources.conventions.contents import content_of, counts, cut, incomplete, lack, strings
from tracetape.sources.conventions.genai_attributes import Around
from tracetape.sources.conventions.langchain import answered_of, asked_of, is_streamed
from tracetape.sources.conventions.observed import (
    ABSENT,
    CUT,
    REDACTED,
    Observed,
    failure_of,
    is_left,
    json_value,
    text_value,
)
from tracetape.sources.conventions.openinference_tools import tool_of
from tracetape.sources.conventions.turns import as_sent_by_smolagents, whole_turns

__all__ = ["claims", "name", "observe", "owns"]

name = "OpenInference"

_KIND = "openinference.span.kind"
_AGENTS_SDK = "openinference.instrumentation.openai_agents"
_LANGCHAIN = "openinference.instrumentation.langchain"
_SWITCH = (
    "unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and the other OPENINFERENCE_HIDE_… (false is the "
    "default)"
)
_USAGE = {"llm.token_count.prompt": "input_tokens", "llm.token_count.completion": "output_tokens"}
# Of a finished answer; a helper of a framework that is marked as a model has none.
_TOLD = "llm.output_messages."
_ANSWERED = ("llm.finish_reason", "llm.token_count.total", "llm.token_count.completion")


def owns(scope: str) -> bool:
    return scope.startswith("openinference.")


def claims(span: SpanRecord) -> bool:
    return _KIND in span.attributes


def observe(span: SpanRecord, around: Around) -> Observed | None:
    """A call of a model, a tool, a retriever; chains, agents and all else are structure."""
    kind = strings(span.attributes, _KIND)
    if kind == "LLM":
        return _model_call(span, around)
    if kind == "TOOL" and span.scope.name == _AGENTS_SDK and span.name.startswith("handoff to "):
        return None  # another agent goes on; no tool runs
    if kind == "TOOL":
        return tool_of(span, source=name, switch=_SWITCH)
    if kind == "EMBEDDING":
        return _embedding(span)
    if kind in ("RETRIEVER", "RERANKER"):
        return _retrieval(span)
    return None


def _model_call(span: SpanRecord, around: Around) -> Observed | None:
    attributes = span.attributes
    made = Observed(span=span, kind="llm", boundary="chat", source=name, switch=_SWITCH)
    made.failure = failure_of(span)
    raw_input, raw_output = json_value(attributes, "input.value"), json_value(attributes, "output.value")
    if _is_no_call(attributes, raw_output, made):
        return None
    parameters = json_value(attributes, "llm.invocation_parameters")
    parameters = parameters if isinstance(parameters, Mapping) else {}
    made.model = _model(attributes, raw_input, parameters)
    made.usage = counts(attributes, _USAGE)
    made.is_stream = parameters.get("stream") is True or (
        isinstance(raw_input, Mapping) and raw_input.get("stream") is True
    )
    if "stream" in span.name.lower() or any(event.name == "First Token Stream Event" for event in around.events):
        made.is_stream = True
    if span.scope.name == _LANGCHAIN and is_streamed(text_value(attributes.get("output.value")) or ""):
        made.is_stream = True
    if is_left(span):
        made.is_stream = made.ended_early = True
    made.inputs = _request(attributes, raw_input, parameters, made)
    _answer(attributes, raw_output, made)
    return made


def _is_no_call(attributes: Mapping[str, Any], raw_output: Any, made: Observed) -> bool:
    """Whether a span of kind LLM is none of a model's call: LlamaIndex's helpers have such, which prepare one."""
    if made.span.scope.name != "openinference.instrumentation.llama_index":
        return False
    if made.failure is not None or made.span.end_ns is None or raw_output is REDACTED or raw_output is CUT:
        return False
    if any(key in _ANSWERED or key.startswith(_TOLD) for key in attributes) or is_left(made.span):
        return False
    return not _outputs(raw_output, None, attributes) and answer_of(raw_output) is None


def _model(attributes: Mapping[str, Any], raw_input: Any, parameters: Mapping[str, Any]) -> str | None:
    """The model that was asked for; `llm.model_name` becomes the one that answered."""
    for holder in (raw_input, parameters):
        if isinstance(holder, Mapping) and isinstance(found := holder.get("model"), str):
            return found
    return strings(attributes, "llm.request.model_name", "llm.model_name")


def _request(
    attributes: Mapping[str, Any],
    raw: Any,
    parameters: Mapping[str, Any],
    made: Observed,
) -> normal.Request | None:
    """The provider's own request where it is there, which is complete; else the flattened messages."""
    if raw is CUT:
        text = text_value(attributes["input.value"]) or ""
        if text[:1] in ("{", "["):
            made.gaps.append(cut(made, "input"))
            return None
    found = _as_request(raw, attributes, made)
    if found is not None:
        return found
    is_agents = made.span.scope.name == _AGENTS_SDK
    first = 1 if is_agents and not made.span.dropped_attributes else 0
    given = flat.messages(attributes, "llm.input_messages.", empty=True, first=first) or _prompts(attributes)
    if given is CUT and made.span.scope.name == _LANGCHAIN:
        given = asked_of(raw) or CUT  # of a tool call without arguments it flattens none
    if given is CUT:
        made.gaps.append(incomplete(made, "input"))
        return None
    if not given:
        lack(made, "input")
        return None
    others = {key: one for key, one in parameters.items() if key not in ("model", "stream", "tools", "messages")}
    tools = [json_value(attributes, key) for key in flat.keys_of(attributes, "llm.tools.", ".tool.json_schema")]
    if made.span.scope.name == "openinference.instrumentation.smolagents":
        given = as_sent_by_smolagents(given)
    if is_agents:
        given = whole_turns(given)
    return normal.request(made.model, given, genai.tools(tools), **_words(others))


def _prompts(attributes: Mapping[str, Any]) -> list[normal.Message]:
    """Of a completion."""
    prompts = attributes.get("llm.prompts")
    listed = prompts if isinstance(prompts, list) else json_value(attributes, "llm.prompts")
    return [normal.message("user", [normal.text(one)]) for one in listed] if isinstance(listed, list) else []


def _words(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: one
        for key, one in parameters.items()
        if isinstance(key, str) and key.isidentifier() and one is not None
    }


def _as_request(raw: Any, attributes: Mapping[str, Any], made: Observed) -> normal.Request | None:
    if isinstance(raw, list):
        # The Agents SDK keeps the list of items alone; what else was asked stands in the flattened form.
        return None
    if not isinstance(raw, Mapping) or not _has_provider_messages(raw):
        return None
    found = request_of(raw)
    if found is not None and "model" not in found and made.model:
        found = {"model": made.model, **found}
    return found


def _has_provider_messages(raw: Mapping[str, Any]) -> bool:
    """Whether it is a provider's request: frameworks dump objects of their own under the same keys."""
    if "contents" in raw or ("input" in raw and "model" in raw):
        return True
    listed = raw.get("messages")
    return (
        isinstance(listed, list)
        and bool(listed)
        and all(isinstance(one, Mapping) and "role" in one for one in listed)
    )


def _answer(attributes: Mapping[str, Any], raw: Any, made: Observed) -> None:
    text = text_value(attributes.get("output.value"))
    if raw is CUT and text is not None and text[:1] in ("{", "["):
        made.gaps.append(cut(made, "output"))
        return
    answer = answer_of(raw) if isinstance(raw, Mapping) else None
    reason = strings(attributes, "llm.finish_reason")
    if answer is not None:
        made.answer, made.rank = answer, 40
        made.response_id = answer.get("id")
        made.model = made.model or answer.get("model")
        is_half = isinstance(raw, Mapping) and raw.get("object") == "chat.completion.chunk"
        made.result, made.is_whole = (answer, False) if is_half or gemini.is_answer(raw) else (raw, True)
        if (
            made.is_stream
            and made.failure is None
            and not any("finish_reason" in one for one in answer["messages"])
        ):
            made.ended_early = True
        return
    told = flat.messages(attributes, _TOLD) or _outputs(raw, text if raw is CUT else None, attributes)
    if told is CUT and made.span.scope.name == _LANGCHAIN:
        told = answered_of(raw) or CUT
    if told is CUT or (told and made.span.dropped_attributes):
        made.gaps.append(incomplete(made, "output"))
        return
    if told:
        response_id, model = flat.response_of(raw)
        answer = normal.answer(
            told,
            [reason] * len(told),
            model=model or strings(attributes, "llm.response.model_name", "llm.model_name"),
            response_id=response_id,
            usage=made.usage,
        )
        made.answer = made.result = answer
        made.response_id, made.rank = response_id, 20
        return
    if made.failure is None and made.span.end_ns is not None:
        lack(made, "output")


def _outputs(raw: Any, text: str | None, attributes: Mapping[str, Any]) -> list[normal.Message]:
    """Answers that are not flattened: of DSPy, a list of texts or of texts with tool calls; of a completion, the
    text."""
    if text is not None and "llm.prompts" in attributes:
        return [normal.message("assistant", [normal.text(text)])]
    if not isinstance(raw, list) or not all(isinstance(one, str) or _is_output(one) for one in raw):
        return []
    told = [{"content": one} if isinstance(one, str) else {**one, "content": one["text"]} for one in raw]
    return [openai_chat.message({"role": "assistant", **one}) for one in told]


def _is_output(one: Any) -> bool:
    return isinstance(one, Mapping) and "text" in one and not set(one) - {"text", "tool_calls", "logprobs"}


def _embedding(span: SpanRecord) -> Observed:
    attributes = span.attributes
    made = Observed(span=span, kind="embedding", boundary="embeddings", source=name, switch=_SWITCH)
    made.failure = failure_of(span)
    raw, found = json_value(attributes, "input.value"), json_value(attributes, "output.value")
    made.model = strings(attributes, "embedding.model_name", "llm.model_name")
    made.usage = counts(attributes, _USAGE)
    texts = [
        text_value(attributes[key]) for key in flat.keys_of(attributes, "embedding.embeddings.", ".embedding.text")
    ]
    if isinstance(raw, Mapping) and "input" in raw:
        made.inputs = {key: one for key, one in raw.items() if key not in ("extra_body", "extra_headers")}
        made.model = raw["model"] if isinstance(raw.get("model"), str) else made.model
    elif texts:
        made.inputs = {"model": made.model, "input": texts}
    else:
        lack(made, "input")
    if isinstance(found, Mapping) and isinstance(found.get("data"), list):
        made.result, made.is_whole, made.rank = found, True, 40
        return made
    if found is CUT:
        made.gaps.append(cut(made, "output"))
        return made
    keys = flat.keys_of(attributes, "embedding.embeddings.", ".embedding.vector")
    vectors = [json_value(attributes, key) for key in keys]
    if keys and (len(texts) > len(keys) or keys[-1] != f"embedding.embeddings.{len(keys) - 1}.embedding.vector"):
        made.gaps.append(incomplete(made, "output"))
        return made
    if vectors and all(isinstance(one, list) for one in vectors):
        made.result, made.rank = vectors, 20
    elif made.failure is None:
        lack(made, "output")
    return made


def _retrieval(span: SpanRecord) -> Observed:
    attributes = span.attributes
    kind = "retrieval" if strings(attributes, _KIND) == "RETRIEVER" else "custom"
    made = Observed(span=span, kind=kind, boundary=span.name, source=name, switch=_SWITCH)
    made.failure = failure_of(span)
    query = strings(attributes, "input.value", "reranker.query")
    given = json_value(attributes, "input.value")
    bundle = given.get("query_bundle") if isinstance(given, Mapping) else None
    if isinstance(bundle, Mapping) and isinstance(bundle.get("query_str"), str):
        made.inputs = {"query": bundle["query_str"]}  # of LlamaIndex, whose retrievers show themselves twice
    elif isinstance(given, Mapping):
        made.inputs = given
    elif query is not None and given is not REDACTED:
        made.inputs = {"query": query}
    else:
        lack(made, "query")
    content_of(made, attributes.get("output.value", ABSENT))
    is_cut = any(gap.code == "PAYLOAD_TRUNCATED" for gap in made.gaps)
    if not is_cut and not isinstance(made.result, dict) and not _are_objects(made.result):
        # Of objects that are no JSON the value is their repr; flattened are their texts.
        prefix = "retrieval.documents." if kind == "retrieval" else "reranker.output_documents."
        documents = flat.documents(attributes, prefix)
        if documents:
            made.result, made.is_whole, made.rank, made.gaps = documents, False, 20, made.gaps[:0]
    return made


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)
