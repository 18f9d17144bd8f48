"""The normal form as OpenAI's Responses has it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from tracetape.model import messages as normal
from tracetape.model.forms import writing

__all__ = ["raw_answer", "raw_request"]

_WORDS = {"max_tokens": "max_output_tokens"}
_STATUS = {"stop": "completed", "tool_call": "completed", "error": "failed"}
_STATUSES = ("completed", "failed", "in_progress", "cancelled", "queued", "incomplete")
_REASONS = {"length": "max_output_tokens"}
_IN_RESULTS = ("input_text", "input_image", "input_file")
_IN_MESSAGES = ("text", "refusal", "media", "unknown")


def raw_request(request: normal.Request) -> dict[str, Any]:
    """The arguments of `responses.create`."""
    system, messages = writing.instructions(request)
    text = writing.only_text(system)
    if text is None:
        messages = request["messages"]
    raw: dict[str, Any] = {"model": request["model"]} if "model" in request else {}
    if text is not None:
        raw["instructions"] = text
    raw["input"] = []
    for one in messages:
        if one["role"] == "tool":
            raw["input"].append(_result(one["parts"][0]))
        elif one["role"] == "assistant":
            raw["input"] += _items(one["parts"], asked=True)
        else:
            raw["input"].append({"role": one["role"], "content": _content(one["parts"], "input_text")})
    if "tools" in request:
        raw["tools"] = [_tool(one) for one in request["tools"]]
    return raw | writing.parameters(request, _WORDS)


def raw_answer(answer: normal.Answer) -> dict[str, Any]:
    """A response body, of the first choice."""
    message = answer["messages"][0] if answer["messages"] else normal.message("assistant", [])
    said = writing.reason(message, _STATUS)
    status = said if said in _STATUSES else "incomplete"
    # "resp_1" has the items "msg_1_0", "fc_1_1", …
    tail = answer.get("id", "").rpartition("_")[2]
    given, made = writing.counts(answer)
    usage = {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": given + made,
    }
    return {
        "id": answer.get("id", ""),
        "object": "response",
        "created_at": 0,
        "status": status,
        "error": {"code": "server_error", "message": ""} if status == "failed" else None,
        "incomplete_details": None if said == status else {"reason": _REASONS.get(said, said)},
        "instructions": None,
        "metadata": {},
        "model": answer.get("model", ""),
        "output": [_numbered(item, tail, at) for at, item in enumerate(_items(message["parts"]))],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage if "usage" in answer else None,
    }


def _numbered(item: Any, tail: str, at: int) -> Any:
    """An item of ours with the id that the SDK's type demands; one that came with the answer has its own."""
    begins = {"message": "msg", "function_call": "fc", "reasoning": "rs"}.get(item["type"])
    return {"id": f"{begins}_{tail}_{at}" if tail else f"{begins}_{at}", **item} if begins else item


def _items(parts: Sequence[normal.Part], *, asked: bool = False) -> list[Any]:
    """Of one turn of the model: what stands together in it is one message, or one reasoning.

    asked: of a request. There a text goes without a message's id, which only OpenAI's servers give.
    """
    made: list[Any] = []
    for kind, together in groupby(parts, lambda one: _standing(one, asked)):
        if kind == "reasoning":
            summary = [{"type": "summary_text", "text": one["content"]} for one in together]
            made.append({"type": "reasoning", "summary": summary, **({"id": ""} if asked else {})})
        elif kind == "message":
            content = [_part(one, "output_text") for one in together]
            made.append({"type": "message", "role": "assistant", "status": "completed", "content": content})
        else:
            made += [_item(one) for one in together]
    return made


def _standing(one: normal.Part, asked: bool) -> str:
    """The type of item that it stands in with its neighbours; none where it is an item by itself."""
    if one["type"] == "text" and asked:
        return ""
    return {"reasoning": "reasoning", **dict.fromkeys(_IN_MESSAGES, "message")}.get(one["type"], "")


def _item(one: normal.Part) -> dict[str, Any]:
    if one["type"] == "text":
        return {"role": "assistant", "content": one["content"]}
    if one["type"] == "tool_call":
        return _call(one)
    return _result(one) if one["type"] == "tool_call_response" else dict(one)


def _call(one: normal.Part) -> dict[str, Any]:
    return {
        "type": "function_call",
        "status": "completed",
        "call_id": one["id"] or "",
        "name": one["name"] or "",
        "arguments": writing.arguments_text(one["arguments"]),
    }


def _result(one: normal.Part) -> dict[str, Any]:
    output = writing.response_text(one["response"], _IN_RESULTS)
    return {"type": "function_call_output", "call_id": one["id"] or "", "output": output}


def _content(parts: Sequence[normal.Part], text_type: str) -> str | list[Any]:
    text = writing.only_text(parts)
    return [_part(one, text_type) for one in parts] if text is None else text


def _part(one: normal.Part, text_type: str) -> Any:
    kind = one["type"]
    if kind == "text":
        made = {"type": text_type, "text": one["content"]}
        return made | {"annotations": [], "logprobs": []} if text_type == "output_text" else made
    if kind == "refusal":
        return {"type": "refusal", "refusal": one["content"]}
    if kind == "media":
        return _media(one)
    return writing.raw_part(one)


def _media(one: normal.Part) -> dict[str, Any]:
    if one["modality"] == "image":
        where = {"file_id": one["file_id"]} if "file_id" in one else {"image_url": writing.data_url(one)}
        return {"type": "input_image", "detail": "auto", **where}
    if one["modality"] == "audio" and "digest" in one:
        form = (one["mime_type"] or "").partition("/")[2]
        return {"type": "input_audio", "input_audio": {"data": one["digest"], "format": form}}
    if "digest" in one:
        return {"type": "input_file", "file_data": writing.data_url(one)}
    words = {"uri": "file_url", "file_id": "file_id"}
    return {"type": "input_file", **{words[key]: one[key] for key in words if key in one}}


def _tool(one: dict[str, Any]) -> dict[str, Any]:
    """A function always says its parameters; what has nothing but a name is one of OpenAI's own tools."""
    if list(one) == ["name"]:
        return {"type": one["name"]}
    return {"type": "function", "parameters": None, "strict": None, **one}
