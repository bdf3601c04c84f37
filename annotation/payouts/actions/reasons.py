"""The reasons of rejections and of lower pay: which there are, and how long their text must be."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.records.cleaning import clean_text
from crowdqc.errors import Invalid

# What Prolific takes at least is the rule for everybody: a worker is owed a text with substance.
MIN_REASON, MAX_REASON = 100, 5000
MIN_LESS = 20  # of the reason for paying less than was agreed
REASONS = {
    "no_answer": gettext_lazy("The answers do not answer the questions"),
    "not_followed": gettext_lazy("The instructions were not followed"),
    "not_own": gettext_lazy("The answers are not in the worker’s own words"),
    "failed_check": gettext_lazy("The attention questions were not answered as they asked"),
    "guessing": gettext_lazy("The answers are no better than guessing"),
    "nothing": gettext_lazy("Nothing was handed in that could be used"),
    "other": gettext_lazy("Another reason, written below"),
}
# The same in the words of Prolific, which takes a rejection in a category only.
PROLIFIC_CATEGORIES = {
    "no_answer": "LOW_EFFORT",
    "not_followed": "FAILED_INSTRUCTIONS",
    "not_own": "OTHER",
    "failed_check": "FAILED_CHECK",
    "guessing": "LOW_EFFORT",
    "nothing": "NO_DATA",
    "other": "OTHER",
}


def clean_reason(name: str, code: str, text: str) -> tuple[str, str]:
    """Code and text of a rejection, or Invalid; ``name`` is the worker's pseudonym."""
    if code not in REASONS:
        raise Invalid(
            _("%(name)s: choose a reason.") % {"name": name},
            fields={"reason_code": _("Choose one.")},
        )
    text = clean_text(text, "reason", MAX_REASON)
    if len(text) < MIN_REASON:
        raise Invalid(
            _(
                "%(name)s: the reason is read by the worker; write what was asked and what "
                "is missing."
            )
            % {"name": name},
            fields={
                "reason": _("At least %(min_reason)s characters; it has %(text)s.")
                % {"min_reason": MIN_REASON, "text": len(text)}
            },
        )
    return code, text
