"""pydantic's models, errors, secrets, URLs."""

from __future__ import annotations

import enum
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

import orjson
import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    PostgresDsn,
    PrivateAttr,
    RootModel,
    Secret,
    SecretBytes,
    SecretStr,
    ValidationError,
    computed_field,
    field_validator,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass
from pydantic_core import PydanticCustomError

from tracetape.codec import OpaquePart, encode, scan, to_tree
from tracetape.codec.reader import Reader
from tracetape.errors import ValueNotRebuilt
from tracetape.model.payload import Payload

T = TypeVar("T")
ran: list[str] = []


class Side(enum.StrEnum):
    BUY = "buy"


class Line(BaseModel):
    sku: str
    price: float = 1.0


class Order(BaseModel):
    model_config = ConfigDict(extra="allow")

    lines: list[Line]
    side: Side = Side.BUY
    at: datetime | None = None
    tags: tuple[str, ...] = ()
    _token: dict[str, Any] = PrivateAttr(default_factory=dict)


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)

    x: int


class Aliased(BaseModel):
    value: int = Field(alias="theValue")


class Box(BaseModel, Generic[T]):
    item: T


IntBox = Box[int]


class Names(RootModel[list[str]]):
    pass


class Computed(BaseModel):
    x: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def double(self) -> int:
        return self.x * 2


@pydantic_dataclass
class Data:
    x: int
    y: tuple[int, ...] = ()


class Site(BaseModel):
    url: HttpUrl
    dsn: PostgresDsn


class Hostile(BaseModel):
    x: int

    def __init__(self, **data: Any) -> None:
        ran.append("__init__")
        super().__init__(**data)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        ran.append("__new__")
        return super().__new__(cls)

    def model_post_init(self, context: Any) -> None:
        ran.append("model_post_init")

    def __setattr__(self, name: str, value: Any) -> None:
        ran.append("__setattr__")
        super().__setattr__(name, value)

    def __setstate__(self, state: Any) -> None:
        ran.append("__setstate__")

    @field_validator("x")
    @classmethod
    def check(cls, value: int) -> int:
        ran.append("validator")
        return value


class Login(BaseModel):
    user: str
    password: SecretStr
    key: SecretBytes = SecretBytes(b"hidden-bytes")
    pin: Secret[int] = Secret(123456)


class MySecret(SecretStr):
    pass


@dataclass
class Holder:
    password: Any


def order() -> Order:
    made = Order(lines=[Line(sku="a"), Line(sku="b", price=2)], at=datetime(2026, 1, 1, tzinfo=UTC), extra=(1, 2))  # type: ignore[call-arg]
    made._token = {"a": (1,)}
    return made


VALUES = [
    order(),
    Order(lines=[]),
    Frozen(x=1),
    Aliased(theValue=3),
    IntBox(item=3),
    Names(["a"]),
    Computed(x=2),
    Data(1, (2,)),
    Site(url="https://example.com/a?b=c", dsn="postgres://u@host:1/db"),  # type: ignore[arg-type]
    HttpUrl("https://example.com"),
    Line.model_construct(sku=5),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_comes_back_equal_and_of_the_same_type(value):
    for wrap in (lambda one: one, lambda one: [one], lambda one: {"k": (one,)}, Holder):
        made = Reader().result(encode(wrap(value)))
        assert made == wrap(value)
        assert repr(made) == repr(wrap(value))
        assert to_tree(made) == to_tree(wrap(value))


def test_private_and_extra_fields_come_back():
    made = Reader().result(encode(order()))
    assert made._token == {"a": (1,)}
    assert made.model_extra == {"extra": (1, 2)}
    assert made.model_fields_set == order().model_fields_set
    assert made.side is Side.BUY
    assert type(made.lines[0]) is Line
    assert made.model_dump_json() == order().model_dump_json()


def test_nothing_of_a_model_runs():
    stored = encode(Hostile(x=1))
    ran.clear()
    made = Reader().result(stored)
    encode(made)
    assert type(made) is Hostile
    assert ran == []
    assert made.x == 1


@pytest.mark.parametrize(
    "value",
    [
        SecretStr("hidden-text"),
        SecretBytes(b"hidden-bytes"),
        Secret(123456),
        MySecret("hidden-text"),
        {"a": [SecretStr("hidden-text")]},
        Holder(SecretStr("hidden-text")),
        Login(user="u", password=SecretStr("hidden-text")),
        ValueError(SecretStr("hidden-text")),
        {SecretStr("hidden-text")},
        {SecretStr("hidden-text"): 1},
        type("SecretStr", (str,), {})("hidden-text"),
        ValueError(type("SecretStr", (str,), {})("hidden-text")),
        type("SecretStr", (str,), {"__qualname__": "Outer.SecretStr"})("hidden-text"),
        type("Other", (type("SecretStr", (str,), {}),), {})("hidden-text"),
    ],
)
def test_secrets_are_never_stored(value):
    text = encode(value).text
    for hidden in ("hidden", "123456", "aGlkZGVu"):
        assert hidden not in text


def test_a_secret_is_its_type_alone():
    assert to_tree(SecretStr("x")) == {"$type": "opaque", "class": "pydantic.types:SecretStr"}
    stored = encode(Login(user="u", password=SecretStr("x")))
    assert scan(stored.text) == (
        OpaquePart("$.password", "pydantic.types:SecretStr"),
        OpaquePart("$.key", "pydantic.types:SecretBytes"),
        OpaquePart("$.pin", "pydantic.types:Secret"),
    )
    made = Reader().result(stored)
    assert made.user == "u"
    with pytest.raises(ValueNotRebuilt):
        made.password.get_secret_value()


def test_fields_added_or_removed_since():
    reader = Reader()
    text = encode(Line(sku="a")).text.replace('"price":1.0', '"old":2')
    assert reader.result(Payload.of(text)) == Line(sku="a")
    assert len(reader.gaps) == 2
    with pytest.raises(ValueNotRebuilt, match="a field sku now that was not recorded and has no plain default"):
        Reader().result(Payload.of(encode(Line(sku="a")).text.replace('"sku":"a"', '"old":2')))


def failure(make: Any) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        make()
    return caught.value


class Checked(BaseModel):
    a: int
    b: str = Field(default="", max_length=2)
    c: int = 0

    @field_validator("c")
    @classmethod
    def check(cls, value: int) -> int:
        if value == 1:
            raise ValueError("one is not allowed")
        if value == 2:
            raise PydanticCustomError("too_two", "it is {what}", {"what": "two"})
        assert value != 3, "three"
        return value


@pytest.mark.parametrize(
    "data", [{"a": "x", "b": "long"}, {}, {"a": 1, "c": 1}, {"a": 1, "c": 2}, {"a": 1, "c": 3}]
)
def test_validation_errors(data):
    error = failure(lambda: Checked(**data))
    made = Reader().error(encode(error))
    assert type(made) is ValidationError
    assert str(made) == str(error)
    assert repr(made.errors()) == repr(error.errors())
    assert type(Reader().result(encode([error]))[0]) is ValidationError


def test_an_error_about_an_object_is_still_told():
    error = failure(lambda: Checked(a=object()))  # type: ignore[arg-type]
    made = Reader().error(encode(error))
    assert type(made) is ValidationError
    assert "Input should be a valid integer" in str(made)


def test_pydantic_is_loaded_only_where_the_program_loaded_it():
    code = (
        "import sys\n"
        "from tracetape.codec import encode\n"
        "from tracetape.codec.reader import Reader\n"
        "class Unknown: pass\n"
        "encode([Unknown(), 1, (2,)])\n"
        "assert 'pydantic' not in sys.modules and 'tracetape.codec.pydantic' not in sys.modules\n"
        "import pydantic\n"
        "class M(pydantic.BaseModel):\n    x: int\n"
        "assert Reader().result(encode(M(x=1))) == M(x=1)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_model_is_said_to_be_missing_where_pydantic_is():
    code = (
        "from tracetape.codec.reader import Reader\n"
        "from tracetape.model.payload import Payload\n"
        'Reader().result(Payload.of(\'{"$type":"pydantic","class":"shop:Order","fields":{},"set":[]}\'))\n'
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith(
        "ValueNotRebuilt: $ is a shop:Order, whose module has not been imported here: import shop before the "
        "replay, or pass types=[Order]"
    )


def test_the_class_of_a_model_comes_back_itself():
    for cls in (Order, Box[int], HttpUrl):
        assert Reader().result(encode({"response_format": cls}))["response_format"] is cls


@dataclass
class Asked:
    """Put where a trace had a plain value."""

    def _ask(self, *args: Any) -> Any:
        ran.append("asked")
        raise AssertionError

    __index__ = __float__ = __iter__ = __str__ = __repr__ = __getitem__ = __len__ = _ask


def test_parts_of_an_error_are_not_converted():
    ran.clear()
    inner = to_tree(Asked())
    good: dict[str, Any] = {
        "type": "greater_than",
        "loc": {"$type": "tuple", "items": ["a"]},
        "input": 1,
        "msg": "m",
        "ctx": {"gt": 0},
    }
    bad: list[Any] = [inner]
    bad += [{**good, key: inner} for key in ("type", "loc", "msg", "ctx")]
    bad += [{**good, "loc": [inner]}, {**good, "ctx": {"gt": inner}}, {**good, "type": "own", "msg": inner}]
    for one in (good, *bad):
        tree = {"$type": "pydantic.ValidationError", "title": "t", "errors": [one]}
        assert isinstance(Reader().error(Payload.of(orjson.dumps(tree).decode())), Exception)
    for tag in ("pydantic.Url", "pydantic.MultiHostUrl"):
        with pytest.raises(ValueNotRebuilt):
            Reader().result(Payload.of(orjson.dumps({"$type": tag, "value": inner}).decode()))
    assert ran == []


def test_the_names_of_set_fields_are_a_list_of_texts():
    ran.clear()
    endless = {"$type": "range", "start": 0, "stop": 10**15, "step": 1}
    for names in (endless, [endless], to_tree(Asked())):
        with pytest.raises(ValueNotRebuilt):
            Reader().result(Payload.of(orjson.dumps({**to_tree(Checked(a=1)), "set": names}).decode()))
    assert ran == []
