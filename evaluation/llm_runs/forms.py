"""Options of a run that asks a model, from what the way of asking declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from annotation.models import Task
from crowdqc.errors import Missing
from evaluation.models import LanguageModel
from evaluation.runs.asking import LLMRunSpec
from evaluation.runs.forms import field_of
from evaluation.runs.run_types import asking_of


def _named(model: LanguageModel) -> str:
    if model.can:
        return _("%(model)s at %(endpoint)s") % {
            "model": model.name,
            "endpoint": model.endpoint.name,
        }
    probed = _("could not be probed") if model.probe_note else _("not probed")
    return _("%(model)s at %(endpoint)s, %(probed)s") % {
        "model": model.name,
        "endpoint": model.endpoint.name,
        "probed": probed,
    }


def _models(task: Task, use: str) -> list[LanguageModel]:
    """The project's models; those that can be asked now stand first."""
    found = LanguageModel.objects.usable(task.project_id, use)
    return sorted(found, key=lambda one: not one.can)


class AskForm(forms.Form):
    """Which model is asked, and what else a way of asking leaves to choose on a task."""

    def __init__(self, *args: Any, asking: LLMRunSpec, task: Task, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.task, self.asking, self.models = task, asking, _models(task, asking.use)
        models = [(one.pk, _named(one)) for one in self.models]
        here = {"model": {"choices": models}, **asking.on_task(task)}
        for param in asking.options.options:
            said = here.get(param.name, {})
            if param.label and said is not None:
                others: dict[str, Any] = {**said}
                choices = others.pop("choices", None)
                self.fields[param.name] = field_of(replace(param, **others), choices)

    def lacks(self) -> dict[str, str]:
        """Return what must exist before the form can be used: sentence, why, url, label; or {}."""
        return dict(self.asking.lacking(self.task))

    def params(self) -> dict[str, Any]:
        """Return the options of a valid form, as a run takes them."""
        return dict(self.cleaned_data)


def form_of(method: str) -> Callable[..., AskForm]:
    """Return the form of a method; Missing if the method asks no model."""
    asking = asking_of(method)
    if asking is None:
        raise Missing(_("Models cannot be asked for this."))
    return partial(AskForm, asking=asking)
