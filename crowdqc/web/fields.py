"""Fields of amounts, in forms and in the API: both read by ``crowdqc.money``."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_noop
from rest_framework import serializers

from crowdqc import money
from crowdqc.numbers import parse_real

# The framework's own words in Spanish are not ours; the catalogue of pages goes before its.
REQUIRED = gettext_noop("This field is required.")
EXPONENT = re.compile(r"[+-]?\d+(?:\.\d+)?[eE][+-]?\d{1,3}")
PLAIN = re.compile(r"-?\d+\.\d{3}")  # which may be read as thousands
MOST_PLACES, THOUSAND = 12, 1000


class MoneyField(forms.DecimalField):
    """An amount as people write it; what has two readings is asked back with both."""

    def __init__(self, *, decimal_places: int = money.CENTS, css: str = "", **options: Any) -> None:
        attrs = {"inputmode": "decimal", "autocomplete": "off", **({"class": css} if css else {})}
        options["widget"] = forms.TextInput(attrs=attrs)
        super().__init__(decimal_places=decimal_places, **options)
        self.places = decimal_places
        self.currency = ""  # of the project, where the form knows it

    def to_python(self, value: Any) -> Any:
        text = value.strip() if isinstance(value, str) else value
        if text in self.empty_values:
            return None
        try:
            return money.parse_amount(text, self.currency, places=self.places, low=-money.MOST)
        except money.NotAnAmount as error:
            raise forms.ValidationError(error.hint, code=error.code) from error

    def prepare_value(self, value: Any) -> Any:
        return money.format_input(value, self.places) if isinstance(value, Decimal | int) else value


class NumberField(forms.FloatField):
    """A number with decimals as people write it: 0,10 is .1 in every browser.

    A browser turns such text in an input of type number into 010. What has two readings is asked
    back, unless no number of ``max_value`` at most has thousands.
    """

    def __init__(self, *, css: str = "short num", **options: Any) -> None:
        attrs = {"inputmode": "decimal", "autocomplete": "off", "class": css}
        options["widget"] = forms.TextInput(attrs=attrs)
        super().__init__(**options)

    def to_python(self, value: Any) -> Any:
        text = value.strip() if isinstance(value, str) else value
        if not isinstance(text, str) or not text or EXPONENT.fullmatch(text):
            return super().to_python(text)
        try:
            plain = f"{money.parse_amount(text, places=MOST_PLACES, low=-money.MOST):f}"
        except money.NotAnAmount as error:
            if not error.readings or self.max_value is None or self.max_value >= THOUSAND:
                raise forms.ValidationError(error.hint, code=error.code) from error
            plain = error.readings[-1]
        return parse_real(plain)

    def prepare_value(self, value: Any) -> Any:
        """Write a number so that ``to_python`` reads the same one."""
        text = str(value)
        if not isinstance(value, float) or not PLAIN.fullmatch(text):
            return value
        return money.format_input(value, max(len(text.partition(".")[2]), money.CENTS + 1))


class PlainMoneyField(serializers.DecimalField):
    """An amount over the API: a JSON number, or text with a point and no grouping."""

    def to_internal_value(self, data: Any) -> Decimal:
        if isinstance(data, str) and not money.is_plain_decimal(data.strip()):
            self.fail("invalid")
        return super().to_internal_value(data)
