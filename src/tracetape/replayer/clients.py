"""Libraries whose sockets the interpreter does not see: uvloop's loop, gRPC's channels, trio's sending.

Their classes are wrapped where they are loaded, or as soon as they are: whoever has the class, or an instance of
it, already has what was wrapped. asyncio's own loop is among them for its lookups alone: it makes them in a
thread without a context, where it could not be told whose they are.
"""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable
from typing import Any

from tracetape._wrapping import Proxy, when_imported, wrap
from tracetape.replayer.addresses import as_text, targets
from tracetape.replayer.asking import CONNECTION, LOOKUP, REVERSE_LOOKUP, ask, judges, note_started
from tracetape.replayer.sockets import sending_over

__all__ = ["install"]

Method = Callable[..., Any]
Arguments = tuple[Any, ...]
Named = dict[str, Any]

_made: dict[int, str] = {}  # the targets of asyncio's gRPC channels, by the identity of what they are made of


@functools.cache
def install() -> None:
    """Once, for ever: without an open replay all of it lets through."""
    when_imported("asyncio.base_events", _wrap_asyncio)
    when_imported("uvloop", _wrap_uvloop)
    when_imported("trio._socket", _wrap_trio)
    when_imported("grpc._channel", _wrap_grpc)
    when_imported("grpc.aio._channel", _wrap_grpc)


def _wrap_asyncio(module: Any) -> None:
    _wrap(module.BaseEventLoop, "getaddrinfo", _looking_up)
    _wrap(module.BaseEventLoop, "getnameinfo", _looking_up_address)


def _wrap_uvloop(module: Any) -> None:
    loop = getattr(module, "Loop", None)
    _wrap(loop, "getaddrinfo", _looking_up)
    _wrap(loop, "getnameinfo", _looking_up_address)
    _wrap(loop, "create_connection", _connecting)
    _wrap(loop, "create_datagram_endpoint", _opening_datagrams)
    _wrap(loop, "subprocess_exec", _starting)
    _wrap(loop, "subprocess_shell", _starting)


def _wrap_trio(module: Any) -> None:
    """It has taken `send` of the interpreter's sockets for itself before that was wrapped."""
    _wrap(getattr(module, "_SocketType", None), "send", _sending)


def _wrap_grpc(module: Any) -> None:
    """A channel connects when something is asked through it, and not when it is made: so what asks is wrapped.
    Both modules name their classes alike."""
    for name, cls in tuple(vars(module).items()):
        if isinstance(cls, type) and cls.__module__ == module.__name__ and name.endswith("MultiCallable"):
            for method in ("__call__", "with_call", "future"):
                if method in vars(cls):
                    _wrap(cls, method, _calling)
    if module.__name__ == "grpc.aio._channel":
        _wrap(getattr(module, "Channel", None), "__init__", _making)
    for method in ("subscribe", "get_state"):
        _wrap(getattr(module, "Channel", None), method, _asking_state)


def _wrap(owner: Any, name: str, wrapper: Callable[[Method, Any, Arguments, Named], Any]) -> None:
    """Whatever of these a version of the library has."""
    method = getattr(owner, name, None)
    if method is not None:
        setattr(owner, name, wrap(method, wrapper))


def _sending(method: Method, connection: Any, args: Arguments, kwargs: Named) -> Any:
    sending_over(getattr(connection, "_sock", None))
    return method(*args, **kwargs)


def _looking_up(method: Method, loop: Any, args: Arguments, kwargs: Named) -> Any:
    host = as_text(args[0] if args else kwargs.get("host"))
    if judges and host:
        ask(LOOKUP, host, None)
    return method(*args, **kwargs)


def _looking_up_address(method: Method, loop: Any, args: Arguments, kwargs: Named) -> Any:
    address = args[0] if args else kwargs.get("sockaddr")
    if judges and isinstance(address, tuple) and address:
        ask(REVERSE_LOOKUP, as_text(address[0]), None)
    return method(*args, **kwargs)


def _connecting(method: Method, loop: Any, args: Arguments, kwargs: Named) -> Any:
    _, host, port, *_ = (*args, None, None, None)
    _ask_for(kwargs.get("host", host), kwargs.get("port", port))
    return method(*args, **kwargs)


def _ask_for(host: Any, port: Any) -> None:
    if judges and as_text(host):
        ask(CONNECTION, as_text(host), port if isinstance(port, int) else _number(port))


def _number(port: Any) -> int | None:
    return int(port) if isinstance(port, str) and port.isdigit() else None


def _opening_datagrams(method: Method, loop: Any, args: Arguments, kwargs: Named) -> Any:
    if not judges:
        return method(*args, **kwargs)
    _, _, remote, *_ = (*args, None, None, None)
    remote = kwargs.get("remote_addr", remote)
    if isinstance(remote, tuple) and len(remote) >= 2:
        _ask_for(*remote[:2])
    factory = args[0] if args else kwargs.pop("protocol_factory")
    return _open_datagrams(method, factory, args[1:], kwargs)


async def _open_datagrams(method: Method, factory: Method, args: Arguments, kwargs: Named) -> Any:
    """Both who opened it and the protocol get a transport that asks before it sends."""
    protocols: list[Any] = []

    def make() -> Any:
        protocols.append(factory())
        return _Told(protocols[0])

    transport, _ = await method(make, *args, **kwargs)
    return _Datagrams(transport), protocols[0]


class _Told(Proxy):
    """A protocol that is given the transport which asks."""

    def connection_made(self, transport: Any) -> None:
        self.__wrapped__.connection_made(_Datagrams(transport))


class _Datagrams(Proxy):
    """uvloop's transport for datagrams."""

    def sendto(self, data: Any, addr: Any = None) -> None:
        if isinstance(addr, tuple) and len(addr) >= 2:
            _ask_for(*addr[:2])
        self.__wrapped__.sendto(data, addr)


def _starting(method: Method, loop: Any, args: Arguments, kwargs: Named) -> Any:
    if judges:
        program = os.fsdecode(args[1]) if len(args) > 1 and isinstance(args[1], (str, bytes, os.PathLike)) else ""
        note_started(program.split(" ", 1)[0])
    return method(*args, **kwargs)


def _making(method: Method, channel: Any, args: Arguments, kwargs: Named) -> None:
    """In grpcio 1.65 asyncio's channels do not tell their targets. One made before the first replay is refused."""
    method(*args, **kwargs)
    key = id(getattr(channel, "_channel", None))
    _made[key] = as_text(args[0] if args else kwargs.get("target"))
    weakref.finalize(channel, _made.pop, key, None)


def _calling(method: Method, callable_: Any, args: Arguments, kwargs: Named) -> Any:
    _ask_for_targets(callable_)
    return method(*args, **kwargs)


def _asking_state(method: Method, channel: Any, args: Arguments, kwargs: Named) -> Any:
    """Asking for the state of a channel connects it, where one says so."""
    if kwargs.get("try_to_connect") or any(one is True for one in args):
        _ask_for_targets(channel)
    return method(*args, **kwargs)


def _ask_for_targets(holder: Any) -> None:
    if not judges:
        return
    channel = getattr(holder, "_channel", None)
    target = getattr(channel, "target", None)
    name = as_text(target() if callable(target) else target)  # a method, but an attribute for asyncio
    name = name or _made.get(id(channel), "")
    if not name:
        ask(CONNECTION, "a gRPC channel of which the target is not known", None)
    for host, port in targets(name):
        ask(CONNECTION, host, port)
