"""Messages on traces under review."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from evaluation.results.findings import Catalogue, Message, Severity

VERDICT, ACTION = Severity.VERDICT, Severity.ACTION
WARNING, NOTE = Severity.WARNING, Severity.NOTE

FROM_BOTH = _(
    "From the judge on %(judged)s of them, corrected by reviews of %(reviewed)s. From people "
    "alone: %(people)s (%(people_span)s)."
)
FROM_PEOPLE = _("From reviews of %(reviewed)s by people, weighted by how they were drawn.")

MESSAGES = Catalogue(
    {
        "traces_none": Message(_("No trace has come yet."), VERDICT),
        "traces_unreviewed": Message(
            _("%(traces)s, none reviewed by enough people."),
            VERDICT,
            _("An interval needs %(least)s reviewed traces."),
        ),
        "traces_few": Message(
            _("%(reviewed)s of %(traces)s are reviewed."),
            VERDICT,
            _("An interval needs %(least)s reviewed traces."),
        ),
        "traces_no_run": Message(
            _("%(reviewed)s of %(traces)s are reviewed."),
            VERDICT,
            _("The rate is computed by itself, or when you start a run."),
        ),
        "traces_uneven": Message(
            _("%(reviewed)s of %(traces)s are reviewed, too few of them drawn at random."),
            VERDICT,
            _("Raise the share of random draws, so that fewer reviews stand for most traces."),
        ),
        "traces_partly": Message(
            _("%(missing)s of %(traces)s are of a kind that nobody reviewed."),
            VERDICT,
            _("An interval needs reviews of kinds that make up 90%% of traces."),
        ),
        "traces_fail_both": Message(
            _("About %(rate)s of %(traces)s fail (95%% CI %(span)s)."), VERDICT, FROM_BOTH
        ),
        "traces_fail_both_few": Message(
            _("About %(rate)s of %(traces)s fail as judged by %(reviewers)s (95%% CI %(span)s)."),
            VERDICT,
            FROM_BOTH,
        ),
        "traces_fail_people": Message(
            _("About %(rate)s of %(traces)s fail (95%% CI %(span)s)."), VERDICT, FROM_PEOPLE
        ),
        "traces_fail_people_few": Message(
            _("About %(rate)s of %(traces)s fail as judged by %(reviewers)s (95%% CI %(span)s)."),
            VERDICT,
            FROM_PEOPLE,
        ),
        "traces_connect": Message(_("Connect an application that sends traces."), ACTION),
        "traces_no_queue": Message(
            _("%(source)s has no review queue, so nothing is drawn."), ACTION
        ),
        "traces_draft_queue": Message(
            ngettext_lazy(
                "%(n)s trace waits in a draft: publish the task to hand it out.",
                "%(n)s traces wait in a draft: publish the task to hand them out.",
                "n",
            ),
            ACTION,
        ),
        "traces_waiting": Message(
            ngettext_lazy(
                "%(n)s trace waits for reviews; the oldest for %(age)s.",
                "%(n)s traces wait for reviews; the oldest for %(age)s.",
                "n",
            ),
            ACTION,
        ),
        "traces_above": Message(
            _("%(rate)s fail (95%% CI %(span)s), above your limit of %(limit)s."), WARNING
        ),
        "traces_silent": Message(
            _("%(source)s sent nothing for %(age)s."),
            WARNING,
            _("Check that the application still runs and that its token was not renewed."),
        ),
        "traces_rejected": Message(
            ngettext_lazy(
                "%(n)s span of %(source)s was rejected.",
                "%(n)s spans of %(source)s were rejected.",
                "n",
            ),
            WARNING,
            _("Spans without ids, or beyond 10,000 of one trace, are not kept."),
        ),
        "traces_dropped": Message(
            ngettext_lazy(
                "Senders left attributes out of %(n)s trace.",
                "Senders left attributes out of %(n)s traces.",
                "n",
            ),
            WARNING,
            _("Raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: by default the oldest messages go first."),
        ),
        "traces_reviewers": Message(
            _("These %(reviewers)s alone give %(span)s; the rest of the doubt is about others."),
            WARNING,
            _("More reviewers make the interval narrower."),
        ),
        "traces_uncovered": Message(
            _("%(share)s of traces could not be drawn or are of a kind that nobody reviewed."),
            WARNING,
            _("The rate says nothing about them."),
        ),
        "traces_saw": Message(
            ngettext_lazy(
                "%(n)s review is left out: its author had seen the judge or other reviews.",
                "%(n)s reviews are left out: their authors had seen the judge or other reviews.",
                "n",
            ),
            NOTE,
        ),
        "traces_unsure": Message(
            ngettext_lazy(
                "%(n)s trace is left out: everybody was unsure.",
                "%(n)s traces are left out: everybody was unsure.",
                "n",
            ),
            NOTE,
        ),
        "trace_weeks_alike": Message(_("These weeks cannot be separated."), NOTE),
        "trace_week_worse": Message(
            _("%(week)s fails more than the other weeks, by %(points)s points (95%% CI %(span)s)."),
            NOTE,
            needs_sure=True,
        ),
        "trace_week_better": Message(
            _("%(week)s fails less than the other weeks, by %(points)s points (95%% CI %(span)s)."),
            NOTE,
            needs_sure=True,
        ),
        "traces_method": Message(
            _("A failure is what most reviewers call one; errors that they share are in the rate."),
            NOTE,
            _(
                "Each review counts by the probability with which its trace was drawn, "
                "post-stratified by rule and verdict of the judge, with Wilson intervals of each "
                "cell. A judge that is wrong makes the interval wider, not false."
            ),
        ),
    }
)
