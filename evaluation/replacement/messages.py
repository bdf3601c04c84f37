"""Messages on models that may take the place of annotators."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from evaluation.results.findings import Catalogue, Message, Severity

ACTION, NOTE = Severity.ACTION, Severity.NOTE

MESSAGES = Catalogue(
    {
        "label_more_items": Message(
            _("%(items)s more labelled by people bring a decision about %(name)s nearer."), ACTION
        ),
        "models_need_items": Message(_("%(names)s can be decided only on more items."), ACTION),
        "replace_one": Message(
            _("%(names)s can take the place of one annotator on items like these."), NOTE
        ),
    }
)
