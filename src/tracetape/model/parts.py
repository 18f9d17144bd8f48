"""The parts that messages are made of, in the normal form of `messages`."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from tracetape.model.json_text import parsed

__all__ = [
    "Part",
    "arguments_of",
    "media",
    "other",
    "reasoning",
    "refusal",
    "response_of",
    "text",
    "tool_call",
    "tool_response",
    "word",
]

Part = dict[str, Any]

_OWN = ("text", "reasoning", "refusal", "tool_call", "tool_call_response", "media", "unknown")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MODALITIES = ("image", "audio", "video")


def text(content: Any) -> Part:
    return {"type": "text", "content": content if isinstance(content, str) else ""}


def reasoning(content: Any) -> Part:
    return {"type": "reasoning", "content": content if isinstance(content, str) else ""}


def refusal(content: Any) -> Part:
    return {"type": "refusal", "content": content if isinstance(content, str) else ""}


def tool_call(call_id: Any, name: Any, arguments: Any) -> Part:
    """arguments: as the provider gives them, JSON text or parsed."""
    return {"type": "tool_call", "id": word(call_id), "name": word(name), "arguments": arguments_of(arguments)}


def tool_response(call_id: Any, response: Any, *, name: Any = None, is_error: Any = None) -> Part:
    """name: where the provider repeats it; it is kept only without an id, since others do not have it."""
    part = {"type": "tool_call_response", "id": word(call_id), "response": response_of(response)}
    if part["id"] is None and word(name):
        part["name"] = name
    if is_error is True:
        part["is_error"] = True
    return part


def media(modality: Any, mime_type: Any, *, data: Any = None, uri: Any = None, file_id: Any = None) -> Part:
    """data: Base64, or the bytes; uri: also a `data:` URL. The part holds their digest.

    A digest where the bytes should be is that of the bytes: requests are written with it.
    """
    mime_type, uri = word(mime_type), word(uri)
    if uri and uri.startswith("data:"):
        head, _, body = uri.partition(",")
        mime_type, uri = mime_type or head[5:].partition(";")[0] or None, None
        data = body if head.endswith(";base64") else unquote_to_bytes(body.encode("utf-8", "surrogatepass"))
    if mime_type:
        main = mime_type.partition("/")[0]
        modality = main if main in _MODALITIES else "document"
    part: Part = {"type": "media", "modality": word(modality), "mime_type": mime_type}
    if isinstance(data, (str, bytes)):
        part["digest"] = _digest(data)
    elif uri:
        part["digest" if _DIGEST.fullmatch(uri) else "uri"] = uri
    elif word(file_id):
        part["file_id"] = file_id
    return part


def _digest(data: str | bytes) -> str:
    if isinstance(data, str):
        if _DIGEST.fullmatch(data):
            return data
        try:
            # Google's SDK writes the alphabet of URLs.
            found = base64.b64decode(data.replace("-", "+").replace("_", "/"), validate=True)
        except (binascii.Error, ValueError):
            found = data.encode("utf-8", "surrogatepass")
    else:
        found = data
    return f"sha256:{hashlib.sha256(found).hexdigest()}"


def other(raw: Any) -> Part:
    """A part that the normal form has no word for, as it came; signatures are left out."""
    kind = raw.get("type") if isinstance(raw, Mapping) else None
    if type(kind) is not str or not kind or kind in _OWN:
        return {"type": "unknown", "value": raw}
    return {key: value for key, value in raw.items() if key != "signature"}


def word(value: Any) -> str | None:
    """A text that says something."""
    return value if isinstance(value, str) and value else None


def arguments_of(value: Any) -> Any:
    """Arguments of a tool call, parsed; as they are where they are no JSON text."""
    if value is None or (type(value) is str and not value.strip()):
        return {}
    return _parsed(value) if type(value) is str else value


def response_of(value: Any) -> Any:
    """What a tool gave: texts in blocks are one text, JSON text of an object or array is parsed.

    What was parsed may be blocks again (of an MCP server's result, by way of a framework).
    """
    while True:
        if type(value) is str:
            found = _parsed(value)
            if found is value:
                return value
            value = found
        blocks = [_block_text(one) for one in value] if isinstance(value, list) else []
        if not blocks or None in blocks:
            return value
        value = "".join(one for one in blocks if one is not None)


def _block_text(block: Any) -> str | None:
    if not isinstance(block, Mapping) or block.get("type") not in ("text", "input_text", "output_text"):
        return None
    found = block.get("text", block.get("content"))
    return found if type(found) is str else None


def _parsed(value: str) -> Any:
    stripped = value.lstrip()
    if not stripped or stripped[0] not in "{[":
        return value
    try:
        return parsed(stripped)
    except ValueError:
        return value
