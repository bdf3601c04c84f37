"""Rates of traces by week: simultaneous intervals, and which week differs."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Project, Trace, TraceSource
from evaluation.methods.traces.rates import Draws, Population, estimate_rates
from evaluation.methods.traces.weeks import estimate_weeks
from tests.evaluation.traces.test_queue import (
    client_of,
    judged,
    number_of,
    open_queue,
    receive,
    review,
    run_on,
)
from tests.studies.trace_rates import CROWDS, measure_weeks
from tests.support import factories


def weeks_of(*weeks: tuple[int, int]) -> tuple[Draws, np.ndarray, list[Population]]:
    """Weeks of 1,000 traces each, of which (fails, passes) were drawn at random and reviewed."""
    value = np.concatenate([[1.0] * fails + [0.0] * passes for fails, passes in weeks])
    week = np.repeat(np.arange(len(weeks)), [fails + passes for fails, passes in weeks])
    n, whole = len(value), np.zeros(len(value), int)
    draws = Draws(value, np.full(n, 0.1), whole, whole - 1, whole)
    return draws, week, [Population(np.array([[1000, 0, 0]]), np.array([0])) for _ in weeks]


def test_a_week_that_fails_more_is_named_and_the_others_are_not() -> None:
    found = estimate_weeks(*weeks_of((5, 95), (6, 94), (5, 95), (30, 70)), with_judge=False)
    assert [one.difference.direction for one in found] == [0, 0, 0, 1]
    worst = found[3].difference
    assert worst.estimate == pytest.approx(0.3 - 16 / 300) and worst.is_sure
    assert (worst.compared_with, worst.simultaneous_over, worst.adjustment) == (4, 4, "bonferroni")


def test_intervals_of_weeks_hold_at_once() -> None:
    draws, week, populations = weeks_of((5, 95), (6, 94), (5, 95), (7, 93))
    found = estimate_weeks(draws, week, populations, with_judge=False)
    alone = estimate_rates(draws.take(week == 0), populations[0], level=1 - 0.05 / 4).people
    assert (found[0].rate.low, found[0].rate.high) == (alone.low, alone.high)
    assert all(one.rate.is_simultaneous and one.rate.simultaneous_over == 4 for one in found)
    assert not any(one.difference.is_sure for one in found)


def test_a_week_with_few_reviews_has_no_interval_and_costs_the_others_nothing() -> None:
    found = estimate_weeks(*weeks_of((5, 95), (1, 9), (6, 94)), with_judge=False)
    assert [one.rate.reason for one in found] == ["", "few_reviews", ""]
    assert found[0].rate.simultaneous_over == 2
    assert [one.difference.reason for one in found] == ["one_week", "one_week", ""]
    assert found[2].difference.compared_with == 1


@pytest.mark.parametrize("name", ["few reviews", "strict reviewers"])
def test_all_weeks_are_covered_and_weeks_that_are_alike_seldom_differ(name: str) -> None:
    """At 95 of 100; 30 series here, 200 in the study."""
    found = measure_weeks(CROWDS[name], 30)
    assert found.all_weeks >= 0.83 and found.differs <= 0.1


@pytest.mark.django_db
def test_the_page_draws_weeks_and_names_the_one_that_differs(
    source: TraceSource, project: Project
) -> None:
    """40 traces of last week, of which 4 fail, and 40 of the week before, of which 30 do."""
    for number in range(1, 91):
        receive(source, *judged(number, 0.9))
    week = dt.timedelta(weeks=1)
    for trace in Trace.objects.all():
        ago = 1 if number_of(trace) <= 40 else 2 if number_of(trace) <= 80 else 30
        Trace.objects.filter(pk=trace.pk).update(started_at=timezone.now() - ago * week)
    task = open_queue(source)
    workers = [factories.make_worker(project) for _ in range(2)]

    def outcome(trace: Trace) -> str:
        return "fail" if number_of(trace) <= 4 or 40 < number_of(trace) <= 70 else "pass"

    for worker in workers * 90:
        review(task, worker, outcome)
    run_on(task)
    page = client_of(project.owner).get(reverse("trace_list", args=[project.pk]))
    [finding] = page.context["weeks"]
    assert (finding.code, finding.values["points"]) == ("trace_week_better", "65.0")
    assert finding.claim.is_sure
    assert "10.0%, 95% CI" in page.context["chart"] and "75.0%, 95% CI" in page.context["chart"]
