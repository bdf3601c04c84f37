"""Dawid-Skene against its paper's example, crowd-kit, planted workers, and bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.methods.competence import dawid_skene
from evaluation.methods.competence.mace import data as mace_data
from evaluation.methods.competence.mace.data import TooFewLabels, label_parts
from evaluation.methods.core.base import BadParameter, Cancelled, FloatArray, Hooks, TooFewWorkers
from evaluation.methods.core.votes import Labels
from tests.evaluation.methods.competence.crowds import beside, built, frame, peer, votes_of_few

RNG = np.random.default_rng
QUIET: dict[str, Any] = {"resamples": 0}

# Dawid and Skene (1979), table 1: 45 patients, three assessments of the first observer, then one
# each of four others.
PATIENTS = """
1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223 4444444 2223343
1111111 2223212 1211111 1112111 1111111 1111111 2222221 2221322 2222222 2222221 2223222 2212222
1111111 1111111 2322222 1111111 1111111 1121121 1111111 3333233 1111111 2222222 2223232 4334343
2212232 2323233 3333432 1111111 1111111 1212111 2322222 1211111 2222222
""".split()


def patients() -> Labels:
    votes = np.array([[int(digit) - 1 for digit in patient] for patient in PATIENTS])
    observer = np.tile([0, 0, 0, 1, 2, 3, 4], len(votes))
    return Labels.build(
        observer,
        np.repeat(np.arange(len(votes)), 7),
        votes.ravel(),
        workers="12345",
        items=[str(k) for k in range(len(votes))],
        labels="1234",
    )


def confusions(found: Any, labels: int) -> FloatArray:
    """(workers, true, given)."""
    table: FloatArray = found.estimates["confusion"]["probability"]
    return table.reshape(-1, labels, labels)


def test_the_patients_of_the_paper_come_out_as_published() -> None:
    found = dawid_skene.fit(
        patients(), rng=RNG(0), smoothing=1e-10, tolerance=1e-10, iterations=5000, **QUIET
    )
    assert found.converged
    # The paper's estimates: prevalence, and the first observer where the patient is 1, 2 or 3.
    prior = found.estimates["prior"]["probability"]
    assert prior == pytest.approx([0.40, 0.42, 0.11, 0.07], abs=0.005)
    first = [[0.89, 0.11, 0, 0], [0.07, 0.88, 0.05, 0], [0, 0.34, 0.66, 0]]
    assert confusions(found, 4)[0][:3] == pytest.approx(np.array(first), abs=0.006)


def crowd(accuracy: list[float], *, items: int = 300, votes: int = 4, seed: int = 0) -> Any:
    """Labels of workers with this accuracy whose mistakes go one label up, and the truth."""
    rng = RNG(seed)
    truth = rng.choice(3, items, p=[0.5, 0.3, 0.2])
    worker = rng.random((items, len(accuracy))).argsort(axis=1)[:, :votes].ravel()
    item = np.repeat(np.arange(items), votes)
    right = rng.random(len(item)) < np.array(accuracy)[worker]
    label = np.where(right, truth[item], (truth[item] + 1) % 3)
    data = Labels.build(
        worker,
        item,
        label,
        workers=[f"w{k:02}" for k in range(len(accuracy))],
        items=[f"i{k:04}" for k in range(items)],
        labels=["l0", "l1", "l2"],
    )
    return data, truth


@pytest.mark.filterwarnings("ignore")
def test_crowd_kit_gives_the_same_after_as_many_rounds() -> None:
    aggregation, pandas = peer()
    data, _ = crowd([0.9, 0.6, 0.7, 0.8, 0.5], items=80)
    theirs = aggregation.DawidSkene(n_iter=12, tol=-1.0)
    theirs.fit(frame(data, pandas))
    # Theirs ends with an M-step, ours with an E-step.
    found = dawid_skene.fit(
        data, rng=RNG(0), smoothing=1e-10, tolerance=0.0, iterations=12, **QUIET
    )
    posterior = found.estimates["posterior"]["probability"].reshape(-1, 3)
    table = theirs.probas_.loc[list(data.items), list(data.labels)].to_numpy()
    assert posterior == pytest.approx(table, abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(votes_of_few)
def test_no_round_makes_the_likelihood_worse(rows: list[Any]) -> None:
    data = built(rows)
    counts = dawid_skene.prepare(data, *label_parts(data))
    fitted = dawid_skene.em(counts, smoothing=1e-10, iterations=25, tolerance=0.0, hooks=Hooks())
    assert (np.diff(fitted.likelihood) > -1e-6).all()


def test_confusions_and_labels_are_recovered() -> None:
    planted = [0.95, 0.5, 0.8, 0.6, 0.9, 0.7]
    data, truth = crowd(planted, items=1500)
    found = dawid_skene.fit(data, rng=RNG(0), **QUIET)
    assert found.estimates["worker"]["accuracy"] == pytest.approx(planted, abs=0.06)
    expected = np.array(planted)[:, None, None] * np.eye(3)
    expected = expected + (1 - np.array(planted))[:, None, None] * np.roll(np.eye(3), 1, axis=1)
    assert confusions(found, 3) == pytest.approx(expected, abs=0.12)
    votes = np.zeros((1500, 3))
    np.add.at(votes, (data.item, data.label), 1)
    majority = (votes.argmax(axis=1) == truth).mean()
    assert (found.estimates["item"]["label"] == truth).mean() > majority + 0.03


def test_most_intervals_hold_the_truth_and_more_votes_make_them_shorter() -> None:
    planted = list(np.linspace(0.45, 0.95, 40))
    widths = []
    for items in (150, 600):
        data, _ = crowd(planted, items=items, votes=5, seed=items)
        table = dawid_skene.fit(data, rng=RNG(0), resamples=400).estimates["worker"]
        inside = (table["low"] <= planted) & (planted <= table["high"])
        assert inside.mean() > 0.85
        widths.append((table["high"] - table["low"]).mean())
    assert 0.4 < widths[1] / widths[0] < 0.7


@settings(max_examples=20, deadline=None)
@given(votes_of_few, st.randoms(), st.permutations([0, 1, 2]))
def test_order_names_duplicates_and_display_change_nothing_but_names(
    rows: list[Any], random: Any, order: list[int]
) -> None:
    def fit(data: Labels) -> Any:
        return dawid_skene.fit(data, rng=RNG(0), iterations=20, **QUIET).estimates

    base = fit(built(rows))
    shuffled = rows.copy()
    random.shuffle(shuffled)
    weight = np.array([2.0] * 3 + [1.0] * (len(rows) - 1))
    pairs = {
        "shuffled": (base, fit(built(shuffled))),
        "displayed otherwise": (base, fit(built(rows, shown=order))),
        "relabelled": (base, fit(built(rows, order=order))),
        "duplicates and weights": (fit(built(rows + rows[:3])), fit(built(rows, weight=weight))),
    }
    for name, (one, two) in pairs.items():
        for table, column in (("worker", "accuracy"), ("item", "entropy")):
            ours, theirs = one[table][column], two[table][column]
            assert np.allclose(ours, theirs, atol=1e-6, equal_nan=True), (name, column)
    relabelled = pairs["relabelled"][1]["posterior"]["probability"].reshape(-1, 3)
    ours = base["posterior"]["probability"].reshape(-1, 3)
    assert np.allclose(ours, relabelled[:, order], atol=1e-6)


def test_crowds_that_share_no_item_are_fitted_apart_and_named() -> None:
    one, _ = crowd([0.9, 0.6, 0.7, 0.8, 0.95], items=40)
    two, _ = crowd([0.9, 0.8, 0.6, 0.7], items=30, seed=1)
    found = dawid_skene.fit(beside(one, two), rng=RNG(0), tolerance=1e-10, resamples=100)
    worker = found.estimates["worker"]
    assert worker["component"].tolist() == [1] * 5 + [2] * 4 + [0]
    for data, part in ((one, slice(0, 5)), (two, slice(5, 9))):
        alone = dawid_skene.fit(data, rng=RNG(1), tolerance=1e-10, **QUIET).estimates["worker"]
        assert worker["accuracy"][part] == pytest.approx(alone["accuracy"], abs=1e-4)
    assert found.diagnostics["workers_not_scored"] == {"lone": "shares no item with another worker"}
    assert [part["workers"] for part in found.diagnostics["components"]] == [5, 4]
    for column in ("accuracy", "low", "high"):
        assert np.isnan(worker[column]).tolist() == [False] * 9 + [True]
    assert found.estimates["item"].rows()[-1]["label"] == -1


def test_votes_that_are_all_the_same_are_scored_with_a_warning() -> None:
    data = Labels.build(
        [0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1], [0] * 6, workers="abc", items="xyz", labels="lr"
    )
    found = dawid_skene.fit(data, rng=RNG(0), resamples=100)
    assert found.estimates["worker"]["accuracy"] == pytest.approx(1.0, abs=0.01)
    assert np.isfinite(found.estimates["confusion"]["probability"]).all()
    assert found.diagnostics["items_without_votes"] == ["z"]
    assert any("same label" in words for words in found.diagnostics["warnings"])


def test_a_fit_that_ran_out_of_rounds_says_so() -> None:
    data, _ = crowd([0.9, 0.6, 0.7, 0.8, 0.5])
    assert not dawid_skene.fit(data, rng=RNG(0), iterations=3, **QUIET).converged


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
        dawid_skene.fit(data, rng=RNG(0))


@pytest.mark.parametrize(
    "params",
    [
        {"iterations": 0},
        {"smoothing": 0.0},
        {"tolerance": float("nan")},
        {"threshold": 0.0},
        {"strength": 0.0},
        {"resamples": 5},
        {"start": "random"},
    ],
)
def test_bad_parameters_are_refused_by_name(params: dict[str, Any]) -> None:
    with pytest.raises(BadParameter, match=next(iter(params))):
        dawid_skene.METHOD.check(**params)


def test_a_cancelled_fit_stops() -> None:
    data, _ = crowd([0.9, 0.6, 0.7, 0.8, 0.5], items=20)
    with pytest.raises(Cancelled):
        dawid_skene.fit(data, rng=RNG(0), hooks=Hooks(cancelled=lambda: True))


def test_a_small_team_on_many_items_is_fitted_by_patterns_to_the_same_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng, items, team = np.random.default_rng(5), 4000, 5
    truth, worker = rng.integers(0, 3, items), np.tile(np.arange(team), items)
    item = np.repeat(np.arange(items), team)
    right = rng.random(items * team) < np.linspace(0.4, 0.9, team)[worker]
    label = np.where(right, truth[item], rng.integers(0, 3, items * team))
    kept = rng.random(items * team) < 0.9
    names = [[str(k) for k in range(size)] for size in (team, items, 3)]
    data = Labels.build(
        worker[kept], item[kept], label[kept], workers=names[0], items=names[1], labels=names[2]
    )
    counts = dawid_skene.prepare(data, *label_parts(data))
    patterns = counts.patterns()
    assert patterns is not None and len(patterns[2]) <= 4**team

    def fitted() -> dawid_skene.Fitted:
        return dawid_skene.em(counts, smoothing=0.01, iterations=200, tolerance=1e-7, hooks=Hooks())

    found = fitted()
    monkeypatch.setattr(mace_data, "FEWER", -1.0)
    plain = fitted()
    assert len(found.likelihood) == len(plain.likelihood)
    for name in ("confusion", "prior", "posterior", "likelihood", "by_part"):
        assert getattr(found, name) == pytest.approx(getattr(plain, name), abs=1e-10, rel=1e-10)
