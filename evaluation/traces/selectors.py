"""The results of a run on traces: claims, findings, tables and the chart of weeks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from crowdqc.numbers import count, interval, percent, plural, score, short_date
from evaluation.charts.weeks import WeekRow, rates_by_week
from evaluation.methods.core.inference import Claim
from evaluation.methods.traces.method import RATES, claim_of
from evaluation.methods.traces.rates import LEAST, Rates, uses_judge
from evaluation.methods.traces.weeks import Week
from evaluation.results.findings import Finding
from evaluation.traces.messages import MESSAGES

WIDER = 1.5  # times an interval about these reviewers, from which others are most of the doubt
NO_INTERVAL = {
    "no_reviews": "traces_partly",
    "few_reviews": "traces_few",
    "uneven_draws": "traces_uneven",
    "uncovered": "traces_partly",
}
Figures = Mapping[str, Any]


@dataclass(frozen=True)
class TraceRates:
    """What a run says of traces; ``agreement`` of people, None where it is not defined.

    ``traces``: how many there were. ``left_out`` reviews by people who had seen the judge or others
    first; ``unsure`` traces of which everybody was.
    """

    rates: Rates
    weeks: Mapping[dt.date, Week]
    agreement: Mapping[str, Any] | None
    traces: int
    left_out: int
    unsure: int

    @property
    def uses_judge(self) -> bool:
        """Whether the verdict rests on the judge, too."""
        return uses_judge(self.rates.both, self.rates.judged)

    @property
    def rate(self) -> Claim:
        """The claim that is the verdict: with the judge where there is one, else people alone."""
        return self.rates.both if self.uses_judge else self.rates.people


def read_rates(figures: Figures) -> TraceRates:
    """Read the figures of a run."""
    told = figures["summary"]
    people, both, agreement, these = (claim_of(figures["rates"][name]) for name in RATES)
    weeks = {
        dt.date.fromisoformat(rate["monday"]): Week(claim_of(rate), claim_of(difference))
        for rate, difference in zip(figures["weeks"], figures["differences"], strict=True)
    }
    return TraceRates(
        Rates(
            people,
            both,
            agreement,
            these,
            covered=told["covered"],
            judged=told["judged"],
            reviewers=told["reviewers"],
            effective_reviewers=told["effective_reviewers"],
        ),
        weeks,
        next(iter(figures["agreement"]), None),
        told["traces"],
        told["left_out"],
        told["unsure"],
    )


def findings_of(found: TraceRates) -> Iterator[Finding]:
    """What a run says first: the rate, a warning on what it leaves out, and notes."""
    yield _verdict(found)
    if (few := _few_reviewers(found)) is not None:
        yield few
    missing = 1 - found.rates.covered
    if found.rates.people.has_interval and missing > 0.005:
        yield MESSAGES.find("traces_uncovered", share=percent(missing, 1))
    if found.left_out:
        yield MESSAGES.find("traces_saw", n=found.left_out)
    if found.unsure:
        yield MESSAGES.find("traces_unsure", n=found.unsure)
    if found.rates.people.has_interval:
        yield MESSAGES.find("traces_method")


def _few_reviewers(found: TraceRates) -> Finding | None:
    """Say how much of the doubt is about other reviewers, where it is most of it."""
    claim, these = found.rate, found.rates.these
    if not (claim.has_interval and these.has_interval):
        return None
    if claim.high - claim.low < WIDER * (these.high - these.low):
        return None
    reviewers = plural(found.rates.reviewers, "reviewer")
    return MESSAGES.find("traces_reviewers", reviewers=reviewers, span=_span(these))


def _span(claim: Claim) -> str:
    return interval(100 * claim.low, 100 * claim.high, 1)


def _verdict(found: TraceRates) -> Finding:
    claim, people, rates = found.rate, found.rates.people, found.rates
    values: dict[str, Any] = {
        "traces": plural(found.traces, "trace"),
        "reviewed": plural(people.n, "trace"),
        "least": LEAST,
    }
    if not people.n:
        return MESSAGES.find("traces_unreviewed", **values)
    if not claim.has_interval:
        code = NO_INTERVAL[claim.reason]
        values["missing"] = percent(1 - rates.covered, 1)
        return MESSAGES.find(code, claim=claim, **{**values, "reviewed": count(people.n)})
    values |= {
        "rate": percent(claim.estimate, 1),
        "span": _span(claim),
        "people": percent(people.estimate, 1),
        "people_span": _span(people),
        "traces": plural(round(rates.covered * found.traces), "trace"),
        "judged": percent(rates.judged),
        "reviewers": plural(rates.reviewers, "reviewer"),
    }
    code = "traces_fail_both" if found.uses_judge else "traces_fail_people"
    if rates.rests_on_few:
        code = f"{code}_few"
    return MESSAGES.find(code, claim=claim, **values)


def key_figures(found: TraceRates) -> list[dict[str, Any]]:
    """Agreement of people, and of the judge with them, for the strip of figures."""
    figures = []
    alpha = found.agreement
    if alpha is not None:
        span = "" if alpha["reason"] else interval(alpha["low"], alpha["high"], 2)
        label = _("Agreement of people, α")
        figures.append({"label": label, "value": score(alpha["value"], 2), "of": span})
    judge = found.rates.agreement
    if judge.has_interval:
        span = interval(100 * judge.low, 100 * judge.high, 0)
        label = _("Judge agrees with people")
        figures.append({"label": label, "value": percent(judge.estimate), "of": span})
    return figures


def week_label(monday: dt.date) -> str:
    """Days of a week: 2–8 Nov."""
    sunday = monday + dt.timedelta(days=6)
    if monday.month == sunday.month:
        return f"{monday.day}–{short_date(sunday)}"
    return f"{short_date(monday)}–{short_date(sunday)}"


def week_findings(found: TraceRates) -> list[Finding]:
    """Which weeks differ from the others, or that they cannot be separated; needs two weeks."""
    compared = {
        monday: week.difference
        for monday, week in found.weeks.items()
        if week.difference.has_interval
    }
    differ = [
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
    return differ or ([MESSAGES.find("trace_weeks_alike")] if compared else [])


def _away_from_zero(claim: Claim) -> tuple[float, float]:
    """Bounds of a difference of one direction in points, without their sign."""
    ends = (100 * abs(claim.low), 100 * abs(claim.high))
    return min(ends), max(ends)


def week_chart(found: TraceRates) -> SafeString | None:
    """The rate of each week as a drawing; None where no week has one."""
    rows = [
        WeekRow(week_label(monday), week.rate.estimate, week.rate.low, week.rate.high)
        if week.rate.has_interval
        else WeekRow(week_label(monday))
        for monday, week in found.weeks.items()
    ]
    if all(row.rate is None for row in rows):
        return None
    return rates_by_week(rows, whole=found.rate.estimate)
