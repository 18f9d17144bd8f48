"""Looks at classes without running any code of theirs.

Neither `getattr` nor `isinstance` is used: metaclasses, properties, `__getattr__` and `__class__` can all be
somebody's Python. What a class is, is read from the dictionaries that the interpreter itself keeps.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from enum import EnumType
from pathlib import PurePath
from types import BuiltinFunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, Generic

__all__ = [
    "c_base",
    "class_dict",
    "class_name",
    "derives",
    "exactly",
    "instance_dict",
    "is_class",
    "is_enum",
    "is_exactly",
    "is_python_class",
    "lookup",
    "main_name",
    "module_dict",
    "mro",
    "read_state",
    "slots_of",
    "write_state",
]

_type_dict: Mapping[str, Any] = type.__dict__
_MRO = _type_dict["__mro__"]
_DICT = _type_dict["__dict__"]
_MODULE = _type_dict["__module__"]
_FLAGS = _type_dict["__flags__"]
_QUALNAME = _type_dict["__qualname__"]
_module_type: Mapping[str, Any] = vars(ModuleType)
_MODULE_DICT = _module_type["__dict__"]
_MAINS = ("__main__", "__mp_main__")
_NOT_STATE = frozenset({"__dict__", "__weakref__"})


def mro(cls: type) -> tuple[type, ...]:
    """The classes that `cls` consists of, itself first."""
    found: tuple[type, ...] = _MRO.__get__(cls)
    return found


def class_dict(cls: type) -> Mapping[str, Any]:
    """What the class statement itself defined."""
    found: Mapping[str, Any] = _DICT.__get__(cls)
    return found


def derives(cls: type, base: type) -> bool:
    """Whether `base` is really among the bases of `cls` (no `__subclasscheck__` is asked)."""
    return any(one is base for one in mro(cls))


def is_exactly(value: object, *types: type) -> bool:
    """Whether the value's type is one of these. By identity: `in` would ask a metaclass for its `__eq__`."""
    cls = type(value)
    return any(cls is one for one in types)


def exactly(value: Any, *types: type) -> Any:
    """The value, if its type is one of these and no subclass of them. Raises TypeError otherwise.

    What C code converts (`__index__`, `__float__`, `__fspath__`, `__iter__`) comes through here first: a trace
    can put an instance of any class of the program's where a number was.
    """
    if not is_exactly(value, *types):
        expected = " or ".join(one.__name__ for one in types)
        raise TypeError(f"{expected} is expected, not {class_name(type(value))[0].partition(':')[2]}")
    return value


def is_class(value: object) -> bool:
    """Whether `value` is a class."""
    return derives(type(value), type)


def is_enum(cls: type) -> bool:
    """Whether `cls` was made by the metaclass of enumerations."""
    return derives(type(cls), EnumType)


def lookup(cls: type, name: str) -> Any:
    """What `name` is in the class or its bases, unbound; None where it is nothing."""
    for one in mro(cls):
        found = class_dict(one)
        if name in found:
            return found[name]
    return None


def _written_in_c(cls: type) -> bool:
    new = class_dict(cls).get("__new__")
    return type(new) is BuiltinFunctionType and new.__self__ is cls


def is_python_class(cls: type) -> bool:
    """Whether `cls` was made by a class statement, as far as its flags tell."""
    # Not static (Py_TPFLAGS_HEAPTYPE), not frozen as those of the standard library are (IMMUTABLETYPE).
    return cls is Generic or bool(_FLAGS.__get__(cls) & 1 << 9 and not _FLAGS.__get__(cls) & 1 << 8)


def c_base(cls: type) -> type:
    """The first base that is not a Python class: the one whose `__new__` makes the instances."""
    for one in mro(cls):
        if _written_in_c(one):
            return one
    return object


def module_dict(name: str) -> Mapping[str, Any] | None:
    """The names of a module that is loaded already; None where it is not, or is no module."""
    module: object = sys.modules.get(name)
    if module is None or not derives(type(module), ModuleType):
        return None
    found: Mapping[str, Any] | None = _MODULE_DICT.__get__(module)
    return found


def main_name(module: str = "__main__") -> str:
    """What the module that runs as `__main__` is called when it is imported instead."""
    names = module_dict(module) or {}
    spec = names.get("__spec__")
    name = getattr(spec, "name", None)
    if type(name) is str:
        return name
    file = names.get("__file__")
    return PurePath(file).stem if type(file) is str else module


def class_name(cls: type) -> tuple[str, bool]:
    """`module:qualname`, and whether the module ran as `__main__` (its real name is given then)."""
    module, qualname = _MODULE.__get__(cls), _QUALNAME.__get__(cls)
    main = module in _MAINS
    if main:
        module = main_name(module)
    # A class can be named anything at run time; the name has to fit into JSON.
    return f"{module}:{qualname}".encode("utf-8", "backslashreplace").decode(), main


def instance_dict(value: object) -> dict[str, Any] | None:
    """The attributes of an instance, None where it has no dictionary."""
    for one in mro(type(value)):
        descriptor = class_dict(one).get("__dict__")
        if type(descriptor) is GetSetDescriptorType:
            found: dict[str, Any] = descriptor.__get__(value)
            return found
    return None


def slots_of(cls: type) -> dict[str, MemberDescriptorType]:
    """The `__slots__` of the Python classes among the bases, by the names that they really have."""
    return dict(_slots(cls))


def _slots(cls: type) -> Iterator[tuple[str, MemberDescriptorType]]:
    for one in reversed(mro(cls)):
        if _written_in_c(one) or not is_python_class(one):
            continue
        for name, member in class_dict(one).items():
            if type(member) is MemberDescriptorType and name not in _NOT_STATE:
                yield name, member


def read_state(value: object) -> dict[str, Any]:
    """Every attribute that is stored in the instance itself: slots first, then its dictionary."""
    cls = type(value)
    state = {}
    for name, member in slots_of(cls).items():
        try:
            state[name] = member.__get__(value, cls)
        except AttributeError:  # never set
            continue
    attributes = instance_dict(value)
    if attributes:
        state.update(attributes.copy())
    # typing leaves this on every instance of `Box[int](…)`; it is no state of the program's.
    state.pop("__orig_class__", None)
    return state


def write_state(value: object, state: Mapping[str, Any]) -> list[str]:
    """Put attributes back, past properties and `__setattr__`. Returns the names that have no place."""
    slots, attributes = slots_of(type(value)), instance_dict(value)
    homeless = []
    for name, one in state.items():
        if name in slots:
            slots[name].__set__(value, one)
        elif attributes is not None:
            attributes[name] = one
        else:
            homeless.append(name)
    return homeless
