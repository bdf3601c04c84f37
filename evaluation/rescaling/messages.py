"""Messages on rescaled ratings."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from evaluation.results.findings import Catalogue, Message, Severity

MESSAGES = Catalogue(
    {
        "raters_at_chance": Message(
            ngettext_lazy(
                "%(names)s is not shown to agree with the others on %(scale)s.",
                "%(names)s are not shown to agree with the others on %(scale)s.",
                "n",
            ),
            Severity.WARNING,
        ),
        "use_rescaled": Message(
            _("Use the rescaled scores; first see what moved most."), Severity.ACTION
        ),
        "use_as_given": Message(
            _("Use the ratings as people gave them."),
            Severity.ACTION,
            excludes=("use_rescaled",),
        ),
        "scorer_nearer": Message(
            _("On people and on items it did not see, it is nearer than the mean of the label."),
            Severity.NOTE,
        ),
        "scorer_nearer_people": Message(
            _(
                "On people it did not see, it is nearer than the mean of the label. On items it "
                "did not see, that is not shown."
            ),
            Severity.NOTE,
        ),
        "scorer_nearer_items": Message(
            _(
                "On items it did not see, it is nearer than the mean of the label. On people it "
                "did not see, that is not shown."
            ),
            Severity.NOTE,
        ),
        "scorer_not_shown": Message(
            _("It is not shown to be nearer to the scores than the mean of the label."),
            Severity.NOTE,
        ),
    }
)
