"""What cannot be stored: encode never raises, and what is served in its place halts on any use."""

from __future__ import annotations

import copy
import operator
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from typing import Any

import pytest

from tracetape.codec import OpaquePart, encode, parse, scan, to_tree, unnoticed
from tracetape.codec.encoder import DEPTH_LIMIT
from tracetape.codec.opaque import Missing
from tracetape.codec.reader import Reader
from tracetape.errors import ValueNotRebuilt
from tracetape.model.crossing import Crossing, ValueReader
from tracetape.model.payload import Payload


class Client:
    def __repr__(self) -> str:
        return f"<Client at {hex(id(self))}>"


class Quiet:
    pass


@dataclass
class Order:
    name: str
    client: Any = field(default=None)


class Bag(dict):
    pass


class Stop(BaseException):
    pass


class Trouble(Exception):
    pass


class HostileRepr:
    def __repr__(self) -> str:
        raise Trouble


class HostileEverything:
    def __getattribute__(self, name: str) -> Any:
        raise Stop(name)

    def __eq__(self, other: object) -> bool:
        raise Stop

    __hash__ = __str__ = __repr__ = __iter__ = __len__ = __bool__ = __eq__  # type: ignore[assignment]


class HostileMeta(type):
    def __getattribute__(cls, name: str) -> Any:
        raise Stop(name)

    def __hash__(cls) -> int:
        raise Stop

    def __eq__(cls, other: object) -> bool:
        raise Stop

    def __instancecheck__(cls, instance: object) -> bool:
        raise Stop

    def __subclasscheck__(cls, subclass: type) -> bool:
        raise Stop


def of_hostile_meta() -> Any:
    """Made here: pytest looks at what a module holds."""
    return HostileMeta("OfHostileMeta", (), {})


class HostileDict(dict):
    def items(self) -> Any:
        raise Trouble

    __iter__ = keys = __getitem__ = __len__ = copy = items  # type: ignore[assignment]


class HostileStr(str):
    def isascii(self) -> bool:
        raise Stop

    __str__ = __repr__ = encode = isascii  # type: ignore[assignment]


@dataclass
class HostileProperties:
    x: int = 1

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise Stop

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise Stop


class ReturnsNoText:
    def __repr__(self) -> Any:
        return 5


HOSTILE: dict[str, Any] = {
    "repr": HostileRepr,
    "everything": HostileEverything,
    "metaclass": lambda: of_hostile_meta()(),
    "class with a metaclass": of_hostile_meta,
    "dict": lambda: HostileDict(a=1),
    "str": lambda: HostileStr("x"),
    "key": lambda: {HostileStr("k"): 1},
    "properties": HostileProperties,
    "no text": ReturnsNoText,
    "object": object,
    "builtin": lambda: len,
    "class": lambda: Client,
    "module": lambda: sys,
    "generator": lambda: (one for one in "ab"),
    "iterator": lambda: iter([1]),
    "memoryview": lambda: memoryview(b"x"),
    "function": lambda: HOSTILE["function"],
    "frame": sys._getframe,
    "module that is no text": lambda: type("Nameless", (), {"__module__": 5})(),
    "name that is no text": lambda: type("Sur", (), {"__qualname__": "a\udc00"})(),
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_encode_never_raises(make):
    value = make()
    for one in (value, [value], {"k": value}, (value,), Order("x", value)):
        payload = encode(one)
        payload.text.encode("utf-8")
        parse(payload.text)
        Reader().inputs(payload)


def test_an_iterator_is_not_consumed():
    value = iter([1, 2])
    encode(value)
    assert list(value) == [1, 2]


def test_the_tag():
    assert to_tree(Client()) == {"$type": "opaque", "class": f"{__name__}:Client", "text": "<Client>"}
    assert to_tree(Quiet())["text"] == f"<{__name__}.Quiet object>"
    assert to_tree(HostileRepr())["text"] == "(its repr raised Trouble)"
    assert len(to_tree(type("Long", (), {"__repr__": lambda self: "x" * 9999})())["text"]) == 500


def test_addresses_go_and_other_numbers_stay():
    made = type("T", (), {"__repr__": lambda self: "<T 0x7f12ab34cd56 n=0xff>"})()
    assert to_tree(made)["text"] == "<T 0x… n=0xff>"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, Stop])
@pytest.mark.parametrize("function", [encode, to_tree])
def test_what_is_no_exception_goes_through(kind, function):
    def leave(*args: Any) -> Any:
        raise kind

    shown = type("Shown", (), {"__repr__": leave})()
    said = type("Said", (Exception,), {"__str__": leave})()
    asked = type("Asked", (dict,), {"keys": leave, "__iter__": leave})(a=1)
    for value in (shown, said, asked):
        for around in (value, [value], {"a": (value,)}, {1: value}, Order("a", value)):
            with pytest.raises(kind):
                function(around)


def test_a_handler_of_signals_can_leave_while_a_big_value_is_stored():
    script = """
        import _thread, signal, sys, threading
        from tracetape.codec import encode
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
        value = [{"a": (n, [str(n)], {n})} for n in range(300_000)]
        leave = threading.Timer(0.05, _thread.interrupt_main, [signal.SIGTERM])
        leave.start()
        while True:
            encode(value)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], timeout=60, check=False)
    assert done.returncode == 7


def test_a_cycle_is_opaque():
    loop: list[Any] = [1]
    loop.append(loop)
    assert to_tree(loop) == [
        1,
        {"$type": "opaque", "class": "builtins:list", "text": "a reference to a value that it is in itself"},
    ]
    order = Order("a")
    order.client = {"back": order}
    assert scan(encode(order).text) == (OpaquePart("$.client.back", f"{__name__}:Order"),)


def nest(depth: int, wrap: Any) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = wrap(value)
    return value


def levels(tree: Any) -> int:
    count, layer = 0, [tree]
    while layer:
        layer = [one for node in layer for one in (node.values() if isinstance(node, dict) else node)]
        layer = [one for one in layer if isinstance(one, dict | list)]
        count += 1
    return count


WRAPS = [
    lambda value: [value],
    lambda value: {"k": value},
    lambda value: (value,),
    lambda value: {1: value},
    lambda value: Order("x", value),
    ValueError,
    lambda value: Bag({1: value}),
    lambda value: {"k": ({1: value},)},
]


@pytest.mark.parametrize("depth", [30, 200, 5000])
@pytest.mark.parametrize("wrap", WRAPS)
def test_any_depth_is_stored_as_far_as_it_goes(depth, wrap):
    payload = encode(nest(depth, wrap))
    tree = parse(payload.text)
    assert len(scan(tree)) == (0 if depth == 30 else 1)
    assert levels(tree) < 200
    Reader().inputs(payload)


def test_what_is_below_the_limit_says_so():
    assert scan(encode(nest(DEPTH_LIMIT, WRAPS[0])).text) == ()
    tree = to_tree(nest(DEPTH_LIMIT + 1, WRAPS[0]))
    for _ in range(DEPTH_LIMIT):
        (tree,) = tree
    assert tree == {"$type": "opaque", "class": "builtins:list", "text": "nested more than 180 levels deep"}


def test_with_hardly_any_stack_left():
    outcomes: list[Payload] = []

    def deeper() -> None:
        try:
            deeper()
        except RecursionError:
            if len(outcomes) < 30:
                outcomes.append(encode(nest(20, WRAPS[0])))
            raise

    with pytest.raises(RecursionError):
        deeper()
    assert len(outcomes) == 30
    assert all(parse(one.text) is not None for one in outcomes)


def test_an_explosion_of_shared_references_is_bounded(monkeypatch):
    monkeypatch.setattr("tracetape.codec.encoder.SIZE_LIMIT", 1000)
    value: Any = []
    for _ in range(30):
        value = [value, value]
    assert scan(encode(value[0]).text)[-1].type_name == "builtins:list"


def test_scan():
    assert scan("{}") == ()
    assert scan(encode([{"a": '"$type":"opaque"'}, {"$type": "opaque"}]).text) == ()
    assert scan(encode(Client()).text) == (OpaquePart("$", f"{__name__}:Client"),)
    value = {
        "a": [Order("x", Client())],
        "b": (Client(),),
        "odd key": Quiet(),
        "c": {1: Quiet(), (1,): {2: Quiet()}},
    }
    found = (
        OpaquePart("$.a[0].client", f"{__name__}:Client"),
        OpaquePart("$.b[0]", f"{__name__}:Client"),
        OpaquePart("$['odd key']", f"{__name__}:Quiet"),
        OpaquePart("$.c[1]", f"{__name__}:Quiet"),
        OpaquePart("$.c[1][1][2]", f"{__name__}:Quiet"),
    )
    assert scan(encode(value).text) == found
    assert scan(to_tree(value)) == found
    assert scan(encode(value).text.replace('"$type":"opaque"', '"$type" : "opaque"')) == found


# Missing


def missing() -> Any:
    return Reader().result(encode({"order": Order("x", Client())}))["order"].client


USES: dict[str, Any] = {
    "attribute": lambda one: one.send,
    "set": lambda one: setattr(one, "a", 1),
    "delete": lambda one: delattr(one, "a"),
    "call": lambda one: one(1, a=2),
    "iterate": list,
    "next": next,
    "len": len,
    "bool": bool,
    "if": lambda one: 1 if one else 2,
    "str": str,
    "format": lambda one: f"{one}",
    "bytes": bytes,
    "hash": hash,
    "key": lambda one: {one: 1},
    "equal": lambda one: one == 1,
    "equal, right": lambda one: one == None,  # noqa: E711
    "unequal": lambda one: one != 1,
    "less": lambda one: one < 1,
    "contains": lambda one: 1 in one,
    "item": lambda one: one[0],
    "set item": lambda one: operator.setitem(one, 0, 1),
    "add": lambda one: one + 1,
    "add, right": lambda one: 1 + one,
    "add, in place": lambda one: operator.iadd(one, 1),
    "negative": operator.neg,
    "power": lambda one: one**2,
    "matmul": lambda one: one @ one,
    "int": int,
    "float": float,
    "index": operator.index,
    "complex": complex,
    "round": round,
    "with": lambda one: one.__enter__(),
    "isinstance": lambda one: isinstance(one, Client),
    "dir": dir,
    "vars": vars,
    "path": __import__("os").fspath,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_any_use_of_a_missing_halts(use):
    with pytest.raises(ValueNotRebuilt) as caught:
        use(missing())
    assert str(caught.value) == (
        f"$.order.client is a {__name__}:Client, of which only the type and text were recorded, and the program "
        "uses it. Record what the program needs of it (output=… at its boundary), or run that call live"
    )


def test_await_and_async_with_are_uses():
    async def wait() -> None:
        await missing()

    async def enter() -> None:
        async with missing():
            pass

    for use in (wait, enter):
        with pytest.raises(ValueNotRebuilt):
            use().send(None)


def test_a_missing_can_be_handed_on():
    one = missing()
    assert type(one).__name__ == "Missing"
    assert repr(one) == f"<Missing {__name__}:Client at $.order.client>"
    assert copy.deepcopy([one])[0] is one
    assert copy.copy(one) is one
    assert one is one
    assert [one].index(one) == 0


def test_handed_on_as_an_input_it_is_what_it_stands_for():
    assert to_tree({"client": missing()}) == to_tree({"client": Client()})


def test_the_hook_is_told_path_and_type():
    class Halt(BaseException):
        pass

    def hook(path: str, type_name: str) -> Any:
        raise Halt(path, type_name)

    value = Reader(missing=hook).result(encode([Client()]))[0]
    with pytest.raises(Halt) as caught:
        value.send()
    assert caught.value.args == ("$[0]", f"{__name__}:Client")


def test_its_text_is_a_use_in_what_a_program_was_served_and_none_where_values_are_looked_at():
    def hook(path: str, type_name: str) -> Any:
        raise Stop

    served = Reader(missing=hook).result(encode([Client()]))
    for use in (repr, str, "{}".format):
        with pytest.raises(Stop):
            use(served)
    shown = Reader().result(encode([Client()]))
    assert repr(shown) == f"[<Missing {__name__}:Client at $[0]>]"


def test_what_we_look_at_ourselves_is_not_noticed():
    def hook(path: str, type_name: str) -> Any:
        raise Stop

    (one,) = Reader(missing=hook).result(encode([Client()]))
    text = f"<Missing {__name__}:Client at $[0]>"
    assert [unnoticed(use, one) for use in (repr, str, "{}".format)] == [text] * 3
    with pytest.raises(ValueNotRebuilt):
        unnoticed(bool, one)
    assert to_tree(ValueError(one))["args"] == [to_tree(one)]
    with pytest.raises(Stop):
        bool(one)


def test_a_hook_that_returns_does_not_let_it_pass():
    value = Missing("$.x", {"class": "a:B"}, lambda path, type_name: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(ValueNotRebuilt):
        bool(value)


def test_the_hook_is_not_called_while_the_value_is_made():
    def hook(path: str, type_name: str) -> Any:
        raise Stop

    reader = Reader(missing=hook)
    with pytest.raises(ValueNotRebuilt) as caught:
        reader.result(encode({"a": {(Client(),): 1}}))
    assert str(caught.value) == (
        f"$.a is a dict, and cannot be made without $.a[0][0][0], a {__name__}:Client, which was not stored"
    )
    inputs = reader.inputs(encode({"a": {(Client(),): 1}, "b": 2}))
    assert type(inputs["a"]) is Missing
    with pytest.raises(Stop):
        bool(inputs["a"])


# Whole values


def test_an_opaque_result_cannot_be_given():
    with pytest.raises(ValueNotRebuilt) as caught:
        Reader().result(encode(Client()))
    assert str(caught.value) == (
        f"$ is a {__name__}:Client, of which only the type and text were recorded. Record what the program needs "
        "of it (output=… at its boundary), or run that call live"
    )


def test_an_opaque_key_makes_its_dict_unreadable():
    with pytest.raises(ValueNotRebuilt) as caught:
        Reader().result(encode([{Client(): 1}]))
    assert str(caught.value) == "$[0] is a dict, one of its keys was not stored"
    with pytest.raises(ValueNotRebuilt) as caught:
        Reader().result(encode({"s": {Client()}}))
    assert str(caught.value) == "$.s is a set, one of its elements was not stored"


def test_inputs_show_what_cannot_be_rebuilt():
    payload = Payload.of(encode({"a": 1, "order": Order("x"), "client": Client()}).text.replace(":Order", ":Gone"))
    inputs = Reader().inputs(payload)
    assert inputs["a"] == 1
    assert repr(inputs["order"]) == f"<Missing {__name__}:Gone at $.order>"
    assert repr(inputs["client"]) == f"<Missing {__name__}:Client at $.client>"


def test_inputs_are_a_mapping_whatever_was_stored():
    assert Reader().inputs(encode([1])) == {"value": [1]}


# Streams


def test_a_stream():
    reader = Reader()
    payload = encode({"items": [1, (2,)], "error": ValueError("x"), "value": {"a": 1}})
    items, error, value = reader.stream(payload)
    assert items == (1, (2,))
    assert type(error) is ValueError
    assert value == {"a": 1}
    assert reader.items(payload) == items
    assert type(reader.error(payload)) is ValueError
    assert reader.stream(encode({"items": []})) == ((), None, None)


def test_what_is_no_stream():
    for value in ([1], {"item": 1}, {"items": 1}, {"items": (1,), "$type": 1}):
        with pytest.raises(ValueNotRebuilt, match=r"^the stored value is not the items of a stream$"):
            Reader().items(encode(value))


def test_an_opaque_item_of_a_stream_is_served_as_missing():
    items, _, value = Reader().stream(encode({"items": [Client()], "value": Client()}))
    assert type(items[0]) is Missing
    assert type(value) is Missing


def test_it_is_what_recordings_are_read_with():
    values: ValueReader = Reader()
    crossing = Crossing(boundary="plan", input=encode({"a": (1,)}), output=encode({1}), values=values)
    assert crossing.inputs == {"a": (1,)}
    assert crossing.result == {1}
