"""Forms of a pairwise study's pages: an expert panel, and the reason of an exclusion."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.projects.forms import TitleField, add_errors, form_key
from annotation.models import Membership, Role, Task, User
from annotation.models.tasks import TaskState
from annotation.task_types import get_type
from annotation.work.actions import exclusions
from crowdqc.errors import Invalid
from crowdqc.numbers import plural
from evaluation.runs.planning.price import price_of

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


class ExclusionForm(forms.Form):
    """Why somebody's answers are left out, and what else follows."""

    collect_again = forms.BooleanField(label=gettext_lazy("Collect again"), required=False)
    stop_work = forms.BooleanField(
        label=gettext_lazy("Give no more work"),
        required=False,
        help_text=gettext_lazy("In this task; other tasks of the project are not affected."),
    )
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=300,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=gettext_lazy("The worker may ask for it; it stands in the audit log."),
        error_messages={"required": gettext_lazy("Write a reason; the worker may ask for it.")},
    )

    def __init__(self, *args: Any, task: Task, worker: Membership, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        n = exclusions.answers_to_collect(task, worker).count()
        version, again = task.current, self.fields["collect_again"]
        self.fields["stop_work"].initial = task.state != TaskState.CLOSED
        if not n or version is None:
            del self.fields["collect_again"]
            return
        again.initial = task.state != TaskState.CLOSED
        noun = get_type(task.type).answer_noun
        again.help_text = _("%(answers)s by other workers, at most %(price)s.") % {
            "answers": plural(n, noun),
            "price": price_of(task, version).terms(n, noun),
        }

    def leave_out(self, request: HttpRequest, *, by: User, task: Task, worker: Membership) -> bool:
        """Exclude the worker if the form is valid; return whether it was done."""
        if not self.is_valid():
            return False
        try:
            exclusions.exclude(by=by, task=task, worker=worker, **self.cleaned_data)
        except Invalid as error:
            add_errors(self, error)
            return False
        messages.success(
            request,
            _("%(pseudonym)s is left out from the next run on. Pay is not touched.")
            % {"pseudonym": worker.pseudonym},
        )
        return True
