"""What a study's figures are read against: noise stays noise, and a saboteur is found."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaluation.methods.agreement import coefficients as agreement
from evaluation.methods.competence.mace import method as mace
from evaluation.methods.core.base import BadParameter, Hooks, Result, Table
from evaluation.methods.pairwise import checks as pairwise_checks
from evaluation.methods.pairwise.agreement import differentiable, leave_one_out_alpha, split_alphas
from evaluation.methods.pairwise.gold import spam_fits
from evaluation.methods.pairwise.judgments import Judgments, ShownVotes
from evaluation.methods.pairwise.tables import EVERY
from tests.evaluation.methods.pairwise.studies import RNG, study, turned
from tests.evaluation.methods.pairwise.test_pairwise import rows_of, same

FAST = {
    "restarts": 3,
    "shuffles": 2,
    "resamples": 100,
    "permutations": 199,
    "worst": 1,
    "gold_resamples": 0,
}


def checked(data: Judgments, **params: Any) -> Result:
    return pairwise_checks.fit(data, rng=RNG(5), **{**FAST, **params})


def crowd(seed: int, **more: Any) -> Judgments:
    """Fifteen pairs a worker on forty topics, as in the published study but smaller."""
    size: dict[str, Any] = {"topics": 30, "workers": 30, "votes": 5, "text_sd": 1.0}
    return study(RNG(seed), **{**size, **more})


def test_in_pure_noise_dropping_votes_finds_agreement_and_cross_fitting_finds_none() -> None:
    noise = crowd(0, merits=(0.0,) * 3, text_sd=0.0, taste=0.0, workers=60)
    row = checked(noise, threshold=0.7).estimates["corrected"].rows()[0]
    assert row["dimension"] == EVERY
    assert abs(row["uncorrected"]) < 0.05
    assert row["corrected"] > 0.15 and row["shuffled_null"] > 0.15
    assert row["removed_share"] > 0.2 and row["thin_share"] > 0.05
    assert row["cross_fitted"] < row["corrected"]


def test_in_pure_noise_the_cross_fitted_alpha_is_none_on_average() -> None:
    """One crowd scatters by .066 around 0 (300 of thirty topics), so one alone proves nothing."""
    fast: dict[str, Any] = {"threshold": 0.7, "shuffles": 1, "worst": 0, "permutations": 99}
    found = [
        checked(
            crowd(seed, merits=(0.0,) * 3, text_sd=0.0, taste=0.0, workers=60, topics=12), **fast
        )
        .estimates["corrected"]
        .rows()[0]
        for seed in range(10)
    ]
    # Three standard errors of the mean of ten are .063.
    assert abs(np.mean([row["cross_fitted"] for row in found])) < 0.05
    assert np.mean([row["corrected"] for row in found]) > 0.3


def test_nulls_of_few_judgments_cost_far_less_than_one_fit_after_the_other() -> None:
    """A review found: the checks of 36 judgments took 4.5 minutes."""
    few = crowd(0, topics=4, workers=6, votes=3)
    votes = few.labels(few.votes.first_votes(), 0)
    assert len(few.votes.worker) == 36
    settings: dict[str, Any] = {"restarts": 3, "algorithm": "vb", "prevalence": "uniform"}
    one, many = 10, 100
    began = time.process_time()
    for k in range(one):
        mace.fit(votes, rng=RNG(k), noise=0.5, polish=0, resamples=0, beside=False, **settings)
    alone = (time.process_time() - began) / one
    began = time.process_time()
    problems = ((votes, RNG(k)) for k in range(many))
    assert len(list(spam_fits(problems, settings, hooks=Hooks()))) == many
    assert (time.process_time() - began) / many < alone / 3


def test_with_real_differences_cross_fitting_keeps_what_is_more_than_noise() -> None:
    data = crowd(1, sharpness=3.0, guessers=10, votes=6)
    found = checked(data, threshold=0.7)
    row = found.estimates["corrected"].rows()[0]
    assert row["cross_fitted"] > row["uncorrected"] + 0.05
    assert row["cross_low"] < row["cross_fitted"] < row["cross_high"]
    assert row["corrected"] > row["shuffled_null"]
    assert any("shuffled votes" in said for said in found.diagnostics["warnings"])


def test_alpha_without_each_worker_equals_leaving_them_out() -> None:
    data = crowd(2, forced=True)
    people = data.votes.first_votes()
    table = leave_one_out_alpha(people, rng=RNG(0), permutations=99, level=0.95, hooks=Hooks())
    for worker in (0, 7, 29):
        rest = people.take(people.worker != worker)
        wanted = [agreement.krippendorff_alpha(data.labels(rest, k), "ordinal") for k in (0, 1)]
        found = table["alpha"][table["worker"] == worker]
        assert found.tolist() == pytest.approx([np.mean(wanted), *wanted])
    all_of = [agreement.krippendorff_alpha(data.labels(people, k), "ordinal") for k in (0, 1)]
    mean = rows_of(table)
    assert mean["alpha"] - mean["change"] == pytest.approx(np.full(30, np.mean(all_of)))


def test_a_saboteur_lowers_agreement_more_than_chance_and_an_honest_crowd_has_none() -> None:
    data = crowd(3, sharpness=3.0, dimensions=3)
    assert not accused(data)
    votes = data.votes.vote.copy()
    mine = data.votes.worker == 4
    votes[mine] = 2 - votes[mine]
    assert accused(replace(data, votes=replace(data.votes, vote=votes))) == [4]


def accused(data: Judgments) -> list[int]:
    table = leave_one_out_alpha(
        data.votes.first_votes(), rng=RNG(0), permutations=1999, level=0.95, hooks=Hooks()
    )
    return table["worker"][table["lowers"]].tolist()


def with_saboteur(topics: int = 30) -> Judgments:
    data = crowd(3, sharpness=3.0, dimensions=2, topics=topics)
    votes = data.votes.vote.copy()
    mine = data.votes.worker == 4
    votes[mine] = 2 - votes[mine]
    return replace(data, votes=replace(data.votes, vote=votes))


def test_alpha_without_a_worker_starts_from_the_figure_that_the_page_says_to_read() -> None:
    """A layperson found two starting figures, .39 and .361: of other folds of the same pairs."""
    found = checked(with_saboteur(), worst=3, permutations=1999).estimates
    start = found["corrected"].rows()[0]["cross_fitted"]
    for row in found["worst"].rows():
        assert row["cross_fitted"] - row["cross_change"] == pytest.approx(start, abs=1e-9)


def test_who_lowers_plain_alpha_only_is_not_shown_to_lower_the_cross_fitted_one() -> None:
    """Cross-fitting leaves the votes of a saboteur out already."""
    row = checked(with_saboteur(), permutations=1999).estimates["worst"].rows()[0]
    assert row["worker"] == 4 and row["change"] > 0.03
    assert row["cross_low"] <= 0 <= row["cross_high"]


def test_where_no_vote_is_dropped_a_saboteur_lowers_the_cross_fitted_alpha_as_well() -> None:
    data = with_saboteur()
    rows = checked(data, threshold=1.0, permutations=1999, worst=2).estimates["worst"].rows()
    assert rows[0]["worker"] == 4
    assert rows[0]["cross_change"] == pytest.approx(rows[0]["change"])
    assert 0 < rows[0]["cross_low"] < rows[0]["cross_change"] < rows[0]["cross_high"]
    assert rows[1]["cross_low"] <= 0


def test_from_few_topics_no_change_of_alpha_has_an_interval() -> None:
    row = checked(with_saboteur(12), permutations=199).estimates["worst"].rows()[0]
    assert row["cross_low"] is None and row["reason"] == "12 topics; an interval needs 15"


def test_where_everybody_is_alike_hardly_anybody_is_said_to_lower_agreement() -> None:
    hits = [
        bool(accused_fast(crowd(seed, taste=0.0, dimensions=1, topics=10))) for seed in range(40)
    ]
    assert np.mean(hits) <= 0.15  # 5 % expected


def accused_fast(data: Judgments) -> list[int]:
    found = leave_one_out_alpha(
        data.votes.first_votes(), rng=RNG(0), permutations=999, level=0.95, hooks=Hooks()
    )
    return found["worker"][found["lowers"]].tolist()


def test_a_pair_is_differentiable_where_enough_dimensions_have_enough_votes_on_one_label() -> None:
    vote = [
        [0, 0, 2],
        [0, 1, 2],
        [0, 2, 2],
        [0, 0, 1],
        [1, 1, 0],
        [0, 1, 2],
        [0, 1, 2],
        [1, 2, 0],
        [1, 2, 0],
        [2, 0, 1],
    ]
    shown = ShownVotes.build(
        [0, 1, 2, 3, 4] * 2,
        [0] * 5 + [1] * 5,
        np.zeros(10, dtype=bool),
        np.ones(10, dtype=int),
        vote,
        workers="abcde",
        pairs="pq",
        dimensions="xyz",
    )
    data = Judgments.build(
        shown,
        [0, 0],
        [1, 2],
        topic=[0, 0, 0],
        system=[0, 1, 2],
        candidates="klm",
        topics="t",
        systems="uvw",
    )
    # Pair p: x has 4 of 5, y 2, z 3; pair q: 2 of 5 everywhere.
    found = differentiable(data, shown, needed=2, share=0.6)
    assert found["agreeing"].tolist() == [2, 0]
    assert found["differentiable"].tolist() == [True, False]
    assert differentiable(data, shown, needed=3, share=0.6)["differentiable"].tolist() == [0, 0]


def test_the_split_by_differentiability_finds_a_difference_in_noise_and_says_so() -> None:
    noise = crowd(4, merits=(0.0,) * 3, text_sd=0.0, taste=0.0)
    table = split_alphas(noise, noise.votes, needed=1, share=0.6, rng=RNG(0), shuffles=10)
    mean = rows_of(table)
    assert mean["differentiable"].tolist() == [True, False]
    assert mean["alpha"][0] > mean["alpha"][1] + 0.05
    assert mean["null"] == pytest.approx(mean["alpha"], abs=0.06)


def test_gold_labels_and_grades_are_resampled_with_the_grade_within_its_interval() -> None:
    sharp, blunt = (crowd(6, sharpness=s, votes=5, workers=15, topics=4) for s in (4.0, 0.3))
    found = [checked(data, gold_resamples=100).estimates for data in (sharp, blunt)]
    width, steady = [], []
    for tables in found:
        grades, label = tables["candidate_interval"], tables["label_stability"]
        assert (grades["low"] <= grades["grade"]).all()
        assert (grades["grade"] <= grades["high"]).all()
        shares = np.stack([label[f"s_{code}"] for code in ("first", "neutral", "second")])
        assert shares.sum(axis=0) == pytest.approx(1.0)
        width.append((grades["high"] - grades["low"]).mean())
        steady.append(shares.max(axis=0).mean())
    assert width[0] < width[1] and steady[0] > steady[1]


def test_turning_displays_leaves_nulls_and_the_rest_of_the_checks_alone() -> None:
    data = crowd(7, topics=4, workers=10)
    other = replace(data, votes=turned(data.votes))
    one, two = (checked(d, gold_resamples=100).estimates for d in (data, other))
    for name in set(one) - {"corrected", "worst"}:
        same(one[name], two[name])
    # Shuffles draw rows that are sorted by label too, the same in both.
    same(one["corrected"], two["corrected"])
    same(one["worst"], two["worst"])


def test_too_little_data_gives_reasons_and_no_numbers() -> None:
    data = crowd(8).take(np.arange(1))
    found = checked(data, gold_resamples=100).estimates
    assert np.isnan(found["corrected"]["uncorrected"]).all()
    assert all(found["corrected"]["reason"][1:])
    assert not len(found["candidate_interval"])
    assert np.isnan(found["label_stability"]["s_first"]).all()


def test_stages_are_reported_in_order_and_bad_parameters_named() -> None:
    seen: list[str] = []
    hooks = Hooks(lambda stage, done, total: seen.append(stage))
    pairwise_checks.fit(
        crowd(9, topics=3), rng=RNG(0), hooks=hooks, **{**FAST, "gold_resamples": 100}
    )
    assert tuple(dict.fromkeys(seen)) == pairwise_checks.STAGES
    for name, value in (
        ("folds", 1),
        ("threshold", 2.0),
        ("agreeing", 0),
        ("gold_resamples", 5),
        ("permutations", 10),
        ("share", 0.0),
        ("other", 1),
    ):
        with pytest.raises(BadParameter, match=name):
            pairwise_checks.METHOD.check(**{name: value})


def test_a_table_of_checks_has_the_columns_that_are_promised() -> None:
    found = checked(crowd(12, topics=6)).estimates
    wanted = {
        "corrected": pairwise_checks.CORRECTED,
        "worst": pairwise_checks.LOWEST,
        "without": ("worker", "dimension", "alpha", "change", "n", "p", "adjusted", "lowers"),
    }
    for name, columns in wanted.items():
        table: Table = found[name]
        assert tuple(table.columns) == columns
