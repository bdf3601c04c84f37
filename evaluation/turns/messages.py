"""Messages on the results of turns."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from evaluation.results.findings import Catalogue, Message, Severity

VERDICT, WARNING = Severity.VERDICT, Severity.WARNING

MESSAGES = Catalogue(
    {
        "turns_wrong": Message(
            _("%(share)s of %(units)s are not “%(good)s” (95%% CI %(span)s)."), VERDICT
        ),
        "turns_first_wrong": Message(
            _("%(share)s of conversations go wrong within %(turns)s (95%% CI %(span)s)."), VERDICT
        ),
        "turns_few": Message(_("An interval needs %(least)s judged conversations."), VERDICT),
        "turns_wrong_without_interval": Message(
            _("%(share)s of %(units)s are not “%(good)s”; %(reason)s."), VERDICT
        ),
        "turns_drawn": Message(
            _("This is about drawn traces, of which more fail than of all."), WARNING
        ),
        "turns_low_agreement": Message(
            _("Workers hardly agree on turns: alpha %(alpha)s (%(span)s)."), WARNING
        ),
    }
)
