"""Finds the class that a trace names.

A trace is text that somebody sent us. Nothing is imported for it: a class is at hand if its module has been
loaded by the program itself, or if it was passed as `types=[…]`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tracetape.codec.raw import class_dict, class_name, derives, is_class, main_name, module_dict, mro

__all__ = ["NotAtHand", "class_body", "find_class", "index_types"]


class NotAtHand(Exception):
    """No class of that name, or one that may not be rebuilt. The text is the end of a sentence about it."""


def class_body(cls: type) -> dict[str, Any]:
    """How a class is named in a body."""
    name, main = class_name(cls)
    return {"class": name, "main": True} if main else {"class": name}


def index_types(types: Iterable[type]) -> dict[str, type]:
    """`types=[…]` by the name that a trace has for them, and by their qualname alone where only one of them
    has it: a class may have moved to another module since it was recorded."""
    named = {class_name(cls)[0]: cls for cls in types}
    alone: dict[str, type | None] = {}
    for name, cls in named.items():
        qualname = name.partition(":")[2]
        alone[qualname] = None if qualname in alone else cls
    return named | {qualname: cls for qualname, cls in alone.items() if cls is not None}


def find_class(name: str, main: bool, types: Mapping[str, type]) -> type:
    """The class called `module:qualname`. Raises NotAtHand, saying why and what to do.

    main:  it was recorded in the module that ran as `__main__`, `module` is that one's real name.
    """
    module, _, qualname = name.partition(":")
    if module.startswith("tracetape.replayer"):
        raise NotAtHand("which unwinds a replay, and is never made because a recording says so")
    cls = types.get(name)
    if cls is None:
        cls = next((found for at in _modules(module, main) if (found := _inside(at, qualname)) is not None), None)
    if cls is None:
        cls = types.get(qualname)
    short = qualname.rpartition(".")[2] or name
    if cls is None:
        if "<locals>" in qualname:
            raise NotAtHand(f"which is made inside a function: pass types=[{short}]")
        if module_dict(module) is None:
            raise NotAtHand(
                f"whose module has not been imported here: import {module} before the replay, "
                f"or pass types=[{short}]"
            )
        raise NotAtHand(f"a class that {module} does not have here: pass types=[{short}]")
    if any("__del__" in class_dict(one) for one in mro(cls)):
        raise NotAtHand("which has a __del__, so that a rebuilt one could do harm: it is never rebuilt")
    return cls


def _modules(module: str, main: bool) -> Iterator[str]:
    """Where to look: a file may be the script in one run, a module of a package in the next."""
    runs, stem = main_name(), _stem(module)
    same_file = runs == module or (_stem(runs) == stem and (main or "." not in runs))
    if main and same_file:
        yield "__main__"
    yield module
    if main:
        same = [name for name in list(sys.modules) if name != module and _stem(name) == stem]
        if len(same) == 1:
            yield same[0]
    elif same_file:
        yield "__main__"


def _stem(module: str) -> str:
    return module.rpartition(".")[2]


def _inside(module: str, qualname: str) -> type | None:
    names = module_dict(module)
    found: object = None
    for part in qualname.split("."):
        if names is None or part not in names:
            return _parametrised(module, qualname) if "[" in qualname else None
        found = names[part]
        names = class_dict(found) if is_class(found) else None  # type: ignore[arg-type]
    return found if is_class(found) else None  # type: ignore[return-value]


def _parametrised(module: str, qualname: str) -> type | None:
    """`Box[int]` of pydantic is a class of its own that no module lists: it is known to `Box` alone."""
    origin = _inside(module, qualname.partition("[")[0])
    if origin is None:
        return None
    subclasses: list[type] = type.__subclasses__(origin)
    for one in subclasses:
        if class_name(one)[0].partition(":")[2] == qualname and derives(one, origin):
            return one
    return None
