"""Rebuilding is reading, not running: what a trace says never makes code run."""

from __future__ import annotations

import enum
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from tracetape.codec import encode, parse
from tracetape.codec.opaque import Missing
from tracetape.codec.reader import Reader
from tracetape.errors import RecordedError, ValueNotRebuilt
from tracetape.model.payload import Payload

ran: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran():
    ran.clear()
    yield
    assert ran == []


def trap(name: str) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
        ran.append(name)
        raise AssertionError(name)

    return run


class Meta(type):
    armed = False

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if Meta.armed:
            ran.append("metaclass __call__")
        return super().__call__(*args, **kwargs)

    def __getattribute__(cls, name: str) -> Any:
        if Meta.armed:
            ran.append(f"metaclass {name}")
        return super().__getattribute__(name)

    def __instancecheck__(cls, instance: Any) -> bool:
        ran.append("instancecheck")
        return False

    def __subclasscheck__(cls, subclass: Any) -> bool:
        ran.append("subclasscheck")
        return False


@dataclass
class Hostile:
    x: int = 1

    __init__ = trap("__init__")
    __new__ = trap("__new__")
    __post_init__ = trap("__post_init__")  # type: ignore[misc]
    __setattr__ = trap("__setattr__")
    __getattr__ = trap("__getattr__")
    __getattribute__ = trap("__getattribute__")
    __setstate__ = trap("__setstate__")
    __getstate__ = trap("__getstate__")
    __reduce__ = trap("__reduce__")
    __reduce_ex__ = trap("__reduce_ex__")
    __deepcopy__ = trap("__deepcopy__")
    __init_subclass__ = trap("__init_subclass__")
    __eq__ = trap("__eq__")
    __hash__ = trap("__hash__")
    __repr__ = trap("__repr__")
    y = property(trap("get"), trap("set"))


@dataclass
class OfMeta(metaclass=Meta):
    x: int = 1


@dataclass
class WithProperty:
    x: int
    y: int = 0

    @property
    def secret(self) -> int:
        ran.append("get")
        return 1

    @secret.setter
    def secret(self, value: int) -> None:
        ran.append("set")


@dataclass
class WithDel:
    name: str = ""

    def __del__(self) -> None:
        ran.append("__del__")


class HostileError(Exception):
    __init__ = trap("__init__")
    __new__ = trap("__new__")
    __setattr__ = trap("__setattr__")
    __getattribute__ = trap("__getattribute__")
    __setstate__ = trap("__setstate__")
    __str__ = trap("__str__")
    __repr__ = trap("__repr__")


class HostileList(list):
    __init__ = trap("__init__")
    __new__ = trap("__new__")
    append = extend = __setitem__ = __iter__ = __len__ = trap("list method")


class HostileDict(dict):
    __init__ = trap("__init__")
    __new__ = trap("__new__")
    update = __setitem__ = keys = items = __missing__ = __iter__ = trap("dict method")


class HostileText(str):
    __init__ = trap("__init__")
    __new__ = trap("__new__")
    __str__ = trap("__str__")


class HostilePair(NamedTuple):
    a: int


class HostilePairChild(HostilePair):
    __init__ = trap("__init__")
    __new__ = trap("__new__")
    _make = trap("_make")


class Guess(enum.Enum):
    A = 1

    @classmethod
    def _missing_(cls, value: Any) -> Any:
        ran.append("_missing_")
        return cls.A


class GuessFlag(enum.Flag):
    A = 1
    B = 2

    @classmethod
    def _missing_(cls, value: Any) -> Any:
        ran.append("_missing_")
        return cls.A


class Service:
    """Neither a dataclass nor anything else that is rebuilt."""

    __new__ = trap("__new__")


class Outer:
    @dataclass
    class Inner:
        x: int


HERE = __name__


def payload(tree: Any) -> Payload:
    return Payload.of(json.dumps(tree))


def tag(kind: str, cls: str, **more: Any) -> dict[str, Any]:
    return {"$type": kind, "class": f"{HERE}:{cls}", **more}


def raw(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = object.__getattribute__(value, "__dict__")
    return found


@pytest.mark.parametrize(
    ("tree", "cls"),
    [
        (tag("dataclass", "Hostile", fields={"x": 5}, state={"y": 1, "free": 2}), Hostile),
        (tag("exception", "HostileError", args=["a"], state={"b": 1}, text="t"), HostileError),
        (tag("subclass", "HostileList", of="list", value=[1], state={"b": 1}), HostileList),
        (tag("subclass", "HostileDict", of="dict", value={"a": 1}, state={"b": 1}), HostileDict),
        (tag("subclass", "HostileText", of="str", value="x", state={"b": 1}), HostileText),
        (tag("namedtuple", "HostilePairChild", fields={"a": 1}), HostilePairChild),
    ],
)
def test_no_method_of_the_class_runs(tree, cls):
    assert type(Reader().result(payload(tree))) is cls
    (one,) = Reader().result(payload([tree]))
    assert type(one) is cls
    Reader().inputs(payload({"a": tree}))
    Reader().error(payload(tree))


def test_no_method_of_the_metaclass_runs():
    text = encode([OfMeta(3)])
    Meta.armed = True
    try:
        (one,) = Reader().result(text)
    finally:
        Meta.armed = False
    assert one.x == 3


def test_attributes_go_where_they_were_past_properties():
    one = Reader().result(payload(tag("dataclass", "WithProperty", fields={"x": 1, "y": 2}, state={"secret": 3})))
    assert raw(one) == {"secret": 3, "x": 1, "y": 2}


def test_a_class_with_del_is_refused():
    with pytest.raises(ValueNotRebuilt) as caught:
        Reader().result(payload({"order": tag("dataclass", "WithDel", fields={"name": "/etc/passwd"})}))
    assert str(caught.value) == (
        f"$.order is a {HERE}:WithDel, which has a __del__, so that a rebuilt one could do harm: "
        "it is never rebuilt"
    )


def test_members_of_enumerations_are_looked_up_only():
    assert Reader().result(payload(tag("enum", "Guess", name="A", value=1))) is Guess.A
    with pytest.raises(ValueNotRebuilt) as caught:
        Reader().result(payload(tag("enum", "Guess", name="B", value=2)))
    assert str(caught.value) == f"$ is a {HERE}:Guess, which has no member 'B' any more"
    with pytest.raises(ValueNotRebuilt):
        Reader().result(payload(tag("enum", "Guess", value=2)))
    for name in ("_missing_", "__class__", "_member_map_", "mro"):
        with pytest.raises(ValueNotRebuilt):
            Reader().result(payload(tag("enum", "Guess", name=name, value=1)))
    both = Reader().result(payload(tag("enum", "GuessFlag", value=3)))
    assert both is GuessFlag.A | GuessFlag.B


KINDS = ["dataclass", "exception", "subclass", "namedtuple", "enum", "pydantic", "attrs", "tuple", "nonsense"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name",
    [
        "os:system",
        "subprocess:Popen",
        "builtins:eval",
        "builtins:object",
        "builtins:type",
        "builtins:dict",
        "builtins:Nothing",
        "os:environ",
        "os:path.join",
        "os:_wrap_close",
        "sys:modules",
        "tempfile:_TemporaryFileCloser",
        "tempfile:TemporaryDirectory",
        "threading:Thread",
        "antigravity:x",
        "this:x",
        "",
        ":",
        "os",
        "os:",
        ":system",
        "..:x",
        "a:b:c",
        f"{HERE}:Service",
        f"{HERE}:ran",
        f"{HERE}:Outer.__init__",
        f"{HERE}:Outer.Inner.__class__",
        f"{HERE}:Outer.Inner.__class__.__base__",
        "__main__:__builtins__",
        "\x00:\x00",
    ],
)
def test_classes_that_a_trace_may_not_have(kind, name):
    before = set(sys.modules)
    tree = {
        "$type": kind,
        "class": name,
        "fields": {"x": 1},
        "args": ["true"],
        "value": ["true"],
        "name": "x",
        "of": "list",
        "state": {"a": 1},
        "set": [],
    }
    with pytest.raises(ValueNotRebuilt):
        Reader().result(payload(tree))
    assert type(Reader().inputs(payload({"a": tree}))["a"]) is Missing
    assert type(Reader().error(payload(tree))) is RecordedError
    assert set(sys.modules) == before


def test_what_a_deleting_class_of_the_standard_library_would_have_deleted(tmp_path):
    victim = tmp_path / "kept"
    victim.write_text("x")
    names = [
        f"{vars(module)['__name__']}:{cls.__qualname__}"
        for module in (tempfile,)
        for cls in vars(module).values()
        if isinstance(cls, type)
    ]
    for name in names:
        for kind in KINDS:
            tree = {
                "$type": kind,
                "class": name,
                "fields": {"name": str(victim), "delete": True},
                "state": {"name": str(victim), "delete": True, "close_called": False},
                "value": [],
                "args": [],
            }
            Reader().inputs(payload({"a": tree}))
    assert victim.exists()


def test_nothing_is_imported():
    assert "antigravity" not in sys.modules
    with pytest.raises(ValueNotRebuilt) as caught:
        Reader().result(payload([{"$type": "dataclass", "class": "antigravity:Order", "fields": {}}]))
    assert str(caught.value) == (
        "$[0] is a antigravity:Order, whose module has not been imported here: import antigravity before the "
        "replay, or pass types=[Order]"
    )
    assert "antigravity" not in sys.modules


def test_the_getattr_of_a_module_does_not_run(monkeypatch):
    module = ModuleType("lazy_module")
    exec("def __getattr__(name):\n raise SystemExit(name)", module.__dict__)
    monkeypatch.setitem(sys.modules, "lazy_module", module)

    class NoModule:
        __getattribute__ = trap("__getattribute__")

    monkeypatch.setitem(sys.modules, "no_module", NoModule())
    for name in ("lazy_module", "no_module"):
        with pytest.raises(ValueNotRebuilt):
            Reader().result(payload({"$type": "dataclass", "class": f"{name}:Order", "fields": {}}))


def test_the_class_decides_not_the_trace():
    with pytest.raises(ValueNotRebuilt) as caught:
        Reader().result(payload(tag("subclass", "Hostile", of="dict", value={})))
    assert str(caught.value) == (
        f"$ is a {HERE}:Hostile, which was recorded as 'subclass' and is of the kind 'dataclass' here"
    )
    with pytest.raises(ValueNotRebuilt) as caught:
        Reader().result(payload(tag("dataclass", "Service", fields={})))
    assert str(caught.value) == (
        f"$ is a {HERE}:Service, which was recorded as 'dataclass' and is of no kind that is rebuilt here"
    )


def test_a_class_inside_a_class_is_found():
    assert Reader().result(encode(Outer.Inner(1))) == Outer.Inner(1)


def test_a_class_inside_a_function_needs_types():
    @dataclass
    class Local:
        x: int

    with pytest.raises(ValueNotRebuilt) as caught:
        Reader().result(encode(Local(1)))
    assert str(caught.value) == (
        f"$ is a {HERE}:test_a_class_inside_a_function_needs_types.<locals>.Local, which is made inside a "
        "function: pass types=[Local]"
    )
    assert Reader(types=[Local]).result(encode(Local(1))) == Local(1)


def test_a_class_that_is_gone():
    with pytest.raises(ValueNotRebuilt) as caught:
        Reader().result(payload(tag("dataclass", "Gone", fields={})))
    assert str(caught.value) == f"$ is a {HERE}:Gone, a class that {HERE} does not have here: pass types=[Gone]"


# A class that has changed since


@dataclass
class Now:
    kept: int
    added: str = "default"
    made: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Slim:
    kept: int


@dataclass
class Needs:
    kept: int
    added: int


class NowPair(NamedTuple):
    kept: int
    added: str = "default"


def test_fields_added_or_removed_since():
    reader = Reader()
    assert reader.result(payload(tag("dataclass", "Now", fields={"kept": 1, "old": 2}))) == Now(1)
    assert [str(gap) for gap in reader.gaps] == [
        "VALUE_REBUILT: $: its field added was not recorded and has its default",
        "VALUE_REBUILT: $: its field made was not recorded and has its default",
        "VALUE_REBUILT: $: its field old is gone from the class and was left out",
    ]
    assert reader.result(payload(tag("namedtuple", "NowPair", fields={"old": 2, "kept": 1}))) == NowPair(1)
    reader = Reader()
    assert reader.result(payload(tag("dataclass", "Slim", fields={"kept": 1}, state={"x": 1}))) == Slim(1)
    assert [str(gap) for gap in reader.gaps] == [
        "VALUE_REBUILT: $: its attribute x has no place in the class any more and was left out"
    ]


def test_a_field_without_a_default():
    with pytest.raises(ValueNotRebuilt) as caught:
        Reader().result(payload({"a": [tag("dataclass", "Needs", fields={"kept": 1})]}))
    assert str(caught.value) == (
        f"$.a[0] is a {HERE}:Needs, which has a field added now that was not recorded and has no plain default"
    )


# Payloads that nobody wrote


@pytest.mark.parametrize(
    "text",
    [
        '{"$type":"set","items":[[1]]}',
        '{"$type":"set"}',
        '{"$type":"set","items":5}',
        '{"$type":"dict","items":[1]}',
        '{"$type":"dict","items":[[[],1]]}',
        '{"$type":"int","value":"x"}',
        '{"$type":"int","value":5}',
        '{"$type":"int","value":"' + "9" * 5000 + '"}',
        '{"$type":"bytes","base64":"?"}',
        '{"$type":"Decimal","value":"x"}',
        '{"$type":"Fraction","numerator":1,"denominator":0}',
        '{"$type":"datetime","value":"x"}',
        '{"$type":"datetime","value":"2026-01-01T00:00:00","tz":{"$type":"opaque","class":"a:B"}}',
        '{"$type":"zoneinfo","key":"../../etc/passwd"}',
        '{"$type":"zoneinfo","key":"/etc/passwd"}',
        '{"$type":"zoneinfo","key":"No/Such"}',
        '{"$type":"timedelta","days":1e300,"seconds":0,"microseconds":0}',
        '{"$type":"defaultdict","factory":{"name":"eval"},"items":[]}',
        '{"$type":"defaultdict","factory":"os.system","items":[]}',
        '{"$type":"defaultdict","factory":{"$type":"tuple","items":[]},"items":[]}',
        '{"$type":"deque","items":[],"maxlen":"x"}',
        '{"$type":"range","start":"a","stop":1,"step":0}',
        '{"$type":[],"items":[]}',
        '{"$type":null}',
        '{"$type":"new in 3.0"}',
        "{",
        "",
        "[" * 500 + '{"$type":"tuple","items":[]}' + "]" * 500,
        "[" * 100000,
    ],
)
def test_what_cannot_be_read_is_said(text):
    with pytest.raises(ValueNotRebuilt):
        Reader().result(Payload.of(text))


def test_the_words_for_it():
    for text, words in [
        ("{", "the stored value is no JSON that can be read: "),
        (
            '{"a":{"$type":"new"}}',
            "$.a is a new, which this version of tracetape does not know: upgrade tracetape",
        ),
        ('[{"$type":"int","value":"x"}]', "$[0] is a int and cannot be read: ValueError: "),
    ]:
        with pytest.raises(ValueNotRebuilt) as caught:
            Reader().result(Payload.of(text))
        assert str(caught.value).startswith(words)


def test_json_of_other_writers():
    assert parse("[18446744073709551616]") == [2**64]
    assert parse("[NaN]")[0] != parse("[NaN]")[0]
    assert parse('["\\ud800"]') == ["\ud800"]
    assert Reader().result(Payload.of('{"a": [1, 1.5]}')) == {"a": [1, 1.5]}


def test_every_reading_is_a_value_of_its_own():
    reader, stored = Reader(), encode({"a": [Now(1)]})
    assert reader.result(stored)["a"][0] is not reader.result(stored)["a"][0]
    plain = encode({"a": [1]})
    assert reader.result(plain)["a"] is not reader.result(plain)["a"]


def test_an_unknown_zone_comes_back_as_its_offset():
    from datetime import datetime, timedelta, tzinfo

    class Local(tzinfo):
        def utcoffset(self, moment: datetime | None) -> timedelta:
            return timedelta(hours=2)

        def tzname(self, moment: datetime | None) -> None:
            return None

        def dst(self, moment: datetime | None) -> None:
            return None

    value = datetime(2026, 1, 1, tzinfo=Local())
    reader = Reader()
    assert reader.result(encode([value])) == [value]
    assert [gap.text.partition("<locals>")[2] for gap in reader.gaps] == [
        ".Local came back as the offset that it had"
    ]


# __main__


SCRIPT = textwrap.dedent(
    """
    import sys
    from dataclasses import dataclass
    from tracetape.codec import encode
    from tracetape.codec.reader import Reader
    from tracetape.model.payload import Payload

    @dataclass
    class Order:
        x: int

    if __name__ == "__main__":
        if len(sys.argv) == 1:
            print(encode(Order(1)).text)
        else:
            assert type(Reader().result(Payload.of(sys.argv[1]))) is Order
    """
)


def run(*args: str, cwd: Path, **environ: str) -> str:
    env = {**os.environ, **environ}
    done = subprocess.run([sys.executable, *args], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_class_of_the_script_that_ran(tmp_path):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "agent_script.py").write_text(SCRIPT)
    (tmp_path / "pkg" / "agent_script.py").write_text(SCRIPT)
    as_script = run("agent_script.py", cwd=tmp_path)
    as_module = run("-m", "pkg.agent_script", cwd=tmp_path)
    imported = run("-c", "import agent_script as a; print(a.encode(a.Order(1)).text)", cwd=tmp_path)
    assert as_script == '{"$type":"dataclass","class":"agent_script:Order","main":true,"fields":{"x":1}}'
    assert as_module == '{"$type":"dataclass","class":"pkg.agent_script:Order","main":true,"fields":{"x":1}}'
    assert imported == '{"$type":"dataclass","class":"agent_script:Order","fields":{"x":1}}'
    for text in (as_script, imported):
        run("agent_script.py", text, cwd=tmp_path)
        code = "import sys, agent_script as a; a.Reader().result(a.Payload.of(sys.argv[1]))"
        run("-c", code, text, cwd=tmp_path)
    run("agent_script.py", as_module, cwd=tmp_path)
    run("-m", "pkg.agent_script", as_module, cwd=tmp_path)
    run("-m", "pkg.agent_script", as_script, cwd=tmp_path)
    code = "import sys, pkg.agent_script as a; a.Reader().result(a.Payload.of(sys.argv[1]))"
    for text in (as_script, as_module):
        run("-c", code, text, cwd=tmp_path)


def test_sets_have_one_text_whatever_the_seed(tmp_path):
    code = (
        "from tracetape.codec import encode\n"
        "print(encode([{'a', 'b', 'c', 1, (2, 'd')}, frozenset('xyz'), {frozenset('pq'), 'r'}]).text)"
    )
    assert len({run("-c", code, cwd=tmp_path, PYTHONHASHSEED=str(seed)) for seed in (0, 1, 2, 3)}) == 1
