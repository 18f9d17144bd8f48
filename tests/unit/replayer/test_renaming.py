"""Ids that a run makes anew differ in every run; what they stand beside must not."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from tracetape.replayer.renaming import Renaming, ids_of, masked

U1, U2, U3 = (str(uuid.UUID(int=n << 64)) for n in (1, 2, 3))


@pytest.mark.parametrize(
    "text",
    [
        U1,
        "call_abc123DEF456",
        "run-a1b2c3d4e5",
        "toolu_01A09q90qw90lq917835lq9",
        "chatcmpl-9aBcD1234",
        f"run-{U1}",
    ],
)
def test_these_are_generated(text: str) -> None:
    assert masked(text) != text


@pytest.mark.parametrize(
    "text",
    [
        "place_order",
        "get_temperature",
        "ORDER-10000000",
        "2026-11-30T10:00:00",
        "ACME",
        "1000",
        "call_1",
        "msg_abc",
        "gpt-5-mini-2026-09-01",
        "a1b2c3d4e5f6",
    ],
)
def test_these_say_something_themselves(text: str) -> None:
    assert masked(text) == text


def same(renaming: Renaming, recorded: Any, now: Any) -> bool:
    equal = masked(recorded) == masked(now) and renaming.explains(recorded, now)
    if equal:
        renaming.accept(recorded, now)
    return equal


def test_one_renaming_explains_what_differs_in_ids_alone() -> None:
    renaming = Renaming()
    assert same(renaming, {"id": U1, "text": f"see {U1}"}, {"id": U2, "text": f"see {U2}"})
    assert same(renaming, {"reply_to": U1}, {"reply_to": U2})
    assert renaming.renamed == 1


def test_a_changed_amount_beside_an_id_is_not_explained() -> None:
    assert not same(Renaming(), {"id": U1, "amount": 5}, {"id": U2, "amount": 6})


def test_the_renaming_is_one_to_one_within_a_kind_and_holds_for_ever() -> None:
    renaming = Renaming()
    assert not same(renaming, [U1, U2], [U3, U3])
    assert not same(renaming, [U1, U1], [U2, U3])
    assert same(renaming, [U1], [U2])
    assert not same(renaming, [U1], [U3])
    assert not same(renaming, [U3], [U2])
    assert same(renaming, [U1, "call_abc123DEF456"], [U2, "call_zzz999YYY888"])


def test_ids_of_another_kind_are_not_the_same() -> None:
    assert masked(U1) != masked("call_abc123DEF456")
    assert [kind for kind, _ in ids_of(["call_abc123DEF456", U1])] == ["call_", "uuid"]


def test_ids_as_keys_are_renamed_too() -> None:
    assert same(Renaming(), {U1: 1, "b": U1}, {U2: 1, "b": U2})
