"""The normal form as Google's generate_content has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracetape.model import messages as normal
from tracetape.model.forms import writing

__all__ = ["raw_answer", "raw_request"]

_WORDS = {"max_tokens": "max_output_tokens", "choice_count": "candidate_count"}
_REASONS = {
    "stop": "STOP",
    "tool_call": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "error": "OTHER",
}
_ROLES = {"assistant": "model"}
_GOOGLES = frozenset(
    {
        "code_execution",
        "computer_use",
        "enterprise_web_search",
        "file_search",
        "google_maps",
        "google_search",
        "google_search_retrieval",
        "retrieval",
        "url_context",
    }
)
_Spelling = Mapping[str, str]
_SDK: _Spelling = {}
_API = {
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "file_data": "fileData",
    "mime_type": "mimeType",
    "file_uri": "fileUri",
}


def raw_request(request: normal.Request) -> dict[str, Any]:
    """The arguments of `models.generate_content`.

    A result of a tool says the tool's name; where the request does not, it is that of the call. Results that
    follow each other are one content.
    """
    system, messages = writing.instructions(request)
    names = {call["id"]: call["name"] for one in messages for call in normal.tool_calls_of(one) if call["id"]}
    raw: dict[str, Any] = {"model": request["model"]} if "model" in request else {}
    raw["contents"] = []
    results: list[Any] | None = None
    for one in messages:
        parts = _parts(one["parts"], _SDK, names)
        if one["role"] != "tool":
            raw["contents"].append({"role": _ROLES.get(one["role"], one["role"]), "parts": parts})
            results = None
        elif results is None:
            results = parts
            raw["contents"].append({"role": "user", "parts": results})
        else:
            results += parts
    config: dict[str, Any] = {"system_instruction": {"parts": _parts(system, _SDK)}} if system else {}
    if "tools" in request:
        config["tools"] = _tools(request["tools"])
    config |= writing.parameters(request, _WORDS)
    return raw | ({"config": config} if config else {})


def raw_answer(answer: normal.Answer) -> dict[str, Any]:
    """A response body. There is no word for calls of tools as the reason of an answer that has none."""
    raw: dict[str, Any] = {
        "candidates": [
            {
                "content": {"role": "model", "parts": _parts(one["parts"], _API)},
                "finishReason": writing.reason(one, _REASONS),
                "index": at,
            }
            for at, one in enumerate(answer["messages"])
        ]
    }
    for key, ours in (("modelVersion", "model"), ("responseId", "id")):
        if ours in answer:
            raw[key] = answer[ours]
    if "usage" in answer:
        given, made = writing.counts(answer)
        raw["usageMetadata"] = {
            "promptTokenCount": given,
            "candidatesTokenCount": made,
            "totalTokenCount": given + made,
        }
    return raw


def _parts(parts: Sequence[normal.Part], spelling: _Spelling, names: Mapping[str, Any] | None = None) -> list[Any]:
    return [_part(one, spelling, names or {}) for one in parts]


def _part(one: normal.Part, spelling: _Spelling, names: Mapping[str, Any]) -> Any:
    kind = one["type"]
    if kind in ("text", "refusal"):
        return {"text": one["content"]}
    if kind == "reasoning":
        return {"text": one["content"], "thought": True}
    if kind == "tool_call":
        return _spelled(
            "function_call", {**_id(one), "name": one["name"] or "", "args": one["arguments"]}, spelling
        )
    if kind == "tool_call_response":
        response = one["response"]
        held = response if isinstance(response, dict) else {"result": response}
        called = one.get("name") or names.get(one["id"]) or ""
        return _spelled("function_response", {**_id(one), "name": called, "response": held}, spelling)
    if kind == "media":
        where = one.get("digest") or one.get("uri") or one.get("file_id")
        return _spelled("file_data", {"mime_type": one["mime_type"], "file_uri": where}, spelling)
    return writing.raw_part(one)


def _id(one: normal.Part) -> dict[str, Any]:
    """Not all of Google's servers give ids."""
    return {"id": one["id"]} if one["id"] else {}


def _spelled(kind: str, held: dict[str, Any], spelling: _Spelling) -> dict[str, Any]:
    return {spelling.get(kind, kind): {spelling.get(key, key): value for key, value in held.items()}}


def _tools(tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Functions that follow each other are declared together; Google's own tools have a name alone."""
    made: list[dict[str, Any]] = []
    declared: list[Any] | None = None
    for one in tools:
        if list(one) == ["name"] and one["name"] in _GOOGLES:
            made.append({one["name"]: {}})
            declared = None
            continue
        if declared is None:
            declared = []
            made.append({"function_declarations": declared})
        words = {"parameters": "parameters_json_schema"}
        declared.append({words.get(key, key): value for key, value in one.items()})
    return made
