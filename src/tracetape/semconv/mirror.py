"""A call's values under the names of other conventions, for UIs that show only those.

Asked for by TRACETAPE_MIRROR, on the host's spans alone: our own attributes are what a replay reads. Written is
what is true of any boundary, as the JSON text that ours have too: OpenInference's `input.value` and `output.value`
take any text; of the GenAI conventions the arguments and the result of a tool, and messages with one text part
where the call asked a model or an agent. Their flattened messages, finish reasons and roles are left out: a
boundary does not know them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from tracetape.config import Settings
from tracetape.model.call import BoundarySpec
from tracetape.model.payload import Payload
from tracetape.semconv import names

__all__ = ["MOST_ATTRIBUTES", "mirrored"]

MOST_ATTRIBUTES = 12
"""How many attributes a span may have more by it."""

_JSON = "application/json"
_ANSWERS = ("returned", "streamed")


def mirrored(
    spec: BoundarySpec,
    known: Mapping[str, Any],
    written: Mapping[str, Any],
    given: Payload | None,
    output: Payload | None,
    settings: Settings,
) -> dict[str, Any]:
    """The attributes of a span besides ours, which have the first claim on `export_limit`: what has no room
    beside them is left out, and the span says so.

    known:    ours without payloads: the model, the tokens, the outcome.
    written:  ours with payloads, as the host's span has them.
    """
    added: dict[str, Any] = {}
    if "openinference" in settings.mirror:
        added.update(_openinference(spec, known))
    if not settings.host_content:
        return added
    # An exception is no answer, and these conventions have other places for it.
    answer = output if known.get(names.OUTCOME_TYPE) in _ANSWERS else None
    room = settings.export_limit - sum(
        payload.size
        for payload, key in ((given, names.INPUT_VALUE), (output, names.OUTPUT_VALUE))
        if payload is not None and key in written
    )
    for word in settings.mirror:
        for key, text, besides in _VALUES[word](spec, given, answer):
            size = len(text) if text.isascii() else len(text.encode("utf-8"))
            if size > room:
                added[names.MIRROR] = "omitted"
                continue
            room -= size
            added[key] = text
            added.update(besides)
    return added


def _openinference(spec: BoundarySpec, known: Mapping[str, Any]) -> dict[str, Any]:
    """What is no content."""
    added: dict[str, Any] = {
        names.OPENINFERENCE_KIND: names.OPENINFERENCE_KINDS.get(spec.kind, names.OPENINFERENCE_OTHER)
    }
    if spec.kind == "tool":
        added[names.OPENINFERENCE_TOOL] = spec.name
    model = known.get(names.GEN_AI_RESPONSE_MODEL, known.get(names.GEN_AI_REQUEST_MODEL))
    if model is not None and spec.kind in names.OPENINFERENCE_MODELS:
        added[names.OPENINFERENCE_MODELS[spec.kind]] = model
    tokens = {
        key: known[names.GEN_AI_USAGE + word]
        for word, key in names.OPENINFERENCE_TOKENS.items()
        if names.GEN_AI_USAGE + word in known
    }
    if tokens:
        added.update(tokens)
        added[names.OPENINFERENCE_ALL_TOKENS] = sum(tokens.values())
    return added


_Value = tuple[str, str, Mapping[str, Any]]


def _openinference_values(spec: BoundarySpec, given: Payload | None, answer: Payload | None) -> Iterator[_Value]:
    # The output first, here and below: where there is room for one of them it is the one that is looked for.
    if answer is not None:
        yield names.OPENINFERENCE_OUTPUT, answer.text, {names.OPENINFERENCE_OUTPUT_MIME: _JSON}
    if given is not None:
        yield names.OPENINFERENCE_INPUT, given.text, {names.OPENINFERENCE_INPUT_MIME: _JSON}


def _gen_ai_values(spec: BoundarySpec, given: Payload | None, answer: Payload | None) -> Iterator[_Value]:
    if spec.kind == "tool":
        if answer is not None:
            yield names.GEN_AI_TOOL_RESULT, answer.text, {}
        if given is not None:
            yield names.GEN_AI_TOOL_ARGUMENTS, given.text, {}
    elif spec.kind in ("llm", "agent"):
        if answer is not None:
            yield names.GEN_AI_OUTPUT_MESSAGES, _message("assistant", answer.text), {}
        if given is not None:
            yield names.GEN_AI_INPUT_MESSAGES, _message("user", given.text), {}


def _message(role: str, text: str) -> str:
    """One message with one text part: the JSON text, or the text that it is the JSON of."""
    said = orjson.loads(text) if text.startswith('"') else text
    return orjson.dumps([{"role": role, "parts": [{"type": "text", "content": said}]}]).decode("utf-8")


_VALUES = {"openinference": _openinference_values, "gen_ai": _gen_ai_values}
