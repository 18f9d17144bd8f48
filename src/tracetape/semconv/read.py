"""Attributes → crossing, for spans of our own convention, of every schema version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from tracetape.codec import OpaquePart, scan
from tracetape.errors import FormatError
from tracetape.model.call import PLAIN
from tracetape.model.crossing import EXACT, GRADES, REBUILT, UNUSABLE, Crossing
from tracetape.model.payload import Payload, StoredText, digest_of
from tracetape.model.span import Gap, SpanRecord
from tracetape.semconv import names

__all__ = ["is_mark", "is_recording_root", "joined", "payload_text", "read_crossing", "run_gaps", "source_gaps"]

_OUTCOMES = ("returned", "raised", "streamed", "cancelled")


def read_crossing(span: SpanRecord) -> Crossing | None:
    """The crossing that a span of ours is, or None for a span that is none.

    Recognised by its attributes alone, since backends lose scopes. Grades what is missing: a payload
    that was cut off, left out or switched off makes the crossing unusable if it is the output, and only
    weakens matching if it is the input.

    Raises FormatError NEWER_RECORDING for a schema version that this build does not know.
    """
    attributes = span.attributes
    boundary = attributes.get(names.BOUNDARY_NAME)
    if not isinstance(boundary, str) or not boundary:
        return None
    _check_version(attributes.get(names.SCHEMA_VERSION), span)
    outcome = attributes.get(names.OUTCOME_TYPE)
    outcome = outcome if outcome in _OUTCOMES and span.end_ns is not None else "unfinished"
    gaps: list[Gap] = list(span.gaps)
    off = attributes.get(names.CONTENT)
    given, input_whole = _payload(attributes, names.INPUT_VALUE, names.INPUT_DIGEST, names.INPUT_SIZE)
    output, output_whole = _payload(attributes, names.OUTPUT_VALUE, names.OUTPUT_DIGEST, names.OUTPUT_SIZE)
    where = f"span {span.span_id} {boundary}"
    grade = EXACT
    if given is None or not input_whole:
        gaps += _new(_lack("input", given is None, off, attributes, names.INPUT_SIZE, given, where), span.gaps)
        grade, given = REBUILT, None
    if outcome in ("returned", "raised", "streamed") and (output is None or not output_whole):
        gaps += _new(_lack("output", output is None, off, attributes, names.OUTPUT_SIZE, output, where), span.gaps)
        grade, output = UNUSABLE, None
    if output is not None and output.may_lack_parts:
        opaque = scan(output.text)
        gaps += [_opaque(part, where) for part in opaque]
        if opaque:
            whole_value = any(part.path == "$" for part in opaque)
            grade = UNUSABLE if whole_value and outcome == "returned" else _worse(grade, REBUILT)
    if outcome == "unfinished":
        gaps.append(Gap("UNFINISHED", "the call had not ended when the recording did", where))
        grade = UNUSABLE
    return Crossing(
        boundary=boundary,
        kind=_text(attributes.get(names.BOUNDARY_KIND)) or "custom",
        version=_text(attributes.get(names.BOUNDARY_VERSION)),
        model=_text(attributes.get(names.GEN_AI_REQUEST_MODEL)),
        usage=_usage(attributes),
        outcome=outcome,
        stream_end=_text(attributes.get(names.STREAM_END)),
        shape=_text(attributes.get(names.OUTCOME_SHAPE)) or PLAIN,
        input=given,
        output=output,
        item_count=_whole(attributes.get(names.STREAM_ITEM_COUNT)),
        error_type=_text(attributes.get(names.ERROR_TYPE)),
        error_message=span.status.message,
        seq=_whole(attributes.get(names.SEQ)),
        seq_before=_whole(attributes.get(names.SEQ_BEFORE)),
        process_id=_text(attributes.get(names.PROCESS_ID)),
        detached=attributes.get(names.DETACHED) in (True, "true"),
        started=span.start_ns,
        duration=None if span.end_ns is None else span.end_ns - span.start_ns,
        trace_id=span.trace_id,
        span_ids=(span.span_id,),
        gaps=tuple(gaps),
        grade=grade,
    )


def run_gaps(span: SpanRecord) -> list[Gap]:
    """What the root span of a recording of ours says that the recording lacks."""
    attributes = span.attributes
    gaps = []
    unplaced, lost = _whole(attributes.get(names.UNPLACED)), _whole(attributes.get(names.LOST))
    if unplaced:
        text = (
            f"{unplaced:,} crossings ran in threads without a context while several recordings were open, and "
            "belong to none: start such threads with contextvars.copy_context().run"
        )
        gaps.append(Gap("UNPLACED", text, span.where))
    if lost:
        text = f"{lost:,} spans could not be stored (the program's log says why)"
        gaps.append(Gap("SPANS_LOST", text, span.where))
    in_flight = _whole(attributes.get(names.IN_FLIGHT))
    if in_flight:
        text = f"{in_flight:,} calls or streams had not ended when the recording did, and are not in it"
        gaps.append(Gap("UNFINISHED", text, span.where))
    unseen = _text(attributes.get(names.FOREIGN_UNSEEN))
    if unseen:
        gaps.append(Gap("FOREIGN_SPANS_UNSEEN", unseen, span.where))
    return gaps


def source_gaps(span: SpanRecord) -> list[Gap]:
    """What the source lacked that this was saved from."""
    told = span.resource.get(names.SOURCE_GAPS)
    gaps = []
    for one in told if isinstance(told, (list, tuple)) else ():
        code, colon, text = one.partition(": ") if isinstance(one, str) else ("", "", "")
        if colon:
            gaps.append(Gap(code, text, span.where))
    return gaps


def is_recording_root(span: SpanRecord) -> bool:
    """The span that `record` makes around a run: ours, and no crossing."""
    return names.SCHEMA_VERSION in span.attributes and names.BOUNDARY_NAME not in span.attributes


def is_mark(span: SpanRecord) -> bool:
    """A call of ours that had begun and was not finished when this was written."""
    return span.end_ns is None and span.attributes.get(names.MARK) in (True, "true")


def joined(value: Any) -> str | None:
    """A payload attribute as one text: a string, or the pieces of an array."""
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and not isinstance(value, bytes) and value:
        return "".join(value) if all(isinstance(piece, str) for piece in value) else None
    return None


def payload_text(value: Any, size: Any) -> str | None:
    """A payload attribute as one text, also where a backend has written the array of its pieces as JSON text.

    size: what the attribute of its size says. None for what is no payload.
    """
    text = joined(str(value) if _is_held(value) else value)
    if text is not None:
        text = _unpieced(text, size)
    if type(value) is list and _whole(size) not in (None, _size_of(text)):
        # A backend that parses JSON texts (MLflow does) gives an array where one was sent.
        again = _json_again(value)
        text = again if _size_of(again) == _whole(size) else text
    return text


def _size_of(text: str | None) -> int | None:
    return None if text is None else len(text.encode("utf-8", "replace"))


def _json_again(value: list[Any]) -> str | None:
    import orjson

    try:
        return orjson.dumps(value).decode("utf-8")
    except orjson.JSONEncodeError:
        return None


def _opaque(part: OpaquePart, where: str) -> Gap:
    whole = part.path == "$"
    what = f"the outcome is a {part.type_name}" if whole else f"{part.path} of the outcome is a {part.type_name}"
    cure = "output=… of @boundary can record what is needed of it" if whole else "using it will halt the replay"
    return Gap("OPAQUE_VALUE", f"{what}, which cannot be stored; {cure}", where)


def _worse(one: str, other: str) -> str:
    return max(one, other, key=GRADES.index)


def _payload(attributes: Mapping[str, Any], value: str, digest: str, size: str) -> tuple[Payload | None, bool]:
    """The payload, and whether its size and digest prove it whole (True where it says neither)."""
    stored = attributes.get(value)
    said_size, said_digest = _whole(attributes.get(size)), _text(attributes.get(digest))
    if _is_held(stored):
        held = cast("StoredText", stored)
        whole = said_size in (None, held.size) and said_digest in (None, held.digest)
        return Payload(held, held.digest, held.size), whole
    text = payload_text(stored, attributes.get(size))
    if text is None:
        return None, False
    try:
        utf8 = text.encode("utf-8")
    except UnicodeEncodeError:
        return None, False
    payload = Payload(text, digest_of(utf8), len(utf8))
    whole = said_size in (None, payload.size) and said_digest in (None, payload.digest)
    return payload, whole


def _is_held(value: Any) -> bool:
    """Whether a reader has left it in its file."""
    return not isinstance(value, (str, list, tuple)) and hasattr(value, "read") and hasattr(value, "digest")


def _new(gap: Gap, known: Sequence[Gap]) -> list[Gap]:
    """The reader of the file may have said it already."""
    return [] if any(one.code == gap.code for one in known) else [gap]


def _unpieced(text: str, size: Any) -> str:
    """The pieces' text where a backend has written the array as JSON text (Jaeger's legacy API does)."""
    if not text.startswith('["') or not text.endswith('"]'):
        return text
    said = _whole(size)
    if said is None or said == len(text.encode("utf-8", "replace")):
        return text
    import json

    try:
        found = json.loads(text)
    except ValueError:
        return text
    return joined(found) or text


def _lack(
    which: str,
    absent: bool,
    off: Any,
    attributes: Mapping[str, Any],
    size_key: str,
    payload: Payload | None,
    where: str,
) -> Gap:
    size = _whole(attributes.get(size_key))
    if not absent and payload is not None:
        if size is None or payload.size >= size:
            text = f"the {which} is not the one that was recorded: its digest differs; something has rewritten it"
            return Gap("PAYLOAD_ALTERED", text, where)
        text = f"the {which} is cut: {payload.size:,} of {size:,} bytes are there"
        return Gap("PAYLOAD_TRUNCATED", text, where)
    if off == "failed":
        function = "input=" if which == "input" else "output="
        text = f"the {which} was not recorded: {function} of the boundary raised, so the plain value was kept out"
        return Gap("PAYLOAD_FAILED", text, where)
    if off == "off":
        return Gap(
            "CONTENT_OFF",
            f"the {which} was not exported: values were switched off for the host's spans "
            "(TRACETAPE_CONTENT=off, or OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=NO_CONTENT); "
            "the file written by tracetape.record has them",
            where,
        )
    if off == "omitted":
        return Gap(
            "PAYLOAD_OMITTED",
            f"the {which} was left out: {size or 0:,} bytes, over TRACETAPE_EXPORT_LIMIT on a host's span (the "
            "file written by tracetape.record has it), or over 120 MiB in a file",
            where,
        )
    if names.MARK in attributes and size is not None:
        text = f"the {which} was not kept: {size:,} bytes, and of a call in flight up to 65,536 are"
        return Gap("PAYLOAD_OMITTED", text, where)
    return Gap("PAYLOAD_MISSING", f"the span carries no {which}", where)


def _check_version(said: Any, span: SpanRecord) -> None:
    version = _whole(said)
    if version is not None and version > names.SCHEMA_VERSION_NOW:
        raise FormatError(
            f"{span.where or 'the recording'}: written by a newer tracetape (schema version {version}; this one "
            f"reads up to {names.SCHEMA_VERSION_NOW}). Upgrade with: pip install --upgrade tracetape",
            code="NEWER_RECORDING",
        )


def _usage(attributes: Mapping[str, Any]) -> dict[str, int]:
    counts = {
        key[len(names.GEN_AI_USAGE) :]: _whole(value)
        for key, value in attributes.items()
        if key.startswith(names.GEN_AI_USAGE)
    }
    return {name: count for name, count in counts.items() if count is not None}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    """An int, also where a backend has made it text."""
    if type(value) is int:
        return value
    if isinstance(value, str) and value.lstrip("-").isdigit() and len(value) < 20:
        return int(value)
    return None
