"""Every environment variable that tracetape reads, once, as one frozen Settings.

Unknown values warn once, naming the variable, the value, the values that are permitted and the one used.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

__all__ = ["SESSION", "Settings", "environment", "leave_session", "proxies", "session", "settings"]

# Set by an open `record` or `replay`, for the processes that the program starts; see `_processes`.
SESSION = "TRACETAPE_SESSION"

DEFAULT_EXPORT_LIMIT = 262_144
PIECE_LIMIT = 2_000

_CONTENT = ("full", "off")
_GENAI_CONTENT = ("NO_CONTENT", "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT", "true", "false")
_PROXIES = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "FTP_PROXY",
    "WS_PROXY",
    "WSS_PROXY",
    "SOCKS_PROXY",
    "GRPC_PROXY",
)
_PORTS = {"http": 80, "https": 443, "socks": 1080, "socks4": 1080, "socks5": 1080, "socks5h": 1080}
_OTLP_ENDPOINTS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says.

    build_id:       TRACETAPE_BUILD_ID, written on every span of ours.
    host_content:   whether values go on the host's spans (the file always has them):
                    TRACETAPE_CONTENT=full|off; else off where
                    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=NO_CONTENT was said.
    export_limit:   TRACETAPE_EXPORT_LIMIT, payload bytes a host span may carry.
    piece_limit:    bytes of one string of a payload on a host's span; 2,000, or less where
                    OTEL_[SPAN_]ATTRIBUTE_VALUE_LENGTH_LIMIT is less.
    service_name:   OTEL_SERVICE_NAME, for files written where no SDK is set up.
    otlp_hosts:     `host:port` of the OTLP endpoints; a replay lets telemetry through to them.
    """

    build_id: str | None = None
    host_content: bool = True
    export_limit: int = DEFAULT_EXPORT_LIMIT
    piece_limit: int = PIECE_LIMIT
    service_name: str = "unknown_service"
    otlp_hosts: tuple[str, ...] = ()


def settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the environment (`os.environ` unless another mapping is given)."""
    env = os.environ if environ is None else environ
    return Settings(
        build_id=env.get("TRACETAPE_BUILD_ID") or None,
        host_content=_host_content(env),
        export_limit=_positive(env, "TRACETAPE_EXPORT_LIMIT", DEFAULT_EXPORT_LIMIT),
        piece_limit=_piece_limit(env),
        service_name=env.get("OTEL_SERVICE_NAME") or "unknown_service",
        otlp_hosts=tuple(dict.fromkeys(filter(None, (_host(env.get(name, "")) for name in _OTLP_ENDPOINTS)))),
    )


def proxies(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """`host:port` of each proxy that the environment names, in capitals or not: clients prefer the one or the
    other."""
    env = os.environ if environ is None else environ
    named = (env.get(spelling, "") for name in _PROXIES for spelling in (name, name.lower()))
    return tuple(dict.fromkeys(filter(None, map(_proxy, named))))


def session() -> str | None:
    """What the session of another process has left here, or one of this process."""
    return os.environ.get(SESSION)


def leave_session(text: str | None) -> None:
    """The one variable that tracetape writes; None removes it."""
    if text is not None:
        os.environ[SESSION] = text
    else:
        os.environ.pop(SESSION, None)


def environment() -> dict[bytes, bytes]:
    """All of it, as a process that is started gets it."""
    return dict(os.environb)


def _host_content(env: Mapping[str, str]) -> bool:
    own = _choice(env, "TRACETAPE_CONTENT", _CONTENT, "full")
    if own is not None:
        return own == "full"
    genai = _choice(env, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", _GENAI_CONTENT, "SPAN_ONLY")
    return genai != "NO_CONTENT"


def _choice(env: Mapping[str, str], name: str, permitted: tuple[str, ...], used: str) -> str | None:
    said = env.get(name, "").strip()
    if not said:
        return None
    for value in permitted:
        if said.lower() == value.lower():
            return value
    warnings.warn(
        f"{name}={said!r} is not one of {', '.join(permitted)}; {used} is used", RuntimeWarning, stacklevel=4
    )
    return used


def _positive(env: Mapping[str, str], name: str, default: int) -> int:
    said = env.get(name, "").strip()
    if not said:
        return default
    if said.isascii() and said.isdigit() and int(said) > 0:
        return int(said)
    warnings.warn(
        f"{name}={said!r} is not a positive whole number; {default} is used", RuntimeWarning, stacklevel=3
    )
    return default


def _piece_limit(env: Mapping[str, str]) -> int:
    limit = PIECE_LIMIT
    for name in ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"):
        said = env.get(name, "").strip()
        if said.isascii() and said.isdigit() and int(said) > 0:
            limit = min(limit, int(said))
    return limit


def _proxy(said: str) -> str:
    """With the port of its scheme where none is said."""
    host = _host(said)
    if not host or re.search(r":[0-9]+\Z", host):
        return host
    scheme = said.partition("://")[0].lower() if "://" in said else "http"
    return f"{host}:{_PORTS.get(scheme, 80)}"


def _host(endpoint: str) -> str:
    if not endpoint:
        return ""
    parts = urlsplit(endpoint if "//" in endpoint else f"//{endpoint}")
    try:
        port = parts.port
    except ValueError:
        return ""
    return f"{parts.hostname}:{port}" if parts.hostname and port else parts.hostname or ""
