"""What people fill in about organisations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy

from annotation.accounts.organisations.actions import MAX_NAME
from annotation.accounts.projects.forms import CURRENCIES, TitleField
from annotation.models import Organisation, OrganisationRole, Project
from crowdqc.web.fields import MoneyField

ROLES = [(role.value, capfirst(role.label)) for role in reversed(OrganisationRole)]
WHO = gettext_lazy("User name or e-mail address")


class FoundForm(forms.Form):
    """A new organisation."""

    name = TitleField(max_length=MAX_NAME, label=gettext_lazy("Name"))
    currency = forms.ChoiceField(
        choices=CURRENCIES,
        label=gettext_lazy("Currency"),
        help_text=gettext_lazy("Of all its projects. It cannot be changed later."),
    )
    person = forms.CharField(label=gettext_lazy("First owner"), max_length=254)
    person.widget.attrs["placeholder"] = WHO


class NameForm(forms.Form):
    """Another name."""

    name = TitleField(max_length=MAX_NAME, label=gettext_lazy("Name"))


class MemberForm(forms.Form):
    """Somebody with a role."""

    person = forms.CharField(label=gettext_lazy("Person"), max_length=254)
    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=ROLES)
    person.widget.attrs["placeholder"] = WHO


class JoinForm(forms.Form):
    """A project that joins."""

    project = forms.TypedChoiceField(label=gettext_lazy("Project of yours"), coerce=int)

    def __init__(self, *args: Any, projects: Iterable[Project], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["project"]
        assert isinstance(field, forms.TypedChoiceField)  # noqa: S101
        field.choices = [(one.pk, one.name) for one in projects]


class SettingsForm(forms.Form):
    """The budget of models, and what new projects begin with."""

    model_budget = MoneyField(
        label=gettext_lazy("Budget of language models"),
        required=False,
        min_value=0,
        decimal_places=2,
        max_digits=12,
        help_text=gettext_lazy("Of all projects together. Empty: no limit."),
        css="mid num",
    )
    hourly_floor = MoneyField(
        label=gettext_lazy("Minimum hourly pay"),
        required=False,
        min_value=0,
        decimal_places=2,
        max_digits=8,
        help_text=gettext_lazy("New projects begin with it."),
        css="mid num",
    )
    decide_days = forms.IntegerField(
        label=gettext_lazy("Review within"),
        min_value=1,
        max_value=90,
        help_text=gettext_lazy("Days, in new projects."),
    )
    answer_days_kept = forms.IntegerField(
        label=gettext_lazy("Keep answers for"),
        required=False,
        min_value=1,
        max_value=3650,
        help_text=gettext_lazy("Days, in new projects. Empty: until deleted."),
    )

    @classmethod
    def of(cls, organisation: Organisation, sent: Any = None) -> SettingsForm:
        """The form as the organisation stands."""
        initial = {name: getattr(organisation, name) for name in cls.base_fields}
        return cls(sent, initial=initial)
