"""Arguments by name are those that `inspect` finds."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetape._binding import Names


def two(a, b): ...
def with_defaults(a, b=2, *, c, d=4): ...
def keywords_alone(*, c=3, d): ...
def nothing(): ...
def positional_only(a, /, b=2): ...
def rest(a, *args, b=2, **kwargs): ...
def one_default(a=1): ...


FUNCTIONS = [two, with_defaults, keywords_alone, nothing, positional_only, rest, one_default]
CALLS = st.tuples(
    st.lists(st.integers(), max_size=4), st.dictionaries(st.sampled_from("abcde"), st.integers(), max_size=4)
)


@pytest.mark.parametrize("function", FUNCTIONS)
@given(call=CALLS)
def test_each_call_is_bound_as_inspect_binds_it(function: Any, call: Any) -> None:
    args, kwargs = tuple(call[0]), call[1]
    try:
        filled = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        expected = None
    else:
        filled.apply_defaults()
        expected = list(filled.arguments.items())
    found = Names(function, "function", static=True).of(args, kwargs, bound=False)
    assert (None if found is None else list(found.items())) == expected


def test_a_receiver_is_left_out_however_it_comes() -> None:
    def method(self, a, b=2): ...

    names = Names(method, "Tools.method", static=False)
    assert names.of((5,), {}, bound=True) == {"a": 5, "b": 2}
    assert names.of(("the receiver", 5), {}, bound=False) == {"a": 5, "b": 2}
    assert Names(method, "method", static=False).of(("a plain argument", 5), {}, bound=False) == {
        "self": "a plain argument",
        "a": 5,
        "b": 2,
    }


def test_without_a_signature_the_arguments_are_what_they_are() -> None:
    assert Names(dict, "dict", static=False).of((1,), {"a": 2}, bound=False) == {"args": (1,), "kwargs": {"a": 2}}
