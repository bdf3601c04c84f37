"""What the parts of a pairwise study share: tables by dimension, and small statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import FloatArray, IntArray, Table, of_rows
from evaluation.methods.core.inference import t_quantile
from evaluation.methods.pairwise.judgments import CODES, MISSING, NEUTRAL, ShownVotes

EVERY = -1  # in the column of dimensions: all of them together
LABELS = len(CODES)


def stacked(parts: Sequence[tuple[dict[str, int], Table]], columns: Sequence[str]) -> Table:
    """Tables of the same columns one below the other, each with constant columns in front."""
    lead = list(parts[0][0]) if parts else []
    if not parts:
        return of_rows([], columns)
    found: dict[str, NDArray[Any]] = {
        name: np.repeat([key[name] for key, _ in parts], [len(table) for _, table in parts])
        for name in lead
    }
    for name in columns:
        if name not in found:
            found[name] = np.concatenate([table[name] for _, table in parts])
    return Table({name: found[name] for name in columns})


def numbered(table: Table, dimensions: Sequence[str], *columns: str, every: bool = False) -> Table:
    """The table with the names of dimensions as their numbers; ``columns`` are ('dimension',).

    With ``every`` the first row is that of all dimensions together, which gets EVERY.
    """
    place = {name: k for k, name in enumerate(dimensions)}
    found = dict(table.columns)
    for column in columns or ("dimension",):
        names = table[column].tolist()
        numbers = [place[name] for name in names[every:]]
        found[column] = np.array([EVERY] * every + numbers, dtype=np.int64)
    return Table(found)


def one_hot(label: IntArray) -> FloatArray:
    """(n, LABELS) with a 1 at each label, and zeros where it is missing."""
    return np.asarray(label[:, None] == np.arange(LABELS), dtype=np.float64)


def count_votes(vote: IntArray, pair: IntArray, pairs: int) -> FloatArray:
    """Votes of each pair on each label (pairs, LABELS) from canonical votes (n,)."""
    given = vote >= 0
    flat = np.bincount(pair[given] * LABELS + vote[given], minlength=pairs * LABELS)
    return flat.reshape(pairs, LABELS).astype(np.float64)


def votes_behind(people: ShownVotes) -> IntArray:
    """Votes of each pair on each dimension (pairs, d)."""
    size = len(people.pairs)
    return np.stack(
        [np.bincount(people.pair[column != MISSING], minlength=size) for column in people.vote.T],
        axis=1,
    )


def agreement_with_others(
    vote: IntArray, pair: IntArray, pairs: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which votes (n,) can be compared with the others of their pair, and which agree.

    Decisive votes against the majority of the other decisive ones: the vote itself does not count,
    and a pair whose others are split says nothing.
    """
    counts = count_votes(vote, pair, pairs)
    lead = counts[pair, LABELS - 1] - counts[pair, 0]
    step = np.where(vote >= 0, vote - NEUTRAL, 0)
    lead = lead - step
    used = (step != 0) & (lead != 0)
    return used, used & (np.sign(lead) == step)


def mean_interval(values: FloatArray, level: float) -> dict[str, Any]:
    """Mean of values (n,) that are finite, with a t interval; ``se``, ``low``, ``high``, ``n``."""
    known = values[np.isfinite(values)]
    n = len(known)
    mean = float(known.mean()) if n else np.nan
    if n < 2:
        return {"mean": mean, "se": np.nan, "low": np.nan, "high": np.nan, "n": n}
    se = float(known.std(ddof=1) / np.sqrt(n))
    reach = float(t_quantile(level, n - 1)) * se
    return {"mean": mean, "se": se, "low": mean - reach, "high": mean + reach, "n": n}


def mean_of(values: Any) -> float:
    """Mean of what is defined; NaN where nothing is."""
    found = np.asarray(values, dtype=np.float64)
    known = found[np.isfinite(found)]
    return float(known.mean()) if len(known) else float("nan")
