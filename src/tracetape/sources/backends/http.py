"""Asks servers over HTTP."""

from __future__ import annotations

import http.client
import re
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from typing import IO, Any
from urllib.parse import quote, urlsplit

from tracetape import __version__
from tracetape.config import Access
from tracetape.errors import SourceError
from tracetape.sources.addresses import shown
from tracetape.sources.backends import Answer

__all__ = ["ANSWER_LIMIT", "Client", "is_web_page"]

ANSWER_LIMIT = 512 * 2**20
"""Bytes of one answer that is held in memory; a file is read as it comes, and has the limits of files."""

_SILENCE = 20.0  # seconds without a byte
_LONGEST = 600.0  # seconds of one answer
_CHUNK = 2**18
_HEAD = 512
_PAGE = re.compile(rb"\s*<(?:!doctype|html)", re.IGNORECASE)
_SECRET = {"authorization", "x-scope-orgid", "cookie"}


class Client:
    """Sends what the environment says for one backend, to hosts that were asked for alone.

    access:    token, user and tenant. variable: what names of variables begin with, for messages.
    """

    def __init__(self, access: Access, variable: str) -> None:
        self._access, self._variable = access, variable
        self._opener = urllib.request.build_opener(_Redirects())

    def get(self, url: str, accept: str = "") -> Answer:
        """The answer, whatever its status but for the ones below.

        Raises SourceError UNREACHABLE, TIMED_OUT, NOT_AUTHORIZED, WEB_PAGE, TOO_LARGE.
        """
        with self.opened(url, accept) as (status, content_type, chunks):
            body = bytearray()
            for chunk in chunks:
                body += chunk
                if len(body) > ANSWER_LIMIT:
                    raise SourceError(
                        f"{shown(url)}: answers with more than {ANSWER_LIMIT:,} bytes, the most that is taken. "
                        "Export the trace to a file there, and give that.",
                        code="TOO_LARGE",
                    )
        if status < 400 and is_web_page(content_type, bytes(body[:_HEAD])):
            raise SourceError(
                f"{shown(url)}: answers with a web page instead of a trace. Is it the address of the API, with "
                "the path that the server is behind? A page for logging in is one too: see "
                f"{self._variable}_TOKEN and {self._variable}_BASIC.",
                code="WEB_PAGE",
            )
        said = bytes(body) if status == 200 else self._access.hidden(bytes(body))
        return Answer(status, content_type, said, shown(url))

    @contextmanager
    def opened(self, url: str, accept: str = "") -> Iterator[tuple[int, str, Iterator[bytes]]]:
        """Status, content type and chunks. Raises SourceError, also while the chunks are taken."""
        headers = {"User-Agent": f"tracetape/{__version__}", **self._access.headers()}
        if accept:
            headers["Accept"] = accept
        try:
            request = urllib.request.Request(_quoted(url), headers=headers)  # noqa: S310 (looked at before)
            response = self._opener.open(request, timeout=_SILENCE)
        except urllib.error.HTTPError as error:
            if 300 <= error.code < 400:
                error.close()
                raise SourceError(
                    f"{shown(url)}: redirects in circles, or to what is no HTTP. Give the address itself.",
                    code="UNREACHABLE",
                ) from None
            response = error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._failure(url, error) from None
        with response:
            status = response.status
            if status in (401, 403, 407):
                raise self._refused(url, status)
            content_type = response.headers.get("Content-Type", "").lower()
            yield status, content_type, self._chunks(url, response)

    def _chunks(self, url: str, response: Any) -> Iterator[bytes]:
        until = time.monotonic() + _LONGEST
        announced = response.headers.get("Content-Length", "")
        left = int(announced) if announced.isdecimal() else 0
        while True:
            try:
                chunk = response.read1(_CHUNK)  # what there is: a slow server is looked at after each piece
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise self._failure(url, error) from None
            left -= len(chunk)
            if not chunk:
                if left > 0:
                    raise SourceError(
                        f"{shown(url)}: the answer broke off {left:,} bytes before its end. Try again.",
                        code="TRUNCATED_FILE",
                    )
                return
            if time.monotonic() > until:
                raise self._failure(url, TimeoutError(), _LONGEST)
            yield chunk

    def _refused(self, url: str, status: int) -> SourceError:
        given = "what they hold was refused" if self._access.is_given else "neither is set"
        return SourceError(
            f"{shown(url)}: refuses to answer ({status}): it wants a login. Set {self._variable}_TOKEN (sent as a "
            f"bearer token) or {self._variable}_BASIC (user:password); {given}.",
            code="NOT_AUTHORIZED",
        )

    def _failure(self, url: str, error: Exception, seconds: float = 0) -> SourceError:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            return SourceError(
                f"{shown(url)}: no answer within {seconds or _SILENCE:.0f} seconds. Is the server well, and the "
                "trace not very large? Try again, or export the trace to a file there.",
                code="TIMED_OUT",
            )
        if isinstance(error, _Unsafe):
            return SourceError(f"{shown(url)}: {error}", code="UNREACHABLE")
        why = "its name is not known" if isinstance(reason, socket.gaierror) else _text(reason)
        return SourceError(
            f"{shown(url)}: cannot be reached: {why}. Is the server running, and the address right?",
            code="UNREACHABLE",
        )


def is_web_page(content_type: str, beginning: bytes) -> bool:
    return "text/html" in content_type or _PAGE.match(beginning) is not None


def _quoted(url: str) -> str:
    """As HTTP takes it: a path may have been typed in letters of any language."""
    return quote(url, safe="%/:=&?~#+!$,;'@()*[]-._")


def _text(reason: Any) -> str:
    if isinstance(reason, str):
        return reason
    strerror = getattr(reason, "strerror", None)
    return str(strerror or type(reason).__name__)


class _Unsafe(OSError):
    """A redirection that is not followed."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows to other hosts without what was meant for the first one, and never from https to http."""

    max_redirections = 5

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        fp.close()  # what it says besides is not read
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        if new.scheme not in ("http", "https") or (old.scheme == "https" and new.scheme == "http"):
            raise _Unsafe(
                f"redirects to {shown(newurl)}, which is not followed from {old.scheme}. Give that address."
            )
        made = super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]
        if made is not None and (old.scheme, old.netloc) != (new.scheme, new.netloc):
            for key in [key for key in made.headers if key.lower() in _SECRET]:
                made.remove_header(key)
        return made
