"""Messages on live evaluations."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from evaluation.results.findings import Catalogue, Message, Severity

ACTION = Severity.ACTION

MESSAGES = Catalogue(
    {
        "live_no_judgments": Message(_("No pair is judged yet."), Severity.VERDICT),
        "compare_more_outputs": Message(
            _("Choose by cost, or compare more outputs in another task."), ACTION
        ),
        "send_outputs": Message(_("Send outputs of the systems for the same prompts."), ACTION),
        "send_more_outputs": Message(_("All pairs are judged, and %(prompts)s more fit."), ACTION),
        "live_task_closed": Message(
            _("The task is closed: reopen it to let workers compare."), ACTION
        ),
        "live_task_paused": Message(
            _("The task is paused: resume it to let workers compare."), ACTION
        ),
        "live_task_draft": Message(
            _("The task is a draft: publish it to let workers compare."), ACTION
        ),
        "live_pairs_open": Message(
            _("Workers compare the open pairs; the evaluation ends by itself."), ACTION
        ),
    }
)
