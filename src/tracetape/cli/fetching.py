"""`fetch`: one trace, from wherever it is, as a recording."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.text import Text

import tracetape
from tracetape.cli.render import GRADE_STYLE, counted
from tracetape.errors import UsageError
from tracetape.exporters.otlp_json import encode_line
from tracetape.model.printing import escaped
from tracetape.model.span import SpanRecord
from tracetape.semconv import names
from tracetape.semconv.read import payload_text

__all__ = ["saved"]

# What is not to be seen in the spans any more.
_OF_THE_SOURCE = {
    "BACKEND_WARNING",
    "DUPLICATE_ATTRIBUTE",
    "INCOMPLETE_PAGE",
    "INVALID_UTF8",
    "PARTIAL_TRACE",
    "SKIPPED_LINE",
    "TRUNCATED_LAST_RECORD",
}
_PAYLOADS = ((names.INPUT_VALUE, names.INPUT_SIZE), (names.OUTPUT_VALUE, names.OUTPUT_SIZE))


def saved(source: str, output: Path, overwrite: bool, trace_id: str | None, traces: str) -> Iterator[Text]:
    """Write the trace; the lines say what was saved, and what it lacks.

    Raises UsageError for a file that is there; what `load` raises. Nothing is written then.
    """
    if output.is_dir():
        raise UsageError(f"{output} is a folder: give the name of the recording in it, as {output}/run.otlp.jsonl")
    if output.exists() and not overwrite:
        raise UsageError(f"{output} exists already; --overwrite replaces it")
    recording = tracetape.load(source, trace_id=trace_id, traces=traces)
    working = output.with_name(f"{output.name}.{os.getpid()}.part")
    try:
        try:
            descriptor = os.open(working, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise UsageError(f"{output} cannot be written: {error.strerror}") from None
        with os.fdopen(descriptor, "wb") as file:
            lacking = [f"{gap.code}: {gap.text}" for gap in recording.gaps if gap.code in _OF_THE_SOURCE]
            for span in recording.spans:
                resource = {**span.resource, names.SOURCE_GAPS: lacking} if lacking else span.resource
                file.write(encode_line(replace(_whole(span), resource=resource)))
                lacking = []  # said once
        if overwrite:
            working.replace(output)
        else:
            _put(working, output)
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}") from None
    finally:
        working.unlink(missing_ok=True)
    size = counted(len(recording.spans), "span")
    line = Text(f"{escaped(str(output))}  trace {recording.trace_id}  {size}, ")
    line.append(counted(len(recording.crossings), "crossing"))
    if recording.crossings:
        line.append(f"  {recording.grade}", style=GRADE_STYLE[recording.grade])
    yield line
    for gap in recording.gaps:
        yield Text(escaped(str(gap)), style="yellow")


def _put(working: Path, output: Path) -> None:
    """Under its name, unless that is taken: also by somebody who was quicker."""
    try:
        os.link(working, output)
    except FileExistsError:
        raise UsageError(f"{output} exists already; --overwrite replaces it") from None
    except OSError as error:
        if output.exists():
            raise UsageError(f"{output} cannot be written: {error.strerror}") from None
        working.replace(output)  # a file system without hard links


def _whole(span: SpanRecord) -> SpanRecord:
    """Payloads of ours as one text each, as in a file of ours."""
    if names.SCHEMA_VERSION not in span.attributes:
        return span
    attributes = dict(span.attributes)
    for value, size in _PAYLOADS:
        text = payload_text(attributes.get(value), attributes.get(size))
        if text is not None:
            attributes[value] = text
    return replace(span, attributes=attributes)
