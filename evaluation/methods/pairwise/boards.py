"""Which system's texts are preferred: Bradley-Terry over all topics, a dimension at a time.

Votes on texts of one topic go together (the texts are what they are), and so do the votes of one
worker. What is to hold for other topics and other workers must be clustered by both: variance by
topic + by worker - by both (Cameron, Gelbach and Miller 2011, "Robust inference with multiway
clustering"), each with the degrees of freedom of its shares (``bradley_terry.intervals``).
Clustering by pair alone would leave out that a text meets several others. With too few topics the
pairs are the clusters; with too few of both the texts, and with too few workers these, are taken as
they are. It is said.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.bradley_terry import method as bradley_terry
from evaluation.methods.bradley_terry.cells import Layout, cells_of, shares_of, units_of
from evaluation.methods.bradley_terry.covariates import Covariates, StyledPairs
from evaluation.methods.bradley_terry.fit import Model, maximise
from evaluation.methods.bradley_terry.intervals import Covariance, Spread, from_covariance, sandwich
from evaluation.methods.core.base import (
    DataError,
    FloatArray,
    Hooks,
    IntArray,
    Result,
    Table,
    of_rows,
)
from evaluation.methods.core.units import LEAST, MEAN, share
from evaluation.methods.core.votes import FIRST, TIE, Pairs
from evaluation.methods.pairwise.judgments import MISSING, Judgments, ShownVotes
from evaluation.methods.pairwise.tables import EVERY, LABELS, stacked

STAGE = "systems"
SIDES_KEPT = "no side effect is taken out, since every two systems kept their sides"
SIDES_UNKNOWN = "no side effect is taken out, since sides were not recorded"
SYSTEM = (
    "dimension",
    "component",
    "system",
    "estimate",
    "se",
    "low",
    "high",
    "compare_low",
    "compare_high",
    "rank",
    "rank_low",
    "rank_high",
    "group",
    "n",
)
SHARED = ("dimension", "name", "estimate", "se", "low", "high")
WIN = ("dimension", "system_a", "system_b", "wins", "ties", "losses")
HEAD = (
    *("dimension", "system_a", "system_b", "share", "low", "high", "level", "decided", "ties"),
    "reason",
)
FEWEST = LEAST[MEAN]  # clusters from which intervals between them hold


@dataclass(frozen=True, eq=False)
class Boards:
    """Tables ``system``, ``shared`` (side and tie), ``win`` and ``head``; ``notes`` in words.

    ``clusters`` says for each board what its intervals are clustered by, ``freedom`` (systems,) by
    number of dimension what degrees of freedom they have.
    """

    system: Table
    shared: Table
    win: Table
    head: Table
    notes: list[str]
    clusters: dict[str, str]
    converged: bool
    freedom: dict[int, FloatArray]


@dataclass(frozen=True, eq=False)
class BoardVotes:
    """Votes (n,) between systems a and b, ``outcome`` as in Pairs, and what they belong to."""

    a: IntArray
    b: IntArray
    outcome: IntArray
    left: IntArray
    weight: FloatArray
    topic: IntArray
    pair: IntArray
    worker: IntArray

    @classmethod
    def joined(cls, parts: Sequence[BoardVotes]) -> BoardVotes:
        """Concatenate votes."""
        return cls(
            *(
                np.concatenate([getattr(one, column.name) for one in parts])
                for column in fields(cls)
            )
        )

    def take(self, rows: NDArray[np.bool_]) -> BoardVotes:
        """Keep only these votes (n,)."""
        return BoardVotes(*(getattr(self, column.name)[rows] for column in fields(self)))

    def styled(
        self, data: Judgments, difference: FloatArray, names: Sequence[str] = ()
    ) -> StyledPairs:
        """Return every vote as a single comparison, with the differences (n, p) of its texts."""
        return StyledPairs.build(
            self.a,
            self.b,
            self.outcome,
            difference,
            players=data.systems,
            names=names,
            left=self.left,
            weight=self.weight,
        )

    def clustered(self, data: Judgments, unit: IntArray) -> Pairs:
        """Return the votes as Pairs with these units (n,) as judges."""
        known, judge = np.unique(unit, return_inverse=True)
        return Pairs.build(
            self.a,
            self.b,
            self.outcome,
            players=data.systems,
            left=self.left,
            weight=self.weight,
            judge=judge,
            judges=[str(k) for k in known],
        )


def boards(
    data: Judgments,
    people: ShownVotes,
    competence: FloatArray | None,
    settings: dict[str, Any],
    *,
    rng: np.random.Generator,
    hooks: Hooks,
) -> Boards:
    """The systems by dimension and by all together, from ``people``'s votes.

    ``competence`` (workers, d): every vote weighs as much as its worker's on that dimension, and
    those of unknown competence are left out; None: all weigh the same. Ranks and groups hold on
    all boards at once (``family_of``); intervals of single merits do not.
    """
    size = len(data.dimensions)
    votes = votes_of(data, people, competence)
    of = np.repeat(np.arange(size), [len(one.a) for one in votes])
    every = BoardVotes.joined(votes)
    parts: list[tuple[dict[str, int], Table]] = []
    shared: list[tuple[dict[str, int], Table]] = []
    notes, clusters, freedom, converged = _left_out_notes(data, people), {}, {}, True
    rngs = draws_of(rng, votes)
    settings = {**settings, "family": family_of(votes)}
    for k in range(EVERY, size):
        hooks.step(STAGE, k + 1, size + 1)
        name = "all dimensions" if k == EVERY else data.dimensions[k]
        try:
            found = board_of(data, every if k == EVERY else votes[k], settings, rngs[k], hooks)
        except DataError as problem:
            notes.append(f"{name}: no board of systems, since {problem}.")
            continue
        parts.append(({"dimension": k}, found.player))
        shared.append(({"dimension": k}, found.shared))
        if not (k == EVERY and _only_dimension(votes) is not None):
            notes += [f"{name}: {said}." for said in found.notes]
        clusters[name], converged = found.clusters, converged and found.converged
        freedom[k] = found.player["freedom"]
    hooks.step(STAGE, size + 1, size + 1)
    return Boards(
        stacked(parts, SYSTEM),
        stacked(shared, SHARED),
        _wins(data, every, of),
        _heads([every, *votes], settings["level"]),
        notes,
        clusters,
        converged,
        freedom,
    )


def family_of(votes: Sequence[BoardVotes]) -> int:
    """Count the boards that are compared: one per dimension with votes, and one of all."""
    known = sum(len(one.a) > 0 for one in votes)
    return known + 1 if known > 1 else 1


def _only_dimension(votes: Sequence[BoardVotes]) -> int | None:
    """Return the one dimension with votes, whose board is that of all; None with several."""
    known = [k for k, one in enumerate(votes) if len(one.a)]
    return known[0] if len(known) == 1 else None


def draws_of(
    rng: np.random.Generator, votes: Sequence[BoardVotes]
) -> Mapping[int, np.random.Generator]:
    """Spawn a generator for each dimension and for EVERY.

    Where one dimension has all votes, EVERY draws the same as it, so that both boards are one.
    """
    found = dict(enumerate(rng.spawn(len(votes) + 1)))
    found[EVERY] = found.pop(len(votes))
    alone = _only_dimension(votes)
    if alone is not None:
        found[EVERY] = copy.deepcopy(found[alone])
    return found


def votes_of(
    data: Judgments, people: ShownVotes, competence: FloatArray | None
) -> list[BoardVotes]:
    """The votes of each dimension between different systems."""
    a, b = data.system[data.first][people.pair], data.system[data.second][people.pair]
    left = people.left()
    # Pairs turn round what is not in the order of the systems, and the side with it.
    topic = data.topic[data.first][people.pair]
    found = []
    for k, vote in enumerate(people.canonical().T):
        weight = np.ones(len(vote)) if competence is None else competence[people.worker, k]
        use = (vote != MISSING) & (a != b) & (np.nan_to_num(weight) > 0)
        found.append(
            BoardVotes(
                a[use],
                b[use],
                vote[use],
                left[use],
                weight[use],
                topic[use],
                people.pair[use],
                people.worker[use],
            )
        )
    return found


def _left_out_notes(data: Judgments, people: ShownVotes) -> list[str]:
    same = (data.system[data.first] == data.system[data.second])[people.pair]
    if not same.any():
        return []
    return [f"{int(same.sum())} judgments compare two texts of one system and say nothing of it."]


@dataclass(frozen=True, eq=False)
class Board:
    """One dimension's tables of systems and of what all comparisons share, as Boards has them."""

    player: Table
    shared: Table
    notes: list[str]
    clusters: str
    converged: bool


def board_of(
    data: Judgments,
    votes: BoardVotes,
    settings: dict[str, Any],
    rng: np.random.Generator,
    hooks: Hooks,
    *,
    styled: StyledPairs | None = None,
) -> Board:
    """Fit one board; with ``styled`` at equal length and style."""
    own, said, notes = _texts(votes)
    by_worker = len(np.unique(votes.worker)) >= FEWEST
    covariates = None if styled is None else styled.covariates

    def clustered(unit: IntArray) -> Pairs:
        return votes.clustered(data, unit) if styled is None else styled.clustered(unit)

    def fitted() -> Result:
        return bradley_terry.fit_units(
            main, choices, rng=rng, hooks=hooks.quiet(), covariates=covariates
        )

    main = clustered(votes.worker if own is None else own)
    choices = {**settings_of(settings), "side": _changed_sides(votes)}
    if own is None:
        said = "worker" if by_worker else "vote"
        choices["cluster"] = "judge" if by_worker else "none"
    try:
        result = fitted()
    except bradley_terry.NoSides:
        choices["side"] = False
        result = fitted()
    if not choices["side"]:
        notes.append(SIDES_KEPT if votes.left.any() else SIDES_UNKNOWN)
    player, shared = result.estimates["player"], result.estimates["shared"]
    few = bradley_terry.few_notes(data.systems, player, f"{said}s")
    if not by_worker:
        notes.append(f"fewer than {FEWEST} workers: intervals hold for these workers only")
    elif own is not None and not cells_of(main, side=False).layout.dense:
        notes.append("too many systems to cluster two ways: intervals hold for these workers only")
    elif own is not None:
        both = own * len(data.votes.workers) + votes.worker
        spread, layout = _crossed(
            [main, clustered(votes.worker), clustered(both)],
            result.diagnostics["ties_model"],
            covariates,
            choices,
            rng=rng,
            hooks=hooks.quiet(),
        )
        player, shared = _replaced(player, shared, spread, layout)
        few = few or bradley_terry.few_notes(data.systems, player, "workers")
        said += " and worker"
    n = np.bincount(votes.a, minlength=len(data.systems)) + np.bincount(
        votes.b, minlength=len(data.systems)
    )
    player = Table({**player.columns, "system": player["player"], "n": n})
    notes += few
    notes += [note for note in result.diagnostics["notes"] if "tie parameter" not in note]
    return Board(player, shared, notes, said, result.converged)


def _changed_sides(votes: BoardVotes) -> bool:
    """Whether some two systems were each shown on the left of the other."""
    size = int(max(votes.a.max(initial=0), votes.b.max(initial=0))) + 1
    met = np.minimum(votes.a, votes.b) * size + np.maximum(votes.a, votes.b)
    lower_left = np.where(votes.a < votes.b, votes.left, -votes.left)
    return bool(np.intersect1d(met[lower_left > 0], met[lower_left < 0]).size)


def _texts(votes: BoardVotes) -> tuple[IntArray | None, str, list[str]]:
    """Return what stands for the sampled texts, its name, and what that means in words.

    Topics; pairs where there are few topics; nothing where there are few of both, or where every
    two systems were compared on one pair only, as that is who they are.
    """
    if len(np.unique(votes.topic)) >= FEWEST:
        return votes.topic, "topic", []
    pairs = len(np.unique(votes.pair))
    size = int(max(votes.a.max(initial=0), votes.b.max(initial=0))) + 1
    met = np.minimum(votes.a, votes.b) * size + np.maximum(votes.a, votes.b)
    if pairs >= FEWEST and pairs > len(np.unique(met)):
        said = f"fewer than {FEWEST} topics: intervals hold for texts on these topics only"
        return votes.pair, "pair", [said]
    return None, "", ["too few topics and pairs: intervals hold for these texts only"]


def settings_of(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of Bradley-Terry: Davidson's ties, units as judges."""
    return bradley_terry.DEFAULTS | {
        "cluster": "judge",
        "ties": "davidson",
        "level": settings["level"],
        "resamples": settings["resamples"],
        "family": settings.get("family", 1),
        "regularisation": settings["regularisation"],
    }


def _crossed(
    units: list[Pairs],
    ties: str,
    covariates: Covariates | None,
    choices: dict[str, Any],
    *,
    rng: np.random.Generator,
    hooks: Hooks,
) -> tuple[Spread, Layout]:
    """Intervals and ranks clustered two ways: by the first units + the second - their crossing."""
    columns = None if covariates is None else covariates.values
    names = () if covariates is None else covariates.names
    model = Model(ties, float(choices["regularisation"]), choices["side"], covariates=names)
    cells = [cells_of(data, side=model.side, columns=columns) for data in units]
    found = maximise(cells[0], model)
    counted = [units_of(data, cell, "judge") for data, cell in zip(units, cells, strict=True)]
    shares = [shares_of(cell, unit) for cell, unit in zip(cells, counted, strict=True)]
    one, two, both = (
        sandwich(cell, model, found.point, unit, rng, shares=share)
        for cell, unit, share in zip(cells, counted, shares, strict=True)
    )
    layout = cells[0].layout
    cov = Covariance.of_blocks(
        layout,
        _safe(layout, one.blocks + two.blocks - both.blocks, one.blocks),
        _raised(one.shared + two.shared - both.shared, one.shared),
    )
    spread = from_covariance(
        layout,
        found,
        cov,
        nodes=shares[0].nodes.scarcer(shares[1].nodes),
        whole=shares[0].whole.scarcer(shares[1].whole),
        settings=choices,
        rng=rng,
        hooks=hooks,
    )
    return spread, layout


def _safe(layout: Layout, flat: FloatArray, least: FloatArray) -> FloatArray:
    """Blocks that are covariances, none with a variance below that of ``least``."""
    out = flat.copy()
    for block, base in zip(layout.blocks(out), layout.blocks(least), strict=True):
        for k in range(len(block)):
            block[k] = _raised(block[k], base[k])
    return out


def _raised(cov: FloatArray, least: FloatArray) -> FloatArray:
    """``least`` + what ``cov`` adds to it where that is positive: differences can go below 0."""
    value, vector = np.linalg.eigh(cov - least)
    added: FloatArray = least + (vector * np.maximum(value, 0.0)) @ vector.T
    return added


def _replaced(player: Table, shared: Table, spread: Spread, layout: Layout) -> tuple[Table, Table]:
    """The tables with the intervals and ranks of ``spread``."""
    columns = {name: column.copy() for name, column in player.columns.items()}
    names = "se low high compare_low compare_high rank rank_low rank_high group"
    for name in names.split():
        columns[name][layout.player] = getattr(spread, name)
    for name in ("units", "effective", "freedom"):
        columns[name][layout.player] = getattr(spread.nodes, name)
    added = {"se": spread.shared_se, "low": spread.shared_low, "high": spread.shared_high}
    return Table(columns), Table({**shared.columns, **added})


def _wins(data: Judgments, every: BoardVotes, of: IntArray) -> Table:
    """Votes between every two systems, of all dimensions together and of each."""
    turned = every.a > every.b
    a, b = np.where(turned, every.b, every.a), np.where(turned, every.a, every.b)
    outcome = np.where(turned, LABELS - 1 - every.outcome, every.outcome)
    size, parts = len(data.systems), []
    for k in range(EVERY, len(data.dimensions)):
        rows = np.ones(len(a), dtype=bool) if k == EVERY else of == k
        known, cell = np.unique(a[rows] * size + b[rows], return_inverse=True)
        counts = np.bincount(cell * LABELS + outcome[rows], minlength=len(known) * LABELS)
        wins, ties, losses = counts.reshape(-1, LABELS).T
        table = Table(
            {
                "system_a": known // size,
                "system_b": known % size,
                "wins": wins,
                "ties": ties,
                "losses": losses,
            }
        )
        parts.append(({"dimension": k}, table))
    return stacked(parts, WIN)


def _heads(votes: Sequence[BoardVotes], level: float) -> Table:
    """The share of decided votes for a of two systems, where a dimension has just these two.

    Clustered as their board is; ``reason`` says why there is no interval.
    """
    rows = []
    for k, own in enumerate(votes, EVERY):
        systems = np.unique(np.concatenate([own.a, own.b]))
        if len(systems) != 2:
            continue
        decided = own.outcome != TIE
        first = decided & ((own.outcome == FIRST) == (own.a == systems[0]))
        texts, noun, _ = _texts(own)
        by_worker = len(np.unique(own.worker)) >= FEWEST
        alone = np.arange(len(own.a))
        found = share(
            own.weight * first,
            own.weight * decided,
            texts if texts is not None else own.worker if by_worker else alone,
            level,
            crossed=own.worker if by_worker and texts is not None else None,
            nouns=(f"{noun or ('worker' if by_worker else 'vote')}s", "workers"),
        )
        rows.append(
            {
                "dimension": k,
                "system_a": int(systems[0]),
                "system_b": int(systems[1]),
                "share": found.estimate,
                "low": found.low,
                "high": found.high,
                "level": level,
                "decided": int(decided.sum()),
                "ties": int((~decided).sum()),
                "reason": found.reason,
            }
        )
    return of_rows(rows, HEAD)
