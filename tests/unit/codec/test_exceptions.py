"""Exceptions: `except` clauses, messages, members, groups work on what comes back."""

from __future__ import annotations

import asyncio
import binascii
import concurrent.futures
import json
import re
import socket
import sqlite3
import subprocess
import traceback
import urllib.error
import zlib
from dataclasses import dataclass
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

import pytest

from tracetape.codec import encode, parse
from tracetape.codec.reader import Reader
from tracetape.errors import RecordedError, ValueNotRebuilt
from tracetape.model.payload import Payload


class Plain(Exception):
    pass


class TwoArguments(Exception):
    """Its `args` are not what its `__init__` takes, the classic that pickle fails on."""

    def __init__(self, code: int, body: dict[str, Any]) -> None:
        super().__init__(f"failed with {code}")
        self.code = code
        self.body = body


class NoSuper(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


class KeywordOnly(ValueError):
    def __init__(self, *, reason: str) -> None:
        self.reason = reason


class WithSlots(Exception):
    __slots__ = ("detail",)

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class WithText(Exception):
    def __str__(self) -> str:
        return f"[{self.args[0]}]"


class HostileText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class OsChild(OSError):
    def __init__(self, path: str) -> None:
        super().__init__(5, "child", path)
        self.path = path


@dataclass
class AsData(Exception):
    code: int
    tags: tuple[str, ...] = ()


class GroupChild(ExceptionGroup[Exception]):
    pass


def filled(error: BaseException, **members: Any) -> BaseException:
    for name, one in members.items():
        setattr(error, name, one)
    return error


def noted() -> Exception:
    error = ValueError("x")
    error.add_note("first")
    error.add_note("second")
    return error


def caught(code: str) -> BaseException:
    try:
        exec(code, {})
    except BaseException as error:
        return error
    raise AssertionError


KINDS: list[BaseException] = [
    Exception(),
    Exception("a", 1, (2,)),
    BaseException("base"),
    ArithmeticError("x"),
    AssertionError("x"),
    AttributeError("x", name="n"),
    BlockingIOError(11, "again", 3),
    BrokenPipeError(32, "pipe"),
    BufferError("x"),
    ChildProcessError(10, "child"),
    ConnectionResetError(104, "reset"),
    EOFError(),
    FileNotFoundError(2, "no such file", "a.txt", None, "b.txt"),
    OSError("only text"),
    OSError(),
    PermissionError(13, "denied", b"bytes"),
    GeneratorExit(),
    ImportError("x", name="mod", path="/p"),
    ModuleNotFoundError("no", name="mod"),
    IndexError("x"),
    KeyError("k"),
    KeyError(("k", 1)),
    KeyboardInterrupt(),
    LookupError(),
    MemoryError(),
    NameError("x", name="y"),
    UnboundLocalError("x"),
    NotImplementedError(),
    OverflowError("x"),
    RecursionError("x"),
    ReferenceError("x"),
    RuntimeError("x"),
    StopAsyncIteration(1),
    StopIteration({"v": 1}),
    SyntaxError("bad", ("f.py", 1, 2, "text", 1, 5)),
    caught("x ="),
    IndentationError("bad", ("f.py", 1, 2, "text")),
    SystemError("x"),
    SystemExit(3),
    SystemExit(),
    TimeoutError("slow"),
    TypeError("x"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    UnicodeEncodeError("ascii", "é", 0, 1, "bad"),
    UnicodeTranslateError("é", 0, 1, "bad"),
    ValueError("lone \ud800"),
    UserWarning("w"),
    ZeroDivisionError("division by zero"),
    json.JSONDecodeError("bad", "doc", 1),
    subprocess.CalledProcessError(1, ["ls"], b"out"),
    subprocess.TimeoutExpired("ls", 1.5),
    asyncio.CancelledError("why"),
    asyncio.IncompleteReadError(b"a", 3),
    concurrent.futures.BrokenExecutor("x"),
    socket.gaierror(-2, "Name or service not known"),
    sqlite3.IntegrityError("UNIQUE"),
    binascii.Error("x"),
    zlib.error("x"),
    re.error("bad", "(", 1),
    urllib.error.URLError("reason"),
    filled(ValueError("x"), status=500),
    filled(OSError(2, "x"), filename="set later"),
    filled(ValueError("x"), args=(1, 2, 3)),
    filled(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), reason="other"),
    filled(ImportError("x"), args=()),
    noted(),
    Plain("x", {"a": (1,)}),
    TwoArguments(404, {"error": ("x",)}),
    NoSuper(3),
    KeywordOnly(reason="r"),
    WithSlots("d"),
    WithText("x"),
    HostileText("x"),
    OsChild("p"),
    AsData(1, ("t",)),
    ExceptionGroup("g", [ValueError("a"), ExceptionGroup("h", [KeyError("b")])]),
    BaseExceptionGroup("g", [KeyboardInterrupt()]),
    GroupChild("g", [ValueError("a")]),
]


def back(error: BaseException) -> BaseException:
    return Reader().error(encode(error))


def described(error: BaseException) -> Any:
    members = {}
    for one in type(error).__mro__:
        for name, member in vars(one).items():
            if isinstance(member, MemberDescriptorType | GetSetDescriptorType) and name not in (
                "__traceback__",
                "__weakref__",
            ):
                members[name] = getattr(error, name, "unset")
    members["__cause__"] = None if error.__cause__ is None else described(error.__cause__)
    members["__context__"] = None
    for name in ("args", "exceptions", "__dict__"):
        if name in members:
            members[name] = repr(members[name])
    try:
        text = str(error)
    except RuntimeError:
        text = "no text"
    return type(error), text, members


@pytest.mark.parametrize("error", KINDS, ids=lambda error: type(error).__name__)
def test_comes_back_the_same(error):
    assert described(back(error)) == described(error)
    assert described(Reader().result(encode([error]))[0]) == described(error)


def test_an_exception_comes_back_without_a_traceback():
    assert back(caught("1/0")).__traceback__ is None


def test_cause_and_suppressed_context():
    caused = caught("try:\n 1/0\nexcept Exception as e:\n raise ValueError('x') from e")
    assert described(back(caused)) == described(caused)
    silent = caught("try:\n 1/0\nexcept Exception:\n raise ValueError('x') from None")
    assert back(silent).__suppress_context__ is True
    assert back(silent).__cause__ is None


def test_the_object_that_lacked_an_attribute_is_not_stored():
    error = caught("class Client: pass\nClient().missing")
    assert "Client object" not in encode(error).text.replace(str(error), "")
    assert "opaque" not in encode(error).text
    made = back(error)
    assert type(made) is AttributeError
    assert made.name == "missing"
    assert "".join(traceback.format_exception(made))


def test_a_cause_that_causes_itself():
    error, other = ValueError("a"), ValueError("b")
    error.__cause__, other.__cause__ = other, error
    made = back(error)
    assert str(made.__cause__) == "b"
    assert made.__cause__ is not None
    assert made.__cause__.__cause__ is None


def test_a_member_that_cannot_be_stored_halts_only_when_it_is_used():
    error = TwoArguments(500, {"response": object()})
    made = back(error)
    assert isinstance(made, TwoArguments)
    assert str(made) == "failed with 500"
    with pytest.raises(ValueNotRebuilt, match=r"^\$\.body\.response is a builtins:object, "):
        made.body["response"].status_code  # noqa: B018


def test_an_argument_that_cannot_be_stored():
    made = back(OSError(2, object()))
    assert type(made) is FileNotFoundError
    assert made.errno == 2
    with pytest.raises(ValueNotRebuilt):
        str(made)


def payload_without(error: BaseException, name: str) -> Payload:
    return Payload.of(encode(error).text.replace(f":{name}", f":{name}Gone"))


def test_a_class_that_is_not_at_hand_is_a_recorded_error():
    made = Reader().error(payload_without(Plain("told"), "Plain"))
    assert type(made) is RecordedError
    assert made.type_name == f"{__name__}:PlainGone"
    assert str(made) == f"{__name__}:PlainGone: told"
    with_text = Reader().error(payload_without(WithText("x"), "WithText"))
    assert str(with_text) == f"{__name__}:WithTextGone: [x]"


def test_inside_a_group_or_as_a_cause_too():
    group = ExceptionGroup("g", [Plain("a"), ValueError("b")])
    group.__cause__ = Plain("c")
    reader = Reader()
    made = reader.error(payload_without(group, "Plain"))
    assert type(made) is ExceptionGroup
    assert [type(one) for one in made.exceptions] == [RecordedError, ValueError]
    assert type(made.__cause__) is RecordedError
    assert [gap.code for gap in reader.gaps] == ["VALUE_REBUILT", "VALUE_REBUILT"]
    assert str(reader.gaps[0]) == (
        f"VALUE_REBUILT: $.exceptions[0]: is a RecordedError: a class that {__name__} does not have here: "
        "pass types=[PlainGone]"
    )


@pytest.mark.parametrize(
    "text",
    [
        "null",
        "3",
        "[]",
        "{}",
        "nonsense",
        '{"$type":"exception"}',
        '{"$type":"tuple"}',
        '{"$type":"exception","class":5,"args":3}',
        '{"$type":"opaque","class":"a:B"}',
    ],
)
def test_an_error_is_always_an_exception(text):
    assert type(Reader().error(Payload.of(text))) is RecordedError


def test_an_opaque_error_keeps_its_name_and_text():
    made = Reader().error(Payload.of('{"$type":"opaque","class":"grpc:RpcError","text":"down"}'))
    assert str(made) == "grpc:RpcError: down"


def test_an_error_known_by_class_and_message_is_that_class():
    made = Reader().error(Payload.of('{"$type":"exception","class":"builtins:TimeoutError","args":["slow"]}'))
    assert type(made) is TimeoutError
    assert str(made) == "slow"


def test_the_text_is_stored_where_the_arguments_do_not_say_it():
    assert parse(encode(WithText("x")).text)["text"] == "[x]"
    assert "text" not in parse(encode(ValueError("x")).text)
    assert len(parse(encode(WithText("x" * 5000)).text)["text"]) == 2000
