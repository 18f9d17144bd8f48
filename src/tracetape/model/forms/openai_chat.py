"""OpenAI's Chat Completions.

What it has no word for is written in the normal form's own, which is read back: a role, a finish reason
(`error`), a tool's result that is a number. A message says its parts in one order: reasoning, which is one text,
then content, then calls. It does not say whether a result is an error, a MIME type beside a URL, the URL of a
sound, or the modality of a file. The bytes of media are not known: their digest stands where they did.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracetape.model import messages as normal
from tracetape.model.forms import writing
from tracetape.model.forms.shapes import OPTIONS, counts_of, mapped, mapping, parameters_of, parts_of, string

__all__ = [
    "answer",
    "is_answer",
    "is_request",
    "message",
    "name",
    "part",
    "raw_answer",
    "raw_request",
    "request",
    "tools",
]

name = "OpenAI chat"

_PARAMETERS = {"stop": "stop_sequences", "max_completion_tokens": "max_tokens", "n": "choice_count"}
_WORDS = {"stop_sequences": "stop", "max_tokens": "max_completion_tokens", "choice_count": "n"}
_REASONS = {"tool_call": "tool_calls"}
_APART = OPTIONS | {"model", "messages", "tools"}


def is_request(raw: Any) -> bool:
    return isinstance(raw, Mapping) and isinstance(raw.get("messages"), list) and "anthropic_version" not in raw


def is_answer(raw: Any) -> bool:
    """A ChatCompletion; also half assembled from a stream's chunks, as OpenInference has it."""
    return isinstance(raw, Mapping) and isinstance(raw.get("choices"), list)


def request(raw: Mapping[str, Any]) -> normal.Request:
    """Of the arguments of `chat.completions.create`, or the body that it sends."""
    parameters = parameters_of(raw, _PARAMETERS, _APART)
    if isinstance(stop := parameters.get("stop_sequences"), str):
        parameters["stop_sequences"] = [stop]
    return normal.request(
        raw.get("model"),
        [message(one) for one in mapped(raw.get("messages"))],
        tools(raw.get("tools")),
        **parameters,
    )


def answer(raw: Mapping[str, Any]) -> normal.Answer:
    """Of a response body."""
    choices = mapped(raw.get("choices"))
    return normal.answer(
        [message({"role": "assistant", **mapping(one.get("message"))}) for one in choices],
        [one.get("finish_reason") for one in choices],
        model=raw.get("model"),
        response_id=raw.get("id"),
        usage=counts_of(mapping(raw.get("usage")), "prompt_tokens", "completion_tokens"),
    )


def message(raw: Mapping[str, Any]) -> normal.Message:
    """One message: content as text or as parts, tool calls, a tool's result."""
    role = raw.get("role")
    if role in ("tool", "function"):
        response = normal.tool_response(raw.get("tool_call_id"), raw.get("content"), name=raw.get("name"))
        return normal.message("tool", [response])
    parts = [normal.reasoning(found)] if (found := _reasoning(raw)) else []
    parts += content(raw.get("content"))
    if refusal := string(raw.get("refusal")):
        parts.append(normal.refusal(refusal))
    for call in mapped(raw.get("tool_calls")):
        function = mapping(call.get("function"))
        custom = mapping(call.get("custom"))
        called, given = (function.get("name"), function.get("arguments")) if function else (None, None)
        if custom:
            called, given = custom.get("name"), custom.get("input")
        parts.append(normal.tool_call(call.get("id"), called, given))
    if old := mapping(raw.get("function_call")):
        parts.append(normal.tool_call(None, old.get("name"), old.get("arguments")))
    return normal.message(role, parts, name=raw.get("name"))


def _reasoning(raw: Mapping[str, Any]) -> str:
    """As servers beside OpenAI's give it."""
    for key in ("reasoning_content", "reasoning"):
        if isinstance(found := raw.get(key), str) and found:
            return found
    return ""


def content(raw: Any) -> list[normal.Part]:
    """A content that is text, or a list of parts."""
    return parts_of(raw, part)


def part(one: Any) -> normal.Part:
    if isinstance(one, str):
        return normal.text(one)
    if not isinstance(one, Mapping):
        return normal.other(one)
    kind = one.get("type")
    if kind in ("text", "input_text", "output_text"):
        return normal.text(one.get("text"))
    if kind == "image_url":
        image = one.get("image_url")
        url = image.get("url") if isinstance(image, Mapping) else image
        return normal.media("image", None, uri=url)
    if kind == "input_audio":
        audio = mapping(one.get("input_audio"))
        form = string(audio.get("format"))
        return normal.media("audio", f"audio/{form}" if form else None, data=audio.get("data"))
    if kind == "file":
        file = mapping(one.get("file"))
        return normal.media("document", None, uri=file.get("file_data"), file_id=file.get("file_id"))
    if kind == "refusal":
        return normal.refusal(one.get("refusal"))
    return normal.other(one)


def tools(raw: Any) -> list[dict[str, Any]]:
    """Definitions, nested under `function` or flat."""
    made = []
    for one in mapped(raw):
        inner = mapping(one.get("function")) or mapping(one.get("custom")) or one
        made.append(
            normal.tool(inner.get("name") or inner.get("type"), inner.get("description"), inner.get("parameters"))
        )
    return made


def raw_request(request: normal.Request) -> dict[str, Any]:
    """The arguments of `chat.completions.create`."""
    raw: dict[str, Any] = {"model": request["model"]} if "model" in request else {}
    raw["messages"] = [_raw_message(one) for one in request["messages"]]
    if "tools" in request:
        raw["tools"] = [{"type": "function", "function": dict(one)} for one in request["tools"]]
    return raw | writing.parameters(request, _WORDS)


def raw_answer(answer: normal.Answer) -> dict[str, Any]:
    """A response body. Its texts are one, and so are its refusals."""
    given, made = writing.counts(answer)
    usage = {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": given + made,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
    return {
        "id": answer.get("id", ""),
        "object": "chat.completion",
        "created": 0,
        "model": answer.get("model", ""),
        "choices": [
            {
                "index": at,
                "message": _raw_choice(one),
                "logprobs": None,
                "finish_reason": writing.reason(one, _REASONS),
            }
            for at, one in enumerate(answer["messages"])
        ],
        "usage": usage if "usage" in answer else None,
    }


def _raw_choice(one: normal.Message) -> dict[str, Any]:
    refusals = [part["content"] for part in one["parts"] if part["type"] == "refusal"]
    told = {**one, "parts": [part for part in one["parts"] if part["type"] != "refusal"]}
    raw = _raw_message(told) | {"refusal": "".join(refusals) or None, "annotations": []}
    if all(part["type"] in ("text", "reasoning", "tool_call") for part in told["parts"]):
        raw["content"] = normal.text_of(told)
    return raw


def _raw_message(one: normal.Message) -> dict[str, Any]:
    parts = one["parts"]
    if one["role"] == "tool":
        result = parts[0]
        named = {"name": result["name"]} if "name" in result else {}
        content = writing.response_text(result["response"])
        return {"role": "tool", "tool_call_id": result["id"] or "", **named, "content": content}
    raw: dict[str, Any] = {"role": one["role"]}
    if "name" in one:
        raw["name"] = one["name"]
    told = [part for part in parts if part["type"] not in ("reasoning", "tool_call")]
    text = writing.only_text(told)
    raw["content"] = ([_raw_part(part) for part in told] or None) if text is None else text
    if reasoning := "".join(part["content"] for part in parts if part["type"] == "reasoning"):
        raw["reasoning_content"] = reasoning
    if calls := normal.tool_calls_of(one):
        raw["tool_calls"] = [_raw_call(call) for call in calls]
    return raw


def _raw_call(one: normal.Part) -> dict[str, Any]:
    function = {"name": one["name"] or "", "arguments": writing.arguments_text(one["arguments"])}
    return {"id": one["id"] or "", "type": "function", "function": function}


def _raw_part(one: normal.Part) -> Any:
    kind = one["type"]
    if kind == "text":
        return {"type": "text", "text": one["content"]}
    if kind == "refusal":
        return {"type": "refusal", "refusal": one["content"]}
    if kind == "media":
        return _raw_media(one)
    return writing.raw_part(one)


def _raw_media(one: normal.Part) -> dict[str, Any]:
    if one["modality"] == "image" and "file_id" not in one:
        return {"type": "image_url", "image_url": {"url": writing.data_url(one)}}
    if one["modality"] == "audio" and "digest" in one:
        form = (one["mime_type"] or "").partition("/")[2]
        return {"type": "input_audio", "input_audio": {"data": one["digest"], "format": form}}
    if "file_id" in one:
        return {"type": "file", "file": {"file_id": one["file_id"]}}
    url = writing.data_url(one)
    return {"type": "file", "file": {"file_data": url} if url else {}}
