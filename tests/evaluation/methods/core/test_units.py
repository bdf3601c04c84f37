"""Intervals from few units hold what they say, or there is none and a sentence says why."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evaluation.methods.agreement import coefficients as agreement
from evaluation.methods.agreement.significance import bca
from evaluation.methods.aqer_study.method import Drawn, compare_r
from evaluation.methods.checklists.agreement import of_units, signal_rows
from evaluation.methods.checklists.correlation import compare_rows
from evaluation.methods.checklists.diversity import self_cosine, self_jaccard
from evaluation.methods.core import units
from evaluation.methods.core.domains import Part, pool
from evaluation.methods.core.units import share
from evaluation.methods.core.votes import Labels
from evaluation.methods.pairwise.agreement import agreement_table
from evaluation.methods.pairwise.judgments import ShownVotes, Units
from evaluation.methods.pairwise.order import effects as order_effects
from evaluation.methods.rescaling import ratings
from evaluation.methods.rescaling.data import shared_pairs
from evaluation.methods.rescaling.method import agreement as tau_agreement
from evaluation.methods.rescaling.method import rescale
from evaluation.methods.text.corpus import token_ids
from evaluation.methods.writing.draws import Draws
from evaluation.methods.writing.questionnaires import Forms, correlations
from evaluation.pairwise.overlap import intervals
from evaluation.pairwise.selectors.order.effects import Drift, Side, drift_note, side_note
from tests.studies import small_samples as study
from tests.studies import small_samples_ranked as ranked
from tests.studies.rescaling_coverage import ratings as explained

FEW = (2, 3, 5, 6, 10)


@pytest.mark.long
@pytest.mark.parametrize("kind", [units.SHARE, units.MEAN, units.RESAMPLED, units.PERCENT])
def test_small_samples_have_an_interval_that_holds_or_none(kind: str) -> None:
    """The small version of the study; one design alone may lie further off."""
    own = [one for one in study.designs() if one.kind == kind]
    for number in FEW:
        found = [study.cover(one, number, 100) for one in own]
        if number < units.LEAST[kind]:
            assert {given for _, given in found} == {0.0}, number
        else:
            assert all(given > 0.95 for _, given in found), number
            assert 0.91 <= np.mean([held for held, _ in found]) <= 0.98, number


@pytest.mark.parametrize("kind", ["alpha", "kappa", "rho", "difference of r"])
def test_coefficients_have_an_interval_from_their_least_number_on(kind: str) -> None:
    least = {"alpha": 15, "kappa": 15, "rho": 10, "difference of r": 5}[kind]
    own = [one for one in study.designs() if one.kind == kind]
    assert {study.cover(one, least - 1, 5)[1] for one in own} == {0.0}
    held = [study.cover(one, least, 80)[0] for one in own]
    assert 0.9 <= np.mean(held) <= 0.985


def agreeing(items: int) -> Labels:
    """Two raters who agree on every item."""
    return Labels.build(
        np.tile([0, 1], items),
        np.repeat(np.arange(items), 2),
        np.repeat(np.arange(items) % 2, 2),
        workers="ab",
        items=[str(k) for k in range(items)],
        labels="01",
    )


def test_six_items_that_agree_do_not_look_certain() -> None:
    same = agreement.percent_interval(agreeing(6))
    assert (same.estimate, same.reason) == (1, "6 items; an interval needs 10")
    found = agreement.alpha_interval(agreeing(6), rng=np.random.default_rng(0))
    assert found.estimate == 1 and np.isnan([found.low, found.high, same.low]).all()
    assert found.reason == "6 items; an interval needs 15"


def test_twenty_items_that_agree_have_an_interval_of_the_share_and_none_of_alpha() -> None:
    same = agreement.percent_interval(agreeing(20))
    assert (same.estimate, same.high) == (1, 1) and same.low == pytest.approx(0.84, abs=0.01)
    found = agreement.alpha_interval(agreeing(20), rng=np.random.default_rng(0))
    assert np.isnan(found.low) and found.reason == units.ALL_SAME


def test_five_of_five_workers_is_not_one_hundred_per_cent_for_sure() -> None:
    found = share(np.ones(5), np.ones(5), np.arange(5))
    assert (found.estimate, found.high) == (1, 1)
    assert found.low == pytest.approx(0.57, abs=0.01)
    few = share(np.ones(40), np.ones(40), np.repeat(np.arange(4), 10))
    assert np.isnan(few.low) and few.reason == "4 workers; an interval needs 5"


def shown(topics: int, *, each: int = 12, seed: int = 0) -> tuple[ShownVotes, Units]:
    """Votes of five on pairs whose topics are hard or easy as a whole."""
    rng = np.random.default_rng(seed)
    pairs = topics * each
    topic = np.repeat(np.arange(topics), each)
    easy = rng.beta(0.4, 0.4, topics)[topic]
    truth = rng.integers(0, 2, pairs) * 2
    pair, worker = np.repeat(np.arange(pairs), 5), np.tile(np.arange(5), pairs)
    knows = rng.random((len(pair), 2)) < easy[pair][:, None]
    vote = np.where(knows, truth[pair][:, None], rng.integers(0, 3, (len(pair), 2)))
    flipped = rng.random(len(pair)) < 0.5
    data = ShownVotes.build(
        worker,
        pair,
        flipped,
        np.arange(len(pair)) % 16 + 1,
        np.where(flipped[:, None], 2 - vote, vote),
        workers="abcde",
        pairs=[str(k) for k in range(pairs)],
        dimensions=["clear", "deep"],
    )
    return data, Units(topic, "topics")


def width(rows: list[dict[str, Any]]) -> float:
    return float(np.mean([row["high"] - row["low"] for row in rows]))


def test_pairwise_alpha_draws_topics_and_says_what_it_drew() -> None:
    data, topics = shown(20)
    drawing: dict[str, Any] = {"rng": np.random.default_rng(0), "resamples": 400}
    by_pair = agreement_table(data, level=0.95, **drawing).rows()
    by_topic = agreement_table(data, level=0.95, units=topics, **drawing).rows()
    assert [row["alpha"] for row in by_pair] == [row["alpha"] for row in by_topic]
    assert {(row["units"], row["unit"]) for row in by_topic} == {(20, "topics")}
    assert width(by_topic) > 1.5 * width(by_pair)
    few = agreement_table(*shown(14)[:1], level=0.95, units=shown(14)[1], **drawing).rows()
    assert {row["reason"] for row in few} == {"14 topics; an interval needs 15"}
    assert all(row["alpha"] is not None and row["low"] is None for row in few)


def test_order_effects_and_interdependence_draw_topics() -> None:
    data, topics = shown(20)
    drawing: dict[str, Any] = {"resamples": 400}
    for fit in (order_effects.within_item_alpha, order_effects.across_item_alpha):
        plain, by_topic = (
            fit(data, rng=np.random.default_rng(0), units=one, **drawing).rows()
            for one in (None, topics)
        )
        assert plain[0].keys() == by_topic[0].keys()
        assert width(by_topic) != pytest.approx(width(plain), rel=0.01)
    gold = np.stack([data.canonical()[data.pair == k][0] for k in range(240)])
    spans = [
        order_effects.interdependence(
            gold, ("clear", "deep"), size=3, rng=np.random.default_rng(0), units=one, **drawing
        ).rows()
        for one in (None, topics)
    ]
    assert width(spans[1]) > 1.2 * width(spans[0])


def test_intervals_of_dimensions_hold_all_at_once() -> None:
    data, _ = shown(20)
    every, one, two = order_effects.side_preference(data, confidence=0.9).rows()
    assert (every["family"], one["family"], two["family"]) == (1, 2, 2)
    alone = replace(data, vote=data.vote[:, :1], dimensions=("clear",))
    first = order_effects.side_preference(alone, confidence=0.95).rows()[1]
    assert (one["low"], one["high"]) == pytest.approx((first["low"], first["high"]))


def side(label: str, low: float, high: float, family: int = 2) -> Side:
    middle = (low + high) / 2
    return Side(label, middle, low, high, 100, "", "", family)  # type: ignore[arg-type]


def test_one_statement_covers_all_rows_and_names_its_correction() -> None:
    every, plain = side("All together", 0.48, 0.53, 1), side("Deep", 0.45, 0.53)
    said = side_note([every, side("Clear", 0.51, 0.6), plain])
    assert said == (
        "Over all dimensions a lean to a side is not shown. By dimension it shows on Clear "
        "(Bonferroni over 2 intervals)."
    )
    assert side_note([every, plain, plain]).endswith("over all dimensions or on any.")
    leaning = side_note([side("All together", 0.51, 0.53, 1), plain, plain])
    assert "lean to the right" in leaning and "No single dimension shows it" in leaning
    few = Side("All together", 0.5, None, None, 9, "4 topics; an interval needs 5", "", 1)  # type: ignore[arg-type]
    assert side_note([few]) == "No interval for a lean to a side: 4 topics; an interval needs 5."
    drifts = [
        Drift("All together", 0.3, 0.3, 0.0, -0.1, 0.1, 0.0, "", 1),
        Drift("Clear", 0.3, 0.4, 0.1, 0.02, 0.2, 0.0, "", 2),
        Drift("Deep", 0.3, 0.3, 0.0, -0.1, 0.1, 0.0, "", 2),
    ]
    assert "neutral answers is not shown. By dimension it shows on Clear" in drift_note(drifts)


def test_few_topics_and_figures_that_never_vary_have_a_reason() -> None:
    rng = np.random.default_rng(0)
    few = Draws(9, resamples=200, level=0.95, rng=rng)
    found = few.mean(rng.normal(size=36), np.repeat(np.arange(9), 4))
    assert (found["low"], found["reason"]) == (None, "9 topics; an interval needs 10")
    assert few.shares(np.ones((9, 1)), np.full(9, 2.0)) == ([0.5], [None], [None])
    many = Draws(12, resamples=200, level=0.95, rng=rng)
    never = many.mean(np.zeros(48), np.repeat(np.arange(12), 4))
    assert (never["value"], never["low"], never["reason"]) == (0, None, units.ALL_SAME)


def uneven(topics: int, zipf: float, rows: int) -> np.ndarray:
    """The topic (n,) of about ``rows`` rows, most of them of the first topics."""
    share = np.arange(1, topics + 1) ** -zipf
    size = np.maximum(1, np.round(rows * share / share.sum())).astype(int)
    return np.repeat(np.arange(topics), size)


def test_topics_that_hold_most_of_the_texts_count_as_few() -> None:
    """Of 30 topics with Zipf 1.5 texts .90 of resampled intervals held, of 100 .88."""
    for topics in (30, 100):
        topic = uneven(topics, 1.5, 300)
        held = 0
        for seed in range(150):
            rng = np.random.default_rng([topics, seed])
            value = (rng.normal(size=topics) + rng.normal(size=(1, topics)))[0][topic]
            value = value + rng.normal(size=len(topic))
            row = Draws(topics, resamples=300, level=0.95, rng=rng).mean(value, topic)
            held += row["low"] <= 0 <= row["high"]
        assert held / 150 >= 0.92
    lone = uneven(30, 2.5, 300)
    row = Draws(30, resamples=300, level=0.95, rng=rng).mean(rng.normal(size=len(lone)), lone)
    assert row["low"] is None
    assert row["reason"].startswith("30 topics, but a few")


def test_alpha_over_topics_of_uneven_size_holds() -> None:
    """Of 60 topics with Zipf 1.5 items .90 of intervals held."""

    def votes(rng: np.random.Generator, topic: np.ndarray) -> Labels:
        easy = rng.beta(2, 2, int(topic.max()) + 1)[topic]
        truth = rng.integers(0, 2, (len(topic), 1))
        knows = rng.random((len(topic), 3)) < easy[:, None]
        label = np.where(knows, truth, rng.integers(0, 2, (len(topic), 3)))
        return Labels.build(
            np.tile(np.arange(3), len(topic)),
            np.repeat(np.arange(len(topic)), 3),
            label.ravel(),
            workers="abc",
            items=[str(k) for k in range(len(topic))],
            labels="01",
        )

    topic = uneven(60, 1.5, 600)
    many = np.concatenate([topic + 60 * k for k in range(200)])
    true = agreement.krippendorff_alpha(votes(np.random.default_rng(0), many))
    held = 0
    for seed in range(120):
        rng = np.random.default_rng([7, seed])
        found = agreement.alpha_interval(votes(rng, topic), rng=rng, resamples=300, group=topic)
        held += found.low <= true <= found.high
    assert held / 120 >= 0.93


def test_questionnaires_of_nine_workers_have_no_interval() -> None:
    value = np.random.default_rng(0).integers(1, 6, (9, 2)).astype(float)
    forms = Forms(value, np.arange(9), np.zeros(9, dtype=int), ("a", "b"), ("",))
    (row,) = correlations(forms, [(0, 1)], rng=np.random.default_rng(0))
    assert row["rho"] is not None and row["low"] is None
    assert row["reason"] == "9 workers; an interval needs 10"


def test_a_difference_of_correlations_has_bounds_on_its_own_scale() -> None:
    rng = np.random.default_rng(0)
    grade = rng.normal(size=120)
    close, far = (
        grade + s * rng.normal(size=120) + 0.05 * rng.normal(size=(4, 120)) for s in (0.05, 2.0)
    )
    frame = Drawn(np.tile(np.arange(4), 30), np.repeat(np.arange(30), 4), grade, 4, 30)
    row = compare_r(frame, close, far, 0.95)
    r = [np.corrcoef(scores.mean(axis=0), grade)[0, 1] for scores in (close, far)]
    assert row["difference"] == pytest.approx(r[0] - r[1], abs=0.02)
    assert row["low"] < row["difference"] < row["high"] < 1  # z differs by more than 1
    assert row["low"] + row["high"] == pytest.approx(2 * row["difference"])
    few = compare_r(
        Drawn(frame.system[:16], frame.question[:16], grade[:16], 4, 30),
        close[:, :16],
        far[:, :16],
        0.95,
    )
    assert np.isnan(few["low"]) and few["reason"] == "4 questions; an interval needs 5"


def test_a_rater_has_an_agreement_with_the_others_and_its_interval_or_reason() -> None:
    rng = np.random.default_rng(0)
    texts, people = 12, 4
    quality = rng.normal(size=texts)
    worker, text = np.tile(np.arange(people), texts), np.repeat(np.arange(texts), people)
    value = np.clip(np.round(3 + quality[text] + 0.5 * rng.normal(size=len(text))), 1, 5)
    keep = (worker != 3) | (text < 4)
    data = ratings.Ratings.build(
        worker[keep],
        text[keep],
        value[keep, None],
        system=np.zeros(texts, dtype=int),
        topic=np.arange(texts),
        workers="abcd",
        texts=[str(k) for k in range(texts)],
        systems=["s"],
        scales=["good"],
    )
    found = ratings.fit(data, rng=rng, resamples=100).estimates
    assert "competence" not in found["worker"].columns
    full, *_, few = found["worker"].rows()
    assert full["low"] < full["agreement"] < full["high"] and full["no_interval"] == ""
    assert (few["low"], few["no_interval"]) == (None, "4 shared texts; an interval needs 5")
    (alpha,) = found["agreement"].rows()
    assert (alpha["low"], alpha["reason"]) == (None, "12 topics; an interval needs 15")
    (system,) = found["system"].rows()
    assert (system["low"], system["no_interval"]) == (None, "4 workers; an interval needs 5")


def test_reference_measures_have_an_interval_over_topics_or_the_reason() -> None:
    rho, ends = np.array([0.2, 0.5, 0.4, np.nan, 0.1, 0.6]), np.array([1, 1, 1, np.nan, 1, 1.0])
    found = SimpleNamespace(**intervals(rho, ends, 0.95))
    assert found.full == pytest.approx(0.36) and found.full_low < 0.36 < found.full_high
    assert found.ends == 1 and found.ends_low == pytest.approx(0.13, abs=0.01)
    few = intervals(rho[:4], ends[:4], 0.95)
    assert (few["full_low"], few["ends_low"]) == (None, None)
    assert few["reason"] == "3 topics; an interval needs 5"


def test_two_scorings_of_four_articles_have_a_difference_without_interval_and_p() -> None:
    human = np.tile(np.arange(4.0), 10)
    article = np.repeat(np.arange(10), 4)
    turned = np.where(human < 2, 1 - human, human)  # the same correlation in every article
    noisy = human + np.random.default_rng(0).normal(0, 2, len(human))
    for size, one, why in (
        (4, noisy, "4 articles; an interval needs 5"),
        (5, noisy, ""),
        (10, turned, units.ALL_SAME),
    ):
        few = article < size
        (row,) = compare_rows(
            [human[few], one[few]],
            human[few],
            article[few],
            [(0, 1)],
        )
        assert row["difference"] > 0
        assert (row["reason"], bool(np.isnan(row["low"]))) == (why, bool(why))
        assert np.isnan(row["p"]) == bool(why)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["tau", "change of tau", "similarity", "board"])
def test_ranks_similarities_and_boards_have_an_interval_from_their_least_number_on(
    kind: str,
) -> None:
    least = {"similarity": units.SIMILARITY, "board": units.BOARD}.get(kind, units.RANKED)
    number = units.LEAST[least]
    own = [one for one in ranked.designs() if one.kind == kind]
    assert {ranked.cover(one, number - 1, 5)[1] for one in own} == {0.0}
    found = [ranked.cover(one, number, 60) for one in own]
    held = [share for share, given in found if given > 0.5]  # the others have too few of a kind
    assert held and 0.9 <= np.mean(held) <= 0.985


def test_a_change_of_tau_from_29_items_has_no_interval() -> None:
    for items, why in ((29, "29 items; an interval needs 30"), (30, "")):
        data = explained(np.random.default_rng(0), items)
        mean = tau_agreement(data, shared_pairs(data), data.rating, rescale(data)).mean
        assert (mean.reason, bool(np.isnan(mean.low))) == (why, bool(why))
        assert np.isfinite(mean.after - mean.before)


def test_a_question_held_against_29_texts_has_no_interval_and_no_p() -> None:
    rng = np.random.default_rng(0)
    for texts, why in ((29, "29 articles; an interval needs 30"), (30, "")):
        human = rng.normal(size=texts)
        yes = (human[:, None] + rng.normal(size=(texts, 3)) > 0).astype(float)
        (row, *_) = signal_rows(yes, human, np.arange(texts), answerer=0, level=0.95)
        assert np.isfinite([row["tau"], row["change"]]).all()
        assert (row["reason"], row["change_reason"]) == (why, why)
        assert np.isnan([row["low"], row["p"], row["change_high"], row["change_p"]]).all() == bool(
            why
        )
    few = of_units(np.array([0.1, 0.3, 0.2, np.nan, 0.4]), 0.95)
    assert np.isnan(few.low) and few.reason == "4 articles; an interval needs 5"


def test_attributes_that_share_nothing_or_are_four_have_no_interval_of_their_similarity() -> None:
    few = self_cosine(np.random.default_rng(0).normal(size=(4, 5)) + 1)
    assert np.isnan(few.low) and few.reason == "4 attributes; an interval needs 10"
    never = self_jaccard(token_ids([[word] for word in "abcdefghij"]))
    assert (never.estimate, bool(np.isnan(never.low))) == (0, True)
    assert never.reason == "every attribute is as like the others, so no interval"


def test_a_board_over_two_tasks_has_no_interval_and_no_ranks() -> None:
    rng = np.random.default_rng(0)
    parts = [
        Part(np.arange(4), rng.normal(size=4), np.eye(4) / 10, np.full(4, 9)) for _ in range(3)
    ]
    for tasks, why in ((2, "2 tasks; an interval needs 3"), (3, "")):
        (one,) = pool(parts[:tasks], 4, rng=rng)
        assert (one.reason, bool(np.isnan(one.low).all())) == (why, bool(why))
        assert np.isfinite(one.estimate).all() and one.rank_low.any() != bool(why)


def test_bca_gives_no_point_for_an_interval() -> None:
    """Five units that all differ by the same: [2, 2] beside a p of .0625."""
    found = bca(2.0, np.full(500, 2.0), np.full(5, 2.0), 0.95)
    assert np.isnan([found.low, found.high]).all() and found.p > 0.05
    nearly = bca(2.0, np.where(np.arange(5000) < 2, 1.0, 2.0), np.full(40, 2.0), 0.95)
    assert np.isnan([nearly.low, nearly.high]).all()
    assert {found.reason, nearly.reason} == {units.ALL_SAME}
