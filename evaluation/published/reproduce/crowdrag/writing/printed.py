"""How the published analysis of writing computes what it prints, where that is not what it says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evaluation.methods.agreement.rank_correlation import spearman
from evaluation.methods.core.base import FloatArray
from evaluation.methods.writing.documents import Pairs
from evaluation.methods.writing.method import Responses
from evaluation.published.reproduce.crowdrag.rows import DIFFERS


def explain_difference(target: float, measured: float, why: str) -> str:
    """Why a figure is not the printed one rounded once; "" where it is."""
    digits = len(f"{target:g}".partition(".")[2])
    return "" if abs(round(measured, digits) - target) < 1e-9 else why or DIFFERS


def alphabetical_rho(
    data: Responses, documents: Sequence[Sequence[str]], first: str, second: str
) -> list[tuple[float, float]]:
    """Mean and standard deviation by style of the published "order correlation".

    Of two lists of the same ids (the order of citation, and that of the ranking or of the other
    group) the k-th ids are paired, and each is worth its place in the alphabet.
    """
    names = list(data.groups)
    spelled = np.array([np.argsort(np.argsort(np.array(some))) for some in documents])
    ranked = np.arange(data.cites.shape[1], dtype=np.float64)
    if second:
        pairs = Pairs.of(data)
        kept = (data.group[pairs.first] == names.index(first)) & (
            data.group[pairs.second] == names.index(second)
        )
        kept &= data.style[pairs.first] == data.style[pairs.second]
        rows, others = pairs.first[kept], pairs.second[kept]
        both = data.cites[rows] & data.cites[others]
        other = data.first[others]
    else:
        rows = np.flatnonzero(data.group == names.index(first))
        both, other = data.cites[rows], np.tile(ranked, (len(rows), 1))
    own = data.first[rows]
    x, y, group = [], [], []
    for k, kept_ranks in enumerate(both):
        cited = np.flatnonzero(kept_ranks)
        alphabet = spelled[data.topic[rows[k]]]
        x.append(alphabet[cited[np.argsort(own[k, cited])]])
        y.append(alphabet[cited[np.argsort(other[k, cited])]])
        group.append(np.full(len(cited), k))
    rho = spearman(
        np.concatenate(x), np.concatenate(y), np.concatenate(group), groups=len(rows)
    ).value
    return [_moments(rho[data.style[rows] == style]) for style in range(len(data.styles))]


def _moments(values: FloatArray) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    if len(known) < 2:
        return float("nan"), float("nan")
    return float(known.mean()), float(known.std(ddof=1))


def mean_rank(data: Responses, group: str, style: str, cited: bool) -> float:
    """Mean over responses of the mean rank, from 0, of the passages (not) cited."""
    mine = (data.group == data.groups.index(group)) & (data.style == data.styles.index(style))
    chosen = data.cites[mine] == cited
    count = chosen.sum(axis=1)
    total = (chosen * np.arange(chosen.shape[1])).sum(axis=1)
    return float((total[count > 0] / count[count > 0]).mean())
