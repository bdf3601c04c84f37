"""What the scores of a filled checklist allow to conclude, and what to do now."""

from __future__ import annotations

from collections.abc import Sequence

from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models import Task
from crowdqc.numbers import count
from evaluation.checklists.messages import MESSAGES
from evaluation.checklists.selectors.checks import Board, Row
from evaluation.methods.checklists.correlation import SAMPLE_LEVEL
from evaluation.methods.core import units
from evaluation.methods.core.inference import Claim, t_quantile
from evaluation.results.findings import Action, Finding
from evaluation.runs.selectors.verdicts import sides_of_zero

MOST_NAMED, LEVEL = 4, 0.95
LEAST = units.LEAST[units.MEAN]  # sources from which there is an interval


def follows(task: Task, boards: Sequence[Board]) -> list[Finding]:
    """Whether this task's own scores follow human scores, all scorers compared at once."""
    own = [line for board in boards for line in board.lines if line.own]
    if not own:
        return no_human_scores()
    at, claim = surest([line.rho for line in own])
    best = own[at]
    return [follows_human(best.name, best.rho, claim), _next(task, best.rho, claim)]


def scored_without_people(task: Task, number: int | None, boards: Sequence[Board]) -> list[Finding]:
    """Say of a run asked for that no board has its scores, and where they are; [] if one has."""
    numbers = {line.number for board in boards for line in board.lines}
    if number is None or number in numbers:
        return []
    url = reverse("run_export", args=[task.project_id, number])
    action = Action(_("Export"), url)
    return [MESSAGES.find("scored_without_people", action=action, number=number)]


def _next(task: Task, rho: Row, claim: Claim) -> Finding:
    """More sources, more texts by models, or better questions."""
    own = [task.project_id, task.pk]
    missing = LEAST - _usable(rho)
    if rho["low"] is None and missing > 0:
        url = f"{reverse('task_build', args=own)}?part=texts"
        action = Action(_("Add texts"), url, requester=True)
        return MESSAGES.find("add_sources", action=action, n=missing, sources=count(missing))
    if claim.is_sure and claim.direction > 0:
        action = Action(_("Ask a model"), reverse("task_models", args=own))
        return MESSAGES.find("ask_models", action=action)
    url = f"{reverse('checklist_results', args=own)}?view=questions"
    return MESSAGES.find("mend_questions", action=Action(_("Questions"), url))


def surest(rows: Sequence[Row]) -> tuple[int, Claim]:
    """Choose the correlation that a verdict is about: the highest sure one, or the highest.

    ``rows`` are all that are compared: a row a scorer and dimension. Of those that are sure over
    all of them (Bonferroni), or else of all, the highest.
    """
    claims = [_claim(row, sum(one["low"] is not None for one in rows)) for row in rows]
    sure = [at for at, claim in enumerate(claims) if claim.is_sure]
    at = max(sure or range(len(rows)), key=lambda at: rows[at]["estimate"] or -2.0)
    return at, claims[at]


def _claim(rho: Row, family: int) -> Claim:
    """A correlation's interval, stretched so that all ``family`` of them hold at once.

    It reaches 0 where the signs of the sources' correlations could be chance (``flip_p``; runs
    before it was kept have none): t is too sure of few coarse correlations.
    """
    low, high, n = rho["low"], rho["high"], _usable(rho)
    if low is None or high is None or n < LEAST:
        low = high = None
    else:
        freedom = float(n - 1)
        stretch = float(t_quantile(LEVEL, freedom, family)) / float(t_quantile(LEVEL, freedom))
        value = rho["estimate"]
        low, high = value - stretch * (value - low), value + stretch * (high - value)
        p = rho.get("flip_p")
        if p is not None and p * family > 1 - LEVEL:
            low, high = min(low, 0.0), max(high, 0.0)
    return Claim(
        "correlation with human scores",
        float("nan") if rho["estimate"] is None else rho["estimate"],
        float("nan") if low is None else low,
        float("nan") if high is None else high,
        level=LEVEL,
        n=n,
        compared_with=family,
        simultaneous_over=family,
        adjustment="bonferroni",
        reason="" if low is not None else "too few sources",
    )


def _usable(rho: Row) -> int:
    """Count the sources behind a correlation, without those where it is undefined."""
    return int(rho["articles"] - (rho["undefined"] if rho["setting"] == SAMPLE_LEVEL else 0))


def follows_human(name: str, rho: Row, claim: Claim) -> Finding:
    """Return the verdict on whether the scorer follows human scores."""
    usable = _usable(rho)
    if rho["low"] is None and usable < LEAST and rho["estimate"] is not None:
        return MESSAGES.find(
            "checklist_few_sources",
            n=usable,
            least=count(LEAST),
        )
    if not claim.is_sure:
        return MESSAGES.find("checklist_not_shown")
    code = "checklist_follows" if claim.direction > 0 else "checklist_runs_against"
    return MESSAGES.find(code, claim=claim, name=name)


def no_human_scores() -> list[Finding]:
    """Return the findings for texts without human scores."""
    action = Action(_("Import human scores"), "?view=scores#human-scores", requester=True)
    return [
        MESSAGES.find("no_human_scores"),
        MESSAGES.find("import_human_scores", action=action),
    ]


def against_others(rows: Sequence[Row], *, human: bool) -> list[Finding]:
    """Count the other scorings that follow human scores better or worse than this checklist.

    A difference counts where its interval leaves out 0 and its p times the number of comparisons
    is .05 at most (Bonferroni).
    """
    if not human:
        return no_human_scores()
    if not rows:
        return [MESSAGES.find("no_other_scoring")]
    known = [row for row in rows if row["difference"] is not None and row["low"] is not None]
    if not known:
        return [MESSAGES.find("no_difference_known")]
    sure = [row for row in known if row["p"] is not None and row["p"] * len(known) <= 0.05]
    better, worse = sides_of_zero([(row["low"], row["high"]) for row in sure])
    if not better and not worse:
        return [MESSAGES.find("no_difference_shown")]
    return [
        MESSAGES.find(
            "checklist_differs", better=count(better), worse=count(worse), of=count(len(rows))
        )
    ]
