"""Crossing → attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracetape.config import Settings
from tracetape.model.call import PLAIN
from tracetape.model.crossing import Crossing
from tracetape.model.payload import Payload
from tracetape.semconv import names

__all__ = ["content", "host_content", "identity", "mark", "outcome", "pieces", "span_name"]

TINY = 64
FILE_LIMIT = 120 * 2**20
MARK_LIMIT = 65_536


def span_name(crossing: Crossing) -> str:
    """`{operation} {model or tool}` as the GenAI conventions have it, else the boundary name."""
    operation = names.OPERATIONS.get(crossing.kind)
    if operation is None:
        return crossing.boundary
    asks_a_model = crossing.kind in ("llm", "embedding") and crossing.model
    return f"{operation} {crossing.model if asks_a_model else crossing.boundary}"


def identity(crossing: Crossing, code: str, arguments: Mapping[str, Any], build_id: str | None) -> dict[str, Any]:
    """What is known before the function runs, without any payload."""
    written: dict[str, Any] = {
        names.SCHEMA_VERSION: names.SCHEMA_VERSION_NOW,
        names.BOUNDARY_NAME: crossing.boundary,
        names.BOUNDARY_KIND: crossing.kind,
    }
    if crossing.seq is not None:
        written[names.SEQ] = crossing.seq
    if crossing.seq_before is not None:
        written[names.SEQ_BEFORE] = crossing.seq_before
    if crossing.process_id is not None:
        written[names.PROCESS_ID] = crossing.process_id
    if crossing.detached:
        written[names.DETACHED] = True
    if crossing.version is not None:
        written[names.BOUNDARY_VERSION] = crossing.version
    if build_id is not None:
        written[names.BUILD_ID] = build_id
    if code:
        written[names.CODE_FUNCTION] = code
    operation = names.OPERATIONS.get(crossing.kind)
    if operation is not None:
        written[names.GEN_AI_OPERATION] = operation
    if crossing.model is not None:
        written[names.GEN_AI_REQUEST_MODEL] = crossing.model
    if crossing.kind == "tool":
        written[names.GEN_AI_TOOL_NAME] = crossing.boundary
    elif crossing.kind == "agent":
        written[names.GEN_AI_AGENT_NAME] = crossing.boundary
    elif crossing.kind == "llm":
        for argument, key in names.SAMPLING.items():
            value = arguments.get(argument)
            if type(value) in (int, float, str):
                written[key] = value
    return written


def outcome(crossing: Crossing, response_model: str | None) -> dict[str, Any]:
    """How the call ended, without any payload."""
    written: dict[str, Any] = {names.OUTCOME_TYPE: crossing.outcome}
    if crossing.shape != PLAIN:
        written[names.OUTCOME_SHAPE] = crossing.shape
    if crossing.stream_end is not None:
        written[names.STREAM_END] = crossing.stream_end
    if crossing.item_count is not None:
        written[names.STREAM_ITEM_COUNT] = crossing.item_count
    if crossing.error_type is not None:
        written[names.ERROR_TYPE] = crossing.error_type
    if response_model is not None:
        written[names.GEN_AI_RESPONSE_MODEL] = response_model
    for name, count in crossing.usage.items():
        written[names.GEN_AI_USAGE + name] = count
    return written


def content(crossing: Crossing, *, failed: bool = False) -> dict[str, Any]:
    """The payloads for our own file: whole, each one string. Set these last.

    Over FILE_LIMIT a value is left out as well: readers take lines of up to 256 MiB, and a text may be twice
    as long once it is a JSON string in one.

    failed:  `input=` or `output=` of the boundary raised, so that a payload is not there.
    """
    written: dict[str, Any] = {names.CONTENT: "failed"} if failed else {}
    payloads = _payloads(crossing)
    left_out = _left_out(payloads, FILE_LIMIT)
    if left_out:
        written[names.CONTENT] = "omitted"
    for payload, value, digest, size in payloads:
        written[digest] = payload.digest
        written[size] = payload.size
        if value not in left_out:
            written[value] = payload.text
    return written


def mark(crossing: Crossing, *, failed: bool = False) -> dict[str, Any]:
    """The input of a call in flight: whole up to 64 KiB, else its digest and size."""
    written = {names.MARK: True} | content(crossing, failed=failed)
    if crossing.input is not None and crossing.input.size > MARK_LIMIT:
        del written[names.INPUT_VALUE]
    return written


def host_content(crossing: Crossing, settings: Settings, *, failed: bool = False) -> dict[str, Any]:
    """The payloads for a host's span, under its limits. Set these last: the SDK drops the oldest.

    With content off, values stay away and so does the digest of a tiny payload, which could be guessed;
    over `export_limit` the input is left out (it only weakens matching), then the output too, and the span
    says so.
    """
    written: dict[str, Any] = {names.CONTENT: "failed"} if failed else {}
    payloads = _payloads(crossing)
    left_out = _left_out(payloads, settings.export_limit)
    if not settings.host_content or left_out:
        written[names.CONTENT] = "omitted" if settings.host_content else "off"
    for payload, value, digest, size in payloads:
        fits = len(payload.digest) <= settings.piece_limit  # half a digest would disprove a whole payload
        if fits and (settings.host_content or payload.size > TINY):
            written[digest] = payload.digest
        written[size] = payload.size
        if settings.host_content and value not in left_out:
            written[value] = pieces(payload.text, settings.piece_limit)
    return written


def _left_out(payloads: list[tuple[Payload, str, str, str]], limit: int) -> set[str]:
    """The keys of the values that a span of `limit` bytes has no room for, the input's first."""
    left_out: set[str] = set()
    for _, value, _, _ in payloads:
        if sum(one.size for one, key, _, _ in payloads if key not in left_out) > limit:
            left_out.add(value)
    return left_out


def pieces(text: str, limit: int) -> str | list[str]:
    """`text` itself where its UTF-8 fits in `limit` bytes, else strings of at most that many bytes.

    Cut between characters. Tempo cuts strings over 2,048 bytes but not the strings of an array
    (`distributor.max_attribute_bytes`). A limit under 4 bytes may be passed by a single character.
    """
    utf8 = text.encode("utf-8")
    if len(utf8) <= limit:
        return text
    cut, start = [], 0
    while start < len(utf8):
        end = min(start + limit, len(utf8))
        while end < len(utf8) and end > start and utf8[end] & 0xC0 == 0x80:
            end -= 1
        if end == start:
            end = start + 1
            while end < len(utf8) and utf8[end] & 0xC0 == 0x80:
                end += 1
        cut.append(utf8[start:end].decode("utf-8"))
        start = end
    return cut


def _payloads(crossing: Crossing) -> list[tuple[Payload, str, str, str]]:
    """Each payload with its three keys, the input first."""
    found = []
    if crossing.input is not None:
        found.append((crossing.input, names.INPUT_VALUE, names.INPUT_DIGEST, names.INPUT_SIZE))
    if crossing.output is not None:
        found.append((crossing.output, names.OUTPUT_VALUE, names.OUTPUT_DIGEST, names.OUTPUT_SIZE))
    return found
