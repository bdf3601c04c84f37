"""Messages that every kind of study shares: its run, its collection, its review."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from evaluation.results.findings import Catalogue, Message, Severity

VERDICT, ACTION = Severity.VERDICT, Severity.ACTION
# Nothing more is asked for while these answers are outstanding.
OUTSTANDING = ("open_answers", "paused_answers", "closed_answers", "too_few_workers")

MESSAGES = Catalogue(
    {
        # Who can be first, by the possible ranks, which hold for all rows at once.
        "place_unknown": Message(
            _("Nobody can be called first: no interval is known yet."), VERDICT
        ),
        "place_alone": Message(
            _("%(names)s is alone on its board, so nothing is compared."), VERDICT
        ),
        "place_any": Message(
            _("Any of these %(rows)s may be the best: %(by)s are too few to say which."), VERDICT
        ),
        "place_first": Message(_("%(names)s is first."), VERDICT),
        "place_first_next": Message(_("%(names)s is first. %(after)s is second."), VERDICT),
        "place_first_next_several": Message(
            _("%(names)s is first. %(after)s come next and cannot be told apart."), VERDICT
        ),
        "place_both": Message(
            _("%(names)s may both be the best: %(by)s are too few to say which."), VERDICT
        ),
        "place_several": Message(
            _("%(names)s may all be the best: %(by)s are too few to say which."), VERDICT
        ),
        # What to do.
        "run_in_progress": Message(
            _("Run %(active)s is in progress. This page shows run %(run)s."), ACTION
        ),
        "answers_since_run": Message(
            ngettext_lazy(
                "%(answers)s came or changed since this run.",
                "%(answers)s came or changed since this run.",
                "n",
            ),
            ACTION,
        ),
        "excluded_since_run": Message(
            ngettext_lazy(
                "%(names)s was left out since; this run still counts them.",
                "%(names)s were left out since; this run still counts them.",
                "n",
            ),
            ACTION,
        ),
        "models_untested": Message(
            ngettext_lazy(
                "%(answers)s of %(models)s is not compared with people yet.",
                "%(answers)s of %(models)s are not compared with people yet.",
                "n",
            ),
            Severity.WARNING,
        ),
        "trial_run": Message(_("This run is a trial. Run %(official)s is official."), ACTION),
        "no_official_run": Message(
            _("No run is official yet, so payouts and worker cards use none."), ACTION
        ),
        "open_answers": Message(
            ngettext_lazy(
                "%(answers)s of %(wanted)s is outstanding.",
                "%(answers)s of %(wanted)s are outstanding.",
                "n",
            ),
            ACTION,
        ),
        "paused_answers": Message(_("The task is paused; %(answers)s outstanding."), ACTION),
        "closed_answers": Message(_("The task is closed; %(answers)s outstanding."), ACTION),
        "too_few_workers": Message(
            ngettext_lazy(
                "Each item asks for %(needed)s; %(able)s can take this task.",
                "Each item asks for %(needed)s; %(able)s can take this task.",
                "n",
            ),
            ACTION,
        ),
        "plan_answers": Message(
            _(
                "One more per item: %(answers)s, %(cost)s at most. Intervals get about %(share)s "
                "narrower."
            ),
            ACTION,
            excludes=OUTSTANDING,
        ),
        "review_work": Message(
            ngettext_lazy(
                "%(assignments)s waits for review; the result counts it already.",
                "%(assignments)s wait for review; the result counts them already.",
                "n",
            ),
            ACTION,
        ),
    }
)
