"""The one door to wrapt: functions that look like the ones they wrap."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import wrapt

if TYPE_CHECKING:
    _BoundBase = wrapt.BoundFunctionWrapper[Any, Any]
    _Base = wrapt.FunctionWrapper[Any, Any]
else:
    _BoundBase, _Base = wrapt.BoundFunctionWrapper, wrapt.FunctionWrapper

__all__ = ["Wrapped", "wrap"]

Wrapper = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]


class _BoundWrapped(_BoundBase):
    """A method that was looked up. Pickled as the plain one is: by its owner and its name."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        owner = self._self_instance
        if owner is None:
            owner = self._self_owner
        return getattr, (owner, self.__name__)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self


class Wrapped(_Base):
    """A function with a wrapper around it: same name, signature and kind to `inspect`; pickled by
    name and copied as itself, as functions are."""

    __bound_function_wrapper__ = _BoundWrapped

    def __reduce_ex__(self, protocol: Any) -> Any:
        name = getattr(self.__wrapped__, "__qualname__", None)
        if name is None:
            raise pickle.PicklingError(f"{self.__wrapped__!r} has no name to be pickled by")
        return name

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self


def wrap(function: Any, wrapper: Wrapper) -> Any:
    """`wrapper(wrapped, instance, args, kwargs)` runs in place of each call of `function`."""
    return Wrapped(function, wrapper)
