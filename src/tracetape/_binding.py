"""Arguments of a call → by name, defaults included, without the receiver."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

__all__ = ["Names"]

Bind = Callable[[tuple[Any, ...], dict[str, Any]], Mapping[str, Any] | None]
_Binder = Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Any] | None]

_RECEIVERS = ("self", "cls", "mcs")
_Kind = inspect.Parameter


class Names:
    """Of one function. `name` is its qualified name: one with a dot whose first parameter is named as a receiver
    is a method, and `classmethod` over a boundary hands the class in as a plain argument.

    defaults:  of its parameters. plain: binds a call of what is no method.
    """

    def __init__(self, target: Any, name: str, *, static: bool) -> None:
        try:
            whole: inspect.Signature | None = inspect.signature(target)
        except (ValueError, TypeError):
            whole = None
        self.defaults: Mapping[str, Any] = {} if whole is None else _defaults(whole)
        rest = None if static or whole is None else _without_first(whole)
        first = next(iter(whole.parameters), "") if whole is not None else ""
        self._method = rest is not None and first in _RECEIVERS and "." in name
        self._whole = None if whole is None else _binder(whole)
        self._rest = None if rest is None else _binder(rest)
        self.plain: Bind
        if self._whole is None or self._method:
            self.plain = partial(self.of, bound=False)
        else:
            self.plain = self._whole

    def of(self, args: tuple[Any, ...], kwargs: dict[str, Any], *, bound: bool) -> Mapping[str, Any] | None:
        """By name; as `args` and `kwargs` where there is no signature, None where it does not fit the call."""
        bind = self._rest if bound and self._rest is not None else self._whole
        if bind is None:
            return {"args": args, "kwargs": kwargs}
        arguments = bind(args, kwargs)
        if arguments is not None and self._method and not bound:
            arguments.pop(next(iter(arguments)), None)
        return arguments


def _without_first(signature: inspect.Signature) -> inspect.Signature | None:
    parameters = list(signature.parameters.values())
    if not parameters or parameters[0].kind not in (_Kind.POSITIONAL_ONLY, _Kind.POSITIONAL_OR_KEYWORD):
        return None
    return signature.replace(parameters=parameters[1:])


def _binder(signature: inspect.Signature) -> _Binder:
    """What binds as `signature.bind` does; by hand where each parameter has a name of its own, which is most often
    and a fifth of the time."""
    parameters = signature.parameters.values()
    if any(one.kind not in (_Kind.POSITIONAL_OR_KEYWORD, _Kind.KEYWORD_ONLY) for one in parameters):
        return lambda args, kwargs: _bound(signature, args, kwargs)
    names = tuple(signature.parameters)
    places = sum(one.kind is _Kind.POSITIONAL_OR_KEYWORD for one in parameters)
    total = len(names) if places == len(names) else -1
    defaults = _defaults(signature)

    def bind(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
        given = len(args)
        if given == total and not kwargs:
            return dict(zip(names, args))  # noqa: B905 - as many as it has names
        if given > places:
            return None
        arguments = dict(zip(names, args, strict=False))
        named = 0
        for name in names[given:]:
            if name in kwargs:
                arguments[name] = kwargs[name]
                named += 1
            elif name in defaults:
                arguments[name] = defaults[name]
            else:
                return None
        return arguments if named == len(kwargs) else None

    return bind


def _defaults(signature: inspect.Signature) -> dict[str, Any]:
    return {one.name: one.default for one in signature.parameters.values() if one.default is not _Kind.empty}


def _bound(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    try:
        filled = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    filled.apply_defaults()
    return filled.arguments
