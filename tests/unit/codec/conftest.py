"""Leaves out the tests of libraries that are not installed."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = [
    file
    for library, file in (("attrs", "test_attrs.py"), ("pydantic", "test_pydantic.py"))
    if find_spec(library) is None
]
