"""What was recorded comes back equal, of the same type, through a real recording and its replay."""

from __future__ import annotations

import asyncio
import binascii
import concurrent.futures
import configparser
import csv
import decimal
import enum
import fractions
import http.client
import json
import math
import re
import shutil
import socket
import sqlite3
import string
import struct
import subprocess
import tempfile
import types
import urllib.error
import uuid
import zlib
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings

import tracetape
from tests.properties.test_values import VALUES
from tracetape.errors import DivergenceError, NotReplayable


class Side(enum.Enum):
    SELL = "sell"


class Level(enum.IntEnum):
    HIGH = 3


class Word(enum.StrEnum):
    YES = "yes"


class Rights(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()


@dataclass
class Plain:
    a: Any
    b: Any = None


@dataclass(frozen=True, slots=True)
class FrozenSlots:
    a: Any


@dataclass
class Derived:
    a: int
    doubled: int = field(init=False)

    def __post_init__(self) -> None:
        self.doubled = self.a * 2


class Pair(NamedTuple):
    a: Any
    b: Any = 2


class MyInt(int):
    pass


class MyStr(str):
    pass


class MyList(list):
    pass


class MyDict(dict):
    pass


EACH_TYPE: list[Any] = [
    None,
    True,
    0,
    -(2**63),
    2**64,
    10**5000,
    1.5,
    -0.0,
    math.inf,
    -math.inf,
    "text",
    "\ud800 alone",
    "\x00 é 漢 🙂",
    b"\x00\xff",
    bytearray(b"ab"),
    [1, [2]],
    (1, (2, [3])),
    (),
    {3, 1, 2},
    frozenset({1}),
    {"a": 1, "b": None},
    {1: "a", (1, 2): "b", None: "c", 2.5: "d"},
    {"$type": "of the user's own", "value": 5},
    deque([1, 2], maxlen=3),
    OrderedDict([("b", 1), ("a", 2)]),
    defaultdict(list, {"a": [1]}),
    Counter("abca"),
    datetime(2026, 11, 30, 10, 0, 0, 123456),
    datetime(2026, 11, 30, 10, tzinfo=UTC),
    datetime(2026, 10, 25, 2, 30, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"), fold=1),
    date(2026, 11, 30),
    time(10, 30, tzinfo=timezone(timedelta(hours=5, minutes=30), "IST")),
    timedelta(days=-1, microseconds=1),
    timezone(timedelta(hours=2)),
    zoneinfo.ZoneInfo("Europe/Berlin"),
    decimal.Decimal("1000.10"),
    fractions.Fraction(1, 3),
    uuid.UUID(int=7),
    Side.SELL,
    Level.HIGH,
    Word.YES,
    Rights.READ | Rights.WRITE,
    Path("/a/b"),
    PurePosixPath("c"),
    PureWindowsPath("C:/d"),
    range(1, 10, 3),
    slice(1, None, 2),
    1 + 2j,
    types.SimpleNamespace(a=1),
    ...,
    NotImplemented,
    Plain(1, [2]),
    FrozenSlots((1, 2)),
    Derived(4),
    Pair(1),
    MyInt(5),
    MyStr("s"),
    MyList([1]),
    MyDict(a=1),
]


@tracetape.boundary("give")
def give(given: Any, take_from: list[Any]) -> Any:
    return take_from[0]


def through_a_replay(value: Any, path: Path) -> Any:
    """The value as a replay serves it, while the call is matched by the same value as an input."""
    with tracetape.record(path, mode="w") as run:
        give(value, [value])
    assert run.recording.grade == "exact"
    with tracetape.replay(path, strict=True) as tape:
        served = give(value, [value])
    assert tape.report.verdict == "same"
    recorded = run.recording["give", 1].inputs["given"]
    assert type(recorded) is type(value)
    assert recorded == value
    return served


@pytest.mark.parametrize("value", EACH_TYPE, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("nested", [False, True], ids=["at the top", "nested"])
def test_each_type_comes_back_equal_and_of_the_same_type(value: Any, nested: bool, tmp_path: Path) -> None:
    whole = {"in": [(value, {"deeper": [value]})], "record": Plain(value, Pair(value))} if nested else value
    served = through_a_replay(whole, tmp_path / "run.jsonl")
    parts = [served]
    if nested:
        (first, second), record = served["in"][0], served["record"]
        parts = [first, second["deeper"][0], record.a, record.b.a]
    for one in parts:
        assert type(one) is type(value)
        assert one == value
    if isinstance(value, float) and not nested:
        assert math.copysign(1, served) == math.copysign(1, value)
    if isinstance(value, datetime) and not nested:
        assert (served.fold, served.tzinfo) == (value.fold, value.tzinfo)


def test_nan_comes_back_as_nan(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        give(1, [math.nan])
    with tracetape.replay(path):
        assert math.isnan(give(1, [math.nan]))


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(VALUES)
def test_any_value_comes_back_through_a_replay(tmp_path: Path, value: Any) -> None:
    served = through_a_replay(value, tmp_path / "run.jsonl")
    assert type(served) is type(value)
    assert served == value


class OfTheUser(Exception):
    __slots__ = ("hint",)

    def __init__(self, code: int, *, hint: str) -> None:
        super().__init__(f"code {code}")
        self.code = code
        self.hint = hint


def raised_by(act: Any) -> BaseException:
    try:
        act()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def chained() -> None:
    try:
        raise KeyError("cause")
    except KeyError as error:
        failure = ValueError("effect")
        failure.add_note("a note")
        failure.attempts = 3  # type: ignore[attr-defined]
        raise failure from error


ERRORS: list[BaseException] = [
    Exception("x", 1),
    ValueError("x"),
    TypeError("x"),
    KeyError("x"),
    IndexError("x"),
    LookupError("x"),
    RuntimeError("x"),
    NotImplementedError("x"),
    RecursionError("x"),
    ArithmeticError("x"),
    ZeroDivisionError("x"),
    OverflowError("x"),
    AssertionError("x"),
    AttributeError("x", name="y"),
    NameError("x", name="y"),
    ImportError("x", name="m", path="/p"),
    ModuleNotFoundError("x", name="m"),
    EOFError("x"),
    MemoryError("x"),
    StopIteration(5),
    OSError(2, "gone", "f"),
    FileNotFoundError(2, "gone", "f"),
    PermissionError(13, "no"),
    ConnectionResetError(104, "reset"),
    TimeoutError("too slow"),
    BlockingIOError(11, "later", 5),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    UnicodeEncodeError("ascii", "é", 0, 1, "bad"),
    SyntaxError("bad", ("f.py", 1, 2, "text", 1, 3)),
    json.JSONDecodeError("bad", "doc", 1),
    subprocess.CalledProcessError(1, ["cmd"], b"out", b"err"),
    subprocess.TimeoutExpired(["cmd"], 5.0),
    socket.gaierror(8, "unknown"),
    sqlite3.IntegrityError("unique"),
    asyncio.QueueEmpty(),
    concurrent.futures.BrokenExecutor("x"),
    urllib.error.URLError("refused"),
    http.client.IncompleteRead(b"part", 5),
    decimal.InvalidOperation("x"),
    csv.Error("x"),
    configparser.NoOptionError("option", "section"),
    struct.error("x"),
    zlib.error("x"),
    binascii.Error("x"),
    re.error("bad", "(", 0),
    shutil.SameFileError("x"),
    raised_by(lambda: json.loads("{")),
    raised_by(lambda: [][1]),
    raised_by(lambda: tempfile.mkdtemp(dir="/nowhere")),
    raised_by(lambda: string.Template("$a").substitute()),
    raised_by(chained),
    OfTheUser(7, hint="retry"),
    ExceptionGroup("several", [ValueError("a"), ExceptionGroup("inner", [KeyError("b"), OfTheUser(1, hint="h")])]),
    BaseExceptionGroup("several", [KeyboardInterrupt("k")]),
]


MEMBERS = """errno strerror filename name path reason object start end value lineno msg text offset doc pos
    returncode cmd stdout stderr timeout partial"""


def facts(error: BaseException | None) -> Any:
    if error is None:
        return None
    members = re.findall(r"\w+", MEMBERS)
    return (
        type(error),
        str(error),
        error.args if not isinstance(error, BaseExceptionGroup) else error.message,
        [facts(one) for one in error.exceptions] if isinstance(error, BaseExceptionGroup) else None,
        {name: repr(getattr(error, name)) for name in members if hasattr(error, name)},
        {name: repr(value) for name, value in vars(error).items()},
        getattr(error, "hint", None),
        getattr(error, "__notes__", None),
        facts(error.__cause__),
        error.__suppress_context__,
    )


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_exception_comes_back_as_itself(error: BaseException, tmp_path: Path) -> None:
    """Class, text, args, members, attributes, notes, cause, the exceptions of a group."""
    armed = [error]

    @tracetape.boundary("fail", kind="tool")
    def fail() -> None:
        raise armed[0]

    with tracetape.record(tmp_path / "run.jsonl"):
        assert raised_by(fail) is error
    expected = facts(error)
    armed.clear()
    with tracetape.replay(tmp_path / "run.jsonl", strict=True):
        again = raised_by(fail)
    assert again is not error
    if isinstance(error, BaseExceptionGroup):
        assert facts(again)[:2] == expected[:2]
        assert facts(again)[3] == expected[3]
    else:
        assert facts(again) == expected


@pytest.mark.optional
def test_pydantic_s_validation_error_comes_back_as_itself(tmp_path: Path) -> None:
    import pydantic

    class Order(pydantic.BaseModel):
        quantity: int

    @tracetape.boundary("parse")
    def parse(text: str) -> Any:
        return Order.model_validate_json(text)

    def program() -> Any:
        try:
            parse('{"quantity": "many"}')
        except pydantic.ValidationError as error:
            return error.title, error.errors(include_url=False), str(error)

    with tracetape.record(tmp_path / "run.jsonl"):
        original = program()
    with tracetape.replay(tmp_path / "run.jsonl", strict=True):
        assert program() == original


def test_recovery_from_a_timeout_and_a_retry_loop_replay(tmp_path: Path) -> None:
    answers: list[Any] = [TimeoutError("slow"), ConnectionResetError(104, "reset"), "answer"]

    @tracetape.boundary("ask", kind="llm")
    def ask(question: str) -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    def program() -> list[str]:
        log: list[str] = []
        for attempt in range(5):
            try:
                return [*log, ask("why?")]
            except TimeoutError:
                log.append(f"timeout in attempt {attempt}")
            except OSError as error:
                log.append(f"{error.errno} in attempt {attempt}")
        return log

    with tracetape.record(tmp_path / "run.jsonl"):
        original = program()
    assert original == ["timeout in attempt 0", "104 in attempt 1", "answer"]
    with tracetape.replay(tmp_path / "run.jsonl", strict=True):
        assert program() == original


class Client:
    """Cannot be stored."""

    def __init__(self) -> None:
        self.lock = object()


def test_an_opaque_result_is_refused_by_name_before_the_run(tmp_path: Path) -> None:
    @tracetape.boundary("connect")
    def connect() -> Client:
        return Client()

    with tracetape.record(tmp_path / "run.jsonl") as run:
        connect()
    with pytest.raises(NotReplayable, match=rf"connect@1: the outcome is a {__name__}:Client, which cannot be st"):
        with tracetape.replay(run.path):
            raise AssertionError("the run began")
    with tracetape.replay(run.path, live=["connect"]):
        assert type(connect()) is Client


USES: dict[str, Any] = {
    "attribute": lambda it: it.lock,
    "repr": repr,
    "str": str,
    "f-string": lambda it: f"{it}",
    "f-string with !r": lambda it: f"{it!r}",
    "format": lambda it: "{:>5}".format(it),  # noqa: UP032
    "percent": lambda it: "%s" % it,  # noqa: UP031
    "repr of what it is in": lambda it: repr({"client": it}),
    "print": print,
    "str.join of its text": lambda it: ", ".join(map(str, [it])),
    "json.dumps": json.dumps,
    "json.dumps of what it is in": lambda it: json.dumps({"a": [it]}, default=str),
    "equal": lambda it: it == 1,
    "equal, on the right": lambda it: 1 == it,  # noqa: SIM300
    "not equal": lambda it: it != 1,
    "less": lambda it: it < 1,
    "sorted": lambda it: sorted([1, it]),
    "in it": lambda it: 1 in it,
    "it in": lambda it: it in [1, 2],
    "key of a dict": lambda it: {it: 1},
    "bool": bool,
    "not": lambda it: not it,
    "len": len,
    "iter": list,
    "unpacking": lambda it: [*it],
    "keywords": lambda it: dict(**it),
    "item": lambda it: it[0],
    "call": lambda it: it(),
    "sum": lambda it: 1 + it,
    "text and it": lambda it: "a" + it,
    "int": int,
    "float": float,
    "index": lambda it: [1, 2][it],
    "isinstance": lambda it: isinstance(it, dict),
    "match by class": lambda it: _matched(it),
    "hasattr": lambda it: hasattr(it, "x"),
    "setattr": lambda it: setattr(it, "x", 1),
    "vars": vars,
    "dir": dir,
    "hash": hash,
    "path": lambda it: Path(it),
    "open": lambda it: open(it),  # noqa: SIM115, PTH123
    "with": lambda it: _entered(it),
}


def _matched(it: Any) -> Any:
    match it:
        case str():
            return 1


def _entered(it: Any) -> Any:
    with it:
        pass


@pytest.mark.parametrize("use", USES)
def test_a_part_that_was_not_stored_halts_when_it_is_used(use: str, tmp_path: Path) -> None:
    @tracetape.boundary("open_account")
    def open_account() -> dict[str, Any]:
        return {"id": 5, "client": Client()}

    with tracetape.record(tmp_path / "run.jsonl") as run:
        open_account()
    assert run.recording["open_account", 1].grade == "rebuilt"
    with pytest.raises(DivergenceError) as caught, tracetape.replay(run.path):
        account = open_account()
        assert account["id"] == 5
        try:
            USES[use](account["client"])
        except Exception as error:
            raise AssertionError(f"{use} passed as {error!r}") from error
        raise AssertionError(f"{use} passed")
    assert f"$.client of the outcome of open_account@1 was used, a {__name__}:Client" in str(caught.value)


def test_a_part_that_was_not_stored_may_be_handed_on(tmp_path: Path) -> None:
    @tracetape.boundary("open_account")
    def open_account() -> dict[str, Any]:
        return {"client": Client()}

    class Holder:
        """Cannot be stored either, and prints what it holds."""

        def __init__(self, client: Any) -> None:
            self.client = client

        def __repr__(self) -> str:
            return f"Holder({self.client!r})"

    @tracetape.boundary("use")
    def use(client: Any, holder: Any, error: Exception) -> int:
        return 5

    def program() -> int:
        client = open_account()["client"]
        return use(client, Holder(client), ValueError(client))

    with tracetape.record(tmp_path / "run.jsonl"):
        program()
    with tracetape.replay(tmp_path / "run.jsonl") as tape, tracetape.record(tmp_path / "replay.jsonl"):
        assert program() == 5
    assert tape.report.divergences == []
