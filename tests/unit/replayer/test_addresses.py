"""Which addresses are this machine's, what a gRPC target names."""

from __future__ import annotations

import pytest

from tracetape.config import proxies
from tracetape.replayer.addresses import is_loopback, resolved, targets


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::", "localhost", "LOCALHOST.", ""]
)
def test_these_are_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1", "localhost.example.com", "127.0.0.1.example.com"]
)
def test_these_are_not(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("target", "addresses"),
    [
        ("model.example.com:443", [("model.example.com", 443)]),
        ("localhost", [("localhost", None)]),
        ("dns:///model.example.com:443", [("model.example.com", 443)]),
        ("dns:model.example.com:443", [("model.example.com", 443)]),
        ("dns://192.0.2.53/localhost:50051", [("192.0.2.53", None), ("localhost", 50051)]),
        ("ipv4:192.0.2.1:50,127.0.0.1:51", [("192.0.2.1", 50), ("127.0.0.1", 51)]),
        ("ipv6:[2001:db8::1]:50", [("2001:db8::1", 50)]),
        ("xds:///models", [("models", None)]),
        ("unix:/tmp/model.sock", []),
        ("unix:///tmp/model.sock", []),
        ("unix-abstract:model", []),
    ],
)
def test_a_grpc_target_names_these(target: str, addresses: list[tuple[str, int | None]]) -> None:
    assert list(targets(target)) == addresses


def test_a_host_is_allowed_under_its_name_and_the_addresses_that_it_has_now() -> None:
    assert {("localhost", 80), ("127.0.0.1", 80)} <= resolved(["localhost:80"])
    assert resolved(["nobody.invalid"]) == {("nobody.invalid", None)}


def test_the_proxies_of_the_environment_are_read_in_capitals_or_not() -> None:
    assert proxies({"HTTPS_PROXY": "http://user:secret@proxy.corp:3128", "all_proxy": "localhost:9"}) == (
        "proxy.corp:3128",
        "localhost:9",
    )
    assert proxies({"NO_PROXY": "localhost", "HTTP_PROXY": ""}) == ()
    assert proxies({"HTTP_PROXY": "a:1", "http_proxy": "b:2"}) == ("a:1", "b:2")
    assert proxies({"http_proxy": "http://localhost", "ALL_PROXY": "socks5://127.0.0.1"}) == (
        "localhost:80",
        "127.0.0.1:1080",
    )
