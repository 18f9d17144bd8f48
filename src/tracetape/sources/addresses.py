"""Tells what a URL means: a trace in a backend, a browser's page of one, a file on a server, an object in a
store."""

from __future__ import annotations

import re
import string
from dataclasses import replace
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from tracetape.errors import SourceError
from tracetape.sources.backends import Address
from tracetape.sources.backends.registry import BACKENDS

__all__ = ["is_url", "meant", "no_trace", "shown"]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
_BACKENDS = {one.name: one for one in BACKENDS}


def is_url(text: str) -> bool:
    return _URL.match(text) is not None


def shown(text: str) -> str:
    """A source for messages: a URL without user, password, query and fragment; signed links hold their key
    there."""
    if not is_url(text):
        return text
    try:
        parts = urlsplit(text)
    except ValueError:
        return text.partition("?")[0].partition("#")[0].rpartition("@")[2]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def meant(text: str) -> Address | None:
    """The address in a backend that a URL is, or means; None for one of a file.

    Raises SourceError UNKNOWN_SOURCE for an address that is none, or has a password in it.
    """
    parts = _parts_of(text)
    scheme = parts.scheme.lower()
    if scheme in ("http", "https"):
        _refuse_login(parts)
        return next((found for one in BACKENDS if (found := one.pasted(parts)) is not None), None)
    name, plus, transport = scheme.partition("+")
    if not plus or transport not in ("http", "https"):
        return None
    if name not in _BACKENDS:
        known = ", ".join(one.spelling for one in BACKENDS)
        raise SourceError(
            f"{name}+{transport}: is no backend that is asked. They are: {known}", code="UNKNOWN_SOURCE"
        )
    _refuse_login(parts)
    if not parts.hostname:
        raise _misspelt(text, name)
    pasted = _BACKENDS[name].pasted(parts._replace(scheme=transport))
    return pasted if pasted is not None else _split(text, parts, name, transport)


def _parts_of(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port  # looked at when it is asked for
    except ValueError as error:
        raise SourceError(f"{shown(text)}: is no address: {error}", code="UNKNOWN_SOURCE") from None
    return parts


def _split(text: str, parts: SplitResult, name: str, transport: str) -> Address:
    steps = [step for step in parts.path.split("/") if step]
    trace_id = ""
    if steps and _is_trace(steps[-1]):
        trace_id = steps.pop().lower().removeprefix("tr-").zfill(32)
    project = ""
    if name == "phoenix":
        if not steps:
            raise _misspelt(text, name)
        project = unquote(steps.pop())
    base = "/".join((f"{transport}://{parts.netloc}", *steps))
    return Address(name, base, trace_id, project)


def _is_trace(step: str) -> bool:
    digits = step.removeprefix("tr-")
    # Shorter ones may be words of a path, such as `/de`.
    return 8 <= len(digits) <= 32 and all(digit in string.hexdigits for digit in digits)


def _refuse_login(parts: SplitResult) -> None:
    if "@" in parts.netloc:
        name = parts.scheme.partition("+")[0].upper()
        raise SourceError(
            f"an address of {parts.hostname} has a user or a password in it, where others can read them. Set "
            f"TRACETAPE_{'HTTP' if name == 'HTTPS' else name}_BASIC=user:password instead.",
            code="UNKNOWN_SOURCE",
        )


def _misspelt(text: str, name: str) -> SourceError:
    return SourceError(
        f"{shown(text)}: is no address of {name}; it is spelt {_BACKENDS[name].spelling}", code="UNKNOWN_SOURCE"
    )


def no_trace(address: Address) -> SourceError:
    """For an address of a whole backend where one of a trace is needed."""
    example = replace(address, trace_id="TRACE_ID")
    return SourceError(
        f"{address}: says no trace. It is spelt {example}, or with --trace ID; to look for traces: "
        f"tracetape find {address}",
        code="UNKNOWN_SOURCE",
    )
