"""What to do now on any page of a task's results, from what the page has read already."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Sum
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models import Task
from annotation.payouts.selectors.proposals import unsettled_assignments
from crowdqc.numbers import money, plural
from evaluation.models import Run
from evaluation.runs.official.standing import Standing
from evaluation.runs.schedules import NewAnswers
from evaluation.runs.selectors import more_work
from evaluation.runs.selectors.verdicts import NextStep, Place


def of_run(
    run: Run | None,
    *,
    active: Run | None,
    fresh: NewAnswers | None = None,
    standing: Standing | None = None,
    again: str = "",
) -> NextStep | None:
    """What comes before anything that a page says: a run in progress, new answers, a trial.

    ``again`` are the words that start a run. None where the run shown is the one to decide by.
    """
    if run is None:
        return None
    own = [run.project_id]
    if active is not None:
        told = {"active": active.number, "run": run.number}
        return NextStep(
            _("Wait for run %(active)s: this page still shows run %(run)s.") % told,
            _("See run %(active)s") % told,
            reverse("run", args=[*own, active.number]),
        )
    if fresh is not None and fresh.any:
        return NextStep(
            _("Run again before you decide: some answers came or changed since this run."),
            again,
            reverse("run_start", args=[*own, run.task_id]),
        )
    if standing is None or not standing.is_trial:
        return None
    page = reverse("run_official", args=[*own, run.number])
    if standing.official is None:
        said = _("Make this run official if it is right: payouts and cards read no other.")
        return NextStep(said, _("Make it official"), page)
    official = standing.official.run.number
    return NextStep(
        _("Decide by run %(n)s, the official one: this run is a trial.") % {"n": official},
        _("Run %(n)s") % {"n": official},
        reverse("run", args=[*own, official]),
    )


def review(task: Task) -> NextStep | None:
    """Submitted work of the task that waits for a decision; one query."""
    n, pay = _waiting(task)
    if not n:
        return None
    said = _(
        "Review the submitted work and propose its pay, %(pay)s at most; a second person approves "
        "it before anything is paid. A low score alone is no reason to reject work; not following "
        "the instructions can be."
    )
    return _to_review(task, said % {"pay": pay}, n)


def only_pay(task: Task) -> NextStep | None:
    """That nothing is left but to pay the submitted work of the task; one query."""
    n, pay = _waiting(task)
    if not n:
        return None
    said = _(
        "The results are ready to use. Only the pay is left: review the submitted work and propose "
        "%(pay)s at most; a second person approves it before anything is paid."
    )
    return _to_review(task, said % {"pay": pay}, n)


def _waiting(task: Task) -> tuple[int, str]:
    """How many assignments wait for a decision, and their pay."""
    rows = unsettled_assignments(task).order_by().aggregate(n=Count("pk"), pay=Sum("pay"))
    return rows["n"], money(rows["pay"] or 0, task.project.currency)


def _to_review(task: Task, sentence: str, n: int) -> NextStep:
    """To the queue of the assignments that wait for a decision, with how many they are."""
    label = _("Review %(assignments)s") % {"assignments": plural(n, "assignment")}
    return NextStep(sentence, label, reverse("review", args=[task.project_id, task.pk]))


def plan(task: Task, sentence: str) -> NextStep:
    """More answers, and what one more of each costs; a page simulates what they bring."""
    page = reverse("task_plan", args=[task.project_id, task.pk])
    return NextStep(
        sentence,
        _("Open the plan: simulated chances and costs"),
        page,
        cost=more_work.one_more_each(task),
        **more_work.whom_for_one_more(task),
    )


def stop(task: Task) -> NextStep:
    """To choose without more answers; and what more of them cost, for whom that is worth it."""
    more = NextStep(
        more_work.one_more_each(task, worth=True),
        _("Open the plan: simulated chances and costs"),
        reverse("task_plan", args=[task.project_id, task.pk]),
    )
    return NextStep(
        _("Stop here and choose between them by cost or another reason."),
        instead=more if more.sentence else None,
        **more_work.whom_for_one_more(task),
    )


def of_place(place: Place, task: Task) -> NextStep:
    """What follows from who is first, where nothing else is known of the board."""
    if place.sure:
        return only_pay(task) or NextStep(
            _("Nothing to do: the first place is sure, and more answers are not needed.")
        )
    if place.open:
        return stop(task)
    return plan(task, _("Collect more answers: so far they do not say who is first."))


def warned(warnings: list[Any]) -> NextStep | None:
    """The gravest warning of a page that leads somewhere."""
    first = next((one for one in warnings if one.level in ("warn", "bad") and one.url), None)
    if first is None:
        return None
    said = _("Check this first: %(warning)s") % {"warning": first.head}
    return NextStep(said, first.link, first.url)
