"""Chronicle's envelopes: one is one crossing, reshaped by its kind."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from tracetape.codec import encode
from tracetape.codec.registry import CLASS, TAG
from tracetape.model.crossing import REBUILT, UNUSABLE, Crossing
from tracetape.model.payload import Payload
from tracetape.model.span import Gap, SpanRecord
from tracetape.sources.formats.chronicle_json import ENVELOPE
from tracetape.sources.formats.json_fields import compact

__all__ = ["crossings", "name"]

name = "Chronicle"

_KINDS = {"llm", "tool", "retrieval", "memory", "embedding", "agent", "router"}


def crossings(spans: Sequence[SpanRecord]) -> Iterator[Crossing]:
    """The spans of envelopes (agent-chronicle, envelope schema 1.0).

    They are `rebuilt`: Chronicle stores what JSON can hold, of a model's answer its parts, of most other results
    the text; `unusable` without a result.
    """
    for span in spans:
        node = span.attributes.get(f"{ENVELOPE}node_id")
        if type(node) is str:
            yield _crossing(span, node)


def _crossing(span: SpanRecord, node: str) -> Crossing:
    kind = span.attributes.get(f"{ENVELOPE}boundary_kind")
    state, result = _object(span, "input_state"), _object(span, "action_result")
    about = _object(span, "metadata")
    where = f"span {span.span_id} {node}"
    error = result.get("error_type") or result.get("error")
    gaps = [Gap("ORDER_OF_ENDS", "Chronicle keeps the order of the ends, and no callers", where)]
    grade = REBUILT
    output: Payload | None = None
    if error:
        output = _raised(result)
        gaps.append(
            Gap("NORMALISED", "of the exception Chronicle has kept the class's name and the message", where)
        )
    elif not result:
        grade = UNUSABLE
        gaps.append(Gap("PAYLOAD_MISSING", "the envelope carries no action_result", where))
    else:
        value, why = _result(kind, result)
        output = encode(value)
        gaps.append(Gap("NORMALISED", why, where))
    arguments = state.get("graph_state")
    sequence = span.attributes.get(f"{ENVELOPE}sequence")
    return Crossing(
        boundary=node,
        kind=kind if kind in _KINDS else "custom",
        model=_text(about.get("model_version")) if kind == "llm" else None,
        version=_text(about.get("build_id")),
        usage={key: one for key, one in _map(result.get("token_usage")).items() if type(one) is int},
        outcome="raised" if error else "returned",
        input=encode(arguments) if type(arguments) is dict else None,
        output=output,
        error_type=_text(result.get("error_type")) if error else None,
        error_message=_text(result.get("error")) or "",
        seq=sequence if type(sequence) is int else None,
        process_id="chronicle",
        started=span.start_ns,
        duration=0,
        trace_id=span.trace_id,
        span_ids=(span.span_id,),
        gaps=tuple(gaps),
        grade=grade,
    )


def _result(kind: Any, result: Mapping[str, Any]) -> tuple[Any, str]:
    """What the function gave back, as far as it is known, and what that is."""
    raw = result.get("raw_response")
    if raw is not None:
        return raw, "the result is what JSON can hold of it"
    text = result.get("completion")
    calls, finish, usage = result.get("tool_calls"), result.get("finish_reason"), result.get("token_usage")
    if kind == "llm" and (calls or finish or usage):
        found = {
            "completion": text,
            "tool_calls": calls or [],
            "finish_reason": finish,
            "token_usage": usage or {},
        }
        return found, "of the model's answer Chronicle has kept text, tool calls, finish_reason and token_usage"
    return text, "of the result Chronicle has kept its text alone"


def _raised(result: Mapping[str, Any]) -> Payload:
    title = _text(result.get("error_type")) or "Exception"
    known = getattr(builtins, title, None)
    module = "builtins" if isinstance(known, type) and issubclass(known, BaseException) else "chronicle"
    message = _text(result.get("error"))
    return Payload.of(
        compact({TAG: "exception", CLASS: f"{module}:{title}", "args": [message] if message is not None else []})
    )


def _object(span: SpanRecord, key: str) -> Mapping[str, Any]:
    value = span.attributes.get(f"{ENVELOPE}{key}")
    if type(value) is not str:
        return {}
    try:
        return _map(orjson.loads(value))
    except orjson.JSONDecodeError:
        return {}


def _map(value: Any) -> Mapping[str, Any]:
    return value if type(value) is dict else {}


def _text(value: Any) -> str | None:
    return value if type(value) is str and value else None
