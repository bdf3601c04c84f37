"""The page of a live evaluation: state, board, how it is opened and ended. HTTP only."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from annotation.access import Access, get_task
from annotation.accounts.projects.forms import add_errors
from annotation.formats.actions.export_files import request_export
from annotation.models import Role, Task
from annotation.task_types import get_type
from crowdqc.errors import Conflict, Invalid, Missing
from crowdqc.web.fields import MoneyField, NumberField
from evaluation.live import actions as live
from evaluation.live import selectors
from evaluation.live.judging import selectors as judging
from evaluation.models import LiveEvaluation
from evaluation.runs.selectors import lists as reads

MID = {"class": "mid num"}
FILES = {"bundle": ("live-bundle", "zip"), "report": ("live-report", "html")}


class OpenForm(forms.Form):
    """What a requester chooses; the actions decide."""

    def __init__(self, *args: Any, task: Task, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        models = judging.models_of(task)
        self.fields["judges"].choices = models  # type: ignore[attr-defined]
        if not models:
            del self.fields["judges"], self.fields["decided_by"]

    systems = forms.CharField(
        label=gettext_lazy("Systems"),
        widget=forms.Textarea(attrs={"rows": 3}),
        max_length=2_000,
        help_text=gettext_lazy("One name per line. Use the same names when you send outputs."),
    )
    half_width = NumberField(
        label=gettext_lazy("Target precision (±)"),
        initial=live.DEFAULT_HALF_WIDTH,
        min_value=live.LEAST_HALF_WIDTH,
        max_value=live.MOST_HALF_WIDTH,
        help_text=gettext_lazy("Stops when each win rate is known this precisely."),
        css="mid num",
    )
    max_judgments = forms.IntegerField(
        label=gettext_lazy("Maximum judgments"),
        initial=live.DEFAULT_JUDGMENTS,
        min_value=1,
        max_value=live.MOST_JUDGMENTS,
        help_text=gettext_lazy(
            "Workers are never given more than this. ± .05 often needs 1,000 to 3,000."
        ),
        widget=forms.NumberInput(attrs=MID),
    )
    budget = MoneyField(
        label=gettext_lazy("Budget"),
        required=False,
        min_value=0,
        max_digits=12,
        decimal_places=2,
        help_text=gettext_lazy(
            "Pay for all assignments and calls to models together. Empty: no limit."
        ),
        css="mid num",
    )
    judges = forms.TypedMultipleChoiceField(
        label=gettext_lazy("Models as judges"),
        required=False,
        coerce=int,
        help_text=gettext_lazy(
            "Each judges every pair in both orders. Its votes are shown beside people’s."
        ),
        widget=forms.CheckboxSelectMultiple,
    )
    decided_by = forms.ChoiceField(
        label=gettext_lazy("Result decided by"),
        required=False,
        initial=LiveEvaluation.DecidedBy.PEOPLE,
        choices=LiveEvaluation.DecidedBy.choices,
        help_text=gettext_lazy("Models alone: no person is asked, and the result says so."),
        widget=forms.RadioSelect,
    )

    def clean_decided_by(self) -> str:
        """Return who decides; people by default."""
        return self.cleaned_data["decided_by"] or LiveEvaluation.DecidedBy.PEOPLE


class LimitsForm(forms.Form):
    """More judgments or money for an open evaluation; an empty field stays as it is."""

    max_judgments = forms.IntegerField(
        label=gettext_lazy("Maximum judgments"), required=False, widget=forms.NumberInput(attrs=MID)
    )
    budget = MoneyField(
        label=gettext_lazy("Budget"),
        required=False,
        max_digits=12,
        decimal_places=2,
        css="mid num",
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def live_evaluation(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """State and board; POST opens it, raises its limits (``do=raise``), ends it (``do=end``), or
    asks for a file of its result (``do=bundle``, ``do=report``)."""
    roles = (Role.REQUESTER,) if request.method == "POST" else ()
    access, task = get_task(request, project_id, task_id, *roles)
    if not get_type(task.type).pairs_texts:
        raise Missing(_("Only pairwise tasks have live evaluations."))
    form: forms.Form = OpenForm(task=task)
    limits, status = LimitsForm(auto_id="limits_%s"), 200
    if request.method == "POST" and request.POST.get("do") in FILES:
        what, form_of = FILES[request.POST["do"]]
        request_export(by=access.user, project=access.project, task=task, what=what, form=form_of)
        return redirect("files_list", project_id)
    if request.method == "POST" and request.POST.get("do") == "raise":
        limits = LimitsForm(request.POST, auto_id="limits_%s")
        status = _raised(request, access, task, limits)
        if status == 302:
            return redirect("live_evaluation", project_id, task_id)
    elif request.method == "POST":
        form, status = _posted(request, access, task)
        if status == 302:
            return redirect("live_evaluation", project_id, task_id)
    context: dict[str, Any] = {"task": task, "title": reads.title_of(task), "form": form}
    context["limits"] = limits
    found = selectors.evaluation_of(task)
    if found is not None:
        context.update(selectors.page(found, task))
    response = render(request, "evaluation/live/page.html", context, status=status)
    began = "first" in request.GET and not context.get("waits_for_outputs")
    if "HX-Request" in request.headers and (began or not context.get("going")):
        response["HX-Refresh"] = "true"  # what stands around the board is no longer true
    return response


def _raised(request: HttpRequest, access: Access, task: Task, form: LimitsForm) -> int:
    """302 when the limits are raised, else the status of the refusal."""
    if not form.is_valid():
        return 422
    try:
        live.raise_limits(by=access.user, task=task, **form.cleaned_data)
    except (Invalid, Conflict) as error:
        add_errors(form, error)
        return error.status
    messages.success(request, _("The limits are raised."))
    return 302


def _posted(request: HttpRequest, access: Access, task: Task) -> tuple[OpenForm, int]:
    """Do what the button says; 302 when it is done, else the status of the refusal."""
    ending = request.POST.get("do") == "end"
    form = OpenForm(None if ending else request.POST, task=task)
    if ending:
        live.end(by=access.user, task=task)
        messages.success(request, _("The live evaluation has ended."))
        return form, 302
    if not form.is_valid():
        return form, 422
    chosen = dict(form.cleaned_data)
    names = [line.strip() for line in chosen.pop("systems").splitlines() if line.strip()]
    try:
        live.open_evaluation(by=access.user, task=task, systems=names, **chosen)
    except (Invalid, Conflict) as error:
        add_errors(form, error)
        return form, error.status
    messages.success(request, _("The live evaluation is open. Send outputs next."))
    return form, 302
