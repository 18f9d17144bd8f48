"""What `replay` was told, as a plan."""

from __future__ import annotations

import pytest

from tracetape.cli.plans import chosen_plan, unknown
from tracetape.errors import UsageError
from tracetape.model.crossing import Crossing
from tracetape.model.plan import ReplayPlan
from tracetape.model.recording import Recording

RECORDING = Recording(
    "0a" * 16,
    (Crossing(boundary="plan", occurrence=1), Crossing(boundary="agent", occurrence=1)),
    source="run.jsonl",
)


def entries(stub=(), patch=(), live=()) -> list[tuple[str, int | None, str, object]]:
    return [(one.boundary, one.occurrence, one.mode, one.patch) for one in chosen_plan(stub, patch, live).entries]


def test_names_with_and_without_a_number():
    assert entries(stub=("a", "b@2"), live=("c", "d@3")) == [
        ("a", None, "stub", None),
        ("b", 2, "stub", None),
        ("c", None, "live", None),
        ("d", 3, "live", None),
    ]


def test_a_name_is_split_at_its_last_at_sign_that_digits_follow():
    assert entries(live=("user@host@2", "user@host", "a@1@b")) == [
        ("user@host", 2, "live", None),
        ("user@host", None, "live", None),
        ("a@1@b", None, "live", None),
    ]


@pytest.mark.parametrize(
    ("given", "name", "number", "value"),
    [
        ('plan@1={"quantity": 5}', "plan", 1, {"quantity": 5}),
        ("plan@2=null", "plan", 2, None),
        ('user@host@1="a"', "user@host", 1, "a"),
        ('plan@1={"to": "x@2=3"}', "plan", 1, {"to": "x@2=3"}),
        ("plan@1=\n[1,\n2]", "plan", 1, [1, 2]),
    ],
)
def test_a_patch_is_a_name_a_number_and_json(given, name, number, value):
    assert entries(patch=(given,)) == [(name, number, "patched", value)]


@pytest.mark.parametrize("given", ["plan", "plan=5", "plan@1", "plan@=5", "@1=5", "", "plan@x=5"])
def test_what_is_no_patch_is_answered_with_one(given):
    with pytest.raises(UsageError) as caught:
        entries(patch=(given,))

    assert str(caught.value) == (
        f"--patch takes NAME@N=JSON, as in --patch 'plan@1={{\"quantity\": 5}}', not {given!r}"
    )


@pytest.mark.parametrize("json", ["sell", "", "{'a': 1}", "[" * 100_000])
def test_a_patch_that_is_no_json_is_told_how_to_write_a_text(json):
    with pytest.raises(UsageError) as caught:
        entries(patch=(f"plan@1={json}",))

    assert str(caught.value).startswith(f"--patch plan@1: {json[:200]!r} is not JSON (")
    assert str(caught.value).endswith("a text has quotes of its own: --patch 'plan@1=\"text\"'")


@pytest.mark.parametrize("option", ["stub", "live"])
def test_an_empty_name_is_refused(option):
    with pytest.raises(UsageError, match=f"--{option} takes the name of a boundary"):
        entries(**{option: ("",)})


def test_occurrences_are_counted_from_one():
    with pytest.raises(UsageError, match="counted from 1"):
        entries(live=("plan@0",))


def test_a_name_that_nobody_has_is_told_with_the_nearest():
    # What else is near depends on what this process has marked.
    assert unknown(ReplayPlan().live("agnt"), RECORDING).startswith(
        "--live agnt: neither the recording nor the program has a boundary of that name; did you mean 'agent'"
    )


def test_names_of_the_recording_are_known():
    assert unknown(ReplayPlan().live("agent").stub("agent", 1), RECORDING) == ""


@pytest.mark.parametrize(
    ("plan", "option"), [(ReplayPlan().stub("agnt"), "--stub"), (ReplayPlan().patch("agnt", 1, 5), "--patch")]
)
def test_each_option_is_told_by_its_name(plan: ReplayPlan, option: str):
    assert unknown(plan, RECORDING).startswith(f"{option} agnt: neither the recording nor the program")
