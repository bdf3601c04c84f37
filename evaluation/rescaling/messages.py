"""Messages on rescaled ratings."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from evaluation.results.findings import Catalogue, Message, Severity

MESSAGES = Catalogue(
    {
        "one_rating_throughout": Message(
            ngettext_lazy(
                "%(n)s rater gave the same value throughout, so no correlation is known.",
                "%(n)s raters gave the same value throughout, so no correlation is known.",
                "n",
            ),
            Severity.WARNING,
        ),
        "raters_not_shown": Message(
            ngettext_lazy(
                "%(n)s of %(workers)s with a correlation is not shown to follow the others.",
                "%(n)s of %(workers)s with a correlation are not shown to follow the others.",
                "n",
            ),
            Severity.WARNING,
            detail=_("Lowest correlation: %(lowest)s (%(level)s CI %(span)s, all at once)."),
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
