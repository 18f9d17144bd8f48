"""`find`, `fetch`, `index`: their output and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.servers import Reply, Request, serving

import tracetape
from tracetape.cli import backend_commands
from tracetape.cli.commands import cli
from tracetape.sources.listing import list_traces

SAMPLES = Path(__file__).parents[2] / "recordings" / "samples"
TRACE = "00fbef7e3c9a1e5b2d48608c1ffff9d7"
assert backend_commands.find.name == "find"  # imported for its commands


def run(*args: str) -> Any:
    return CliRunner().invoke(cli, list(args))


def jaeger(request: Request) -> Reply:
    if request.path == "/api/v3/services":
        return Reply(b'{"services":["broker-agent"]}')
    return Reply((SAMPLES / "jaeger" / "jaeger_v3.json").read_bytes())


class TestFind:
    def test_lists_a_line_a_trace_and_what_to_type(self):
        with serving(jaeger) as server:
            result = run("find", f"jaeger+{server.base}", "--since", "2h", "--errors")
        assert result.exit_code == 0
        assert result.stdout.splitlines() == [
            f"{TRACE}  2025-12-01T10:00:00Z     81 ms    7 spans  failed  agent.run (broker-agent)",
            f"One of them: tracetape show jaeger+{server.base}/{TRACE}",
        ]

    def test_gives_json(self):
        with serving(jaeger) as server:
            result = run("find", f"jaeger+{server.base}", "--json")
        [found] = json.loads(result.stdout)["traces"]
        assert found["source"] == f"jaeger+{server.base}/{TRACE}"
        assert (found["spans"], found["failed"], found["started"]) == (7, True, 1_764_583_200_000_000_123)

    def test_nothing_found_is_3(self):
        with serving(lambda _: Reply(b'{"traces":[]}')) as server:
            result = run("find", f"tempo+{server.base}")
        assert (result.exit_code, "nothing found" in result.stdout) == (3, True)

    @pytest.mark.parametrize(
        ("args", "says"),
        [
            (("--since", "soon"), "--since takes a time such as 90s, 30m, 2h or 7d, not 'soon'"),
            (("--attribute", "x"), "--attribute takes a name and a value, as in order.id=ord-42, not 'x'"),
        ],
    )
    def test_wrong_use_is_2(self, args, says):
        result = run("find", "tempo+http://127.0.0.1:1", *args)
        assert (result.exit_code, result.stderr) == (2, f"tracetape: {says}\n")

    def test_a_file_is_no_backend(self):
        result = run("find", "run.jsonl")
        assert result.exit_code == 2
        assert "find looks into a backend, and run.jsonl is none: jaeger+http://HOST:16686, " in result.stderr


class TestFetch:
    def test_saves_a_trace_that_reads_the_same(self, tmp_path):
        output = tmp_path / "run.otlp.jsonl"
        with serving(jaeger) as server:
            result = run("fetch", f"jaeger+{server.base}/{TRACE}", "-o", str(output))
            fetched = tracetape.load(f"jaeger+{server.base}/{TRACE}")
        assert result.stdout == f"{output}  trace {TRACE}  7 spans, 1 crossing  unusable\n"
        assert list(tracetape.load(output).spans) == list(fetched.spans)
        assert output.stat().st_mode & 0o777 == 0o600
        assert [path.name for path in tmp_path.iterdir()] == ["run.otlp.jsonl"]

    def test_our_payloads_are_one_text_again(self, tmp_path):
        @tracetape.boundary("act", kind="tool")
        def act(text: str) -> str:
            return text * 2

        own, output = tmp_path / "own.otlp.jsonl", tmp_path / "fetched.otlp.jsonl"
        with tracetape.record(own):
            act("é" * 3_000)
        document = [json.loads(line) for line in own.read_text().split("\n") if line]
        for one in document:
            for attribute in one["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"]:
                if attribute["key"] in ("tracetape.input.value", "tracetape.output.value"):
                    text = attribute["value"].pop("stringValue")
                    parts = [text[at : at + 900] for at in range(0, len(text), 900)]
                    attribute["value"]["stringValue"] = json.dumps(parts, ensure_ascii=False)
        own.write_text("\n".join(json.dumps(one) for one in document))

        assert run("fetch", str(own), "-o", str(output)).exit_code == 0
        assert '"stringValue":"[' not in output.read_text()
        assert run("diff", str(own), str(output)).exit_code == 0
        assert tracetape.load(output).grade == "exact"

    def test_a_file_that_is_there_is_kept(self, tmp_path):
        output = tmp_path / "run.otlp.jsonl"
        output.write_text("mine")
        source = str(SAMPLES / "otlp" / "collector.jsonl")
        result = run("fetch", source, "-o", str(output))
        assert (result.exit_code, output.read_text()) == (2, "mine")
        assert result.stderr == f"tracetape: {output} exists already; --overwrite replaces it\n"
        assert run("fetch", source, "-o", str(output), "--overwrite").exit_code == 0
        assert len(tracetape.load(output).spans) == 7

    def test_a_folder_is_no_recording(self, tmp_path):
        for more in ((), ("--overwrite",)):
            result = run("fetch", str(SAMPLES / "otlp" / "collector.jsonl"), "-o", str(tmp_path), *more)
            assert result.exit_code == 2
            assert result.stderr == (
                f"tracetape: {tmp_path} is a folder: give the name of the recording in it, as "
                f"{tmp_path}/run.otlp.jsonl\n"
            )

    def test_nothing_is_written_where_nothing_is_read(self, tmp_path):
        output = tmp_path / "run.otlp.jsonl"
        result = run("fetch", str(SAMPLES / "broken" / "two_traces.jsonl"), "-o", str(output))
        assert result.exit_code == 3
        assert list(tmp_path.iterdir()) == []
        assert (
            run("fetch", str(SAMPLES / "otlp" / "collector.jsonl"), "-o", str(tmp_path / "no" / "x")).exit_code
            == 2
        )

    def test_what_is_lacking_is_said(self, tmp_path):
        source = str(SAMPLES / "tempo" / "tempo_v2_partial.json")
        result = run("fetch", source, "-o", str(tmp_path / "run.otlp.jsonl"))
        assert "PARTIAL_TRACE: Tempo has given a part of the trace alone" in result.stdout
        whole, saved = tracetape.load(source), tracetape.load(tmp_path / "run.otlp.jsonl")
        assert [(gap.code, gap.text) for gap in saved.gaps] == [(gap.code, gap.text) for gap in whole.gaps]
        again = tmp_path / "again.otlp.jsonl"
        assert run("fetch", str(tmp_path / "run.otlp.jsonl"), "-o", str(again)).exit_code == 0
        assert [gap.code for gap in tracetape.load(again).gaps] == [gap.code for gap in whole.gaps]


class TestIndex:
    def test_is_written_beside_the_file(self, tmp_path):
        path = tmp_path / "spans.jsonl"
        path.write_bytes((SAMPLES / "broken" / "two_traces.jsonl").read_bytes())
        result = run("index", str(path))
        assert (result.exit_code, result.stdout) == (0, f"{path}.ttidx  2 traces\n")
        assert run("show", str(path)).stdout.splitlines()[0] == f"{path}  2 traces"

    @pytest.mark.parametrize(
        ("name", "says"),
        [
            ("otlp/collector.jsonl.gz", "is not a plain file of OTLP JSON lines"),
            ("otlp/otlp_pretty.json", "is not a plain file of OTLP JSON lines"),
            ("otlp", "is a folder: give its files one by one"),
            ("broken/empty_file.jsonl", "no spans in it"),
            ("broken/nowhere.jsonl", "no such file"),
        ],
    )
    def test_what_can_have_none_is_told(self, name, says):
        result = run("index", str(SAMPLES / name))
        assert result.exit_code == 3
        assert says in result.stderr
        assert not list(SAMPLES.rglob("*.ttidx"))

    def test_a_file_that_is_written_to_meanwhile_gets_none(self, tmp_path, monkeypatch):
        path = tmp_path / "spans.jsonl"
        path.write_bytes((SAMPLES / "broken" / "two_traces.jsonl").read_bytes())
        plain = list_traces

        def meanwhile(*args: Any, **options: Any) -> Any:
            found = plain(*args, **options)
            with path.open("ab") as file:
                file.write(b"\n")
            return found

        monkeypatch.setattr("tracetape.cli.listing_runs.list_traces", meanwhile)
        result = run("index", str(path))
        assert (result.exit_code, "was written to while it was read" in result.stderr) == (3, True)
        assert [one.name for one in tmp_path.iterdir()] == ["spans.jsonl"]

    def test_a_damaged_file_is_told(self, tmp_path):
        path = tmp_path / "spans.jsonl"
        path.write_bytes((SAMPLES / "broken" / "log_noise.jsonl").read_bytes())
        lines = run("index", str(path)).stdout.splitlines()
        assert lines[0] == f"{path}.ttidx  1 trace"
        assert "SKIPPED_LINE" in lines[1]
        assert lines[-1] == "Some of it could not be read, so single runs are looked for as without an index."

    def test_a_url_has_none(self):
        result = run("index", "http://127.0.0.1:1/spans.jsonl?sig=hush")
        assert result.exit_code == 3
        assert result.stderr == (
            "tracetape: http://127.0.0.1:1/spans.jsonl: an index stands beside a file of this machine\n"
        )


class TestShowingAUrl:
    def test_of_several_traces_lists_them_and_prints_no_secret(self):
        body = (SAMPLES / "broken" / "two_traces.jsonl").read_bytes()
        with serving(lambda _: Reply(body)) as server:
            result = run("show", f"{server.base}/spans.jsonl?sig=hush")
            listed = json.loads(run("show", f"{server.base}/spans.jsonl?sig=hush", "--json").stdout)
        assert result.exit_code == 0
        assert result.stdout.splitlines()[0] == f"{server.base}/spans.jsonl  2 traces"
        assert "hush" not in result.output
        assert len(listed["traces"]) == 2

    @pytest.mark.parametrize(
        "source",
        [
            "http://[::1/x?sig=hush",
            "http://h:port/x?sig=hush",
            "phoenix+http://h?token=hush",
            "jaeger+http:///abcdef?sig=hush",
            "http:///x?sig=hush",
        ],
    )
    @pytest.mark.parametrize("command", ["show", "find"])
    def test_an_address_that_is_none_is_told_in_a_line_without_secrets(self, source, command):
        result = run(command, source)
        assert result.exit_code in (2, 3)
        assert result.stderr.startswith("tracetape: ")
        assert "hush" not in result.output

    def test_a_path_in_letters_of_any_language_is_asked_for(self):
        body = (SAMPLES / "otlp" / "collector.jsonl").read_bytes()
        with serving(lambda _: Reply(body)) as server:
            assert run("show", f"{server.base}/läufe/é.jsonl").exit_code == 0
        assert server.requests[0].path == "/l%C3%A4ufe/%C3%A9.jsonl"
