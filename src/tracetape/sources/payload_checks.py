"""Whether a span's payloads are whole, by what the span itself says of them."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from tracetape.model.span import Gap, SpanRecord

__all__ = ["content_gaps"]

# The digest's ending and that of the size beside it.
_SIZES = {".digest": ".size", ".sha256": ".bytes"}
_ENDINGS = tuple(_SIZES)
_TEMPO_DEFAULT = 2048


def content_gaps(span: SpanRecord) -> list[Gap]:
    """What a span has lost of its content, under any convention.

    ATTRIBUTES_DROPPED where the SDK counted some; PAYLOAD_TRUNCATED where an attribute is shorter than the
    size beside it says, or is JSON text that ends in the middle; PAYLOAD_ALTERED where it differs from
    the digest beside it though it is not shorter.

    An attribute `x` or `x.value` is checked against `x.size` and `x.digest`, or `x.bytes` and `x.sha256`;
    a digest is SHA-256 in hex, with or without `sha256:` before it. A payload in pieces is their join.
    """
    gaps: list[Gap] = []
    if span.dropped_attributes:
        gaps.append(
            Gap(
                "ATTRIBUTES_DROPPED",
                f"the SDK dropped {span.dropped_attributes:,} attributes of it: raise "
                "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT (128 by default)",
                _where(span),
            )
        )
    attributes = span.attributes
    checked: set[str] = set()
    for key in attributes:
        if key.endswith(_ENDINGS):
            gap = _against_digest(span, key, checked)
            if gap is not None:
                gaps.append(gap)
    for key, value in attributes.items():
        if (
            type(value) is str
            and len(value) > 1
            and value[0] in "{["
            and key not in checked
            and _ends_early(value)
        ):
            size = len(value.encode("utf-8", "replace"))
            gaps.append(_truncated(span, key, size, None))
    return gaps


def _against_digest(span: SpanRecord, digest_key: str, checked: set[str]) -> Gap | None:
    attributes = span.attributes
    stem, ending = digest_key[:-7], digest_key[-7:]
    key = f"{stem}.value" if f"{stem}.value" in attributes else stem
    value = attributes.get(key)
    digest = _digest_of(attributes[digest_key])
    if digest is None or value is None:
        return None
    forms = list(_forms(value))
    if not forms:
        return None
    checked.add(key)
    if any(hashlib.sha256(form).hexdigest() == digest for form in forms):
        return None
    size = len(forms[-1])
    total = attributes.get(stem + _SIZES[ending])
    if type(total) is not int:
        total = None
    if (total is not None and size < total) or (total is None and _ends_early(forms[-1])):
        return _truncated(span, key, size, total)
    return Gap(
        "PAYLOAD_ALTERED",
        f"attribute {key!r} has {size:,} bytes that are not those recorded (its digest differs): something "
        "between the program and this file has rewritten or masked it",
        _where(span),
    )


def _digest_of(value: Any) -> str | None:
    digest = value.removeprefix("sha256:").lower() if isinstance(value, str) else ""
    return digest if len(digest) == 64 else None


def _forms(value: Any) -> list[bytes]:
    """What the digest may have been taken of: the text; the join of pieces; the join of pieces that a
    backend has made into an array's JSON text; the JSON text that a backend has parsed into an array. The
    likeliest payload is last."""
    if isinstance(value, bytes):
        return [value]
    if isinstance(value, list):
        try:
            forms = [orjson.dumps(value)]
        except orjson.JSONEncodeError:
            forms = []
        return [*forms, _join(value)] if value and all(isinstance(one, str) for one in value) else forms
    if not isinstance(value, str):
        return []
    forms = [value.encode("utf-8", "replace")]
    if value.startswith('["') and value.endswith('"]'):
        try:
            pieces = orjson.loads(value)
        except orjson.JSONDecodeError:
            return forms
        if all(isinstance(one, str) for one in pieces):
            forms.append(_join(pieces))
    return forms


def _join(pieces: list[str]) -> bytes:
    return "".join(pieces).encode("utf-8", "replace")


def _ends_early(text: str | bytes) -> bool:
    """Whether JSON text is right as far as it goes, and goes not to its end."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return error.pos >= len(error.doc)
    return False


def _truncated(span: SpanRecord, key: str, size: int, total: int | None) -> Gap:
    much = (
        f"{size} of {total} bytes"
        if total is not None
        else f"{size} bytes, and ends in the middle of its JSON text"
    )
    # A cut inside a character loses up to three bytes more.
    if _TEMPO_DEFAULT - 3 <= size <= _TEMPO_DEFAULT:
        cure = "Tempo cuts strings there by default: raise distributor.max_attribute_bytes"
    else:
        cure = "raise the limit of the backend, or OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"
    return Gap("PAYLOAD_TRUNCATED", f"attribute {key!r} is cut: it has {much}; {cure}", _where(span))


def _where(span: SpanRecord) -> str:
    return f"span {span.span_id} {span.name[:80]!r}" + (f", {span.where}" if span.where else "")
