"""Forms of a pairwise study's pages: an expert panel, and the reason of an exclusion."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest

from annotation.accounts.projects.forms import TitleField, add_errors, form_key
from annotation.models import Membership, Role, Task, User
from annotation.panels.actions import exclusions
from crowdqc.errors import Invalid

MOST_MEMBERS = 50


class PanelForm(forms.Form):
    """Who judges the hard pairs again."""

    pairs = forms.IntegerField(
        label="Pairs",
        min_value=1,
        max_value=400,
        help_text="The hardest ones, those on which the fewest dimensions agree, come first.",
    )
    key = form_key()
    title = TitleField(label="Title of the new task", max_length=160)
    panel_name = TitleField(label="Name of the panel", max_length=80)
    workers = forms.CharField(
        label="Experts",
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Pseudonyms of people who work in this project, one a line. Each judges every "
        "pair once.",
    )

    def __init__(self, *args: Any, task: Task, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.task = task

    def clean_workers(self) -> list[Membership]:
        """The memberships behind the pseudonyms; the first unknown one is named."""
        names = list(dict.fromkeys(re.split(r"[\s,;]+", self.cleaned_data["workers"].strip())))
        if len(names) > MOST_MEMBERS:
            raise forms.ValidationError(f"{len(names)} people; {MOST_MEMBERS} at most.")
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
            raise forms.ValidationError(f"Nobody here is called {unknown[0]}.")
        return [found[name] for name in names]


class ExclusionForm(forms.Form):
    """Why somebody's answers are left out."""

    reason = forms.CharField(
        label="Reason",
        max_length=300,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="The worker may ask for it; it stands in the audit log.",
        error_messages={"required": "Write a reason; the worker may ask for it."},
    )

    def leave_out(self, request: HttpRequest, *, by: User, task: Task, worker: Membership) -> bool:
        """Do it where the reason will do, and say so; else the faults stand in the form."""
        if not self.is_valid():
            return False
        try:
            exclusions.exclude(by=by, task=task, worker=worker, **self.cleaned_data)
        except Invalid as error:
            add_errors(self, error)
            return False
        messages.success(
            request, f"{worker.pseudonym} is left out from the next run on. Pay is not touched."
        )
        return True
