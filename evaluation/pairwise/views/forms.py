"""The form of an expert panel that judges pairs of a study again."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.projects.forms import TitleField, form_key
from annotation.models import Membership, Role, Task

MOST_MEMBERS = 50


class PanelForm(forms.Form):
    """Who judges the hard pairs again."""

    pairs = forms.IntegerField(
        label=gettext_lazy("Pairs"),
        min_value=1,
        max_value=400,
        help_text=gettext_lazy(
            "The hardest ones, those on which the fewest dimensions agree, come first."
        ),
    )
    key = form_key()
    title = TitleField(label=gettext_lazy("Title of the new task"), max_length=160)
    panel_name = TitleField(label=gettext_lazy("Name of the panel"), max_length=80)
    workers = forms.CharField(
        label=gettext_lazy("Experts"),
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy(
            "Pseudonyms of people who work in this project, one a line. Each judges every "
            "pair once."
        ),
    )

    def __init__(self, *args: Any, task: Task, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.task = task

    def clean_workers(self) -> list[Membership]:
        """The memberships behind the pseudonyms; the first unknown one is named."""
        names = list(dict.fromkeys(re.split(r"[\s,;]+", self.cleaned_data["workers"].strip())))
        if len(names) > MOST_MEMBERS:
            raise forms.ValidationError(
                _("%(n)s people; %(most)s at most.") % {"n": len(names), "most": MOST_MEMBERS}
            )
        found = {
            one.pseudonym: one
            for one in Membership.objects.filter(
                project=self.task.project_id,
                role=Role.WORKER,
                pseudonym__in=names,
                removed_at__isnull=True,
            )
        }
        unknown = [name for name in names if name not in found]
        if unknown:
            raise forms.ValidationError(_("Nobody here is called %(name)s.") % {"name": unknown[0]})
        return [found[name] for name in names]
