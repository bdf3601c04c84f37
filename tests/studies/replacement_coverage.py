"""How often the intervals of "may a model replace people" hold, and what the test gets wrong.

``python -m tests.studies.replacement_coverage [simulations]`` prints five tables:

- combined means at 30, 100 and 300 labels of people: share of 95 % intervals that hold the mean of
  what people would say about all items, for the people alone, the judge alone (no promise) and both
- combined Bradley-Terry merits, the same by merit
- the alternative annotator test: how often a model at the edge of what is allowed is said to hold
  against a person, how often it passes, and how often the interval of its advantage holds
- shares corrected by a judge's sensitivity and specificity, and means by a panel of four judges
- means from items that were drawn for people where a judge is unsure, beside a random draw
"""

from __future__ import annotations

import sys
from contextlib import suppress

import numpy as np

from evaluation.methods.replacement import active, annotator, combined, judges

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


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    mean_coverage(number)
    merit_coverage(max(number // 4, 100))
    test_errors(number)
    judge_coverage(number)
    drawn_coverage(max(number // 2, 100))
