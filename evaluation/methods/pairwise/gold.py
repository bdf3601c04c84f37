"""Gold labels and competence of a pairwise study: MACE a dimension at a time, or pooled.

An item is a pair in canonical order, so that both ways of showing it are one item; guessing lives
in the coordinates as displayed. All labels are taken as equally likely, as published. Estimated
('mirrored': which text is stored first is an accident, so first and second have one prevalence),
the neutral label runs off where workers mostly guess: on CrowdRAG's stylistic coherence it takes
.91 of the pairs, and labels leave the majority on .41 of them (uniform: .20; on topical correctness
.16 and .14). CrowdRAG (section 3.2.3) fits each dimension by itself, with every direction an item
of its own; pooled, a pair on a dimension is an item and a worker has one competence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.competence.mace import method as mace
from evaluation.methods.competence.mace.batch import Plan, fit_each
from evaluation.methods.competence.mace.tables import UNSETTLED
from evaluation.methods.core.base import (
    EmptyData,
    FloatArray,
    Hooks,
    IntArray,
    Result,
    Table,
    TooFewWorkers,
)
from evaluation.methods.core.votes import Labels
from evaluation.methods.pairwise.judgments import CODES, MISSING, NEUTRAL, Judgments, ShownVotes
from evaluation.methods.pairwise.tables import (
    EVERY,
    LABELS,
    agreement_with_others,
    mean_of,
    stacked,
)
from evaluation.methods.workers.claims import MEDIAN_GAP

STAGE = "estimated labels"
WORKER = (
    "dimension",
    "component",
    "worker",
    "competence",
    "low",
    "high",
    "spam",
    "n",
    "guess_left",
    "guess_neutral",
    "guess_right",
    "with_others",
    "n_others",
    *MEDIAN_GAP,
)
LABEL = (
    "dimension",
    "pair",
    "label",
    "p_first",
    "p_neutral",
    "p_second",
    "entropy",
    "n",
    "component",
    "majority",
    "dawid_skene",
    "dawid_skene_p",
)


@dataclass(frozen=True, eq=False)
class Gold:
    """What MACE finds, on ``dimensions`` d and ``pairs`` p.

    ``worker`` and ``label`` are the tables described at ``pairwise.fit``; ``gold`` (p, d) the gold
    labels (-1: none) and ``competence`` (workers, d), NaN where it is not known. ``fits`` is a row
    a fit for the diagnostics, ``warnings`` are in words.
    """

    worker: Table
    label: Table
    gold: IntArray
    competence: FloatArray
    fits: list[dict[str, Any]]
    warnings: list[str]
    converged: bool


@dataclass(frozen=True, eq=False)
class _Fit:
    """One fit: the workers' columns, and of every pair the posterior (p, 3), votes, component.

    ``beside`` holds the labels (p,) of the majority and of Dawid-Skene, and their posterior (p,).
    """

    worker: dict[str, NDArray[Any]]
    posterior: FloatArray
    n: IntArray
    component: IntArray
    beside: tuple[IntArray, IntArray, FloatArray]


def gold_labels(
    data: Judgments,
    people: ShownVotes,
    settings: dict[str, Any],
    *,
    rng: np.random.Generator,
    hooks: Hooks,
) -> Gold:
    """Fit MACE to ``people``, who judge every pair once (``ShownVotes.once``).

    ``settings`` are those of ``pairwise``.
    """
    size = 1 if settings["pooled"] else len(data.dimensions)
    fits, notes, warnings = [], [], []
    for k, child in enumerate(rng.spawn(size)):
        hooks.step(STAGE, k, size)
        name = "all dimensions" if settings["pooled"] else data.dimensions[k]
        try:
            labels = _pooled(data, people) if settings["pooled"] else data.labels(people, k)
            found, result = _fit(labels, settings, child, hooks)
        except (EmptyData, TooFewWorkers) as problem:
            found, result = _nothing(people, None if settings["pooled"] else k), None
            warnings.append(f"{name}: no gold labels, since {problem}.")
        fits.append(found)
        notes.append(_note(name, result))
    if settings["pooled"]:
        shared = {EVERY: fits[0]}
        fits = _apart(data, fits[0])
    else:
        shared = {EVERY: _mean(fits), **dict(enumerate(fits))}
    hooks.step(STAGE, size, size)
    warnings += _cautions(notes)
    probability = np.stack([fit.posterior for fit in fits], axis=1)
    competence = np.stack(
        [(shared[EVERY] if settings["pooled"] else fit).worker["competence"] for fit in fits],
        axis=1,
    )
    return Gold(
        worker=_workers(people, shared),
        label=_labels(fits),
        gold=_best(probability),
        competence=competence,
        fits=notes,
        warnings=warnings,
        converged=all(note["converged"] for note in notes),
    )


def spam_fits(
    problems: Iterable[tuple[Labels, np.random.Generator]],
    settings: dict[str, Any],
    *,
    hooks: Hooks,
) -> Iterator[FloatArray]:
    """The published spam probability of each worker (workers,) on each, NaN where not scored.

    Quick fits for nulls and cross-fitting: no intervals. They are asked for one by one and fitted
    together (``mace_batch``). ``settings``: algorithm, restarts and prevalence. Raises Cancelled.
    """
    turned = ((_oriented(labels)[0], rng) for labels, rng in problems)
    for found in fit_each(turned, _quick(settings), hooks=hooks):
        yield found.spam


def quick_labels(
    data: Judgments,
    people: ShownVotes,
    settings: dict[str, Any],
    weights: FloatArray,
    *,
    rng: np.random.Generator,
    hooks: Hooks,
) -> IntArray:
    """Labels (b, pairs, d) of the crowd under each of these weights of workers (b, workers).

    ``settings``: algorithm, pooled, restarts and prevalence. MISSING where there is no label.
    Raises Cancelled.
    """
    pooled, d = settings["pooled"], len(data.dimensions)
    rngs = [rng.spawn(1 if pooled else d) for _ in weights]
    found = np.full((len(weights), len(people.pairs), d), MISSING)
    for k in range(1 if pooled else d):
        hooks.step(STAGE, k, 1 if pooled else d)
        try:
            labels = _oriented(_pooled(data, people) if pooled else data.labels(people, k))[0]
        except EmptyData:
            continue
        weighed = (
            (replace(labels, weight=labels.weight * weight[labels.worker]), rngs[b][k])
            for b, weight in enumerate(weights)
        )
        for b, one in enumerate(fit_each(weighed, _quick(settings), hooks=hooks.quiet())):
            posterior = np.full((len(one.probability), LABELS), np.nan)
            posterior[~np.isnan(one.probability[:, 0])] = 0.0
            posterior[:, _places(labels)] += one.probability
            if pooled:
                for dimension in range(d):
                    own = _offered(data, dimension, posterior[dimension::d])
                    found[b, :, dimension] = _best(own)
            else:
                found[b, :, k] = _best(posterior)
    hooks.step(STAGE, 1, 1)
    return found


def _quick(settings: dict[str, Any]) -> Plan:
    """A fit without intervals and polish."""
    own = {**mace.DEFAULTS, **{name: settings[name] for name in SHARED}}
    return Plan(
        partial(mace.priors, own),
        settings["restarts"],
        own["iterations"],
        NOISE,
        own["tolerance"],
    )


def _oriented(labels: Labels) -> tuple[Labels, bool]:
    """The votes as seen in a mirror where the first decisive one would be for the right.

    The model knows no left and right, but the draws of its random starts do: without this,
    turning every display and vote round could pick another optimum.
    """
    last = len(labels.labels) - 1
    decisive = labels.shown[2 * labels.shown != last]
    if not len(decisive) or decisive[0] == 0:
        return labels, False
    return replace(labels, shown=last - labels.shown), True


def _fit(
    labels: Labels,
    settings: dict[str, Any],
    rng: np.random.Generator,
    hooks: Hooks,
) -> tuple[_Fit, Result]:
    oriented, mirrored = _oriented(labels)
    result = mace.fit(
        oriented,
        rng=rng,
        hooks=hooks.quiet(),
        algorithm=settings["algorithm"],
        restarts=settings["restarts"],
        resamples=settings["draws"],
        level=settings["level"],
        polish=POLISH,
        prevalence=settings["prevalence"],
        noise=NOISE,
    )
    worker, item = result.estimates["worker"], result.estimates["item"]
    known = ("competence", "low", "high", "spam", "n", *MEDIAN_GAP)
    columns = {name: worker[name] for name in known}
    columns["component"] = worker["component"]
    guess = _guesses(result.estimates["strategy"], len(labels.workers), labels, mirrored)
    columns |= dict(zip(GUESS, guess.T, strict=True))
    places = np.append(_places(labels), MISSING)  # the last is what -1 leads to
    return _Fit(
        columns,
        _posterior(result.estimates["posterior"], labels),
        item["n"],
        item["component"],
        (places[item["majority"]], places[item["dawid_skene"]], item["dawid_skene_posterior"]),
    ), result


POLISH = 10_000  # rounds for the kept restart to settle; a round takes about a millisecond
NOISE = 0.5  # starts close to each other, as in the published code
SHARED = ("algorithm", "prevalence")  # what a pairwise study hands on to MACE as it is
GUESS = ("guess_left", "guess_neutral", "guess_right")


def _places(labels: Labels) -> IntArray:
    """The place of each of these labels among CODES."""
    return np.array([CODES.index(name) for name in labels.labels])


def _posterior(table: Table, labels: Labels) -> FloatArray:
    found = np.full((len(labels.items), LABELS), np.nan)
    found[table["item"]] = 0.0
    found[table["item"], _places(labels)[table["label"]]] = table["probability"]
    return found


def _guesses(table: Table, workers: int, labels: Labels, mirrored: bool) -> FloatArray:
    """Return each worker's answers when guessing (workers, 3), as displayed; else NaN."""
    found = np.full((workers, LABELS), np.nan)
    found[table["worker"]] = 0.0
    found[table["worker"], _places(labels)[table["shown"]]] = table["probability"]
    return found[:, ::-1] if mirrored else found


def _pooled(data: Judgments, people: ShownVotes) -> Labels:
    """All dimensions in one: item ``pair * d + dimension``; raises EmptyData."""
    size = len(data.dimensions)
    row, dimension = np.nonzero(people.vote != MISSING)
    return Labels.build(
        people.worker[row],
        people.pair[row] * size + dimension,
        people.canonical()[row, dimension],
        shown=people.vote[row, dimension],
        workers=people.workers,
        labels=CODES,
        items=[f"{pair}, {name}" for pair in people.pairs for name in data.dimensions],
    )


def _apart(data: Judgments, whole: _Fit) -> list[_Fit]:
    """The pooled fit's items back by dimension."""
    size, found = len(data.dimensions), []
    for k in range(size):
        most, other, sure = whole.beside
        beside = (most[k::size], other[k::size], sure[k::size])
        posterior = _offered(data, k, whole.posterior[k::size])
        found.append(_Fit({}, posterior, whole.n[k::size], whole.component[k::size], beside))
    return found


def _offered(data: Judgments, dimension: int, posterior: FloatArray) -> FloatArray:
    """The posterior (..., 3) on a dimension: what was not offered has no probability."""
    if not data.forced[dimension]:
        return posterior
    left = posterior * (np.arange(LABELS) != NEUTRAL)
    return np.asarray(left / left.sum(axis=-1, keepdims=True))


def _nothing(people: ShownVotes, dimension: int | None) -> _Fit:
    """Nobody can be scored: what was voted (None: on any dimension) is counted, no more."""
    vote = people.vote if dimension is None else people.vote[:, [dimension]]
    row, place = np.nonzero(vote != MISSING)
    workers, pairs = len(people.workers), len(people.pairs)
    unknown = np.full(workers, np.nan)
    columns: dict[str, NDArray[Any]] = dict.fromkeys(
        ("competence", "low", "high", "spam", *GUESS, *MEDIAN_GAP), unknown
    )
    columns["n"] = np.bincount(people.worker[row], minlength=workers)
    columns["component"] = np.zeros(workers, dtype=np.int64)
    # Items as in the pooled fit: pair * d + dimension.
    items = pairs * vote.shape[1]
    n = np.bincount(people.pair[row] * vote.shape[1] + place, minlength=items)
    none = np.full(items, MISSING)
    return _Fit(
        columns,
        np.full((items, LABELS), np.nan),
        n,
        np.zeros(items, dtype=np.int64),
        (none, none, np.full(items, np.nan)),
    )


def _mean(fits: list[_Fit]) -> _Fit:
    """Workers over all dimensions: means of what is known.

    The bounds are means of bounds too: right where the errors of a worker's dimensions go
    together, too wide otherwise. The component is that of the dimension with most votes.
    """
    columns: dict[str, NDArray[Any]] = {}
    for name in ("competence", "low", "high", "spam", *GUESS, *MEDIAN_GAP):
        values = np.stack([fit.worker[name] for fit in fits])
        columns[name] = np.array([mean_of(column) for column in values.T])
    n = np.stack([fit.worker["n"] for fit in fits])
    parts = np.stack([fit.worker["component"] for fit in fits])
    scored = np.where(parts > 0, n, -1)
    columns["component"] = parts[scored.argmax(axis=0), np.arange(parts.shape[1])]
    columns["n"] = n.sum(axis=0)
    return replace(fits[0], worker=columns)


def _workers(people: ShownVotes, shared: dict[int, _Fit]) -> Table:
    """A row a worker of every fit, those of all dimensions first."""
    size, vote = len(people.workers), people.canonical()
    met = [
        agreement_with_others(vote[:, k], people.pair, len(people.pairs))
        for k in range(vote.shape[1])
    ]
    used, same = (
        np.stack([np.bincount(people.worker[one[part]], minlength=size) for one in met])
        for part in (0, 1)
    )
    parts = []
    for k, fit in shared.items():
        n, hits = (used.sum(axis=0), same.sum(axis=0)) if k == EVERY else (used[k], same[k])
        share = np.divide(hits, n, out=np.full(size, np.nan), where=n > 0)
        own = {"worker": np.arange(size), "with_others": share, "n_others": n}
        parts.append(({"dimension": k}, Table({**fit.worker, **own})))
    return stacked(parts, WORKER)


def _best(probability: FloatArray) -> IntArray:
    """The most probable label (..., 3) -> (...), MISSING without any."""
    known = ~np.isnan(probability[..., 0])
    return np.where(known, np.nan_to_num(probability, nan=-1.0).argmax(axis=-1), MISSING)


def _labels(fits: list[_Fit]) -> Table:
    parts = []
    for k, fit in enumerate(fits):
        p = fit.posterior
        entropy = -(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=1)
        columns = {
            "pair": np.arange(len(p)),
            "label": _best(p),
            "p_first": p[:, 0],
            "p_neutral": p[:, 1],
            "p_second": p[:, 2],
            "entropy": np.maximum(entropy, 0.0),
            "n": fit.n,
            "component": fit.component,
            **dict(zip(LABEL[-3:], fit.beside, strict=True)),
        }
        parts.append(({"dimension": k}, Table(columns)))
    return stacked(parts, LABEL)


def _cautions(notes: list[dict[str, Any]]) -> list[str]:
    """The fits' own warnings; that some chains differ is said once for all dimensions."""
    said, rough = [], []
    for note in notes:
        apart = (note.get("r_hat") or 1.0) > UNSETTLED
        rough += [note["name"]] * apart
        said += [f"{note['name']}: {one}." for one in note["warnings"] if "r_hat" not in one]
    if rough:
        said.append(
            f"The intervals of some workers' competence are rough on {len(rough)} of {len(notes)} "
            "fits: more draws would steady them."
        )
    return said


def _note(name: str, result: Result | None) -> dict[str, Any]:
    """Return what the diagnostics hold on a fit."""
    if result is None:
        return {"name": name, "scored": False, "converged": True, "warnings": []}
    said = result.diagnostics
    return {
        "name": name,
        "scored": True,
        "converged": result.converged,
        "rounds": said["rounds"] + said["polished"],
        "last_change": said["last_change"],
        "r_hat": said.get("r_hat"),
        "components": len(said["components"]),
        "warnings": list(said["warnings"]),
    }
