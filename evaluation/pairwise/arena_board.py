"""The leaderboard of a run as arena tools take it, from the rows that the run wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from django.utils.translation import gettext as _

from annotation.models import Task
from crowdqc.errors import Invalid, Missing
from evaluation.methods.bradley_terry.arena import BASE, CENTRE, SCALE, arena_ratings
from evaluation.methods.core.votes import FIRST, SECOND, TIE, Pairs
from evaluation.models import Run, RunFigure, RunState, SystemScore
from evaluation.runs.official.selectors import official_run
from evaluation.runs.results import votes_used

METHOD = "pairwise"
CONVENTION = {
    "ratings": (
        "as arena-rank: Bradley-Terry by maximum likelihood, a tie is half a win and half a loss, "
        "no regularisation, no side term; intervals (95%) by votes"
    ),
    "scale": SCALE,
    "base": BASE,
    "mean": CENTRE,
    "merits": (
        "as the board of the run: natural log-merits, ties after Davidson, a side term where it "
        "can be told, regularised; intervals clustered as the run says; mean 0"
    ),
}


def core_run(task: Task, number: int | None = None) -> Run:
    """The official core run of a task, or the finished one of this number; else Missing."""
    if number is None:
        run = official_run(task)
    else:
        run = task.runs.filter(method=METHOD, state=RunState.DONE, number=number).first()
    if run is None and number is None:
        raise Missing(_("This task has no official run. Name a run to export a trial."))
    if run is None:
        raise Missing(
            _("There is no run %(number)s of this task that is finished.") % {"number": number}
        )
    return run


def board(run: Run, dimension: str, component: int = 1) -> dict[str, Any]:
    """Return the board of one dimension and component with an arena's ratings, best first.

    ``competitors``, ``ratings``, ``rating_lower``, ``rating_upper`` and ``variances`` are as
    arena-rank computes them from the votes of the run's win matrix; None where there is no finite
    one, and ``reasons`` says why. ``merits``, ``merit_lower`` and ``merit_upper`` are those of the
    run's own board; ``convention`` names both, ``votes`` says which votes are used. Raises Invalid
    where the run has no such board.
    """
    rows = list(
        SystemScore.objects.filter(
            run=run, dimension=dimension, component=component, estimate__isnull=False
        )
        .select_related("system")
        .order_by("-estimate", "system__name", "system__prompt_strategy")
    )
    if not rows:
        known = SystemScore.objects.filter(run=run, component=component)
        names = sorted(set(known.values_list("dimension", flat=True)))
        raise Invalid(
            _("Run %(run)s has no board %(component)s on %(dimension)s.")
            % {"run": run.number, "component": component, "dimension": dimension},
            fields={"dimension": ", ".join(name for name in names if name) or "none"},
        )
    rated = _ratings(run, dimension, [row.system_id for row in rows])
    best = sorted(range(len(rows)), key=lambda at: -(rated["ratings"][at] or 0.0))
    figure = RunFigure.objects.filter(run=run, name=votes_used.FIGURE).first()
    told = {} if figure is None else {figure.name: figure.data}
    tally = votes_used.tally_of(told, "ranking", dimension)
    return {
        "competitors": [str(rows[at].system) for at in best],
        **{name: [values[at] for at in best] for name, values in rated.items()},
        "merits": [rows[at].estimate for at in best],
        "merit_lower": [rows[at].low for at in best],
        "merit_upper": [rows[at].high for at in best],
        "convention": CONVENTION,
        "votes": tally.as_dict() if tally else None,
    }


def _ratings(run: Run, dimension: str, systems: Sequence[int]) -> dict[str, list[Any]]:
    """The arena's ratings of these systems, from the votes between them."""
    place = {pk: at for at, pk in enumerate(systems)}
    met = RunFigure.objects.filter(run=run, name="win").values_list("data", flat=True).first()
    cells = [
        (place[row["system_a"]], place[row["system_b"]], outcome, row[name])
        for row in met or ()
        if row["dimension"] == dimension and {row["system_a"], row["system_b"]} <= place.keys()
        for name, outcome in (("wins", FIRST), ("ties", TIE), ("losses", SECOND))
        if row[name]
    ]
    if not cells:
        raise Invalid(
            _("Run %(run)s has no matrix of wins on %(dimension)s.")
            % {"run": run.number, "dimension": dimension}
        )
    first, second, outcome, weight = zip(*cells, strict=True)
    names = [str(pk) for pk in systems]
    return arena_ratings(Pairs.build(first, second, outcome, players=names, weight=weight))


def lines(run: Run, dimension: str, component: int = 1) -> Iterator[str]:
    """The board as one JSON document."""
    yield json.dumps(board(run, dimension, component), ensure_ascii=False, indent=1) + "\n"
