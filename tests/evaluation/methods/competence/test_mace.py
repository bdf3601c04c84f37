"""MACE against loops over votes and against crowd-kit, on planted workers, and on bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma

from evaluation.methods.competence.mace import core as mace_core
from evaluation.methods.competence.mace import data as mace_data
from evaluation.methods.competence.mace import method as mace
from evaluation.methods.competence.mace import pieces as mace_pieces
from evaluation.methods.competence.mace.data import Priors, State, TooFewLabels, Votes, label_parts
from evaluation.methods.core.base import BadParameter, Cancelled, Hooks, TooFewWorkers
from evaluation.methods.core.votes import Labels
from tests.evaluation.methods.competence.crowds import (
    beside,
    built,
    crowd,
    frame,
    in_order_of_appearance,
    peer,
    votes_of_few,
)

RNG = np.random.default_rng
QUIET: dict[str, Any] = {"resamples": 0}
# From one start that favours nobody, so that a fit has to follow its data's symmetries.
EVEN: dict[str, Any] = {"noise": 0.0, "restarts": 1, "polish": 0, "iterations": 30, **QUIET}


def laid_out(data: Labels) -> Votes:
    return mace_data.prepare(data, *label_parts(data))


class Literal:
    """MACE as the paper words it, vote by vote: a second implementation of one restart."""

    def __init__(self, data: Labels, spam: Any, know: Any, strategy: Any) -> None:
        self.rows = list(zip(data.worker, data.item, data.label, data.shown, strict=True))
        self.weight, self.labels = data.weight, len(data.labels)
        self.spam, self.know, self.strategy = list(spam), list(know), strategy
        self.prevalence = [1.0 / self.labels] * self.labels

    def estimate(self) -> tuple[float, dict[int, list[float]]]:
        """Log marginal likelihood and posteriors (E-step)."""
        likelihood, posterior = 0.0, {}
        for item in {row[1] for row in self.rows}:
            each = list(self.prevalence)
            for (j, i, label, shown), c in zip(self.rows, self.weight, strict=True):
                if i == item:
                    guess = self.spam[j] * self.strategy[j][shown]
                    for t in range(self.labels):
                        each[t] *= (guess + (self.know[j] if t == label else 0.0)) ** c
            likelihood += math.log(sum(each))
            posterior[item] = [value / sum(each) for value in each]
        return likelihood, posterior

    def improve(self, priors: Priors) -> None:
        """New parameters (M-step)."""
        _, posterior = self.estimate()
        n = len(self.spam)
        knowing, spamming = [0.0] * n, [0.0] * n
        drawn = [[0.0] * self.labels for _ in range(n)]
        for (j, i, label, shown), c in zip(self.rows, self.weight, strict=True):
            guess = self.spam[j] * self.strategy[j][shown]
            knows = posterior[i][label] * self.know[j] / (guess + self.know[j])
            knowing[j] += c * knows
            spamming[j] += c * (1 - knows)
            drawn[j][shown] += c * (1 - knows)
        two = (priors.alpha, priors.beta) if priors.variational else (priors.smoothing,) * 2
        many = priors.strategy if priors.variational else priors.smoothing
        of = (lambda x: math.exp(digamma(x))) if priors.variational else (lambda x: x)
        if priors.prevalence != "uniform":
            prior = priors.true if priors.variational else priors.smoothing
            true = [sum(row[t] for row in posterior.values()) for t in range(self.labels)]
            group = [{t} for t in range(self.labels)]
            if priors.prevalence == "mirrored":
                group = [{t, self.labels - 1 - t} for t in range(self.labels)]
            whole = of(sum(true) + self.labels * prior)
            self.prevalence = [
                of(sum(true[t] + prior for t in own)) / whole / len(own) for own in group
            ]
        for j in range(n):
            total = of(spamming[j] + two[0] + knowing[j] + two[1])
            self.spam[j] = of(spamming[j] + two[0]) / total
            self.know[j] = of(knowing[j] + two[1]) / total
            whole = of(sum(drawn[j]) + self.labels * many)
            self.strategy[j] = [of(value + many) / whole for value in drawn[j]]


@pytest.mark.parametrize(
    "priors",
    [
        Priors(),
        Priors(alpha=0.3, beta=0.8, strategy=0.7),
        Priors(variational=False),
        Priors(prevalence="estimated", true=0.7),
        Priors(prevalence="mirrored"),
        Priors(prevalence="estimated", variational=False),
    ],
)
def test_all_restarts_in_one_array_give_what_loops_over_votes_give(priors: Priors) -> None:
    data, _ = crowd([0.9, 0.2, 0.6, 0.8, 0.4], items=12, votes=3, seed=3)
    data = Labels.build(
        data.worker,
        data.item,
        data.label,
        shown=data.shown,
        workers=data.workers,
        items=data.items,
        labels=data.labels,
        weight=1.0 + np.arange(len(data)) % 3,
    )
    votes = laid_out(data)
    begin = mace_core.starts(votes, 3, 0.5, RNG(1), priors)
    found = mace_core.vb(votes, priors, restarts=3, iterations=8, rng=RNG(1))
    for r in range(3):
        # Strategies that no vote uses are not kept; what is left of 1 serves as well.
        strategy = np.full((5, 3), np.nan)
        strategy[votes.worker, votes.shown] = begin.strategy[:, r]
        literal = Literal(data, begin.spam[:, r], begin.know[:, r], strategy.tolist())
        for _ in range(8):
            literal.improve(priors)
        likelihood, posterior = literal.estimate()
        assert found.likelihood[0, r] == pytest.approx(likelihood, rel=1e-10)
        if r == found.best[0]:
            assert found.state.spam[:, 0] == pytest.approx(literal.spam, rel=1e-8)
            assert found.state.know[:, 0] == pytest.approx(literal.know, rel=1e-8)
            for at, label in enumerate(votes.cell_label):
                cell = posterior[votes.cell_item[at]][label]
                assert found.posterior[at] == pytest.approx(cell, rel=1e-8)
    assert found.best[0] == found.likelihood[0].argmax()


@pytest.mark.parametrize("prevalence", ["estimated", "uniform"])
def test_large_crowds_fitted_in_single_precision_get_the_same_competences(
    monkeypatch: pytest.MonkeyPatch, prevalence: str
) -> None:
    data, _ = crowd(list(np.linspace(0.1, 0.95, 30)), items=2_000, votes=60 // 4, seed=3)
    found = []
    for many in (1, 10**12):
        monkeypatch.setattr(mace_core, "MANY", many)
        fitted = mace.fit(data, rng=RNG(5), prevalence=prevalence, restarts=4, **QUIET)
        found.append(fitted)
    single, double = found
    for table, column in (("worker", "competence"), ("posterior", "probability")):
        assert single.estimates[table][column] == pytest.approx(
            double.estimates[table][column], abs=2e-4
        )
    likelihood = "log_marginal_likelihood"
    assert single.diagnostics[likelihood] == pytest.approx(double.diagnostics[likelihood], rel=1e-7)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("prevalence", ["estimated", "uniform"])
@pytest.mark.parametrize("overflows", [False, True])
def test_rounds_made_a_few_items_at_a_time_are_those_of_all_items_to_the_last_bit(
    monkeypatch: pytest.MonkeyPatch, kind: type[np.floating], prevalence: str, overflows: bool
) -> None:
    data, _ = crowd(list(np.linspace(0.1, 0.95, 12)), items=300, votes=5, seed=4)
    data = beside(data, crowd([0.9, 0.2, 0.7, 0.6], items=40, seed=5)[0])
    priors, found = Priors(prevalence=prevalence), []
    monkeypatch.setattr(mace_pieces, "LARGE", 1)
    if overflows:
        largest = {4: 2.0, 8: 2.0}
        monkeypatch.setattr(mace_pieces, "LARGEST", largest)
        monkeypatch.setattr(mace_core, "LARGEST", largest)
    for size in (10**9, 3_000, 1):
        monkeypatch.setattr(mace_pieces, "PIECE", size)
        votes = laid_out(data)
        laid = votes.single() if kind is np.float32 else votes
        state = mace_core.starts(votes, 4, 0.5, RNG(1), priors).of_kind(kind)
        for _ in range(10):
            state = mace_core.advance(laid, priors, state)
        found.append(state)
    whole, *cut = found
    for one in cut:
        for table, expected in zip(one.tables, whole.tables, strict=True):
            assert (table is None) == (expected is None)
            assert table is None or np.array_equal(table, expected)
    assert whole.know.max() > whole.know.min() + 0.1


def test_exp_digamma_keeps_twelve_digits_on_both_sides_of_its_series() -> None:
    x = np.geomspace(9.5, 1e7, 2000)
    assert mace_core.exp_digamma(x) == pytest.approx(np.exp(digamma(x)), rel=1e-12)
    mixed = np.array([0.01, 3.0, 20.0])
    assert mace_core.exp_digamma(mixed) == pytest.approx(np.exp(digamma(mixed)), rel=1e-12)


def test_a_prior_of_spamming_lowers_competence_and_one_of_knowing_raises_it() -> None:
    data, _ = crowd([0.9, 0.2, 0.6, 0.8], items=30)
    means = [
        mace.fit(data, rng=RNG(0), alpha=alpha, beta=beta, resamples=100).estimates["worker"]
        for alpha, beta in ((200.0, 0.5), (0.5, 0.5), (0.5, 200.0))
    ]
    for column in ("competence", "low", "high"):
        low, middle, high = (table[column].mean() for table in means)
        assert low < middle - 0.05 < high - 0.1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("algorithm", ["vb", "em"])
def test_crowd_kit_gives_the_same_from_the_same_start(algorithm: str) -> None:
    aggregation, pandas = peer()
    data, _ = crowd([0.9, 0.2, 0.6, 0.8, 0.4, 0.7], items=40, seed=5)
    data = in_order_of_appearance(data)
    theirs = aggregation.MACE(n_restarts=1, n_iter=15, method=algorithm)
    theirs._initialize(len(data.workers), len(data.labels))
    votes = laid_out(data)
    priors = Priors(variational=algorithm == "vb", smoothing=0.01 / len(data.labels))
    spam, know = theirs.spamming_.T[:, :, None]
    strategy = theirs.thetas_[votes.worker, votes.shown][:, None]
    state = State(spam, know, strategy, np.full_like(spam, np.inf), np.full_like(strategy, np.inf))
    for _ in range(15):
        state = mace_core.advance(votes, priors, state)
    theirs.fit(frame(data, pandas))
    assert theirs.spamming_[:, 0] == pytest.approx(state.spam[:, 0], abs=1e-8)
    assert theirs.spamming_[:, 1] == pytest.approx(state.know[:, 0], abs=1e-8)
    posterior, _, _ = mace_core.e_step(votes, mace_core.odds(votes, state))
    table = theirs.probas_.loc[list(data.items), list(data.labels)].to_numpy()
    assert posterior[:, 0] == pytest.approx(table[votes.cell_item, votes.cell_label], abs=1e-8)


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10_000))
def test_no_round_makes_the_bound_or_the_likelihood_worse(seed: int) -> None:
    data, _ = crowd(list(RNG(seed).random(6)), items=15, seed=seed)
    votes = laid_out(data)
    for priors, which in (
        (Priors(), 1),
        (Priors(prevalence="estimated"), 1),
        (Priors(prevalence="mirrored", true=0.3), 1),
        (Priors(variational=False, smoothing=1e-9), 0),
        (Priors(variational=False, smoothing=1e-9, prevalence="estimated"), 0),
    ):
        state = mace_core.starts(votes, 4, 0.5, RNG(seed), priors)
        last = np.full((votes.parts, 4), -np.inf)
        for _ in range(12):
            state = mace_core.advance(votes, priors, state)
            log_total = mace_core.e_step(votes, mace_core.odds(votes, state), state.prevalence)[2]
            now = mace_core.objectives(votes, priors, state, log_total)[which]
            assert (now >= last - 1e-6).all()
            last = now


@pytest.mark.parametrize("algorithm", ["vb", "em"])
def test_who_guesses_is_found_out_and_the_others_labels_stand(algorithm: str) -> None:
    planted = [0.95, 0.05, 0.8, 0.1, 0.6, 0.9, 0.3, 0.7]
    data, truth = crowd(planted, items=400)
    found = mace.fit(data, rng=RNG(0), algorithm=algorithm, **QUIET)
    assert found.converged
    assert found.estimates["worker"]["competence"] == pytest.approx(planted, abs=0.1)
    votes = np.zeros((400, 3))
    np.add.at(votes, (data.item, data.label), data.weight)
    majority = (votes.argmax(axis=1) == truth).mean()
    assert (found.estimates["item"]["label"] == truth).mean() > majority + 0.03


def test_who_always_clicks_the_first_place_is_caught_in_the_coordinates_as_shown() -> None:
    data, _ = crowd([0.9, 0.8, 0.0, 0.85, 0.7], items=300, first=True)
    found = mace.fit(data, rng=RNG(0), strategy_prior=1.0, **QUIET)
    assert found.estimates["worker"]["competence"][2] < 0.05
    strategies = found.estimates["strategy"]
    lazy = strategies["probability"][strategies["worker"] == 2]
    assert lazy[0] > 0.95
    # Without what was shown, the same clicks look like votes at random.
    blind = Labels.build(
        data.worker,
        data.item,
        data.label,
        workers=data.workers,
        items=data.items,
        labels=data.labels,
    )
    table = mace.fit(blind, rng=RNG(0), strategy_prior=1.0, **QUIET).estimates["strategy"]
    assert table["probability"][table["worker"] == 2].max() < 0.6


@pytest.mark.long
def test_most_intervals_hold_the_truth_and_more_votes_make_them_shorter() -> None:
    planted = list(np.linspace(0.05, 0.95, 60))
    widths = []
    for items in (200, 800):
        data, _ = crowd(planted, items=items, votes=5, seed=items)
        table = mace.fit(data, rng=RNG(0), restarts=4, resamples=400).estimates["worker"]
        inside = (table["low"] <= planted) & (planted <= table["high"])
        assert inside.mean() > 0.85
        widths.append((table["high"] - table["low"]).mean())
    assert 0.4 < widths[1] / widths[0] < 0.7


def test_the_same_seed_gives_the_same_and_blocks_of_restarts_do_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, _ = crowd([0.9, 0.2, 0.6, 0.8], items=30)
    one = mace.fit(data, rng=RNG(4), resamples=100)
    monkeypatch.setattr(mace_core, "BLOCK", 200)
    two = mace.fit(data, rng=RNG(4), resamples=100)
    for name, table in one.estimates.items():
        for column, values in table.columns.items():
            other = two.estimates[name][column]
            assert np.allclose(values, other, rtol=1e-9, equal_nan=True), (name, column)


@settings(max_examples=8, deadline=None)
@given(votes_of_few, st.randoms(), st.permutations([0, 1, 2]))
def test_order_names_duplicates_and_display_change_nothing_but_names(
    rows: list[Any], random: Any, order: list[int]
) -> None:
    base = mace.fit(built(rows), rng=RNG(0), **EVEN).estimates
    shuffled = rows.copy()
    random.shuffle(shuffled)
    doubled = mace.fit(built(rows + rows[:3]), rng=RNG(0), **EVEN).estimates
    weight = np.array([2.0] * 3 + [1.0] * (len(rows) - 1))
    variants = {
        "shuffled": mace.fit(built(shuffled), rng=RNG(0), **EVEN).estimates,
        "displayed otherwise": mace.fit(built(rows, shown=order), rng=RNG(0), **EVEN).estimates,
        "relabelled": mace.fit(built(rows, order=order), rng=RNG(0), **EVEN).estimates,
    }
    for name, other in variants.items():
        for column in ("competence", "spam"):
            ours, theirs = base["worker"][column], other["worker"][column]
            assert np.allclose(ours, theirs, atol=1e-9, equal_nan=True), name
        assert np.allclose(
            base["item"]["entropy"], other["item"]["entropy"], atol=1e-8, equal_nan=True
        ), name
    # Relabelled posteriors are the same under the new names.
    ours = base["posterior"]["probability"].reshape(-1, 3)
    theirs = variants["relabelled"]["posterior"]["probability"].reshape(-1, 3)
    assert np.allclose(ours, theirs[:, order], atol=1e-9)
    same = mace.fit(built(rows, weight=weight), rng=RNG(0), **EVEN).estimates["worker"]
    assert np.allclose(same["competence"], doubled["worker"]["competence"], equal_nan=True)


def test_crowds_that_share_no_item_are_fitted_apart_and_named() -> None:
    one, _ = crowd([0.9, 0.4, 0.7, 0.8, 0.6], items=30)
    two, _ = crowd([0.5, 0.9, 0.2, 0.8], items=20, seed=1)
    found = mace.fit(beside(one, two), rng=RNG(0), resamples=100)
    worker = found.estimates["worker"]
    assert worker["component"].tolist() == [1] * 5 + [2] * 4 + [0]
    for data, part in ((one, slice(0, 5)), (two, slice(5, 9))):
        alone = mace.fit(data, rng=RNG(1), **QUIET).estimates["worker"]
        assert worker["competence"][part] == pytest.approx(alone["competence"], abs=1e-3)
    parts = found.diagnostics["components"]
    assert [part["name"] for part in parts] == ["Component 1 of 2", "Component 2 of 2"]
    assert [part["workers"] for part in parts] == [5, 4]
    assert found.diagnostics["workers_not_scored"] == {"lone": "shares no item with another worker"}
    last = found.estimates["item"].rows()[-1]
    assert (last["component"], last["label"], last["posterior"]) == (0, -1, None)
    scored = worker["component"] > 0
    for column in ("competence", "low", "high", "spam"):
        assert np.isfinite(worker[column][scored]).all()
        assert np.isnan(worker[column][~scored]).all()


def test_thresholds_keep_the_surest_items() -> None:
    data, truth = crowd([0.9, 0.3, 0.6, 0.8, 0.5], items=200)
    item = mace.fit(data, rng=RNG(0), threshold=0.5, **QUIET).estimates["item"]
    kept, right = item["kept"], item["label"] == truth
    assert 100 <= kept.sum() <= 110  # those that tie with the last one stay
    assert right[kept].mean() > right[~kept].mean() + 0.1
    sure = mace.fit(data, rng=RNG(0), min_posterior=0.9, **QUIET).estimates["item"]
    assert (sure["kept"] == (sure["posterior"] >= 0.9)).all()


def test_an_item_with_thousands_of_votes_does_not_overflow() -> None:
    worker = np.tile(np.arange(3000), 2)
    item = np.repeat([0, 1], 3000)
    label = np.where(worker % 10 < 7, item, 1 - item)
    data = Labels.build(
        worker, item, label, workers=[str(k) for k in range(3000)], items="xy", labels="ab"
    )
    found = mace.fit(data, rng=RNG(0), restarts=2, polish=0, **QUIET)
    assert found.estimates["item"]["label"].tolist() == [0, 1]
    assert np.isfinite(found.estimates["posterior"]["probability"]).all()


def test_votes_that_are_all_the_same_are_scored_with_a_warning() -> None:
    data = Labels.build(
        [0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1], [0] * 6, workers="abc", items="xyz", labels="lr"
    )
    found = mace.fit(data, rng=RNG(0), resamples=100)
    assert np.isfinite(found.estimates["worker"]["competence"]).all()
    assert found.diagnostics["labels_never_given"] == ["r"]
    assert found.diagnostics["items_without_votes"] == ["z"]
    assert any("same label" in words for words in found.diagnostics["warnings"])


@pytest.mark.parametrize(
    ("worker", "item", "labels", "error", "said"),
    [
        ([0, 0], [0, 1], "ab", TooFewWorkers, "one worker"),
        ([0, 1], [0, 1], "ab", TooFewWorkers, "no item"),
        ([0, 1], [0, 0], "a", TooFewLabels, "only the label"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    worker: list[int], item: list[int], labels: str, error: type[Exception], said: str
) -> None:
    data = Labels.build(worker, item, [0, 0], workers="uv", items="xy", labels=labels)
    with pytest.raises(error, match=said):
        mace.fit(data, rng=RNG(0))


@pytest.mark.parametrize(
    "params",
    [
        {"algorithm": "gibbs"},
        {"iterations": 0},
        {"restarts": 1.5},
        {"smoothing": 0.0},
        {"alpha": -1},
        {"strategy_prior": float("nan")},
        {"threshold": 0.0},
        {"level": 1.0},
        {"resamples": 5},
        {"algorithm": "em", "objective": "bound"},
        {"restart": 3},
    ],
)
def test_bad_parameters_are_refused_by_name(params: dict[str, Any]) -> None:
    with pytest.raises(BadParameter, match=next(reversed(params))):
        mace.METHOD.check(**params)


def test_a_cancelled_fit_stops() -> None:
    data, _ = crowd([0.9, 0.2, 0.6, 0.8], items=30)
    with pytest.raises(Cancelled):
        mace.fit(data, rng=RNG(0), hooks=Hooks(cancelled=lambda: True))
