"""Boards of systems: what uneven crowds, few texts and two systems allow to say of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evaluation.methods.core.base import FloatArray
from evaluation.methods.pairwise import method as pairwise
from evaluation.methods.pairwise.boards import Boards, family_of, votes_of
from evaluation.methods.pairwise.judgments import Judgments, ShownVotes
from evaluation.methods.pairwise.resistance import votes_needed


def crowd(
    seed: int,
    *,
    merit: FloatArray | None = None,
    workers: int = 30,
    zipf: float = 0.0,
    topics: int = 40,
    taste: float = 0.4,
    topic: float = 0.5,
    votes: int = 1,
    ties: float = 0.15,
) -> Judgments:
    """Every two systems on every topic; workers have tastes, and a few of them do most."""
    rng = np.random.default_rng([seed, workers])
    merit = np.zeros(4) if merit is None else merit
    k = len(merit)
    first, second = np.triu_indices(k, 1)
    pairs = len(first) * topics
    of = np.repeat(np.arange(topics), len(first))
    a, b = np.tile(first, topics) + of * k, np.tile(second, topics) + of * k
    share = 1 / np.arange(1, workers + 1) ** zipf
    worker = rng.choice(workers, (votes, pairs), p=share / share.sum()).ravel()
    pair = np.tile(np.arange(pairs), votes)
    text = (merit + topic * rng.standard_normal((topics, k))).ravel()
    own = taste * rng.standard_normal((workers, k))
    lead = text[a][pair] - text[b][pair] + own[worker, a[pair] % k] - own[worker, b[pair] % k]
    vote = np.where(rng.random(len(pair)) < 1 / (1 + np.exp(-lead)), 0, 2)
    vote = np.where(rng.random(len(pair)) < ties, 1, vote)
    flipped = rng.random(len(pair)) < 0.5
    shown = ShownVotes.build(
        worker,
        pair,
        flipped,
        np.arange(1, len(pair) + 1),
        np.where(flipped, 2 - vote, vote)[:, None],
        workers=[f"w{n}" for n in range(workers)],
        pairs=[str(n) for n in range(pairs)],
        dimensions=("overall",),
    )
    return Judgments.build(
        shown,
        a,
        b,
        topic=np.repeat(np.arange(topics), k),
        system=np.tile(np.arange(k), topics),
        candidates=[str(n) for n in range(topics * k)],
        topics=[f"t{n}" for n in range(topics)],
        systems=[f"s{n}" for n in range(k)],
    )


def of_many_dimensions(seed: int, dimensions: int, names: int | None = None) -> Judgments:
    """Two equal systems on 100 topics, three votes each; dimensions past ``names`` are empty."""
    rng = np.random.default_rng(seed)
    topics, workers = 100, 30
    pair = np.tile(np.arange(topics), 3)
    vote = rng.choice([0, 2], (len(pair), dimensions))
    vote[:, dimensions if names is None else names :] = -1
    shown = ShownVotes.build(
        rng.integers(workers, size=len(pair)),
        pair,
        rng.random(len(pair)) < 0.5,
        np.arange(1, len(pair) + 1),
        vote,
        workers=[f"w{n}" for n in range(workers)],
        pairs=[str(n) for n in range(topics)],
        dimensions=[f"d{n}" for n in range(dimensions)],
    )
    return Judgments.build(
        shown,
        2 * np.arange(topics),
        2 * np.arange(topics) + 1,
        topic=np.repeat(np.arange(topics), 2),
        system=np.tile([0, 1], topics),
        candidates=[str(n) for n in range(2 * topics)],
        topics=[f"t{n}" for n in range(topics)],
        systems=["a", "b"],
    )


def ranked(data: Judgments, resamples: int = 200) -> Boards:
    return pairwise.rank_systems(data, rng=np.random.default_rng(0), resamples=resamples)


def held(zipf: float, workers: int, runs: int) -> tuple[float, float]:
    """How often intervals hold equal merits, and equal systems are separated."""
    covered, apart = [], 0
    for seed in range(runs):
        table = ranked(crowd(seed, zipf=zipf, workers=workers, taste=1.0, votes=3)).system
        own = table["dimension"] == 0
        low, high = table["low"][own], table["high"][own]
        covered += ((low <= 0) & (high >= 0))[np.isfinite(low)].tolist()
        apart += bool((table["rank_low"][own] > 1).any() or (table["rank_high"][own] < 4).any())
    return float(np.mean(covered)) if covered else np.nan, apart / runs


@pytest.mark.parametrize(
    ("zipf", "workers"), [pytest.param(2.0, 30, marks=pytest.mark.long), (1.5, 100)]
)
def test_workers_of_whom_a_few_do_most_do_not_separate_equal_systems(
    zipf: float, workers: int
) -> None:
    covered, apart = held(zipf, workers, 40)
    assert covered >= 0.92 and apart <= 0.07


@pytest.mark.long
@pytest.mark.parametrize(("zipf", "workers"), [(0, 30), (0, 12), (1, 30), (1.5, 100), (2, 30)])
def test_boards_of_uneven_workers_hold_what_they_claim(zipf: float, workers: int) -> None:
    """At .95, simulation error .006 a merit and .01 a board."""
    covered, apart = held(zipf, workers, 500)
    assert np.isnan(covered) or covered >= 0.93
    assert apart <= 0.07


@pytest.mark.long
def test_equal_systems_are_first_on_no_dimension_of_a_page() -> None:
    """At .95 over the page: of 40, two expected, and a third of them at .95 a dimension."""
    boards = [ranked(of_many_dimensions(seed, 7), 500).system for seed in range(40)]
    assert sum(bool((board["rank_low"] > 1).any()) for board in boards) <= 5


def test_ranks_of_one_dimension_stay_as_they_are() -> None:
    """Also where the other dimensions have no votes: their boards say nothing."""
    for names, family in ((1, 1), (2, 3)):
        data = of_many_dimensions(0, 3, names)
        assert family_of(votes_of(data, data.votes.first_votes(), None)) == family


def test_all_together_is_the_board_of_the_only_dimension() -> None:
    """Its intervals and ranks are the same draws, also by kind and at equal length."""
    made = crowd(4, merit=np.array([0.5, 0.3, 0.1, 0.0]), taste=0.8, votes=4)
    rng = np.random.default_rng(1)
    data = replace(made, counts={"words": rng.integers(5, 90, len(made.candidates)) * 1.0})
    found = pairwise.fit(data, rng=rng, resamples=150, draws=0, restarts=2).estimates
    for name in ("system", "shared", "controlled", "style", "top", "stratum_system", "shift"):
        every, own = (
            [{**row, "dimension": 0} for row in found[name].rows() if row["dimension"] == k]
            for k in (-1, 0)
        )
        assert str(every) == str(own) and (every or name == "shift")


def test_few_topics_are_why_many_votes_do_not_separate_the_first_two() -> None:
    """Many votes on 5 topics leave open what as many on 40 topics decide."""
    found = {}
    for topics, votes in ((5, 160), (40, 20)):
        lead = np.array([0.45, 0.0, -0.6, -0.9])
        data = crowd(6, merit=lead, topics=topics, votes=votes, workers=60, topic=0.2, taste=0.1)
        made = pairwise.fit(data, rng=np.random.default_rng(1), resamples=200, draws=0, restarts=1)
        own = made.estimates["system"]
        first = (own["dimension"] == 0) & (own["system"] == 0)
        [top] = [row for row in made.estimates["top"].rows() if row["dimension"] == 0]
        found[topics] = (int(own["rank_high"][first][0]), top["few_topics"])
    assert found[5][0] > 1 and found[5][1] == 5
    assert found[40] == (1, 0)


@pytest.mark.parametrize(("longer", "reason"), [(4, "(words)"), (0, "do not differ")])
def test_a_length_that_goes_with_the_system_is_why_there_is_no_control(
    longer: int, reason: str
) -> None:
    made = crowd(5, merit=np.array([0.3, 0.0]), topics=20, votes=3)
    words = np.where(made.system == 0, 40.0 + longer, 40.0)
    data = replace(made, counts={"words": words, "lists": 0 * words})
    found = pairwise.fit(data, rng=np.random.default_rng(1), resamples=100, draws=0, restarts=1)
    assert not len(found.estimates["controlled"])
    notes = found.diagnostics["style_notes"]
    assert len(notes) == 2 and all(reason in note for note in notes)


def test_a_board_by_effectively_fewer_than_three_workers_has_no_intervals_and_says_why() -> None:
    found = ranked(crowd(1, zipf=3.0))
    assert np.isnan(found.system["low"]).all() and np.isfinite(found.system["se"]).all()
    assert (found.system["rank_low"] == 1).all() and (found.system["rank_high"] == 4).all()
    assert any("workers, but a few did most" in note for note in found.notes)


@pytest.mark.parametrize(("topics", "by"), [(12, "topic"), (5, "topic"), (4, "pair"), (1, "")])
def test_texts_are_clusters_where_several_stand_for_the_same_two_systems(
    topics: int, by: str
) -> None:
    """With one text a system the pairs are who was compared, and no sample of others."""
    found = ranked(crowd(2, topics=topics, votes=20, workers=40))
    assert found.clusters["overall"] == (f"{by} and worker" if by else "worker")
    known = np.isfinite(found.system["low"])
    assert known.all()


def test_two_systems_have_the_share_of_decided_votes_with_an_interval() -> None:
    data = crowd(3, merit=np.array([0.8, 0.0]), topics=60)
    head = ranked(data).head.rows()
    vote = data.votes.canonical()[:, 0]
    assert [row["dimension"] for row in head] == [-1, 0]
    for row in head:
        assert row["ties"] == (vote == 1).sum() and row["decided"] == (vote != 1).sum()
        assert row["share"] == pytest.approx((vote == 0).sum() / (vote != 1).sum())
        assert row["low"] < row["share"] < row["high"] and not row["reason"]
    assert not len(ranked(crowd(3)).head)


@pytest.mark.long
@pytest.mark.parametrize("systems", [2, 4])
def test_the_votes_needed_separate_the_first_two_with_a_chance_of_four_fifths(
    systems: int,
) -> None:
    """Four times what was collected, the gap taken as true: power, and not a toss of a coin."""
    merit = np.append(np.array([0.35, 0.0]), np.full(systems - 2, -1.0))
    every: dict[str, float] = {"taste": 0.3, "topic": 0.3}
    gaps, errors, freedom = [], [], []
    for seed in range(12):
        data = crowd(seed, merit=merit, topics=40, workers=40, **every)  # type: ignore[arg-type]
        top = pairwise_top(data)
        gaps.append(top["gap"])
        errors.append(top["error"])
        freedom.append(top["freedom"])
    n = len(data.votes)
    large = crowd(99, merit=merit, topics=2000, workers=2000, **every)  # type: ignore[arg-type]
    gap = pairwise_top(large)["gap"]
    needed = votes_needed(
        n,
        gap,
        float(np.sqrt(np.mean(np.square(errors)))),
        systems=systems,
        level=0.95,
        freedom=float(np.mean(freedom)),
    )
    times = needed / n
    separated = []
    for seed in range(100, 180):
        data = crowd(
            seed,
            merit=merit,
            topics=round(40 * times),
            workers=round(40 * times),
            **every,  # type: ignore[arg-type]
        )
        table = ranked(data).system
        own = table["dimension"] == 0
        separated.append(table["rank_low"][own].tolist()[1] > 1)
    assert 0.68 <= np.mean(separated) <= 0.92  # simulation error .045


def pairwise_top(data: Judgments) -> dict[str, float]:
    """Gap and error of the first two as a study has them, and the board's degrees of freedom."""
    settings = pairwise.DEFAULTS | {"resamples": 100}
    board = ranked(data, 100)
    rng = np.random.default_rng(0)
    tables, _ = pairwise.resistance(
        data, data.votes.first_votes(), None, settings, board=board, rng=rng, hooks=pairwise.Hooks()
    )
    top = tables["top"].rows()[1]
    return {**top, "freedom": float(board.freedom[0].min())}
