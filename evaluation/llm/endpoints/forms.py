"""What people say of endpoints and models; the actions decide. A key is never filled in again."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.accounts.projects.forms import TitleField
from crowdqc.money import round_money
from crowdqc.web.edits import EditForm
from crowdqc.web.fields import MoneyField
from evaluation.llm.selectors.models import MINUTE, PRICE_PLACES, minute_price
from evaluation.llm.wording import MILLION
from evaluation.models import Endpoint, LanguageModel

NO_KEY, VARIABLE, SEALED = "none", "variable", "sealed"
KEYS = [
    (SEALED, gettext_lazy("Enter it; it is kept encrypted")),
    (VARIABLE, gettext_lazy("Read it from a variable of the server")),
    (NO_KEY, gettext_lazy("None is needed")),
]


def _short(**more: Any) -> forms.NumberInput:
    return forms.NumberInput(attrs={"class": "short num", **more})


def _integer_field(label: str, help_text: str = "", **more: Any) -> forms.IntegerField:
    return forms.IntegerField(
        label=gettext_lazy(label), help_text=gettext_lazy(help_text), widget=_short(), **more
    )


def _money(label: str, help_text: str) -> MoneyField:
    return MoneyField(
        label=gettext_lazy(label),
        required=False,
        min_value=0,
        decimal_places=2,
        max_digits=12,
        help_text=gettext_lazy(help_text),
        css="mid num",
    )


class EndpointForm(EditForm):
    """An endpoint's address, pace and budgets."""

    name = TitleField(
        max_length=80,
        label=gettext_lazy("Name"),
        help_text=gettext_lazy("For people of this project."),
    )
    base_url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=300,
        help_text=gettext_lazy(
            "The “base URL” of your provider’s documentation, such as https://…/v1. Its interface "
            "must be like OpenAI’s."
        ),
        widget=forms.URLInput(attrs={"class": "code", "inputmode": "url", "autocomplete": "off"}),
    )
    soft_budget = _money(
        gettext_noop("Soft budget"), gettext_noop("A run that may pass it must be agreed to.")
    )
    hard_budget = _money(
        gettext_noop("Hard budget"),
        gettext_noop("Nothing is asked beyond it, by all runs together."),
    )
    requests_per_minute = _integer_field(
        gettext_noop("Requests a minute"), gettext_noop("Empty: no limit."), required=False
    )
    tokens_per_minute = _integer_field(
        gettext_noop("Tokens a minute"), gettext_noop("Empty: no limit."), required=False
    )
    parallel = _integer_field(
        gettext_noop("At the same time"), gettext_noop("Requests of one run."), initial=4
    )
    timeout_seconds = _integer_field(
        gettext_noop("Wait for an answer"), gettext_noop("Then it is tried again."), initial=60
    )

    @classmethod
    def of(cls, endpoint: Endpoint, sent: QueryDict | None = None) -> EndpointForm:
        """The form as the endpoint stands."""
        return cls(sent, initial={name: getattr(endpoint, name) for name in cls.base_fields})


class KeyForm(forms.Form):
    """Where the key is. What is typed goes one way: no page ever shows it."""

    key_kind = forms.ChoiceField(
        label=gettext_lazy("Key"), choices=KEYS, initial=SEALED, widget=forms.RadioSelect
    )
    key = forms.CharField(
        label=gettext_lazy("The key"),
        required=False,
        strip=True,
        help_text=gettext_lazy(
            "Shown nowhere again, also not to you. To change it, enter another one."
        ),
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    key_env = forms.CharField(
        label=gettext_lazy("Name of the variable"),
        required=False,
        max_length=80,
        help_text=gettext_lazy("One that the server allows for keys, such as MY_API_KEY."),
        widget=forms.TextInput(attrs={"class": "code mid", "autocomplete": "off"}),
    )

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        kind = found.get("key_kind")
        if kind == SEALED and not found.get("key"):
            self.add_error("key", _("Enter the key, or say that none is needed."))
        if kind == VARIABLE and not found.get("key_env"):
            self.add_error("key_env", _("Name the variable."))
        return found

    def chosen(self) -> dict[str, str]:
        """Return ``key`` and ``key_env`` of a valid form, as the actions take them."""
        kind = self.cleaned_data["key_kind"]
        return {
            "key": self.cleaned_data["key"] if kind == SEALED else "",
            "key_env": self.cleaned_data["key_env"] if kind == VARIABLE else "",
        }


class PriceForm(EditForm):
    """Prices for a million tokens."""

    price_in = MoneyField(
        label=gettext_lazy("Price of what is sent"),
        required=False,
        min_value=0,
        decimal_places=6,
        max_digits=12,
        help_text=gettext_lazy("As your provider lists it; 0 for a model that costs nothing."),
        css="mid num",
    )
    price_out = MoneyField(
        label=gettext_lazy("Price of what it answers"),
        required=False,
        min_value=0,
        decimal_places=6,
        max_digits=12,
        help_text=gettext_lazy("A token is a piece of a word. Empty: no cost can be told."),
        css="mid num",
    )

    price_minute = MoneyField(
        label=gettext_lazy("Price of a minute of sound"),
        required=False,
        min_value=0,
        decimal_places=6,
        max_digits=8,
        help_text=gettext_lazy("For a model that writes down speech."),
        css="mid num",
    )

    @classmethod
    def of(cls, model: LanguageModel, sent: QueryDict | None = None) -> PriceForm:
        """The form as the model's prices stand: of a minute for speech, else of tokens."""
        speech = model.use == LanguageModel.Use.SPEECH
        initial: dict[str, Any] = {name: getattr(model, name) for name in ("price_in", "price_out")}
        if speech and model.price_in is not None:
            initial["price_minute"] = minute_price(model)
        form = cls(sent, initial=initial)
        for name in ("price_in", "price_out") if speech else ("price_minute",):
            del form.fields[name]
        return form

    def prices(self) -> dict[str, Decimal | None]:
        """Return ``price_in`` and ``price_out`` of a valid form, as the actions take them."""
        said = self.cleaned_data
        if said.get("use") == LanguageModel.Use.SPEECH or "price_in" not in self.fields:
            minute = said["price_minute"]
            price = None if minute is None else round_money(minute * MILLION / MINUTE, PRICE_PLACES)
            return {"price_in": price, "price_out": None}
        return {name: said[name] for name in ("price_in", "price_out")}


class ModelForm(PriceForm):
    """A model of an endpoint."""

    name = TitleField(
        label=gettext_lazy("Name"),
        max_length=160,
        help_text=gettext_lazy("Exactly as the endpoint calls it."),
        widget=forms.TextInput(
            attrs={"class": "code", "list": "model-names", "autocomplete": "off"}
        ),
    )
    use = forms.ChoiceField(
        label=gettext_lazy("Use"),
        choices=[(value, capfirst(label)) for value, label in LanguageModel.Use.choices],
        initial=LanguageModel.Use.CHAT,
        widget=forms.RadioSelect,
    )
    field_order = ["name", "use", "price_in", "price_out", "price_minute"]
