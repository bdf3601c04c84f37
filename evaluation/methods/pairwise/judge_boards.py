"""The board of systems that a judging model's votes make, and how far people's board agrees.

Each judge's votes are ranked as people's are (``pairwise_boards``: Bradley-Terry with ties after
Davidson, a side term where both orders were asked). How far the two orders agree is Kendall's
tau-b of the merits, over the systems on both boards; topics are resampled, both boards refitted to
the same draw. Below ten topics no interval is given: a draw of so few says nothing of others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.agreement.rank_correlation import kendall
from evaluation.methods.bradley_terry.cells import Cells, cells_of
from evaluation.methods.bradley_terry.fit import Model, Point, maximise
from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Table, of_rows
from evaluation.methods.core.units import RESAMPLED, too_few_units
from evaluation.methods.core.votes import Pairs
from evaluation.methods.pairwise.boards import SYSTEM, boards
from evaluation.methods.pairwise.judges import first_calls
from evaluation.methods.pairwise.judgments import MISSING, NEUTRAL, Judgments, ShownVotes
from evaluation.methods.pairwise.tables import EVERY, stacked

JUDGE_SYSTEM = ("machine", *SYSTEM)
JUDGE_TAU = ("machine", "dimension", "tau", "low", "high", "systems", "topics", "reason")
STAGE = "judges"  # the stage of a pairwise study that this belongs to
RESAMPLES = 200
FEWEST_SYSTEMS = 3  # below these an order says nothing
LEAST_DEFINED = 0.9  # share of the draws in which there must be a tau
DIGITS = 6  # to which merits are equal


def judge_boards(
    data: Judgments,
    *,
    rng: np.random.Generator,
    settings: dict[str, Any],
    hooks: Hooks | None = None,
    resamples: int = RESAMPLES,
) -> dict[str, Table]:
    """``judge_system``: SYSTEM of ``pairwise_boards`` by machine; ``judge_tau``: by dimension.

    ``settings`` hold ``level``, ``resamples`` and ``regularisation`` as of a pairwise study.
    Dimension -1 is all together. A tau that is not known is NaN and has a ``reason``.
    """
    hooks, people = hooks or Hooks(), data.votes.first_votes()
    machines, size = first_calls(data.machine), len(data.dimensions)
    streams = rng.spawn(len(machines))
    parts = [
        ({"machine": m}, boards(data, calls, None, settings, rng=own, hooks=hooks.quiet()).system)
        for (m, calls), own in zip(machines.items(), streams, strict=True)
    ]
    # The same draws for every judge, so that people's board is fitted again but once a draw.
    seed, taus = int(rng.integers(2**63)), []
    for k in range(EVERY, size):
        hooks.step(STAGE, k + 1, size + 1)
        ours = _fitted(data, people, k, settings)
        drawn = _draws(seed, len(data.topics), resamples)
        again = _cached_board(ours)
        for m, calls in machines.items():
            theirs = _fitted(data, calls, k, settings)
            found = _agreement(ours, theirs, drawn, settings["level"], again)
            taus.append({"machine": m, "dimension": k, **found})
    taus.sort(key=lambda row: (row["machine"], row["dimension"]))
    return {
        "judge_system": stacked(parts, JUDGE_SYSTEM),
        "judge_tau": of_rows(taus, JUDGE_TAU),
    }


def _draws(seed: int, topics: int, resamples: int) -> Callable[[IntArray], IntArray]:
    """Return how often each given topic is taken in each draw (resamples, topics)."""

    def drawn(known: IntArray) -> IntArray:
        rng, out = np.random.default_rng(seed), np.zeros((resamples, topics), dtype=np.int64)
        out[:, known] = rng.multinomial(len(known), np.full(len(known), 1 / len(known)), resamples)
        return out

    return drawn


def _cached_board(board: _Fitted | None) -> Callable[[IntArray], list[FloatArray]]:
    """The board's merits under draws, fitted once for the same draws."""
    known: dict[bytes, list[FloatArray]] = {}

    def again(draws: IntArray) -> list[FloatArray]:
        key = draws.tobytes()
        if board is not None and key not in known:
            known[key] = [board.merits(times) for times in draws]
        return known.get(key, [])

    return again


@dataclass(frozen=True, eq=False)
class _Fitted:
    """One board's fit, ready to be fitted again to other weights of the topics.

    ``counts`` (3, cells, topics) are wins, ties and losses; ``present`` (nodes, topics) the votes
    on a node's texts; ``player`` (nodes,) the systems of the largest group that comparisons
    connect, ``inside`` (nodes,) whether a node is one of them.
    """

    cells: Cells
    model: Model
    point: Point
    counts: FloatArray
    present: FloatArray
    inside: NDArray[np.bool_]
    systems: int

    @property
    def topics(self) -> NDArray[np.bool_]:
        """Return which topics have votes (topics,)."""
        known: NDArray[np.bool_] = self.counts.sum(axis=(0, 1)) > 0
        return known

    def merits(self, times: IntArray | None = None) -> FloatArray:
        """Log-merits (systems,), NaN where there are none; ``times`` each topic is taken."""
        out, point = np.full(self.systems, np.nan), self.point
        if times is not None:
            win, tie, loss = self.counts @ times
            if not (self.present[self.inside] @ times > 0).all() or not (win + loss).any():
                return out
            cells = replace(self.cells, win=win, tie=tie, loss=loss)
            if self.model.ties != "none" and not tie.any():
                return out
            point = maximise(cells, self.model, self.point).point
        layout = self.cells.layout
        out[layout.player[self.inside]] = layout.centred(point.merit)[self.inside]
        return out


def _fitted(
    data: Judgments, votes: ShownVotes, dimension: int, settings: dict[str, Any]
) -> _Fitted | None:
    """The board of votes on one dimension, or on all together; None where none is decided."""
    a, b = data.system[data.first][votes.pair], data.system[data.second][votes.pair]
    topic, left = data.topic[data.first][votes.pair], votes.left()
    said = votes.canonical()
    names = range(said.shape[1]) if dimension == EVERY else (dimension,)
    rows = np.concatenate([np.stack([a, b, said[:, k], left, topic], axis=1) for k in names])
    rows = rows[(rows[:, 2] != MISSING) & (rows[:, 0] != rows[:, 1])]
    if not (rows[:, 2] != NEUTRAL).any():
        return None
    # Which topic a vote is on stands in the place of who gave it.
    pairs = Pairs.build(
        rows[:, 0],
        rows[:, 1],
        rows[:, 2],
        left=rows[:, 3],
        judge=rows[:, 4],
        players=[str(k) for k in range(len(data.systems))],
        judges=data.topics,
    )
    side = len(np.unique(pairs.left)) > 1
    cells = cells_of(pairs, side=side)
    counts = np.zeros((3, len(cells.first), len(data.topics)))
    np.add.at(counts, (pairs.outcome, cells.row, pairs.judge), pairs.weight)
    ties = "davidson" if cells.tie.any() else "none"
    model = Model(ties, float(settings["regularisation"]), side)
    layout = cells.layout
    present = np.zeros((len(layout), len(data.topics)))
    for node in (cells.first, cells.second):
        np.add.at(present, node, counts.sum(axis=0))
    return _Fitted(
        cells,
        model,
        maximise(cells, model).point,
        counts,
        present,
        layout.component == np.bincount(layout.component).argmax(),
        len(data.systems),
    )


def _agreement(
    one: _Fitted | None,
    two: _Fitted | None,
    drawn: Callable[[IntArray], IntArray],
    level: float,
    again: Callable[[IntArray], list[FloatArray]],
) -> dict[str, Any]:
    """Tau of two boards; ``drawn`` gives how often each topic is taken in each draw, ``again`` the
    first board's merits under these draws."""
    none = {"tau": np.nan, "low": np.nan, "high": np.nan, "systems": 0, "topics": 0}
    if one is None or two is None:
        return {**none, "reason": "one of the boards has no decided vote"}
    merits = one.merits(), two.merits()
    both = np.isfinite(merits[0]) & np.isfinite(merits[1])
    topics = np.flatnonzero(one.topics & two.topics)
    none |= {"systems": int(both.sum()), "topics": len(topics)}
    if both.sum() < FEWEST_SYSTEMS:
        said = f"{both.sum()} systems on both boards; an order needs {FEWEST_SYSTEMS}"
        return {**none, "reason": said}
    none["tau"] = _tau(*merits, both)
    if not np.isfinite(none["tau"]):
        return {**none, "reason": "one of the boards has all systems equal"}
    if few := too_few_units(len(topics), "topics", RESAMPLED):
        return {**none, "reason": few}
    draws = drawn(topics)
    found = np.array(
        [
            _tau(first, two.merits(times), both)
            for first, times in zip(again(draws), draws, strict=True)
        ]
    )
    good = found[np.isfinite(found)]
    if len(good) < LEAST_DEFINED * len(draws):
        return {**none, "reason": "too many draws of topics leave a system without a vote"}
    low, high = np.quantile(good, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return {**none, "low": low, "high": high, "reason": ""}


def _tau(one: FloatArray, two: FloatArray, both: NDArray[np.bool_]) -> float:
    sides = [np.round(merit[both], DIGITS) for merit in (one, two)]
    if not all(np.isfinite(side).all() for side in sides):
        return float("nan")
    return float(kendall(*sides).value[0])
