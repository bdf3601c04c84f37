"""How far a board of systems holds: at equal length and style, and without some of its votes."""

from __future__ import annotations

from typing import Any

import numpy as np

from evaluation.methods.bradley_terry.cells import cells_of
from evaluation.methods.bradley_terry.covariates import relative_difference
from evaluation.methods.bradley_terry.fit import Model
from evaluation.methods.bradley_terry.fragility import Change, fragility
from evaluation.methods.bradley_terry.method import Confounded
from evaluation.methods.core.base import DataError, FloatArray, Hooks, IntArray, Table, of_rows
from evaluation.methods.core.inference import (
    family_level,
    normal_quantile,
    normal_score,
    t_for_normal,
)
from evaluation.methods.core.votes import FIRST, SECOND
from evaluation.methods.pairwise.boards import (
    SHARED,
    SYSTEM,
    Board,
    Boards,
    BoardVotes,
    board_of,
    draws_of,
    family_of,
    votes_of,
)
from evaluation.methods.pairwise.judgments import Judgments, ShownVotes
from evaluation.methods.pairwise.tables import EVERY, stacked

STAGE = "length, style and the top"
ALIKE, SAME = "no control for length and style", "words, lists, headings or bold text"
WORDS = "words"  # the count that says who wrote more
CHANGE = (
    "dimension",
    "kind",
    "worker",
    "pair",
    "system",
    "gap",
    "votes",
    "of",
    "pairs",
    "for_first",
    "met_first",
    "longer",
    "longer_of",
)
TOP = ("dimension", "system_a", "system_b", "gap", "error", "votes", "needed", "few_topics")
MOST_CHANGES = 12  # single persons, and single pairs, that are listed
MOST_SYSTEMS = 200  # past these, refits take longer than a run should
POWER, ROUNDS = 0.8, 30  # of votes that would separate the first two
EVEN = 6  # of ten decided votes are at most for the same text, where judges are split evenly


def resistance(
    data: Judgments,
    people: ShownVotes,
    competence: FloatArray | None,
    settings: dict[str, Any],
    *,
    board: Boards,
    rng: np.random.Generator,
    hooks: Hooks,
) -> tuple[dict[str, Table], list[str]]:
    """The tables of ``board``'s resistance by dimension, and notes in words.

    ``controlled`` and ``style`` (as ``system`` and ``shared``: merits at equal counts, and what one
    standard deviation of difference adds) where texts were counted. ``length``: median ``words`` of
    each system. ``top``: who is first, ``gap`` (log-merit) and its jackknife ``error`` to the
    second, and the ``needed`` votes that would separate the two as groups do with a chance of
    POWER (``votes_needed``); ``few_topics``: how many there are, where the two would be separated
    were there many topics (0: it is not for want of topics). ``change``:
    what puts another first, by ``kind`` (votes, person, item), fewest votes first; ``for_first`` of
    the ``met_first`` decided votes on the first were for it, ``longer`` of ``longer_of`` for the
    longer text. ``change_vote``: the votes of the first kind. ``split``: pairs with two votes or
    more, and
    those on which both texts had at least four tenths of the decided votes.
    """
    votes = votes_of(data, people, competence)
    every = BoardVotes.joined(votes)
    known = set(board.system["dimension"].tolist())
    settings = {**settings, "family": family_of(votes)}
    level = family_level(settings["level"], settings["family"])  # of ranks
    controlled: list[tuple[dict[str, int], Table]] = []
    style: list[tuple[dict[str, int], Table]] = []
    rows: dict[str, list[dict[str, Any]]] = {"top": [], "change": [], "change_vote": []}
    split, notes = [], []
    rngs = draws_of(rng, votes)
    for k in range(EVERY, len(votes)):
        hooks.step(STAGE, k + 1, len(votes) + 1)
        own = every if k == EVERY else votes[k]
        split.append({"dimension": k, **_split(own)})
        if k not in known:
            continue
        if data.counts:
            found, said = _controlled(data, own, settings, rng=rngs[k], hooks=hooks)
            name = "all dimensions" if k == EVERY else data.dimensions[k]
            notes += [f"{name}: {note}." for note in said]
            if found is not None:
                controlled.append(({"dimension": k}, found.player))
                style.append(({"dimension": k}, found.shared))
        model = _model(board, k, settings)
        name = "all dimensions" if k == EVERY else data.dimensions[k]
        by_topic = board.clusters[name].startswith("topic")
        topics = len(np.unique(own.topic)) if by_topic else 0
        freedom = board.freedom[k]
        _fragile(data, own, k, model, rows=rows, level=level, freedom=freedom, topics=topics)
    hooks.step(STAGE, len(votes) + 1, len(votes) + 1)
    tables = {
        "controlled": stacked(controlled, SYSTEM),
        "style": stacked(style, SHARED),
        "length": _length(data),
        "top": of_rows(rows["top"], TOP),
        "change": of_rows(rows["change"], CHANGE),
        "change_vote": of_rows(rows["change_vote"], ("dimension", "worker", "pair")),
        "split": of_rows(split, ("dimension", "pairs", "even")),
    }
    return tables, notes


def _length(data: Judgments) -> Table:
    if WORDS not in data.counts:
        return of_rows([], ("system", "words", "texts"))
    found = []
    for system in range(len(data.systems)):
        own = data.counts[WORDS][data.system == system]
        if len(own):
            found.append({"system": system, "words": float(np.median(own)), "texts": len(own)})
    return of_rows(found, ("system", "words", "texts"))


def _controlled(
    data: Judgments,
    votes: BoardVotes,
    settings: dict[str, Any],
    *,
    rng: np.random.Generator,
    hooks: Hooks,
) -> tuple[Board | None, list[str]]:
    """The board at equal counts, and in words what is not controlled for.

    A count that nearly always goes with the system cannot be told from it, and is left out.
    """
    first, second = data.first[votes.pair], data.second[votes.pair]
    names = list(data.counts)
    notes: list[str] = []
    decided: list[str] = []
    while names:
        counts = np.column_stack([data.counts[name] for name in names])
        difference = relative_difference(counts[first], counts[second])
        styled = votes.styled(data, difference, tuple(names))
        if not styled.covariates.names:
            break
        try:
            return board_of(data, votes, settings, rng, hooks, styled=styled), notes
        except Confounded as problem:
            names.remove(problem.name)
            decided.append(problem.name)
            notes.append(f"no control for {problem.name}: the system nearly always decides that")
        except DataError as problem:
            notes.append(f"no control for length and style, since {problem}")
            return None, notes
    if decided:
        return None, [
            f"{ALIKE}, since the system nearly always decides them ({', '.join(decided)})"
        ]
    return None, [f"{ALIKE}, since the two texts of each pair do not differ in {SAME}"]


def _model(board: Boards, dimension: int, settings: dict[str, Any]) -> Model:
    """Return the model that the board of a dimension was fitted with."""
    rows = board.shared["dimension"] == dimension
    names = set(board.shared["name"][rows].tolist()) if len(board.shared) else set()
    ties = "davidson" if "tie" in names else "none"
    return Model(ties, float(settings["regularisation"]), "side" in names)


def _fragile(
    data: Judgments,
    votes: BoardVotes,
    dimension: int,
    model: Model,
    *,
    rows: dict[str, list[dict[str, Any]]],
    level: float,
    freedom: FloatArray,
    topics: int,
) -> None:
    """Add who is first on a dimension, and what changes it.

    ``topics``: how many cluster the board; 0 where something else does.
    """
    styled = votes.styled(data, np.zeros((len(votes.a), 0)))
    systems = len(cells_of(styled.pairs, side=False).layout)
    if systems > MOST_SYSTEMS:
        return
    worker, pair = votes.worker[styled.order], votes.pair[styled.order]
    found = fragility(styled.pairs, model, {"person": worker, "item": pair})
    if found is None:
        return
    n, apart = len(votes.a), normal_quantile(level, systems * (systems - 1) // 2)
    least = float(freedom[[found.first, found.second]].min())
    needs = found.error * np.array([apart, t_for_normal(apart, max(1.0, least))])
    is_bound = bool(needs[0] <= found.gap < needs[1])
    rows["top"].append(
        {
            "dimension": dimension,
            "system_a": found.first,
            "system_b": found.second,
            "gap": found.gap,
            "error": found.error,
            "votes": n,
            "needed": votes_needed(
                n,
                found.gap,
                found.error,
                systems=systems,
                level=level,
                freedom=least,
            ),
            "few_topics": topics if is_bound and topics <= len(np.unique(votes.worker)) else 0,
        }
    )
    changes = [("votes", found.votes)] if found.votes is not None else []
    for name, singles in found.units.items():
        changes += [(name, one) for one in singles[:MOST_CHANGES]]
    for kind, change in changes:
        at = styled.order[change.rows]
        rows["change"].append(
            {"dimension": dimension, "kind": kind, "of": n}
            | _change_facts(data, votes, at, kind=kind, change=change, first=found.first)
        )
        if kind == "votes":
            rows["change_vote"] += [
                {"dimension": dimension, "worker": int(w), "pair": int(p)}
                for w, p in zip(votes.worker[at], votes.pair[at], strict=True)
            ]


def votes_needed(
    n: int, gap: float, error: float, *, systems: int, level: float, freedom: float
) -> float:
    """Votes with which two systems are separated with a chance of POWER.

    ``n`` votes gave this ``gap`` with this standard ``error`` and degrees of ``freedom``. The gap
    is taken as true, the variance to fall and the degrees to grow as the votes do: with more
    workers and topics, not with more votes of the same. Simultaneous over all pairs of ``systems``.
    """
    pairs = systems * (systems - 1) // 2
    apart, needed = normal_quantile(level, pairs), float(n)
    for _ in range(ROUNDS):  # degrees of freedom depend on the votes, and settle quickly
        least = float(t_for_normal(apart, max(1.0, freedom * needed / n)))
        needed = n * ((least + normal_score(POWER)) * error / gap) ** 2
    return needed


def _change_facts(
    data: Judgments, votes: BoardVotes, at: IntArray, *, kind: str, change: Change, first: int
) -> dict[str, Any]:
    """Return what the votes (rows ``at``) of a change have in common."""
    a, b, outcome = votes.a[at], votes.b[at], votes.outcome[at]
    workers, pairs = np.unique(votes.worker[at]), np.unique(votes.pair[at])
    met = ((a == first) | (b == first)) & np.isin(outcome, (FIRST, SECOND))
    won = np.where(outcome == FIRST, a, b)
    longer = longer_of = 0
    if WORDS in data.counts:
        words = data.counts[WORDS]
        lead = words[data.first[votes.pair[at]]] - words[data.second[votes.pair[at]]]
        told = (lead != 0) & np.isin(outcome, (FIRST, SECOND))
        longer = int(((lead > 0) == (outcome == FIRST))[told].sum())
        longer_of = int(told.sum())
    return {
        "worker": int(workers[0]) if len(workers) == 1 and kind != "item" else -1,
        "pair": int(pairs[0]) if len(pairs) == 1 and kind != "person" else -1,
        "system": change.first,
        "gap": change.gap,
        "votes": len(at),
        "pairs": len(pairs),
        "for_first": int((won == first)[met].sum()),
        "met_first": int(met.sum()),
        "longer": longer,
        "longer_of": longer_of,
    }


def _split(votes: BoardVotes) -> dict[str, int]:
    """Pairs with two votes or more, and those on which about as many preferred either text."""
    size = int(votes.pair.max(initial=-1)) + 1
    first, second, every = (
        np.bincount(votes.pair[rows], minlength=size)
        for rows in (votes.outcome == FIRST, votes.outcome == SECOND, slice(None))
    )
    told, most, decided = every >= 2, np.maximum(first, second), first + second
    even = told & (decided > most) & (10 * most <= EVEN * decided)
    return {"pairs": int(told.sum()), "even": int(even.sum())}
