"""A call → the attributes of its span."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracetape.config import Settings
from tracetape.model.call import PLAIN, BoundarySpec
from tracetape.model.payload import Payload
from tracetape.model.span import NOTHING
from tracetape.semconv import names

__all__ = ["boundary", "call", "content", "host_content", "mark", "outcome", "pieces", "span_name"]

TINY = 64
FILE_LIMIT = 120 * 2**20
MARK_LIMIT = 65_536
MOST_ATTRIBUTES = 40


def span_name(spec: BoundarySpec, model: str | None) -> str:
    """`{operation} {model or tool}` as the GenAI conventions have it, else the boundary name."""
    operation = names.OPERATIONS.get(spec.kind)
    if operation is None:
        return spec.name
    asks_a_model = spec.kind in ("llm", "embedding") and model
    return f"{operation} {model if asks_a_model else spec.name}"


def boundary(spec: BoundarySpec) -> dict[str, Any]:
    """What the mark in the code says of each of its calls."""
    written: dict[str, Any] = {
        names.SCHEMA_VERSION: names.SCHEMA_VERSION_NOW,
        names.BOUNDARY_NAME: spec.name,
        names.BOUNDARY_KIND: spec.kind,
    }
    if spec.code:
        written[names.CODE_FUNCTION] = spec.code
    operation = names.OPERATIONS.get(spec.kind)
    if operation is not None:
        written[names.GEN_AI_OPERATION] = operation
    if spec.kind == "tool":
        written[names.GEN_AI_TOOL_NAME] = spec.name
    elif spec.kind == "agent":
        written[names.GEN_AI_AGENT_NAME] = spec.name
    return written


def call(
    spec: BoundarySpec,
    arguments: Mapping[str, Any],
    *,
    seq: int,
    process_id: str,
    seq_before: int | None = None,
    detached: bool = False,
    version: str | None = None,
    model: str | None = None,
    build_id: str | None = None,
) -> dict[str, Any]:
    """What is known of one call before the function runs, without any payload, besides `boundary`."""
    written: dict[str, Any] = {names.SEQ: seq, names.PROCESS_ID: process_id}
    if seq_before is not None:
        written[names.SEQ_BEFORE] = seq_before
    if detached:
        written[names.DETACHED] = True
    if version is not None:
        written[names.BOUNDARY_VERSION] = version
    if build_id is not None:
        written[names.BUILD_ID] = build_id
    if model is not None:
        written[names.GEN_AI_REQUEST_MODEL] = model
    if spec.kind == "llm":
        for argument, key in names.SAMPLING.items():
            value = arguments.get(argument)
            if type(value) in (int, float, str):
                written[key] = value
    return written


def outcome(
    word: str,
    shape: str = PLAIN,
    *,
    stream_end: str | None = None,
    item_count: int | None = None,
    error_type: str | None = None,
    response_model: str | None = None,
    usage: Mapping[str, int] = NOTHING,
) -> dict[str, Any]:
    """How the call ended, without any payload; the parameters are as `Crossing` has them."""
    written: dict[str, Any] = {names.OUTCOME_TYPE: word}
    if shape != PLAIN:
        written[names.OUTCOME_SHAPE] = shape
    if stream_end is not None:
        written[names.STREAM_END] = stream_end
    if item_count is not None:
        written[names.STREAM_ITEM_COUNT] = item_count
    if error_type is not None:
        written[names.ERROR_TYPE] = error_type
    if response_model is not None:
        written[names.GEN_AI_RESPONSE_MODEL] = response_model
    for name, count in usage.items():
        written[names.GEN_AI_USAGE + name] = count
    return written


def content(given: Payload | None, output: Payload | None = None, *, failed: bool = False) -> dict[str, Any]:
    """The payloads for our own file: whole, each one string. Set these last.

    Over FILE_LIMIT a value is left out as well: readers take lines of up to 256 MiB, and a text may be twice
    as long once it is a JSON string in one.

    failed:  `input=` or `output=` of the boundary raised, so that a payload is not there.
    """
    written: dict[str, Any] = {names.CONTENT: "failed"} if failed else {}
    left_out = _left_out(given, output, FILE_LIMIT)
    if left_out:
        written[names.CONTENT] = "omitted"
    if given is not None:
        written[names.INPUT_DIGEST] = given.digest
        written[names.INPUT_SIZE] = given.size
        if names.INPUT_VALUE not in left_out:
            written[names.INPUT_VALUE] = given.text
    if output is not None:
        written[names.OUTPUT_DIGEST] = output.digest
        written[names.OUTPUT_SIZE] = output.size
        if names.OUTPUT_VALUE not in left_out:
            written[names.OUTPUT_VALUE] = output.text
    return written


def mark(given: Payload | None, *, failed: bool = False) -> dict[str, Any]:
    """The input of a call in flight: whole up to 64 KiB, else its digest and size."""
    written = {names.MARK: True, **content(given, failed=failed)}
    if given is not None and given.size > MARK_LIMIT:
        del written[names.INPUT_VALUE]
    return written


def host_content(
    given: Payload | None, output: Payload | None, settings: Settings, *, failed: bool = False
) -> dict[str, Any]:
    """The payloads for a host's span, under its limits. Set these last: the SDK drops the oldest.

    With content off, values stay away and so does the digest of a tiny payload, which could be guessed;
    over `export_limit` the input is left out (it only weakens matching), then the output too, and the span
    says so.
    """
    written: dict[str, Any] = {names.CONTENT: "failed"} if failed else {}
    left_out = _left_out(given, output, settings.export_limit)
    if not settings.host_content or left_out:
        written[names.CONTENT] = "omitted" if settings.host_content else "off"
    for payload, value, digest, size in (
        (given, names.INPUT_VALUE, names.INPUT_DIGEST, names.INPUT_SIZE),
        (output, names.OUTPUT_VALUE, names.OUTPUT_DIGEST, names.OUTPUT_SIZE),
    ):
        if payload is None:
            continue
        fits = len(payload.digest) <= settings.piece_limit  # half a digest would disprove a whole payload
        if fits and (settings.host_content or payload.size > TINY):
            written[digest] = payload.digest
        written[size] = payload.size
        if settings.host_content and value not in left_out:
            # Most are short: then there is nothing to be cut, nor to be encoded to find that out.
            whole = payload.size <= settings.piece_limit
            written[value] = payload.text if whole else pieces(payload.text, settings.piece_limit)
    return written


def _left_out(given: Payload | None, output: Payload | None, limit: int) -> tuple[str, ...]:
    """The keys of the values that a span of `limit` bytes has no room for, the input's first."""
    last = 0 if output is None else output.size
    if last + (0 if given is None else given.size) <= limit:
        return ()
    if given is None:
        return (names.OUTPUT_VALUE,)
    return (names.INPUT_VALUE,) if last <= limit else (names.INPUT_VALUE, names.OUTPUT_VALUE)


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
