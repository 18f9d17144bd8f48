"""What a span has kept of values, or has not, with what would have kept it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson

from tracetape.model.span import Gap
from tracetape.sources.conventions.observed import ABSENT, CUT, REDACTED, Observed, loaded, text_value

__all__ = [
    "Missing",
    "by_index",
    "content_of",
    "counts",
    "cut",
    "incomplete",
    "is_whole_call",
    "lack",
    "strings",
]


def content_of(made: Observed, found: Any) -> None:
    """Set the result of a tool, a retrieval, …: JSON text of an object or array is the value; a number or a word
    of JSON is, where nothing else is written so; other text is itself."""
    value = loaded(found) if found is not ABSENT and found is not None else found
    text = text_value(found) if found is not ABSENT else None
    if value is ABSENT or value is REDACTED:
        if made.failure is None:
            lack(made, "result")
        return
    if value is CUT:
        if text is not None and text.lstrip()[:1] in ("{", "[") and _ends_early(text):
            made.gaps.append(cut(made, "result"))
            return
        value = text
    elif text is not None and not isinstance(value, (dict, list, str)) and json.dumps(value) != text:
        value = text
    made.result, made.rank = value, 20
    # A text that JSON can be read from may have been a text.
    made.is_whole = not (text is not None and isinstance(value, (bool, int, float)))


def _ends_early(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return error.pos >= len(error.doc)
    return False


class Missing(Exception):
    """Of flattened attributes one is missing that must be there: dropped on the way, masked, cut."""


def by_index(attributes: Mapping[str, Any], prefix: str, first: int = 0) -> list[dict[str, Any]]:
    """The attributes `prefix N .rest` as a mapping for each N, in order. first: where they may begin, beside 0.

    Raises Missing where a number between is not there.
    """
    found: dict[int, dict[str, Any]] = {}
    size = len(prefix)
    for key, value in attributes.items():
        if key.startswith(prefix):
            number, _, rest = key[size:].partition(".")
            if number.isdecimal() and len(number) < 6 and rest:
                found.setdefault(int(number), {})[rest] = value
    begin = first if found and min(found) == first else 0
    if sorted(found) != list(range(begin, begin + len(found))):
        raise Missing
    return [fields for _, fields in sorted(found.items())]


def is_whole_call(called: Any, arguments: Any) -> bool:
    """Whether a flattened tool call has its name and its arguments to the end."""
    name, given = text_value(called), text_value(arguments)
    if not name or given is None:
        return bool(name) and isinstance(arguments, Mapping)
    return given[:1] not in ("{", "[") or loaded(given) is not CUT or not _ends_early(given)


def incomplete(made: Observed, what: str) -> Gap:
    return Gap(
        "ATTRIBUTES_MISSING",
        f"the {what} is not whole: of its flattened attributes some are missing or cut. Raise "
        "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT (128 by default), and look at what drops attributes on the way",
        made.where,
    )


def lack(made: Observed, what: str) -> None:
    """Add the gap of content that was not recorded, with what would record it. Of two such it is one gap."""
    head = f"{made.source} has not recorded the "
    before = next((gap for gap in made.gaps if gap.code == "CONTENT_OFF" and gap.text.startswith(head)), None)
    if before is not None:
        made.gaps.remove(before)
        known = before.text[len(head) :].partition(":")[0].partition(".")[0]
        what = f"{known} and the {what}"
    cure = f": {made.switch}" if made.switch else ""
    made.gaps.append(
        Gap(
            "CONTENT_OFF",
            f"{head}{what}{cure}. What was not recorded cannot be mended later",
            made.where,
        )
    )


def cut(made: Observed, what: str) -> Gap:
    return Gap(
        "PAYLOAD_TRUNCATED",
        f"the {what} is cut in the middle of its JSON text: raise OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT (or "
        "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT), or the limit of the backend",
        made.where,
    )


def strings(attributes: Mapping[str, Any], *keys: str) -> str | None:
    """The first of these attributes that is a text with something in it."""
    for key in keys:
        if key in attributes and (found := text_value(attributes[key])):
            return found
    return None


def counts(attributes: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, word in words.items():
        value = attributes.get(key)
        if type(value) is int and word not in found:
            found[word] = value
    return found
