"""What is stored of a call, whatever the functions of its boundary do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from tracetape.codec import encode
from tracetape.model.call import BoundarySpec, Streamed
from tracetape.model.payload import Payload
from tracetape.semconv import genai

__all__ = ["guard", "stored_input", "stored_output", "stream_payload", "text_of", "usage"]

_log = logging.getLogger("tracetape")
_said: set[str] = set()


def stored_input(spec: BoundarySpec, arguments: Mapping[str, Any]) -> tuple[Payload | None, bool]:
    """The input's payload, and whether it failed. Where `input=` raises nothing is stored: it was given so
    that the plain arguments are not."""
    chosen = spec.input
    if chosen is None:
        return encode(dict(arguments)), False
    stored = guard("input=", lambda: encode(dict(chosen(**arguments))))
    return stored, stored is None


def stored_output(spec: BoundarySpec, value: Any) -> Payload | None:
    """The output's payload; None where `output=` raised."""
    chosen = spec.output
    stored: Payload | None = encode(value) if chosen is None else guard("output=", lambda: encode(chosen(value)))
    return stored


def usage(spec: BoundarySpec, value: Any) -> dict[str, int]:
    if spec.usage is None:
        return genai.usage_of(value)
    counted = guard("usage=", lambda: dict(spec.usage(value)))  # type: ignore[misc]
    return {name: n for name, n in (counted or {}).items() if type(name) is str and type(n) is int}


def stream_payload(items: list[Payload | None], outcome: Streamed) -> Payload:
    """`{"items": […]}`, with `error` and `value` where there is one; the items are encoded already."""
    parts = ['"items":[' + ",".join("null" if item is None else item.text for item in items) + "]"]
    if outcome.error is not None:
        parts.append('"error":' + encode(outcome.error).text)
    if outcome.value is not None:
        parts.append('"value":' + encode(outcome.value).text)
    return Payload.of("{" + ",".join(parts) + "}")


def text_of(what: str, source: Any, arguments: Any) -> str | None:
    if callable(source):
        found = guard(what, lambda: source(**arguments))
        return found if isinstance(found, str) else None
    return source if isinstance(source, str) else None


def guard(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """The function's result; None where it raised, said once for each `what`: recording never breaks the
    program that it records."""
    try:
        return function(*arguments)
    except Exception as error:  # noqa: BLE001
        if what not in _said:
            _said.add(what)
            _log.warning("tracetape: %s was not recorded: %s: %s", what, type(error).__name__, error)
        return None
