"""The one door to wrapt: functions or objects that look like the ones they wrap; hooks for later imports."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any

import wrapt

if TYPE_CHECKING:
    _BoundBase = wrapt.BoundFunctionWrapper[Any, Any]
    _Base = wrapt.FunctionWrapper[Any, Any]
    _ProxyBase = wrapt.ObjectProxy[Any]
else:
    _BoundBase, _Base = wrapt.BoundFunctionWrapper, wrapt.FunctionWrapper
    # Since wrapt 2 there is one without `__iter__`, which an async iterator does not have.
    _ProxyBase = getattr(wrapt, "BaseObjectProxy", wrapt.ObjectProxy)

__all__ = ["Proxy", "Wrapped", "when_imported", "wrap"]

Wrapper = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]
Again = Callable[[Any], tuple[Any, ...]]
"""What is wrapped → a function with its arguments, which wraps it like that again: for pickle."""

_NOTHING: Any = None


class _Annotations:
    """Those of what is wrapped. Without it, whoever looks at the annotations of one of our classes would leave an
    empty dict in it (Python 3.10 to 3.13), which then hides those of every function that is wrapped."""

    def __get__(self, instance: Any, owner: type) -> Any:
        return {} if instance is None else instance.__wrapped__.__annotations__

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__wrapped__.__annotations__ = value


class _BoundWrapped(_BoundBase):
    """A method that was looked up. Pickled as the plain one is: by its owner and its name."""

    __annotations__ = _Annotations()

    def __reduce_ex__(self, protocol: Any) -> Any:
        owner, bound = self._self_instance, self.__wrapped__
        if owner is None:
            # wrapt before 1.17 does not know the class that a function was looked up in.
            owner = bound.__self__ if type(bound) is MethodType else getattr(self, "_self_owner", None)
        if owner is None:
            return _found, (self.__module__, self.__qualname__)
        return getattr, (owner, self.__name__)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        bound = self.__wrapped__
        if type(bound) is not MethodType:
            return self
        owner = copy.deepcopy(bound.__self__, memo)
        return self if owner is bound.__self__ else self._self_parent.__get__(owner, type(owner))


class Wrapped(_Base):
    """A function with a wrapper around it: same name, signature and kind to `inspect`; pickled by
    name and copied as itself, as functions are."""

    __annotations__ = _Annotations()

    __bound_function_wrapper__ = _BoundWrapped
    # Not annotated: a class's `__annotations__` would hide those of what is wrapped.
    _self_again = _NOTHING

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _reduced(self)

    def __copy__(self) -> Any:
        return _like(self, copy.copy(self.__wrapped__))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return _like(self, copy.deepcopy(self.__wrapped__, memo))


class Proxy(_ProxyBase):
    """Stands for another object: of its class to `isinstance`, with its attributes; a copy of it, or what is
    pickled of it, is one of the object itself. Attributes named `_self_…` are the proxy's own."""

    __annotations__ = _Annotations()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "__annotations__" not in vars(cls):
            setattr(cls, "__annotations__", _Annotations())  # noqa: B010 (each class is asked for its own)

    if hasattr(_ProxyBase, "__iter__"):
        __iter__ = _NOTHING  # not iterable, unless a subclass is

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __copy__(self) -> Any:
        return copy.copy(self.__wrapped__)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self.__wrapped__, memo)

    def __reduce__(self) -> Any:
        return self.__wrapped__.__reduce__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__wrapped__.__reduce_ex__(protocol)


class WrappedObject(Proxy):
    """A callable object with a wrapper around its calls. Unlike a function it does not bind in a class; its
    copies are wrapped like it."""

    _self_again = _NOTHING

    def __init__(self, wrapped: Any, wrapper: Wrapper) -> None:
        super().__init__(wrapped)
        self._self_wrapper = wrapper

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._self_wrapper(self.__wrapped__, None, args, kwargs)

    def __copy__(self) -> Any:
        return _like(self, copy.copy(self.__wrapped__))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return _like(self, copy.deepcopy(self.__wrapped__, memo))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _reduced(self)


def _like(original: Any, copied: Any) -> Any:
    """A copy of what is wrapped, wrapped too; functions are copied as themselves."""
    if copied is original.__wrapped__:
        return original
    return wrap(copied, original._self_wrapper, original._self_again)


def _found(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _reduced(wrapped: Any) -> Any:
    """By name, where that name leads here; else (a builtin, a callable object) wrapped again."""
    name = getattr(wrapped, "__qualname__", None)
    found = _found(getattr(wrapped, "__module__", None) or "", name or "")
    again = wrapped._self_again
    if found is wrapped or (again is None and name is not None):
        return name
    if again is None:
        raise pickle.PicklingError(f"{wrapped.__wrapped__!r} has no name to be pickled by")
    return again(wrapped.__wrapped__)


def wrap(function: Any, wrapper: Wrapper, again: Again | None = None) -> Any:
    """`wrapper(wrapped, instance, args, kwargs)` runs in place of each call of `function`."""
    kind = Wrapped if hasattr(type(function), "__get__") else WrappedObject
    wrapped = kind(function, wrapper)
    wrapped._self_again = again
    return wrapped


def when_imported(module: str, hook: Callable[[Any], None]) -> None:
    """`hook(module)` runs as soon as that module has been imported: at once, where it has been."""
    loaded = sys.modules.get(module)
    if loaded is not None:
        hook(loaded)
    elif module not in _awaited:
        wrapt.register_post_import_hook(hook, module)
        _awaited.add(module)


_awaited: set[str] = set()
