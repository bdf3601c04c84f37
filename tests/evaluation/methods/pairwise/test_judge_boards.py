"""A judge's means and boards, by hand, and how far two boards agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from evaluation.methods.core.units import ALL_SAME
from evaluation.methods.pairwise import method as pairwise
from evaluation.methods.pairwise.judge_boards import judge_boards
from evaluation.methods.pairwise.judgments import SIDES, Judgments, ShownVotes
from evaluation.methods.rescaling.point_scores import author_means, boards_agree


def test_a_mean_is_over_questions_with_the_t_interval_of_their_means() -> None:
    author = np.array([0, 0, 0, 0, 0, 0, 1])
    question = np.array([0, 0, 1, 2, 3, 4, 0])
    score = np.array([40.0, 60, 70, 20, 90, 30, 80])
    one, few = author_means(author, question, score)
    means = [50, 70, 20, 90, 30]  # the two answers to question 0 are one
    bounds = stats.t.interval(0.95, 4, np.mean(means), stats.sem(means))
    assert (one.estimate, one.n) == (52.0, 5)
    assert (one.low, one.high) == pytest.approx(bounds)
    assert (few.estimate, few.low, few.reason) == (80.0, None, "1 question; an interval needs 5")


def _crowd(noise: float, seed: int = 3) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    author, question = np.repeat(np.arange(8), 16), np.tile(np.arange(16), 8)
    one = author + rng.normal(0, 1, 128)
    return author, question, one, one + rng.normal(0, noise, 128) if noise else one


def test_two_judges_that_say_the_same_agree_fully_and_noise_widens_the_interval() -> None:
    rng = np.random.default_rng(1)
    options = {"rng": rng, "authors": 8, "questions": 16, "resamples": 400}
    same = boards_agree(*_crowd(0), **options)
    assert (same.rho, same.low, same.reason) == (1, None, ALL_SAME)
    author, question, one, two = _crowd(4)
    noisy = boards_agree(author, question, one, two, **options)
    means = [np.bincount(author, side) / 16 for side in (one, two)]
    assert noisy.rho == pytest.approx(stats.spearmanr(*means).statistic)
    assert noisy.low is not None and noisy.high is not None
    assert noisy.low < noisy.rho <= noisy.high and noisy.high - noisy.low > 0.05
    few = question < 14
    found = boards_agree(author[few], question[few], one[few], two[few], **options)
    assert (found.low, found.reason) == (None, "14 questions; an interval needs 15")


@pytest.mark.parametrize(
    ("keep", "flat", "reason"),
    [
        (slice(0, 32), False, "2 on both boards; an order needs 3"),
        (slice(0, 128), True, "one of the boards has all authors equal"),
    ],
)
def test_what_has_no_order_gets_a_reason_and_no_number(
    keep: slice, flat: bool, reason: str
) -> None:
    author, question, one, two = (column[keep] for column in _crowd(1))
    found = boards_agree(
        author,
        question,
        one,
        np.full(len(one), 50.0) if flat else two,
        rng=np.random.default_rng(1),
        authors=8,
        questions=16,
    )
    assert (found.rho, found.reason) == (None, reason)


def _study(turn: int, topics: int = 12, systems: int = 5) -> Judgments:
    """People who prefer the earlier system; a judge that does too (``turn`` 1) or not (-1)."""
    rng, size = np.random.default_rng(5), topics * systems
    pairs = [
        (t * systems + i, t * systems + j)
        for t in range(topics)
        for i in range(systems)
        for j in range(i + 1, systems)
    ]
    first, second = np.array(pairs).T
    gap = (second - first).astype(float)

    def votes(authors: int, lean: float, names: str) -> ShownVotes:
        pair = np.tile(np.arange(len(pairs)), 2 * authors)
        flipped = np.repeat(np.tile([False, True], authors), len(pairs))
        wins = rng.random(len(pair)) < 1 / (1 + np.exp(-lean * gap[pair]))
        vote = np.where(wins != flipped, 0, 2)[:, None]
        return ShownVotes.build(
            np.repeat(np.arange(authors), 2 * len(pairs)),
            pair,
            flipped,
            np.ones(len(pair), dtype=np.int64),
            vote,
            workers=[f"{names}{k}" for k in range(authors)],
            pairs=[str(k) for k in range(len(pairs))],
            dimensions=["good"],
            labels=SIDES,
        )

    return Judgments.build(
        votes(12, 1.0, "w"),
        first,
        second,
        topic=np.arange(size) // systems,
        system=np.arange(size) % systems,
        candidates=[str(k) for k in range(size)],
        topics=[str(k) for k in range(topics)],
        systems=[str(k) for k in range(systems)],
        machine=votes(2, 1.2 * turn, "m"),
    )


@pytest.mark.parametrize("turn", [1, -1])
def test_a_judges_board_is_ranked_by_its_own_votes_and_tau_has_its_sign(turn: int) -> None:
    found = judge_boards(
        _study(turn), rng=np.random.default_rng(2), settings=pairwise.DEFAULTS, resamples=100
    )
    board = [
        row for row in found["judge_system"].rows() if (row["machine"], row["dimension"]) == (1, 0)
    ]
    order = sorted(board, key=lambda row: -row["estimate"])
    assert [row["system"] for row in order] == list(range(5))[::turn]
    assert all(row["low"] < row["estimate"] < row["high"] for row in board)
    for row in found["judge_tau"].rows():
        assert row["tau"] == pytest.approx(turn, abs=0.21)
        assert row["low"] <= row["tau"] <= row["high"]
        assert (row["systems"], row["topics"], row["reason"]) == (5, 12, "")


def test_the_same_seed_gives_the_same_boards_and_few_topics_give_no_interval() -> None:
    data = _study(1, topics=4)
    one, two = (
        judge_boards(data, rng=np.random.default_rng(2), settings=pairwise.DEFAULTS)
        for _ in range(2)
    )
    assert one["judge_tau"].rows() == two["judge_tau"].rows()
    assert {row["reason"] for row in one["judge_tau"].rows()} == {"4 topics; an interval needs 10"}
    assert {row["low"] for row in one["judge_tau"].rows()} == {None}
