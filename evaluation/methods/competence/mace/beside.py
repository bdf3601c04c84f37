"""What stands beside MACE's labels: those of the majority, and those of Dawid and Skene.

Three models that agree say more than one. Where labels leave the majority often, either few workers
know, or the model does not fit: then it has to be said, since nothing else shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.methods.competence import dawid_skene_core
from evaluation.methods.competence.mace.data import summed
from evaluation.methods.core.base import FloatArray, Hooks, IntArray
from evaluation.methods.core.votes import Labels

LEAVES = 0.1  # share of items on which labels leave the majority from which it is said
NONE = -1  # no label: not scored, or no one label has most votes
ROUNDS, TOLERANCE, SMOOTHING = 1000, 1e-7, 0.01  # of Dawid-Skene, its own defaults


@dataclass(frozen=True, eq=False)
class Beside:
    """Labels (i,) of the majority and of Dawid-Skene (NONE: none), and the posterior (i,) of these.

    The posterior holds if Dawid and Skene's model holds: it is no accuracy.
    """

    majority: IntArray
    dawid_skene: IntArray
    posterior: FloatArray


def majority(data: Labels) -> IntArray:
    """The label (i,) with most votes of each item; NONE without votes or where two are level."""
    k, items = len(data.labels), len(data.items)
    votes = summed(data.item * k + data.label, data.weight, items * k).reshape(items, k)
    most = votes.max(axis=1)
    alone = (votes >= most[:, None] - 1e-9).sum(axis=1) == 1
    return np.where((most > 0) & alone, votes.argmax(axis=1), NONE)


def beside(data: Labels, worker_part: IntArray, item_part: IntArray, *, hooks: Hooks) -> Beside:
    """The labels of both, on the components of MACE. Raises Cancelled."""
    counts = dawid_skene_core.prepare(data, worker_part, item_part)
    quiet = Hooks(cancelled=hooks.cancelled)
    found = dawid_skene_core.em(
        counts, smoothing=SMOOTHING, iterations=ROUNDS, tolerance=TOLERANCE, hooks=quiet
    ).posterior
    scored = item_part > 0
    return Beside(
        majority(data),
        np.where(scored, found.argmax(axis=1), NONE),
        np.where(scored, found.max(axis=1), np.nan),
    )


def against_majority(label: IntArray, most: IntArray) -> dict[str, Any]:
    """On how many items labels leave the majority, of those that have both."""
    both = (label != NONE) & (most != NONE)
    differ = int((label[both] != most[both]).sum())
    return {"differ": differ, "items": int(both.sum()), "share": differ / max(int(both.sum()), 1)}


def warning(found: Beside, label: IntArray) -> str:
    """What is said where labels leave the majority on more than LEAVES of the items, else ''."""
    own, other = (against_majority(one, found.majority) for one in (label, found.dawid_skene))
    if own["share"] <= LEAVES:
        return ""
    return (
        f"labels leave the majority on {own['differ']} of {own['items']} items "
        f"({own['share']:.0%}; those of Dawid-Skene on {other['differ']}): check some of them by "
        "hand before you use them"
    )
