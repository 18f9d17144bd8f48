"""A backend is built once, whole or not at all; a test that lacks one skips, or fails where it may not skip."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.backends import build as building
from tests.backends import needs
from tests.backends.build import BuildError, build, main
from tests.backends.cache import BACKENDS, available, root
from tests.backends.processes import Server, StartError, free_ports


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACETAPE_BACKENDS", str(tmp_path / "cache"))
    return tmp_path / "cache"


def put(source: Path, into: Path) -> None:
    (into / "otelcol").write_text("built")


def fail(source: Path, into: Path) -> None:
    (into / "otelcol").write_text("half")
    raise BuildError("no compiler")


def leave_nothing(source: Path, into: Path) -> None:
    (into / "other").touch()


class TestBuilding:
    def test_a_second_run_builds_nothing(self):
        collector = BACKENDS["collector"]
        assert build(collector, {"collector": put}) is True
        assert build(collector, {"collector": fail}) is False
        assert collector.path.read_text() == "built"

    @pytest.mark.parametrize("broken", [fail, leave_nothing])
    def test_a_failed_build_leaves_nothing_behind(self, broken, cache):
        with pytest.raises(BuildError):
            build(BACKENDS["collector"], {"collector": broken})
        assert list(cache.iterdir()) == []
        assert available("collector") == "collector is not built: run `make backends`"

    def test_one_that_fails_says_why_and_the_others_go_on(self, monkeypatch, capsys):
        monkeypatch.setattr(building, "BUILDS", {"collector": put, "jaeger": fail, "kafka": kafka})
        assert main(["jaeger", "collector", "kafka"]) == 1
        said = capsys.readouterr()
        assert "jaeger was not built: no compiler" in said.err
        assert [line.split(":")[0] for line in said.out.splitlines()] == ["jaeger", "collector", "kafka"]
        assert BACKENDS["collector"].path.exists()
        assert BACKENDS["kafka"].path.exists()
        assert not BACKENDS["jaeger"].entry.exists()

    def test_a_missing_tool_is_named(self, monkeypatch, capsys):
        monkeypatch.setenv("PATH", "/nowhere")
        assert main(["collector", "kafka"]) == 1
        said = capsys.readouterr().err
        assert "collector was not built: go is not on the path" in said
        assert "kafka was not built: mvn is not on the path" in said

    def test_what_a_failing_command_said_is_passed_on(self, tmp_path):
        with pytest.raises(BuildError, match="the reason"):
            building.run([sys.executable, "-c", "print('the reason'); raise SystemExit(3)"], tmp_path)

    def test_changed_sources_are_another_entry(self, tmp_path, monkeypatch):
        before = BACKENDS["collector"].entry
        monkeypatch.setattr("tests.backends.cache.SOURCES", tmp_path)
        (tmp_path / "collector").mkdir()
        for name in BACKENDS["collector"].sources:
            (tmp_path / "collector" / name).write_text("another")
        assert BACKENDS["collector"].entry not in (before, None)
        assert BACKENDS["collector"].entry.parent == before.parent == root()


def kafka(source: Path, into: Path) -> None:
    (into / "lib").mkdir()


class TestNeeds:
    def test_it_skips_with_the_reason(self, monkeypatch):
        monkeypatch.delenv("TRACETAPE_REQUIRE_BACKENDS", raising=False)
        with pytest.raises(pytest.skip.Exception, match="collector is not built: run `make backends`"):
            needs("collector")

    def test_it_fails_where_backends_are_required(self, monkeypatch):
        monkeypatch.setenv("TRACETAPE_REQUIRE_BACKENDS", "1")
        with pytest.raises(pytest.fail.Exception, match="collector is not built"):
            needs("collector")

    def test_what_is_built_is_needed_in_silence(self, monkeypatch):
        monkeypatch.setenv("TRACETAPE_REQUIRE_BACKENDS", "1")
        build(BACKENDS["collector"], {"collector": put})
        needs("collector")


class Program(Server):
    """Python code as a server, which is ready once it has said so."""

    def __init__(self, folder: Path, code: str, *, ready_within: float = 20, stops_within: float = 20) -> None:
        super().__init__("program", folder, ready_within=ready_within, stops_within=stops_within)
        self._code = code

    def command(self) -> list[str]:
        return [sys.executable, "-u", "-c", self._code]

    def ready(self) -> bool:
        return "ready" in self.said()


class TestServers:
    def test_one_that_ends_before_it_is_ready_is_an_error_with_what_it_said(self, tmp_path):
        with pytest.raises(StartError, match=r"(?s)ended with 4 before it was ready.*no such port"):
            Program(tmp_path, "print('no such port'); raise SystemExit(4)").start()

    def test_one_that_never_gets_ready_is_killed(self, tmp_path):
        server = Program(tmp_path, "import time; print('busy'); time.sleep(60)", ready_within=1)
        with pytest.raises(StartError, match=r"(?s)not ready within 1 s.*busy"):
            server.start()
        with pytest.raises(AssertionError, match="not running"):
            server.pid  # noqa: B018

    def test_one_that_does_not_stop_is_killed_and_told_of(self, tmp_path):
        deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready'); time.sleep(60)"
        server = Program(tmp_path, deaf, stops_within=1)
        server.start()
        with pytest.raises(StartError, match="did not stop within 1 s"):
            server.stop()

    def test_started_again_it_is_waited_for_again(self, tmp_path):
        server = Program(tmp_path, "import os, time; print('ready', os.getpid()); time.sleep(60)")
        with server:
            server.kill()
            assert "ready" in server.said()
            server.start()
            assert str(server.pid) in server.said()
            assert server.said().count("ready") == 1

    def test_ports_are_all_different(self):
        assert len(set(free_ports(20))) == 20
