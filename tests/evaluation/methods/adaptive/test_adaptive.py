"""Adaptive collection spends votes where they tell most and keeps to what it was told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import beta as beta_distribution

from evaluation.methods.adaptive import beliefs as adaptive_beliefs
from evaluation.methods.adaptive import method as adaptive_gain
from evaluation.methods.adaptive.beliefs import FIRST, SECOND
from evaluation.methods.adaptive.method import TARGETS, Plan, plan_votes
from evaluation.methods.core.base import BadParameter, BadShape, BadVector, FloatArray

RULES: dict[str, Any] = {"floor": 1, "ceiling": 9, "certainty": 0.95, "budget": 400}


def study(pairs: int, systems: int, votes: int, seed: int = 0) -> dict[str, Any]:
    """Counts of a crowd that prefers systems of a higher number."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, systems, pairs)
    second = (first + rng.integers(1, systems, pairs)) % systems
    win = 0.7 / (1 + np.exp(-(first - second) + rng.normal(0, 1, pairs)))
    chance = np.stack([win, np.full(pairs, 0.3), 0.7 - win], axis=1)
    return {"counts": rng.multinomial(votes, chance), "first": first, "second": second}


@st.composite
def situations(draw: st.DrawFn) -> dict[str, Any]:
    """Any study at any moment, with any rules that fit together."""
    pairs, systems = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    several = st.lists(st.integers(0, 4), min_size=pairs, max_size=pairs)
    index = st.lists(st.integers(0, systems - 1), min_size=pairs, max_size=pairs)
    neutral = draw(st.booleans())
    columns = [draw(several) for _ in range(3)]
    if not neutral:
        columns[1] = [0] * pairs
    floor = draw(st.integers(1, 3))
    return {
        "counts": np.array(columns).T,
        "first": draw(index),
        "second": draw(index),
        "held": np.array(draw(several)),
        "floor": floor,
        "ceiling": floor + draw(st.integers(0, 6)),
        "certainty": draw(st.sampled_from([0.6, 0.8, 0.95])),
        "budget": floor * pairs + draw(st.integers(0, 60)),
        "target": draw(st.sampled_from(TARGETS)),
        "neutral": neutral,
        "batch": draw(st.none() | st.integers(1, 30)),
    }


@settings(max_examples=100, deadline=None)
@given(situations(), st.none() | st.integers(0, 9))
def test_a_plan_keeps_to_floor_ceiling_budget_and_leaves_certain_pairs_alone(
    case: dict[str, Any], seed: int | None
) -> None:
    plan = plan_votes(**case, rng=None if seed is None else np.random.default_rng(seed))
    given_, needed = plan.votes + plan.held, 0
    needed = int(np.maximum(case["floor"] - given_, 0).sum())
    affordable = given_.sum() + needed <= case["budget"]
    assert (plan.next_votes >= 0).all()
    assert (plan.wanted <= np.maximum(case["ceiling"], given_)).all()
    assert plan.wanted.sum() <= max(case["budget"], given_.sum())
    assert not plan.next_votes[plan.certain].any()
    if affordable:
        assert (plan.wanted >= case["floor"]).all()
        assert parts(case, np.ones(len(given_))) == parts(case, plan.wanted)
        batch = case["batch"] or -(-len(given_) // 4)
        assert plan.next_votes.sum() <= max(needed, batch)
    else:  # the budget goes where there are the fewest votes
        served, left_out = (
            given_[plan.next_votes > 0],
            given_[(plan.next_votes == 0) & (given_ == 0)],
        )
        assert not (len(left_out) and len(served)) or served.max() == 0
    np.testing.assert_allclose(plan.posterior.sum(axis=1), 1)
    assert (plan.posterior >= 0).all() and (plan.gain >= 0).all()
    assert plan.spent + plan.held.sum() + plan.next_votes.sum() + plan.left >= case["budget"]


def parts(case: dict[str, Any], votes: Any) -> int:
    """Connected parts of the systems by pairs that have votes."""
    on, size = np.asarray(votes) > 0, 5
    edges = np.array(case["first"])[on], np.array(case["second"])[on]
    return int(connected_components(coo_array((np.ones(on.sum()), edges), shape=(size, size)))[0])


@settings(max_examples=50, deadline=None)
@given(situations(), st.integers(0, 2**12 - 1))
def test_turning_pairs_round_mirrors_the_plan(case: dict[str, Any], which: int) -> None:
    turned = np.array([bool(which >> k & 1) for k in range(len(case["counts"]))])
    first, second = np.array(case["first"]), np.array(case["second"])
    other = {
        **case,
        "counts": np.where(turned[:, None], case["counts"][:, ::-1], case["counts"]),
        "first": np.where(turned, second, first),
        "second": np.where(turned, first, second),
    }
    plan, mirrored = plan_votes(**case), plan_votes(**other)
    np.testing.assert_array_equal(mirrored.wanted, plan.wanted)
    np.testing.assert_array_equal(mirrored.certain, plan.certain)
    np.testing.assert_allclose(mirrored.gain, plan.gain, atol=1e-8)
    expected = np.where(turned[:, None], plan.posterior[:, ::-1], plan.posterior)
    np.testing.assert_allclose(mirrored.posterior, expected, atol=1e-7)


def brute_label(shape: FloatArray) -> FloatArray:
    """Label chances of one pair by adding up a fine table of both chances."""
    edges = np.linspace(0, 1, 3001)
    middle = (edges[1:] + edges[:-1]) / 2
    u = np.diff(beta_distribution(shape[0], shape[1]).cdf(edges))
    v = np.diff(beta_distribution(shape[2], shape[3]).cdf(edges))
    most = np.maximum(middle, 1 - middle)
    decided = u @ (middle[:, None] < (1 - middle)[:, None] * most[None, :])
    found = [(decided * v)[middle > 0.5].sum(), 0, (decided * v)[middle < 0.5].sum()]
    return np.array([found[0], 1 - found[0] - found[2], found[2]])


@pytest.mark.parametrize(
    "shape", [(2.0, 5.0, 3.0, 1.5), (6.0, 4.0, 1.0, 1.0), (0.4, 0.9, 0.3, 2.0), (30, 40, 20, 22)]
)
def test_label_chances_are_those_of_a_table_of_all_chances(shape: tuple[float, ...]) -> None:
    start = np.array([shape], dtype=np.float64)
    now, after = adaptive_beliefs.label_chances(start)
    np.testing.assert_allclose(now[0], brute_label(start[0]), atol=1e-3)
    steps = np.array([[0, 1, 1, 0], [1, 0, 0, 0], [0, 1, 0, 1]])
    for vote, step in enumerate(steps):
        np.testing.assert_allclose(after[0, vote], brute_label(start[0] + step), atol=1e-3)
        again, _ = adaptive_beliefs.label_chances(start + step)
        np.testing.assert_allclose(after[0, vote], again[0], atol=1e-9)
    # Information: what one vote is expected to tell, entropy by entropy.
    chance = [shape[1] * shape[2], shape[0] * (shape[2] + shape[3]), shape[1] * shape[3]]
    likely = np.array(chance) / sum(chance)

    def entropy(p: FloatArray) -> float:
        return float(-sum(x * np.log(x) for x in p if x > 0))

    expected = entropy(now[0]) - sum(likely[k] * entropy(after[0, k]) for k in range(3))
    assert adaptive_gain.label_gain(start, now, after)[0] == pytest.approx(expected, abs=1e-9)
    # What is believed is a martingale: votes to come change it in no known direction.
    np.testing.assert_allclose(likely @ after[0], now[0], atol=1e-6)


def test_a_pair_borrows_from_the_ranking_as_much_as_pairs_are_alike() -> None:
    data = study(400, 4, 3)
    found = adaptive_beliefs.beliefs(data["counts"] * 1.0, data["first"], data["second"], 4)
    yes, no = data["counts"][:, FIRST], data["counts"][:, SECOND]
    rough, tie = adaptive_beliefs.systems_of(data["counts"] * 1.0, data["first"], data["second"], 4)
    prior = adaptive_beliefs.chances(rough, tie, data["first"], data["second"])
    chance = prior[:, FIRST] / (prior[:, FIRST] + prior[:, SECOND])

    def unlikely(log_s: float) -> float:
        """Minus the log-likelihood, vote after vote (Polya's urn), and the prior of s."""
        s, value = np.exp(log_s), 0.5 * (log_s - np.log(8)) ** 2
        for a, b, p in zip(yes, no, chance, strict=True):
            if a + b > 1:
                value -= sum(np.log(s * p + k) for k in range(a))
                value -= sum(np.log(s * (1 - p) + k) for k in range(b))
                value += sum(np.log(s + k) for k in range(a + b))
        return value

    best = minimize_scalar(unlikely, bounds=(0, np.log(400)), method="bounded").x
    assert np.log(found.decided) == pytest.approx(best, abs=0.03)
    assert (np.diff(found.merit) > 0).all()
    # A pair without a vote is what its systems say, and each vote moves it by its share.
    shape = found.posterior(np.zeros((400, 3)))
    np.testing.assert_allclose(adaptive_beliefs.next_vote(shape), found.prior, atol=1e-9)
    voted = adaptive_beliefs.next_vote(found.posterior(np.tile([1.0, 0.0, 0.0], (400, 1))))
    direction = shape[:, 2] / found.decided
    moved = (found.decided * direction + 1) / (found.decided + 1)
    np.testing.assert_allclose(voted[:, 0] / (voted[:, 0] + voted[:, 2]), moved)


def test_value_of_a_look_is_that_of_drawing_what_it_might_show() -> None:
    rng = np.random.default_rng(0)
    q = adaptive_gain.AHEAD
    for z in (0.0, 0.4, 1.2, 2.5):
        seen = z + np.sqrt(q) * rng.standard_normal(1_000_000)
        true = seen + np.sqrt(1 - q) * rng.standard_normal(1_000_000)
        before = (true < 0).mean()
        after = (np.sign(seen) != np.sign(true)).mean()
        value = adaptive_gain.order_gain(np.array([z, -z]))
        assert value == pytest.approx((before - after) / q, abs=4e-3)


def test_a_vote_counts_for_every_order_that_it_makes_surer() -> None:
    data = study(60, 5, 3, seed=3)
    counts, first, second = data["counts"] * 1.0, data["first"], data["second"]
    believed = adaptive_beliefs.beliefs(counts, first, second, 5)
    field = adaptive_gain.Field.of(believed, first, second)
    votes = counts.sum(axis=1)

    def precision(votes: FloatArray) -> FloatArray:
        out = 0.1 * np.eye(5)
        for i in range(60):
            x = np.zeros(5)
            x[first[i]], x[second[i]] = 1, -1
            worth = votes[i] / (1 + max(votes[i] - 1, 0) * believed.alike)
            win, _, loss = believed.prior[i]
            out += worth * (win + loss - (win - loss) ** 2) / 4 * np.outer(x, x)
        return out

    gain = field.gain(votes, field.ranking(votes, 0.9))
    before = np.linalg.inv(precision(votes))
    for i in range(0, 60, 7):
        more = votes.copy()
        more[i] += 1
        after, expected = np.linalg.inv(precision(more)), 0.0
        for c in range(5):
            for d in range(c):
                x = np.eye(5)[c] - np.eye(5)[d]
                variance, less = x @ before @ x, x @ after @ x
                z = (believed.merit[c] - believed.merit[d]) / np.sqrt(variance)
                value = adaptive_gain.order_gain(np.array([z]))[0]
                expected += value * (variance - less) / variance
        assert gain[i] == pytest.approx(expected, rel=0.05)  # the gain is per small step


@pytest.mark.parametrize("target", TARGETS)
def test_certain_pairs_stop_and_the_doubtful_go_on(target: str) -> None:
    # Systems 0 and 1 are equals, 2 is far behind both.
    first, second = np.repeat([0, 0, 1], 30), np.repeat([1, 2, 2], 30)
    close = np.tile([[2, 2, 2], [3, 1, 2], [2, 1, 3]], (10, 1))
    counts = np.concatenate([close, np.tile([[6, 0, 0]], (60, 1))])
    plan = plan_votes(counts, first, second, **{**RULES, "budget": 900}, target=target, batch=20)
    assert (
        plan.next_votes[:30].sum() == 20 if target == "label" else plan.next_votes[:30].sum() > 15
    )
    if target == "label":
        assert plan.certain[30:].all() and not plan.certain[:30].any()
        assert plan.saved == 60 * 4  # an equal share is 10 votes, and these had 6
        # A pair whose vote is on its way waits for it.
        held = np.where(np.arange(90) < 25, 1, 0)
        assert (
            not plan_votes(
                counts, first, second, **{**RULES, "budget": 900}, target=target, held=held
            )
            .next_votes[:25]
            .any()
        )
    assert plan.order[0, 2] and not plan.order[0, 1]


def test_collection_ends_when_the_order_is_certain() -> None:
    first, second = np.repeat([0, 0, 1], 30), np.repeat([1, 2, 2], 30)
    counts = np.tile([[4, 1, 1]], (90, 1))
    plan = plan_votes(counts, first, second, **{**RULES, "budget": 900}, target="ranking")
    assert plan.certain.all() and plan.finished
    assert (plan.spent, plan.saved, plan.left) == (540, 360, 360)


def test_systems_that_no_pairs_connect_leave_no_question_open() -> None:
    first, second = np.repeat([0, 2], 40), np.repeat([1, 3], 40)
    counts = np.tile([[4, 1, 1]], (80, 1))  # 0 beats 1 as 2 beats 3; 0 and 2 never met
    plan = plan_votes(counts, first, second, **{**RULES, "budget": 800}, target="ranking")
    assert plan.certain.all() and plan.finished
    assert abs(plan.merit[0] - plan.merit[2]) < 1e-9


def test_votes_of_little_weight_leave_a_pair_in_doubt() -> None:
    data = study(60, 4, 4)
    whole = plan_votes(**data, **RULES, target="label")
    votes = np.full(60, 4)
    weak = plan_votes(
        data["counts"] * 0.2, data["first"], data["second"], **RULES, target="label", votes=votes
    )
    assert weak.spent == whole.spent == 240
    assert weak.posterior.max(axis=1).mean() < whole.posterior.max(axis=1).mean()


def test_the_same_votes_give_the_same_plan() -> None:
    data = study(80, 5, 2)

    def plan(seed: int | None) -> Plan:
        rng = None if seed is None else np.random.default_rng(seed)
        return plan_votes(
            np.zeros((80, 3)),
            data["first"],
            data["second"],
            **RULES,
            rng=rng,
            held=np.ones(80, dtype=int),
        )

    np.testing.assert_array_equal(plan(None).wanted, plan(None).wanted)
    np.testing.assert_array_equal(plan(4).wanted, plan(4).wanted)
    assert (plan(4).wanted != plan(5).wanted).any()


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"floor": 0}, BadParameter, "floor is 0"),
        ({"ceiling": 0}, BadParameter, "ceiling is 0"),
        ({"floor": 3, "ceiling": 2}, BadParameter, "ceiling is 2"),
        ({"certainty": 0.5}, BadParameter, "certainty is 0.5"),
        ({"budget": 5}, BadParameter, "budget is 5; the floor of 1 on 6 pairs takes 6"),
        ({"target": "both"}, BadParameter, "target is 'both'"),
        ({"batch": 0}, BadParameter, "batch is 0"),
        ({"counts": np.ones((6, 2))}, BadShape, "counts is"),
        ({"counts": -np.ones((6, 3))}, BadVector, "row 0 of counts"),
        ({"counts": np.full((6, 3), 0.5)}, BadParameter, "votes is missing"),
        ({"neutral": False}, BadVector, "row 0 of counts has neutral votes"),
        ({"held": [1, 2]}, BadShape, "held must be 6"),
        ({"held": [0, 0, 0, -1, 0, 0]}, BadVector, r"held\[3\]"),
        ({"first": [0, 1]}, BadShape, "counts has 6 rows"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(
    change: dict[str, Any], error: type[Exception], words: str
) -> None:
    case = {"counts": np.ones((6, 3)), "first": [0] * 6, "second": [1] * 6, **RULES}
    with pytest.raises(error, match=words):
        plan_votes(**{**case, **change})
