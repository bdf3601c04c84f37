"""What a person writes of a prompt; the actions decide."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.projects.forms import TitleField
from evaluation.llm.own.purposes import Purpose
from evaluation.llm.own.text import LONGEST


class PromptForm(forms.Form):
    """Name and texts of a prompt; ``purpose`` and, of a version, ``name`` are fixed."""

    title = TitleField(
        max_length=80,
        label=gettext_lazy("Title"),
        help_text=gettext_lazy("Shown wherever a prompt is chosen."),
    )
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=40,
        help_text=gettext_lazy(
            "Small letters, digits and _, such as short_answer. Runs and exports name it."
        ),
        widget=forms.TextInput(attrs={"class": "code mid", "autocomplete": "off"}),
    )
    system = forms.CharField(
        label=gettext_lazy("System message"),
        required=False,
        max_length=LONGEST,
        strip=False,
        help_text=gettext_lazy("Sent before the question. Leave it empty to send none."),
        widget=forms.Textarea(attrs={"rows": 4, "class": "code"}),
    )
    user = forms.CharField(
        label=gettext_lazy("Prompt"),
        max_length=LONGEST,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 18, "class": "code"}),
    )

    def __init__(self, *args: object, purpose: Purpose, name: str = "", **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        needed = ", ".join(f"{{{{{one}}}}}" for one in purpose.required)
        self.fields["user"].help_text = _("It must hold %(needed)s.") % {"needed": needed}
        if name:
            del self.fields["name"]
