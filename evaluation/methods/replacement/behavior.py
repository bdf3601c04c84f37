"""How a model judges, beside people: leanings, calibration, drift, versions, several as a panel.

Zheng et al. (2023, "Judging LLM-as-a-judge") name position, length and self-preference; each is
read beside people's on the same items (judges.leaning), as longer answers may be better. Tables,
whose indices are those of ``Beside``; NaN means not known, and ``reason`` says why in words.

``leaning``, a row a model and a kind (LEANINGS): model, kind, n (items), judge and people (how
often each chooses the side; for numbers, by how much each rates that kind higher), difference, all
with _low and _high, freedom (of the difference), reason. Of repetition there is the share of items
that it answered alike every time, and no people.

``calibration``, a row a model and a value: model, value (a label's index, or a number), n (items to
which the model gave it), said (people who say the same, as a share; or people's mean), low, high.

``reliability``, of numbers, a row a model and a range of what it said: model, value (its mean
there), said (people's), low, high, n. Neighbouring numbers are joined until there is an interval.

``drift``, a row a model and a part of its answers in time: model, part, since and until (days since
1970), n, agreement (with people: share who say the same, or mean distance), low, high; and one of
part -1: the second half less the first, with freedom.

``version``, a row a pair of models of one name: model, other, n, difference (agreement with people,
the second less the first), low, high, reason.

``panel``, a row a label (-1 for numbers): label, n, rest, people, both, each with _low and _high,
worth, best (the largest worth of a single model, for comparison), reason; ``weight``, a row a
model and a label: model, label, weight, mean over folds.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core import units
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.units import joined_bins
from evaluation.methods.replacement import combined, judges
from evaluation.methods.replacement.combined import LABELS, NoEstimate
from evaluation.methods.replacement.judges import POSITIVES

BoolArray = NDArray[np.bool_]
Row = dict[str, Any]
POSITION, LENGTH, SELF, REPETITION = "position", "length", "self", "repetition"
LEANINGS = (POSITION, LENGTH, SELF, REPETITION)
LONGER = 1.1  # times the words of the other text, from which one is the longer
PARTS = 4  # of a model's answers in time
SPAN = 1.0  # days below which nothing is said of drift
MOST_VALUES = 20
SIDES = 2


def _ends(*names: str) -> tuple[str, ...]:
    return tuple(f"{name}{end}" for name in names for end in ("", "_low", "_high"))


LEANING = ("model", "kind", "n", *_ends("judge", "people", "difference"), "freedom", "reason")
CALIBRATION = ("model", "value", "n", "said", "low", "high")
RELIABILITY = ("model", "value", "said", "low", "high", "n")
DRIFT = ("model", "part", "since", "until", "n", "agreement", "low", "high", "freedom", "reason")
VERSIONS = ("model", "other", "n", "difference", "low", "high", "reason")
PANEL = ("label", "n", "rest", *_ends("people", "both"), "worth", "best", "reason")
WEIGHT = ("model", "label", "weight")


@dataclass(frozen=True, eq=False)
class Aside:
    """What stands beside the values of people and models.

    ``turned`` (n,): whether a person saw the item's sides turned. ``model``, ``item``, ``value``,
    ``seen`` and ``at`` (r,): all answers of models, also repeated ones, whether turned, and when in
    days. ``words`` (items, 2): lengths of the one or two texts judged, NaN where there is none.
    ``own`` (models, items, 2): whether a text is the model's own. ``sides``: the indices of the
    labels for the first and the second text, where items are pairs.
    """

    turned: BoolArray
    model: IntArray
    item: IntArray
    value: FloatArray
    seen: BoolArray
    at: FloatArray
    words: FloatArray
    own: BoolArray
    sides: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Judged:
    """Values beside each other, as of ``method.Beside``; ``classes`` is False for numbers."""

    person_item: IntArray
    value: FloatArray
    model: FloatArray
    names: tuple[str, ...]
    classes: bool
    labels: int
    aside: Aside
    topic: IntArray | None = None  # (items,), where items come in topics

    def topics(self, rows: BoolArray | IntArray) -> IntArray | None:
        """Return the topics of these items; None if items have no topics."""
        return None if self.topic is None else self.topic[rows]

    @property
    def items(self) -> int:
        return self.model.shape[1]

    def mean(self, values: FloatArray) -> FloatArray:
        """Average people's values by item (items,); NaN where nobody answered."""
        count = np.bincount(self.person_item, minlength=self.items)
        with np.errstate(invalid="ignore"):
            found: FloatArray = np.bincount(self.person_item, values, minlength=self.items) / count
        return found

    def agreement(self, said: FloatArray) -> FloatArray:
        """Compare people with ``said`` (items,).

        Share of equal labels, or mean distance of numbers.
        """
        own = said[self.person_item]
        alike = (self.value == own).astype(float) if self.classes else np.abs(self.value - own)
        alike[np.isnan(own)] = np.nan
        return self.mean(alike)


def tables(data: Judged) -> dict[str, list[Row]]:
    """Make all tables of this module except the panel's; nothing random is used."""
    names = ("leaning", "calibration", "reliability", "drift", "version")
    found: dict[str, list[Row]] = {name: [] for name in names}
    for at in range(len(data.names)):
        found["leaning"] += [{"model": at, **_leaning(data, at, kind)} for kind in LEANINGS]
        found["calibration"] += [{"model": at, **row} for row in _calibration(data, at)]
        found["reliability"] += [{"model": at, **row} for row in _reliability(data, at)]
        found["drift"] += [{"model": at, **row} for row in _drift(data, at)]
    found["version"] = _versions(data)
    return found


def _leaning(data: Judged, at: int, kind: str) -> Row:
    row: Row = {**dict.fromkeys(LEANING[1:], np.nan), "kind": kind, "n": 0, "reason": ""}
    try:
        if kind == REPETITION:
            return row | _repetition(data, at)
        if data.aside.sides is None:
            return row | _gap(data, at, kind)
        return row | _side(data, at, kind)
    except NoEstimate as problem:
        return row | {"reason": str(problem)}


def _side(data: Judged, at: int, kind: str) -> Row:
    """Return how often the model and people choose the first, the longer, or the own text."""
    aside = data.aside
    assert aside.sides is not None  # noqa: S101 (asked for pairs only)
    if kind == POSITION:
        side = None
    elif kind == LENGTH:
        first, second = aside.words.T
        with np.errstate(invalid="ignore"):
            side = np.where(first > LONGER * second, 0, np.where(second > LONGER * first, 1, -1))
    else:
        mine = aside.own[at]
        side = np.where(mine[:, 0] & ~mine[:, 1], 0, np.where(mine[:, 1] & ~mine[:, 0], 1, -1))
    own = aside.model == at
    judge = _chosen(aside.item[own], aside.value[own], aside.seen[own], side, data)
    people = _chosen(data.person_item, data.value, aside.turned, side, data)
    both = ~np.isnan(judge) & ~np.isnan(people)
    if kind == SELF and not both.any():
        raise NoEstimate("no text that it judged is its own")
    parts = judges.leaning(judge[both], people[both], topic=data.topics(both))
    row: Row = {"n": int(both.sum())}
    for name, one in zip(("judge", "people", "difference"), parts, strict=True):
        least, most = (-1.0, 1.0) if name == "difference" else (0.0, 1.0)
        ends = (max(one.low, least), min(one.high, most))
        row |= {name: one.value, f"{name}_low": ends[0], f"{name}_high": ends[1]}
    return row | {"freedom": parts[2].freedom}


def _chosen(
    item: IntArray, value: FloatArray, turned: BoolArray, side: IntArray | None, data: Judged
) -> FloatArray:
    """(items,) share of these votes for the side (0 or 1 an item; None: the one shown first)."""
    first, second = data.aside.sides or (0, 1)
    votes = np.where(value == first, 1.0, np.where(value == second, 0.0, 0.5))
    for_second = turned if side is None else side[item] == 1
    votes = np.where(for_second, 1 - votes, votes)
    kept = np.ones(len(item), dtype=bool) if side is None else side[item] >= 0
    count = np.bincount(item[kept], minlength=data.items)
    with np.errstate(invalid="ignore"):
        found: FloatArray = np.bincount(item[kept], votes[kept], minlength=data.items) / count
    return found


def _gap(data: Judged, at: int, kind: str) -> Row:
    """Return how much more than people the model rates long texts, or its own, above the others."""
    if kind == POSITION or data.classes:
        raise NoEstimate("its items have no sides that could be preferred")
    words, mine = data.aside.words[:, 0], data.aside.own[at][:, 0]
    people, judge = data.mean(data.value), data.model[at]
    both = ~np.isnan(people) & ~np.isnan(judge) & ~np.isnan(words)
    if not both.any():
        raise NoEstimate("its items have no texts of a known length")
    group = words > np.median(words[both]) if kind == LENGTH else mine
    here, there = both & group, both & ~group
    if kind == SELF and not here.any():
        raise NoEstimate("no text that it judged is its own")
    if both.sum() < LABELS or min(here.sum(), there.sum()) < POSITIVES:
        raise NoEstimate(
            f"it needs {LABELS} items that both judged, {POSITIVES} of each kind, and there are "
            f"{here.sum()} and {there.sum()}"
        )
    row: Row = {"n": int(both.sum())}
    parts = {"judge": judge, "people": people, "difference": judge - people}
    for name, values in parts.items():
        middle, low, high, row["freedom"] = _apart(values, here, there, data)
        if np.isnan(low) and data.topic is not None:
            raise NoEstimate("its items are of too few topics")
        row |= {name: middle, f"{name}_low": low, f"{name}_high": high}
    return row


def _apart(
    values: FloatArray, here: BoolArray, there: BoolArray, data: Judged
) -> tuple[float, float, float, float]:
    """Mean of some items less that of others, its interval (or NaN), and degrees of freedom."""
    middle = float(values[here].mean() - values[there].mean())
    if data.topic is None:
        found = scipy.stats.ttest_ind(values[here], values[there], equal_var=False)
        low, high = found.confidence_interval(0.95)
        return middle, float(low), float(high), float(found.df)
    known = np.nan_to_num(values)
    two, one = ((known * part, part.astype(np.float64)) for part in (here, there))
    clustered = units.difference(one, two, data.topic)
    return middle, clustered.low, clustered.high, clustered.freedom


def _repetition(data: Judged, at: int) -> Row:
    aside = data.aside
    own = aside.model == at
    item, value = aside.item[own], aside.value[own]
    count = np.bincount(item, minlength=data.items)
    highest, lowest = np.full(data.items, -np.inf), np.full(data.items, np.inf)
    np.maximum.at(highest, item, value)
    np.minimum.at(lowest, item, value)
    asked = count > 1
    n = int(asked.sum())
    if n < LABELS:
        raise NoEstimate(f"it needs {LABELS} items that it answered more than once, and has {n}")
    same = (highest == lowest)[asked].astype(np.float64)
    row = _mean(same, share=True, name="judge", topic=data.topics(asked))
    return {"n": n, "judge": row["judge"], "judge_low": row["low"], "judge_high": row["high"]}


def _calibration(data: Judged, at: int) -> list[Row]:
    own = data.model[at]
    people = data.agreement(own) if data.classes else data.mean(data.value)
    both = ~np.isnan(own) & ~np.isnan(people)
    values = range(data.labels) if data.classes else np.unique(own[both])
    rows = []
    for value in list(values)[:MOST_VALUES]:
        given = both & (own == value)
        said = people[given]
        row: Row = {"value": float(value), "n": len(said)}
        row |= _mean(said, share=data.classes, name="said", topic=data.topics(given))
        rows.append(row)
    return rows


def _reliability(data: Judged, at: int) -> list[Row]:
    """Return people's values for the model's numbers, in ranges of LABELS items or more."""
    if data.classes:
        return []
    own, people = data.model[at], data.mean(data.value)
    both = np.flatnonzero(~np.isnan(own) & ~np.isnan(people))
    rows = []
    for part in joined_bins(np.unique(own[both], return_inverse=True)[1], LABELS):
        rows_of = both[part]
        row: Row = {"value": float(own[rows_of].mean()), "n": len(rows_of)}
        topic = data.topics(rows_of)
        rows.append(row | _mean(people[rows_of], share=False, name="said", topic=topic))
    return rows


def _mean(values: FloatArray, *, share: bool, name: str, topic: IntArray | None = None) -> Row:
    """Mean with interval: Wilson's of shares (cautious, as those vary less), else t.

    Between topics where there are any.
    """
    n = len(values)
    middle = float(values.mean()) if n else np.nan
    row: Row = {name: middle, "low": np.nan, "high": np.nan}
    if share and n >= POSITIVES:
        if topic is None:
            row["low"], row["high"] = units.wilson(middle, n, 0.95)
        else:
            found = units.share(values, np.ones(n), topic)
            row["low"], row["high"] = found.low, found.high
    elif not share and n >= LABELS:
        with suppress(NoEstimate):
            one = judges.mean_estimate(values, topic)
            row["low"], row["high"] = one.low, one.high
    return row


def _drift(data: Judged, at: int) -> list[Row]:
    """Agreement with people by when the model answered; the first answer to an item counts."""
    aside, own = data.aside, data.model[at]
    when = np.full(data.items, np.inf)
    mine = aside.model == at
    np.minimum.at(when, aside.item[mine], aside.at[mine])
    alike = data.agreement(own)
    both = np.flatnonzero(~np.isnan(own) & ~np.isnan(alike) & np.isfinite(when))
    order = both[np.argsort(when[both], kind="stable")]
    none: Row = {**dict.fromkeys(DRIFT[1:], np.nan), "part": -1, "n": len(order), "reason": ""}
    if len(order) < 2 * LABELS:
        few = f"it needs {2 * LABELS} items that people and the model answered"
        return [none | {"reason": f"{few}, and there are {len(order)}"}]
    if when[order[-1]] - when[order[0]] < SPAN:
        return [none | {"reason": "the model gave all of its answers within one day"}]
    rows = []
    for part, items in enumerate(np.array_split(order, min(PARTS, len(order) // LABELS))):
        ends: Row = {"since": float(when[items[0]]), "until": float(when[items[-1]])}
        told = _mean(alike[items], share=data.classes, name="agreement", topic=data.topics(items))
        row: Row = {"part": part, "n": len(items), "freedom": np.nan, "reason": ""}
        rows.append(row | ends | told)
    first, second = (np.isin(np.arange(data.items), half) for half in np.array_split(order, 2))
    middle, low, high, freedom = _apart(alike, second, first, data)
    if np.isnan(low):
        why = "the model agrees equally with people on every item"
        if data.topic is not None:
            why = "its items are of too few topics"
        return [*rows, none | {"reason": why}]
    ends = {"low": low, "high": high, "freedom": freedom}
    return [*rows, none | {"agreement": middle, **ends}]


def _versions(data: Judged) -> list[Row]:
    """Models of one name with other prompts or versions behind a comma, on items of both."""
    base = [name.partition(", ")[0] for name in data.names]
    rows = []
    for at, name in enumerate(base):
        for other in range(at + 1, len(base)):
            if base[other] == name:
                difference = data.agreement(data.model[other]) - data.agreement(data.model[at])
                rows.append({"model": at, "other": other, **_paired(difference, data)})
    return rows


def _paired(difference: FloatArray, data: Judged) -> Row:
    both = ~np.isnan(difference)
    difference, n = difference[both], int(both.sum())
    row: Row = {"n": n, "difference": np.nan, "low": np.nan, "high": np.nan, "reason": ""}
    if n < LABELS:
        return row | {"reason": f"it needs {LABELS} items that both answered, and there are {n}"}
    row |= _mean(difference, share=False, name="difference", topic=data.topics(both))
    return row | ({"reason": "its items are of too few topics"} if np.isnan(row["low"]) else {})


def panel(data: Judged, *, seed: int, drawn: bool) -> tuple[list[Row], list[Row]]:
    """Several models as one judge, a row a label; and the weights. ``drawn``: items were chosen."""
    there = ~np.isnan(data.model)
    used = np.flatnonzero(there.sum(axis=1) * 2 >= there.sum(axis=1).max())
    common = there[used].all(axis=0)
    people = data.mean(data.value)
    labelled, rest = common & ~np.isnan(people), common & np.isnan(people)
    rows, weights = [], []
    for label in list(range(data.labels))[:MOST_VALUES] if data.classes else [-1]:
        row: Row = {**dict.fromkeys(PANEL[1:], np.nan), "label": label, "reason": ""}
        row |= {"n": int(labelled.sum()), "rest": int(rest.sum())}
        try:
            _refuse(used, row, drawn=drawn)
            if label >= 0:
                human = data.mean((data.value == label).astype(float))
                said = (data.model[used] == label).astype(float)
            else:
                human, said = people, data.model[used]
            parts = human[labelled], said[:, labelled].T, said[:, rest].T
            topics = None if data.topic is None else (data.topic[labelled], data.topic[rest])
            means = (parts[1].mean(axis=1), parts[2].mean(axis=1))
            doubt = (parts[1].std(axis=1), parts[2].std(axis=1))
            combined.check_judge(parts[0], *means, topics=topics, doubt=doubt)
            found = judges.combine_panel(*parts, topics=topics, seed=seed)
            alone = [
                combined.combine_means(
                    parts[0], parts[1][:, one], parts[2][:, one], topics=topics
                ).worth
                for one in range(len(used))
            ]
        except NoEstimate as problem:
            rows.append(row | {"reason": str(problem)})
            continue
        for name in ("people", "both"):
            one = getattr(found.combined, name)
            row |= {name: one.value, f"{name}_low": one.low, f"{name}_high": one.high}
        rows.append(row | {"worth": found.combined.worth, "best": max(alone)})
        weights += [
            {"model": int(model), "label": label, "weight": float(weight)}
            for model, weight in zip(used, found.weights, strict=True)
        ]
    return rows, weights


def _refuse(used: IntArray, row: Row, *, drawn: bool) -> None:
    """Raise NoEstimate where no panel can be made."""
    if len(used) < SIDES:
        raise NoEstimate("a panel needs two models that answered about as many items")
    if drawn:
        raise NoEstimate("items were drawn for people, and a panel takes items as they came")
    if row["rest"] < SIDES:
        raise NoEstimate("people labelled every item that all models labelled")
