"""Ratings on ordinal scales: points between two others, and agreement on them."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods.agreement.coefficients import krippendorff_alpha
from evaluation.methods.rescaling import ratings


def test_points_between_two_others_are_points_of_their_own() -> None:
    value = np.array([[3.9], [3.0], [3.9], [4.0], [3.0], [3.1]])
    data = ratings.Ratings.build(
        [0, 1, 0, 1, 0, 1],
        [0, 0, 1, 1, 2, 2],
        value,
        system=[0, 0, 0],
        topic=[0, 0, 0],
        workers="ab",
        texts="xyz",
        systems="s",
        scales=["clear"],
    )
    votes = ratings.labels(data, 0)
    assert votes.labels == ("3", "3.1", "3.9", "4")
    # A 3.9 beside a 3 is no agreement; cut to whole points it was a perfect one.
    assert krippendorff_alpha(votes, "ordinal") < 1
    table = ratings.fit(data, rng=np.random.default_rng(0)).estimates["agreement"]
    assert table["alpha"][0] == pytest.approx(krippendorff_alpha(votes, "ordinal"))


def crowd(guessers: int, *, signal: bool = True) -> ratings.Ratings:
    """60 texts of 2 sources, rated from 1 to 4 by 8 raters of whom some guess."""
    rng = np.random.default_rng(3)
    worker, text = (side.ravel() for side in np.indices((8, 60)))
    truth = np.where(np.arange(60) % 2, 4, 2)
    guess = rng.integers(1, 5, len(worker))
    knows = (worker >= guessers) & (rng.random(len(worker)) < 0.9) & signal
    return ratings.Ratings.build(
        worker,
        text,
        np.where(knows, truth[text], guess)[:, None].astype(float),
        system=np.arange(60) % 2,
        topic=np.arange(60) // 2,
        workers="abcdefgh",
        texts=[str(k) for k in range(60)],
        systems="st",
        scales=["clear"],
    )


def fitted(data: ratings.Ratings, *, competence: bool = True) -> dict[str, list[dict[str, object]]]:
    found = ratings.fit(data, rng=np.random.default_rng(0), resamples=100, competence=competence)
    return {name: table.rows() for name, table in found.estimates.items()}


def test_raters_who_guess_are_found_and_means_are_of_the_others() -> None:
    data = crowd(2)
    found = fitted(data)
    assert [row["worker"] for row in found["rater"] if not row["kept"]] == [0, 1]
    kept = data.value[data.worker >= 2, 0], data.text[data.worker >= 2]
    for row in found["candidate"]:
        assert row["corrected"] == pytest.approx(kept[0][kept[1] == row["candidate"]].mean())
        assert (row["kept"], row["n"]) == (6, 8)
    before, after = (
        [row["estimate"] for row in found[name]] for name in ("system", "corrected_system")
    )
    assert after[1] - after[0] > before[1] - before[0]  # guesses pull both to the middle
    for row in found["corrected_system"]:
        assert row["low"] < row["estimate"] < row["high"]
    (line,) = found["corrected"]
    assert line["cross_fitted"] > line["uncorrected"] and line["removed_share"] == pytest.approx(
        1 / 4
    )
    assert line["cross_low"] < line["cross_fitted"] < line["cross_high"]


def test_the_correction_changes_no_figure_of_all_ratings() -> None:
    data = crowd(2)
    plain, corrected = fitted(data, competence=False), fitted(data)
    assert "corrected" not in plain
    for name in ("agreement", "system", "worker"):
        assert plain[name] == corrected[name]


def test_in_noise_the_cross_fitted_agreement_is_none_or_at_chance() -> None:
    (line,) = fitted(crowd(8, signal=False))["corrected"]
    assert line["cross_fitted"] is None or line["cross_fitted"] < 0.1
    assert line["uncorrected"] < 0.1 and line["reason"]


def rated(
    value: np.ndarray,
    worker: np.ndarray,
    text: np.ndarray,
    *,
    systems: int = 1,
    points: tuple[float, ...] | None = (0, 1),
) -> ratings.Ratings:
    """Ratings on one scale; each text is on a topic of its own."""
    texts = int(text.max()) + 1
    return ratings.Ratings.build(
        worker,
        text,
        value[:, None],
        system=np.arange(texts) % systems,
        topic=np.arange(texts) // systems,
        workers=[str(k) for k in range(int(worker.max()) + 1)],
        texts=[str(k) for k in range(texts)],
        systems=[str(k) for k in range(systems)],
        scales=["clear"],
        points=None if points is None else [points],
    )


def test_the_interval_of_a_mean_rating_stays_on_its_scale_and_has_a_width() -> None:
    worker, text = (side.ravel() for side in np.indices((8, 10)))
    none, every = np.zeros(80), np.ones(80)
    once = np.where((worker == 0) & (text < 3), 1.0, 0.0)
    for value in (none, every, once, 1 - once):
        (row,) = fitted(rated(value, worker, text), competence=False)["system"]
        assert 0 <= row["low"] <= row["estimate"] <= row["high"] <= 1
        assert row["high"] - row["low"] > 0.1 and row["no_interval"] == ""
    (middle,) = fitted(rated(none + 3, worker, text, points=(1, 2, 3, 4, 5)), competence=False)[
        "system"
    ]
    assert (middle["estimate"], middle["low"], middle["no_interval"]) == (
        3,
        None,
        ratings.SAME_RATING,
    )
    # Of scores whose scale is not known, the ratings themselves are its ends.
    (row,) = fitted(rated(once, worker, text, points=None), competence=False)["system"]
    assert 0 <= row["low"] < row["high"] <= 1


@pytest.mark.parametrize(("share", "given"), [("even", True), ("zipf", True), ("one", False)])
def test_raters_who_did_most_of_the_work_count_as_few(share: str, given: bool) -> None:
    """At a stated .95, raters with Zipf 1.5 activity covered .80, ten of whom one did 80 % .44."""
    active = {
        "even": np.ones(12),
        "zipf": np.arange(1, 13) ** -1.5,
        "one": np.array([0.8, *[0.2 / 9] * 9]),
    }[share]
    held = known = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        worker, text = rng.choice(len(active), 240, p=active / active.sum()), np.arange(240) % 80
        felt = 3 + rng.normal(0, 0.5, len(active))[worker] + rng.normal(0, 0.5, 80)[text]
        value = np.clip(np.round(felt + rng.normal(0, 0.7, 240)), 1, 5)
        data = rated(value, worker, text, systems=2, points=(1, 2, 3, 4, 5))
        for row in ratings.fit(data, rng=rng, resamples=100).estimates["system"].rows():
            if row["low"] is None:
                assert "a few did most of the work" in row["no_interval"]
                continue
            known += 1
            held += row["low"] <= 3 <= row["high"]
    assert (known > 60) == given
    assert not given or held / known >= 0.93


def test_agreement_on_ratings_names_its_level_of_measurement() -> None:
    (row,) = fitted(crowd(2), competence=False)["agreement"]
    assert row["measurement"] == "ordinal"


def naive_tau_b(x: list[float], y: list[float]) -> float:
    """Tau-b counted pair by pair; NaN where a side is constant."""
    pairs = [(a, b) for a in range(len(x)) for b in range(a)]
    apart = [(np.sign(x[a] - x[b]), np.sign(y[a] - y[b])) for a, b in pairs]
    free = [sum(side[k] != 0 for side in apart) for k in (0, 1)]
    return sum(a * b for a, b in apart) / np.sqrt(free[0] * free[1]) if all(free) else np.nan


@pytest.mark.parametrize("top_points", [1, 2])
def test_two_classes_agree_as_counted_pair_by_pair(top_points: int) -> None:
    rng = np.random.default_rng(5)
    worker, text = (side.ravel() for side in np.indices((4, 80)))
    kept = rng.random(len(worker)) < 0.7  # unequal numbers of raters
    worker, text = worker[kept], text[kept]
    value = np.clip(text % 4 + rng.integers(0, 2, len(text)), 1, 4).astype(float)
    data = ratings.Ratings.build(
        worker,
        text,
        value[:, None],
        system=np.zeros(80, int),
        topic=np.arange(80),
        workers="abcd",
        texts=[str(k) for k in range(80)],
        systems="s",
        scales=["clear"],
        points=[(1, 2, 3, 4)],
    )
    result = ratings.fit(data, rng=np.random.default_rng(0), resamples=100, top_points=top_points)
    (row,) = result.estimates["two_classes"].rows()
    top = (value > 4 - top_points).astype(float)
    assert (row["top"], row["share"]) == (5 - top_points, pytest.approx(top.mean()))
    for name, scores in (("tau", top), ("tau_all", value)):
        taus = []
        for a in range(4):
            for b in range(a):
                mine = {t: s for w, t, s in zip(worker, text, scores, strict=True) if w == a}
                other = {t: s for w, t, s in zip(worker, text, scores, strict=True) if w == b}
                both = sorted(mine.keys() & other.keys())
                taus.append(naive_tau_b([mine[t] for t in both], [other[t] for t in both]))
        assert row[name] == pytest.approx(np.nanmean(taus))
        assert row[f"{name}_low"] < row[name] < row[f"{name}_high"]
    # Items with two raters or more each weigh the same in observed agreement; all in the shares.
    of = [top[text == k] for k in range(80) if (text == k).any()]
    observed = np.mean(
        [
            np.mean([x == y for i, x in enumerate(own) for j, y in enumerate(own) if i != j])
            for own in of
            if len(own) > 1
        ]
    )
    share = np.mean([own.mean() for own in of])
    chance = share**2 + (1 - share) ** 2
    assert row["kappa"] == pytest.approx((observed - chance) / (1 - chance))
    assert row["low"] < row["kappa"] < row["high"]


def test_a_scale_of_which_all_ratings_are_top_has_no_agreement_on_two_classes() -> None:
    found = ratings.fit(crowd(0), rng=np.random.default_rng(0), resamples=100, top_points=9)
    (row,) = found.estimates["two_classes"].rows()
    assert row["kappa"] is None and row["tau"] is None and row["reason"]
    assert row["tau_all"] > 0.5
