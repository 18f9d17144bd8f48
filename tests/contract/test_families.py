"""Every family of spans gives the calls that were really made, graded as what its spans hold allows."""

from __future__ import annotations

import pytest

from tests.corpus import CASES, Case, calls_of, differences, loaded
from tracetape.sources.conventions.foreign import FAMILIES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_crossings_are_those_that_were_made(case: Case) -> None:
    assert list(differences(case, calls_of(loaded(case)))) == []


def test_the_corpus_is_whole() -> None:
    assert len(CASES) == 178
    assert len({case.family for case in CASES}) == 30


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_each_family_is_recognised_in_the_corpus(family) -> None:
    import tracetape

    claimed = [
        case.name
        for case in CASES
        if loaded(case) is not None and any(family.claims(span) for span in tracetape.read_spans(case.spans))
    ]
    assert claimed
