"""The one dialog in which a draft is published, whatever its type."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.access import Access
from annotation.authoring.actions import tasks
from annotation.authoring.actions.drafts import edit_draft
from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.builder.publishing import Publishing
from annotation.authoring.selectors.examples import count_examples, examples_of
from annotation.authoring.views.builder.context import find, republishing
from annotation.authoring.views.builder.parts import builder_of
from annotation.gallery.templates import is_unconfirmed_text
from annotation.models import Task
from crowdqc.errors import Invalid
from crowdqc.numbers import plural


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def task_publish(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Show what publishing comes to; a POST freezes the draft and opens the task with it.

    ``discard`` throws the draft away instead. ``pay`` and ``redundancy`` are changed first;
    ``look`` shows what that comes to, and so does a POST whose ``total`` is not what publishing
    costs.
    """
    access, task = find(request, project_id, task_id)
    if request.method != "POST":
        return _dialog(request, access, task)
    if request.POST.get("discard"):
        tasks.discard_draft(by=access.user, task=task)
        messages.success(request, _("The draft is discarded. The published version stands."))
        return redirect("task", project_id, task_id)
    if answer := _not_yet(request, access, task):
        return answer
    build = Build(task)
    builder_of(task, build.version).renew_items(access.user, task)
    wording = request.POST.get("wording", "")
    version = tasks.publish(by=access.user, task=task, wording=wording)
    said = _("Version %(number)s is published and the task is open.") % {"number": version.number}
    if examples := examples_of(task, version).count():
        said += " " + _("It has %(examples)s.") % {"examples": plural(examples, "example item")}
    messages.success(request, said)
    return redirect("task", project_id, task_id)


def _not_yet(request: HttpRequest, access: Access, task: Task) -> HttpResponse | None:
    """Change what was sent, and show the dialog again where it is not to be published so."""
    if wrong := _change(request, access, task):
        return _dialog(request, access, task, status=422, wrong=wrong)
    if request.POST.get("look"):
        return _dialog(request, access, task, looked=True)
    build, shown = Build(task), request.POST.get("total")
    wording = request.POST.get("wording", "")
    found = Publishing(build, wording)
    if shown is not None and shown != str(found.total):
        return _dialog(request, access, task, status=422, changed=True)
    if found.rewording.answers and wording not in tasks.Wording.values:
        return _dialog(request, access, task, status=422)
    return None


def _change(request: HttpRequest, access: Access, task: Task) -> dict[str, Any]:
    """Change pay and redundancy as sent; return what was refused."""
    sent = {name: request.POST[name] for name in ("redundancy", "pay") if name in request.POST}
    if not sent or not Build(task).is_draft:
        return {}
    try:
        edit_draft(by=access.user, task=task, fields=sent)
    except Invalid as error:
        texts = [*error.fields.values()] or [error.message]
        return {**dict.fromkeys(error.fields, True), "sent_pay": sent.get("pay"), "texts": texts}
    return {}


def _dialog(
    request: HttpRequest, access: Access, task: Task, *, status: int = 200, **more: Any
) -> HttpResponse:
    build = Build(task)
    if not build.is_draft:
        return redirect("task_build", task.project_id, task.pk)
    wording = request.POST.get("wording", "")
    found = Publishing(build, wording)
    context = {
        "access": access,
        "project": task.project,
        "task": task,
        "build": build,
        "version": build.version,
        "builder": builder_of(task, build.version),
        "publishing": found,
        "cost": found.cost,
        "template_text": is_unconfirmed_text(build.version),
        "refused": status != 200,
        "republishing": republishing(build, found.rewording, keeps_answers=found.keeps_answers),
        "wordings": tasks.Wording.choices,
        "wording": wording,
        **count_examples(task, build.version),
        **more,
    }
    fragment = request.htmx  # type: ignore[attr-defined]
    folder = "annotation/authoring/builder/"
    template = f"{folder}_publish.html" if fragment else f"{folder}publish.html"
    return render(request, template, context, status=status)
