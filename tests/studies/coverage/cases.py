"""Methods times designs: each case draws a data set, runs the method as pages do, and compares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from inspect import signature
from typing import Any

import numpy as np

from evaluation.methods.adaptive.anytime import Votes, win_shares
from evaluation.methods.agreement import coefficients
from evaluation.methods.aqer import method as aqer
from evaluation.methods.bradley_terry import method as bradley_terry
from evaluation.methods.checklists import correlation
from evaluation.methods.core.base import DataError, FloatArray, Hooks, IntArray, Texts
from evaluation.methods.core.units import ratio, share
from evaluation.methods.core.votes import Pairs
from evaluation.methods.labels import method as labels
from evaluation.methods.pairwise import boards
from evaluation.methods.replacement import annotator, combined, judges
from evaluation.methods.rescaling import method as rescaling
from evaluation.methods.rescaling import ratings
from evaluation.methods.rescaling.data import Annotations, shared_pairs
from tests.evaluation.methods.simulated import draw_answers
from tests.studies.coverage.crowds import (
    DrawnLabels,
    DrawnPairs,
    LabelCrowd,
    PairCrowd,
    activity,
    draw_labels,
    draw_pairs,
)
from tests.studies.coverage.outcomes import Case, Outcome

Rng = np.random.Generator
NONE = Outcome(0, 0, 1, float("nan"))

# --- labels ------------------------------------------------------------------------------------

LABEL_CROWDS = (
    LabelCrowd("even"),
    LabelCrowd("Zipf 1.5", active="zipf 1.5"),
    LabelCrowd("Zipf 2", active="zipf 2"),
    LabelCrowd("one does 80 %", active="one 80", votes=2),
    LabelCrowd("10 topics", topics=10),
    LabelCrowd("classes 95/5", workers=18, prior=(0.95, 0.05), guessers=4, skill=(0.8, 0.95)),
    LabelCrowd("classes 97/3", items=300, votes=3, prior=(0.97, 0.03), skill=(0.8, 0.95)),
    LabelCrowd(
        "20 classes, Zipf",
        items=200,
        prior=tuple((1 / np.arange(1, 21) / (1 / np.arange(1, 21)).sum()).tolist()),
    ),
    LabelCrowd("15 % adversaries", adversaries=0.15),
    LabelCrowd("40 % copies, 10 items shared", workers=15, copiers=0.4),
    LabelCrowd("40 % copies, 60 items shared", workers=15, copiers=0.4, items=60, votes=15),
    LabelCrowd("wrong answers skipped", skips=0.5),
    LabelCrowd("2 workers", workers=2, votes=2),
    LabelCrowd("10 equals", workers=10, skill=(0.8, 0.8)),
    LabelCrowd("30 equals", workers=30, items=180, skill=(0.8, 0.8)),
    LabelCrowd("100 equals", workers=100, items=600, skill=(0.8, 0.8)),
)


LABEL_METHODS = ("competence (labels)", "label shown (95 % set)", "competence (MACE)")


def label_study(crowd: LabelCrowd, rng: Rng) -> tuple[Outcome, Outcome, Outcome]:
    """What the page of labels shows: competence, labels with posteriors, and MACE's competence.

    Sure: somebody is called below the median who is not. The width of labels is their accuracy
    minus majority vote's; their extra figure is the Brier score.
    """
    drawn = draw_labels(crowd, rng)
    found = labels.fit(drawn.data, rng=rng)
    row = found.estimates["worker"]
    shown = row["component"] > 0
    competence = Outcome.of_bounds(
        np.where(shown, row["low"], np.nan),
        np.where(shown, row["high"], np.nan),
        drawn.competence,
        false_sure=below_median(found, drawn.competence),
        extra=float(np.mean(row["competence"] - drawn.competence)),
    )
    k = len(crowd.prior)
    true = (drawn.competence * k - 1) / (k - 1)
    # Who guesses has a chance of 0 to know, which no interval of a chance holds.
    told = (true > 1e-9) & shown
    by_mace = Outcome.of_bounds(
        row["mace_low"][told],
        row["mace_high"][told],
        true[told],
        extra=float(np.mean((row["mace"] - true)[told])) if told.any() else None,
    )
    return competence, item_labels(crowd, drawn, found), by_mace


def below_median(found: Any, truth: FloatArray) -> bool:
    """Whether somebody is called surely below the median who is not."""
    row = found.estimates["worker"]
    if "median_gap_high" in row.columns:
        sure = row["median_gap_high"] < 0
    else:  # 0.1.0: the whole interval below the median of the estimates
        sure = row["high"] < np.nanmedian(row["competence"])
    return bool(sure[truth >= np.median(truth) - 1e-9].any())


def item_labels(crowd: LabelCrowd, drawn: DrawnLabels, found: Any) -> Outcome:
    """Whether the smallest set of labels with .95 of the posterior has the true one.

    Beside workers who are not independent there is no posterior, and so no set.
    """
    table = found.estimates["posterior"]
    k, size = len(crowd.prior), crowd.items
    belief = np.zeros((size, k))
    own = table["method"] == labels.METHODS.index("dawid_skene")
    belief[table["item"][own], table["label"][own]] = table["probability"][own]
    seen = belief.sum(axis=1) > 0
    if not seen.any():
        return Outcome(0, 0, size, float("nan"))
    sets = credible(belief[seen], 0.95)
    right = sets[np.arange(seen.sum()), drawn.truth[seen]]
    one_hot = np.eye(k)[drawn.truth[seen]]
    shown = belief[seen].argmax(axis=1) == drawn.truth[seen]
    return Outcome(
        int(right.sum()),
        int(seen.sum()),
        size,
        float(shown.mean() - majority(drawn)),
        extra=float(np.square(belief[seen] - one_hot).sum(axis=1).mean() / 2),
    )


def credible(belief: FloatArray, level: float) -> Any:
    """Membership (n, K) of the smallest sets with so much probability."""
    order = np.argsort(-belief, axis=1)
    mass = np.take_along_axis(belief, order, axis=1)
    inside = mass.cumsum(axis=1) - mass < level - 1e-9
    out = np.zeros(belief.shape, dtype=bool)
    np.put_along_axis(out, order, inside, axis=1)
    return out


def majority(drawn: DrawnLabels) -> float:
    """Accuracy of counting votes; level labels count as their share."""
    data, k = drawn.data, len(drawn.data.labels)
    counts = np.zeros((len(data.items), k))
    np.add.at(counts, (data.item, data.label), 1)
    seen = counts.sum(axis=1) > 0
    top = counts == counts.max(axis=1, keepdims=True)
    return float((top / top.sum(axis=1, keepdims=True))[seen, drawn.truth[seen]].mean())


AGREE = (
    LabelCrowd("even", items=60, skill=(0.7, 0.95)),
    LabelCrowd("Zipf 1.5", items=60, active="zipf 1.5", skill=(0.7, 0.95)),
    LabelCrowd("one does 80 %", items=60, active="one 80", votes=2, skill=(0.7, 0.95)),
    LabelCrowd("10 topics", items=60, topics=10, skill=(0.7, 0.95)),
    LabelCrowd("classes 95/5", items=60, prior=(0.95, 0.05), skill=(0.8, 0.95)),
    LabelCrowd("classes 97/3", items=100, prior=(0.97, 0.03), skill=(0.8, 0.95)),
    LabelCrowd("15 % adversaries", items=60, adversaries=0.15),
    LabelCrowd("2 workers", items=60, workers=2, votes=2),
)


@cache
def agreement_truth(crowd: LabelCrowd) -> tuple[float, float]:
    """Alpha and percent agreement of the same crowd on very many items."""
    many = LabelCrowd(
        **{**vars(crowd), "items": 60_000, "topics": crowd.topics * 1000 if crowd.topics else 0}
    )
    data = same_people(many, np.random.default_rng(1))
    return coefficients.krippendorff_alpha(data), coefficients.percent_agreement(data)


def alpha_study(crowd: LabelCrowd, rng: Rng) -> Outcome:
    """Nominal alpha of the same people on further items."""
    data = same_people(crowd, rng)
    found = coefficients.alpha_interval(
        data, "nominal", rng=rng, resamples=500, confidence=0.95, **topics_of(crowd, data)
    )
    return Outcome.of_bounds(found.low, found.high, agreement_truth(crowd)[0])


def percent_study(crowd: LabelCrowd, rng: Rng) -> Outcome:
    """Percent agreement of the same people on further items."""
    data = same_people(crowd, rng)
    found = coefficients.percent_interval(data, confidence=0.95, **topics_of(crowd, data))
    return Outcome.of_bounds(found.low, found.high, agreement_truth(crowd)[1])


def same_people(crowd: LabelCrowd, rng: Rng) -> Any:
    """Labels of the crowd's same people on new items."""
    return draw_labels(crowd, rng, people=np.random.default_rng(8)).data


def topics_of(crowd: LabelCrowd, data: Any) -> dict[str, Any]:
    """What is drawn anew, where items come in topics."""
    if not crowd.topics:
        return {}
    return {"group": np.arange(len(data.items)) % crowd.topics}


# --- shares and means by worker ----------------------------------------------------------------

ACTIVE = (
    ("even, 10 workers", "even", 10),
    ("Zipf 1.5, 30 workers", "zipf 1.5", 30),
    ("Zipf 1.5, 100 workers", "zipf 1.5", 100),
    ("Zipf 2, 30 workers", "zipf 2", 30),
    ("one of 10 does 80 %", "one 80", 10),
    ("two of 40 do 80 %", "two 80", 40),
)


def share_study(kind: str, workers: int, rng: Rng, *, mean: bool = False) -> Outcome:
    """A share of votes of .7 that differs between workers (intraclass correlation .1)."""
    votes = np.maximum(1, np.round(600 * activity(kind, workers)))
    hits = rng.binomial(votes.astype(int), rng.beta(0.7 * 9, 0.3 * 9, workers)).astype(float)
    found = (ratio if mean else share)(hits, votes, np.arange(workers))
    return Outcome.of_bounds(found.low, found.high, 0.7)


# --- pairs --------------------------------------------------------------------------------------

FEW_JUDGES = 5
FIVE = (0.8, 0.4, 0.0, -0.4, -0.8)
PAIR_CROWDS = (
    PairCrowd("even"),
    PairCrowd("Zipf 1.5, 12 judges", judges=12, active="zipf 1.5"),
    PairCrowd("Zipf 2, 30 judges", active="zipf 2"),
    PairCrowd("one of 10 does 80 %", judges=10, active="one 80"),
    PairCrowd("6 topics", topics=6, prompt=0.5),
    PairCrowd("10 topics", topics=10, prompt=0.5),
    PairCrowd("40 topics, Zipf 1.5", topics=40, prompt=0.5, votes=480, active="zipf 1.5"),
    PairCrowd("3 judges agree", merits=(0.0,) * 5, votes=900, each=3, taste=0.0, prompt=1.2),
    PairCrowd("2 judges", judges=2),
    PairCrowd("6 judges", judges=6),
    PairCrowd("ties", ties=0.4),
    PairCrowd("near separation", merits=(3.0, 0.0, 0.0, -3.0)),
    PairCrowd("five systems apart", merits=FIVE, votes=600),
    PairCrowd("non-transitive", cycle=0.8),
    PairCrowd("10 equals", merits=(0.0,) * 10, votes=900),
    PairCrowd("30 equals", merits=(0.0,) * 30, votes=2700),
)


@cache
def merits(crowd: PairCrowd) -> FloatArray:
    """What the fit tends to with very many judges, prompts and votes."""
    if len(set(crowd.merits)) == 1 and not crowd.cycle:
        return np.zeros(len(crowd.merits))
    return _limit(draw_pairs(crowd, np.random.default_rng(2), scale=400))


def _limit(many: DrawnPairs) -> FloatArray:
    """Merits by very many votes."""
    found = bradley_terry.fit(
        _without_judges(many), rng=np.random.default_rng(0), resamples=0, regularisation=0.0
    )
    return np.asarray(found.estimates["player"]["estimate"])


def _without_judges(drawn: DrawnPairs) -> Pairs:
    return Pairs.build(
        drawn.first,
        drawn.second,
        drawn.outcome,
        players=[f"s{k}" for k in range(len(drawn.crowd.merits))],
    )


def board_outcome(drawn: DrawnPairs, table: Any) -> Outcome:
    """Merits; sure: two systems told apart in the wrong order (or that are equal).

    Fewer than 5 judges are taken as they are: the truth is what these would say of everything.
    """
    true = merits(drawn.crowd)
    if drawn.crowd.judges < FEW_JUDGES:
        own = np.random.default_rng(9)
        true = _limit(draw_pairs(drawn.crowd, own, scale=400, lean=drawn.lean))
    low, high = table["rank_low"], table["rank_high"]
    wrong = right = False
    if low.any():
        ahead = high[:, None] < low[None, :]  # the row is ahead of the column for sure
        wrong = bool((ahead & (true[:, None] <= true[None, :] + 1e-6)).any())
        right = bool((ahead & (true[:, None] > true[None, :] + 1e-6)).any())
    apart = len(set(np.round(true, 6).tolist())) > 1
    return Outcome.of_bounds(
        table["low"],
        table["high"],
        true,
        false_sure=wrong,
        true_sure=right if apart else None,
    )


def judge_study(crowd: PairCrowd, rng: Rng) -> Outcome:
    """Bradley-Terry clustered by judge."""
    drawn = draw_pairs(crowd, rng)
    try:
        found = bradley_terry.fit(drawn.pairs(), rng=rng, cluster="judge", resamples=400)
    except DataError:
        return Outcome(0, 0, len(crowd.merits), float("nan"), False)
    return board_outcome(drawn, found.estimates["player"])


def board_study(crowd: PairCrowd, rng: Rng) -> Outcome:
    """The board of a pairwise task, by topic and worker."""
    drawn = draw_pairs(crowd, rng)
    data = drawn.judgments(rng)
    settings = {"level": 0.95, "resamples": 400, "regularisation": 0.2}
    try:
        found = boards.boards(data, data.votes, None, settings, rng=rng, hooks=Hooks())
    except DataError:
        return Outcome(0, 0, len(crowd.merits), float("nan"), False)
    own = found.system["dimension"] == 0
    columns = {name: found.system[name][own] for name in ("low", "high", "rank_low", "rank_high")}
    order = np.argsort(found.system["system"][own])
    return board_outcome(drawn, {name: column[order] for name, column in columns.items()})


LIVE_CROWDS = (
    PairCrowd("even", merits=(0.4, 0.0), votes=600),
    PairCrowd("Zipf 2, 30 workers", merits=(0.4, 0.0), votes=600, active="zipf 2"),
    PairCrowd("one of 10 does 80 %", merits=(0.4, 0.0), votes=600, judges=10, active="one 80"),
    PairCrowd("two of 40 do 80 %", merits=(0.4, 0.0), votes=600, judges=40, active="two 80"),
    PairCrowd("4 equals, Zipf 1.5", votes=900, active="zipf 1.5"),
    PairCrowd("ties", merits=(0.0, 0.0), votes=600, ties=0.4),
)


@cache
def shares(crowd: PairCrowd) -> FloatArray:
    """True win shares of the systems."""
    if len(set(crowd.merits)) == 1:
        return np.full(len(crowd.merits), 0.5)
    many = draw_pairs(crowd, np.random.default_rng(3), scale=1000)
    return np.asarray(win_shares(_live(many), systems=len(crowd.merits)).share)


def _live(drawn: DrawnPairs) -> Votes:
    score = np.take(np.array([1.0, 0.5, 0.0]), drawn.outcome)
    return Votes(drawn.first, drawn.second, score, drawn.judge, drawn.prompt)


def live_study(crowd: PairCrowd, rng: Rng) -> Outcome:
    """Intervals that are looked at after every 30 votes: held counts if all looks held."""
    votes, true = _live(draw_pairs(crowd, rng)), shares(crowd)
    all_held, given, wrong, width = True, False, False, float("nan")
    for end in range(30, len(votes.first) + 1, 30):
        found = win_shares(votes.head(end), systems=len(crowd.merits))
        if found.why or not np.isfinite(found.low).all():
            continue
        given, width = True, float((found.high - found.low).mean())
        all_held &= bool(((found.low <= true) & (true <= found.high)).all())
        ahead = found.low[:, None] > found.high[None, :]
        wrong |= bool((ahead & (true[:, None] <= true[None, :])).any())
    return Outcome(int(all_held and given), int(given), 1, width, false_sure=wrong)


# --- ratings and rescaling ----------------------------------------------------------------------

RATED = (
    ("even", "even", 12, 40),
    ("Zipf 1.5", "zipf 1.5", 12, 40),
    ("Zipf 2", "zipf 2", 30, 40),
    ("one does 80 %", "one 80", 10, 40),
    ("10 topics", "even", 12, 10),
    ("2 workers", "even", 2, 40),
)


def rating_study(active: str, workers: int, topics: int, rng: Rng) -> Outcome:
    """Mean ratings of three equal systems on a scale of 1 to 5; raters differ in strictness."""
    systems, n = 3, 360
    texts = systems * topics
    worker = rng.choice(workers, n, p=activity(active, workers))
    text = rng.integers(0, texts, n)
    strict, quality = rng.normal(0, 0.5, workers), rng.normal(0, 0.5, texts)
    value = np.clip(np.round(3 + strict[worker] + quality[text] + rng.normal(0, 0.7, n)), 1, 5)
    data = ratings.Ratings.build(
        worker,
        text,
        value[:, None],
        system=np.arange(texts) % systems,
        topic=np.arange(texts) // systems,
        workers=[f"w{k}" for k in range(workers)],
        texts=[f"t{k}" for k in range(texts)],
        systems=[f"s{k}" for k in range(systems)],
        scales=["overall"],
    )
    rows = ratings._systems(data, 0, 0.95)
    low, high = (np.array([row[name] for row in rows], dtype=float) for name in ("low", "high"))
    apart = bool(np.nanmax(low) > np.nanmin(high)) if np.isfinite(low).any() else False
    return Outcome.of_bounds(low, high, 3.0, false_sure=apart)


def rescaling_study(active: str, items: int, rng: Rng) -> Outcome:
    """Change of the aggregate tau-b under rescaling, as in ``rescaling_coverage``."""
    data = explained(rng, items, active)
    joined = shared_pairs(data)
    found = rescaling.agreement(data, joined, data.rating, rescaling.rescale(data)).mean
    return Outcome.of_bounds(found.low, found.high, change(active))


def explained(rng: Rng, items: int, active: str) -> Annotations:
    """Four of six annotators an item, drawn by activity; scores nearer to the quality."""
    workers = 6
    keys = rng.gumbel(size=(items, workers)) + np.log(activity(active, workers))
    worker = np.argsort(-keys, axis=1)[:, :4].ravel()
    item = np.repeat(np.arange(items), 4)
    quality = rng.normal(size=items)[item]
    felt = quality + 0.8 * rng.normal(size=len(item)) + np.linspace(0, 1.2, workers)[worker]
    score = np.clip(np.round(8 * (quality + 0.6 * rng.normal(size=len(item)))) * 5 + 60, 0, 100)
    return Annotations.build(
        worker,
        item,
        np.digitize(felt, [-1.2, -0.6, 0.0]),
        score,
        workers=[f"w{k}" for k in range(workers)],
        items=[f"i{k}" for k in range(items)],
        labels=list("abcd"),
    )


@cache
def change(active: str) -> float:
    """The true change."""
    data = explained(np.random.default_rng(4), 40_000, active)
    found = rescaling.agreement(data, shared_pairs(data), data.rating, rescaling.rescale(data)).mean
    return float(found.after - found.before)


# --- checklists ---------------------------------------------------------------------------------

SOURCES = ((4, 25, False), (3, 40, False), (8, 12, False), (20, 5, False), (12, 12, True))


def compared_scorings(sources: int, texts: int, uneven: bool, rng: Rng) -> Outcome:
    """Two scorings that follow people equally well, with errors that a source's texts share."""
    size = np.full(sources, texts)
    if uneven:
        size = np.maximum(5, np.round(sources * texts * activity("zipf 1", sources)).astype(int))
    article = np.repeat(np.arange(sources), size)
    human = rng.normal(size=len(article))
    slope = 0.6 + 0.4 * rng.normal(size=(2, sources))
    one, two = (slope[k][article] * human + rng.normal(size=len(article)) for k in range(2))
    row = correlation.compare_rows([one, two], human, article, [(0, 1)])[0]
    low, high = row["low"], row["high"]
    p = row.get("p", float("nan"))
    sure = bool(np.isfinite(low) and (low > 0 or high < 0)) or bool(np.isfinite(p) and p <= 0.05)
    return Outcome.of_bounds(low, high, 0.0, false_sure=sure)


def sample_level(sources: int, texts: int, uneven: bool, rng: Rng) -> Outcome:
    """Mean correlation over sources."""
    article = np.repeat(np.arange(sources), texts)
    human = rng.normal(size=len(article))
    noise = rng.normal(size=len(article))
    slope = np.tanh(0.6 + 0.3 * rng.normal(size=sources))[article]
    metric = slope * human + np.sqrt(1 - slope**2) * noise
    found = correlation.sample_level(metric, human, article, kind="pearson")
    return Outcome.of_bounds(found.low, found.high, sample_truth(texts))


@cache
def sample_truth(texts: int) -> float:
    """The mean correlation over very many sources."""
    rng = np.random.default_rng(5)
    article = np.repeat(np.arange(40_000), texts)
    human, noise = rng.normal(size=(2, len(article)))
    slope = np.tanh(0.6 + 0.3 * rng.normal(size=40_000))[article]
    metric = slope * human + np.sqrt(1 - slope**2) * noise
    return float(correlation.sample_level(metric, human, article, kind="pearson").estimate)


# --- free text ----------------------------------------------------------------------------------

WRITERS = (
    ("even", "even", 8, 20),
    ("Zipf 1", "zipf 1", 8, 30),
    ("10 equals", "even", 10, 20),
    ("30 equals", "even", 30, 20),
)


def texts_of(active: str, workers: int, questions: int, rng: Rng, *, equal: bool) -> Texts:
    """Answers of planted quality; who is less active answers fewer questions, but 3 at least."""
    quality = np.full(workers, 0.5) if equal else np.linspace(0.2, 0.85, workers)
    truth = rng.standard_normal((questions, 48))
    truth /= np.linalg.norm(truth, axis=1, keepdims=True)
    vectors, _ = draw_answers(rng, quality, truth)
    share = activity(active, workers) / activity(active, workers).max()
    answered = np.zeros((workers, questions), dtype=bool)
    for at, number in enumerate(np.maximum(3, np.round(share * questions)).astype(int)):
        answered[at, rng.permutation(questions)[:number]] = True
    who, what = np.nonzero(answered)
    return Texts.build(
        who,
        what,
        vectors[who, what],
        workers=[f"w{k}" for k in range(workers)],
        questions=[f"q{k}" for k in range(questions)],
    )


@cache
def aqer_truth(active: str, workers: int, equal: bool) -> FloatArray:
    """Scores over very many questions."""
    data = texts_of(active, workers, 4000, np.random.default_rng(6), equal=equal)
    found = aqer.fit(data, rng=np.random.default_rng(0), resamples=0, leave_one_out=True)
    return np.asarray(_ranking(found)[0])


def _ranking(found: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    adjusted = found.diagnostics["components"][0]["ranked_by"] == "adjusted"
    sure, name = found.intervals.get("worker"), "adjusted" if adjusted else "score"
    value = found.estimates["worker"][name]
    if sure is None:
        return value, value, value
    if adjusted:
        return value, sure.adjusted_low, sure.adjusted_high
    return value, sure.low, sure.high


def aqer_study(active: str, workers: int, questions: int, equal: bool, rng: Rng) -> Outcome:
    """Workers' scores (leave-one-out); sure: two equal workers told apart."""
    data = texts_of(active, workers, questions, rng, equal=equal)
    found = aqer.fit(data, rng=rng, resamples=200, leave_one_out=True)
    if equal:  # weights run to the luckiest, so equal workers' scores have no common limit
        return Outcome(
            0, 0, 1, float("nan"), false_sure=bool(found.intervals["worker"].separable.any())
        )
    _, low, high = _ranking(found)
    return Outcome.of_bounds(low, high, aqer_truth(active, workers, equal))


# --- replacement --------------------------------------------------------------------------------


def people_and_model(
    rng: Rng, *, people: int, items: int, model: float, topics: int = 0, alike: float = 0.0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Labels of people (p, n) right .8 of the time and of a model right ``model`` of the time.

    ``topics``: items of a topic are right or wrong together in part; ``alike``: the model repeats
    the people's first error so often.
    """
    truth = rng.integers(0, 3, items)
    own = rng.random((people, items)) < 0.8
    given = np.where(own, truth, rng.integers(0, 3, (people, items)))
    chance = np.full(items, model)
    if topics:
        odds = np.log(model / (1 - model)) + 1.2 * rng.normal(size=topics)
        chance = 1 / (1 + np.exp(-odds))[np.arange(items) % topics]
    said = np.where(rng.random(items) < chance, truth, rng.integers(0, 3, items))
    said = np.where(rng.random(items) < alike, given[0], said)
    return given.astype(float), said.astype(float), truth.astype(float)


def compared(
    given: FloatArray, said: FloatArray, topic: IntArray | None = None
) -> annotator.Comparisons:
    """As the page compares them."""
    people, items = given.shape
    person, item = (part.ravel() for part in np.indices((people, items)))
    found = annotator.compare_labels(
        person, item, given.ravel(), said, people=tuple(map(str, range(people)))
    )
    if topic is None or not hasattr(found, "topic"):  # 0.1.0 knew no topics
        return found
    return replace(found, topic=topic[found.item])


@cache
def at_the_margin(epsilon: float, topics: int) -> tuple[float, float]:
    """How often a model must be right to be worse by exactly epsilon, and its advantage then."""
    low, high = 0.0, 1.0
    for _ in range(14):
        middle = (low + high) / 2
        data = compared(
            *people_and_model(
                np.random.default_rng(7), people=3, items=60_000, model=middle, topics=topics * 300
            )[:2]
        )
        worse = float(data.difference.mean())
        low, high = (middle, high) if worse > epsilon else (low, middle)
    return middle, float(data.advantage.mean())


def alternative_test(items: int, people: int, topics: int, rng: Rng) -> Outcome:
    """A model at the edge of what is allowed: neither Yes nor No is true of it."""
    model, advantage = at_the_margin(0.15, topics)
    given, said, _ = people_and_model(rng, people=people, items=items, model=model, topics=topics)
    topic = np.arange(items) % topics if topics else None
    data = compared(given, said, topic)
    low, high = annotator.advantage_interval(data)
    wrong = annotator.judge(data, 0.15).passes
    if hasattr(annotator, "claim_half"):  # 0.1.0 took the test's word
        side = annotator.claim_half(*annotator.moments(data), 0.15).direction
        wrong = side > 0 or (wrong and side < 0)
    return Outcome.of_bounds(low, high, advantage, false_sure=bool(wrong))


def estimate_mean(
    n: int, topics: int, rng: Rng, *, easy: bool = False, tails: bool = False
) -> Outcome:
    """A prediction-powered mean of 2,000 items of which people labelled n.

    ``topics``: whole topics were labelled; ``easy``: labelled items are easier for the judge.
    """
    items = 2000
    topic = np.arange(items) % topics if topics else np.arange(items)
    chance = np.full(items, 0.4)
    if topics:
        chance = rng.beta(4, 6, topics)[topic]
    human = (rng.random(items) < chance).astype(float)
    mean = 0.4
    if tails:
        human, mean = rng.lognormal(0, 1.5, items), float(np.exp(1.5**2 / 2))
    hard = rng.random(items) < 0.5
    errs = rng.random(items) < np.where(hard, 0.35, 0.05)
    judge = (
        np.where(errs, np.ones(items), human) if not tails else human * rng.lognormal(0, 0.5, items)
    )
    if topics:
        chosen = np.isin(topic, rng.permutation(topics)[: max(1, topics * n // items)])
    else:
        weight = np.where(hard, 0.3, 1.7) if easy else np.ones(items)
        picked = rng.choice(items, n, replace=False, p=weight / weight.sum())
        chosen = np.isin(np.arange(items), picked)
    other = np.where(rng.random(items) < np.where(hard, 0.35, 0.05), 1 - human, human)
    doubt = (other != judge).astype(float)
    more: dict[str, Any] = {"topics": (topic[chosen], topic[~chosen])} if topics else {}
    guard = {**more, "doubt": (doubt[chosen], doubt[~chosen])}
    if "topics" not in signature(combined.combine_means).parameters:  # 0.1.0
        more = guard = {}
    try:
        combined.check_judge(human[chosen], judge[chosen], judge[~chosen], **guard)
        found = combined.combine_means(human[chosen], judge[chosen], judge[~chosen], **more)
    except combined.NoEstimate:
        return NONE
    return Outcome.of_bounds(found.both.low, found.both.high, mean)


def corrected_share(share: float, n: int, rng: Rng) -> Outcome:
    """Rogan and Gladen's correction of a judge's share."""
    items = 2000
    there = rng.random(items + n) < share
    called = rng.random(items + n) < np.where(there, 0.85, 0.1)
    try:
        rates = judges.judge_rates(there[:n], called[:n])
        found = judges.correct_share(int(called[n:].sum()), items, rates)
    except combined.NoEstimate:
        return NONE
    return Outcome.of_bounds(found.low, found.high, share)


# --- all ----------------------------------------------------------------------------------------


def cases() -> Iterator[Case]:  # noqa: PLR0912 - one loop a method
    """Every method with every design that makes sense for it."""
    for name, kind, workers in ACTIVE:
        yield Case.of(
            "share by worker", name, lambda rng, k=kind, w=workers: share_study(k, w, rng)
        )
        yield Case.of(
            "mean by worker", name, lambda rng, k=kind, w=workers: share_study(k, w, rng, mean=True)
        )
    for one in PAIR_CROWDS:
        if not one.topics and one.each == 1:
            yield Case.of(
                "Bradley-Terry by judge", one.name, lambda rng, c=one: judge_study(c, rng)
            )
    for one in PAIR_CROWDS:
        yield Case.of("board by topic and judge", one.name, lambda rng, c=one: board_study(c, rng))
    for one in LIVE_CROWDS:
        yield Case.of("live, every look", one.name, lambda rng, c=one: live_study(c, rng))
    for crowd in AGREE:
        yield Case.of("alpha", crowd.name, lambda rng, c=crowd: alpha_study(c, rng))
        yield Case.of("percent agreement", crowd.name, lambda rng, c=crowd: percent_study(c, rng))
    for name, active, workers, topics in RATED:
        yield Case.of(
            "mean rating of a system",
            name,
            lambda rng, a=active, w=workers, t=topics: rating_study(a, w, t, rng),
        )
    for name, active in (("even", "even"), ("Zipf 1.5", "zipf 1.5")):
        yield Case.of(
            "change of tau by rescaling", name, lambda rng, a=active: rescaling_study(a, 60, rng)
        )
    for sources, texts, uneven in SOURCES:
        words = f"{sources} sources x {texts}" + (", uneven" if uneven else "")
        yield Case.of(
            "two checklist scorings",
            words,
            lambda rng, s=sources, t=texts, u=uneven: compared_scorings(s, t, u, rng),
        )
        yield Case.of(
            "checklist correlation",
            words,
            lambda rng, s=sources, t=texts, u=uneven: sample_level(s, t, u, rng),
        )
    for name, active, workers, questions in WRITERS:
        yield Case.of(
            "AQER, workers",
            name,
            lambda rng, a=active, w=workers, q=questions, e="equals" in name: aqer_study(
                a, w, q, e, rng
            ),
        )
    for items, people, topics in ((50, 3, 0), (300, 3, 0), (300, 3, 10), (300, 3, 40)):
        words = f"{items} items" + (f" in {topics} topics" if topics else "")
        yield Case.of(
            "alternative test at the margin",
            words,
            lambda rng, i=items, p=people, t=topics: alternative_test(i, p, t, rng),
        )
    for words, n, topics, more in (
        ("100 of 2,000 at random", 100, 0, {}),
        ("2 of 20 topics", 200, 20, {}),
        ("10 of 20 topics", 1000, 20, {}),
        ("20 of 40 topics", 1000, 40, {}),
        ("easier items labelled", 300, 0, {"easy": True}),
        ("heavy tails", 100, 0, {"tails": True}),
    ):
        yield Case.of(
            "prediction-powered mean",
            words,
            lambda rng, n=n, t=topics, m=more: estimate_mean(n, t, rng, **m),
        )
    for value, n in ((0.3, 100), (0.1, 100), (0.1, 300)):
        yield Case.of(
            "corrected share (Rogan-Gladen)",
            f"share {value}, {n} labels",
            lambda rng, s=value, n=n: corrected_share(s, n, rng),
        )
    for crowd in LABEL_CROWDS:
        yield Case(
            LABEL_METHODS,
            crowd.name,
            lambda rng, c=crowd: label_study(c, rng),
            200,
            ("bias", "Brier", "bias"),
        )
