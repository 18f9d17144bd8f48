"""Each backend: asked as its API wants it; each refusal is an error of its own that says what to do."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.servers import FakeTempo, Reply, Request, Served, serving

import tracetape
from tracetape.errors import SourceError, TraceSelectionError, TracetapeError
from tracetape.sources import remote
from tracetape.sources.addresses import meant
from tracetape.sources.backends import Wanted

SAMPLES = Path(__file__).parents[3] / "recordings" / "samples"
TRACE = "00fbef7e3c9a1e5b2d48608c1ffff9d7"
HTML = Reply(b"<!doctype html><html><title>UI</title></html>", content_type="text/html; charset=utf-8")


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that would have been made."""
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    return slept


def sample(name: str) -> Reply:
    return Reply((SAMPLES / name).read_bytes())


def at(server: Served, backend: str, rest: str = TRACE) -> str:
    return f"{backend}+{server.base}/{rest}"


def refused(source: str, kind: type[TracetapeError] = SourceError) -> tuple[str, str]:
    with pytest.raises(kind) as caught:
        tracetape.load(source)
    return caught.value.code, str(caught.value)


def jaeger(request: Request) -> Reply:
    if request.path == f"/api/v3/traces/{TRACE}":
        return sample("jaeger/jaeger_v3_real.json")
    if request.path == f"/api/traces/{TRACE}":
        return sample("jaeger/jaeger_legacy_real.json")
    if request.path.startswith("/api/v3/traces/"):
        return Reply((SAMPLES / "jaeger/jaeger_v3_not_found.json").read_bytes(), 404)
    return HTML


def phoenix(request: Request) -> Reply:
    if request.path != "/v1/projects/broker-agent/spans":
        return Reply(b"Project not found", 404, "text/plain") if request.path.startswith("/v1/") else HTML
    if request.query.get("trace_id") == [TRACE]:
        return sample("phoenix/spans.json")
    return Reply(b'{"data":[],"next_cursor":null}')


def mlflow(request: Request) -> Reply:
    if request.query.get("trace_id") == [f"tr-{TRACE}"]:
        return sample("mlflow/traces_get.json")
    return Reply(b'{"error_code":"RESOURCE_DOES_NOT_EXIST","message":"no"}', 404)


class TestATraceIsFetched:
    def test_from_jaeger_by_its_true_otlp(self) -> None:
        with serving(jaeger) as server:
            recording = tracetape.load(at(server, "jaeger"))
        assert len(recording.spans) == 7
        assert recording.gaps == ()
        assert [one.path for one in server.requests] == [f"/api/v3/traces/{TRACE}"]

    def test_from_an_older_jaeger_by_its_legacy_api(self) -> None:
        with serving(lambda request: HTML if "v3" in request.path else jaeger(request)) as server:
            assert len(tracetape.load(at(server, "jaeger")).spans) == 7

    def test_from_tempo_in_protobuf(self) -> None:
        with serving(lambda _: sample("tempo/tempo_v2.pb")) as server:
            assert len(tracetape.load(at(server, "tempo")).spans) == 7
        assert server.requests[0].path == f"/api/v2/traces/{TRACE}"
        assert server.requests[0].headers["accept"] == "application/protobuf"

    def test_from_an_older_tempo(self) -> None:
        def old(request: Request) -> Reply:
            return sample("tempo/tempo_v1.pb") if "/v2/" not in request.path else Reply(b"404 page not found", 404)

        with serving(old) as server:
            assert len(tracetape.load(at(server, "tempo")).spans) == 7

    def test_from_phoenix_page_by_page(self) -> None:
        pages = json.loads((SAMPLES / "phoenix/spans.json").read_bytes())["data"]

        def paged(request: Request) -> Reply:
            page = int(request.query.get("cursor", ["0"])[0])
            found = {"data": pages[3 * page : 3 * page + 3], "next_cursor": str(page + 1) if page < 2 else None}
            return Reply(json.dumps(found).encode())

        with serving(paged) as server:
            recording = tracetape.load(at(server, "phoenix", f"broker-agent/{TRACE}"))
        assert len(recording.spans) == 7
        assert recording.gaps == ()
        assert [one.query["limit"] for one in server.requests] == [["1000"]] * 3

    def test_from_mlflow(self) -> None:
        with serving(mlflow) as server:
            assert len(tracetape.load(at(server, "mlflow")).spans) == 7
            assert len(tracetape.load(at(server, "mlflow", f"tr-{TRACE}")).spans) == 7

    def test_by_a_short_id_in_capitals_or_by_the_option(self) -> None:
        with serving(jaeger) as server:
            assert len(tracetape.load(at(server, "jaeger", TRACE[2:].upper())).spans) == 7
            assert len(tracetape.load(f"jaeger+{server.base}", trace_id=TRACE).spans) == 7

    def test_behind_a_path(self) -> None:
        def behind(request: Request) -> Reply:
            assert request.path.startswith("/tools/jaeger/")
            return sample("jaeger/jaeger_v3.json")

        with serving(behind) as server:
            assert len(tracetape.load(at(server, "jaeger", f"tools/jaeger/{TRACE}")).spans) == 7

    def test_as_a_plain_file_whatever_its_form(self) -> None:
        files = {"/a.zst": "otlp/collector_framed.json.zst", "/b": "jaeger/jaeger_legacy.json"}
        with serving(lambda request: sample(files[request.path])) as server:
            for path in files:
                assert len(tracetape.load(f"{server.base}{path}?sig=x").spans) == 7


class TestWhatPeoplePaste:
    @pytest.mark.parametrize(
        ("url", "address"),
        [
            (f"http://h:16686/trace/{TRACE}", f"jaeger+http://h:16686/{TRACE}"),
            ("http://h/files/trace/abc", "None"),
            (f"https://h/jaeger/ui/trace/{TRACE[2:]}?uiFind=x", f"jaeger+https://h/jaeger/ui/{TRACE}"),
            (f"http://h:6006/projects/UHJvamVjdDox/traces/{TRACE}", f"phoenix+http://h:6006/UHJvamVjdDox/{TRACE}"),
            (
                f"http://h:5000/#/experiments/1/traces?selectedEvaluationId=tr-{TRACE}",
                f"mlflow+http://h:5000/{TRACE}",
            ),
            (
                "https://g/explore?schemaVersion=1&panes=%7B%22a%22:%7B%22datasource%22:%22uid1%22,%22queries%22:%5B%7B"
                "%22datasource%22:%7B%22type%22:%22tempo%22,%22uid%22:%22uid1%22%7D,%22queryType%22:%22traceql%22,"
                f"%22query%22:%22{TRACE}%22%7D%5D%7D%7D&orgId=1",
                f"tempo+https://g/api/datasources/proxy/uid/uid1/{TRACE}",
            ),
            ("http://h/files/run.jsonl", "None"),
            ("http://h:16686/api/traces/abc", "None"),
            ("s3://bucket/run.jsonl", "None"),
        ],
    )
    def test_a_browsers_address_means_a_trace(self, url: str, address: str) -> None:
        assert str(meant(url)) == address

    def test_it_is_read(self) -> None:
        with serving(jaeger) as server:
            assert len(tracetape.load(f"{server.base}/trace/{TRACE}").spans) == 7

    def test_another_page_says_what_it_is(self) -> None:
        with serving(lambda _: HTML) as server:
            code, text = refused(f"{server.base}/some/page")
        assert (code, text.partition(" A page")[0]) == (
            "WEB_PAGE",
            f"{server.base}/some/page: is a web page, not a file of spans.",
        )
        for spelling in ("jaeger+http://HOST:16686/TRACE_ID", "phoenix+http://HOST:6006/PROJECT/TRACE_ID"):
            assert spelling in text


class TestEachRefusalIsItsOwnError:
    def test_not_found(self, no_waiting: list[float]) -> None:
        other = "f" * 32
        with serving(jaeger) as server:
            code, text = refused(at(server, "jaeger", other), TraceSelectionError)
            assert (code, text) == (
                "TRACE_NOT_FOUND",
                f"jaeger+{server.base}/{other}: Jaeger has no such trace. Is the id right, and has the trace "
                "been kept? Jaeger's memory storage drops the oldest traces, others have a time to live. To look: "
                f"tracetape find jaeger+{server.base}",
            )
        with serving(FakeTempo()) as server:
            code, text = refused(at(server, "tempo", other), TraceSelectionError)
            assert code == "TRACE_NOT_FOUND"
            assert "TRACETAPE_TEMPO_TENANT" in text
        with serving(phoenix) as server:
            code, text = refused(at(server, "phoenix", f"broker-agent/{other}"), TraceSelectionError)
            assert "Phoenix has no spans of this trace in project 'broker-agent'" in text
            code, text = refused(at(server, "phoenix", f"brokr/{TRACE}"), TraceSelectionError)
            assert "Phoenix has no project 'brokr'" in text
        with serving(mlflow) as server:
            code, text = refused(at(server, "mlflow", other), TraceSelectionError)
            assert "MLflow has no such trace" in text
        assert no_waiting  # each was asked for again

    def test_a_web_page_with_200(self) -> None:
        with serving(lambda _: HTML) as server:
            code, text = refused(at(server, "tempo"))
        assert code == "WEB_PAGE"
        assert text == (
            f"{server.base}/api/v2/traces/{TRACE}: answers with a web page instead of a trace. Is it the address "
            "of the API, with the path that the server is behind? A page for logging in is one too: see "
            "TRACETAPE_TEMPO_TOKEN and TRACETAPE_TEMPO_BASIC."
        )

    @pytest.mark.parametrize("status", [401, 403])
    def test_a_login_that_is_wanted(self, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
        with serving(lambda _: Reply(b"no", status, "text/plain")) as server:
            code, text = refused(at(server, "tempo"))
            assert code == "NOT_AUTHORIZED"
            assert text.endswith("TRACETAPE_TEMPO_BASIC (user:password); neither is set.")
            monkeypatch.setenv("TRACETAPE_TEMPO_TOKEN", "hush")
            code, text = refused(at(server, "tempo"))
        assert text.endswith("what they hold was refused.")
        assert "hush" not in text

    def test_nobody_there(self) -> None:
        with serving(jaeger) as server:
            pass
        code, text = refused(at(server, "jaeger"))
        assert (code, "Connection refused" in text) == ("UNREACHABLE", True)

    def test_silence(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tracetape.sources.backends.http._SILENCE", 0.2)

        def slow(_: Request) -> Reply:
            threading.Event().wait(1)
            return Reply()

        with serving(slow) as server:
            code, text = refused(at(server, "jaeger"))
        assert code == "TIMED_OUT"
        assert "Is the server well" in text

    def test_an_answer_that_breaks_off(self) -> None:
        whole = (SAMPLES / "otlp/collector.jsonl").read_bytes()
        reply = Reply(whole[: whole.index(b"\n") + 1], announced=len(whole))
        with serving(lambda _: reply) as server:
            for source in (f"{server.base}/spans.jsonl", at(server, "jaeger")):
                code, text = refused(source)
                assert code == "TRUNCATED_FILE"
                assert "the answer broke off" in text

    def test_another_trace_than_the_one_that_was_asked_for(self) -> None:
        other = "f" * 32
        with serving(lambda _: sample("jaeger/jaeger_v3.json")) as server:
            code, text = refused(at(server, "jaeger", other), TraceSelectionError)
        assert code == "TRACE_NOT_FOUND"
        assert f"no trace {other} in it. There is:\n  {TRACE}" in text

    def test_an_answer_that_trickles(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tracetape.sources.backends.http._LONGEST", 0.5)
        reply = Reply(b"{" * 40, pause=0.1)
        with serving(lambda _: reply) as server:
            began = time.monotonic()
            code, text = refused(at(server, "jaeger"))
            assert time.monotonic() - began < 3
        assert (code, "no answer within 0 seconds" in text or "within 1 seconds" in text) == ("TIMED_OUT", True)

    def test_pages_that_never_end(self) -> None:
        page = json.dumps({"data": [], "next_cursor": "same"}).replace("[]", '[{"context":{}}]')
        with serving(lambda _: Reply(page.encode())) as server:
            code, text = refused(at(server, "phoenix", f"p/{TRACE}"))
        assert (code, "names itself as the page after it" in text) == ("BACKEND_ERROR", True)

    def test_a_failure_of_the_server(self) -> None:
        with serving(lambda _: Reply(b"boom \x1b[31m", 500, "text/plain")) as server:
            code, text = refused(at(server, "tempo"))
        assert code == "BACKEND_ERROR"
        assert text == (
            f"tempo+{server.base}/{TRACE}: Tempo answers 500 to {server.base}/api/v2/traces/{TRACE}: "
            "'boom \\x1b[31m'; its log says why"
        )

    def test_a_trace_that_is_too_large(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with serving(lambda _: Reply(b"too large", 422, "text/plain")) as server:
            assert refused(at(server, "tempo"))[0] == "TOO_LARGE"
        monkeypatch.setattr("tracetape.sources.backends.http.ANSWER_LIMIT", 1_000)
        with serving(jaeger) as server:
            assert refused(at(server, "jaeger"))[0] == "TOO_LARGE"

    def test_an_answer_that_is_none(self) -> None:
        with serving(lambda _: Reply(b"{}")) as server:
            assert refused(at(server, "phoenix", f"p/{TRACE}"))[0] == "BACKEND_ERROR"
            assert refused(at(server, "jaeger"))[0] == "NO_SPANS"

    def test_an_address_that_is_none(self) -> None:
        assert refused("jaegr+http://h/1") == (
            "UNKNOWN_SOURCE",
            "jaegr+http: is no backend that is asked. They are: jaeger+http://HOST:16686/TRACE_ID, "
            "tempo+http://HOST:3200/TRACE_ID, phoenix+http://HOST:6006/PROJECT/TRACE_ID, "
            "mlflow+http://HOST:5000/TRACE_ID",
        )
        assert refused("phoenix+http://h:1")[1] == (
            "phoenix+http://h:1: is no address of phoenix; it is spelt phoenix+http://HOST:6006/PROJECT/TRACE_ID"
        )
        assert refused("tempo+http://h:3200")[1] == (
            "tempo+http://h:3200: says no trace. It is spelt tempo+http://h:3200/TRACE_ID, or with --trace ID; "
            "to look for traces: tracetape find tempo+http://h:3200"
        )

    def test_a_missing_file(self) -> None:
        with serving(lambda _: Reply(b"", 404)) as server:
            assert refused(f"{server.base}/run.jsonl")[0] == "FILE_NOT_FOUND"


class TestPartial:
    def test_tempo_says_so(self) -> None:
        with serving(lambda _: sample("tempo/tempo_v2_partial.json")) as server:
            recording = tracetape.load(at(server, "tempo"))
        assert [gap.code for gap in recording.gaps] == ["PARTIAL_TRACE"]

    def test_elasticsearchs_limit_is_known(self) -> None:
        def span(number: int) -> dict[str, Any]:
            ids = {"traceId": TRACE, "spanId": f"{number + 1:016x}", "parentSpanId": f"{1:016x}" if number else ""}
            return {**ids, "name": "n", "startTimeUnixNano": "5", "endTimeUnixNano": "9"}

        spans = [span(number) for number in range(10_000)]
        body = json.dumps({"result": {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}}).encode()
        with serving(lambda _: Reply(body)) as server:
            [gap] = tracetape.load(at(server, "jaeger")).gaps
        assert gap.code == "PARTIAL_TRACE"
        assert "max_doc_count" in gap.text


class TestAFreshTrace:
    def test_is_asked_for_again_until_it_is_found(self, no_waiting: list[float]) -> None:
        answers = iter([Reply(b"trace not found", 404), Reply(b"trace not found", 404)])
        with serving(lambda _: next(answers, sample("tempo/tempo_v2.pb"))) as server:
            assert len(tracetape.load(at(server, "tempo")).spans) == 7
        assert no_waiting == [0.5, 1.0]

    def test_is_asked_for_again_until_it_is_whole(self, no_waiting: list[float]) -> None:
        now = time.time_ns()

        def spans(*names: str) -> Reply:
            made = [
                {
                    "traceId": TRACE,
                    "spanId": f"{ord(name):016x}",
                    "parentSpanId": "" if name == "r" else f"{ord('r'):016x}",
                    "name": name,
                    "startTimeUnixNano": str(now),
                    "endTimeUnixNano": str(now + 1),
                }
                for name in names
            ]
            return Reply(json.dumps({"result": {"resourceSpans": [{"scopeSpans": [{"spans": made}]}]}}).encode())

        answers = iter([spans("a"), spans("a", "b"), spans("a", "b", "r")])
        with serving(lambda _: next(answers)) as server:
            recording = tracetape.load(at(server, "jaeger"))
        assert sorted(one.name for one in recording.spans) == ["a", "b", "r"]
        assert no_waiting == [0.5, 1.0]

    def test_an_old_one_that_lacks_something_is_not_waited_for(self, no_waiting: list[float]) -> None:
        body = (SAMPLES / "broken/missing_root.json").read_bytes()
        with serving(lambda _: Reply(b'{"result":' + body + b"}")) as server:
            assert {gap.code for gap in tracetape.load(at(server, "jaeger")).gaps} >= {"MISSING_ROOT"}
        assert no_waiting == []


class TestSecrets:
    def test_a_login_in_an_address_is_refused_and_not_printed(self) -> None:
        for scheme, name in (("jaeger+http", "JAEGER"), ("https", "HTTP")):
            code, text = refused(f"{scheme}://ann:hush@h/{TRACE}")
            assert code == "UNKNOWN_SOURCE"
            assert "hush" not in text
            assert f"TRACETAPE_{name}_BASIC=user:password" in text

    def test_tokens_tenants_and_passwords_are_sent_as_the_backend_wants_them(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TRACETAPE_TEMPO_TENANT", "team-a")
        monkeypatch.setenv("TRACETAPE_TEMPO_BASIC", "ann:hush")
        monkeypatch.setenv("TRACETAPE_JAEGER_TOKEN", "t0ken")
        with serving(lambda _: sample("tempo/tempo_v2.pb")) as server:
            tracetape.load(at(server, "tempo"))
        headers = server.requests[0].headers
        assert (headers["x-scope-orgid"], headers["authorization"]) == ("team-a", "Basic YW5uOmh1c2g=")
        with serving(jaeger) as server:
            tracetape.load(at(server, "jaeger"))
            tracetape.load(f"{server.base}/api/traces/{TRACE}")
        assert server.requests[0].headers["authorization"] == "Bearer t0ken"
        assert "authorization" not in server.requests[1].headers  # a file is no Jaeger

    def test_a_redirection_to_another_host_does_not_carry_them(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TRACETAPE_TEMPO_TOKEN", "hush")
        monkeypatch.setenv("TRACETAPE_TEMPO_TENANT", "team-a")
        with serving(lambda _: sample("tempo/tempo_v2.pb")) as other:
            there = {"Location": f"{other.base}/moved"}
            with serving(lambda _: Reply(b"", 302, headers=there)) as server:
                assert len(tracetape.load(at(server, "tempo")).spans) == 7
        assert "authorization" not in other.requests[0].headers
        assert "x-scope-orgid" not in other.requests[0].headers
        with serving(
            lambda request: (
                sample("tempo/tempo_v2.pb")
                if request.path == "/moved"
                else Reply(b"", 302, headers={"Location": "/moved"})
            )
        ) as server:
            tracetape.load(at(server, "tempo"))
        assert server.requests[1].headers["authorization"] == "Bearer hush"

    def test_a_redirection_to_a_file_or_in_circles_is_not_followed(self) -> None:
        for location in ("file:///etc/passwd", "ftp://127.0.0.1/x", "/again"):
            reply = Reply(b"", 302, headers={"Location": location})
            with serving(lambda _, reply=reply: reply) as server:  # type: ignore[misc]
                code, _ = refused(at(server, "tempo"))
            assert code in ("UNREACHABLE", "BACKEND_ERROR")

    def test_a_server_that_repeats_what_it_was_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in (("TOKEN", "hush"), ("BASIC", "ann:hush")):
            monkeypatch.setenv(f"TRACETAPE_TEMPO_{name}", value)
            with serving(lambda request: Reply(request.headers["authorization"].encode(), 500)) as server:
                _, text = refused(at(server, "tempo"))
            assert "hush" not in text
            assert "YW5uOmh1c2g=" not in text
            assert "***" in text
            monkeypatch.delenv(f"TRACETAPE_TEMPO_{name}")

    def test_what_stands_behind_a_question_mark_is_not_printed(self) -> None:
        with serving(lambda _: Reply(b"", 500)) as server:
            _, text = refused(f"{server.base}/run.jsonl?X-Amz-Signature=hush#hush")
            assert "hush" not in text
        with serving(lambda _: Reply(b"buy milk")) as server:
            _, text = refused(f"{server.base}/run.jsonl?X-Amz-Signature=hush")
            assert "hush" not in text
        with serving(lambda _: sample("otlp/collector.jsonl")) as server:
            recording = tracetape.load(f"{server.base}/run.jsonl?X-Amz-Signature=hush")
        assert recording.source == f"{server.base}/run.jsonl"
        assert not any("hush" in one.where for one in recording.spans)

    def test_a_token_with_control_characters_is_not_sent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for token in ("a\nX-Evil: 1", "señal"):
            monkeypatch.setenv("TRACETAPE_JAEGER_TOKEN", token)
            with serving(jaeger) as server, pytest.warns(RuntimeWarning, match="TRACETAPE_JAEGER_TOKEN"):
                tracetape.load(at(server, "jaeger"))
            assert "authorization" not in server.requests[0].headers


class TestLooking:
    def wanted(self, **given: Any) -> Wanted:
        return Wanted(1_764_583_200_000_000_000, 1_764_590_400_000_000_000, given.pop("attributes", {}), **given)

    def look(self, server: Served, backend: str, rest: str = "", **given: Any) -> Iterator[str]:
        address = meant(f"{backend}+{server.base}{rest}")
        assert address is not None
        return (one.trace_id for one in remote.look_for(address, self.wanted(**given)))

    def test_in_jaeger_by_service_attributes_and_errors(self) -> None:
        def search(request: Request) -> Reply:
            if request.path == "/api/v3/services":
                return Reply(b'{"services":["broker-agent","other"]}')
            if request.query["query.service_name"] == ["other"]:
                return Reply(b'{"error":{"httpCode":404,"message":"No traces found"}}', 404)
            return sample("jaeger/jaeger_v3.json")

        with serving(search) as server:
            assert list(self.look(server, "jaeger", attributes={"run": "1"}, errors=True)) == [TRACE]
        asked = server.requests[1].query
        assert json.loads(asked["query.attributes"][0]) == {"run": "1", "error": "true"}
        assert asked["query.start_time_min"] == ["2025-12-01T10:00:00.000000000Z"]
        assert asked["query.start_time_max"] == ["2025-12-01T12:00:00.000000000Z"]

    def test_in_tempo_by_traceql(self) -> None:
        with serving(lambda _: sample("tempo/tempo_search.json")) as server:
            found = self.look(
                server, "tempo", attributes={"run": 'a "b"', "odd key": "1"}, errors=True, service="s"
            )
            assert list(found) == [TRACE]  # with its leading zeros
        asked = server.requests[0].query
        assert asked["q"] == [
            '{ span.run = "a \\"b\\"" && span."odd key" = "1" && status = error && resource.service.name = "s" }'
        ]
        assert (asked["start"], asked["end"]) == (["1764583200"], ["1764590400"])

    def test_in_phoenix_by_filters(self) -> None:
        with serving(lambda _: sample("phoenix/spans.json")) as server:
            assert list(self.look(server, "phoenix", "/broker-agent", attributes={"run": "1"})) == [TRACE]
        assert server.requests[0].query["attribute"] == ["run:1"]

    @pytest.mark.parametrize(
        ("backend", "rest", "answer"),
        [
            ("tempo", "", {"traces": [{"traceID": "\x1b]0;pwned\x07"}]}),
            ("tempo", "", {"traces": [{"traceID": TRACE, "startTimeUnixNano": "9" * 60}]}),
            ("tempo", "", {"traces": 5}),
            ("tempo", "", [1]),
            ("phoenix", "/p", {"data": 5, "next_cursor": None}),
            ("phoenix", "/p", {"data": [{"context": {"trace_id": 5}}], "next_cursor": None}),
            ("phoenix", "/p", {"data": [{"context": {"trace_id": "\x1b[31m"}, "name": "n"}], "next_cursor": None}),
            ("jaeger", "", {"services": [5, None]}),
            ("jaeger", "", {"services": "x"}),
        ],
    )
    def test_what_is_no_answer_is_an_error_and_no_text_of_it_reaches_the_terminal(
        self, backend: str, rest: str, answer: Any
    ) -> None:
        with serving(lambda _: Reply(json.dumps(answer).encode())) as server:
            with pytest.raises(SourceError) as caught:
                list(self.look(server, backend, rest))
        assert "\x1b" not in str(caught.value)

    def test_mlflow_is_not_searched_and_says_so(self) -> None:
        with serving(mlflow) as server, pytest.raises(SourceError, match="MLflow is not done here"):
            list(self.look(server, "mlflow"))
