"""How often the intervals of "may a model replace people" hold, and what the test gets wrong.

``python -m tests.studies.replacement_coverage [simulations] [table]`` prints these tables, or one:

- combined means at 30, 100 and 300 labels of people: share of 95 % intervals that hold the mean of
  what people would say about all items, for the people alone, the judge alone (no promise) and both
- combined Bradley-Terry merits, the same by merit
- the alternative annotator test: how often a model at the edge of what is allowed is said to hold
  against a person, how often it passes, and how often the interval of its advantage holds
- shares corrected by a judge's sensitivity and specificity, and means by a panel of four judges
- means from items that were drawn for people where a judge is unsure, beside a random draw
- verdicts: how often a model is said to pass, and to be worse, by how much worse it is, alone and
  among eight; and with items of 5 to 40 topics that differ
- estimates by topic (whole topics labelled, or a part of each), from strata of which unequal parts
  were labelled, where labelled items are easier for the judge, of heavy tails, and weighted
- shares corrected where people are even on hard items, and by topic

A share near .95 or .05 has a simulation error of .005 from 2,000 simulations, .011 from 400.
"""

from __future__ import annotations

import math
import sys
from contextlib import suppress
from dataclasses import replace

import numpy as np

from evaluation.methods.replacement import active, annotator, combined, judges, method, power

SEED = 4211
LABELS = (30, 100, 300)
ITEMS = 2000
TRUTH = {"shares": 0.4, "rare": 0.1, "ratings": 3.0}  # what people would say of all such items


def mean_coverage(simulations: int) -> None:
    """Shares of 0 and 1 and ratings of 1 to 5, judges of three qualities."""
    rng = np.random.default_rng(SEED)
    print("values    labels  quality  given  people  judge  both  width both/people")
    for kind in ("shares", "rare", "ratings"):
        for n in LABELS:
            for quality in (0.5, 0.8, 0.95):
                held, width, given, truth = np.zeros(3), 0.0, 0, TRUTH[kind]
                for _ in range(simulations):
                    human, judge = crowd(rng, kind, quality)
                    chosen = rng.permutation(ITEMS)
                    ours, others = chosen[:n], chosen[n:]
                    try:
                        combined.check_judge(human[ours], judge[ours], judge[others])
                    except combined.NoEstimate:
                        continue
                    given += 1
                    found = combined.combine_means(human[ours], judge[ours], judge[others])
                    three = (found.people, found.judge, found.both)
                    held += [one.low <= truth <= one.high for one in three]
                    width += found.both.error / max(found.people.error, 1e-12)
                told = "  ".join(f"{share:6.3f}" for share in held / max(given, 1))
                print(
                    f"{kind:8}  {n:6d}  {quality:7.2f}  {given / simulations:.3f}  {told}  "
                    f"{width / max(given, 1):.2f}"
                )


def crowd(rng: np.random.Generator, kind: str, quality: float) -> tuple[np.ndarray, np.ndarray]:
    """What people would say of all items, and a biased judge who follows them so well."""
    if kind == "ratings":
        human = rng.integers(1, 6, ITEMS).astype(float)
        other = rng.integers(1, 6, ITEMS).astype(float)
        judge = np.where(rng.random(ITEMS) < quality, human, other) + 0.3
        return human, judge
    human = (rng.random(ITEMS) < (0.4 if kind == "shares" else 0.1)).astype(float)
    wrong = rng.random(ITEMS) > quality
    return human, np.where(wrong, np.maximum(1 - human, rng.random(ITEMS) < 0.2), human)


def merit_coverage(simulations: int) -> None:
    """Five systems, the last as reference."""
    rng = np.random.default_rng(SEED)
    merit = np.array([0.8, 0.4, 0.0, -0.4, 0.0])
    print("labels  people  both  width both/people")
    for n in LABELS[1:]:
        held, width = np.zeros(2), 0.0
        for _ in range(simulations):
            left = rng.integers(0, 5, ITEMS)
            right = (left + rng.integers(1, 5, ITEMS)) % 5
            design = np.zeros((ITEMS, 5))
            design[np.arange(ITEMS), left], design[np.arange(ITEMS), right] = 1, -1
            human = (rng.random(ITEMS) < 1 / (1 + np.exp(-(design @ merit)))).astype(float)
            judge = np.where(rng.random(ITEMS) < 0.8, human, 1.0)  # likes what stands left
            x = design[:, :4]
            found = combined.combine_logistic(x[:n], human[:n], judge[:n], x[n:], judge[n:])
            for at, (value, error) in enumerate(
                ((found.people, found.people_error), (found.both, found.both_error))
            ):
                held[at] += (np.abs(value - merit[:4]) <= 1.96 * error).mean()
            width += (found.both_error / found.people_error).mean()
        told = "  ".join(f"{share:5.3f}" for share in held / simulations)
        print(f"{n:6d}  {told}  {width / simulations:.2f}")


def test_errors(simulations: int) -> None:
    """People right four times in five; a model that is worse by exactly epsilon, or by nothing."""
    rng = np.random.default_rng(SEED)
    print("items  people  epsilon  wrongly holds  wrongly passes  advantage covered")
    for items, people in ((30, 3), (50, 3), (100, 5), (300, 10)):
        for epsilon in (0.1, 0.2):
            wrong = passed = covered = 0.0
            for _ in range(simulations):
                right, truth = edge(rng, people, epsilon), rng.integers(0, 3, items)
                given = np.where(
                    rng.random((people, items)) < 0.8, truth, rng.integers(0, 3, (people, items))
                )
                model = np.where(rng.random(items) < right, truth, rng.integers(0, 3, items))
                person, item = (part.ravel() for part in np.indices((people, items)))
                data = annotator.compare_labels(
                    person,
                    item,
                    given.ravel().astype(float),
                    model.astype(float),
                    people=tuple(map(str, range(people))),
                )
                found = annotator.judge(data, epsilon)
                wrong += (found.p <= annotator.LEVEL).mean()
                passed += found.passes
                low, high = annotator.advantage_interval(data)
                covered += low <= EXPECTED[people, epsilon][1] <= high
            print(
                f"{items:5d}  {people:6d}  {epsilon:7.2f}  {wrong / simulations:13.3f}  "
                f"{passed / simulations:14.3f}  {covered / simulations:17.3f}"
            )


EXPECTED: dict[tuple[int, float], tuple[float, float]] = {}


def edge(rng: np.random.Generator, people: int, epsilon: float) -> float:
    """The share in which the model must look up the truth to be worse by epsilon, found once."""
    if (people, epsilon) not in EXPECTED:
        items = 60_000
        truth = rng.integers(0, 3, items)
        given = np.where(
            rng.random((people, items)) < 0.8, truth, rng.integers(0, 3, (people, items))
        )
        draw, other = rng.random(items), rng.integers(0, 3, items)

        def worse(right: float) -> tuple[float, float]:
            model = np.where(draw < right, truth, other)
            person, item = (part.ravel() for part in np.indices((people, items)))
            data = annotator.compare_labels(
                person,
                item,
                given.ravel().astype(float),
                model.astype(float),
                people=tuple(map(str, range(people))),
            )
            return float(data.difference.mean()), float(data.advantage.mean())

        low, high = 0.0, 1.0
        for _ in range(16):
            middle = (low + high) / 2
            low, high = (middle, high) if worse(middle)[0] > epsilon else (low, middle)
        EXPECTED[people, epsilon] = (middle, worse(middle)[1])
    return EXPECTED[people, epsilon][0]


def judge_coverage(simulations: int) -> None:
    """Judges of known sensitivity and specificity; panels of judges right .5 to .9 of the time."""
    rng = np.random.default_rng(SEED)
    print("share  sensitivity  specificity  labels  given  held")
    for share, sees, spares in ((0.3, 0.85, 0.9), (0.1, 0.9, 0.95), (0.5, 0.7, 0.7)):
        for n in LABELS[1:]:
            held = given = 0
            for _ in range(simulations):
                there = rng.random(ITEMS + n) < share
                called = rng.random(ITEMS + n) < np.where(there, sees, 1 - spares)
                try:
                    rates = judges.judge_rates(there[:n], called[:n])
                    found = judges.correct_share(int(called[n:].sum()), ITEMS, rates)
                except combined.NoEstimate:
                    continue
                given += 1
                held += found.low <= share <= found.high
            told = f"{given / simulations:5.3f}  {held / max(given, 1):5.3f}"
            print(f"{share:5.2f}  {sees:11.2f}  {spares:11.2f}  {n:6d}  {told}")
    print("labels  panel held")
    for n in LABELS:
        held = 0
        for _ in range(simulations):
            human = (rng.random(ITEMS) < 0.4).astype(float)
            wrong = rng.random((ITEMS, 4)) < [0.1, 0.2, 0.3, 0.5]
            said = np.where(wrong, 1 - human[:, None], human[:, None])
            both = judges.combine_panel(human[:n], said[:n], said[n:]).combined.both
            held += both.low <= TRUTH["shares"] <= both.high
        print(f"{n:6d}  {held / simulations:.3f}")


def drawn_coverage(simulations: int) -> None:
    """Items that a judge finds easy or hard; 30 labels from before that are a random part, or 100
    of easy items alone (e), which are not trusted; then a draw by uncertainty, and one at random.
    """
    rng = np.random.default_rng(SEED)
    print("values   wrong      before  drawn  given  people  both  random  width / random")
    for kind in TRUTH:
        for wrong in ((0.02, 0.4), (0.15, 0.3), (0.0, 0.1)):
            for before in ("30", "100e", "0"):
                for n in LABELS:
                    rows = []
                    for _ in range(simulations):
                        with suppress(combined.NoEstimate):
                            rows.append(drawn_once(rng, kind, wrong, (before, n)))
                    if not rows:
                        continue
                    held = np.array([[a[1], a[2], b[2]] for a, b in rows]).mean(axis=0)
                    width = np.mean([a[0] for a, _ in rows]) / np.mean([b[0] for _, b in rows])
                    told = "  ".join(f"{share:.3f}" for share in held)
                    print(
                        f"{kind:8} {wrong!s:12} {before:>4}  {n:4d}  "
                        f"{len(rows) / simulations:.3f}  {told}  {width:.2f}"
                    )


def drawn_once(
    rng: np.random.Generator, kind: str, wrong: tuple[float, float], sizes: tuple[str, int]
) -> list[tuple[float, bool, bool]]:
    """Half width, and whether it holds for people and for both: by uncertainty, and at random."""
    before, n = sizes
    hard = (rng.random(ITEMS) < 0.3).astype(int)
    errs = [rng.random(ITEMS) < np.take(wrong, hard) for _ in range(2)]
    if kind == "ratings":
        human = rng.integers(1, 6, ITEMS).astype(float)
        judge, other = (np.where(e, rng.integers(1, 6, ITEMS), human) + 0.3 for e in errs)
    else:
        human = (rng.random(ITEMS) < TRUTH[kind]).astype(float)
        judge, other = (np.where(e, 1 - human, human) for e in errs)
    known = np.zeros(ITEMS, dtype=bool)
    of = np.flatnonzero(hard == 0) if before.endswith("e") else np.arange(ITEMS)
    known[rng.permutation(of)[: int(before.rstrip("e"))]] = True
    group, doubt = active.group_items(judge, other[None, :])
    errors = active.expected_errors(group, known, (human - judge) ** 2, doubt)
    found = []
    for mix in (active.MIX, 1.0):
        chance, chosen = np.ones(ITEMS), known.copy()
        chance[~known] = active.chances(errors[~known], n, mix=mix)
        chosen[~known] = active.draw(chance[~known], rng)
        active.check_chosen(human, judge, chosen, known)
        trusted = not before.endswith("e")  # trusted, .83 of the intervals would hold at worst
        told, _ = active.combine_chosen(human, judge, chance, chosen, known, trusted=trusted)
        held = [part.low <= TRUTH[kind] <= part.high for part in (told.people, told.both)]
        found.append(((told.both.high - told.both.low) / 2, *held))
    return found


def labelled(
    rng: np.random.Generator,
    right: float,
    *,
    items: int,
    people: int,
    topics: int = 0,
    sd: float = 0.0,
) -> annotator.Comparisons:
    """People right four times in five beside a model that is so by topic, more or less."""
    truth = rng.integers(0, 3, items)
    topic = np.arange(items) % max(topics, 1)
    share = right + (rng.normal(0, sd, topics)[topic] if topics else 0.0)
    given = np.where(rng.random((people, items)) < 0.8, truth, rng.integers(0, 3, (people, items)))
    model = np.where(rng.random(items) < share, truth, rng.integers(0, 3, items)).astype(float)
    person, item = (part.ravel() for part in np.indices((people, items)))
    names = tuple(map(str, range(people)))
    found = annotator.compare_labels(person, item, given.ravel().astype(float), model, people=names)
    return replace(found, topic=topic[found.item]) if topics else found


def at_difference(wanted: float, *, people: int, sd: float = 0.0) -> tuple[float, float]:
    """Of a model that is worse by ``wanted``: how often it is right, and its advantage."""
    low, high = 0.0, 1.0
    for _ in range(14):
        middle = (low + high) / 2
        rng = np.random.default_rng(SEED)
        topics = {"topics": 6000, "sd": sd} if sd else {}
        found = labelled(rng, middle, items=60_000, people=people, **topics)
        worse = float(found.difference.mean())
        low, high = (middle, high) if worse > wanted else (low, middle)
    return middle, float(found.advantage.mean())


def verdict_errors(simulations: int) -> None:
    """The verdict at epsilon .15: yes where the model passes, no where it is shown to be worse."""
    rng = np.random.default_rng(SEED)
    print("items  people  models  worse by  yes    no     no by power (before)")
    for items, people, models in ((30, 3, 1), (200, 3, 1), (200, 5, 1), (200, 10, 1), (200, 5, 8)):
        for wanted in (0.0, 0.045, 0.094, 0.114, 0.15, 0.25, 0.35):
            right, _ = at_difference(wanted, people=people)
            said = np.zeros(3)
            times = max(simulations // models, 50)
            for run in range(times):
                told = np.zeros(3)
                for _ in range(models):
                    found = labelled(rng, right, items=items, people=people)
                    claim = annotator.claim_half(*annotator.moments(found), 0.15, family=models)
                    passes = annotator.judge(found, 0.15).passes
                    told[0] += claim.direction < 0 and passes
                    told[1] += claim.direction > 0
                    if models == 1 and run < 200:
                        chance = power.chances(
                            found, (items,), np.array([0.15]), rng=rng, draws=100
                        )
                        told[2] += not passes and chance[0, 0] >= power.ENOUGH
                said += told > 0
            yes, no = said[:2] / times
            before = f"{said[2] / min(times, 200):.3f}" if models == 1 else "-"
            sizes = f"{items:5d}  {people:6d}  {models:6d}"
            print(f"{sizes}  {wanted:8.3f}  {yes:.3f}  {no:.3f}  {before}", flush=True)
    print("topics  items  sd    wrong yes/no by item  by topic       advantage by item  by topic")
    for sd in (0.15, 0.25):
        right, advantage = at_difference(0.15, people=3, sd=sd)
        for topics, items in ((5, 300), (10, 300), (20, 300), (40, 400)):
            wrong, held = np.zeros((2, 2)), np.zeros(2)
            for _ in range(simulations):
                found = labelled(rng, right, items=items, people=3, topics=topics, sd=sd)
                for at, one in enumerate((replace(found, topic=None), found)):
                    claim = annotator.claim_half(*annotator.moments(one), 0.15)
                    passes = annotator.judge(one, 0.15).passes
                    # By item: what was published, without an interval for the verdict.
                    wrong[at] += passes and (at == 0 or claim.direction < 0), claim.direction > 0
                    low, high = annotator.advantage_interval(one)
                    held[at] += low <= advantage <= high
            (a, b), (c, d) = wrong / simulations
            one, two = held / simulations
            print(
                f"{topics:6d}  {items:5d}  {sd:.2f}  {a:.3f} {b:.3f}           {c:.3f} {d:.3f}    "
                f"{one:.3f}              {two:.3f}",
                flush=True,
            )


def topic_coverage(simulations: int) -> None:
    """20 topics of 100 items; people labelled whole topics, or so many items of each."""
    rng = np.random.default_rng(SEED)
    print(
        "values   sd    bias  labelled      given  people  both   both by item  width both/people"
    )
    for kind in ("shares", "ratings"):
        for sd, off in ((0.15, 0.1), (0.05, 0.15)):
            for design in ("2 whole", "5 whole", "8 whole", "10 whole", "3 of each", "10 of each"):
                held, width, given = np.zeros(3), 0.0, 0
                for _ in range(simulations):
                    topic, human, judge = by_topic(rng, kind, sd, off)
                    many = int(design.split()[0])
                    own = topic < many if "whole" in design else np.arange(2000) % 100 < many
                    parts = (human[own], judge[own], judge[~own])
                    topics = (topic[own], topic[~own])
                    alone = combined.combine_means(*parts).both
                    held[2] += alone.low <= TRUTH[kind] <= alone.high
                    try:
                        combined.check_judge(*parts, topics=topics)
                    except combined.NoEstimate:
                        continue
                    given += 1
                    found = combined.combine_means(*parts, topics=topics)
                    for at, one in enumerate((found.people, found.both)):
                        held[at] += one.low <= TRUTH[kind] <= one.high
                    width += found.both.error / found.people.error
                people, both = held[:2] / max(given, 1)
                print(
                    f"{kind:8} {sd:.2f}  {off:.2f}  {design:12}  {given / simulations:.3f}  "
                    f"{people:.3f}   {both:.3f}  {held[2] / simulations:.3f}         "
                    f"{width / max(given, 1):.2f}",
                    flush=True,
                )


def by_topic(
    rng: np.random.Generator, kind: str, sd: float, off: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Topics that differ in what people say, and in how the judge errs."""
    topic = np.repeat(np.arange(20), 100)
    own, bias = rng.normal(0, sd, 20)[topic], rng.normal(0, off, 20)[topic]
    if kind == "ratings":
        human = 3 + 4 * own + rng.normal(size=2000)
        return topic, human, human + 4 * bias + rng.normal(0.3, 0.7, 2000)
    human = (rng.random(2000) < np.clip(0.4 + own, 0, 1)).astype(float)
    wrong = rng.random(2000) < np.clip(0.2 + bias, 0, 0.6)
    return topic, human, np.where(wrong, 1 - human, human)


def strata_coverage(simulations: int) -> None:
    """Two kinds of items, .2 and .6; labelled are 200, of the one kind 1 to 9 times as many."""
    rng = np.random.default_rng(SEED)
    print("labelled of the kinds  given  by kind  as one")
    for share in (0.5, 0.3, 0.1):
        held, given = np.zeros(2), 0
        for _ in range(simulations):
            kind = (rng.random(ITEMS) < 0.5).astype(np.int64)
            human = (rng.random(ITEMS) < np.where(kind, 0.6, 0.2)).astype(float)
            judge = np.where(rng.random(ITEMS) < 0.2, 1 - human, human)
            own = rng.random(ITEMS) < 0.2 * np.where(kind, share, 1 - share)
            kinds, parts = (kind[own], kind[~own]), (human[own], judge[own], judge[~own])
            one = combined.combine_means(*parts).both
            held[1] += one.low <= 0.4 <= one.high
            with suppress(combined.NoEstimate):
                alike = combined.are_alike(*kinds)
                combined.check_judge(*parts, alike=alike)
                found = one if alike else combined.combine_strata(*parts, kinds).both
                given += 1
                held[0] += found.low <= 0.4 <= found.high
        print(
            f"{200 * share:3.0f} and {200 * (1 - share):3.0f}           {given / simulations:.3f}  "
            f"{held[0] / max(given, 1):.3f}    {held[1] / simulations:.3f}",
            flush=True,
        )


def difficulty_coverage(simulations: int) -> None:
    """Three in ten items are hard for judges, and people labelled fewer of them, or none."""
    rng = np.random.default_rng(SEED)
    print("hard labelled  judges  labels  by mean: given  held   doubt: given  held  in two  width")
    for odds in (1.0, 0.5, 0.25, 0.0):
        for others in (1, 3):
            for n in LABELS[1:]:
                held, given, width = np.zeros(3), np.zeros(2), 0.0
                for _ in range(simulations):
                    hard = rng.random(ITEMS) < 0.3
                    human = (rng.random(ITEMS) < 0.4).astype(float)
                    wrong = rng.random((1 + others, ITEMS)) < np.where(hard, 0.4, 0.03)
                    # Most of a judge's errors find what is not there; the mean moves little.
                    wrong &= (human == 0) | (rng.random((1 + others, ITEMS)) < 0.5)
                    said = np.where(wrong, 1 - human, human)
                    weight = np.where(hard, odds, 1.0)
                    own = np.zeros(ITEMS, dtype=bool)
                    own[rng.choice(ITEMS, n, replace=False, p=weight / weight.sum())] = True
                    doubt = (said[1:] != said[0]).mean(axis=0)
                    parts = (human[own], said[0][own], said[0][~own])
                    one = combined.combine_means(*parts).both
                    for at, of in enumerate((None, (doubt[own], doubt[~own]))):
                        with suppress(combined.NoEstimate):
                            combined.check_judge(*parts, doubt=of)
                            given[at] += 1
                            held[at] += one.low <= 0.4 <= one.high
                            if at and combined.can_part(doubt[own], doubt[~own]):
                                two = (doubt > 0).astype(np.int64)
                                parted = combined.combine_strata(*parts, (two[own], two[~own]))
                                width += parted.both.error / one.error
                                one = parted.both
                            elif at:
                                width += 1.0
                            held[2] += at and one.low <= 0.4 <= one.high
                a, b, c = held / np.append(given, given[1]).clip(1)
                width /= max(given[1], 1)
                print(
                    f"{odds:13.2f}  {others:6d}  {n:6d}  {given[0] / simulations:14.3f}  {a:.3f}  "
                    f"{given[1] / simulations:13.3f}  {b:.3f}  {c:.3f}  {width:.2f}",
                    flush=True,
                )


def tail_coverage(simulations: int) -> None:
    """Values with heavy tails, and weighted means: items chosen with chances from .03 to .9."""
    rng = np.random.default_rng(SEED)
    print("values       labels  held without a check  given  held")
    draws = {
        "normal": (lambda n: rng.normal(size=n), 0.0),
        "exponential": (lambda n: rng.exponential(size=n), 1.0),
        "lognormal": (lambda n: rng.lognormal(0, 1, n), float(np.exp(0.5))),
        "Pareto 2.5": (lambda n: rng.pareto(2.5, n), 1 / 1.5),
        "rare ratings": (
            lambda n: rng.choice([1.0, 2, 3, 4, 5], n, p=[0.8, 0.1, 0.05, 0.03, 0.02]),
            1.37,
        ),
    }
    for name, (draw, truth) in draws.items():
        for n in LABELS:
            held, given = np.zeros(2), 0
            for _ in range(simulations):
                human = draw(ITEMS)
                judge = 0.7 * human + rng.normal(0, 0.5, ITEMS)
                parts = (human[:n], judge[:n], judge[n:])
                one = combined.combine_means(*parts).both
                held[0] += one.low <= truth <= one.high
                with suppress(combined.NoEstimate):
                    combined.check_judge(*parts)
                    given += 1
                    held[1] += one.low <= truth <= one.high
            print(
                f"{name:12} {n:6d}  {held[0] / simulations:20.3f}  {given / simulations:.3f}  "
                f"{held[1] / max(given, 1):.3f}",
                flush=True,
            )
    held = np.zeros(4)
    for _ in range(simulations):
        human = rng.normal(3, 1, ITEMS)
        judge = human + rng.normal(0.3, 0.7, ITEMS)
        chance = np.clip(rng.beta(2, 18, ITEMS), 0.03, 1)
        own = rng.random(ITEMS) < chance
        parts = (human[own], judge[own], judge[~own])
        for at, exact in enumerate((True, False)):
            found = combined.combine_means(*parts, weights=1 / chance[own], exact=exact)
            held[2 * at] += found.people.low <= 3 <= found.people.high
            held[2 * at + 1] += found.both.low <= 3 <= found.both.high
    now, both, then, published = held / simulations
    print(f"weighted: people {now:.3f}, both {both:.3f}; as published {then:.3f}, {published:.3f}")


def tie_coverage(simulations: int) -> None:
    """Three in ten items are hard: people are right in .98 or .7, a judge in .95 or .7."""
    rng = np.random.default_rng(SEED)
    print("share  people  labels  without even items: value  held   even  refused  held")
    for share in (0.1, 0.3):
        for people in (2, 3):
            for n in LABELS[1:]:
                values, held, even, refused, given = [], np.zeros(2), 0.0, 0, 0
                for _ in range(simulations):
                    hard, truth = rng.random(ITEMS) < 0.3, rng.random(ITEMS) < share
                    right = rng.random((people, ITEMS)) < np.where(hard, 0.7, 0.98)
                    mean = np.where(right, truth, ~truth).mean(axis=0)
                    most = np.where(mean == 0.5, 0.5, mean > 0.5)
                    judge = np.where(rng.random(ITEMS) < np.where(hard, 0.7, 0.95), truth, ~truth)
                    own, said = most[:n], judge[:n]
                    told = own != 0.5
                    even += 1 - told.mean()
                    with suppress(combined.NoEstimate):
                        rates = judges.judge_rates(own[told] == 1, said[told])
                        one = judges.correct_share(int(judge.sum()), ITEMS, rates)
                        values.append(one.value)
                        held[0] += one.low <= share <= one.high
                    if (~told).sum() > method.EVEN * n:
                        refused += 1
                        continue
                    with suppress(combined.NoEstimate):
                        rates = judges.judge_rates(own, said)
                        one = judges.correct_share(int(judge.sum()), ITEMS, rates)
                        given += 1
                        held[1] += one.low <= majority(share, people) <= one.high
                a, b = held[0] / max(len(values), 1), held[1] / max(given, 1)
                print(
                    f"{share:5.2f}  {people:6d}  {n:6d}  {np.mean(values):25.3f}  {a:.3f}  "
                    f"{even / simulations:.3f}  {refused / simulations:7.3f}  {b:.3f}",
                    flush=True,
                )
    print("share  topics  sd    given  held")
    for share, sd in ((0.3, 0.1), (0.3, 0.2), (0.15, 0.1)):
        for topics in (10, 20, 40):
            held = given = 0
            for _ in range(simulations):
                topic = rng.integers(0, topics, ITEMS)
                own = np.clip(share + rng.normal(0, sd, topics), 0, 1)[topic]
                right = np.clip(0.85 + rng.normal(0, sd / 2, topics), 0, 1)[topic]
                truth = rng.random(ITEMS) < own
                judge = np.where(rng.random(ITEMS) < right, truth, ~truth)
                expected = float(np.clip(share + rng.normal(0, sd, 20_000), 0, 1).mean())
                with suppress(combined.NoEstimate):
                    one = judges.correct_share_by_topic(
                        truth[:300] * 1.0, judge[:300], judge[300:], (topic[:300], topic[300:])
                    )
                    given += 1
                    held += one.low <= expected <= one.high
            print(
                f"{share:5.2f}  {topics:6d}  {sd:.2f}  {given / simulations:.3f}  "
                f"{held / max(given, 1):.3f}",
                flush=True,
            )


def majority(share: float, people: int) -> float:
    """The share of items on which most of so many people say it, in :func:`tie_coverage`."""
    found = 0.0
    for part, right in ((0.7, 0.98), (0.3, 0.7)):
        ahead = sum(
            (1.0 if 2 * k > people else 0.5) * math.comb(people, k)
            * right**k * (1 - right) ** (people - k)
            for k in range(people + 1)
            if 2 * k >= people
        )  # fmt: skip
        found += part * (share * ahead + (1 - share) * (1 - ahead))
    return found


TABLES = {
    "means": (mean_coverage, 1.0),
    "merits": (merit_coverage, 0.25),
    "test": (test_errors, 1.0),
    "judges": (judge_coverage, 1.0),
    "drawn": (drawn_coverage, 0.5),
    "verdicts": (verdict_errors, 1.0),
    "topics": (topic_coverage, 1.0),
    "strata": (strata_coverage, 1.0),
    "difficulty": (difficulty_coverage, 1.0),
    "tails": (tail_coverage, 1.0),
    "ties": (tie_coverage, 1.0),
}

if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    for name, (table, part) in TABLES.items():
        if name in (sys.argv[2:] or TABLES):
            print(f"\n{name}")
            table(max(round(number * part), 100))
