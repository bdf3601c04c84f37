"""Whether a worker's labels agree less, or more, with the others' as time goes on.

Each label is held against what the other labels of its item make most likely by Dawid-Skene: the
worker's own label is left out, as it would vote for itself. Labels of items that nobody else
labelled are not used.

"Changed" compares the first half of a worker's labels with the last by a test of Fisher (1922): if
nothing depends on time, any half of the labels is as likely to come first as any other, whatever
the items are. Both tails are told, as twice the smaller one, and the level is shared by all workers
who are tested (Bonferroni). The test cannot tell a worker who changes from items that do: where the
later items are harder, or the others change, agreement falls as well.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.competence.dawid_skene import Fitted
from evaluation.methods.competence.mace.data import Counts
from evaluation.methods.competence.mace.draws import TINY
from evaluation.methods.core.base import FloatArray, IntArray, Table
from evaluation.methods.core.inference import family_level
from evaluation.methods.core.units import wilson
from evaluation.methods.core.votes import Labels

LEAST = 30  # labels of a worker from which halves are compared
A_BLOCK, MOST = 15, 8  # labels a block has at least, and blocks at most
NOT_TESTED, SAME, FELL, ROSE = -1, 0, 1, 2


def agrees_with_others(data: Labels, counts: Counts, fitted: Fitted) -> FloatArray:
    """Whether each vote (n,) is the label that the item's other votes make most likely, 1 or 0.

    NaN where there are none.
    """
    k = counts.labels
    log = np.log(np.maximum(fitted.confusion.transpose(0, 2, 1), TINY))
    of_item = counts.matrix @ np.ascontiguousarray(log).reshape(-1, k)
    of_item += counts.of_item(np.log(np.maximum(fitted.prior, TINY)))
    others = of_item[data.item] - data.weight[:, None] * log[data.worker, data.label]
    votes = np.bincount(data.item, data.weight, minlength=len(data.items))
    alone = (votes[data.item] - data.weight < 0.5) | (counts.item_part[data.item] == 0)
    return np.where(alone, np.nan, others.argmax(axis=1) == data.label)


def over_time(
    agrees: FloatArray, worker: IntArray, time: FloatArray, *, workers: int, level: float
) -> tuple[Table, dict[str, NDArray[np.generic]]]:
    """Blocks of every worker's labels in order, and who changed.

    ``agrees`` (n,) 1, 0 or NaN (not used), ``worker`` (n,) and ``time`` (n,) of each vote, in any
    unit. Labels of one moment have no order, so a worker is tested only where all labels of the
    first half are older than those of the last, and from LEAST labels on.

    The table has a row a block: worker, block, n, agree, low and high (Wilson, at ``level``). The
    columns (workers,): early_n, early_agree, late_n, late_agree (halves; 0 where not tested) and
    change (SAME, FELL, ROSE or NOT_TESTED).
    """
    used = np.flatnonzero(~np.isnan(agrees))
    order = used[np.lexsort((time[used], worker[used]))]
    who, hit, at = worker[order], agrees[order].astype(np.int64), time[order]
    n = np.bincount(who, minlength=workers)
    place = np.arange(len(who)) - (np.cumsum(n) - n)[who]
    middle = n // 2
    late = place >= middle[who]
    # The last moment of the first half lies before the first one of the second.
    ends = np.cumsum(n) - n + middle
    enough = n >= LEAST
    tested = np.zeros(workers, dtype=bool)
    tested[enough] = at[ends[enough] - 1] < at[ends[enough]]
    sums = [
        np.where(tested, np.bincount(who[part], weights, minlength=workers), 0).astype(np.int64)
        for part, weights in (
            (~late, None),
            (~late, hit[~late]),
            (late, None),
            (late, hit[late]),
        )
    ]
    columns: dict[str, NDArray[np.generic]] = dict(
        zip(("early_n", "early_agree", "late_n", "late_agree"), sums, strict=True)
    )
    columns["change"] = _changes(*sums, tested=tested, level=level)
    return _blocks(who, hit, place, np.where(tested, n, 0), level), columns


def _changes(
    early_n: IntArray,
    early: IntArray,
    late_n: IntArray,
    late: IntArray,
    *,
    tested: NDArray[np.bool_],
    level: float,
) -> IntArray:
    """FELL, ROSE, SAME or NOT_TESTED of each worker (workers,)."""
    limit = (1 - family_level(level, int(tested.sum()))) / 2
    of = (early_n + late_n, early + late, late_n)  # all labels, those that agree, the late ones
    fewer, more = scipy.stats.hypergeom.cdf(late, *of), scipy.stats.hypergeom.sf(late - 1, *of)
    found = np.where(fewer <= limit, FELL, np.where(more <= limit, ROSE, SAME))
    return np.where(tested, found, NOT_TESTED)


def _blocks(who: IntArray, hit: IntArray, place: IntArray, n: IntArray, level: float) -> Table:
    """Blocks of the workers who have ``n`` (workers,) labels, 0 of who has none to be shown."""
    count = np.clip(n // A_BLOCK, 0, MOST)
    row = n[who] > 0
    who, hit, place = who[row], hit[row], place[row]
    cell = who * MOST + place * count[who] // np.maximum(n[who], 1)
    size, agree = np.bincount(cell), np.bincount(cell, hit)
    some = np.flatnonzero(size)
    bounds = [wilson(a / s, s, level) for a, s in zip(agree[some], size[some], strict=True)]
    return Table(
        {
            "worker": some // MOST,
            "block": some % MOST,
            "n": size[some],
            "agree": agree[some].astype(np.int64),
            "low": np.array([low for low, _ in bounds], dtype=np.float64),
            "high": np.array([high for _, high in bounds], dtype=np.float64),
        }
    )
