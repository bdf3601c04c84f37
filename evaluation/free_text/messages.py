"""Messages on the results of free-text tasks."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from evaluation.results.findings import Catalogue, Message, Severity

VERDICT, ACTION = Severity.VERDICT, Severity.ACTION
WARNING, NOTE = Severity.WARNING, Severity.NOTE

MESSAGES = Catalogue(
    {
        # What to do.
        "choose_panel": Message(
            _("For further work take several of the first, not one alone."), ACTION
        ),
        "read_camps": Message(_("Read both camps before you use a best answer."), ACTION),
        "read_lowest_questions": Message(
            _("Read questions %(numbers)s before you use their best answers."), ACTION
        ),
        "read_lowest": Message(
            _("Read the questions with the lowest agreement before you use their best answers."),
            ACTION,
        ),
        "read_swaps": Message(_("Look at these pairs before you decide about them."), ACTION),
        "ask_another_model": Message(_("Ask another model, or change the prompt."), ACTION),
        "run_own_method": Message(
            _("Run the task’s own method too: one model’s points alone decide nothing."), ACTION
        ),
        "compare_own_board": Message(
            _("Decide by the task’s own board; these points stand beside it."), ACTION
        ),
        # What can be concluded.
        "points_all_same": Message(
            _("Every score is the same number: this model tells nothing apart."), VERDICT
        ),
        "points_of_nobody": Message(
            _("The model’s points belong to no system or worker that could be compared."), VERDICT
        ),
        "two_camps": Message(
            _("Workers form two camps, so a best answer may speak for only one of them."), VERDICT
        ),
        "no_camps": Message(
            _("No split of the workers into two camps is shown."), VERDICT, excludes=("two_camps",)
        ),
        "camps_unknown": Message(
            _("This run does not say whether workers form camps."), VERDICT, excludes=("two_camps",)
        ),
        "camps_need_more": Message(
            _("It takes %(workers)s workers and %(questions)s questions to tell two camps."),
            VERDICT,
        ),
        "camps_too_many": Message(
            _("Whether workers form two camps is not examined among so many answers."), VERDICT
        ),
        "no_swaps": Message(_("Iterating surely reverses no pair of workers."), VERDICT),
        "swaps": Message(
            _("Iterating surely reverses %(n)s of %(pairs)s pairs of workers."), VERDICT
        ),
        # What to read first.
        "few_answers": Message(
            _("Only %(answers)s per question."),
            WARNING,
            detail=_("Below %(few)s a score depends mostly on whose answers it is compared with."),
        ),
        "camps_warning": Message(
            _("Two groups answer differently."),
            WARNING,
            detail=_(
                "%(fewer)s agree with each other (%(within)s) but not with the other %(others)s "
                "(%(between)s). The ranking follows the larger group, %(share)s of the weight."
            ),
            excludes=("no_camps",),
        ),
        "misleading_question": Message(
            _("Question %(number)s may mislead."),
            WARNING,
            detail=_("%(size)s of %(of)s answers say “%(text)s”, with %(share)s of the weight."),
        ),
        "separate_boards": Message(
            _("%(parts)s boards that share no question."),
            WARNING,
            detail=_("Workers of different boards cannot be compared."),
        ),
        "adjusted_scores": Message(
            _("Scores are adjusted for how hard each worker’s questions were."), NOTE
        ),
        "near_identical": Message(
            _("Near-identical answers to %(questions)s."),
            NOTE,
            detail=_("They score as high as the others or higher; they may be right."),
        ),
        "single_answers": Message(
            ngettext_lazy(
                "%(n)s question has one answer only and enters no score.",
                "%(n)s questions have one answer only and enter no score.",
                "n",
            ),
            NOTE,
        ),
        "short_answers": Message(
            ngettext_lazy(
                "%(short)s of %(answers)s has under %(words)s words.",
                "%(short)s of %(answers)s have under %(words)s words.",
                "n",
            ),
            NOTE,
        ),
        # Of the computation.
        "vacuous_bound": Message(
            _("The bound is vacuous."),
            NOTE,
            detail=_("Eq. (8) gives %(worst)s for %(workers)s workers a question."),
        ),
        "vacuous_bound_until": Message(
            _("The bound is vacuous."),
            NOTE,
            detail=_(
                "Eq. (8) gives %(worst)s for %(workers)s workers a question; from %(enough)s on it "
                "falls under 1."
            ),
        ),
        "iterating_swaps": Message(
            _("Iterating reverses %(swapped)s of %(pairs)s."),
            NOTE,
            detail=_("Most clearly %(up)s now stands above %(down)s. Sure orders: %(sure)s."),
        ),
        "short_intervals": Message(
            _("Intervals are a little short."),
            NOTE,
            detail=_("Exemplary answers were not fitted again in every resample."),
        ),
        "resamples_not_converged": Message(
            _("%(missed)s of %(resamples)s did not converge."),
            NOTE,
            detail=_("They enter the intervals as they stood after the last round."),
        ),
    }
)
