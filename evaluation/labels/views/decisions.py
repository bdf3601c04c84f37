"""Labels decided by hand: in place, on the page of an item and in the list. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation.access import get_item
from annotation.models import Item, Task
from crowdqc.errors import Invalid, Missing
from crowdqc.web.back import redirect_back
from evaluation.labels import actions
from evaluation.labels.run import LABELS
from evaluation.labels.selectors import decisions
from evaluation.runs.run_types import require_fit


def _get_item(
    request: HttpRequest, project_id: int, task_id: int, item_id: int
) -> tuple[Task, Item]:
    """An item of a labels task under the rules of its project."""
    _access, task, item = get_item(request, project_id, task_id, item_id)
    require_fit(task, LABELS, Missing(_("This task does not ask for labels.")))
    return task, item


@login_required
@require_POST
def decide(request: HttpRequest, project_id: int, task_id: int, item_id: int) -> HttpResponse:
    """Choose the label of an item."""
    task, item = _get_item(request, project_id, task_id, item_id)
    sent = {name: request.POST.get(name, "") for name in ("field", "label", "reason")}
    try:
        actions.decide_label(by=request.user, task=task, item=item, **sent)  # type: ignore[arg-type]
    except Invalid as refused:
        field = decisions.field_named(task, sent["field"])
        if field is None or not request.htmx:  # type: ignore[attr-defined]
            raise
        error = next(iter(refused.fields.values()), refused.message)
        again = {"label": sent["label"], "reason": sent["reason"], "error": error}
        context = {"task": task, "one": decisions.deciding(item, field, **again)}
        return render(request, "evaluation/labels/items/_decision.html", context, status=422)
    return _redirect_after(request, task, item, sent["field"])


@login_required
@require_POST
def revoke(request: HttpRequest, project_id: int, task_id: int, item_id: int) -> HttpResponse:
    """Revoke the decision on an item's label."""
    task, item = _get_item(request, project_id, task_id, item_id)
    field = request.POST.get("field", "")
    actions.revoke_decision(by=request.user, task=task, item=item, field=field)  # type: ignore[arg-type]
    return _redirect_after(request, task, item, field)


def _redirect_after(request: HttpRequest, task: Task, item: Item, name: str) -> HttpResponse:
    """The place in which it stands, or the page from where it was sent."""
    field = decisions.field_named(task, name)
    if request.htmx and field is not None:  # type: ignore[attr-defined]
        context = {"task": task, "one": decisions.deciding(item, field, changed=True)}
        return render(request, "evaluation/labels/items/_decision.html", context)
    return redirect_back(request, reverse("task_item", args=[task.project_id, task.pk, item.pk]))
