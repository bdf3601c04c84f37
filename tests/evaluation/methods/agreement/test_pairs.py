"""Agreement of two workers, of all pairs, and AC1, against worked examples and other programs."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import krippendorff
import numpy as np
import pytest
from nltk.metrics.agreement import AnnotationTask
from scipy.special import stdtrit
from scipy.stats import kendalltau
from sklearn.metrics import cohen_kappa_score

from evaluation.methods.agreement import coefficients, pairs
from evaluation.methods.agreement.counts import TooFewVotes
from evaluation.methods.core.base import BadParameter
from evaluation.methods.core.votes import Labels
from tests.evaluation.methods.agreement.test_agreement import OBSERVERS, crowd, votes_of
from tests.evaluation.methods.named import labels_from_names

RNG = np.random.default_rng


def observed() -> Labels:
    """Krippendorff's four observers and twelve units, which Gwet's handbook uses too."""
    told = [
        (f"w{w}", f"u{u:02}", value)
        for w, row in enumerate(OBSERVERS)
        for u, value in enumerate(row)
        if value != "."
    ]
    return labels_from_names(*zip(*told, strict=True))


def test_gwets_ac1_gives_the_published_examples() -> None:
    # irrCAC's vignette: cac.raw4raters, and the table of two abstractors (cont3x3abstractors).
    assert coefficients.gwet_ac1(observed()) == pytest.approx(0.77544, abs=5e-6)
    table = np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]])
    first, second = (np.repeat(side.ravel(), table.ravel()) for side in np.indices((3, 3)))
    counts = np.eye(3)[first] + np.eye(3)[second]
    assert float(pairs.kappa_of(table)) == pytest.approx(0.7964094, abs=5e-8)
    assert coefficients.gwet_ac1(votes_of(counts.astype(int))) == pytest.approx(0.8493305, abs=1e-6)


def test_random_tables_have_statsmodels_cohens_kappa() -> None:
    from statsmodels.stats import inter_rater  # loads pandas, which no other test needs

    for seed in range(60):
        size = int(RNG(seed).integers(2, 8))
        table = RNG(seed).integers(0, 20, (size, size)).astype(np.float64)
        for weighting in ("none", "linear", "quadratic"):
            theirs = None if weighting == "none" else weighting
            other = inter_rater.cohens_kappa(table, wt=theirs, return_results=False)
            assert float(pairs.kappa_of(table, weighting)) == pytest.approx(other, abs=1e-9), seed


def test_random_crowds_agree_with_other_programs() -> None:
    for seed in range(60):
        rng = RNG(seed)
        k, items = int(rng.integers(2, 5)), int(rng.integers(8, 30))
        grid = rng.integers(0, k, (4, items)).astype(np.float64)
        grid = np.where(rng.random(grid.shape) < 0.5, grid[:1], grid)
        grid[:, :2] = [[0, k - 1]]  # never all the same
        grid[2:, 2:][rng.random((2, items - 2)) < 0.3] = np.nan
        worker, item = np.nonzero(~np.isnan(grid))
        label = grid[worker, item].astype(np.int64)
        data = Labels.build(
            worker, item, label,
            workers="abcd", items=[str(i) for i in range(items)], labels=[str(v) for v in range(k)],
        )  # fmt: skip
        for level in ("nominal", "ordinal", "interval"):
            theirs = krippendorff.alpha(grid, level_of_measurement=level, value_domain=range(k))
            assert coefficients.krippendorff_alpha(data, level) == pytest.approx(theirs, abs=1e-6)
        apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k))) ** 0.5
        task = AnnotationTask(
            [(str(w), str(i), int(v)) for w, i, v in zip(worker, item, label, strict=True)],
            distance=lambda a, b, apart=apart: apart[a, b],
        )
        assert coefficients.distance_alpha(data, apart) == pytest.approx(task.alpha(), abs=1e-6)
        one, two = grid[0].astype(int), grid[1].astype(int)
        two_only = data.take(data.worker < 2)
        for weighting, name in (("none", None), ("linear", "linear"), ("quadratic", "quadratic")):
            theirs = cohen_kappa_score(one, two, weights=name, labels=range(k))
            row = pairs.worker_pairs(two_only, weighting=weighting).rows()[0]
            assert row["kappa"] == pytest.approx(theirs, abs=1e-6)


def test_every_pair_of_workers_is_compared_on_what_they_share() -> None:
    data = crowd(5)
    table = {(r["first"], r["second"]): r for r in pairs.worker_pairs(data).rows()}
    grid = np.full((9, 60), -1)
    grid[data.worker, data.item] = data.label
    assert set(table) == set(combinations(range(9), 2))
    for (a, b), row in table.items():
        both = (grid[a] >= 0) & (grid[b] >= 0)
        x, y = grid[a, both], grid[b, both]
        assert row["n"] == both.sum()
        assert row["percent"] == pytest.approx((x == y).mean())
        assert row["kappa"] == pytest.approx(cohen_kappa_score(x, y))
        assert row["tau_b"] == pytest.approx(kendalltau(x, y).statistic)


def test_pairs_of_workers_are_the_same_in_blocks_of_any_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = crowd(6, items=60)
    whole = pairs.worker_pairs(data)
    monkeypatch.setattr(pairs, "BLOCK", 4 * len(data.labels) ** 2)
    blocks = pairs.worker_pairs(data)
    for name, values in whole.columns.items():
        np.testing.assert_array_equal(blocks[name], values)


def test_mean_kappa_weighs_pairs_by_the_items_they_share() -> None:
    data = crowd(6, items=200)
    table = pairs.worker_pairs(data)
    kept = table["n"] >= 10
    wanted = np.average(table["kappa"][kept], weights=table["n"][kept])
    found = pairs.mean_kappa(data, rng=RNG(0))
    assert found.estimate == pytest.approx(wanted)
    assert (found.pairs, found.units) == (kept.sum(), 200)
    assert found.low < found.estimate < found.high


def test_the_interval_of_mean_kappa_holds_as_often_as_it_says() -> None:
    """Items are drawn from the same crowd; what all items give is next to the truth."""
    held = []
    whole = crowd(9, items=20_000)
    truth = pairs.mean_kappa(whole, rng=RNG(0)).estimate
    for k in range(100):
        chosen = (whole.item >= 200 * k) & (whole.item < 200 * (k + 1))
        part = whole.take(chosen)
        found = pairs.mean_kappa(part, rng=RNG(k))
        held.append(found.low <= truth <= found.high)
    assert 0.88 <= np.mean(held) <= 0.99


def test_two_workers_without_variation_get_a_reason() -> None:
    data = labels_from_names(
        ["a", "b"] * 3, ["x", "x", "y", "y", "z", "z"], ["1"] * 6, labels=["1", "2"]
    )
    row = pairs.worker_pairs(data).rows()[0]
    assert (row["percent"], row["kappa"]) == (1.0, None)
    assert row["reason"] == "both gave one label throughout"


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        (lambda: pairs.worker_pairs(crowd(0), weighting="cubic"), BadParameter, "weighting"),
        (lambda: pairs.worker_pairs(votes_of([[1, 0]])), TooFewVotes, "two workers"),
        (lambda: pairs.mean_kappa(crowd(0, items=8), rng=RNG(0)), TooFewVotes, "share 10 items"),
        (lambda: coefficients.distance_alpha(crowd(0), [[0, 1], [1, 0]]), BadParameter, "shape"),
        (
            lambda: coefficients.distance_alpha(crowd(0), [[0, 1, 1], [2, 0, 1], [1, 1, 0]]),
            BadParameter,
            "symmetric",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(wrong: Any, error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        wrong()


@pytest.mark.parametrize("weighting", pairs.WEIGHTINGS)
def test_the_interval_of_a_pair_is_the_jackknife_over_its_items(weighting: str) -> None:
    table = np.array([[5.0, 2, 1], [1, 6, 2], [0, 3, 4]])
    without = []
    for cell, n in np.ndenumerate(table):
        less = table.copy()
        less[cell] -= 1
        without += [float(pairs.kappa_of(less, weighting))] * int(n)
    n = len(without)
    error = np.sqrt((n - 1) / n * np.square(without - np.mean(without)).sum())
    found = float(pairs.kappa_reach(table, weighting))
    assert found == pytest.approx(stdtrit(n - 1, 0.975) * error)
    assert np.isnan(pairs.kappa_reach(table / 2, weighting))  # fewer than 15 items


def test_the_interval_of_a_pair_holds_as_often_as_it_says() -> None:
    rng = RNG(0)
    cells = np.array([0.36, 0.1, 0.04, 0.1, 0.2, 0.04, 0.04, 0.02, 0.1])
    truth = float(pairs.kappa_of(cells.reshape(3, 3)))
    for n in (15, 30):
        tables = rng.multinomial(n, cells, size=2000).reshape(-1, 3, 3).astype(float)
        kappa, reach = pairs.kappa_of(tables), pairs.kappa_reach(tables)
        assert 0.9 <= (np.abs(kappa - truth) <= reach).mean() <= 0.98


def test_two_who_hardly_ever_give_another_label_than_the_commonest_have_no_interval() -> None:
    """With 95 % of one label, 20 to 40 items covered .83."""
    one, two = (np.array([[34.0, 2.0], [3.0, both]]) for both in (1, 2))
    assert np.isnan(pairs.kappa_reach(one)) and pairs.kappa_reach(two) > 0
