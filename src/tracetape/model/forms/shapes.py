"""Looks at JSON of providers that may be anything."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any

__all__ = ["OPTIONS", "counts_of", "listed", "mapped", "mapping", "parameters_of", "parts_of", "string"]

OPTIONS = frozenset({"extra_body", "extra_headers", "extra_query", "stream", "stream_options", "timeout"})
"""Of how an SDK calls, not of what is asked."""

_NOTHING: dict[str, Any] = {}


def mapping(value: Any) -> Mapping[str, Any]:
    # By type first: the class of a Mapping is asked in Python.
    is_there = type(value) is dict or (value is not None and isinstance(value, Mapping))
    return value if is_there else _NOTHING


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def mapped(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list."""
    if not isinstance(value, list):
        return []
    return [one for one in value if type(one) is dict or isinstance(one, Mapping)]


def parts_of(raw: Any, part: Callable[[Any], dict[str, Any]]) -> list[dict[str, Any]]:
    """A content that is text, or a list of parts; `part` reads one, be it a text too."""
    return [part(one) for one in ([raw] if isinstance(raw, str) else listed(raw))]


def string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def parameters_of(raw: Mapping[str, Any], words: Mapping[str, str], apart: Container[str]) -> dict[str, Any]:
    """A request's parameters under the words of the normal form; `apart` are none.

    The SDKs put an `extra_body` beside the others before they send.
    """
    found = {**raw, **mapping(raw.get("extra_body"))}
    return {words.get(key, key): one for key, one in found.items() if type(key) is str and key not in apart}


def counts_of(usage: Mapping[str, Any], input_word: str, output_word: str) -> dict[str, Any]:
    """Tokens under the words of the normal form."""
    return {"input_tokens": usage.get(input_word), "output_tokens": usage.get(output_word)}
