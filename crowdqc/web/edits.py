"""Forms of stored settings: what was changed meanwhile is neither overwritten nor lost."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _

LONGEST = 200  # characters of a value in an error


class EditForm(forms.Form):
    """A form over stored values, of which ``initial`` are those that are stored now.

    Each field carries the value that it was opened with, where the page shows it. A field that its
    person left alone keeps what is stored, whoever changed it since. One that both changed is an
    error with both values; sent again, it replaces the stored one. Read ``initial`` under a lock
    of the row (``lock_row``) where it is written after this.
    """

    def __getitem__(self, name: str) -> forms.BoundField:
        bound = super().__getitem__(name)
        secret = isinstance(bound.field.widget, forms.PasswordInput)
        bound.field.show_hidden_initial = not secret and not bound.field.disabled
        return bound

    def clean(self) -> dict[str, Any]:
        """Merge what was sent with what was changed meanwhile, field by field."""
        super().clean()
        for name in list(self.cleaned_data):
            self._merge(name)
        return self.cleaned_data

    def changes(self) -> list[str]:
        """The fields whose values are other than those stored."""
        return [
            name
            for name, field in self.fields.items()
            if _comparable(field, self.cleaned_data.get(name)) != self._stored(name)
        ]

    def _stored(self, name: str) -> Any:
        field = self.fields[name]
        return _comparable(field, self.get_initial_for_field(field, name))

    def _merge(self, name: str) -> None:
        bound = self[name]
        field, opened_as = bound.field, bound.html_initial_name
        if not field.show_hidden_initial or opened_as not in self.data:
            return
        opened_raw = field.hidden_widget().value_from_datadict(self.data, self.files, opened_as)
        try:
            opened = _comparable(field, field.to_python(opened_raw))
        except forms.ValidationError:  # nothing that this form was opened with
            opened = None
        stored = self._stored(name)
        if opened == stored:
            return
        sent, now = field.to_python(bound.data), self.get_initial_for_field(field, name)
        self._reopen(opened_as, field, now)
        if _comparable(field, sent) == opened:
            self.cleaned_data[name] = now
            self._reopen(bound.html_name, field, now)
        elif _comparable(field, sent) != stored:
            values = {"now": _in_words(field, now), "sent": _in_words(field, sent)}
            text = _(
                "Changed meanwhile to “%(now)s”; you entered “%(sent)s”. Save again to use yours."
            )
            self.add_error(name, forms.ValidationError(text, code="changed", params=values))

    def _reopen(self, key: str, field: forms.Field, value: Any) -> None:
        """Let the form that is shown again carry the stored value."""
        data = cast(QueryDict, self.data).copy()
        values = value if isinstance(value, list | tuple) else [value]
        raw = ["" if one is None else str(field.prepare_value(one)) for one in values]
        data.setlist(key, raw)
        self.data = data


def _comparable(field: forms.Field, value: Any) -> Any:
    """A value in which two that mean the same are equal."""
    if value in field.empty_values:
        return None
    if isinstance(value, list | tuple):
        return sorted(map(str, value))
    if isinstance(value, str):
        return value.replace("\r\n", "\n").strip()
    return value


def _in_words(field: forms.Field, value: Any) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if value in field.empty_values:
        return _("empty")
    labels = {str(key): label for key, label in getattr(field, "choices", ())}
    values = value if isinstance(value, list | tuple) else [value]
    words = [str(labels.get(str(one), field.prepare_value(one))) for one in values]
    return ", ".join(words)[:LONGEST]
