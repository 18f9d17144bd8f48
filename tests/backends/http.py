"""Asking a backend over HTTP."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

__all__ = ["fetched", "get"]

# Without the proxies of the environment: everything here is on loopback.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def get(url: str, *, body: bytes | None = None, accept: str = "application/json") -> tuple[int, str, bytes]:
    """The status, the content type, the body; of an answer that is an error too."""
    request = urllib.request.Request(url, data=body, headers={"Accept": accept})
    if body is not None:
        request.add_header("Content-Type", "application/json")
    try:
        with _opener.open(request, timeout=60) as answer:
            return answer.status, answer.headers.get_content_type(), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers.get_content_type(), error.read()


def fetched(
    url: str,
    path: Path,
    *,
    body: bytes | None = None,
    until: Callable[[bytes], bool] = bool,
    within: float = 30,
) -> Path:
    """What the backend answers, in a file. Asked again until it is JSON and `until` says that it is whole.

    By its first character: Jaeger's v3 API calls its JSON text/plain, and pages in HTML come with 200 too.
    """
    deadline = time.monotonic() + within
    while True:
        status, kind, answer = get(url, body=body)
        if status == 200 and answer[:1] in (b"{", b"[") and until(answer):
            path.write_bytes(answer)
            return path
        if time.monotonic() > deadline:
            raise AssertionError(f"{url} answered {status} {kind}: {answer[:2000].decode(errors='replace')}")
        time.sleep(0.1)
