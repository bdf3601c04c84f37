"""Forms for people and projects; actions validate."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy

from annotation.accounts.security.stepup import ConfirmationNeeded
from annotation.models import Organisation, Role
from crowdqc.currencies import USABLE
from crowdqc.errors import DomainError, Invalid
from crowdqc.web.edits import EditForm
from crowdqc.web.fields import MoneyField

# The usual ones first.
USUAL = ("EUR", "USD", "GBP", "CHF", "SEK", "DKK", "NOK", "PLN", "AUD")
CURRENCIES = [(code, code) for code in dict.fromkeys((*USUAL, *USABLE))]


def add_errors(form: forms.BaseForm, error: DomainError) -> None:
    """Show a domain error beside the fields it names, else above the form.

    A confirmation that is asked for is no error of the form: it leads to its own page.
    """
    if isinstance(error, ConfirmationNeeded):
        raise error
    named = False
    for name, text in error.fields.items():
        if name in form.fields:
            form.add_error(name, text)
            named = True
    if not named:
        form.add_error(None, error.message)


class TitleField(forms.CharField):
    """A title that is refused when too long and never cut on paste."""

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        attrs: dict[str, Any] = super().widget_attrs(widget)
        attrs.pop("maxlength", None)  # a browser cuts at it without a word
        return attrs


class ProjectForm(forms.Form):
    name = TitleField(max_length=120, label=gettext_lazy("Name"))
    currency = forms.ChoiceField(
        choices=CURRENCIES,
        label=gettext_lazy("Currency"),
        help_text=gettext_lazy("For pay and budget. It cannot be changed later."),
    )
    organisation = forms.TypedChoiceField(
        required=False,
        coerce=int,
        empty_value=None,
        label=gettext_lazy("Organisation"),
        help_text=gettext_lazy("Its people see the project, and its currency and settings hold."),
    )
    also_manager = forms.BooleanField(
        required=False,
        initial=True,
        label=gettext_lazy("I also review answers and approve what is paid"),
        help_text=gettext_lazy(
            "Nobody approves their own proposal, or one of somebody they invited. You need a "
            "second manager who was confirmed, or allow approval by one person in the settings."
        ),
    )

    def __init__(
        self, *args: Any, organisations: Sequence[Organisation] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._organisations = {one.pk: one for one in organisations}
        field = self.fields["organisation"]
        assert isinstance(field, forms.TypedChoiceField)  # noqa: S101
        field.choices = [("", gettext("None"))] + [(one.pk, one.name) for one in organisations]
        if not organisations:
            del self.fields["organisation"]

    def clean_organisation(self) -> Organisation | None:
        return self._organisations.get(self.cleaned_data["organisation"])


class FirstProjectForm(ProjectForm):
    """The first project of a person, which may have the name of the file it begins with."""

    def __init__(self, *args: Any, has_file: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.has_file = has_file
        self.fields["name"].required = not has_file
        self.fields["name"].help_text = gettext("If empty: the name of your file.")


class InvitationForm(forms.Form):
    role = forms.ChoiceField(
        choices=[(r.value, capfirst(r.label)) for r in reversed(Role)], label=gettext_lazy("Role")
    )
    max_uses = forms.IntegerField(
        label=gettext_lazy("For how many people"), initial=20, min_value=1, max_value=10_000
    )
    days = forms.IntegerField(
        label=gettext_lazy("Open for"), initial=14, min_value=1, max_value=365
    )
    note = forms.CharField(
        label=gettext_lazy("Note"),
        required=False,
        max_length=120,
        help_text=gettext_lazy("For yourself: whom or where you send it."),
    )
    emails = forms.CharField(
        required=False,
        label=gettext_lazy("Mail it to"),
        max_length=60_000,
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off"}),
        help_text=gettext_lazy(
            "One address per line, up to 200. Each gets a link for one person. "
            "All roles but workers join with the account that has this address, verified."
        ),
    )


class ProjectSettingsForm(EditForm):
    name = TitleField(max_length=120, label=gettext_lazy("Name"))
    budget = MoneyField(
        label=gettext_lazy("Budget"),
        css="mid num",
        required=False,
        min_value=0,
        max_digits=12,
        decimal_places=2,
        help_text=gettext_lazy("What the project may cost in total. Empty: no budget is set."),
    )
    hourly_floor = MoneyField(
        css="mid num",
        required=False,
        min_value=0,
        max_digits=8,
        decimal_places=2,
        label=gettext_lazy("Hourly floor"),
        help_text=gettext_lazy("Pages warn where a task pays less than this an hour."),
    )
    reply_days = forms.IntegerField(
        min_value=3,
        max_value=365,
        label=gettext_lazy("Appeal within"),
        help_text=gettext_lazy("How long a worker may reply. Dates already given stay."),
    )
    answer_days = forms.IntegerField(
        min_value=1,
        max_value=60,
        label=gettext_lazy("Answer appeals within"),
        help_text=gettext_lazy("After this it is overdue, and managers are told each day."),
    )
    decide_days = forms.IntegerField(
        min_value=1,
        max_value=90,
        label=gettext_lazy("Review within"),
        help_text=gettext_lazy(
            "Work that waits longer is named. Nothing is decided automatically."
        ),
    )
    show_scores = forms.BooleanField(
        required=False,
        label=gettext_lazy("Workers see their own scores"),
        help_text=gettext_lazy(
            "On a page of their own, with intervals and with what these cannot say; never "
            "anybody else’s. Times and payments of their own they see in any case."
        ),
    )
    single_approval = forms.BooleanField(
        required=False,
        label=gettext_lazy("Allow approval by one person"),
        help_text=gettext_lazy(
            "Payouts then need no independent second person. Each such approval is marked."
        ),
    )
    correction_limit = MoneyField(
        css="mid num",
        required=False,
        min_value=0,
        max_digits=8,
        decimal_places=2,
        label=gettext_lazy("Corrections by one manager"),
        help_text=gettext_lazy(
            "What is booked by hand within a day. Above it, a second manager must approve."
        ),
    )


class ConsentForm(EditForm):
    text = forms.CharField(
        label=gettext_lazy("Text"), max_length=20_000, widget=forms.Textarea(attrs={"rows": 18})
    )
    retention_days = forms.IntegerField(
        label=gettext_lazy("Keep the log for"),
        min_value=1,
        max_value=3650,
        help_text=gettext_lazy("After this the interaction log of an assignment may be erased."),
    )
    transcription = forms.BooleanField(
        label=gettext_lazy("Recordings may be transcribed by a model"),
        required=False,
        help_text=gettext_lazy("Workers read this below the text, and agree to both."),
    )
    devices = forms.BooleanField(
        label=gettext_lazy("Devices and networks are compared"),
        required=False,
        help_text=gettext_lazy(
            "As keyed hashes, which show two accounts on one device. Workers read this below the "
            "text."
        ),
    )


class InstitutionForm(forms.Form):
    """What the consent text says of who asks."""

    institution = forms.CharField(label=gettext_lazy("Institution"), max_length=200)
    contact = forms.CharField(
        label=gettext_lazy("Contact"),
        max_length=200,
        help_text=gettext_lazy("An e-mail address or a telephone number for questions."),
    )
    purpose = forms.CharField(
        label=gettext_lazy("Purpose"),
        max_length=600,
        required=False,
        help_text=gettext_lazy("One sentence: what the answers are used for."),
    )


def form_key() -> forms.UUIDField:
    """Create a form's key, so that sending it twice creates one object."""
    return forms.UUIDField(required=False, initial=uuid.uuid4, widget=forms.HiddenInput)


def read_form_key(request: HttpRequest) -> uuid.UUID | None:
    """Return the key of a form without other fields. Raises Invalid."""
    try:
        key: uuid.UUID | None = form_key().clean(request.POST.get("key"))
    except forms.ValidationError as error:
        raise Invalid(
            gettext("The form’s key is missing. Load the page again."),
            fields={"key": gettext("A UUID.")},
        ) from error
    return key


class TaskForm(forms.Form):
    """A new task: title and type, with a sentence on each type."""

    title = TitleField(max_length=160, label=gettext_lazy("Title"))
    key = form_key()
    type = forms.ChoiceField(widget=forms.RadioSelect, label=gettext_lazy("Type"))

    def __init__(self, *args: Any, types: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["type"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101
        field.choices = [
            (slug, format_html("<span>{} <small>{}</small></span>", label, sentence))
            for slug, (label, sentence) in types.items()
        ]
