"""Two sets of attributes compared blindly by a person, and what came of it. HTTP only."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from annotation.accounts.projects.forms import add_errors
from annotation.models import Task
from crowdqc.errors import DomainError, Missing
from evaluation.checklists.making import comparison as blind
from evaluation.checklists.making import pipeline
from evaluation.checklists.making.runs import dimensions
from evaluation.checklists.selectors import comparison as checklists_comparison
from evaluation.checklists.views.checklists import get_think_aloud_task
from evaluation.models import SetComparison
from evaluation.runs.selectors import lists as runs


class SetsForm(forms.Form):
    """Which two sets of which dimension."""

    item = forms.TypedChoiceField(coerce=int, label=gettext_lazy("Dimension"))
    first = forms.ChoiceField(label=gettext_lazy("One set"))
    second = forms.ChoiceField(label=gettext_lazy("The other set"))

    def __init__(self, *args: Any, sets: Any, items: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["item"].choices = [  # type: ignore[attr-defined]
            (str(one.pk), one.group.title or one.key) for one in items
        ]
        for name in ("first", "second"):
            self.fields[name].choices = sets  # type: ignore[attr-defined]


@login_required
@require_safe
def results(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Every finished comparison with its true names, and the words that several people use."""
    access, task = get_think_aloud_task(request, project_id, task_id)
    page = checklists_comparison.page(task, access.user)
    context = {"task": task, "title": runs.title_of(task), "page": page}
    return render(request, "evaluation/checklists/comparisons.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Choose two sets; which is A and which is B is drawn."""
    access, task = get_think_aloud_task(request, project_id, task_id)
    context: dict[str, Any] = {"task": task, "title": runs.title_of(task)}
    try:
        items = dimensions(task)
    except DomainError as error:
        context["problem"] = error.message
        return render(request, "evaluation/checklists/compare_new.html", context)
    sets = blind.choices(task, items)
    initial = {"second": sets[1][0]} if len(sets) > 1 else {}
    form = SetsForm(request.POST or None, sets=sets, items=items, initial=initial)
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            chosen = next(one for one in items if one.pk == form.cleaned_data["item"])
            try:
                made = blind.begin(
                    by=access.user,
                    task=task,
                    item=chosen,
                    first=form.cleaned_data["first"],
                    second=form.cleaned_data["second"],
                )
            except DomainError as error:
                add_errors(form, error)
                status = error.status
            else:
                return redirect("set_comparison", project_id, task_id, made.pk)
    context.update(form=form, enough=len(sets) > 1)
    return render(request, "evaluation/checklists/compare_new.html", context, status=status)


def _own(task: Task, pk: int, user: Any) -> SetComparison:
    found = (
        SetComparison.objects.filter(pk=pk, item__task=task, by=user)
        .select_related("item__group", "item__task__project")
        .first()
    )
    if found is None:
        raise Missing(_("There is no such comparison of yours."))
    return found


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def compare(request: HttpRequest, project_id: int, task_id: int, pk: int) -> HttpResponse:
    """Page on which a person compares sets A and B; drafts are saved."""
    access, task = get_think_aloud_task(request, project_id, task_id)
    found = _own(task, pk, access.user)
    answers, problem, errors, status = found.answers, "", {}, 200
    if request.method == "POST":
        # htmx sends the button that has the focus along: keeping a draft ends nothing.
        finish = request.POST.get("do") == "finish" and not request.htmx  # type: ignore[attr-defined]
        try:
            blind.answer(by=access.user, comparison=found, given=request.POST, finish=finish)
        except DomainError as error:
            answers = request.POST.dict()
            problem, errors, status = error.message, error.fields, error.status
        else:
            if request.htmx:  # type: ignore[attr-defined]
                return render(request, "evaluation/checklists/_kept.html")
            if finish:
                messages.success(request, _("Finished. Whose A and B were stands below."))
                return redirect("set_comparisons", project_id, task_id)
            messages.success(request, _("Kept as a draft."))
            return redirect("set_comparison", project_id, task_id, pk)
    if found.finished_at is not None and not problem:
        return redirect("set_comparisons", project_id, task_id)
    dimension = pipeline.subject_of(found.item)
    context = {
        "task": task,
        "title": runs.title_of(task),
        "comparison": found,
        "about": dimension,
        "shown": blind.attribute_sets(found),
        "problem": problem,
        "prefers": answers.get("prefers", ""),
        "questions": [
            (
                name,
                _(label).format(dimension=dimension.dimension),
                answers.get(name, ""),
                errors.get(name, ""),
            )
            for name, label in blind.QUESTIONS.items()
        ],
    }
    return render(request, "evaluation/checklists/compare.html", context, status=status)
