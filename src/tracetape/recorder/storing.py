"""What is stored of a call, whatever the functions of its boundary do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from tracetape.codec import encode, json_text
from tracetape.model.call import BoundarySpec, Streamed
from tracetape.model.payload import Payload
from tracetape.semconv import genai

__all__ = [
    "ASKING_A_MODEL",
    "answer_of",
    "guard",
    "model_of",
    "stored_input",
    "stored_item",
    "stored_output",
    "stream_payload",
    "text_of",
]

ASKING_A_MODEL = ("llm", "embedding")
"""The kinds of boundary whose argument `model` is the model that they ask."""

_log = logging.getLogger("tracetape")
_said: set[str] = set()


def stored_input(spec: BoundarySpec, arguments: Mapping[str, Any]) -> tuple[Payload | None, bool]:
    """The input's payload, and whether it failed. Where `input=` raises nothing is stored: it was given so
    that the plain arguments are not."""
    chosen = spec.input
    if chosen is None:
        return encode(arguments if type(arguments) is dict else dict(arguments)), False
    stored = guard("input=", lambda: encode(dict(chosen(**arguments))))
    return stored, stored is None


def stored_output(spec: BoundarySpec, value: Any) -> Payload | None:
    """The output's payload; None where `output=` raised."""
    chosen = spec.output
    stored: Payload | None = encode(value) if chosen is None else guard("output=", lambda: encode(chosen(value)))
    return stored


def answer_of(spec: BoundarySpec, value: Any) -> tuple[dict[str, int], str | None]:
    """The usage that a result tells of, by `usage=` or as a known SDK's response; the model that answered."""
    counts, model = genai.answer_of(value)
    if spec.usage is None:
        return counts, model
    counted = guard("usage=", lambda: dict(spec.usage(value)))  # type: ignore[misc]
    return {name: n for name, n in (counted or {}).items() if type(name) is str and type(n) is int}, model


def stored_item(item: Any) -> Any:
    """An item of a stream, for `stream_payload`: its text, since the consumer may change what it gets; what nobody
    can change as it is, to be written with all the others."""
    return item if type(item) in _FIXED else _Text(json_text(item))


def stream_payload(items: list[Any], outcome: Streamed) -> Payload:
    """`{"items": […]}`, with `error` and `value` where there is one. `items` are those of `stored_item`; None is
    one that could not be stored."""
    if _FIXED.issuperset(map(type, items)):
        written = json_text(items)
    else:
        written = f"[{','.join(item.text if type(item) is _Text else json_text(item) for item in items)}]"
    parts = [f'"items":{written}']
    if outcome.error is not None:
        parts.append('"error":' + json_text(outcome.error))
    if outcome.value is not None:
        parts.append('"value":' + json_text(outcome.value))
    return Payload.of("{" + ",".join(parts) + "}")


class _Text:
    """JSON text, as opposed to a text that is to be one."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


_FIXED = frozenset({str, int, float, bool, type(None)})


def model_of(spec: BoundarySpec, arguments: Mapping[str, Any]) -> str | None:
    """By `model=`; else by the argument of that name, where the call asks a model."""
    found = text_of("model=", spec.model, arguments)
    if found is None and spec.kind in ASKING_A_MODEL and isinstance(arguments.get("model"), str):
        found = arguments["model"]
    return found


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
