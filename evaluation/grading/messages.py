"""Messages on methods held against experts."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from evaluation.results.findings import Catalogue, Message, Severity

MESSAGES = Catalogue(
    {
        "questions_enough": Message(
            _(
                "With %(size)s of the %(total)s questions the mean correlation is %(r)s; it first "
                "reaches %(wanted)s there."
            ),
            Severity.NOTE,
        ),
        "questions_not_enough": Message(
            _("All %(total)s questions give a correlation of %(r)s, which is below %(wanted)s."),
            Severity.NOTE,
        ),
        "classes_several": Message(
            _("%(split)s of %(asked)s questions have several classes of answers."),
            Severity.NOTE,
            detail=_(
                "“AQER, each class of answers by itself” scores an answer against its own class. "
                "It cannot tell a second right answer from one wrong answer, or “I don’t know”, "
                "that many give: both are scored as right."
            ),
        ),
        "classes_single": Message(
            _("None of %(asked)s questions has several classes of answers."), Severity.NOTE
        ),
    }
)
