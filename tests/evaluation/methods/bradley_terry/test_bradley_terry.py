"""Bradley-Terry: published examples, second implementations, recovery, and what must not matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import t

from evaluation.methods.bradley_terry import cells as bt_units
from evaluation.methods.bradley_terry import intervals as bt_sandwich
from evaluation.methods.bradley_terry import method as bt
from evaluation.methods.bradley_terry import ties as bt_ties
from evaluation.methods.bradley_terry.cells import cells_of
from evaluation.methods.bradley_terry.fit import (
    Model,
    dense_blocks,
    derivatives,
    log_likelihood_terms,
    maximise,
)
from evaluation.methods.bradley_terry.grades import by_table
from evaluation.methods.core.base import (
    BadParameter,
    FloatArray,
    Result,
)
from evaluation.methods.core.votes import FIRST, SECOND, TIE, Pairs
from tests.evaluation.methods.named import pairs_from_names
from tests.studies.ranking_coverage import held, uneven

# Citations among four journals (Stigler 1994; Agresti 2002): wins of the first, of the second.
CITATIONS = {
    (0, 1): (730, 33),
    (0, 2): (498, 320),
    (0, 3): (221, 284),
    (1, 2): (68, 813),
    (1, 3): (17, 276),
    (2, 3): (142, 325),
}
# Baseball 1987 (Agresti 2002, table 10.10): a row a home team, wins at home and away by guest.
BASEBALL = """Mil Det43 Tor42 NY43 Bos61 Cle42 Bal60
Det Mil33 Tor42 NY43 Bos60 Cle61 Bal43
Tor Mil25 Det43 NY24 Bos43 Cle42 Bal60
NY Mil33 Det51 Tor25 Bos43 Cle42 Bal61
Bos Mil51 Det25 Tor33 NY42 Cle52 Bal60
Cle Mil25 Det33 Tor34 NY43 Bos42 Bal24
Bal Mil25 Det15 Tor16 NY24 Bos16 Cle34"""


def fit(data: Pairs, **params: Any) -> Result:
    return bt.fit(data, rng=np.random.default_rng(0), **{"resamples": 0, **params})


def crowd(seed: int, votes: int = 400, k: int = 6, *, judges: int = 0) -> Pairs:
    """Random votes with ties and sides; merits from -1 to 1, side .4, Davidson's nu .6."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, k, votes)
    second = (first + rng.integers(1, k, votes)) % k
    left = rng.choice([-1, 1], votes)
    merit = np.linspace(-1, 1, k)
    win, tie, _ = bt_ties.probabilities(
        "davidson", merit[first] - merit[second] + 0.4 * left, float(np.log(0.6))
    )
    u = rng.random(votes)
    return Pairs.build(
        first,
        second,
        np.where(u < win, FIRST, np.where(u < win + tie, TIE, SECOND)),
        players=[f"p{i}" for i in range(k)],
        left=left,
        judge=rng.integers(0, judges, votes) if judges else None,
        judges=[f"j{i}" for i in range(judges)],
    )


def test_the_published_merits_of_journals_come_out_with_their_standard_errors() -> None:
    rows = [(a, b, y, n[y // 2]) for (a, b), n in CITATIONS.items() for y in (FIRST, SECOND)]
    a, b, y, n = zip(*rows, strict=True)
    data = Pairs.build(a, b, y, players=["Biometrika", "CommStat", "JASA", "JRSS-B"], weight=n)
    merit = fit(data, regularisation=0.0).estimates["player"]["estimate"]
    assert merit - merit[0] == pytest.approx([0, -2.94907, -0.47957, 0.26895], abs=5e-6)
    cells, model = cells_of(data, side=False), Model("none", 0.0)
    point = maximise(cells, model).point
    _, curvature = derivatives(cells, model, point, log_likelihood_terms(cells, model, point)[0])
    inverse = np.linalg.inv(cells.layout.blocks(dense_blocks(cells, curvature))[0][0])
    error = np.sqrt(np.diag(inverse) + inverse[0, 0] - 2 * inverse[0])
    assert error == pytest.approx([0, 0.10255, 0.06059, 0.07083], abs=5e-6)


def test_the_published_home_advantage_comes_out() -> None:
    home, away, outcome, wins = [], [], [], []
    for line in BASEBALL.splitlines():
        team, *games = line.split()
        for game in games:
            for result, count in ((FIRST, int(game[-2])), (SECOND, int(game[-1]))):
                if count:
                    home.append(team)
                    away.append(game[:-2])
                    outcome.append(result)
                    wins.append(count)
    data = pairs_from_names(home, away, outcome, left=[1] * len(home), weight=wins)
    found = fit(data, regularisation=0.0, side=True).estimates
    merit = found["player"]["estimate"] - found["player"]["estimate"][0]
    assert data.players == ("Bal", "Bos", "Cle", "Det", "Mil", "NY", "Tor")
    published = [0, 1.1438, 0.7047, 1.4754, 1.6196, 1.2813, 1.3271]
    assert merit == pytest.approx(published, abs=5e-5)
    assert found["shared"].rows()[0]["estimate"] == pytest.approx(0.3023, abs=5e-5)


def test_merits_agree_with_choix() -> None:
    choix = pytest.importorskip("choix")
    data = crowd(1)
    rows = np.flatnonzero(data.outcome != TIE)
    decided = data.take(rows)
    won = [
        (a, b) if y == FIRST else (b, a)
        for a, b, y, n in zip(
            decided.first, decided.second, decided.outcome, decided.weight, strict=True
        )
        for _ in range(int(n))
    ]
    theirs = choix.opt_pairwise(6, won, alpha=0.0, tol=1e-10)
    ours = fit(decided, ties="none", regularisation=0.0).estimates["player"]["estimate"]
    assert ours == pytest.approx(theirs - theirs.mean(), abs=1e-6)


def plain_likelihood(data: Pairs, ties: str, r: float) -> Any:
    """Minus the penalised log-likelihood of (merits, side, tie), straight from the formulas."""

    def loss(at: FloatArray) -> float:
        merit, side, tie = at[:-2], at[-2], at[-1]
        one, two = np.exp(merit[data.first] + side * data.left), np.exp(merit[data.second])
        if ties == "davidson":
            even = np.exp(tie) * np.sqrt(one * two)
            shares = np.stack([one, even, two]) / (one + even + two)
        else:
            theta = np.exp(tie)
            win, lose = one / (one + theta * two), two / (two + theta * one)
            shares = np.stack([win, 1 - win - lose, lose])
        held = np.exp(at[:-1])
        dummy = np.log(held / (1 + held)) + np.log(1 / (1 + held))
        seen = np.log(shares[data.outcome, np.arange(len(data))])
        return float(-(data.weight * seen).sum() - r * dummy.sum())

    return loss


@pytest.mark.parametrize("ties", ["davidson", "rao_kupper"])
def test_ties_and_sides_agree_with_a_plain_optimiser(ties: str) -> None:
    data = crowd(2)
    theirs = minimize(
        plain_likelihood(data, ties, 0.2), np.r_[np.zeros(7), 0.5], method="BFGS", tol=1e-7
    )
    found = fit(data, ties=ties, side=True, regularisation=0.2)
    merit = theirs.x[:6] - theirs.x[:6].mean()
    assert found.converged
    assert found.estimates["player"]["estimate"] == pytest.approx(merit, abs=2e-5)
    assert found.estimates["shared"]["name"].tolist() == ["side", "tie"]
    assert found.estimates["shared"]["estimate"] == pytest.approx(theirs.x[6:], abs=2e-5)
    assert found.diagnostics["objective"] >= -theirs.fun - 1e-9


def numeric_hessian(loss: Any, at: FloatArray, h: float = 1e-3) -> FloatArray:
    n = len(at)
    steps = np.eye(n) * h
    return np.array(
        [
            [
                (loss(at + a + b) - loss(at + a - b) - loss(at - a + b) + loss(at - a - b))
                / (4 * h * h)
                for b in steps
            ]
            for a in steps
        ]
    )


@pytest.mark.parametrize("cluster", ["none", "judge", "pair"])
@pytest.mark.parametrize("ties", ["davidson", "rao_kupper"])
def test_standard_errors_are_those_of_a_sandwich_made_by_hand(ties: str, cluster: str) -> None:
    data, k = crowd(3, 150, 5, judges=12), 5
    found = fit(data, ties=ties, side=True, cluster=cluster)
    at = np.concatenate([found.estimates[t]["estimate"] for t in ("player", "shared")])
    cells = cells_of(data, side=True)  # the same point before centring
    raw = maximise(cells, Model(ties, 0.2, side=True)).point
    at[:k] = raw.merit
    bread = np.linalg.inv(numeric_hessian(plain_likelihood(data, ties, 0.2), at))
    scores = []
    for row in range(len(data)):
        loss = plain_likelihood(data.take(np.array([row])), ties, 0.0)
        scores.append([(loss(at + e) - loss(at - e)) / 2e-5 for e in np.eye(k + 2) * 1e-5])
    own = np.array(scores)
    groups = {"judge": data.judge, "pair": data.first * k + data.second}
    if cluster == "none":
        meat = own.T @ (own / data.weight[:, None])
        n = np.bincount(np.concatenate([data.first, data.second]), np.tile(data.weight, 2))
        wide = n / (n - 1)
    else:
        label, wide = groups[cluster], np.ones(k)
        met = (data.first == np.arange(k)[:, None]) | (data.second == np.arange(k)[:, None])
        for row in range(len(data)):  # CR2: by the share that its cluster has of the votes
            mine = data.weight * (label == label[row])
            parts = [
                mine[met[p]].sum() / data.weight[met[p]].sum() for p in np.flatnonzero(met[:, row])
            ]
            own[row, :k] /= np.sqrt(1 - np.mean(parts))
            own[row, k:] /= np.sqrt(1 - mine.sum() / data.weight.sum())
        meat = sum(np.outer(s, s) for s in (own[label == g].sum(axis=0) for g in set(label)))
    chance = 1 / (1 + np.exp(-at))
    held = 0.2 * (chance**2 + (1 - chance) ** 2)
    meat = meat + np.diag(np.where(np.arange(k + 2) == k + 1, 0.0, held))
    centre = np.eye(k + 2)
    centre[:k, :k] -= 1 / k
    cov = centre @ bread @ meat @ bread @ centre.T
    theirs = np.sqrt(np.diag(cov)[:k] * wide)
    assert found.estimates["player"]["se"] == pytest.approx(theirs, rel=2e-3)


@pytest.mark.parametrize("cluster", ["none", "judge", "pair"])
def test_large_data_take_another_road_to_the_same_standard_errors(
    cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = crowd(11, 90, 5, judges=12)
    plain = fit(data, side=True, cluster=cluster).estimates
    monkeypatch.setattr(bt_sandwich, "DENSE", 0)
    monkeypatch.setattr(bt_units, "SUMS", 0)
    other = fit(data, side=True, cluster=cluster).estimates
    for table in ("player", "shared"):
        assert other[table]["low"] == pytest.approx(plain[table]["low"], abs=1e-10)


def test_planted_merits_sides_and_ties_are_found_again() -> None:
    found = fit(crowd(4, 40_000), side=True).estimates
    assert found["player"]["estimate"] == pytest.approx(np.linspace(-1, 1, 6), abs=0.06)
    assert found["player"]["rank"].tolist() == [6, 5, 4, 3, 2, 1]
    assert found["shared"]["estimate"] == pytest.approx([0.4, np.log(0.6)], abs=0.06)


def test_a_weighted_bootstrap_gives_about_the_intervals_of_the_sandwich() -> None:
    data = crowd(5, 600, judges=40)
    for cluster in ("none", "judge"):
        one = fit(data, cluster=cluster, side=True)
        two = fit(data, cluster=cluster, side=True, interval="bootstrap", resamples=200)
        for table in ("player", "shared"):
            first, second = one.estimates[table], two.estimates[table]
            assert first["se"] == pytest.approx(second["se"], rel=0.2)
            assert first["low"] == pytest.approx(second["low"], abs=0.12)


@pytest.mark.parametrize(("judges", "zipf"), [(30, 2.0), (12, 1.5), (30, 1.5), (100, 1.5)])
def test_judges_of_whom_a_few_do_most_do_not_separate_equal_systems(
    judges: int, zipf: float
) -> None:
    covered, apart, _ = held(judges, zipf, 120)
    assert covered >= 0.92 and apart <= 0.05


@pytest.mark.long
@pytest.mark.parametrize(
    ("judges", "zipf"), [(30, 0.0), (12, 0.0), (30, 1.0), (30, 2.0), (12, 1.5), (100, 1.5)]
)
def test_intervals_of_uneven_judges_hold_what_they_claim(judges: int, zipf: float) -> None:
    """At .95, simulation error .004 a merit and .007 a board."""
    covered, apart, _ = held(judges, zipf, 1000)
    assert covered >= 0.935 and apart <= 0.065


@pytest.mark.long
@pytest.mark.parametrize(("judges", "zipf"), [(30, 0.0), (12, 1.5), (100, 1.5)])
def test_bootstraps_of_uneven_judges_hold_what_they_claim(judges: int, zipf: float) -> None:
    """At .95, simulation error .012 a merit and .02 a board."""
    covered, apart, _ = held(judges, zipf, 100, interval="bootstrap")
    assert covered >= 0.92 and apart <= 0.09


def test_intervals_of_evenly_busy_judges_stay_as_wide_as_they_were() -> None:
    for judges in (12, 30, 100):
        ratios = []
        for seed in range(10):
            data = uneven(seed, judges, 0.0)
            found = fit(data, cluster="judge").estimates["player"]
            cells = cells_of(data, side=False)
            at = maximise(cells, Model("davidson", 0.2, side=False)).point
            units = bt_units.units_of(data, cells, "judge")
            rng = np.random.default_rng(0)
            plain = bt_sandwich.sandwich(cells, Model("davidson", 0.2, side=False), at, units, rng)
            before = np.sqrt(plain.variance * judges / (judges - 1)) * t.isf(0.025, judges - 1)
            ratios.append((found["high"] - found["low"]) / 2 / before)
        assert 1 <= np.mean(ratios) <= 1.03


def test_votes_of_effectively_fewer_than_three_judges_have_no_interval_and_it_is_said_why() -> None:
    found = fit(uneven(1, 30, 3.0), cluster="judge", resamples=100)
    table = found.estimates["player"]
    assert (table["effective"] < 3).all() and (table["units"] >= 5).all()
    assert np.isnan(table["low"]).all() and np.isfinite(table["se"]).all()
    assert (table["rank_low"] == 1).all() and (table["rank_high"] == 4).all()
    assert any("an interval needs 3" in note for note in found.diagnostics["notes"])


def test_votes_on_fewer_than_five_pairs_are_not_clustered_by_pair() -> None:
    with pytest.raises(bt.TooFewPairs):
        fit(crowd(1, 200, 3), cluster="pair")
    assert fit(crowd(1, 200, 4), cluster="pair").converged


@pytest.mark.parametrize(("won", "lost"), [(2_000_000, 2), (2_000_000, 0)])
def test_a_million_wins_to_one_loss_have_a_merit(won: int, lost: int) -> None:
    outcomes = [FIRST] * bool(won) + [SECOND] * bool(lost)
    data = Pairs.build(
        [0] * len(outcomes),
        [1] * len(outcomes),
        outcomes,
        players=["a", "b"],
        weight=[float(n) for n in (won, lost) if n],
    )
    found = fit(data, resamples=100).estimates["player"]
    assert found["rank_high"].tolist() == [1, 2] and found["low"][0] > 0


def test_a_judge_who_repeats_itself_counts_once() -> None:
    data = crowd(6, 200, judges=200)
    again = Pairs.build(
        data.first,
        data.second,
        data.outcome,
        players=data.players,
        left=data.left,
        judge=data.judge,
        judges=data.judges,
        weight=data.weight * 9,
    )
    once, nine = (fit(d, cluster="judge", regularisation=0.01) for d in (data, again))
    naive = fit(again, cluster="none", regularisation=0.01)
    se = [found.estimates["player"]["se"] for found in (once, nine, naive)]
    assert se[1] == pytest.approx(se[0], rel=0.02)
    assert (se[2] < 0.4 * se[1]).all()


votes = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(0, 2), st.sampled_from([-1, 1])),
    min_size=4,
    max_size=30,
)


@settings(max_examples=40, deadline=None)
@given(votes, st.permutations(range(4)), st.randoms(use_true_random=False))
def test_order_names_and_repeats_of_votes_do_not_matter(
    rows: list[Any], names: list[int], random: Any
) -> None:
    rows = [*rows, (0, 1, FIRST, 1), (1, 1, SECOND, -1)]
    a, step, y, left = (np.array(column) for column in zip(*rows, strict=True))
    b = (a + step) % 4
    players = ["p0", "p1", "p2", "p3"]
    plain = fit(Pairs.build(a, b, y, players=players, left=left))
    table = plain.estimates["player"]
    order = list(range(len(a)))
    random.shuffle(order)
    new = np.array(names)
    moved = Pairs.build(new[a][order], new[b][order], y[order], players=players, left=left[order])
    other = fit(moved).estimates["player"]
    for column in ("estimate", "se", "low", "rank", "n"):
        assert other[column][new] == pytest.approx(table[column], abs=1e-6, nan_ok=True)
    twice = fit(
        Pairs.build(*(np.tile(x, 2) for x in (a, b, y)), players=players, left=np.tile(left, 2))
    )
    heavy = fit(Pairs.build(a, b, y, players=players, left=left, weight=np.full(len(a), 2.0)))
    for column in ("estimate", "se", "high"):
        same = heavy.estimates["player"][column]
        assert twice.estimates["player"][column] == pytest.approx(same, abs=1e-9, nan_ok=True)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_flipping_display_and_vote_together_changes_nothing_but_the_side(seed: int) -> None:
    data = crowd(seed, 60, 4)
    turned = Pairs.build(
        data.second,
        data.first,
        SECOND - data.outcome,
        players=data.players,
        left=-data.left,
        weight=data.weight,
    )
    swapped = Pairs.build(
        data.first,
        data.second,
        data.outcome,
        players=data.players,
        left=-data.left,
        weight=data.weight,
    )
    one, two, three = (fit(d, side=True).estimates for d in (data, turned, swapped))
    assert two["player"].rows() == one["player"].rows()
    assert three["player"]["estimate"] == pytest.approx(one["player"]["estimate"], abs=1e-7)
    assert three["shared"]["estimate"] == pytest.approx(
        one["shared"]["estimate"] * [-1, 1], abs=1e-7
    )


def test_groups_that_never_met_get_boards_of_their_own_and_are_named() -> None:
    data = Pairs.build(
        [0, 0, 1, 3, 3], [1, 1, 2, 4, 4], [0, 2, 1, 0, 0], players="abcdef", left=[1] * 5
    )
    found = fit(data, resamples=200)
    table = found.estimates["player"]
    assert table["component"].tolist() == [1, 1, 1, 2, 2, 0]
    assert table["rank"].tolist() == [1, 1, 1, 1, 2, 0]
    assert table["rank_high"].tolist() == [3, 3, 3, 2, 2, 0]
    assert np.isfinite(table["estimate"][:5]).all() and np.isfinite(table["se"][:5]).all()
    assert found.diagnostics["component_players"] == [["a", "b", "c"], ["d", "e"]]
    assert found.diagnostics["not_scored"] == ["f"]
    assert len(found.diagnostics["notes"]) == 2


def test_clear_leads_are_separated_and_thin_ones_are_not() -> None:
    clear = fit(crowd(7, 30_000), resamples=500).estimates["player"]
    assert clear["rank_low"].tolist() == clear["rank_high"].tolist() == [6, 5, 4, 3, 2, 1]
    thin = fit(crowd(7, 30), resamples=500).estimates["player"]
    assert (thin["rank_low"] <= thin["rank"]).all() and (thin["rank"] <= thin["rank_high"]).all()
    assert (thin["rank_high"] - thin["rank_low"]).max() >= 4


def test_many_small_tables_are_fitted_as_each_alone() -> None:
    rng = np.random.default_rng(8)
    table, a = rng.integers(0, 12, 400), rng.integers(0, 5, 400)
    b, y = (a + rng.integers(1, 5, 400)) % 5, rng.integers(0, 3, 400)
    small = by_table(a, b, y, table, players=5, tables=12)
    found = fit(small.data, ties="none").estimates["player"]
    rows = {**found.columns, "table": small.table, "player": small.player}
    for number in range(12):
        here = table == number
        alone = fit(Pairs.build(a[here], b[here], y[here], players="vwxyz"), ties="none")
        at = rows["table"] == number
        player = rows["player"][at]
        for column in ("estimate", "se", "rank"):
            expected = alone.estimates["player"][column][player]
            assert rows[column][at] == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(
    ("rows", "params", "error", "said"),
    [
        ([(0, 1, TIE), (1, 2, TIE)], {}, bt.AllTied, "all 2 comparisons are ties"),
        (
            [(0, 1, 0), (0, 1, 0), (0, 2, 0), (1, 2, 0), (1, 2, 2)],
            {"regularisation": 0.0},
            bt.Unbounded,
            "a only won",
        ),
        ([(0, 1, 0)], {"side": True}, bt.NoSides, "left"),
        ([(0, 1, 0)], {"ties": "elo"}, BadParameter, "ties"),
        ([(0, 1, 0)], {"regularisation": -1}, BadParameter, "regularisation"),
        ([(0, 1, 0)], {"level": 1.0}, BadParameter, "level"),
        ([(0, 1, 0)], {"resamples": 50}, BadParameter, "resamples"),
        ([(0, 1, 0)], {"cluster": "town"}, BadParameter, "cluster"),
        ([(0, 1, 0)], {"tides": 1}, BadParameter, "tides"),
    ],
)
def test_what_cannot_be_ranked_is_refused_by_name(
    rows: list[Any], params: dict[str, Any], error: type[Exception], said: str
) -> None:
    a, b, y = zip(*rows, strict=True)
    with pytest.raises(error, match=said):
        fit(Pairs.build(a, b, y, players="abc"), **params)


def test_a_side_that_always_goes_with_the_same_candidate_is_refused() -> None:
    a, b, y = [0, 0, 0, 1, 1, 1], [1, 1, 1, 2, 2, 2], [0, 1, 2, 0, 1, 2]
    with pytest.raises(bt.NoSides, match="always"):
        fit(Pairs.build(a, b, y, players="abc", left=[1] * 6), side=True)


def test_a_candidate_that_won_everything_is_first_but_not_exactly_known() -> None:
    a, b, y = [0, 0, 0, 0, 1, 1, 2, 2], [1, 1, 2, 2, 2, 2, 1, 1], [0, 0, 0, 0, 0, 2, 0, 2]
    table = fit(Pairs.build(a, b, y, players="abc"), resamples=200).estimates["player"]
    assert table["rank"].tolist() == [1, 2, 2]
    assert table["se"][0] > 0.5
    assert table["rank_high"][0] > 1


ONE_WAY: list[tuple[dict[str, Any], Pairs]] = [
    # The left always wins; a wins but for a trace of a vote; every other game of a pair is a tie.
    (
        {"side": True},
        Pairs.build([0, 1, 0, 1], [1, 0, 1, 0], [0] * 4, players="ab", left=[1, 1, 1, 1]),
    ),
    (
        {"interval": "bootstrap", "resamples": 100},
        Pairs.build([0, 1, 1], [1, 0, 2], [0, 0, 1], players="abc", weight=[5.0, 1e-12, 3.0]),
    ),
    (
        {"side": True, "ties": "rao_kupper"},
        Pairs.build([0, 0, 1], [1, 1, 0], [0, 1, 0], players="ab", left=[1, -1, 1]),
    ),
]


@pytest.mark.parametrize(("params", "data"), ONE_WAY)
def test_without_a_finite_fit_it_is_said_what_to_do_and_no_matrix_is_named(
    params: dict[str, Any], data: Pairs
) -> None:
    with pytest.raises(bt.Unbounded, match=r"set regularisation to 0\.2 or more"):
        fit(data, regularisation=0.0, **params)
    assert fit(data, **{**params, "regularisation": 0.2}).converged


def test_intervals_between_fewer_than_five_judges_are_refused_and_from_five_on_given() -> None:
    for judges in (1, 2, 4):
        with pytest.raises(bt.TooFewJudges, match=f"{judges} judges.*need 5 or more"):
            fit(crowd(3, judges=judges), cluster="judge")
    assert np.isfinite(fit(crowd(3, judges=5), cluster="judge").estimates["player"]["low"]).all()
    # Votes that name no judge stand for themselves.
    assert np.isfinite(fit(crowd(3), cluster="judge").estimates["player"]["low"]).all()
