"""Fields of JSON answers that hold plain values instead of OTLP's typed ones."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson

from tracetape.sources.formats.otlp_span import number_of, refuse, text_of
from tracetape.sources.formats.span_rules import NAN, too_deep

__all__ = ["compact", "flattened", "microseconds", "objects", "plain", "time_of"]

_MAX_DEPTH = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def objects(value: Any) -> list[dict[str, Any]] | None:
    """A list of which the first entry is an object, or an empty one; None for all else. For claims: cheap."""
    return value if type(value) is list and (not value or type(value[0]) is dict) else None


def plain(value: Any, what: str, depth: int = 0) -> Any:
    """A JSON value as an attribute's: NaN is always the same object. Raises FormatError TOO_DEEP."""
    if depth > _MAX_DEPTH:
        raise too_deep(what)
    kind = type(value)
    if kind is list:
        return [plain(one, what, depth + 1) for one in value]
    if kind is dict:
        return {key: plain(one, what, depth + 1) for key, one in value.items()}
    return NAN if value != value else value


def flattened(value: dict[str, Any], what: str) -> dict[str, Any]:
    """Nested objects as dotted keys, as spans have them; objects in lists by their index; null is absent.

    `{"llm": {"input_messages": [{"message": …}]}}` → `llm.input_messages.0.message`
    """
    flat: dict[str, Any] = {}
    _flatten("", value, flat, what, 0)
    return flat


def _flatten(prefix: str, value: Any, flat: dict[str, Any], what: str, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise too_deep(what)
    if type(value) is dict and (value or not prefix):
        for key, one in value.items():
            _flatten(f"{prefix}.{key}" if prefix else key, one, flat, what, depth + 1)
    elif type(value) is list and any(type(one) is dict for one in value):
        for number, one in enumerate(value):
            _flatten(f"{prefix}.{number}", one, flat, what, depth + 1)
    elif value is not None:
        flat[prefix] = plain(value, what, depth)


def compact(value: Any) -> str:
    """JSON text in its shortest form, keys in their order."""
    try:
        return orjson.dumps(value).decode("utf-8")
    except TypeError:  # an integer over 64 bits, a lone surrogate, deep nesting
        import json

        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=repr)


def time_of(value: Any, name: str, what: str) -> int | None:
    """A point of time in ISO 8601 as nanoseconds since the epoch; None for null. Digits past the ninth are cut.

    Raises FormatError BAD_FIELD.
    """
    if value is None or value == "":
        return None
    text = text_of(value)
    whole, dot, rest = text.partition(".")
    fraction = rest[: len(rest) - len(rest.lstrip("0123456789"))] if dot else ""
    zone = rest[len(fraction) :] if dot else ""
    try:
        moment = datetime.fromisoformat(f"{whole}{zone}".replace("Z", "+00:00"))
    except ValueError:
        refuse(name, "a time such as 2025-12-01T10:00:00.002Z", value, what)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    seconds = moment - _EPOCH
    found = (seconds.days * 86_400 + seconds.seconds) * 10**9 + int((fraction[:9]).ljust(9, "0"))
    return _moment(found, value, name, what)


def microseconds(value: Any, name: str, what: str, since: int = 0) -> int:
    """Microseconds as nanoseconds, 0 where they are absent; added to `since`. Raises FormatError BAD_FIELD."""
    return _moment(since + number_of(value, name, what) * 1_000, value, name, what)


def _moment(ns: int, value: Any, name: str, what: str) -> int:
    """Within what OTLP has for times: 64 bits of nanoseconds since 1970."""
    return ns if 0 <= ns < 2**64 else refuse(name, "a time between 1970 and 2554", value, what)
