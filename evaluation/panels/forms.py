"""The form that removes workers from a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.projects.forms import add_errors
from annotation.models import Membership, Task, User
from annotation.models.tasks import TaskState
from annotation.task_types import get_type
from annotation.work.actions import exclusions
from crowdqc.errors import Invalid
from crowdqc.numbers import listed, plural
from evaluation.runs.planning.price import Answers, price_of

NAMED = 3  # workers; of more, the number is told


class ExclusionForm(forms.Form):
    """Why somebody's answers are left out, and what else follows."""

    collect_again = forms.BooleanField(
        label=gettext_lazy("Collect the answers again"), required=False
    )
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

    def __init__(
        self, *args: Any, task: Task, workers: Sequence[Membership], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.task, self.workers = task, workers
        n = exclusions.answers_to_collect(task, *workers).count()
        version, again = task.current, self.fields["collect_again"]
        self.fields["stop_work"].initial = task.state != TaskState.CLOSED
        if not n or version is None:
            del self.fields["collect_again"]
            return
        again.initial = task.state != TaskState.CLOSED
        noun = get_type(task.type).answer_noun
        again.help_text = _("%(answers)s by other workers, at most %(price)s.") % {
            "answers": plural(n, noun),
            "price": price_of(task, version).terms(Answers(n, n, len(workers))),
        }

    def leave_out(self, request: HttpRequest, *, by: User) -> bool:
        """Exclude the workers if the form is valid; return whether it was done."""
        if not self.is_valid():
            return False
        try:
            exclusions.exclude_all(by=by, task=self.task, workers=self.workers, **self.cleaned_data)
        except Invalid as error:
            add_errors(self, error)
            return False
        names = listed([one.pseudonym for one in self.workers], NAMED)
        messages.success(
            request,
            _("Left out of results from the next run on: %(names)s. Pay is not touched.")
            % {"names": names},
        )
        return True
