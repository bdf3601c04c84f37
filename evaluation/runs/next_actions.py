"""The one next action of a result page, by what the result lacks and how the study stands."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from crowdqc.numbers import count, money, percent, plural
from evaluation.results.findings import Action, Finding, Screen, Severity, arrange
from evaluation.runs.adapters import adapter_of
from evaluation.runs.messages import MESSAGES
from evaluation.runs.planning.plans import plan_url
from evaluation.runs.planning.price import Answers
from evaluation.runs.selectors.exclusions import exclusion_finding
from evaluation.runs.selectors.lists import startable
from evaluation.runs.study_state import Collection, StudyState


def choose_action(
    state: StudyState | None, *candidates: Finding | None, settled: bool
) -> Finding | None:
    """Choose what to do now: the run's state first, then the page's own ``candidates`` in order.

    ``settled``: the result needs no more answers. Then only the review of work is left; otherwise
    answers are collected.
    """
    own = next((one for one in candidates if one is not None), None)
    if state is None:
        return own
    if (first := run_action(state)) is not None:
        return first
    if own is not None:
        return own
    if not settled and (collect := collect_action(state)) is not None:
        return collect
    return review_action(state)


def run_action(state: StudyState) -> Finding | None:
    """Return the most urgent action: a run in progress, a stale run, or a trial; None if none."""
    run = state.run
    if run is None:
        return None
    if (active := state.active_run) is not None:
        url = reverse("run", args=[run.project_id, active.number])
        label = _("See run %(active)s") % {"active": active.number}
        return MESSAGES.find(
            "run_in_progress", action=Action(label, url), active=active.number, run=run.number
        )
    url = reverse("run_start", args=[run.project_id, run.task_id])
    if run.method in startable(state.task):
        url += f"?method={run.method}"
    action = Action(_("Run again"), url, posts=True)
    if (stale := exclusion_finding(run, action)) is not None:
        return stale
    if state.new_answers is not None and (n := state.new_answers.any):
        return MESSAGES.find(
            "answers_since_run", action=action, answers=answers_in_words(state, n), n=n
        )
    return _trial_action(state)


def _trial_action(state: StudyState) -> Finding | None:
    standing, run = state.standing, state.run
    if standing is None or run is None or not standing.is_trial:
        return None
    if standing.official is None:
        url = reverse("run_official", args=[run.project_id, run.number])
        return MESSAGES.find("no_official_run", action=Action(_("Make it official"), url))
    number = standing.official.run.number
    label = _("See run %(number)s") % {"number": number}
    url = reverse("run", args=[run.project_id, number])
    return MESSAGES.find("trial_run", action=Action(label, url), official=number)


def collect_action(state: StudyState) -> Finding | None:
    """Return how to get more answers: outstanding ones first, then more per item."""
    if state.collection in (Collection.UPLOADED, Collection.DRAFT) or not state.slots.wanted:
        return None
    task, pending = state.task, state.slots.pending
    if not pending:
        return plan_action(state)
    page = reverse("task", args=[task.project_id, task.pk])
    values: dict[str, Any] = {"answers": answers_in_words(state, pending), "n": pending}
    action = Action(_("Open the task"), page)
    if state.collection == Collection.CLOSED:
        return MESSAGES.find("closed_answers", action=action, **values)
    if state.collection == Collection.PAUSED:
        return MESSAGES.find("paused_answers", action=action, **values)
    if state.missing_workers and not state.slots.assignments:
        invite = Action(_("Invite workers"), reverse("invitation_new", args=[task.project_id]))
        return MESSAGES.find(
            "too_few_workers",
            action=invite,
            needed=plural(state.redundancy, "worker"),
            able=plural(state.able_workers, "worker"),
            n=state.able_workers,
        )
    wanted = count(state.slots.planned)
    return MESSAGES.find("open_answers", action=action, wanted=wanted, **values)


def plan_action(state: StudyState) -> Finding | None:
    """Plan one more answer per item, with its cost and what it brings at most."""
    price, items, url = state.price, state.slots.items, plan_url(state.task)
    if price is None or not items or not url:
        return None
    return MESSAGES.find(
        "plan_answers",
        action=Action(_("Plan more answers"), url),
        answers=answers_in_words(state, items),
        cost=price.terms(Answers.fill_items(1, items)),
        share=percent(narrowing(state.slots.given_per_item, 1)),
    )


def review_action(state: StudyState) -> Finding | None:
    """Review submitted work, with its pay."""
    if not state.review_count or state.collection == Collection.UPLOADED:
        return None
    task = state.task
    assignments = plural(state.review_count, "assignment")
    label = _("Review %(assignments)s, %(pay)s") % {
        "assignments": assignments,
        "pay": money(state.review_pay, task.project.currency),
    }
    url = reverse("review", args=[task.project_id, task.pk])
    return MESSAGES.find(
        "review_work", action=Action(label, url), assignments=assignments, n=state.review_count
    )


def narrowing(given: float, more: int) -> float:
    """The share by which intervals narrow: they go with the root of the number of answers."""
    return 1 - math.sqrt(given / (given + more)) if more else 0.0


def answers_in_words(state: StudyState, n: int) -> str:
    """Answers by the noun of the task: ``12 judgments``."""
    return plural(n, adapter_of(state.task).answer_noun)


def page_screen(
    study: StudyState | None, findings: Iterable[Finding | None], *, settled: bool = True
) -> Screen:
    """Arrange a page's findings on its screen, with one of its actions."""
    given = [one for one in findings if one is not None]
    own = [one for one in given if one.severity == Severity.ACTION]
    return arrange([choose_action(study, *own, settled=settled), *given])
