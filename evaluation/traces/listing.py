"""The queue of traces as a list, with what people and judges say of each."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import (
    Case,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.access import Access
from annotation.lists.definition import Choice, Column, Filter, Listing
from annotation.models import ChoiceValue, Project, Trace, TraceSource
from annotation.traces.actions.seen import log_views
from annotation.traces.selectors import (
    count_by,
    count_reviews,
    live_sources,
    reviewed_by,
    still_reviews,
)
from annotation.traces.settings import read_settings
from evaluation.traces.dataset import verdict_rule

DAYS = (7, 30, 90)


@dataclass(frozen=True)
class TraceRow:
    """A drawn trace as the list shows it. ``hidden``: the viewer has still to review it."""

    trace: Trace
    fails: int
    passes: int
    verdict: int  # of the judge: 1 fail, 0 pass, -1 none
    hidden: bool
    rule: str
    given: int  # reviews that count

    @property
    def submitted(self) -> int:
        """Reviews given, at most those wanted; not those that somebody is at."""
        return min(self.given, self.wanted)

    @property
    def wanted(self) -> int:
        item = self.trace.item
        return 0 if item is None else item.redundancy

    @property
    def missing(self) -> int:
        return self.wanted - self.submitted

    @property
    def people_differ(self) -> bool:
        return bool(self.fails and self.passes)

    @property
    def outcome(self) -> str:
        """fail, pass or tie where all reviews are in, else "" """
        if self.missing > 0 or not self.fails + self.passes:
            return ""
        if self.fails == self.passes:
            return "tie"
        return "fail" if self.fails > self.passes else "pass"

    @property
    def judge_differs(self) -> bool:
        """Whether the judge says otherwise than all people, who agree."""
        if self.outcome not in ("fail", "pass") or self.people_differ or self.verdict < 0:
            return False
        return (self.verdict == 1) != (self.outcome == "fail")


def rule_label(name: str) -> str:
    """What a rule that draws is called."""
    if name.startswith("attribute:"):
        return name.removeprefix("attribute:")
    labels = {
        "random": _("random"),
        "error": _("error"),
        "low_score": _("low score"),
        "feedback": _("feedback"),
    }
    return labels.get(name, name)


def drawn_traces(project: Project, sources: Sequence[TraceSource]) -> QuerySet[Any]:
    """Drawn traces with counts of reviews that say fail and pass, and the judge's verdict."""
    rows = Trace.objects.filter(source__project=project, item__isnull=False)
    settings = [(one.pk, read_settings(one.settings)) for one in sources]
    fields = {one.outcome for _pk, one in settings} or {"outcome"}
    failing = {code for _pk, one in settings for code in one.failing} or {"fail"}
    own = ChoiceValue.objects.filter(
        answer__item=OuterRef("item"),
        answer__counts=True,
        answer__worker__isnull=False,
        field__in=fields,
    ).exclude(code="unsure")

    return (
        rows.select_related("source", "item")
        .annotate(
            fails=count_by(own.filter(code__in=failing), "answer__item"),
            passes=count_by(own.exclude(code__in=failing), "answer__item"),
            verdict=verdict_rule(sources),
            given=count_reviews(),
        )
        .annotate(
            is_complete=Case(
                When(given__lt=F("item__redundancy"), then=Value(0)),
                default=Value(1),
                output_field=IntegerField(),
            ),
        )
    )


def row_of(trace: Trace, *, hidden: bool) -> TraceRow:
    """A drawn trace with what people and the judge say of it."""
    rows = drawn_traces(trace.source.project, [trace.source]).filter(pk=trace.pk)
    return _row(rows.get(), hidden=hidden)


def _row(one: Any, *, hidden: bool) -> TraceRow:
    """A row of ``drawn_traces``."""
    rule = rule_label(one.drawn_by)
    return TraceRow(one, one.fails, one.passes, one.verdict, hidden, rule, one.given)


def trace_listing(access: Access) -> Listing:
    """Drawn traces of the project, those that wait first, the oldest on top.

    For whoever has still to review some, what people or the judge say neither selects nor orders
    those.
    """
    sources = list(live_sources(access.project))
    rows = drawn_traces(access.project, sources)
    complete = Q(is_complete=1)
    reviewed = reviewed_by(access)
    known = Q() if reviewed is None else reviewed
    agree = Q(fails=0) | Q(passes=0)
    views = [
        Choice("waiting", _("Waiting"), Q(is_complete=0), rows.filter(is_complete=0).count()),
        Choice("differ", _("People differ"), known & Q(fails__gt=0, passes__gt=0)),
        Choice(
            "judge",
            _("Judge differs"),
            known & complete & agree & (Q(verdict=1, passes__gt=0) | Q(verdict=0, fails__gt=0)),
        ),
        Choice("fail", _("Fail"), known & complete & Q(fails__gt=F("passes"))),
    ]
    names = [Choice(str(one.pk), one.name, Q(source=one.pk)) for one in sources]
    rules = [
        Choice(name, rule_label(name), Q(drawn_by=name))
        for name in sorted(set(rows.values_list("drawn_by", flat=True).order_by()))
    ]
    now = timezone.now()
    days = [
        Choice(str(n), _("%(n)s days") % {"n": n}, Q(settled_at__gt=now - dt.timedelta(days=n)))
        for n in DAYS
    ]

    def read(found: list[Any]) -> list[TraceRow]:
        hidden = still_reviews(access, found)
        shown = [one.pk for one in found if one.pk not in hidden and not one.is_complete]
        log_views(by=access.user, traces=shown)
        return [_row(one, hidden=one.pk in hidden) for one in found]

    return Listing(
        slug="traces",
        nouns="trace,traces",
        caption=_("Traces drawn for review"),
        rows=rows,
        columns=(
            Column("title", _("First line of the user"), sort=("title",), fixed=True),
            Column("source", _("Source"), sort=("source__name",), shown=len(sources) > 1),
            Column("drawn", _("Drawn by"), sort=("drawn_by",)),
            Column("reviews", _("Reviews")),
            Column("people", _("People")),
            Column("judge", _("Judge"), sort=("score",) if reviewed is None else ()),
            Column("errors", _("Errors"), sort=("errors",), number=True, down=True, shown=False),
            Column("seconds", _("Time"), sort=("seconds",), number=True, down=True, shown=False),
            Column("state", _("State"), sort=("is_complete", "settled_at")),
        ),
        template="evaluation/traces/_row.html",
        order="state",
        search=("title", "trace_id", "service"),
        search_label=_("Search by first line or ID"),
        filters=(
            Filter("view", _("Which"), views, tabs=True),
            Filter("source", _("Source"), names if len(names) > 1 else ()),
            Filter("drawn", _("Drawn by"), rules if len(rules) > 1 else ()),
            Filter("days", _("Since"), days),
        ),
        read=read,
        name_of=str,
    )
