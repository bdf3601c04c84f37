"""The result of a project's traces: claims, findings, and figures of the queue."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from django.db.models import Count, Min
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.models import Project, Trace
from annotation.models.tasks import TaskState
from annotation.traces.selectors import SourceRow, list_sources, waiting_traces
from crowdqc.numbers import count, duration, interval, percent, plural, score, short_date
from evaluation.charts.weeks import WeekRow, rates_by_week
from evaluation.methods.agreement.coefficients import alpha_interval
from evaluation.methods.agreement.counts import Estimate
from evaluation.methods.core.base import DataError
from evaluation.methods.core.inference import Claim
from evaluation.methods.traces.rates import LEAST, VERSION, Rates, estimate_rates
from evaluation.methods.traces.weeks import Week, estimate_weeks
from evaluation.results.findings import Action, Finding
from evaluation.traces.dataset import TraceStudy, read_study
from evaluation.traces.messages import MESSAGES

SEED = 20611
NO_INTERVAL = {
    "no_reviews": "traces_partly",
    "few_reviews": "traces_few",
    "uneven_draws": "traces_uneven",
    "uncovered": "traces_partly",
}
WEEK = dt.timedelta(days=7)


@dataclass(frozen=True)
class TraceResult:
    """What the page, the API and files say of a project's traces."""

    study: TraceStudy
    rates: Rates
    agreement: Estimate | None
    sources: tuple[SourceRow, ...]
    waiting: int
    oldest: dt.datetime | None
    closed_a_day: float
    drawn_a_day: float
    dropped: int

    @cached_property
    def weeks(self) -> Mapping[dt.date, Week]:
        """What is known of each week, by its Monday."""
        study = self.study
        inside = study.week >= 0
        found = estimate_weeks(
            study.draws.take(inside),
            study.week[inside],
            list(study.weeks.values()),
            with_judge=self.has_judge,
        )
        return dict(zip(study.weeks, found, strict=True))

    @property
    def rate(self) -> Claim:
        """The claim that is the verdict: with the judge where there is one, else people alone."""
        return self.rates.both if self.has_judge else self.rates.people

    @property
    def has_judge(self) -> bool:
        """Whether the judge scored enough traces to correct by."""
        return self.rates.judged > 0.5 and self.rates.both.has_interval

    def recipe(self) -> list[tuple[str, Any]]:
        """What it takes to compute the rate again."""
        return [
            ("method", f"post-stratified rate {VERSION}"),
            ("weights", "by draw"),
            ("level", "95%"),
            ("reviewed", self.rates.people.n),
            ("traces", self.study.size),
        ]


def read_result(project: Project) -> TraceResult:
    """Compute what is known of a project's traces."""
    study = read_study(project)
    waiting = waiting_traces(project)
    pending = waiting.aggregate(n=Count("pk"), at=Min("settled_at"))
    since = timezone.now() - WEEK
    done = {
        pk
        for pk, reviews in study.reviews.items()
        if reviews and max(one.at for one in reviews) > since
    }
    recent = Trace.objects.filter(source__in=study.sources, settled_at__gt=since)
    open_ones = set(waiting.filter(pk__in=done).values_list("pk", flat=True))
    live = {one.pk for one in study.sources}
    return TraceResult(
        study=study,
        rates=estimate_rates(study.draws, study.population),
        agreement=_agreement(study),
        sources=tuple(row for row in list_sources(project) if row.source.pk in live),
        waiting=pending["n"],
        oldest=pending["at"],
        closed_a_day=len(done - open_ones) / 7,
        drawn_a_day=recent.filter(item__isnull=False).count() / 7,
        dropped=Trace.objects.filter(source__in=study.sources, dropped__gt=0).count(),
    )


def _agreement(study: TraceStudy) -> Estimate | None:
    votes = study.votes()
    if votes is None:
        return None
    try:
        return alpha_interval(votes, rng=np.random.default_rng(SEED), resamples=500)
    except DataError:
        return None


def findings_of(result: TraceResult, project: Project) -> Iterator[Finding | None]:
    """What the page says: the rate, one action, warnings, and what is left out."""
    yield _verdict(result)
    yield _action(result, project)
    now = timezone.now()
    for row in result.sources:
        if row.is_silent and row.source.last_seen_at is not None:
            age = duration(now - row.source.last_seen_at)
            yield MESSAGES.find("traces_silent", source=row.source.name, age=age)
    missing = 1 - result.rates.covered
    if result.rates.people.has_interval and missing > 0.005:
        yield MESSAGES.find("traces_uncovered", share=percent(missing, 1))
    if result.dropped:
        yield MESSAGES.find("traces_dropped", n=result.dropped)
    for row in result.sources:
        if row.source.rejected:
            yield MESSAGES.find("traces_rejected", n=row.source.rejected, source=row.source.name)
    if result.study.left_out:
        yield MESSAGES.find("traces_saw", n=result.study.left_out)
    if result.study.unsure:
        yield MESSAGES.find("traces_unsure", n=result.study.unsure)
    if result.rates.people.has_interval:
        yield MESSAGES.find("traces_method")


def week_label(monday: dt.date) -> str:
    """Days of a week: 2–8 Nov."""
    sunday = monday + dt.timedelta(days=6)
    if monday.month == sunday.month:
        return f"{monday.day}–{short_date(sunday)}"
    return f"{short_date(monday)}–{short_date(sunday)}"


def week_findings(result: TraceResult) -> list[Finding]:
    """Which weeks differ from the others, or that they cannot be separated; needs two weeks."""
    compared = {
        monday: week.difference
        for monday, week in result.weeks.items()
        if week.difference.has_interval
    }
    found = [
        MESSAGES.find(
            "trace_week_worse" if claim.direction > 0 else "trace_week_better",
            claim=claim,
            week=week_label(monday),
            points=f"{100 * abs(claim.estimate):.1f}",
            span=interval(*_away_from_zero(claim), 1),
        )
        for monday, claim in compared.items()
        if claim.is_sure
    ]
    return found or ([MESSAGES.find("trace_weeks_alike")] if compared else [])


def _away_from_zero(claim: Claim) -> tuple[float, float]:
    """Bounds of a difference of one direction in points, without their sign."""
    ends = (100 * abs(claim.low), 100 * abs(claim.high))
    return min(ends), max(ends)


def week_chart(result: TraceResult) -> SafeString | None:
    """The rate of each week as a drawing; None where no week has one."""
    rows = [
        WeekRow(week_label(monday), week.rate.estimate, week.rate.low, week.rate.high)
        if week.rate.has_interval
        else WeekRow(week_label(monday))
        for monday, week in result.weeks.items()
    ]
    if all(row.rate is None for row in rows):
        return None
    return rates_by_week(rows, whole=result.rate.estimate)


def _span(claim: Claim) -> str:
    return interval(100 * claim.low, 100 * claim.high, 1)


def _verdict(result: TraceResult) -> Finding:
    claim, people = result.rate, result.rates.people
    if not result.study.size:
        return MESSAGES.find("traces_none")
    values: dict[str, Any] = {
        "traces": plural(result.study.size, "trace"),
        "reviewed": plural(people.n, "trace"),
        "least": LEAST,
    }
    if not people.n:
        return MESSAGES.find("traces_unreviewed", **values)
    if not claim.has_interval:
        code = NO_INTERVAL[claim.reason]
        values["missing"] = percent(1 - result.rates.covered, 1)
        return MESSAGES.find(code, claim=claim, **{**values, "reviewed": count(people.n)})
    values |= {
        "rate": percent(claim.estimate, 1),
        "span": _span(claim),
        "people": percent(people.estimate, 1),
        "people_span": _span(people),
        "traces": plural(round(result.rates.covered * result.study.size), "trace"),
        "judged": percent(result.rates.judged),
        "reviewers": plural(result.rates.reviewers, "reviewer"),
    }
    code = "traces_fail_both" if result.has_judge else "traces_fail_people"
    if result.rates.rests_on_few:
        code = f"{code}_few"
    return MESSAGES.find(code, claim=claim, **values)


def _action(result: TraceResult, project: Project) -> Finding | None:
    if not result.sources:
        url = reverse("trace_source_new", args=[project.pk])
        return MESSAGES.find("traces_connect", action=Action(_("Add source"), url, requester=True))
    for row in result.sources:
        task = row.source.task
        if task is None:
            url = reverse("trace_source", args=[project.pk, row.source.pk])
            action = Action(_("Create review queue"), f"{url}#queue", requester=True)
            return MESSAGES.find("traces_no_queue", action=action, source=row.source.name)
        if task.state == TaskState.DRAFT and row.drawn:
            url = reverse("task_build", args=[project.pk, task.pk])
            action = Action(_("Open the draft"), url, requester=True)
            return MESSAGES.find("traces_draft_queue", action=action, n=row.drawn)
    if result.waiting and result.oldest is not None:
        age = duration(timezone.now() - result.oldest)
        url = reverse("invitation_new", args=[project.pk])
        return MESSAGES.find(
            "traces_waiting", action=Action(_("Invite workers"), url), n=result.waiting, age=age
        )
    return None


def key_figures(result: TraceResult) -> list[dict[str, Any]]:
    """The strip of figures: backlog, age, pace, agreement of people, and the judge's."""
    oldest = result.oldest
    found = [
        {
            "label": _("Waiting for people"),
            "value": count(result.waiting),
            "of": _("of %(drawn)s drawn") % {"drawn": count(result.study.drawn)},
        },
        {
            "label": _("Oldest"),
            "value": duration(timezone.now() - oldest) if oldest else _("none"),
            "of": "",
        },
        {
            "label": _("Closed a day"),
            "value": f"{result.closed_a_day:.1f}",
            "of": _("of %(drawn)s drawn a day") % {"drawn": f"{result.drawn_a_day:.1f}"},
        },
    ]
    alpha = result.agreement
    if alpha is not None:
        span = "" if alpha.reason else interval(alpha.low, alpha.high, 2)
        found.append(
            {"label": _("Agreement of people, α"), "value": score(alpha.estimate, 2), "of": span}
        )
    judge = result.rates.agreement
    if judge.has_interval:
        found.append(
            {
                "label": _("Judge agrees with people"),
                "value": percent(judge.estimate),
                "of": interval(100 * judge.low, 100 * judge.high, 0),
            }
        )
    return found
