"""Simulated crowds as data: who is active how much, how they answer, and what is true."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.votes import Labels, Pairs
from evaluation.methods.pairwise.judgments import Judgments, ShownVotes

EVEN = "even"


def activity(kind: str, workers: int) -> FloatArray:
    """Each worker's share of the work (workers,).

    ``kind``: "even", "zipf P", "one 80" or "two 80" (so many do 80 %, the others share the rest).
    """
    word, _, number = kind.partition(" ")
    if word == EVEN:
        share = np.ones(workers)
    elif word == "zipf":
        share = np.arange(1, workers + 1) ** -float(number)
    else:
        few = {"one": 1, "two": 2}[word]
        share = np.full(workers, 0.2 / max(workers - few, 1))
        share[:few] = 0.8 / few
    return np.asarray(share / share.sum())


@dataclass(frozen=True)
class LabelCrowd:
    """Workers who label items.

    ``prior`` are the classes' shares. Honest workers are right with ``skill`` (from, to), evenly
    spaced; ``guessers`` answer by the prior without looking; ``adversaries`` are right with half
    of what guessing gives; ``copiers`` (share) copy one of them, who is right as often as the least
    skilled. ``skips``: chance that an answer that would be wrong is not given. ``topics``: items
    fall into so many, each with a difficulty of its own that all workers share.
    """

    name: str
    workers: int = 20
    items: int = 100
    votes: int = 5
    prior: tuple[float, ...] = (0.5, 0.5)
    active: str = EVEN
    skill: tuple[float, float] = (0.6, 0.95)
    guessers: int = 0
    adversaries: float = 0.0
    copiers: float = 0.0
    skips: float = 0.0
    topics: int = 0


@dataclass(frozen=True, eq=False)
class DrawnLabels:
    """Votes, the true class of each item and the true competence of each worker.

    Competence is the chance to label right an item that the worker answers, averaged over classes.
    """

    data: Labels
    truth: IntArray
    competence: FloatArray


def deal(crowd: LabelCrowd, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Worker and item of each vote; an item's workers differ, drawn by activity."""
    share = activity(crowd.active, crowd.workers)
    each = min(crowd.votes, crowd.workers)
    keys = rng.gumbel(size=(crowd.items, crowd.workers)) + np.log(share)
    chosen = np.argsort(-keys, axis=1)[:, :each]
    return chosen.ravel(), np.repeat(np.arange(crowd.items), each)


def draw_labels(
    crowd: LabelCrowd, rng: np.random.Generator, people: np.random.Generator | None = None
) -> DrawnLabels:
    """One study; ``people`` draws who is how skilled (default: ``rng``)."""
    people = people or rng
    k, prior = len(crowd.prior), np.asarray(crowd.prior)
    worker, item = deal(crowd, rng)
    truth = rng.choice(k, crowd.items, p=prior)
    accuracy = people.permutation(np.linspace(*crowd.skill, crowd.workers))
    knows = np.repeat(accuracy[:, None], k, axis=1)  # chance to be right by class
    special = people.permutation(crowd.workers)
    bad = round(crowd.adversaries * crowd.workers)
    knows[special[:bad]] = 0.5 / k
    guess = special[bad : bad + crowd.guessers]
    knows[guess] = prior
    ease = np.ones(crowd.items)
    if crowd.topics:
        hard = rng.beta(4, 2, crowd.topics)
        ease = hard[np.arange(crowd.items) % crowd.topics]
    chance = knows[worker, truth[item]]
    looks = ~np.isin(worker, guess)
    eased = np.where(looks, 1 / k + (chance - 1 / k) * ease[item], chance)
    right = rng.random(len(worker)) < eased
    wrong = (truth[item] + rng.integers(1, k, len(worker))) % k
    # Who guesses by the prior is wrong by it too.
    by_prior = rng.choice(k, len(worker), p=prior)
    label = np.where(right, truth[item], wrong)
    label = np.where(looks, label, by_prior)
    if crowd.copiers:
        copies = special[-max(2, round(crowd.copiers * crowd.workers)) :]
        source = np.where(
            rng.random(crowd.items) < crowd.skill[0],
            truth,
            (truth + rng.integers(1, k, crowd.items)) % k,
        )
        label = np.where(np.isin(worker, copies), source[item], label)
        knows[copies] = crowd.skill[0]
    kept = right | (rng.random(len(worker)) >= crowd.skips)
    competence = knows
    if crowd.skips:
        competence = knows / (knows + (1 - knows) * (1 - crowd.skips))
    if crowd.topics:
        mean = float(np.mean(ease))
        competence = np.where(
            np.isin(np.arange(crowd.workers), guess)[:, None], knows, 1 / k + (knows - 1 / k) * mean
        )
    data = Labels.build(
        worker[kept],
        item[kept],
        label[kept],
        workers=[f"w{n}" for n in range(crowd.workers)],
        items=[f"i{n}" for n in range(crowd.items)],
        labels=[f"c{n}" for n in range(k)],
    )
    return DrawnLabels(data, truth, competence.mean(axis=1))


@dataclass(frozen=True)
class PairCrowd:
    """Judges who compare systems on prompts.

    A judge's taste (sd ``taste``) and a prompt's (sd ``prompt``) move every merit. ``votes`` in
    all, ``each`` judges a prompt and pair. ``cycle``: the first three systems beat each other in
    turn by so much. Equal merits make every separation false.
    """

    name: str
    merits: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    judges: int = 30
    votes: int = 240
    each: int = 1
    active: str = EVEN
    taste: float = 0.4
    prompt: float = 0.0
    ties: float = 0.0
    topics: int = 0
    cycle: float = 0.0


@dataclass(frozen=True, eq=False)
class DrawnPairs:
    """Votes (n,): systems, outcome (0 first won, 1 tie, 2 second), judge and prompt."""

    first: IntArray
    second: IntArray
    outcome: IntArray
    judge: IntArray
    prompt: IntArray
    crowd: PairCrowd
    lean: FloatArray  # (judges, systems): each judge's taste

    def pairs(self) -> Pairs:
        """As comparisons with judges."""
        return Pairs.build(
            self.first,
            self.second,
            self.outcome,
            players=[f"s{k}" for k in range(len(self.crowd.merits))],
            left=np.ones(len(self.first), dtype=np.int64),
            judge=self.judge,
            judges=[f"j{k}" for k in range(self.crowd.judges)],
        )

    def judgments(self, rng: np.random.Generator) -> Judgments:
        """As a pairwise study in one dimension: a text a system and prompt."""
        k, prompts = len(self.crowd.merits), int(self.prompt.max()) + 1
        text = np.arange(prompts * k)
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        code = (self.prompt * k + low) * k + high
        known, pair = np.unique(code, return_inverse=True)
        first = known // (k * k) * k + known // k % k
        second = known // (k * k) * k + known % k
        flipped = rng.random(len(pair)) < 0.5
        vote = np.where(self.first == low, self.outcome, 2 - self.outcome)
        shown = ShownVotes.build(
            self.judge,
            pair,
            flipped,
            np.ones(len(pair), dtype=np.int64),
            np.where(flipped, 2 - vote, vote)[:, None],
            workers=[f"j{n}" for n in range(self.crowd.judges)],
            pairs=[str(n) for n in range(len(known))],
            dimensions=["overall"],
        )
        return Judgments.build(
            shown,
            first,
            second,
            topic=text // k,
            system=text % k,
            candidates=[str(n) for n in text],
            topics=[str(n) for n in range(prompts)],
            systems=[f"s{n}" for n in range(k)],
        )


def draw_pairs(
    crowd: PairCrowd,
    rng: np.random.Generator,
    *,
    scale: int = 1,
    lean: FloatArray | None = None,
) -> DrawnPairs:
    """One study; ``scale`` times as many judges, prompts and votes for the truth.

    With ``lean`` (judges, systems) these very judges give all the votes.
    """
    k = len(crowd.merits)
    judges, votes = crowd.judges * (1 if lean is not None else scale), crowd.votes * scale
    topics = crowd.topics * scale
    couples = np.array([(i, j) for i in range(k) for j in range(i + 1, k)])
    asked = -(-votes // crowd.each)
    couple = couples[np.arange(asked) % len(couples)]
    prompt = rng.integers(0, topics, asked) if topics else np.arange(asked)
    again = judges // crowd.judges
    share = np.tile(activity(crowd.active, crowd.judges), again) / again
    keys = rng.gumbel(size=(asked, judges)) + np.log(share) if crowd.each > 1 else None
    if keys is None:
        judge = rng.choice(judges, asked, p=share)[:, None]
    else:
        judge = np.argsort(-keys, axis=1)[:, : crowd.each]
    row = np.repeat(np.arange(asked), judge.shape[1])
    judge, prompt = judge.ravel(), prompt[row]
    first, second = couple[row].T
    if lean is None:
        lean = rng.normal(0, crowd.taste, (judges, k))
    own = rng.normal(0, crowd.prompt, (int(prompt.max()) + 1, k)) if crowd.prompt else None
    value = np.asarray(crowd.merits) + lean[judge]
    if own is not None:
        value = value + own[prompt]
    rows = np.arange(len(judge))
    gap = value[rows, first] - value[rows, second]
    if crowd.cycle:
        step = (second - first) % 3
        among = (first < 3) & (second < 3)
        gap = gap + np.where(among & (step == 1), crowd.cycle, 0)
        gap = gap - np.where(among & (step == 2), crowd.cycle, 0)
    won = rng.random(len(judge)) < 1 / (1 + np.exp(-gap))
    tied = rng.random(len(judge)) < crowd.ties
    turned = rng.random(len(judge)) < 0.5
    outcome = np.where(tied, 1, np.where(won, 0, 2))
    left, right = np.where(turned, second, first), np.where(turned, first, second)
    outcome = np.where(turned, 2 - outcome, outcome)
    return DrawnPairs(left, right, outcome, judge, prompt, crowd, lean)
