"""Agreement coefficients against worked examples, second implementations and their own laws."""

from __future__ import annotations

from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.methods.agreement import coefficients as agreement
from evaluation.methods.agreement import counts as agreement_counts
from evaluation.methods.agreement.counts import NoVariation, TooFewVotes
from evaluation.methods.core.base import BadParameter, BadShape, BadVector
from evaluation.methods.core.votes import Labels
from tests.evaluation.methods.agreement.data import real_votes
from tests.evaluation.methods.named import labels_from_names

# Krippendorff, "Computing Krippendorff's alpha-reliability" (2011): four observers, twelve units.
OBSERVERS = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
# Fleiss 1971's design in the textbook example: ten items, fourteen votes, five labels.
FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def votes_of(counts: Any) -> Labels:
    """Votes with these value counts (items, values), each by a worker of its own."""
    counts = np.asarray(counts)
    item, label = (
        np.repeat(index, counts.ravel()) for index in np.indices(counts.shape).reshape(2, -1)
    )
    return Labels.build(
        np.arange(len(item)),
        item,
        label,
        workers=[str(k) for k in range(len(item))],
        items=[str(k) for k in range(len(counts))],
        labels=[str(k) for k in range(counts.shape[1])],
    )


def crowd(seed: int, items: int = 60, votes: int = 4, workers: int = 9) -> Labels:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, items)
    worker = np.concatenate([rng.choice(workers, votes, replace=False) for _ in range(items)])
    item = np.repeat(np.arange(items), votes)
    label = np.where(rng.random(len(item)) < 0.5, truth[item], rng.integers(0, 3, len(item)))
    return Labels.build(
        worker,
        item,
        label,
        workers=[f"w{k}" for k in range(workers)],
        items=[f"i{k}" for k in range(items)],
        labels=["A", "N", "B"],
    )


@pytest.mark.parametrize(
    ("level", "published"),
    [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)],
)
def test_alpha_gives_krippendorffs_own_worked_example(level: str, published: float) -> None:
    given = [(o, u, v) for o, row in enumerate(OBSERVERS) for u, v in enumerate(row) if v != "."]
    observer, unit, value = (list(map(str, column)) for column in zip(*given, strict=True))
    data = labels_from_names(observer, unit, value)
    assert agreement.krippendorff_alpha(data, level) == pytest.approx(published, abs=5e-4)


COUNTS = st.lists(st.lists(st.integers(0, 4), min_size=4, max_size=4), min_size=2, max_size=12)


@settings(deadline=None)
@given(COUNTS, st.sampled_from(agreement_counts.LEVELS), st.booleans())
def test_alpha_equals_the_second_implementation(counts: Any, level: str, sparse: bool) -> None:
    counts, values = np.array(counts), [0.0, 1.0, 2.5, 7.0]
    paired = counts[counts.sum(axis=1) >= 2]
    if (paired.sum(axis=0) > 0).sum() < 2:
        with pytest.raises((TooFewVotes, NoVariation)):
            agreement.alpha_from_counts(counts, level, values)
        return
    peer = krippendorff.alpha(value_counts=counts, value_domain=values, level_of_measurement=level)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agreement_counts, "SMALL", 0 if sparse else 10**6)
        ours = agreement.krippendorff_alpha(votes_of(counts), level, values)
    assert ours == pytest.approx(peer, abs=1e-12)
    assert agreement.alpha_from_counts(counts, level, values) == pytest.approx(peer, abs=1e-12)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6))
def test_names_row_order_and_the_direction_of_the_scale_change_nothing(seed: int) -> None:
    data, rng = crowd(seed, items=15), np.random.default_rng(seed)
    w, i = rng.permutation(9), rng.permutation(15)
    row = rng.permutation(len(data))
    other = Labels.build(
        w[data.worker][row],
        i[data.item][row],
        2 - data.label[row],
        workers=data.workers,
        items=data.items,
        labels=data.labels,
    )
    for measure in (
        lambda d: agreement.krippendorff_alpha(d, "ordinal"),
        agreement.fleiss_kappa,
        agreement.percent_agreement,
    ):
        assert measure(other) == pytest.approx(measure(data), abs=1e-12, nan_ok=True)


def test_votes_given_twice_and_votes_of_weight_two_are_the_same() -> None:
    data = crowd(1)
    rows = [data.worker, data.item, data.label]
    names: dict[str, Any] = {"workers": data.workers, "items": data.items, "labels": data.labels}
    twice = Labels.build(*(np.concatenate([x, x]) for x in rows), **names)
    heavy = Labels.build(*rows, weight=np.full(240, 2.0), **names)
    assert agreement.krippendorff_alpha(twice) == agreement.krippendorff_alpha(heavy)
    assert agreement.krippendorff_alpha(twice) > agreement.krippendorff_alpha(data)


@pytest.mark.parametrize("labels", [2, 3, 40])  # of 40 no pattern fits into one number
def test_counting_equal_items_gives_what_a_row_an_item_gives(labels: int) -> None:
    rng = np.random.default_rng(labels)
    n = 450
    votes = Labels.build(
        np.arange(n),
        rng.integers(0, 100, n),
        rng.integers(0, labels, n) // rng.integers(1, 3, n),
        workers=[str(k) for k in range(n)],
        items=[str(k) for k in range(105)],  # some have one vote, some none
        labels=[str(k) for k in range(labels)],
        weight=rng.integers(1, 4, n).astype(float),
    )
    alone = np.arange(105)  # each item a group of its own, so that none is counted with another
    cases = (
        (agreement.krippendorff_alpha, agreement.alpha_interval),
        (agreement.fleiss_kappa, agreement.kappa_interval),
        (agreement.gwet_ac1, agreement.gwet_interval),
    )
    for point, interval in cases:
        counted = interval(votes, rng=np.random.default_rng(1), resamples=4000)
        by_item = interval(votes, rng=np.random.default_rng(2), resamples=4000, group=alone)
        assert point(votes) == pytest.approx(by_item.estimate, abs=1e-9)
        assert counted.estimate == pytest.approx(by_item.estimate, abs=1e-9)
        assert counted.n == by_item.n
        width = by_item.high - by_item.low
        assert counted.low == pytest.approx(by_item.low, abs=0.1 * width)
        assert counted.high == pytest.approx(by_item.high, abs=0.1 * width)


def test_what_agreement_is_computed_from_does_not_grow_with_the_votes() -> None:
    sizes = []
    for items in (2_000, 20_000):
        counts = np.random.default_rng(0).multinomial(5, [0.2, 0.3, 0.5], items)
        found = agreement_counts.vote_patterns(votes_of(counts), np.arange(3), 3)
        assert found is not None
        kinds, times = found
        assert times.sum() == items
        assert np.array_equal(times @ kinds, counts.sum(axis=0))
        sizes.append(len(kinds))
    assert max(sizes) <= 21  # that five votes on three labels can be


def test_fleiss_kappa_gives_the_textbook_example() -> None:
    assert agreement.fleiss_kappa(votes_of(FLEISS)) == pytest.approx(0.210, abs=5e-4)


# Items of unequal numbers of votes, with the values of irrCAC (fleiss.kappa.raw, gwet.ac1.raw).
UNEQUAL = [
    ([[5, 0], [5, 0], [3, 0], [4, 1], [4, 0]], 0.0, -0.0417, 0.9133),
    ([[2, 1], [0, 2], [1, 3], [3, 0], [1, 1]], 0.2041, 0.1324, 0.1343),
]


@pytest.mark.parametrize(("counts", "alpha", "fleiss", "ac1"), UNEQUAL)
def test_fleiss_kappa_weighs_items_of_unequal_numbers_of_votes_alike(
    counts: Any, alpha: float, fleiss: float, ac1: float
) -> None:
    data = votes_of(counts)
    assert agreement.krippendorff_alpha(data) == pytest.approx(alpha, abs=5e-5)
    assert agreement.fleiss_kappa(data) == pytest.approx(fleiss, abs=5e-5)
    assert agreement.gwet_ac1(data) == pytest.approx(ac1, abs=5e-5)


def test_items_with_one_vote_count_in_fleiss_chance_and_not_among_the_units() -> None:
    data = votes_of([*([[2, 0], [0, 2], [1, 1]] * 4), *([[1, 0]] * 40)])
    share = (4 + 2 + 40) / 52
    chance = share**2 + (1 - share) ** 2
    assert agreement.fleiss_kappa(data) == pytest.approx((2 / 3 - chance) / (1 - chance))
    found = agreement.kappa_interval(data, rng=np.random.default_rng(0))
    assert found.n == 12 and found.reason == "12 items; an interval needs 15"


def test_two_hundred_random_tables_have_statsmodels_fleiss_kappa() -> None:
    from statsmodels.stats import inter_rater  # loads pandas, which no other test needs

    for seed in range(200):
        rng = np.random.default_rng(seed)
        items, values, raters = (int(rng.integers(*ends)) for ends in ((5, 40), (2, 6), (2, 8)))
        counts = rng.multinomial(raters, rng.dirichlet(np.ones(values)), size=items)
        if np.count_nonzero(counts.sum(axis=0)) < 2:
            continue  # one value alone, which has no kappa
        ours = agreement.fleiss_kappa(votes_of(counts))
        assert ours == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-9), seed


def test_percent_agreement_counts_pairs_of_votes() -> None:
    assert agreement.percent_agreement(votes_of([[2, 0], [1, 2], [1, 0]])) == pytest.approx(4 / 6)


def test_items_that_belong_together_do_not_count_twice() -> None:
    """Each item as two copies: the interval only stays honest if copies are drawn together."""
    data = crowd(8, items=100)
    copies = Labels.build(
        np.tile(data.worker, 2),
        np.concatenate([data.item, data.item + 100]),
        np.tile(data.label, 2),
        workers=data.workers,
        labels=data.labels,
        items=[str(k) for k in range(200)],
    )
    group = np.tile(np.arange(100), 2)

    def width(votes: Labels, **options: Any) -> float:
        found = agreement.alpha_interval(votes, rng=np.random.default_rng(0), **options)
        assert found.low < found.estimate < found.high
        return found.high - found.low

    alone, apart, together = width(data), width(copies), width(copies, group=group)
    assert together == pytest.approx(alone, rel=0.08)
    assert apart == pytest.approx(alone / np.sqrt(2), rel=0.12)


def test_kappa_and_percent_have_intervals_around_them() -> None:
    data, rng = crowd(2), np.random.default_rng(0)
    kappa, percent = (
        agreement.kappa_interval(data, rng=rng),
        agreement.percent_interval(data),
    )
    assert kappa.estimate == pytest.approx(agreement.fleiss_kappa(data))
    assert percent.estimate == pytest.approx(agreement.percent_agreement(data))
    assert kappa.low < kappa.estimate < kappa.high < 1
    assert percent.low < percent.estimate < percent.high < 1


def test_pairs_are_differentiable_where_most_dimensions_have_a_majority() -> None:
    clear, split = [5, 0, 0], [2, 2, 1]
    rows = [[clear, clear], [clear, split], [split, split], [[3, 2, 0], [0, 2, 3]]]
    data = {str(d): votes_of([row[d] for row in rows]) for d in range(2)}
    data = {
        name: Labels.build(
            v.worker, v.item, v.label, workers=v.workers, items=list("wxyz"), labels=v.labels
        )
        for name, v in data.items()
    }
    assert agreement.differentiability_split(data, dimensions=2).tolist() == [
        True,
        False,
        False,
        True,
    ]
    assert agreement.differentiability_split(data, dimensions=1).tolist() == [
        True,
        True,
        False,
        True,
    ]
    with pytest.raises(BadParameter, match="dimensions is 3"):
        agreement.differentiability_split(data, dimensions=3)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: agreement.krippendorff_alpha(votes_of([[1], [1]])), TooFewVotes, "two votes"),
        (lambda: agreement.krippendorff_alpha(votes_of([[3, 0], [2, 0]])), NoVariation, "the same"),
        (lambda: agreement.fleiss_kappa(votes_of([[3, 0], [2, 0]])), NoVariation, "the same"),
        (lambda: agreement.percent_agreement(votes_of([[1, 0]])), TooFewVotes, "two votes"),
        (lambda: agreement.krippendorff_alpha(crowd(0), "cardinal"), BadParameter, "level"),
        (lambda: agreement.krippendorff_alpha(crowd(0), "interval"), BadParameter, "values"),
        (lambda: agreement.krippendorff_alpha(crowd(0), "ratio", [-1, 0, 1]), BadParameter, "neg"),
        (lambda: agreement.krippendorff_alpha(crowd(0), "ordinal", [1, 2]), BadParameter, "shape"),
        (lambda: agreement.alpha_from_counts([[0.5, 1]]), BadVector, "whole number"),
        (lambda: agreement.alpha_from_counts([[np.nan, 1]]), BadVector, "whole number"),
        (lambda: agreement.alpha_from_counts([1, 2]), BadShape, "dimensions"),
        (
            lambda: agreement.alpha_interval(crowd(0), rng=np.random.default_rng(0), resamples=5),
            BadParameter,
            "resamples",
        ),
        (
            lambda: agreement.alpha_interval(crowd(0), rng=np.random.default_rng(0), group=[0]),
            BadShape,
            "group",
        ),
    ],
)
def test_what_cannot_agree_is_refused_by_name(call: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        call()


def test_half_a_vote_is_refused() -> None:
    data = Labels.build(
        [0, 1], [0, 0], [0, 1], workers="ab", items="x", labels="01", weight=[1, 0.5]
    )
    with pytest.raises(BadVector, match="whole number"):
        agreement.krippendorff_alpha(data)


@pytest.mark.data
def test_the_published_alphas_come_out_on_the_real_votes() -> None:
    shown = real_votes()
    data = {name: shown.directed(k) for k, name in enumerate(shown.dimensions)}
    alphas = [agreement.krippendorff_alpha(votes, "ordinal") for votes in data.values()]
    assert np.round(alphas, 2).tolist() == [0.19, 0.18, 0.11, 0.28, 0.28, 0.14, 0.17]
    split = agreement.differentiability_split(data)
    assert (split.sum(), (~split).sum()) == (1062, 290)


def rare(rng: np.random.Generator, items: int, share: float = 0.05) -> Labels:
    """Five votes an item, right in .875, of which one class is rare."""
    truth = rng.random((items, 1)) < share
    right = rng.random((items, 5)) < 0.875
    votes = np.where(right, truth, ~truth).sum(axis=1)
    return votes_of(np.stack([5 - votes, votes], axis=1))


def test_a_rare_class_has_an_interval_that_holds_or_none_with_the_reason() -> None:
    """Of 20 items with 95 % of one class .65 of intervals held, of 40 .82, of 60 .89."""
    true = agreement.krippendorff_alpha(rare(np.random.default_rng(1), 200_000))
    for items in (20, 60):
        held = given = 0
        for seed in range(150):
            rng = np.random.default_rng([items, seed])
            try:
                found = agreement.alpha_interval(rare(rng, items), rng=rng, resamples=200)
            except NoVariation:
                continue
            if np.isnan(found.low):
                assert "with another label than the commonest" in found.reason
                continue
            given += 1
            held += found.low <= true <= found.high
        assert given > (5 if items == 20 else 90) and held / given >= 0.9


def test_a_frequent_label_takes_the_interval_from_kappa_and_not_from_ac1() -> None:
    data = votes_of([[3, 0]] * 40 + [[2, 1]] * 5 + [[0, 3]] * 2)
    rng = np.random.default_rng(0)
    reason = "2 items with another label than the commonest; an interval needs 3"
    for interval in (agreement.alpha_interval, agreement.kappa_interval):
        assert interval(data, rng=rng, resamples=200).reason == reason
    found = agreement.gwet_interval(data, rng=rng, resamples=200)
    assert found.low < found.estimate < found.high and found.reason == ""
