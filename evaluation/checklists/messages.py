"""Messages on checklists and their scores."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from evaluation.results.findings import Catalogue, Message, Severity

VERDICT, ACTION = Severity.VERDICT, Severity.ACTION

MESSAGES = Catalogue(
    {
        "checklist_few_sources": Message(
            ngettext_lazy(
                "With only %(n)s source nobody can tell whether the checklist works.",
                "With only %(n)s sources nobody can tell whether the checklist works.",
                "n",
            ),
            VERDICT,
            detail=_("An interval needs %(least)s sources."),
        ),
        "checklist_not_shown": Message(
            _("It is not shown that any score of this checklist follows human scores."), VERDICT
        ),
        "checklist_follows": Message(
            _("Scores of %(name)s follow human scores."), VERDICT, needs_sure=True
        ),
        "checklist_runs_against": Message(
            _("Scores of %(name)s run against human scores."), VERDICT, needs_sure=True
        ),
        "no_human_scores": Message(
            _("There are no human scores of these texts to compare the checklist with."),
            VERDICT,
            excludes=("checklist_follows", "checklist_runs_against"),
        ),
        "scored_without_people": Message(
            _(
                "Run %(number)s is not in this table: these texts have no human scores of what it "
                "scored. Its scores are in its export."
            ),
            Severity.WARNING,
        ),
        "no_other_scoring": Message(_("Nothing else has scored these texts."), VERDICT),
        "no_difference_known": Message(
            _("No difference from another scoring has an interval yet."), VERDICT
        ),
        "no_difference_shown": Message(
            _("This checklist cannot be separated from any other scoring."), VERDICT
        ),
        "checklist_differs": Message(
            _(
                "In %(of)s comparisons this checklist follows human scores surely better in "
                "%(better)s and surely worse in %(worse)s."
            ),
            VERDICT,
        ),
        "add_sources": Message(
            ngettext_lazy(
                "Add texts of %(sources)s more source and score them by hand.",
                "Add texts of %(sources)s more sources and score them by hand.",
                "n",
            ),
            ACTION,
        ),
        "ask_models": Message(
            _("Models can answer the checklist on more texts; keep checking some by hand."), ACTION
        ),
        "mend_questions": Message(
            _("Look at the questions that separate no texts, and write others."), ACTION
        ),
        "import_human_scores": Message(
            _("Score some of the texts by hand and import these scores."), ACTION
        ),
        "make_checklist": Message(
            _("Make a checklist of these attributes, or collect more of them first."), ACTION
        ),
    }
)
