"""A trace is text that somebody sent: reading it takes bounded time and runs nothing of the program's."""

from __future__ import annotations

import enum
import json
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from tracetape.codec import encode, to_tree
from tracetape.codec.opaque import Missing
from tracetape.codec.reader import Reader
from tracetape.errors import RecordedError, ValueNotRebuilt
from tracetape.model.payload import Payload

ran: list[str] = []

ASKED = (
    *("fspath", "index", "complex", "float", "int", "bool", "len", "iter", "next", "getitem", "contains", "str"),
    *(
        "repr",
        "format",
        "bytes",
        "buffer",
        "eq",
        "lt",
        "add",
        "mul",
        "radd",
        "rmul",
        "neg",
        "abs",
        "trunc",
        "round",
    ),
    *("call", "get", "set", "reversed", "length_hint", "enter", "hash", "getattribute", "getattr", "setattr"),
)


def trap(name: str) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
        ran.append(name)
        raise AssertionError(name)

    return run


@dataclass(eq=False, repr=False)
class Probe:
    x: int = 1


PROBE = Probe()
for _name in ASKED:
    setattr(Probe, f"__{_name}__", trap(_name))
Probe.keys = trap("keys")  # type: ignore[attr-defined]


class BaseProbe(BaseException):
    def __getattribute__(self, name: str) -> Any:
        ran.append(name)
        return object.__getattribute__(self, name)


class Shown:
    def __repr__(self) -> str:
        ran.append("repr")
        return "shown"


class Kind(enum.Enum):
    ODD = Shown()
    PAIR = (1, "a")


@pytest.fixture(autouse=True)
def nothing_ran():
    ran.clear()
    yield
    assert ran == []


P = to_tree(PROBE)
INT, FLOAT, BIG = 3, 1.5, {"$type": "Decimal", "value": "1e30000000"}
ENDLESS = {"$type": "range", "start": 0, "stop": 10**15, "step": 1}


def tagged(tag: str, **body: Any) -> dict[str, Any]:
    return {"$type": tag, **body}


def bodies(inner: Any) -> list[dict[str, Any]]:
    """Every place of a builtin's that C code, or the standard library, makes something of."""
    found = [
        tagged("PosixPath", value=inner),
        tagged("PurePosixPath", value=inner),
        tagged("PureWindowsPath", value=inner),
        tagged("complex", real=inner, imag=0.0),
        tagged("complex", real=0.0, imag=inner),
        tagged("Fraction", numerator=inner, denominator=1),
        tagged("Fraction", numerator=1, denominator=inner),
        tagged("Fraction", numerator=inner, denominator=None),
        tagged("timezone", offset=inner),
        tagged("timezone", offset=to_tree(__import__("datetime").timedelta(1)), name=inner),
        tagged("datetime", value="2026-01-01T00:00:00", tz=inner),
        tagged("timedelta", days=inner, seconds=0, microseconds=0),
        tagged("deque", items=[], maxlen=inner),
        tagged("namespace", fields=inner),
        tagged("enum", **{"class": f"{__name__}:Kind"}, value=inner),
        tagged("UUID", value=inner),
        tagged("Decimal", value=inner),
        tagged("date", value=inner),
        tagged("zoneinfo", key=inner),
        tagged("bytes", base64=inner),
        tagged("float", value=inner),
        tagged("int", value=inner),
        tagged("int", hex=inner),
    ]
    for name in ("start", "stop", "step"):
        found.append(tagged("range", **{"start": 0, "stop": 1, "step": 1, name: inner}))
    return found


ERRORS: list[tuple[str, list[Any]]] = [
    ("BlockingIOError", [1, "a", P]),
    ("OSError", [P, "a"]),
    ("OSError", [1, P, P]),
    ("UnicodeDecodeError", ["utf8", to_tree(b"a"), P, P, "r"]),
    ("UnicodeDecodeError", ["utf8", P, 0, 1, "r"]),
    ("UnicodeEncodeError", ["utf8", "a", P, 1, P]),
    ("UnicodeTranslateError", ["a", P, 1, P]),
    ("SyntaxError", ["a", P]),
    ("SyntaxError", ["a", ENDLESS]),
    ("SyntaxError", ["a", [P, P, P, P]]),
    ("StopIteration", [P]),
    ("SystemExit", [P]),
    ("ImportError", [P]),
    ("KeyError", [P]),
]
MEMBERS = [
    "characters_written",
    "errno",
    "start",
    "end",
    "object",
    "encoding",
    "reason",
    "lineno",
    "value",
    "code",
]


def read(body: Any) -> None:
    text = json.dumps(body)
    for reading in (Reader().result, Reader().inputs, Reader().error, Reader().items):
        try:
            reading(Payload.of(text))
        except ValueNotRebuilt:
            pass


@pytest.mark.parametrize("inner", [P, BIG, ENDLESS], ids=["object", "huge", "endless"])
def test_what_stands_where_a_number_or_text_was_is_not_converted(inner):
    for body in bodies(inner):
        read(body)
        if body["$type"] not in ("datetime", "namespace"):
            with pytest.raises(ValueNotRebuilt):
                Reader().result(Payload.of(json.dumps(body)))


@pytest.mark.parametrize(("name", "args"), ERRORS, ids=lambda one: one if type(one) is str else "")
def test_the_arguments_of_builtin_exceptions_are_not_converted(name, args):
    body = tagged("exception", **{"class": f"builtins:{name}"}, args=args)
    read(body)
    for member in MEMBERS:
        for value in (P, 10**40, to_tree((1,))):
            read({**body, "members": {member: value}})


def test_an_exception_keeps_what_its_arguments_hold():
    errors: list[BaseException] = [StopIteration(PROBE), SystemExit(PROBE), KeyError(PROBE), OSError(5, "a")]
    payloads = [encode(one) for one in errors]
    ran.clear()  # to store an exception is to ask for its text
    back: list[Any] = [Reader().error(one) for one in payloads]
    assert [type(one) for one in back] == [type(one) for one in errors]
    assert [type(one.args[0]) for one in back] == [Probe, Probe, Probe, int]
    assert type(back[0].value) is type(back[1].code) is Probe
    assert (back[3].errno, back[3].strerror) == (5, "a")


def test_the_text_of_a_unicode_error_reads_no_foreign_memory():
    members = {"object": {"a": 1}, "start": 0, "end": 1, "encoding": "utf8", "reason": "r"}
    body = tagged("exception", **{"class": "builtins:UnicodeDecodeError"}, args=[], members=members)
    assert str(Reader().error(Payload.of(json.dumps(body)))) == ""


def test_a_group_asks_no_exception_for_its_class():
    inner = tagged("exception", **{"class": f"{__name__}:BaseProbe"}, args=[])
    body = tagged("exception", **{"class": "builtins:BaseExceptionGroup"}, args=["g"], exceptions=[inner])
    read(body)
    assert type(Reader().error(Payload.of(json.dumps(body)))) is RecordedError


def test_a_member_of_an_enumeration_is_found_without_the_text_of_its_value():
    for member in (Kind.ODD, Kind.PAIR):
        body = tagged("enum", **{"class": f"{__name__}:Kind"}, name=member.name, value="other")
        assert Reader().result(Payload.of(json.dumps(body))) is member


def test_no_hash_of_a_metaclass_is_asked_for():
    meta: Any = type("Meta", (type,), {})
    module = sys.modules[__name__]
    module.Hashed = dataclass(meta("Hashed", (), {"__module__": __name__}))  # type: ignore[attr-defined]
    meta.__hash__, meta.__eq__ = trap("hash"), trap("eq")
    try:
        for tag in ("dataclass", "exception", "class", "subclass", "enum"):
            read(tagged(tag, **{"class": f"{__name__}:Hashed"}, fields={}, args=[], value=1))
        one = tagged("dataclass", **{"class": f"{__name__}:Hashed"}, fields={})
        for around in bodies(one):
            read(around)
        read(tagged("exception", **{"class": "builtins:ValueError"}, args=[one, [one]], members={"x": one}))
        read(tagged("dict", items=[[one, 1]]))
    finally:
        del meta.__hash__, meta.__eq__
        del module.Hashed


def test_reading_is_bounded_whatever_a_few_bytes_say():
    """In a process of its own: what is tested is that it ends."""
    script = """
        import json, sys
        sys.set_int_max_str_digits(0)
        from tracetape.codec.reader import Reader
        from tracetape.errors import ValueNotRebuilt
        from tracetape.model.payload import Payload
        huge = {"$type": "Decimal", "value": "1e30000000"}
        digits = "7" * 2_000_000
        long = {"$type": "int", "hex": "0x" + digits}
        for body in (
            {"$type": "Fraction", "numerator": "1e30000000", "denominator": None},
            {"$type": "Fraction", "numerator": huge, "denominator": 1},
            {"$type": "Fraction", "numerator": long, "denominator": {**long, "hex": "0x9" + digits}},
            {"$type": "int", "value": digits},
            {"$type": "timedelta", "days": 10**4000, "seconds": 0, "microseconds": 0},
            {"$type": "range", "start": 0, "stop": huge, "step": 1},
            {"$type": "deque", "items": [], "maxlen": 10**4000},
            {"$type": "Counter", "items": [["a", 10**4000], ["b", huge]]},
            {"$type": "slice", "start": huge, "stop": 10**4000, "step": None},
            {"$type": "set", "items": [huge, 10**4000]},
        ):
            try:
                Reader().result(Payload.of(json.dumps(body)))
            except ValueNotRebuilt:
                pass
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], timeout=20, check=False)
    assert done.returncode == 0


def test_numbers_that_are_large_come_back():
    for value in (
        10**4299,
        -(10**4300) + 1,
        10**5000,
        Fraction(10**5000, 3),
        Decimal("1e30000000"),
        {10**5000: [1]},
    ):
        assert Reader().result(encode([value])) == [value]


class Model:
    """Of no kind that is rebuilt."""


@pytest.mark.parametrize("cls", [Probe, Kind, BaseProbe, ValueError, int, list, bool, dict, Decimal])
def test_a_class_whose_instances_are_rebuilt_comes_back_itself(cls):
    assert Reader().result(encode([cls]))[0] is cls
    assert Reader().result(encode(cls)) is cls


@pytest.mark.parametrize("cls", [Model, object, type, enum.EnumType, subprocess.Popen])
def test_another_class_is_opaque(cls):
    assert to_tree(cls)["$type"] == "opaque"
    body = tagged("class", **{"class": f"{cls.__module__}:{cls.__qualname__}"})
    assert type(Reader().result(Payload.of(json.dumps([body])))[0]) is Missing
    with pytest.raises(ValueNotRebuilt):
        Reader().result(Payload.of(json.dumps(body)))


def test_a_class_that_is_not_at_hand_is_missing_where_it_is_used():
    gone = tagged("class", **{"class": "not_imported:Gone"})
    reader = Reader()
    (one,) = reader.result(Payload.of(json.dumps([gone])))
    assert type(one) is Missing
    assert to_tree(one) == gone
    assert [gap.code for gap in reader.gaps] == ["VALUE_REBUILT"]
    with pytest.raises(ValueNotRebuilt, match="is a class not_imported:Gone"):
        one.model_validate({})
    with pytest.raises(ValueNotRebuilt, match="import not_imported before the replay"):
        Reader().result(Payload.of(json.dumps(gone)))


def test_the_text_of_a_decimal_that_is_none_is_no_use_of_a_missing_value():
    with pytest.raises(ArithmeticError) as caught:
        Decimal("abc")
    back = Reader().error(encode(caught.value))
    assert str(back) == str(caught.value) == "[<class 'decimal.ConversionSyntax'>]"
    assert back.args[0][0] is caught.value.args[0][0]
