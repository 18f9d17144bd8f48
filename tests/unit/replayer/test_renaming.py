"""Ids that a run makes anew differ in every run; what they stand beside must not."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from tracetape.replayer.generated_ids import found_in, has_ids, masked
from tracetape.replayer.renaming import Renaming

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
        f"run-{U1}-0",
        f"lc_run--{U1}-1",
        "call_aBcDeFgHiJkLmNoPqRsTuVwX",
        "pyd_ai_0a1b2c3d4e5f",
        "order-7f3k9q2zx8",
        "call_0a1b2c3d",
        "call_abcdef12",
        "pyd_ai_68e29840413642749539474407297705",
    ],
)
def test_these_are_generated(text: str) -> None:
    assert has_ids(text)
    assert text not in masked(text)


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
        "orders_backup2024",
        "get_CustomerOrderHistory",
        "call_transferMoney",
        "run_analysis1",
        "call_customer1",
        "thread_summary2",
        "gen_report2024a",
        "run_report2024a",
        "call_12345678",
        "call_transfermoneytoada",
        "report-2024q3final",
    ],
)
def test_these_say_something_themselves(text: str) -> None:
    assert not has_ids(text)
    assert masked(text) == f'"{text}"'


def same(renaming: Renaming, recorded: Any, now: Any) -> bool:
    equal = not renaming.unexplained(recorded, now)
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
    assert [one for one, _ in found_in(f"call_abc123DEF456 of {U1}")] == [
        ("call_", "call_abc123DEF456"),
        ("uuid", U1),
    ]
    assert not same(Renaming(), [U1], ["call_abc123DEF456"])


def test_ids_as_keys_are_renamed_too() -> None:
    assert same(Renaming(), {U1: 1, "b": U1}, {U2: 1, "b": U2})


def told(recorded: Any, now: Any) -> list[str]:
    return [str(one) for one in Renaming().unexplained(recorded, now)]


A1, A2, A3 = (f"call_a1b2c3d4{n}" for n in (1, 2, 3))
B1, B2, B3 = (f"call_z9y8x7w6{n}" for n in (1, 2, 3))


def test_a_value_that_changed_under_an_id_is_told_by_its_own_path() -> None:
    assert told({A1: 5, A2: 6}, {B1: 9, B2: 6}) == [f"$.{B1}: recorded 5, now 9"]
    assert told({A1: {"n": 5, "id": A1}}, {B1: {"n": 9, "id": B1}}) == [f"$.{B1}.n: recorded 5, now 9"]
    assert told({"id": A1, "text": f"{A1}: 5 shares"}, {"id": B1, "text": f"{B1}: 6 shares"}) == [
        f'$.text: recorded "{A1}: 5 shares", now "{B1}: 6 shares"'
    ]


def test_entries_by_ids_are_paired_by_what_else_is_known_of_the_ids() -> None:
    recorded = {"of": {A1: 5, A2: 5}, "first": A2}
    assert told(recorded, {"of": {B1: 5, B2: 5}, "first": B1}) == []
    assert told(recorded, {"of": {B1: 5, B2: 5}, "first": B3}) != []


def of_set(*items: Any) -> dict[str, Any]:
    return {"$type": "set", "items": sorted(([*one] if isinstance(one, tuple) else one for one in items), key=str)}


def test_elements_of_sets_have_the_places_of_their_ids() -> None:
    """They are sorted by their text, which the ids come first in."""
    assert told(of_set((A1, 7), (A2, 5), (A3, 6)), of_set((B1, 5), (B2, 6), (B3, 7))) == []
    assert told(of_set((A1, 7), (A2, 5)), of_set((B1, 5), (B2, 8))) == ["$[*][1]: recorded 7, now 8"]


def test_an_id_that_the_replay_has_under_its_recorded_name_is_no_other_s() -> None:
    """It came out of what was served, or went into an equal call: the program did not make it."""
    renaming = Renaming()
    renaming.see(lambda ids: {"orders": ids}, [A1, A2])
    assert renaming.unexplained({"cancel": A1}, {"cancel": A2}) != ()
    assert renaming.unexplained({"cancel": A1}, {"cancel": B1}) != ()
    assert renaming.unexplained({"cancel": A3}, {"cancel": B3}) == ()


def test_what_was_renamed_before_keeps_its_name() -> None:
    """A served answer repeats the recorded id of a request that the program has made anew."""
    renaming = Renaming()
    renaming.accept([A1], [B1])
    renaming.see(lambda one: {"echo": one}, A1)
    assert renaming.unexplained({"retry": A1}, {"retry": B1}) == ()
    assert renaming.as_recorded({"retry": B1}) == {"retry": A1}


def test_a_long_alignment_is_looked_through_once() -> None:
    """Each word of a run of words could begin an id: with a pattern that gives back, this takes minutes."""
    assert not has_ids("ACGT-AC--GT-" * 100_000)
