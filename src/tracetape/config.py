"""Every environment variable that tracetape reads, once, as one frozen Settings.

Unknown values warn once, naming the variable, the value, the values that are permitted and the one used.
"""

from __future__ import annotations

import os
import re
import warnings
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

__all__ = [
    "SESSION",
    "Access",
    "FolderSettings",
    "Settings",
    "access",
    "environment",
    "folder_settings",
    "leave_session",
    "otlp_endpoint",
    "otlp_protocol",
    "proxies",
    "said_in_environment",
    "session",
    "settings",
    "uploads_base",
]

# Set by an open `record` or `replay`, for the processes that the program starts; see `_processes`.
SESSION = "TRACETAPE_SESSION"

DEFAULT_EXPORT_LIMIT = 262_144
PIECE_LIMIT = 2_000

DEFAULT_FOLDER = "tracetape-runs"
DEFAULT_FOLDER_BYTES = 2**30
DEFAULT_FOLDER_SECONDS = 7 * 86_400

_CONTENT = ("full", "off")
_MIRROR = ("openinference", "gen_ai")
_OTLP_PROTOCOLS = ("grpc", "http/protobuf")
_said: set[str] = set()
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
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
    mirror:         TRACETAPE_MIRROR, the conventions under whose names payloads go on the host's spans as well.
    """

    build_id: str | None = None
    host_content: bool = True
    export_limit: int = DEFAULT_EXPORT_LIMIT
    piece_limit: int = PIECE_LIMIT
    service_name: str = "unknown_service"
    otlp_hosts: tuple[str, ...] = ()
    mirror: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """Where the exporter `tracetape` writes its files, and which of them it keeps.

    path:         TRACETAPE_DIR, a folder; relative to where the program starts.
    max_bytes:    TRACETAPE_DIR_MAX_BYTES, of all its files together; 0 is without end.
    max_seconds:  TRACETAPE_DIR_MAX_AGE, since a file was written; seconds, or `7d`, `12h`, `30m`; 0: no end.
    """

    path: str = DEFAULT_FOLDER
    max_bytes: int = DEFAULT_FOLDER_BYTES
    max_seconds: int = DEFAULT_FOLDER_SECONDS


@dataclass(frozen=True, slots=True)
class Access:
    """What a server that has traces is told of who asks. Never printed.

    token:   TRACETAPE_<BACKEND>_TOKEN, sent as a bearer token. basic: TRACETAPE_<BACKEND>_BASIC, `user:password`.
    tenant:  TRACETAPE_TEMPO_TENANT, for a Tempo of several.
    """

    token: str = field(default="", repr=False)
    basic: str = field(default="", repr=False)
    tenant: str = ""

    @property
    def is_given(self) -> bool:
        return bool(self.token or self.basic)

    def hidden(self, body: bytes) -> bytes:
        """A server's words without what it was told: some answer with the headers that they got."""
        basic = self.headers().get("Authorization", "").partition(" ")[2]
        for secret in (self.token, self.basic, basic):
            if secret:
                body = body.replace(secret.encode("utf-8"), b"***")
        return body

    def headers(self) -> dict[str, str]:
        found = {}
        if self.token:
            found["Authorization"] = f"Bearer {self.token}"
        elif self.basic:
            found["Authorization"] = "Basic " + b64encode(self.basic.encode("utf-8")).decode("ascii")
        if self.tenant:
            found["X-Scope-OrgID"] = self.tenant
        return found


def access(backend: str, environ: Mapping[str, str] | None = None) -> Access:
    """What the environment says for a backend, by its name: `jaeger`, `tempo`, `phoenix`, `mlflow`, or `http`."""
    env = os.environ if environ is None else environ
    stem = f"TRACETAPE_{backend.upper()}"
    tenant = _header(env, f"{stem}_TENANT") if backend == "tempo" else ""
    return Access(_header(env, f"{stem}_TOKEN"), _header(env, f"{stem}_BASIC"), tenant)


def _header(env: Mapping[str, str], name: str) -> str:
    said = env.get(name, "").strip()
    if said.isprintable() and (name.endswith("_BASIC") or said.isascii()):
        return said
    warnings.warn(f"{name} holds what no header can hold, and is not sent", RuntimeWarning, stacklevel=4)
    return ""


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
        mirror=_mirror(env),
    )


def folder_settings(environ: Mapping[str, str] | None = None) -> FolderSettings:
    """What the environment says of the folder of the exporter `tracetape`."""
    env = os.environ if environ is None else environ
    return FolderSettings(
        path=env.get("TRACETAPE_DIR") or DEFAULT_FOLDER,
        max_bytes=_whole(env, "TRACETAPE_DIR_MAX_BYTES", DEFAULT_FOLDER_BYTES),
        max_seconds=_duration(env, "TRACETAPE_DIR_MAX_AGE", DEFAULT_FOLDER_SECONDS),
    )


def otlp_protocol(environ: Mapping[str, str] | None = None) -> str:
    """`grpc` or `http/protobuf`, by the variables of the stock exporters; gRPC is their default and ours."""
    env = os.environ if environ is None else environ
    name = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
    if not env.get(name, "").strip():
        name = "OTEL_EXPORTER_OTLP_PROTOCOL"
    return _choice(env, name, _OTLP_PROTOCOLS, "grpc") or "grpc"


def uploads_base(environ: Mapping[str, str] | None = None) -> str:
    """TRACETAPE_UPLOADS: the folder or the address of a store that instrumentations upload content to, where
    traces name it instead of having it; "" for none."""
    env = os.environ if environ is None else environ
    return env.get("TRACETAPE_UPLOADS", "").strip()


def otlp_endpoint(environ: Mapping[str, str] | None = None) -> str:
    """Where the stock exporters send to, for messages."""
    env = os.environ if environ is None else environ
    said = env.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or env.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    default = "http://localhost:4317" if otlp_protocol(env) == "grpc" else "http://localhost:4318"
    return said.partition("?")[0].rpartition("@")[2] if said else default


def said_in_environment(*names: str) -> tuple[str, str] | None:
    """The first of these variables that is set, and its value; for a message that names it."""
    found = ((name, os.environ.get(name, "").strip()) for name in names)
    return next(((name, value) for name, value in found if value), None)


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


def _whole(env: Mapping[str, str], name: str, default: int) -> int:
    said = env.get(name, "").strip()
    return 0 if said == "0" else _positive(env, name, default)


def _duration(env: Mapping[str, str], name: str, default: int) -> int:
    said = env.get(name, "").strip()
    if not said:
        return default
    found = re.fullmatch(r"([0-9]{1,9})([smhd]?)", said.lower())
    if found is not None:
        return int(found[1]) * _SECONDS[found[2]]
    warnings.warn(
        f"{name}={said!r} is not a number of seconds, or of 30m, 12h, 7d; {default} is used",
        RuntimeWarning,
        stacklevel=3,
    )
    return default


def _mirror(env: Mapping[str, str]) -> tuple[str, ...]:
    said = [word.strip().lower() for word in env.get("TRACETAPE_MIRROR", "").split(",") if word.strip()]
    unknown = [word for word in said if word not in _MIRROR]
    text = (
        f"TRACETAPE_MIRROR={','.join(said)!r}: {', '.join(map(repr, unknown))} is not one of "
        f"{', '.join(_MIRROR)}; it is ignored"
    )
    if unknown and text not in _said:
        # By ourselves: the SDK adds filters of its own, after which Python says all warnings once more.
        _said.add(text)
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    return tuple(word for word in _MIRROR if word in said)


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
