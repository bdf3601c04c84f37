"""The form of a message."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.projects.forms import add_errors
from annotation.conversations.actions import MOST
from crowdqc.errors import DomainError, Invalid
from crowdqc.numbers import parse_whole


class MessageForm(forms.Form):
    """A text, and a key by which the same message sent twice is known."""

    text = forms.CharField(
        label=gettext_lazy("Message"),
        strip=True,
        max_length=MOST,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        error_messages={"required": gettext_lazy("Write your message.")},
    )
    key = forms.UUIDField(
        widget=forms.HiddenInput, error_messages={"required": gettext_lazy("Send it again.")}
    )

    def __init__(self, *args: Any, help_text: str = "", label: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["text"].help_text = help_text
        self.fields["text"].widget.attrs.pop("maxlength", None)  # a browser cuts at it silently
        if label:
            self.fields["text"].label = label
        self.initial.setdefault("key", uuid.uuid4())


def message_number(request: HttpRequest) -> int:
    """Return the number of the message that a form is about. Raises Invalid."""
    number = parse_whole(request.POST.get("message", ""))
    if number is None:
        raise Invalid(_("Say which message."), fields={"message": _("A number.")})
    return number


def send_form(
    request: HttpRequest, form: MessageForm, write: Callable[[dict[str, Any]], object], told: str
) -> int:
    """Send the form's message and return the status; errors keep the text."""
    if not form.is_valid():
        return 422
    try:
        write(form.cleaned_data)
    except DomainError as error:
        add_errors(form, error)
        return error.status
    messages.success(request, told)
    return 201
