"""Adaptive collection: settings, simulation, on and off. HTTP only."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods

from annotation.access import Access
from annotation.accounts.projects.forms import add_errors
from annotation.models import Role, Task
from crowdqc.errors import Conflict, Invalid
from crowdqc.web.edits import EditForm
from crowdqc.web.fields import NumberField
from evaluation.models import AdaptivePlan
from evaluation.pairwise import adaptive as collection
from evaluation.pairwise.selectors import adaptive as pair_adaptive
from evaluation.pairwise.views.frame import frame, study

SHORT = {"attrs": {"class": "short num"}}


class PlanForm(EditForm):
    """What a requester chooses; the actions decide."""

    dimension = forms.ChoiceField(
        label=gettext_lazy("Dimension"),
        help_text=gettext_lazy("On whose votes a pair is judged to be certain."),
    )
    target = forms.ChoiceField(
        label=gettext_lazy("What is to become certain"),
        choices=[
            ("ranking", gettext_lazy("The order of the systems")),
            ("label", gettext_lazy("Each pair’s label")),
        ],
        help_text=gettext_lazy(
            "Order: votes go to pairs that tell most about it. Labels: to pairs in doubt; "
            "intervals of the systems then hold less often than they say."
        ),
    )
    certainty = NumberField(
        label=gettext_lazy("Certainty"),
        min_value=0.51,
        max_value=0.999,
        help_text=gettext_lazy("From this chance on a pair gets no more votes."),
    )
    floor = forms.IntegerField(
        label=gettext_lazy("Least votes a pair"),
        min_value=1,
        max_value=500,
        help_text=gettext_lazy("Every pair gets these, so that workers and pairs stay connected."),
        widget=forms.NumberInput(**SHORT),
    )
    ceiling = forms.IntegerField(
        label=gettext_lazy("Most votes a pair"),
        min_value=1,
        max_value=500,
        widget=forms.NumberInput(**SHORT),
    )
    budget = forms.IntegerField(
        label=gettext_lazy("All votes together"),
        required=False,
        min_value=1,
        help_text=gettext_lazy("Empty: as many as the task asks for without this."),
        widget=forms.NumberInput(attrs={"class": "mid num"}),
    )


def _form(task: Task, plan: AdaptivePlan, asked: list[Any], data: Any = None) -> PlanForm:
    form = PlanForm(data, initial={name: getattr(plan, name) for name in collection.SETTINGS})
    field = form.fields["dimension"]
    assert isinstance(field, forms.ChoiceField)  # noqa: S101
    field.choices = [(one.name, one.label) for one in asked]
    return form


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def adaptive(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """The plan; POST saves the settings, simulates them, or switches it on or off."""
    roles = (Role.REQUESTER,) if request.method == "POST" else ()
    access, task = study(request, project_id, task_id, *roles)
    _, context = frame(request, task, "adaptive")
    plan = collection.plan_of(task)
    if task.current is None:
        return render(
            request, "evaluation/pairwise/adaptive.html", {**context, "unpublished": True}
        )
    form = _form(task, plan, context["asked"])
    status = 200
    if request.method == "POST":
        form = _form(task, plan, context["asked"], _values(request, plan))
        status = _posted(request, access, task, form)
        if status == 302:
            return redirect("pair_adaptive", project_id, task_id)
        plan = collection.plan_of(task)
    context.update(form=form, **pair_adaptive.page(task, plan))
    return render(request, "evaluation/pairwise/adaptive.html", context, status=status)


def _values(request: HttpRequest, plan: AdaptivePlan) -> Any:
    """The form's fields; a button outside the form acts on the settings as they are saved."""
    if "floor" in request.POST:
        return request.POST
    found = {name: getattr(plan, name) for name in collection.SETTINGS}
    return {name: "" if value is None else value for name, value in found.items()}


def _posted(request: HttpRequest, access: Access, task: Task, form: PlanForm) -> int:
    """Do what the button says; 302 when it is done, else the status of the refusal."""
    if not form.is_valid():
        return 422
    try:
        do = request.POST.get("do", "save")
        if do in ("on", "off"):
            collection.switch_plan(by=access.user, task=task, on=do == "on")
            done = gettext("Adaptive collection is off.")
            if do == "on":
                done = gettext("Adaptive collection is on: votes go where they tell most.")
            messages.success(request, done)
            return 302
        plan = collection.change(by=access.user, task=task, raw=form.cleaned_data)
        if do == "simulate":
            collection.keep_simulation(by=access.user, plan=plan, said=pair_adaptive.run(plan))
            messages.success(
                request, gettext("Simulated. Read what it would save, and what it costs.")
            )
        else:
            messages.success(request, gettext("The settings are saved."))
    except (Invalid, Conflict) as error:
        add_errors(form, error)
        return error.status
    return 302
