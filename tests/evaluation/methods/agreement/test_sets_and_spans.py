"""Several labels an item and marked spans, against worked examples that were published."""

from __future__ import annotations

import numpy as np
import pytest
from nltk.metrics.agreement import AnnotationTask
from nltk.metrics.distance import masi_distance as nltk_masi

from evaluation.methods.agreement import sets, spans
from evaluation.methods.agreement.coefficients import distance_alpha
from evaluation.methods.core.base import BadShape
from evaluation.methods.core.votes import Labels

# SemEval 2013 task 9.1: one span for each of the scenarios I to VI of its scorers' guide.
GOLD = [
    (0, 7, "DRUG"),  # missed
    (20, 28, "DRUG"),  # marked with a word too many
    (30, 41, "DRUG"),  # called a brand
    (50, 59, "DRUG"),
    (60, 70, "DRUG"),
    (85, 99, "GROUP"),  # other ends, other label
]
MARKED = [
    (10, 17, "BRAND"),  # spurious
    (17, 28, "DRUG"),
    (30, 41, "BRAND"),
    (50, 59, "DRUG"),
    (60, 70, "DRUG"),
    (80, 99, "DRUG"),
]


def test_spans_of_each_published_scenario_count_as_the_guide_counts_them() -> None:
    """The examples follow the guide's scenarios; the figures are worked out by its rules."""
    strict = spans.exact_agreement(GOLD, MARKED)
    exact = spans.exact_agreement(GOLD, MARKED, labelled=False)
    by_type = spans.overlap_agreement(GOLD, MARKED)
    assert (strict.precision, strict.recall, strict.f1) == pytest.approx((1 / 3,) * 3)
    assert (exact.precision, exact.recall, exact.f1) == pytest.approx((0.5,) * 3)
    assert (by_type.precision, by_type.recall, by_type.f1) == pytest.approx((0.5,) * 3)
    anyhow = spans.overlap_agreement(GOLD, MARKED, labelled=False)
    assert anyhow.f1 == pytest.approx(5 / 6)


def test_tokens_are_counted_one_by_one() -> None:
    """ "Unless Karl Smith resigns": two of three marked tokens are shared, f1 = 4 / 5."""
    found = spans.token_agreement([(1, 3, "PER")], [(0, 3, "PER")])
    assert (found.recall, found.precision, found.f1) == pytest.approx((1, 2 / 3, 0.8))
    assert spans.token_agreement([(1, 3, "PER")], [(0, 3, "ORG")]).f1 == 0
    assert spans.token_agreement([(1, 3, "PER")], [(0, 3, "ORG")], labelled=False).f1 == 0.8
    twice = spans.token_agreement([(0, 2, "A"), (1, 3, "A")], [(0, 3, "A")])
    assert twice.f1 == 1


def marks(rng: np.random.Generator) -> list[spans.Span]:
    starts, lengths, kinds = rng.integers(0, [[9], [4], [2]], (3, 5))
    return [
        (int(start), int(start + length + 1), "AB"[kind])
        for start, length, kind in zip(starts, lengths, kinds, strict=True)
    ]


def test_who_is_first_changes_no_f1_and_documents_add_up() -> None:
    rng = np.random.default_rng(0)
    for measure in (spans.exact_agreement, spans.overlap_agreement, spans.token_agreement):
        for _ in range(50):
            one, two = marks(rng), marks(rng)
            there, back = measure(one, two), measure(two, one)
            assert there.f1 == back.f1
            assert (there + there).f1 == there.f1
            assert measure(one, one).f1 == 1
    assert spans.exact_agreement([], []).f1 is None
    assert spans.exact_agreement(GOLD, []).f1 == 0


def test_a_span_without_length_is_refused() -> None:
    with pytest.raises(BadShape, match="3-3"):
        spans.exact_agreement([(3, 3, "A")], [])


def test_masi_follows_passonneau_and_another_program() -> None:
    assert sets.masi_distance({1, 2}, {1, 2}) == 0
    assert sets.masi_distance({1, 2}, {1, 2, 3, 4}) == pytest.approx(1 - 0.5 * 2 / 3)
    assert sets.masi_distance({1, 2}, {2, 3}) == pytest.approx(1 - (1 / 3) * (1 / 3))
    assert sets.masi_distance({1}, {2}) == 1
    assert sets.masi_distance(set(), set()) == 0 and sets.masi_distance(set(), {1}) == 1
    rng = np.random.default_rng(1)
    for _ in range(200):
        one, two = (set(rng.integers(0, 5, rng.integers(1, 5)).tolist()) for _ in range(2))
        assert sets.masi_distance(one, two) == pytest.approx(nltk_masi(one, two), abs=1e-6)


def test_alpha_of_sets_of_labels_equals_another_program() -> None:
    """The pictures of crowd-kit's tests: dog, dog; cat, cat; cat, cat and mouse."""
    kinds = [frozenset({"dog"}), frozenset({"cat"}), frozenset({"cat", "mouse"})]
    label = [0, 0, 1, 1, 1, 2]
    data = Labels.build(
        [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 2], label, workers="ab", items="xyz", labels="012"
    )
    ours = distance_alpha(data, sets.masi_distances(kinds))
    told = [("ab"[k % 2], "xyz"[k // 2], kinds[at]) for k, at in enumerate(label)]
    assert ours == pytest.approx(AnnotationTask(told, distance=nltk_masi).alpha(), abs=1e-6)
    assert ours == pytest.approx(0.667, abs=1e-3)  # printed there, with 2 / 3 rounded to .67
    assert distance_alpha(data, 1 - np.eye(3)) == pytest.approx(0.5454545454545454)
