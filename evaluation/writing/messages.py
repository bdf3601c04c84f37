"""Messages on the results of writing tasks."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from evaluation.results.findings import Catalogue, Message, Severity

VERDICT, NOTE = Severity.VERDICT, Severity.NOTE

MESSAGES = Catalogue(
    {
        "few_topics": Message(
            _("Too few topics to conclude anything: read these figures as a description."), VERDICT
        ),
        "people_write_shorter": Message(_("People write shorter responses than models."), VERDICT),
        "people_write_longer": Message(_("People write longer responses than models."), VERDICT),
        "length_not_shown": Message(
            _("No difference in length between people and models is shown."), VERDICT
        ),
        "short_left_out": Message(
            _(
                "Left out of all figures: %(responses)s under %(words)s words "
                "(%(people)s by people, %(models)s by models)."
            ),
            Severity.WARNING,
        ),
        "none_left_out": Message(
            _("No response has under %(words)s words, so none is left out."), NOTE
        ),
        "add_topics": Message(
            _("Add topics before you compare people with models."), Severity.ACTION
        ),
    }
)
