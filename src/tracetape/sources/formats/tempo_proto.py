"""The envelope of Tempo's `/api/v2/traces/{id}` in protobuf."""

from __future__ import annotations

from dataclasses import dataclass

from tracetape.sources.detect import varint

__all__ = ["TraceById", "trace_by_id"]


@dataclass(frozen=True, slots=True)
class TraceById:
    """trace: a TracesData message. is_partial: Tempo says that it is not whole, and why in `message`."""

    trace: bytes
    is_partial: bool
    message: str


def trace_by_id(content: bytes) -> TraceById | None:
    """A TraceByIDResponse (Tempo, pkg/tempopb/tempo.proto: trace = 1, metrics = 2, status = 3, message = 4).

    None for what is none.
    """
    trace, is_partial, message = b"", False, ""
    at = 0
    while at < len(content):
        key = varint(content, at)
        value = varint(content, key[1]) if key is not None else None
        if key is None or value is None:
            return None
        number, wire = key[0] >> 3, key[0] & 7
        if wire == 2:
            at = value[1] + value[0]
            field = content[value[1] : at]
            if number == 1:
                trace += field  # messages one after another are one
            elif number == 4:
                message = field.decode("utf-8", "replace")
        elif wire == 0:
            at = value[1]
            is_partial = is_partial or (number == 3 and value[0] == 1)
        else:
            return None
    return TraceById(trace, is_partial, message)
