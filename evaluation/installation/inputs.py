"""What owners fill in."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.signing.selectors import find_proven_user
from annotation.installation.actions import MAX_BROADCAST, MAX_REASON
from annotation.models import User
from crowdqc.numbers import count
from evaluation.retention.kinds import MOST, SETTABLE

KEPT = gettext_lazy("The audit log keeps it.")


class ReasonForm(forms.Form):
    """Why something is done."""

    why = forms.CharField(label=gettext_lazy("Reason"), max_length=MAX_REASON, help_text=KEPT)


class ReadOnlyForm(forms.Form):
    """Why nobody but owners changes anything."""

    why = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=MAX_REASON,
        help_text=gettext_lazy("Every page shows it."),
    )


class ProofForm(forms.Form):
    """How it was made sure who asks."""

    proof = forms.CharField(
        label=gettext_lazy("How the person proved who they are"),
        max_length=MAX_REASON,
        help_text=KEPT,
    )


class _PersonForm(forms.Form):
    """Somebody with an account."""

    def find(self, field: str) -> User:
        user = find_proven_user(self.cleaned_data[field])
        if user is None:
            raise forms.ValidationError(_("There is no such account."))
        return user


class TransferForm(_PersonForm):
    """Who owns a project from now on."""

    to = forms.CharField(label=gettext_lazy("New owner"), max_length=254)
    why = forms.CharField(label=gettext_lazy("Reason"), max_length=MAX_REASON, help_text=KEPT)
    to.widget.attrs["placeholder"] = gettext_lazy("User name or e-mail address")

    def clean_to(self) -> User:
        return self.find("to")


class MergeForm(_PersonForm):
    """Which account stays."""

    into = forms.CharField(label=gettext_lazy("Account that stays"), max_length=254)
    why = forms.CharField(label=gettext_lazy("Reason"), max_length=MAX_REASON, help_text=KEPT)
    into.widget.attrs["placeholder"] = gettext_lazy("User name or e-mail address")

    def clean_into(self) -> User:
        return self.find("into")


class BannerForm(forms.Form):
    """One sentence above every page."""

    text = forms.CharField(label=gettext_lazy("Text"), max_length=MAX_REASON, required=False)


class BroadcastForm(forms.Form):
    """One notice to everybody."""

    text = forms.CharField(
        label=gettext_lazy("Message"),
        max_length=MAX_BROADCAST,
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class LimitsForm(forms.Form):
    """How much each project or person may have; empty: the usual number."""

    def __init__(self, *args: Any, rows: list[tuple[str, str, int, int | None]], **kw: Any) -> None:
        super().__init__(*args, **kw)
        for name, label, usual, own in rows:
            self.fields[name] = forms.IntegerField(
                label=label, min_value=0, max_value=2**31 - 1, required=False, initial=own
            )
            self.fields[name].widget.attrs["placeholder"] = count(usual)


class RetentionForm(forms.Form):
    """For how long each kind of rows is kept; empty: until deleted."""

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(*args, **kw)
        for kind in SETTABLE:
            self.fields[kind.name] = forms.IntegerField(
                label=kind.setting,
                min_value=kind.least,
                max_value=MOST[kind.unit],
                required=False,
                initial=kind.keeps,
            )
            self.fields[kind.name].widget.attrs["placeholder"] = _("until deleted")
