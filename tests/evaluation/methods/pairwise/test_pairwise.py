"""A pairwise study comes out right: symmetric, unmoved by machines, true to what was planted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.methods.agreement import coefficients as agreement
from evaluation.methods.bradley_terry import method as bradley_terry
from evaluation.methods.competence.mace import method as mace
from evaluation.methods.core.base import BadParameter, Cancelled, Hooks, Result, Table
from evaluation.methods.core.votes import Pairs
from evaluation.methods.pairwise import method as pairwise
from evaluation.methods.pairwise.boards import boards
from evaluation.methods.pairwise.judgments import MISSING, Judgments, ShownVotes
from evaluation.methods.pairwise.tables import EVERY
from tests.evaluation.methods.pairwise.studies import RNG, auc, study, turned

FAST = {"restarts": 3, "draws": 0, "resamples": 100}
MACHINES = {"judge", "judge_pair"}


def scored(data: Judgments, **params: Any) -> Result:
    return pairwise.fit(data, rng=RNG(7), **{**FAST, **params})


def rows_of(table: Table, dimension: int = EVERY) -> Table:
    use = table["dimension"] == dimension
    return Table({name: column[use] for name, column in table.columns.items()})


def same(one: Table, two: Table, *, but: tuple[str, ...] = ()) -> None:
    assert list(one.columns) == list(two.columns)
    for name, column in one.columns.items():
        if name in but:
            continue
        if np.issubdtype(column.dtype, np.floating):
            np.testing.assert_allclose(column, two[name], rtol=1e-6, atol=1e-8, err_msg=name)
        else:
            assert column.tolist() == two[name].tolist(), name


@settings(max_examples=2, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    pooled=st.booleans(),
    forced=st.booleans(),
    rank_by=st.sampled_from(["votes", "competence"]),
    side=st.sampled_from([-0.4, 0.0, 0.5]),
)
def test_turning_every_display_and_vote_changes_nothing_but_the_sign_of_side_effects(
    seed: int, pooled: bool, forced: bool, rank_by: str, side: float
) -> None:
    data = study(RNG(seed), topics=5, side=side, forced=forced, guessers=3, lefts=2, machines=1)
    other = replace(data, votes=turned(data.votes))
    one, two = (scored(d, pooled=pooled, rank_by=rank_by).estimates for d in (data, other))
    mirrored = {"shared", "side", "worker", "within_item"}
    for name in set(one) - mirrored:
        same(one[name], two[name])
    same(one["worker"], two["worker"], but=("guess_left", "guess_right"))
    np.testing.assert_allclose(one["worker"]["guess_left"], two["worker"]["guess_right"])
    same(one["within_item"], two["within_item"], but=("forward", "backward"))
    np.testing.assert_allclose(one["within_item"]["forward"], two["within_item"]["backward"])
    assert one["side"]["right"] == pytest.approx(1 - two["side"]["right"])
    assert one["side"]["low"] == pytest.approx(1 - two["side"]["high"])
    for row, turn in zip(one["shared"].rows(), two["shared"].rows(), strict=True):
        sign = -1 if row["name"] == "side" else 1
        assert turn["estimate"] == pytest.approx(sign * row["estimate"], abs=1e-7)
        assert turn["se"] == pytest.approx(row["se"])


@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 10**6), share=st.floats(0.05, 0.95))
def test_turning_some_displays_with_their_votes_leaves_alpha_wins_and_repeats(
    seed: int, share: float
) -> None:
    """Whose guessing is a habit of the hand may then look otherwise, but not what was said."""
    data = study(RNG(seed), topics=5)
    other = replace(data, votes=turned(data.votes, RNG(seed).random(len(data)) < share))
    one, two = (scored(d).estimates for d in (data, other))
    for name in ("agreement", "win", "drift", "person", "repeat"):
        same(one[name], two[name])
    same(one["straight"], two["straight"], but=("chance",))  # of the labels as displayed


def test_machines_never_change_what_is_said_of_people() -> None:
    data = study(RNG(1), machines=2)
    one, two = scored(data).estimates, scored(replace(data, machine=None)).estimates
    assert len(one["judge"]) == 2 * 3 and not len(two["judge"]) and not len(two["judge_pair"])
    for name in set(one) - MACHINES:
        same(one[name], two[name])


def test_a_repeat_counts_for_consistency_and_for_nothing_else_of_competence_and_rank() -> None:
    data = study(RNG(2), workers=8)
    votes = data.votes
    again = turned(votes.take(np.flatnonzero(votes.worker < 4)[::3]))
    changed = again.vote.copy()
    changed[::4, 0] = (changed[::4, 0] + 1) % 3
    joined = {
        name: np.concatenate([getattr(votes, name), getattr(again, name)])
        for name in ("worker", "pair", "flipped", "position", "sides_known", "order_known")
    }
    both = replace(votes, **joined, vote=np.concatenate([votes.vote, changed]))
    one, two = scored(data).estimates, scored(replace(data, votes=both)).estimates
    for name in ("worker", "label", "system", "win", "candidate", "agreement", "grade_mean"):
        same(one[name], two[name])
    assert not len(one["repeat"])
    found = rows_of(two["repeat"], 0).rows()[0]
    assert found["n"] == len(again)
    assert found["same"] == pytest.approx(1 - len(changed[::4]) / len(again))
    assert rows_of(two["repeat"], 1)["same"].tolist() == [1.0]
    assert found["chance"] < found["same"] and found["workers"] == 4
    assert two["repeat_worker"]["n"].sum() == 2 * len(again)


def test_spammers_come_last_the_order_of_systems_and_their_habit_are_recovered() -> None:
    merits = (1.0, 0.4, 0.0, -0.5, -1.0)
    data = study(
        RNG(3),
        merits=merits,
        topics=40,
        workers=60,
        votes=5,
        side=-0.3,
        guessers=9,
        lefts=3,
        dimensions=2,
        sharpness=3.0,
    )
    found = scored(data, restarts=4)
    worker, system = rows_of(found.estimates["worker"]), rows_of(found.estimates["system"])
    bad = np.arange(60) < 12
    assert auc(worker["competence"], bad) >= 0.95
    assert (worker["guess_left"][9:12] > 0.6).all() and worker["guess_left"][12:].mean() < 0.45
    assert system["rank"].tolist() == [1, 2, 3, 4, 5]
    assert (system["rank_low"] <= system["rank"]).all()
    assert rows_of(found.estimates["grade_mean"])["grade"].tolist() == sorted(
        rows_of(found.estimates["grade_mean"])["grade"], reverse=True
    )
    shared = rows_of(found.estimates["shared"]).rows()
    # Those who always click left pull against the others, who favour the right.
    honest = scored(data.without_workers(range(12)), restarts=4).estimates
    honest_side = rows_of(honest["shared"]).rows()[0]
    assert honest_side["name"] == "side" and honest_side["high"] < 0
    assert honest_side["estimate"] < shared[0]["estimate"]
    by_competence = scored(data, restarts=4, rank_by="competence").estimates["system"]
    spread = [np.ptp(rows_of(table)["estimate"]) for table in (system_of(found), by_competence)]
    assert spread[1] > spread[0]  # noise of spammers weighs less


def system_of(found: Result) -> Table:
    return found.estimates["system"]


@pytest.mark.long
def test_intervals_of_systems_cover_over_other_topics_texts_and_workers() -> None:
    """Equal systems: the truth is 0. Clustering by pair alone would cover far too seldom."""
    held, width, plain = [], [], []
    chosen = {**pairwise.DEFAULTS, "resamples": 100}
    for seed in range(60):
        data = study(
            RNG(seed),
            merits=(0.0,) * 4,
            topics=16,
            workers=24,
            dimensions=1,
            text_sd=1.0,
            taste=0.5,
            side=-0.2,
        )
        people = data.votes.first_votes()
        table = boards(data, people, None, chosen, rng=RNG(0), hooks=Hooks()).system
        table = rows_of(table, 0)
        held.append((table["low"] <= 0) & (table["high"] >= 0))
        width.append(table["se"].mean())
        pairs = compared(data, people, people.pair)
        by_pair = bradley_terry.fit(pairs, rng=RNG(0), side=True, cluster="judge", resamples=0)
        one = by_pair.estimates["player"]
        plain.append((one["low"] <= 0) & (one["high"] >= 0))
    assert 0.9 <= np.mean(held) <= 0.99
    assert np.mean(plain) < 0.85


def compared(data: Judgments, people: ShownVotes, unit: Any) -> Pairs:
    return Pairs.build(
        data.system[data.first[people.pair]],
        data.system[data.second[people.pair]],
        people.canonical()[:, 0],
        players=data.systems,
        left=np.where(people.flipped, -1, 1),
        judge=unit,
        judges=[str(k) for k in range(int(np.max(unit)) + 1)],
    )


def test_systems_equal_a_bradley_terry_fit_and_one_vote_a_worker_leaves_topics_as_clusters() -> (
    None
):
    data = study(RNG(4), topics=12)
    people = data.votes.first_votes()
    # A worker of their own for every vote: nothing is left to cluster by worker.
    alone = replace(
        people, worker=np.arange(len(people)), workers=tuple(f"v{k}" for k in range(len(people)))
    )
    chosen = {**pairwise.DEFAULTS, "resamples": 100}
    found = boards(data, alone, None, chosen, rng=RNG(0), hooks=Hooks())
    topic = data.topic[data.first][people.pair]
    wanted = bradley_terry.fit(
        compared(data, people, topic), rng=RNG(0), side=True, cluster="judge", resamples=0
    ).estimates
    for name in ("estimate", "se", "low", "high", "rank"):
        assert rows_of(found.system, 0)[name] == pytest.approx(wanted["player"][name]), name
    assert rows_of(found.shared, 0)["se"] == pytest.approx(wanted["shared"]["se"])
    assert found.clusters["d0"] == "topic and worker"


def test_gold_labels_are_those_of_mace_on_canonical_pairs() -> None:
    data = study(RNG(5), topics=20, forced=True, guessers=2)
    found = scored(data, restarts=10)
    people = data.votes.first_votes()
    for k, labels in ((0, data.labels(people, 0)), (1, data.labels(people, 1))):
        alike: dict[str, Any] = {
            "restarts": 10,
            "resamples": 0,
            "prevalence": "uniform",
            "noise": 0.5,
        }
        own = mace.fit(labels, rng=RNG(0), **alike).estimates["item"]
        table = rows_of(found.estimates["label"], k)
        codes = own["label"] * (2 if k else 1)
        assert (table["label"] == codes).mean() > 0.98
        for name in ("majority", "dawid_skene"):
            beside = np.where(own[name] < 0, -1, own[name] * (2 if k else 1))
            assert table[name].tolist() == beside.tolist()
        chance = np.stack([table[f"p_{code}"] for code in ("first", "neutral", "second")], axis=1)
        assert chance.sum(axis=1) == pytest.approx(1.0)
        assert (chance.argmax(axis=1) == table["label"]).all()
    assert (rows_of(found.estimates["label"], 1)["p_neutral"] == 0).all()
    pooled = scored(data, pooled=True).estimates
    assert set(pooled["worker"]["dimension"]) == {EVERY}
    assert (rows_of(pooled["label"], 1)["p_neutral"] == 0).all()


def test_alpha_is_krippendorffs_of_first_votes_and_its_mean_has_an_interval() -> None:
    data = study(RNG(6), forced=True, topics=16)
    table = scored(data).estimates["agreement"]
    people = data.votes.first_votes()
    wanted = [agreement.krippendorff_alpha(data.labels(people, k), "ordinal") for k in (0, 1)]
    assert table["alpha"].tolist() == pytest.approx([np.mean(wanted), *wanted])
    assert (table["low"] < table["alpha"]).all() and (table["alpha"] < table["high"]).all()
    assert (
        table["high"][0] - table["low"][0]
        < np.diff([table["low"][1:], table["high"][1:]], axis=0).max()
    )


def test_wins_are_counted_between_systems_in_their_order() -> None:
    data = study(RNG(8), dimensions=1)
    table = rows_of(scored(data).estimates["win"], 0).rows()
    people, vote = data.votes.first_votes(), data.votes.first_votes().canonical()[:, 0]
    a, b = data.system[data.first][people.pair], data.system[data.second][people.pair]
    for row in table:
        mine = vote[(a == row["system_a"]) & (b == row["system_b"])]
        assert [row[x] for x in ("wins", "ties", "losses")] == np.bincount(
            mine, minlength=3
        ).tolist()
    assert sum(row["wins"] + row["ties"] + row["losses"] for row in table) == len(people)


def test_texts_that_no_gold_label_connects_are_graded_apart_and_left_out_of_means() -> None:
    data = study(RNG(9), merits=(1.0, 0.5, -0.5, -1.0), topics=4, dimensions=1)
    # In the first topic only texts 0-1 and 2-3 are compared.
    couples = {(0, 1), (2, 3)}
    ends = list(zip(data.first.tolist(), data.second.tolist(), strict=True))
    gone = [i for i, end in enumerate(ends) if max(end) < 4 and end not in couples]
    cut = data.take(~np.isin(data.votes.pair, gone))
    found = scored(cut)
    texts = rows_of(found.estimates["candidate"], 0)
    first = texts["topic"] == 0
    assert texts["component"][first].tolist() == [1, 1, 2, 2]
    assert texts["of"][first].tolist() == [2] * 4 and (texts["of"][~first] == 4).all()
    assert texts["grade"][first].max() <= 2
    assert (rows_of(found.estimates["grade_mean"], 0)["n"] == 3).all()
    assert any("left out of the mean grades" in said for said in found.diagnostics["warnings"])
    whole = rows_of(scored(data).estimates["candidate"], 0)
    assert (whole["grade_low"] <= whole["grade"]).all()
    by_topic = np.bincount(whole["topic"], whole["grade"])
    assert by_topic.tolist() == [10.0] * 4  # 1 + 2 + 3 + 4, whatever is shared


def test_a_model_is_held_against_people_in_the_right_direction() -> None:
    data = study(RNG(10), topics=16, workers=20, votes=5, machines=1, text_sd=1.5, sharpness=3.0)
    assert data.machine is not None
    found = scored(data).estimates
    model = rows_of(found["judge"]).rows()[0]
    assert model["alpha"] > 0.4 and model["decisive"] > 0.75 and model["consistency"] > 0.3
    upside = replace(data, machine=replace(data.machine, vote=2 - data.machine.vote))
    wrong = rows_of(scored(upside).estimates["judge"]).rows()[0]
    assert wrong["alpha"] < -0.2 and wrong["decisive"] == pytest.approx(1 - model["decisive"])
    assert wrong["consistency"] == pytest.approx(model["consistency"])
    # A model that always says left agrees with itself on nothing, whatever it does with gold.
    left = replace(data, machine=replace(data.machine, vote=np.zeros_like(data.machine.vote)))
    lefty = rows_of(scored(left).estimates["judge"]).rows()[0]
    assert lefty["same"] == 0.0 and lefty["consistency"] < -0.8
    assert lefty["majority"] == pytest.approx(0.5)
    assert rows_of(found["person"])["majority"][0] > 0.6


def test_a_study_that_has_hardly_begun_says_what_is_missing() -> None:
    data = study(RNG(11), forced=True)
    one = data.take(data.votes.worker == 0)
    found = scored(one)
    assert (found.estimates["label"]["label"] == MISSING).all() and found.converged
    assert np.isnan(found.estimates["worker"]["competence"]).all()
    said = " ".join(found.diagnostics["warnings"])
    assert "one worker alone voted" in said and "fewer than 3 votes" in said
    assert set(found.estimates["agreement"]["reason"]) != {""}
    empty = data.votes.vote.copy()
    empty[:, 0] = MISSING
    half = scored(replace(data, votes=replace(data.votes, vote=empty)))
    assert set(rows_of(half.estimates["label"], 0)["label"]) == {MISSING}
    assert len(rows_of(half.estimates["system"], 1)) == 3
    single = scored(study(RNG(12), dimensions=1))
    assert not len(single.estimates["interdependence"]) and not len(single.estimates["straight"])


def test_two_texts_of_one_system_are_graded_but_say_nothing_of_the_system() -> None:
    data = study(RNG(13), dimensions=1)
    merged = replace(data, system=np.where(data.system == 2, 1, data.system))
    found = scored(merged)
    assert any("two texts of one system" in said for said in found.diagnostics["warnings"])
    assert (rows_of(found.estimates["system"], 0)["component"] == [1, 1, 0]).all()
    assert len(found.estimates["candidate"]) == len(data.candidates)


def test_the_same_seed_gives_the_same_tables_and_a_run_can_be_cancelled() -> None:
    data, seen = study(RNG(14), machines=1), []
    one = scored(data)
    two = pairwise.fit(
        data, rng=RNG(7), hooks=Hooks(lambda stage, done, total: seen.append(stage)), **FAST
    )
    for name, table in one.estimates.items():
        same(table, two.estimates[name])
    assert tuple(dict.fromkeys(seen)) == pairwise.STAGES
    with pytest.raises(Cancelled):
        pairwise.fit(data, rng=RNG(0), hooks=Hooks(cancelled=lambda: True))


@pytest.mark.parametrize(
    "bad",
    [
        {"algorithm": "x"},
        {"draws": 50},
        {"pooled": 1},
        {"rank_by": "luck"},
        {"level": 1.0},
        {"early": 0},
        {"resamples": 99},
        {"colour": 1},
    ],
)
def test_a_bad_parameter_is_refused_by_name(bad: dict[str, Any]) -> None:
    with pytest.raises(BadParameter, match=next(iter(bad))):
        pairwise.METHOD.check(**bad)
