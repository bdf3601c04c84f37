"""What the scores of a filled checklist allow to conclude, and what to do now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Task
from crowdqc.numbers import count, listed, plural, score
from evaluation.checklists.selectors.checks import Board, Line, Row
from evaluation.methods.checklists.correlation import SAMPLE_LEVEL
from evaluation.methods.core import units
from evaluation.methods.core.inference import Claim, t_quantile
from evaluation.runs.selectors import more_work
from evaluation.runs.selectors.more_work import Amount, StillOut
from evaluation.runs.selectors.verdicts import NextStep, Verdict, sides_of_zero

MOST_NAMED, LEVEL = 4, 0.95
LEAST = units.LEAST[units.MEAN]  # sources from which there is an interval


def follows(task: Task, boards: Sequence[Board]) -> Verdict:
    """Whether this task's own scores follow human scores, all scorers compared at once."""
    own = [line for board in boards for line in board.lines if line.own]
    if not own:
        return no_human_scores()
    models, page = (
        reverse(name, args=[task.project_id, task.pk])
        for name in ("task_models", "checklist_results")
    )
    at, claim = surest([line.rho for line in own])
    best = own[at]
    return follows_human(best.name, best.rho, claim).then(
        _more_sources(task, best, next(b.people for b in boards if best in b.lines))
        if best.rho["low"] is None
        else None,
        NextStep(
            _("Let models answer the checklist on more texts, and keep checking some by hand."),
            _("Ask a model"),
            models,
        )
        if claim.is_sure and claim.direction > 0
        else None,
        NextStep(
            _("Look at the questions that separate no texts, and write others."),
            _("Questions"),
            f"{page}?view=questions",
        ),
    )


def surest(rows: Sequence[Row]) -> tuple[int, Claim]:
    """Which of these correlations a verdict is about, and what it may claim.

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
    """From how many sources a correlation is known."""
    return int(rho["articles"] - (rho["undefined"] if rho["setting"] == SAMPLE_LEVEL else 0))


def _more_sources(task: Task, best: Line, people: str) -> NextStep:
    """How many sources are missing until an interval is known, whom to ask, and what it costs."""
    n = LEAST - _usable(best.rho)
    more = more_work.like_these(task, n) if n > 0 else None
    said = ngettext(
        "To find out, add several texts of at least %(n)s more source, have them scored by hand "
        "and with the checklist, then run again. The page can then say how sure it is; it may turn "
        "out that the checklist does not work.",
        "To find out, add several texts of each of at least %(n)s more sources, have them scored "
        "by hand and with the checklist, then run again. The page can then say how sure it is; it "
        "may turn out that the checklist does not work.",
        n,
    )
    if n <= 0:
        said = _("Add texts of more sources and score them by hand: these are too few to tell.")
    build = reverse("task_build", args=[task.project_id, task.pk])
    return NextStep(
        said % {"n": count(n)},
        _("Add texts"),
        f"{build}?part=texts",
        requester=True,
        **(_what_it_takes(task, more, people) if more else {}),
    )


def _what_it_takes(task: Task, more: Amount, people: str) -> dict[str, Any]:
    """What more texts cost, and who does what about them."""
    told = {
        "per": plural(more.items // more.groups, "text"),
        "texts": plural(more.items, "text"),
        "checkers": plural(more.each, "worker"),
        "checklists": plural(more.answers, "filled checklist"),
        "cost": more.cost,
        "people": people,
        "writers": listed(writers_of_texts(task), MOST_NAMED),
    }
    cost = _(
        "With %(per)s per source, as now, that is %(texts)s and %(checklists)s (%(checkers)s per "
        "text), for %(cost)s at most. You add the texts, which costs nothing here: any of the kind "
        "that you want scored will do, by people or by models (those now are by %(writers)s). "
        "Scores by hand are not paid here, so what they cost is not known. Models are asked again "
        "only if you want to test their scores, too; what that costs is shown before they start."
    )
    by_hand = _(
        "For the scores by hand, ask “%(people)s” again, on the same scale, and import them below, "
        "where an example row stands. A text has one score: where several people score, give their "
        "mean."
    )
    return {"cost": cost % told, "whom": f"{more_work.whom(task, more.each)} {by_hand % told}"}


def writers_of_texts(task: Task) -> list[str]:
    """Who or what wrote the texts of the task, by name; one query."""
    assert task.current is not None  # noqa: S101 (there are texts)
    texts = task.items.in_version(task.current.number).filter(first__isnull=False).order_by()
    return sorted(texts.values_list("first__system__name", flat=True).distinct())


def wait_for(out: StillOut | None, boards: Sequence[Board]) -> str:
    """Whether to wait for checklists still to come: they add no source where sources are few."""
    own = next((line for board in boards for line in board.lines if line.own), None)
    few = own is not None and own.rho["low"] is None and _usable(own.rho) < LEAST
    if out is None or not out.coming or not few:
        return more_work.worth_waiting(out)
    told = {"n": plural(out.n, "filled checklist")}
    said = _("No: %(n)s still to come are on the same sources, and it is sources that are missing.")
    if out.price.pay and out.free:
        told["cost"] = out.price.words(out.free)
        said = _(
            "No: %(n)s still to come are on the same sources, and it is sources that are missing. "
            "Leave the task open, as new texts join it; what is still to come costs %(cost)s more "
            "at most. If you do not need to know how sure this is, close the task and keep that."
        )
    return said % told


def follows_human(name: str, rho: Row, claim: Claim) -> Verdict:
    """The verdict of the ``surest`` scorer, or that its sources are too few for an interval."""
    told = {"name": name}
    usable = _usable(rho)
    if rho["low"] is None and usable < LEAST and rho["estimate"] is not None:
        few = ngettext(
            "With only %(n)s source nobody can tell yet whether the checklist works.",
            "With only %(n)s sources nobody can tell yet whether the checklist works.",
            usable,
        )
        so_far = _(
            "Until then decide by the human scores, not by the checklist. A source is what texts "
            "were written from. So far the answers of %(name)s come closest to the human scores: "
            "ρ %(rho)s, where 1 is the same order and 0 no relation. It takes %(least)s sources to "
            "say how sure that is."
        )
        told |= {"rho": score(rho["estimate"], 2), "least": count(LEAST)}
        return Verdict(few % {"n": count(usable)}, so_far % told)
    if not claim.is_sure:
        return Verdict(_("It is not shown that any score of this checklist follows human scores."))
    if claim.direction > 0:
        return Verdict(_("Scores of %(name)s follow human scores.") % told)
    return Verdict(_("Scores of %(name)s run against human scores.") % told)


def no_human_scores() -> Verdict:
    """What is missing where nobody scored the texts by hand."""
    said = _("There are no human scores of these texts to hold the checklist against.")
    return Verdict(said).then(
        NextStep(
            _("Score some of the texts by hand and import these scores."),
            _("Import human scores"),
            "?view=scores#human-scores",
            requester=True,
        )
    )


def against_others(rows: Sequence[Row], *, human: bool) -> Verdict:
    """How often this checklist follows human scores better or worse than another scoring.

    A difference counts where its interval leaves out 0 and its p times the number of comparisons
    is .05 at most (Bonferroni).
    """
    if not human:
        return no_human_scores()
    if not rows:
        return Verdict(_("Nothing else has scored these texts, so there is nothing to compare."))
    known = [row for row in rows if row["difference"] is not None and row["low"] is not None]
    if not known:
        return Verdict(_("No difference from another scoring has an interval yet: use more texts."))
    sure = [row for row in known if row["p"] is not None and row["p"] * len(known) <= 0.05]
    better, worse = sides_of_zero([(row["low"], row["high"]) for row in sure])
    if not better and not worse:
        return Verdict(_("This checklist cannot be separated from any other scoring."))
    told = {"better": count(better), "worse": count(worse), "of": count(len(rows))}
    return Verdict(
        _(
            "In %(of)s comparisons this checklist follows human scores surely better in %(better)s "
            "and surely worse in %(worse)s."
        )
        % told
    )
