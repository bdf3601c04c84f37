"""Which judgments each board of a pairwise study uses, and why it does not use the others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import FloatArray, Table
from evaluation.methods.core.pairwise_tables import EVERY
from evaluation.methods.pairwise.judgments import MISSING, Judgments
from evaluation.methods.pairwise.order.data import ShownVotes

Use = dict[str, Any]


def judgments_used(
    data: Judgments, people: ShownVotes, competence: FloatArray | None, system: Table, label: Table
) -> list[Use]:
    """One entry for each board: ``board``, ``dimension``, ``used`` and ``left_out`` by reason.

    ``people`` are the first judgments of each worker on a pair of texts; the others are repeats.
    The board "study" is what the methods see; "ranking" is Bradley-Terry with its win matrix,
    "labels" the estimated labels, by dimension ("" for all together, of which a judgment is used
    where any dimension uses it). ``competence`` (workers, d) as for the boards; ``system`` and
    ``label`` are the tables that were found, which say where there is a board or a label.

    ``used`` + the sum of ``left_out`` is the number of judgments in ``data`` in every entry.
    """
    repeats = len(data.votes) - len(people)
    answered = people.canonical() != MISSING
    apart = (data.system[data.first] != data.system[data.second])[people.pair]
    known = np.ones(answered.shape, dtype=bool)
    if competence is not None:
        known = np.nan_to_num(competence[people.worker]) > 0
    ranked = set(system["dimension"].tolist())
    found = [_use("study", "", repeats, [], np.ones(len(people), dtype=bool))]
    for k in range(EVERY, len(data.dimensions)):
        given, trusted = _of(answered, k), _of(answered & known, k)
        steps = [("not_answered", given), ("one_source", apart), ("no_weight", trusted)]
        if k not in ranked:
            steps.append(("no_board", np.zeros(len(people), dtype=bool)))
        used = trusted & apart & (k in ranked)
        found.append(_use("ranking", _name(data, k), repeats, steps, used))
    labelled = np.zeros(answered.shape[::-1], dtype=bool)
    has = np.zeros((len(data.dimensions), len(people.pairs)), dtype=bool)
    rows = label["label"] >= 0
    has[label["dimension"][rows], label["pair"][rows]] = True
    for k in range(len(data.dimensions)):
        labelled[k] = answered[:, k] & has[k][people.pair]
        steps = [("not_answered", answered[:, k]), ("no_label", has[k][people.pair])]
        found.append(_use("labels", data.dimensions[k], repeats, steps, labelled[k]))
    return found


def _of(rows: NDArray[np.bool_], dimension: int) -> NDArray[np.bool_]:
    """One dimension of (n, d), or whether any holds."""
    found: NDArray[np.bool_] = np.any(rows, axis=1) if dimension == EVERY else rows[:, dimension]
    return found


def _name(data: Judgments, dimension: int) -> str:
    return "" if dimension == EVERY else data.dimensions[dimension]


def _use(
    board: str,
    dimension: str,
    repeats: int,
    steps: list[tuple[str, NDArray[np.bool_]]],
    used: NDArray[np.bool_],
) -> Use:
    """Each judgment that is not used counts under the first step that it does not pass."""
    left_out, here = {"repeat": repeats}, np.ones(len(used), dtype=bool)
    for reason, passes in steps:
        left_out[reason] = int((here & ~passes).sum())
        here &= passes
    return {
        "board": board,
        "dimension": dimension,
        "used": int(used.sum()),
        "left_out": {reason: n for reason, n in left_out.items() if n},
    }
