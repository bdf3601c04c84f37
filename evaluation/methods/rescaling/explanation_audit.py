"""An audit of explanations: an equal sample by annotator and label, and shares agreed with.

Wadhwa et al. 2024, section 4.2 and Table 4. The paper gives shares alone; here each has its
Wilson interval.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.methods.core.base import BadParameter
from evaluation.methods.core.units import wilson


def sample(
    workers: Sequence[Hashable], labels: Sequence[Hashable], *, each: int, rng: np.random.Generator
) -> list[int]:
    """Draw ``each`` explanations of every worker and label, in random order; returns indices.

    ``workers`` and ``labels`` (n,) belong to the explanations. The places come in a random order,
    so that neither worker nor label can be told from it. Raises BadParameter unless each >= 1.
    """
    if each < 1:
        raise BadParameter(f"each is {each}; it must be 1 or more")
    cells: dict[tuple[Hashable, Hashable], list[int]] = {}
    for at, cell in enumerate(zip(workers, labels, strict=True)):
        cells.setdefault(cell, []).append(at)
    drawn: list[int] = []
    for places in cells.values():
        kept = rng.permutation(len(places))[:each]
        drawn += [places[k] for k in kept]
    return [drawn[k] for k in rng.permutation(len(drawn))]


@dataclass(frozen=True)
class Share:
    """How many of ``n`` the judge agrees with; without any there is no share."""

    agreed: int
    n: int
    value: float | None
    low: float | None
    high: float | None


def share(agreed: int, n: int, *, level: float = 0.95) -> Share:
    """A share with its Wilson interval; raises BadParameter unless 0 <= agreed <= n."""
    if not 0 <= agreed <= n:
        raise BadParameter(f"{agreed} of {n} is no share")
    if not n:
        return Share(0, 0, None, None, None)
    return Share(agreed, n, agreed / n, *wilson(agreed / n, n, level))
