"""What a person writes of a prompt; the actions decide."""

from __future__ import annotations

from django import forms

from annotation.accounts.projects.forms import TitleField
from evaluation.llm.own.purposes import Purpose
from evaluation.llm.own.text import LONGEST


class PromptForm(forms.Form):
    """Name and texts of a prompt; ``purpose`` and, of a version, ``name`` are fixed."""

    title = TitleField(max_length=80, help_text="Shown wherever a prompt is chosen.")
    name = forms.CharField(
        max_length=40,
        help_text="Small letters, digits and _, such as short_answer. Runs and exports name it.",
        widget=forms.TextInput(attrs={"class": "code mid", "autocomplete": "off"}),
    )
    system = forms.CharField(
        label="System message",
        required=False,
        max_length=LONGEST,
        strip=False,
        help_text="Sent before the question. Leave it empty to send none.",
        widget=forms.Textarea(attrs={"rows": 4, "class": "code"}),
    )
    user = forms.CharField(
        label="Prompt",
        max_length=LONGEST,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 18, "class": "code"}),
    )

    def __init__(self, *args: object, purpose: Purpose, name: str = "", **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        needed = ", ".join(f"{{{{{one}}}}}" for one in purpose.required)
        self.fields["user"].help_text = f"It must hold {needed}."
        if name:
            del self.fields["name"]
