"""Fields of amounts, in forms and in the API: both read by ``crowdqc.money``."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from rest_framework import serializers

from crowdqc import money


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


class PlainMoneyField(serializers.DecimalField):
    """An amount over the API: a JSON number, or text with a point and no grouping."""

    def to_internal_value(self, data: Any) -> Decimal:
        if isinstance(data, str) and not money.is_plain_decimal(data.strip()):
            self.fail("invalid")
        return super().to_internal_value(data)
