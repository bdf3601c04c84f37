"""The ranking of the systems at this moment, from running counts: no run, and no answer read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext as _

from annotation.models import Task
from annotation.task_types.pairwise.sides import STORED
from annotation.work.snapshots.judgments import system_names, vote_counts
from crowdqc.numbers import plural, score
from evaluation.methods.bradley_terry import method as bradley_terry
from evaluation.methods.core.base import DataError
from evaluation.methods.core.votes import Pairs
from evaluation.pairwise.selectors.boards import against_average

MOST = 20  # systems that the strip of a page lists


@dataclass(frozen=True)
class Standing:
    """A system with its log-merit, its rank in its component, and the votes on it."""

    system: int
    name: str
    component: int
    rank: int
    merit: float
    n: int

    @property
    def wins(self) -> str:
        """Share of the decided votes it would win against the average system."""
        return score(against_average(self.merit), 2)


def standings(task: Task, dimension: str = "") -> list[Standing]:
    """Systems by their point estimates on a dimension ("": on all together), best first.

    The model is that of a run whose votes all weigh the same. Each vote counts, also a worker's
    second one on a pair; intervals need people, so they come with a run. Empty without a decided
    vote.
    """
    rows = [row for row in vote_counts(task, dimension) if row.first_id != row.second_id]
    systems = sorted({pk for row in rows for pk in (row.first_id, row.second_id)})
    if not rows:
        return []
    place = {pk: at for at, pk in enumerate(systems)}
    votes = Pairs.build(
        [place[row.first_id] for row in rows],
        [place[row.second_id] for row in rows],
        [STORED.index(row.code) for row in rows],
        players=[str(pk) for pk in systems],
        left=[-1 if row.flipped else 1 for row in rows],
        weight=[row.n for row in rows],
    )
    try:
        table = _fitted(votes, side=len(np.unique(votes.left)) > 1)
    except DataError:
        return []
    names = system_names(systems)
    found = [
        Standing(
            systems[at],
            names[systems[at]],
            int(table["component"][at]),
            int(table["rank"][at]),
            float(table["estimate"][at]),
            int(table["n"][at]),
        )
        for at in range(len(systems))
    ]
    return sorted(found, key=lambda one: (one.component, one.rank, one.name))


def _fitted(votes: Pairs, *, side: bool) -> Any:
    try:
        found = bradley_terry.fit(votes, rng=np.random.default_rng(0), side=side, resamples=0)
    except bradley_terry.NoSides:
        return _fitted(votes, side=False)
    return found.estimates["player"]


def standings_strip(task: Task, dimension: str) -> dict[str, Any]:
    """Return the strip of standings for a study; {} if nothing is ranked."""
    found = standings(task, dimension)
    if not found or found[-1].component > 1:
        return {}
    votes = sum(one.n for one in found) // 2
    return {
        "rows": found[:MOST],
        "note": _("From %(votes)s. Intervals come with a run.") % {"votes": plural(votes, "vote")},
    }
