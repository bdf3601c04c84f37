"""Options of runs that ask a model; each kind of asking adds its own form."""

from __future__ import annotations

from typing import Any

from django import forms

from annotation.models import Task
from evaluation.models import LanguageModel


class AskForm(forms.Form):
    """What every kind asks for: which model. ``cleaned_data["model"]`` is its id."""

    model = forms.TypedChoiceField(coerce=int, label="Model")

    def __init__(self, *args: Any, task: Task, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.task = task
        self.models = list(
            LanguageModel.objects.filter(
                endpoint__project=task.project_id, endpoint__archived_at__isnull=True,
                archived_at__isnull=True, use=LanguageModel.Use.CHAT,
            ).select_related("endpoint")
        )  # fmt: skip
        choices = [(str(one.pk), f"{one.name} at {one.endpoint.name}") for one in self.models]
        self.fields["model"].choices = choices  # type: ignore[attr-defined]

    def params(self) -> dict[str, Any]:
        """The options as a run takes them; to be asked of a valid form."""
        return dict(self.cleaned_data)


# Kind of asking -> its form.
ASK_FORMS: dict[str, type[AskForm]] = {}
