"""The key of a text is that of the value that it stores, whoever wrote it."""

from __future__ import annotations

import tracemalloc

import orjson
import pytest

from tracetape.codec import encode, parse
from tracetape.codec.canonical import KEY_LIMIT, canonical, match_key
from tracetape.codec.text_keys import key_of_text


def key(text: str) -> bytes | None:
    return key_of_text(text.encode("utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        '"x"',
        "0",
        '{"a":1,"b":[2,{"d":null,"c":true}]}',
        '{"b":1,"a":2}',
        '{"a": 2}',
        '{"a":1.0,"b":1e3,"c":-0,"d":-0.0}',
        '{"n":18446744073709551615}',
        '{"n":18446744073709551616}',
        '{"n":18446744073709550000}',
        '{"n":1844674407370955200000000}',
        '{"n":"1844674407370955200000000"}',
        '{"n":NaN,"m":Infinity}',
        '{"x":"\\ud800"}',
        '{"x":"\\u0061"}',
        '{"a":1,"a":2}',
        '{"price":"$5"}',
        '{"$type":"set","items":[2,1]}',
        '{"\\u0024type":"set","items":[2,1]}',
        '{"x":{"$type":"opaque","class":"m:C","text":"at 0x1"}}',
        '{"long":"' + "x" * KEY_LIMIT + '"}',
        '{"z":1,"long":"' + "x" * KEY_LIMIT + '"}',
    ],
)
def test_it_is_the_key_of_the_canonical_form(text: str) -> None:
    try:
        expected = match_key(canonical(parse(text)))
    except TypeError as error:  # halves of surrogate pairs, numbers over 64 bits
        with pytest.raises(TypeError, match=str(error)):
            key(text)
    else:
        assert key(text) == expected


def test_the_order_of_names_does_not_matter_and_that_of_elements_does() -> None:
    assert key('{"b":1,"a":[1,2]}') == key('{"a":[1,2],"b":1}') != key('{"a":[2,1],"b":1}')
    assert key(encode({1, 2}).text) == key('{"$type":"set","items":[2,1]}')


@pytest.mark.parametrize("text", ["null", " null", "", "{", "nothing"])
def test_nothing_and_what_is_no_json_have_none(text: str) -> None:
    assert key(text) is None


def test_a_key_takes_no_more_room_than_it_has_bytes() -> None:
    """orjson writes into a buffer of 4 KB, which its bytes keep for as long as they are there."""
    tracemalloc.start()
    keys = [key(f'{{"b":{number},"a":"short"}}') for number in range(1_000)]
    also = [match_key({"b": number}) for number in range(1_000)]
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held / (len(keys) + len(also)) < 300
    assert also[7] == orjson.dumps({"b": 7})
