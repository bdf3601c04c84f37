"""Messages on the results of a labels task."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from evaluation.results.findings import Catalogue, Message, Severity

VERDICT, ACTION = Severity.VERDICT, Severity.ACTION
WARNING, NOTE = Severity.WARNING, Severity.NOTE

MESSAGES = Catalogue(
    {
        # How sure the labels are, or why that is not known.
        "label_few_workers": Message(
            _("No competence yet: it needs 3 workers who labelled the same items."), VERDICT
        ),
        "label_no_intervals": Message(
            _("This run has no intervals, so it cannot tell workers from guessing."), VERDICT
        ),
        "label_certain": Message(
            ngettext_lazy(
                "%(sure)s of %(labels)s is at least 90%% certain.",
                "%(sure)s of %(labels)s are at least 90%% certain.",
                "n",
            ),
            VERDICT,
        ),
        "label_none_better": Message(
            _("None of %(workers)s is shown to do better than guessing."), VERDICT
        ),
        # What stands below the verdict.
        "label_all_better": Message(_("All %(workers)s do better than guessing."), NOTE),
        "label_some_better": Message(
            ngettext_lazy(
                "%(better)s of %(workers)s does better than guessing.",
                "%(better)s of %(workers)s do better than guessing.",
                "n",
            ),
            NOTE,
        ),
        "label_reliable": Message(
            _(
                "%(reliable)s of %(workers)s reach the threshold of %(limit)s; %(better)s do "
                "better than guessing."
            ),
            NOTE,
        ),
        "label_agreement": Message(_("Agreement: α %(alpha)s (%(span)s)."), NOTE),
        "label_agreement_low": Message(_("Agreement is low: α %(alpha)s (%(span)s)."), NOTE),
        "label_agreement_fair": Message(_("Agreement is fair: α %(alpha)s (%(span)s)."), NOTE),
        "label_agreement_high": Message(_("Agreement is high: α %(alpha)s (%(span)s)."), NOTE),
        "label_methods_agree": Message(_("All methods agree on all %(items)s."), NOTE),
        "label_no_agreement": Message(_("These labels give no agreement coefficient."), NOTE),
        # What to do.
        "known_answers_wrong": Message(
            _("Only %(right)s known answers match the estimated labels: check both before use."),
            ACTION,
        ),
        "label_drawn_traces": Message(
            _("These traces were drawn unevenly: Traces says how many of all fail."), ACTION
        ),
        "label_weak_workers": Message(
            ngettext_lazy(
                "%(n)s worker does worse than guessing or always gives one label.",
                "%(n)s workers do worse than guessing or always give one label.",
                "n",
            ),
            ACTION,
        ),
        "decide_items": Message(
            ngettext_lazy(
                "%(items)s is open: under .90.",
                "%(items)s are open: under .90.",
                "n",
            ),
            ACTION,
        ),
        "decide_items_and_ties": Message(
            ngettext_lazy(
                "%(items)s is open: votes tie or methods differ.",
                "%(items)s are open: %(under)s under .90, %(sure)s as votes tie or methods differ.",
                "n",
            ),
            ACTION,
        ),
        # What to read first.
        "label_not_scored": Message(
            ngettext_lazy("%(n)s worker is not scored.", "%(n)s workers are not scored.", "n"),
            WARNING,
            detail=_("Competence needs 3 workers on the same items."),
        ),
        "label_all_may_guess": Message(
            _("Nobody is told from guessing."),
            WARNING,
            detail=_("Do not rely on the labels of the items."),
            excludes=("label_certain",),
        ),
        "label_noise": Message(
            ngettext_lazy("%(n)s worker may add noise.", "%(n)s workers may add noise.", "n"),
            WARNING,
            detail=_("%(given)s of %(every)s labels; only a majority vote counts them in full."),
        ),
        "label_no_known_answers": Message(
            _("No known answers yet."),
            WARNING,
            detail=_("A mistake that most workers share stays hidden."),
            excludes=("known_answers_wrong",),
        ),
        "label_known_unseen": Message(
            ngettext_lazy(
                "%(n)s worker saw no known answer.", "%(n)s workers saw no known answer.", "n"
            ),
            NOTE,
        ),
        "label_decided": Message(
            ngettext_lazy(
                "%(n)s item is decided by hand.",
                "%(n)s items are decided by hand.",
                "n",
            ),
            NOTE,
        ),
        "label_run_note": Message("%(text)s", NOTE),
    }
)
