"""What the providers' own requests or answers are written with, whosever they are."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tracetape.model import messages as normal

__all__ = [
    "arguments_text",
    "counts",
    "data_url",
    "instructions",
    "only_text",
    "parameters",
    "raw_part",
    "reason",
    "response_text",
]


def parameters(request: normal.Request, words: Mapping[str, str]) -> dict[str, Any]:
    """A request's parameters in the provider's words."""
    apart = ("model", "messages", "tools")
    return {words.get(key, key): value for key, value in request.items() if key not in apart}


def instructions(request: normal.Request) -> tuple[list[normal.Part], list[normal.Message]]:
    """The first message's parts where it is the system's, for providers that take them apart; all the others."""
    found = request["messages"]
    if found and found[0]["role"] == "system" and "name" not in found[0]:
        return found[0]["parts"], found[1:]
    return [], found


def reason(message: normal.Message, words: Mapping[str, str]) -> str:
    """Why it ended, in the provider's word; in ours where it has none.

    Programs decide by it: where it is not known, it is that of every complete answer with such parts.
    """
    said = message.get("finish_reason") or ("tool_call" if normal.tool_calls_of(message) else "stop")
    return words.get(said, said)


def counts(answer: normal.Answer) -> tuple[int, int]:
    """Tokens in, tokens out; 0 where the number is not known, since no SDK takes half of a usage."""
    usage = answer.get("usage", {})
    return usage.get("input_tokens", 0), usage.get("output_tokens", 0)


def only_text(parts: Sequence[normal.Part]) -> str | None:
    """The text, where there is nothing else."""
    return parts[0]["content"] if len(parts) == 1 and parts[0]["type"] == "text" else None


def raw_part(part: normal.Part) -> Any:
    """A part that is in no words of ours, as it came."""
    return part.get("value") if part["type"] == "unknown" else dict(part)


def arguments_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else _json(arguments)


def response_text(response: Any, blocks: Collection[str] = ()) -> Any:
    """What a tool gave, as text where it is an object or array.

    blocks: types of parts that the provider takes as a result, such as images.
    """
    if isinstance(response, list) and response and blocks:
        kinds = [one.get("type") if isinstance(one, Mapping) else None for one in response]
        if all(isinstance(kind, str) and kind in blocks for kind in kinds):
            return response
    return _json(response) if isinstance(response, (dict, list)) else response


def data_url(part: normal.Part) -> str:
    """Of a medium: its URL, or a `data:` URL whose bytes, which are not known, are their digest."""
    if digest := part.get("digest"):
        return f"data:{part['mime_type'] or ''};base64,{digest}"
    return part.get("uri") or ""


def _json(value: Any) -> str:
    """As the providers write it: without spaces, and in the letters of every language."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
