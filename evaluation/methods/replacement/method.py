"""May a model do the work of one of the people, and how much does it save beside them.

The alternative annotator test (annotator.py) for every model, at every epsilon; and, where only
models labelled a part of the items, prediction-powered estimates (combined.py).

Tables of estimates. Indices are those of the input ``Beside``; NaN means not known.

``model``, a row a model: model, items (that somebody and the model labelled), people (compared),
advantage, low, high (advantage probability, 95 %), worse, worse_low, worse_high (how much worse it
is than half of them at most, bounds of .95 each over all models), reason (why it cannot be tested,
else "").

``person``, a row a model and a person compared: model, person, items, model_share, person_share
(share of the items on which each is at least as close to the remaining people as the other),
difference (model less person), low, high (95 %), worse (the person's less the model's), error
and freedom (its degrees) as the test takes them.

``curve``, a row a model and an epsilon: model, epsilon, winning_rate, chance (that a model as good
as everybody passes, power.py), needed (items from which this chance is .8; NaN: more than were
tried), verdict (VERDICTS; simultaneous over models).

``combined``, a row a model and a label (-1 for the mean of numbers; of checklists -1 for the share
of yes over all questions, then one a question; none of texts): model, label, labelled,
rest (items that people and the model, and that the model alone labelled), drawn (of the labelled
those that were drawn for people, active.py), earlier (labelled ones that were taken for a random
part of all, of a draw), bias (the model's mean less the people's), bias_low,
bias_high, people, people_low, people_high, judge, judge_low, judge_high, both, both_low, both_high,
tuning, worth (so many items with labels of people alone would be as exact), reason (why there is
none; words that follow "because").

``rates``, a row a model and a label, beside what most people said of an item (one on which they are
even counts in parts): model, label, and sensitivity, specificity and corrected (the share of the
label among all items of the model, judges.py), each with _low and _high; sensitivity_n and
specificity_n items; reason (why there are no rates), corrected_reason.

``leaning``, ``calibration``, ``reliability``, ``drift``, ``version``, ``panel`` and ``weight``:
behavior.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import (
    EmptyData,
    FloatArray,
    Hooks,
    IntArray,
    Result,
    of_rows,
)
from evaluation.methods.core.inference import Claim
from evaluation.methods.core.params import Params, real_number, whole_number
from evaluation.methods.replacement import active, annotator, behavior, combined, judges, power
from evaluation.methods.replacement.annotator import EPSILONS, HALF, ITEMS, PEOPLE
from evaluation.methods.replacement.data import ACCURACY, COSINE, MOST_LABELS, Beside, Drawn

NAME, VERSION = "replacement", "2.1"
YES, NO, UNDECIDED = "yes", "no", "undecided"  # shown good enough, shown worse, not shown
VERDICTS = (YES, NO, UNDECIDED)
EVEN = 0.05  # share of items on which people are even, from which no share is corrected by most
ESTIMATES = ("people", "judge", "both")
COMBINED = (
    "model",
    "label",
    "labelled",
    "rest",
    "drawn",
    "earlier",
    "bias",
    "bias_low",
    "bias_high",
    *(f"{one}{end}" for one in ESTIMATES for end in ("", "_low", "_high")),
    "tuning",
    "worth",
    "reason",
)
RATE = ("sensitivity", "specificity")
RATES = (
    "model",
    "label",
    *(f"{one}{end}" for one in (*RATE, "corrected") for end in ("", "_low", "_high")),
    *(f"{one}_n" for one in RATE),
    "reason",
    "corrected_reason",
)
PERSON = (
    "model",
    "person",
    "items",
    "model_share",
    "person_share",
    "difference",
    "low",
    "high",
    "worse",
    "error",
    "freedom",
)
CURVE = ("model", "epsilon", "winning_rate", "chance", "needed", "verdict")
Row = dict[str, Any]
BoolArray = NDArray[np.bool_]

PARAMS = Params(
    NAME,
    (
        real_number(
            "epsilon",
            0.15,
            0,
            0.3,
            label="Epsilon",
            help="How much worse a model may be. .20 beside experts, .15 trained, .10 a crowd.",
        ),
        whole_number(
            "people_per_item",
            2,
            2,
            50,
            label="People per item",
            help="Items with fewer people are left out.",
        ),
        whole_number(
            "items_per_person",
            ITEMS,
            ITEMS,
            10_000,
            label="Items per person",
            help="People with fewer items beside others and the model are left out.",
        ),
        whole_number("draws", power.DRAWS, 100, 5000),
    ),
    version=VERSION,
)


def fit(
    data: Beside,
    *,
    rng: np.random.Generator | None = None,
    hooks: Hooks | None = None,
    **params: Any,
) -> Result:
    """Test every model. Raises EmptyData without people or models, BadParameter."""
    settings, hooks = PARAMS.settings(params), hooks or Hooks()
    if not len(data.value) or not len(data.models):
        raise EmptyData("there are no answers of people and of a model to the same items")
    rng = rng or np.random.default_rng(0)
    whole, data = data, data.alike()
    if not len(data.value):
        raise EmptyData("people labelled only items that were chosen as hard for a model")
    models: list[Row] = []
    people: list[Row] = []
    curves: list[Row] = []
    compared = [_compare(data, at, settings) for at in range(len(data.models))]
    family = sum(not isinstance(found, str) for found in compared)
    for at, (name, found) in enumerate(zip(data.models, compared, strict=True)):
        hooks.step(f"test: {name}", at + 1, len(data.models))
        models.append({"model": at, **_summary(data, at, found, family)})
        if isinstance(found, str):
            continue
        people += [{"model": at, **row} for row in _by_person(data, found)]
        curves += [{"model": at, **row} for row in _curve(found, settings, family, rng, hooks)]
    estimates = {
        "model": of_rows(models),
        "person": of_rows(people, PERSON),
        "curve": of_rows(curves, CURVE),
        "combined": of_rows(_combined(whole), COMBINED),
        "rates": of_rows(_rates(data), RATES),
        **_behavior(whole, data, int(rng.integers(2**31))),
    }
    return PARAMS.result(settings, estimates, {"score": data.score})


def _compare(data: Beside, at: int, settings: Mapping[str, Any]) -> annotator.Comparisons | str:
    """People beside one model, or why they are too few, in words."""
    own = data.model[at]
    given = np.bincount(data.item, minlength=len(own))
    kept = given[data.item] >= settings["people_per_item"]
    person, item, value = data.person[kept], data.item[kept], data.value[kept]
    least = settings["items_per_person"]
    beside = ~np.isnan(own[item])
    items = np.bincount(person[beside], minlength=len(data.people))
    enough = int((items >= least).sum())
    if enough < PEOPLE:
        return (
            f"The test needs {PEOPLE} people with {least} items each that another person and the "
            f"model labelled as well; {enough} of {len(data.people)} have them, and the most that "
            f"one of the others has is {int(items[items < least].max(initial=0))}."
        )
    if data.score == COSINE:
        similarity = _similarity(data, person, item, value, own)
        found = annotator.compare_similarities(
            person, item, similarity, people=data.people, items_per_person=least
        )
    else:
        found = annotator.compare_labels(
            person,
            item,
            value,
            own,
            people=data.people,
            score=data.score,
            items_per_person=least,
        )
    if data.topic is None:
        return found
    found = replace(found, topic=data.topic[found.item])
    few = annotator.few_topics(found)
    return f"Items of one topic are alike: {few}." if few else found


def _similarity(
    data: Beside, person: IntArray, item: IntArray, value: FloatArray, own: FloatArray
) -> list[FloatArray]:
    """Of each item (k + 1, k): cosines of the k people's texts, and of the model's to them."""
    assert data.vectors is not None  # noqa: S101 (texts come with their vectors)
    length = np.linalg.norm(data.vectors, axis=1, keepdims=True)
    unit = data.vectors / np.where(length > 0, length, 1)
    order = np.argsort(item, kind="stable")
    found = []
    for at, rows in enumerate(
        np.split(order, np.cumsum(np.bincount(item, minlength=len(own)))[:-1])
    ):
        texts = unit[value[rows].astype(np.int64)]
        model = texts @ unit[int(own[at])] if not np.isnan(own[at]) else np.full(len(rows), np.nan)
        # Equal texts are ties, whatever the last digits say.
        found.append(np.round(np.vstack([texts @ texts.T, model[None, :]]), 9))
    return found


def _summary(data: Beside, at: int, found: annotator.Comparisons | str, family: int) -> Row:
    own = data.model[at]
    items = int((~np.isnan(own[np.unique(data.item)])).sum())
    numbers = ("advantage", "low", "high", "worse", "worse_low", "worse_high")
    if isinstance(found, str):
        none = dict.fromkeys(numbers, np.nan)
        return {"items": items, "people": 0, **none, "reason": found}
    claim = annotator.claim_half(*annotator.moments(found), 0.0, family=family)
    advantage = np.bincount(found.person, found.advantage) / np.bincount(found.person)
    low, high = annotator.advantage_interval(found)
    return {
        "items": len(np.unique(found.item)),
        "people": len(found.people),
        "advantage": float(advantage.mean()),
        "low": low,
        "high": high,
        "worse": claim.estimate,
        "worse_low": claim.low if claim.has_interval else np.nan,
        "worse_high": claim.high if claim.has_interval else np.nan,
        "reason": "",
    }


def _by_person(data: Beside, found: annotator.Comparisons) -> list[Row]:
    items, worse, error, freedom = annotator.moments(found)
    place = {name: at for at, name in enumerate(data.people)}
    model = np.bincount(found.person, found.advantage) / items
    half = annotator.reach_of(0.025, items, error, freedom)
    return [
        {
            "person": place[name],
            "items": int(items[at]),
            "model_share": float(model[at]),
            "person_share": float(model[at] + worse[at]),
            "difference": float(-worse[at]),
            "low": max(-1.0, float(-worse[at] - half[at])),
            "high": min(1.0, float(-worse[at] + half[at])),
            "worse": float(worse[at]),
            "error": float(error[at]),
            "freedom": float(freedom[at]),
        }
        for at, name in enumerate(found.people)
    ]


def _curve(
    found: annotator.Comparisons,
    settings: Mapping[str, Any],
    family: int,
    rng: np.random.Generator,
    hooks: Hooks,
) -> list[Row]:
    rates, parts = annotator.winning_rates(found), annotator.moments(found)
    own = len(np.unique(found.item))
    chance = power.chances(
        found, (*power.SIZES, own), rng=rng, draws=settings["draws"], family=family, hooks=hooks
    )
    needed = power.items_needed(chance[:-1], power.SIZES)
    return [
        {
            "epsilon": float(epsilon),
            "winning_rate": float(rates[at]),
            "chance": float(chance[-1, at]),
            "needed": np.nan if needed[at] is None else float(needed[at] or 0),
            "verdict": decide(
                annotator.claim_half(*parts, float(epsilon), family=family), float(rates[at])
            ),
        }
        for at, epsilon in enumerate(EPSILONS)
    ]


def decide(claim: Claim, winning_rate: float) -> str:
    """The verdict by how much worse the model is than half of the people at most (``claim_half``).

    Where it is shown to be good enough, the published rule must let it pass as well.
    """
    if claim.is_sure and claim.direction > 0:
        return NO
    return YES if claim.is_sure and winning_rate >= HALF else UNDECIDED


def _combined(data: Beside) -> list[Row]:
    """The share of each class, or the mean, three ways, by each model as the judge."""
    size = data.model.shape[1]
    given = np.bincount(data.item, minlength=size)
    rows = []
    for at in range(len(data.models)):
        there = ~np.isnan(data.model[at])
        doubt = data.doubt(at)
        for label in data.quantities:
            said, judged = data.quantity(label)
            human = np.bincount(data.item, said, minlength=size) / given.clip(1)
            items = Items(human, judged[at], there, given > 0, doubt, data.topic, data.kind)
            found = _estimate(items) if data.drawn is None else _weighted(items, data.drawn)
            rows.append({"model": at, "label": label, **found})
    return rows


@dataclass(frozen=True, eq=False)
class Items:
    """One quantity on all items (items,): by people (0 where not ``given``) and by the model."""

    human: FloatArray
    judge: FloatArray
    there: BoolArray
    given: BoolArray
    doubt: FloatArray
    topic: IntArray | None = None
    kind: IntArray | None = None


def _estimate(items: Items) -> Row:
    """Estimate from items labelled as they came, taken for a random part of all."""
    here, others = items.there & items.given, items.there & ~items.given
    human, judge, rest = items.human[here], items.judge[here], items.judge[others]
    row: Row = {**dict.fromkeys(COMBINED[2:], np.nan), "drawn": 0, "earlier": 0, "reason": ""}
    row.update(labelled=len(human), rest=len(rest))
    if len(rest) < 2:
        return row | {"reason": "people labelled every item that the model labelled"}
    topics, kinds = (
        None if of is None else (of[here], of[others]) for of in (items.topic, items.kind)
    )
    kinds = None if kinds is None or combined.are_alike(*kinds) else kinds
    doubt = (items.doubt[here], items.doubt[others])
    try:
        combined.check_judge(human, judge, rest, topics=topics, doubt=doubt, alike=kinds is None)
        found = combined.combine_means(human, judge, rest, topics=topics)
        if kinds is not None:
            found = combined.combine_strata(human, judge, rest, kinds, topics=topics)
        elif topics is None and combined.can_part(*doubt):
            parts = (doubt[0] > 0).astype(np.int64), (doubt[1] > 0).astype(np.int64)
            by_doubt = combined.combine_strata(human, judge, rest, parts)
            found = combined.beside_people(found.people, by_doubt)
        off = judges.mean_estimate(judge - human, None if topics is None else topics[0])
    except combined.NoEstimate as problem:
        return row | {"reason": str(problem)}
    row.update(bias=off.value, bias_low=off.low, bias_high=off.high)
    return row | _three(found)


def _weighted(items: Items, drawn: Drawn) -> Row:
    """Estimate from items drawn with known probabilities. Labels that came since are not used."""
    framed = ~np.isnan(drawn.chance)
    used = items.there & (framed | (drawn.known & items.given))
    known, chosen = (drawn.known & items.given)[used], (drawn.chosen | drawn.known)[used]
    human, judge, given = items.human[used], items.judge[used], items.given[used]
    topic = None if items.topic is None else items.topic[used]
    chance = np.nan_to_num(drawn.chance, nan=1.0)[used]
    row: Row = {**dict.fromkeys(COMBINED[2:], np.nan), "earlier": 0, "reason": ""}
    many = int((chosen & ~known).sum())
    row.update(labelled=int(chosen.sum()), rest=int((~chosen).sum()), drawn=many)
    missing = int((chosen & ~given).sum())
    if missing:
        return row | {
            "reason": f"people have not answered {missing} of the {many} items yet that were "
            "drawn for them"
        }
    try:
        active.check_chosen(human, judge, chosen, known, topic)
    except combined.NoEstimate as problem:
        return row | {"reason": str(problem)}
    off, _ = active.combine_chosen(judge - human, judge, chance, chosen, known, topic=topic)
    found, pooled = active.combine_chosen(
        human, judge, chance, chosen, known, trusted=drawn.trusted, topic=topic
    )
    row.update(bias=off.people.value, bias_low=off.people.low, bias_high=off.people.high)
    return row | {"earlier": int(known.sum()) if pooled else 0} | _three(found)


def _three(found: combined.Combined) -> Row:
    row: Row = {"tuning": found.tuning, "worth": found.worth}
    for name in ESTIMATES:
        one = getattr(found, name)
        row.update({name: one.value, f"{name}_low": one.low, f"{name}_high": one.high})
    return row


def _behavior(whole: Beside, data: Beside, seed: int) -> dict[str, Any]:
    """How every model judges; empty tables of texts and checklists, which have no single value."""
    if data.aside is None or data.score == COSINE:
        found, weights, panel = dict[str, list[Row]](), list[Row](), list[Row]()
    else:
        judged = behavior.Judged(
            data.item,
            data.value,
            data.model,
            data.models,
            data.score == ACCURACY,
            len(data.labels),
            data.aside,
            data.topic,
        )
        found = behavior.tables(judged)
        panel, weights = behavior.panel(judged, seed=seed, drawn=whole.drawn is not None)
    return {
        "leaning": of_rows(found.get("leaning", []), behavior.LEANING),
        "calibration": of_rows(found.get("calibration", []), behavior.CALIBRATION),
        "reliability": of_rows(found.get("reliability", []), behavior.RELIABILITY),
        "drift": of_rows(found.get("drift", []), behavior.DRIFT),
        "version": of_rows(found.get("version", []), behavior.VERSIONS),
        "panel": of_rows(panel, behavior.PANEL),
        "weight": of_rows(weights, behavior.WEIGHT),
    }


def _rates(data: Beside) -> list[Row]:
    """Return how every model errs on each label, and the label's share corrected by it."""
    if data.score != ACCURACY:
        return []
    size, many = data.model.shape[1], len(data.labels)
    votes = np.zeros((size, many))
    np.add.at(votes, (data.item, data.value.astype(np.int64)), 1)
    most = (votes == votes.max(axis=1, keepdims=True)) & (votes.max(axis=1, keepdims=True) > 0)
    ways = most.sum(axis=1, keepdims=True)
    truth = most / ways.clip(1)
    return [
        {"model": at, "label": label, **_rate(own, truth[:, label], ways[:, 0], label, data.topic)}
        for at, own in enumerate(data.model)
        for label in range(min(many, MOST_LABELS))
    ]


def _rate(
    own: FloatArray, truth: FloatArray, ways: IntArray, label: int, topic: IntArray | None
) -> Row:
    """``truth`` (items,): the part of each item that has the label; ``ways``: among how many."""
    row: Row = {**dict.fromkeys(RATES[2:], np.nan), "reason": "", "corrected_reason": ""}
    there = ~np.isnan(own)
    beside, others = there & (ways > 0), there & (ways == 0)
    said = own == label
    try:
        of = None if topic is None else topic[beside]
        rates = judges.judge_rates(truth[beside], said[beside], topic=of)
    except combined.NoEstimate as problem:
        return row | {"reason": str(problem), "corrected_reason": str(problem)}
    for name in RATE:
        one = getattr(rates, name)
        row |= {name: one.value, f"{name}_low": one.low, f"{name}_high": one.high}
        row[f"{name}_n"] = one.n
    even = int(((truth > 0) & (truth < 1))[beside].sum())
    if even > EVEN * beside.sum():
        why = (
            f"people are even between this label and another on {even} of {beside.sum()} items, so "
            "what most people say is not known"
        )
        return row | {"corrected_reason": why}
    try:
        if topic is None:
            one = judges.correct_share(int(said[there].sum()), int(there.sum()), rates)
        else:
            topics = (topic[beside], topic[others])
            one = judges.correct_share_by_topic(truth[beside], said[beside], said[others], topics)
    except combined.NoEstimate as problem:
        return row | {"corrected_reason": str(problem)}
    return row | {"corrected": one.value, "corrected_low": one.low, "corrected_high": one.high}


METHOD = PARAMS.as_method("Can a model replace your annotators?", Beside, fit)
