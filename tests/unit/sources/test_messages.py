"""The whole text of the errors that people meet most."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from tracetape.errors import FormatError, SourceError, TraceSelectionError, UsageError
from tracetape.sources.loading import load, read_spans

SAMPLES = Path(__file__).parents[2] / "recordings" / "samples"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The samples under short names, so that whole texts can be compared."""
    for name in ("two_traces.jsonl", "html_login.json", "half_written_last_line.jsonl", "wrong_signal.jsonl"):
        shutil.copy(SAMPLES / "broken" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def text_of(kind, *sources, **options) -> tuple[str, str]:
    with pytest.raises(kind) as caught:
        load(*sources, **options)
    assert type(caught.value) is kind
    return caught.value.code, str(caught.value)


def test_a_file_that_is_not_there(here):
    assert text_of(SourceError, "two_tracs.jsonl") == (
        "FILE_NOT_FOUND",
        f"two_tracs.jsonl: no such file in {here.resolve()}; did you mean 'two_traces.jsonl'?",
    )


def test_a_folder_that_is_not_there(here):
    assert text_of(SourceError, "runs/a.jsonl") == (
        "FILE_NOT_FOUND",
        "runs/a.jsonl: no such file, and no folder runs",
    )


def test_a_file_that_may_not_be_read(here, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    # Root may read everything, so a mode of 0 proves nothing where tests run as root.
    monkeypatch.setattr(Path, "open", refuse)

    assert text_of(SourceError, "two_traces.jsonl") == (
        "CANNOT_READ",
        "two_traces.jsonl cannot be read: Permission denied. "
        "Ask its owner for the right to read it, or copy it as that user.",
    )


def test_a_url():
    assert text_of(SourceError, "jaeger+http://localhost:16686/api") == (
        "UNKNOWN_SOURCE",
        "jaeger+http://localhost:16686/api: says no trace. It is spelt "
        "jaeger+http://localhost:16686/api/TRACE_ID, or with --trace ID; to look for traces: tracetape find jaeger+http://localhost:16686/api",
    )


def test_two_traces_and_none_asked_for(here):
    assert text_of(TraceSelectionError, "two_traces.jsonl") == (
        "AMBIGUOUS_TRACE",
        "two_traces.jsonl: 2 traces in it, and none was asked for. There are:\n"
        "  00fbef7e3c9a1e5b2d48608c1ffff9d7  7 spans, 'agent.run'\n"
        "  5b8efff798038103d269b633813fc60c  7 spans, 'agent.run'\n"
        'Choose one: trace_id="…" (--trace on the command line); or traces="all" (--traces all) '
        "if they are one run.",
    )


def test_a_trace_that_is_not_there(here):
    assert text_of(TraceSelectionError, "two_traces.jsonl", trace_id="ABC") == (
        "TRACE_NOT_FOUND",
        "two_traces.jsonl: no trace 00000000000000000000000000000abc in it. There are:\n"
        "  00fbef7e3c9a1e5b2d48608c1ffff9d7  7 spans, 'agent.run'\n"
        "  5b8efff798038103d269b633813fc60c  7 spans, 'agent.run'",
    )


def test_a_web_page(here):
    assert text_of(FormatError, "html_login.json") == (
        "NOT_JSON",
        "html_login.json: line 1 is not JSON: "
        "'<!doctype html><html><head><title>Sign in</title></head><bod'…. "
        "It is a web page: the address was wrong, or needs a login. Save the trace itself.",
    )


def test_plain_text(here):
    (here / "notes.txt").write_text("buy milk\nbuy \x1b[31mACME\n")

    assert text_of(FormatError, "notes.txt") == (
        "NOT_JSON",
        "notes.txt: line 1 is not JSON: 'buy milk'. "
        "Read are, plain or in gzip or zstd: OTLP JSON, OTLP JSON spans, OTLP protobuf, Jaeger API v3, "
        "Jaeger JSON, Tempo JSON, Zipkin JSON, Phoenix JSON, Phoenix OTLP JSON, MLflow JSON, "
        "OpenTelemetry SDK console, Chronicle JSON.",
    )


def test_a_cut_file_in_strict_mode(here):
    assert text_of(FormatError, "half_written_last_line.jsonl", strict=True) == (
        "TRUNCATED_FILE",
        "half_written_last_line.jsonl: the text ends in the middle of a JSON document, 3,692 bytes after its "
        "start at line 2; what came before it is kept. The process was killed, or is still writing. "
        "(half_written_last_line.jsonl:2)",
    )


def test_a_cut_file_of_one_record(here):
    (here / "one.json").write_text('{"resourceSpans":[{"scope')

    assert text_of(FormatError, "one.json") == (
        "TRUNCATED_FILE",
        "one.json: the text ends in the middle of a JSON document, 25 bytes after its start at line 1; "
        "what came before it is kept. The process was killed, or is still writing. No span is left in it.",
    )


def test_another_signal(here):
    assert text_of(FormatError, "wrong_signal.jsonl") == (
        "WRONG_SIGNAL",
        "wrong_signal.jsonl:1: is an OTLP export of logs. Give the export of traces.",
    )


def test_nothing_in_it(here):
    (here / "empty.jsonl").touch()

    assert text_of(SourceError, "empty.jsonl") == (
        "NO_SPANS",
        "empty.jsonl: no spans in it. Was the run recorded, and had it ended? "
        "Exporters write late: flush them before the program ends.",
    )


@pytest.mark.parametrize(
    ("sources", "options", "text"),
    [
        ((), {}, 'no source was given: load("run.otlp.jsonl"), or a directory of such files'),
        (("",), {}, "a source is a path, and this one is empty"),
        ((["a"],), {}, "a source is a path (a str or path-like), one argument each, not ['a']"),
        ((b"a",), {}, "a source is a path (a str or path-like), one argument each, not b'a'"),
        (
            ("a",),
            {"traces": "some"},
            'traces=\'some\' is not one of "one" (a single trace), "all" (every trace is one run)',
        ),
        (("a",), {"trace_id": "xyz"}, "trace_id='xyz' is not a trace id: 32 hex digits, leading zeros optional"),
        (("a",), {"trace_id": ""}, "trace_id='' is not a trace id: 32 hex digits, leading zeros optional"),
        (("a",), {"trace_id": 5}, "trace_id=5 is not a trace id: 32 hex digits, leading zeros optional"),
        (
            ("a",),
            {"trace_id": "a", "traces": "all"},
            'trace_id picks one trace and traces="all" takes every one: give only one of them',
        ),
    ],
)
def test_wrong_arguments(sources, options, text):
    assert text_of(UsageError, *sources, **options) == ("USAGE", text)


def test_read_spans_refuses_wrong_arguments_at_once():
    with pytest.raises(UsageError):
        read_spans()


def test_read_spans_says_when_there_is_nothing(here):
    (here / "empty.jsonl").touch()

    with pytest.raises(SourceError) as caught:
        list(read_spans("empty.jsonl"))

    assert (caught.value.code, str(caught.value)) == ("NO_SPANS", "empty.jsonl: no spans in it")
