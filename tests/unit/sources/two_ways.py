"""Reads a file twice: with what is known of our exporter's lines, and without."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any
from unittest.mock import patch

import tracetape
from tracetape.codec.ignore_paths import IgnorePaths
from tracetape.errors import TracetapeError
from tracetape.model.crossing import Crossing
from tracetape.model.plan import ReplayPlan
from tracetape.model.recording import Recording
from tracetape.model.span import SpanRecord
from tracetape.replayer.cutting import after_cut
from tracetape.replayer.stubs import StubTable
from tracetape.sources import own_lines
from tracetape.sources.batches import Batch
from tracetape.sources.own_lines import OwnLines
from tracetape.sources.reading import read_files

__all__ = ["taken", "told_generally", "told_quickly"]


def told_generally(path: Path, **options: Any) -> Any:
    """All that there is to know of a recording, or its error; each line parsed by itself."""

    def take(_: OwnLines, readline: Any, limit: int, number: int, begin: int) -> tuple[bytes, int, int]:
        raw = readline(limit)
        return raw, number + bool(raw), begin

    with patch.object(OwnLines, "take", take):
        return _told(path, options)


def told_quickly(path: Path, **options: Any) -> Any:
    """The same, read with a template as soon as one line was like it."""
    with patch.object(own_lines, "_SIGHTINGS", 1):
        return _told(path, options)


def taken(path: Path) -> int:
    """How many spans of a file are read by a template."""
    with patch.object(own_lines, "_SIGHTINGS", 1):
        return sum(len(item) for item in read_files([path], hold=True) if isinstance(item, Batch))


def _told(path: Path, options: dict[str, Any]) -> Any:
    try:
        recording = tracetape.load(path, **options)
        crossings = [_crossing(recording, one) for one in recording.crossings]
        return {
            "trace_id": recording.trace_id,
            "gaps": recording.gaps,
            "grade": recording.grade,
            "counts": list(recording.counts.items()),
            "roots": [one.name for one in recording.roots],
            "obstacles": recording.obstacles(),
            "spans": [_span(one) for one in recording.spans],
            "crossings": crossings,
            "keys": _keys(recording),
            "after": [after_cut(recording.crossings, ReplayPlan().live(name)) for name in recording.names],
        }
    except TracetapeError as error:
        return type(error), error.code, str(error)


def _span(span: SpanRecord) -> list[Any]:
    told: list[Any] = [getattr(span, one.name) for one in fields(span) if one.name != "attributes"]
    return [*told, [(key, _text(value)) for key, value in span.attributes.items()]]


def _text(value: Any) -> Any:
    return str(value) if hasattr(value, "read") else value


def _crossing(recording: Recording, one: Crossing) -> list[Any]:
    apart = ("input", "output", "values", "kin")
    told: list[Any] = [getattr(one, field.name) for field in fields(one) if field.name not in apart]
    for payload in (one.input, one.output):
        told.append(payload and (payload.digest, payload.size, payload.text))
    told += [one.parent and one.parent.name, [child.name for child in one.children]]
    told.append(recording.crossings[recording.crossings.position(one) or 0] is one)
    told.append(recording.crossings.moment(recording.crossings.position(one) or 0))
    return told


def _keys(recording: Recording) -> Any:
    try:
        return [stub.key for stub in StubTable.of(recording, ReplayPlan(), IgnorePaths(())).stubs]
    except TypeError as error:  # nested more deeply than can be compared
        return str(error)
