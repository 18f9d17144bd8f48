"""Recordings in a folder: one file a trace, whole, private, bounded."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult

import tracetape
from tests.unit.exporters.spans import made
from tracetape.exporters import whole
from tracetape.exporters.folder import FolderExporter
from tracetape.exporters.retention import Kept, expired, name_of
from tracetape.exporters.runfile import RunFile, removed

DAY = 86_400


def trace_number(span: Any) -> int:
    return int(span.context.trace_id)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class TestFiles:
    def test_one_a_trace_named_by_its_start_and_its_id(self, tmp_path: Path) -> None:
        exporter = FolderExporter(tmp_path)
        one, other = made("one"), made("other")
        assert exporter.export([one, other]) is SpanExportResult.SUCCESS
        assert names_in(tmp_path) == sorted(
            name_of(trace_number(span), span.start_time or 0) for span in (one, other)
        )
        (loaded,) = tracetape.read_spans(tmp_path / name_of(trace_number(one), one.start_time or 0))
        assert (loaded.name, loaded.trace_id) == ("one", f"{trace_number(one):032x}")
        exporter.shutdown()

    def test_nobody_else_may_read_them(self, tmp_path: Path) -> None:
        folder = tmp_path / "deep" / "down"
        exporter = FolderExporter(folder)
        exporter.export([made()])
        (file,) = folder.iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        exporter.shutdown()

    def test_no_text_of_a_program_gets_into_a_name(self) -> None:
        assert name_of(2**128 - 1, 0) == "19700101T000000Z-" + "f" * 32 + ".otlp.jsonl"
        assert name_of(1, -5).startswith("19700101T000000Z-")
        assert name_of(1, 10**30).startswith("99991231T235959Z-")

    def test_what_comes_late_goes_into_the_file_that_its_trace_has(self, tmp_path: Path) -> None:
        provider = TracerProvider(shutdown_on_exit=False)
        first = FolderExporter(tmp_path)
        provider.add_span_processor(SimpleSpanProcessor(first))
        tracer = provider.get_tracer("t")
        root = tracer.start_span("root")
        child = tracer.start_span("child", context=trace.set_span_in_context(root))
        root.end()
        assert first._files == {}, "the run is at its end, and its file is closed"
        child.end()
        (file,) = tmp_path.iterdir()
        assert [span.name for span in tracetape.read_spans(file)] == ["root", "child"]
        first.shutdown()
        # Another process of the same trace.
        second = FolderExporter(tmp_path)
        again = tracer.start_span("again", context=trace.set_span_in_context(root))
        again.end()
        second.export([again._readable_span()])  # type: ignore[attr-defined]
        assert [path.name for path in tmp_path.iterdir()] == [file.name]
        second.shutdown()

    def test_few_are_open_at_once(self, tmp_path: Path) -> None:
        provider = TracerProvider(shutdown_on_exit=False)
        exporter = FolderExporter(tmp_path)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        tracer = provider.get_tracer("t")
        roots = [tracer.start_span("root") for _ in range(100)]
        for _ in range(2):
            for root in roots:
                tracer.start_span("child", context=trace.set_span_in_context(root)).end()
        assert len(exporter._files) <= 64
        assert len(names_in(tmp_path)) == 100
        assert all(len(list(tracetape.read_spans(path))) == 2 for path in tmp_path.iterdir())
        exporter.shutdown()

    def test_a_folder_that_cannot_be_made_is_said_once_and_the_program_goes_on(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "taken").write_text("")
        exporter = FolderExporter(tmp_path / "taken" / "runs")
        assert exporter.export([made(), made()]) is SpanExportResult.FAILURE
        assert exporter.lost == 2
        assert [record.getMessage() for record in caplog.records] == [
            f"tracetape: spans are lost: {tmp_path}/taken/runs cannot be made: Not a directory. Set TRACETAPE_DIR "
            "to another folder; the program goes on"
        ]
        exporter.shutdown()

    def test_the_environment_says_where_and_how_much(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        exporter = FolderExporter()
        assert exporter.folder == tmp_path / "tracetape-runs"
        exporter.shutdown()
        monkeypatch.setenv("TRACETAPE_DIR", "elsewhere")
        monkeypatch.setenv("TRACETAPE_DIR_MAX_BYTES", "1000")
        monkeypatch.setenv("TRACETAPE_DIR_MAX_AGE", "12h")
        exporter = FolderExporter()
        monkeypatch.chdir("/")
        exporter.export([made()])
        assert len(names_in(tmp_path / "elsewhere")) == 1
        assert (exporter._max_bytes, exporter._max_seconds) == (1_000, 43_200)
        exporter.shutdown()

    @pytest.mark.parametrize("said", ["7 weeks", "-1", "1w", "many"])
    def test_an_age_that_is_none_is_said(self, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TRACETAPE_DIR_MAX_AGE", said)
        with pytest.warns(
            RuntimeWarning, match=f"^TRACETAPE_DIR_MAX_AGE={said!r} is not a number of seconds, or "
        ):
            exporter = FolderExporter(tmp_path)
        assert exporter._max_seconds == 7 * DAY
        exporter.shutdown()


class TestRetention:
    def file(self, day: int, size: int = 10, *, is_open: bool = False) -> Kept:
        return Kept(name_of(day, day * DAY * 10**9), size, day * DAY, is_open)

    def gone(self, files: list[Kept], now: int, max_bytes: int = 0, max_days: int = 0) -> list[int]:
        found = expired(files, now * DAY, max_bytes, max_days * DAY)
        return [int(name.partition("-")[2].partition(".")[0], 16) for name in found]

    def test_the_oldest_go_first(self) -> None:
        files = [self.file(day) for day in (3, 1, 4, 2)]
        assert self.gone(files, 5, max_bytes=25) == [1, 2]
        assert self.gone(files, 5, max_bytes=40) == []
        assert self.gone(files, 5, max_days=3) == [1]
        assert self.gone(files, 50, max_days=3) == [1, 2, 3, 4]

    def test_nothing_is_no_limit(self) -> None:
        assert self.gone([self.file(1, 10**12)], 10**4) == []

    def test_the_latest_stays_however_large_it_is(self) -> None:
        files = [self.file(1), self.file(2, 10**9)]
        assert self.gone(files, 3, max_bytes=10) == [1]
        assert self.gone(files, 50, max_bytes=10, max_days=3) == [1, 2]

    def test_an_open_one_stays_and_counts(self) -> None:
        files = [self.file(1, is_open=True), self.file(2), self.file(3)]
        assert self.gone(files, 50, max_bytes=15) == [2]
        assert self.gone(files, 50, max_days=3) == [2, 3]

    @pytest.mark.parametrize(
        "name",
        [
            "notes.txt",
            "incident.otlp.jsonl",
            "run-20261130T101112Z-5-abcdef.otlp.jsonl",
            "20261130T101112Z-" + "a" * 31 + ".otlp.jsonl",
            "20261130T101112Z-" + "A" * 32 + ".otlp.jsonl",
            "20261130T101112Z-" + "a" * 32 + ".otlp.jsonl.zst",
            "20261130T101112Z-" + "a" * 32 + ".otlp.jsonl.open.5",
            "my-20261130T101112Z-" + "a" * 32 + ".otlp.jsonl",
            "20261130T101112Z-" + "a" * 32 + ".otlp.jsonl\n",
            "٢٠٢٦1130T101112Z-" + "a" * 32 + ".otlp.jsonl",
        ],
    )
    def test_other_files_are_nobody_s_to_delete(self, name: str) -> None:
        assert expired([Kept(name, 10**9, 0)], 10**10, 1, 1) == []

    def test_in_a_folder(self, tmp_path: Path) -> None:
        old = [tmp_path / name_of(number, number * DAY * 10**9) for number in range(1, 6)]
        mine = tmp_path / "incident.otlp.jsonl"
        for number, path in enumerate([*old, mine], 1):
            path.write_bytes(b"x" * 1_000)
            os.utime(path, (number * 60, number * 60))
        (tmp_path / name_of(99, 0)).mkdir()
        exporter = FolderExporter(tmp_path, max_bytes=3_000, max_seconds=0)
        exporter.export([made()])
        exporter.shutdown()
        left = names_in(tmp_path)
        assert [path.name for path in old[3:]] == [name for name in left if name in {one.name for one in old}]
        assert mine.name in left
        assert (tmp_path / name_of(99, 0)).is_dir()
        again = FolderExporter(tmp_path, max_bytes=0, max_seconds=3_600)
        again.shutdown()
        assert (
            len([name for name in names_in(tmp_path) if re.match(r"\d{8}T", name)]) == 2
        )  # the new one, the folder

    def test_a_long_run_is_bounded_while_it_goes_on(self, tmp_path: Path) -> None:
        exporter = FolderExporter(tmp_path, max_bytes=100_000, max_seconds=0)
        for _ in range(100):
            exporter.export([made("root", 5_000)])
        total = sum(path.stat().st_size for path in tmp_path.iterdir())
        assert total < 120_000
        exporter.shutdown()

    @pytest.mark.filterwarnings("ignore:This process.* is multi-threaded:DeprecationWarning")
    def test_one_that_is_written_stays_whoever_writes_it(self, tmp_path: Path) -> None:
        path = tmp_path / name_of(1, 0)
        file = RunFile(path)
        file.write(b"{}\n")
        os.utime(path, (0, 0))
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.write(write, b"1" if removed(path) else b"0")
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(read, 1) == b"0"
        for end in (read, write):
            os.close(end)
        FolderExporter(tmp_path, max_bytes=1, max_seconds=1).shutdown()
        assert path.exists()
        del file
        FolderExporter(tmp_path, max_bytes=1, max_seconds=1).shutdown()
        assert not path.exists()

    def test_a_file_that_goes_while_it_is_opened_is_made_anew(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import fcntl

        path = tmp_path / name_of(1, 0)
        flock = fcntl.flock
        taken: list[int] = []

        def late(lock: int, how: int) -> None:
            if not taken:
                taken.append(how)
                path.unlink()
            flock(lock, how)

        monkeypatch.setattr(fcntl, "flock", late)
        file = RunFile(path)
        file.write(b"{}\n")
        assert path.read_bytes() == b"{}\n"


class TestWhatHasNoRoomOnTheHostsSpan:
    @pytest.fixture
    def provider(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        from tracetape.recorder import host

        provider = TracerProvider(shutdown_on_exit=False)
        exporter = FolderExporter(tmp_path)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        monkeypatch.setattr(host, "provider", lambda: provider)
        yield provider
        exporter.shutdown()
        assert not whole.is_wanted

    @pytest.mark.parametrize("limit", [None, "1000"])
    def test_it_is_in_the_file_whole(
        self, limit: str | None, provider: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if limit:
            monkeypatch.setenv("TRACETAPE_EXPORT_LIMIT", limit)

        @tracetape.boundary("keep", kind="tool")
        def keep(text: str) -> str:
            return text

        text = "é" * 200_000
        monkeypatch.setattr("tracetape.recorder.host.present", lambda: True)
        keep(text)
        (file,) = tmp_path.iterdir()
        (crossing,) = tracetape.load(file).crossings
        assert crossing.result == text
        assert crossing.inputs == {"text": text}
        assert (crossing.grade, crossing.gaps) == ("exact", ())
        (span,) = tracetape.read_spans(file)
        assert isinstance(span.attributes["tracetape.output.value"], str)
        assert "tracetape.content" not in span.attributes
        assert whole._kept == {}
        assert whole._bytes == 0

    def test_switched_off_it_is_nowhere(
        self, provider: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setenv("TRACETAPE_CONTENT", "off")

        @tracetape.boundary("keep", kind="tool")
        def keep(text: str) -> str:
            return text

        monkeypatch.setattr("tracetape.recorder.host.present", lambda: True)
        keep("secret" * 100_000)
        (file,) = tmp_path.iterdir()
        assert b"secret" not in file.read_bytes()
        assert whole._kept == {}

    def test_what_nobody_asks_for_does_not_stay_for_ever(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(whole, "MOST_BYTES", 1_000)
        waiting = [made() for _ in range(10)]
        whole.keep_for(1)
        for span in waiting:
            whole.keep(span, {"tracetape.output.value": "x" * 300, "tracetape.output.size": 300})
        assert len(whole._kept) == 3
        assert [whole.take(one.context.trace_id, one.context.span_id) is not None for one in waiting] == [
            *[False] * 7,
            *[True] * 3,
        ]
        assert whole._bytes == 0
        whole.keep(waiting[0], {"tracetape.output.value": "x", "tracetape.output.size": 1})
        whole.keep_for(-1)
        assert (whole._kept, whole._bytes) == ({}, 0)

    def test_each_of_two_folders_has_it_whole(
        self,
        provider: Any,
        tmp_path: Path,
        tmp_path_factory: pytest.TempPathFactory,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        second = tmp_path_factory.mktemp("second")
        other = FolderExporter(second)
        provider.add_span_processor(SimpleSpanProcessor(other))
        monkeypatch.setattr("tracetape.recorder.host.present", lambda: True)

        @tracetape.boundary("keep", kind="tool")
        def keep(text: str) -> str:
            return text

        keep("x" * 300_000)
        other.shutdown()
        for folder in (tmp_path, second):
            (file,) = folder.iterdir()
            assert tracetape.load(file)["keep", 1].result == "x" * 300_000


def test_a_folder_is_looked_through_when_others_have_changed_it_and_not_for_each_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Any] = []
    plain = os.scandir

    def noted(path: Any) -> Any:
        looked.append(path)
        return plain(path)

    exporter = FolderExporter(tmp_path)
    exporter.export([made()])
    monkeypatch.setattr(os, "scandir", noted)
    for _ in range(50):
        exporter.export([made()])
    assert looked == []

    late = made()
    theirs = tmp_path / name_of(trace_number(late), 0)
    theirs.touch()
    exporter.export([late])
    assert len(looked) == 1
    assert len(list(tracetape.read_spans(theirs))) == 1
    exporter.shutdown()
