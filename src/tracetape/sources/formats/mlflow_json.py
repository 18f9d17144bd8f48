"""MLflow's traces, of its REST API or its client."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson

from tracetape.errors import SourceError, TraceSelectionError
from tracetape.model.span import Gap, Scope, SpanRecord
from tracetape.sources.formats.json_fields import compact, plain
from tracetape.sources.formats.otlp_span import list_of, map_of, span_of, text_of
from tracetape.sources.records import Record

__all__ = ["claims", "name", "read"]

name = "MLflow JSON"

_ALIKE = ({str}, {bool}, {int, float})
_NOT_FOUND = "RESOURCE_DOES_NOT_EXIST"


def claims(content: dict[str, Any] | bytes) -> bool:
    """`trace` with its `trace_info` (REST), `info` and `data` (client), or an `error_code`."""
    if type(content) is not dict:
        return False
    trace, data = content.get("trace"), content.get("data")
    if type(trace) is dict:
        return "trace_info" in trace
    if type(data) is dict and type(content.get("info")) is dict:
        return "spans" in data
    return type(content.get("error_code")) is str


def read(record: Record) -> Iterator[SpanRecord | Gap]:
    """The spans (MLflow 3, `/api/3.0/mlflow/traces/get`, `mlflow.get_trace().to_json()`).

    MLflow parses strings that are JSON texts: they come as texts again, in their shortest form, which may not be
    the one that was sent.

    Raises FormatError BAD_TRACE_ID, BAD_SPAN_ID, BAD_FIELD, TOO_DEEP; TraceSelectionError TRACE_NOT_FOUND,
    SourceError BACKEND_ERROR.
    """
    where = record.where
    content = map_of(record.content, "the record", where)
    if "error_code" in content:
        _refuse(content, where)
    if "info" in content:
        info, trace, of_client = content["info"], map_of(content.get("data"), "data", where), True
    else:
        trace, of_client = map_of(content.get("trace"), "trace", where), False
        info = trace.get("trace_info")
    tags = map_of(map_of(info, "trace_info", where).get("tags"), "tags", where)
    resource = {key: plain(value, where) for key, value in tags.items() if not key.startswith("mlflow.")}
    for span in list_of(trace.get("spans"), "spans", where):
        found = span_of(_as_otlp(span, where) if of_client else span, resource, Scope(), where)
        yield (
            found
            if of_client
            else replace(found, attributes={key: _text_again(value) for key, value in found.attributes.items()})
        )


def _refuse(content: dict[str, Any], where: str) -> None:
    message = text_of(content.get("message"))[:200]
    if content["error_code"] == _NOT_FOUND:
        raise TraceSelectionError(f"{where}: MLflow has not found the trace ({message!r})", code="TRACE_NOT_FOUND")
    raise SourceError(
        f"{where}: is an error of MLflow instead of a trace: {content['error_code'][:60]} {message!r}",
        code="BACKEND_ERROR",
    )


def _as_otlp(span: dict[str, Any], where: str) -> dict[str, Any]:
    """The client's attributes are maps, each value a JSON text; links' trace ids have `tr-` before them."""
    given = map_of(span.get("attributes"), "attributes", where)
    links = list_of(span.get("links"), "links", where)
    return {
        **span,
        "attributes": [{"key": key, "value": _typed(_parsed(value))} for key, value in given.items()],
        "events": [
            {**one, "attributes": [{"key": key, "value": _typed(value)} for key, value in _of(one, where).items()]}
            for one in list_of(span.get("events"), "events", where)
        ],
        "links": [
            {
                "trace_id": text_of(one.get("trace_id")).removeprefix("tr-"),
                "span_id": text_of(one.get("span_id")),
                "attributes": [{"key": key, "value": _typed(value)} for key, value in _of(one, where).items()],
            }
            for one in links
        ],
    }


def _of(holder: dict[str, Any], where: str) -> dict[str, Any]:
    return map_of(holder.get("attributes"), "attributes", where)


def _parsed(value: Any) -> Any:
    """What a JSON text is; a text that was an object or array stays one, since it was sent as a string."""
    if type(value) is not str:
        return value
    try:
        found = orjson.loads(value)
    except orjson.JSONDecodeError:
        return value
    return _text_again(found)


def _text_again(value: Any) -> Any:
    """Objects were JSON texts, for attributes hold none; an array was, unless it is as one of OTLP's."""
    if type(value) is dict:
        return compact(value)
    if type(value) is list and not any({type(one) for one in value} <= kinds for kinds in _ALIKE):
        return compact(value)
    return value


def _typed(value: Any) -> Any:
    """An AnyValue."""
    if type(value) is bool:
        return {"boolValue": value}
    if type(value) is int:
        return {"intValue": value}
    if type(value) is float:
        return {"doubleValue": value}
    if type(value) is list:
        return {"arrayValue": {"values": [_typed(one) for one in value]}}
    if type(value) is dict:
        return {"kvlistValue": {"values": [{"key": key, "value": _typed(one)} for key, one in value.items()]}}
    return {"stringValue": value} if value is not None else {}
