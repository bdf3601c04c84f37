"""Begin a task from a template, remove its examples, and copy a task or a project."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation.access import get_access, get_task
from annotation.accounts.projects.actions import create_project
from annotation.accounts.projects.forms import FirstProjectForm, add_errors, read_form_key
from annotation.authoring.actions.examples import remove_examples
from annotation.formats.forms import uploaded
from annotation.gallery.actions.duplicates import Copied, duplicate_project, duplicate_task
from annotation.gallery.actions.examples import begin_task
from annotation.gallery.actions.from_file import begin_from_file, begin_project
from annotation.gallery.templates import get_template
from annotation.models import Role, User
from crowdqc.errors import Invalid, LimitExceeded
from crowdqc.numbers import plural


@login_required
@require_POST
def task_from_template(request: HttpRequest, project_id: int, template: str) -> HttpResponse:
    """Create a draft from a template and open its builder."""
    access = get_access(request, project_id, Role.REQUESTER)
    key = read_form_key(request)
    chosen = get_template(template, access.project)
    task = begin_task(by=access.user, project=access.project, template=chosen, key=key)
    return redirect("task_build", project_id, task.pk)


@login_required
@require_POST
def task_from_file(request: HttpRequest, project_id: int) -> HttpResponse:
    """Create a draft for a file and show how the file is read."""
    access = get_access(request, project_id, Role.REQUESTER)
    key = read_form_key(request)
    try:
        name, content = uploaded(request)
        file = begin_from_file(
            by=access.user, project=access.project, name=name, content=content, key=key
        )
    except (Invalid, LimitExceeded) as error:
        messages.error(request, " ".join([error.message, *error.fields.values()]))
        return redirect("task_new", project_id)
    return redirect("task_import_file", project_id, file.task_id, file.pk)


@login_required
@require_POST
def project_first(request: HttpRequest) -> HttpResponse:
    """Create a first project, with a draft for a file where one is sent."""
    user = cast(User, request.user)
    form = FirstProjectForm(request.POST, has_file="file" in request.FILES)
    if form.is_valid():
        try:
            if not form.has_file:
                return redirect("project", create_project(by=user, **form.cleaned_data).pk)
            name, content = uploaded(request)
            file = begin_project(by=user, file_name=name, content=content, **form.cleaned_data)
        except (Invalid, LimitExceeded) as error:
            add_errors(form, error)
        else:
            return redirect("task_import_file", file.project_id, file.task_id, file.pk)
    page = "annotation/accounts/projects/nobody_yet.html"
    return render(request, page, {"form": form}, status=422)


@login_required
@require_POST
def task_examples(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Remove the example items from the draft."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    number = remove_examples(by=access.user, task=task)
    messages.success(
        request, _("%(examples)s removed.") % {"examples": plural(number, "example item")}
    )
    back = "task_publish" if request.POST.get("back") == "publish" else "task_build"
    part = request.POST.get("part", "")[:20]
    query = f"?part={part}" if back == "task_build" and part.isalpha() else ""
    return redirect(reverse(back, args=[project_id, task_id]) + query)


@login_required
@require_POST
def task_copy(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Duplicate a task as a draft, with its items where ``items`` is ticked."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    key = read_form_key(request)
    new, copied = duplicate_task(by=access.user, task=task, items="items" in request.POST, key=key)
    said = _("The copy is a draft.")
    messages.success(request, f"{said} {_copied_message(copied)}")
    return redirect("task_build", project_id, new.pk)


@login_required
@require_POST
def project_copy(request: HttpRequest, project_id: int) -> HttpResponse:
    """Duplicate a project, its tasks as drafts."""
    access = get_access(request, project_id, Role.REQUESTER)
    key = read_form_key(request)
    new, copied = duplicate_project(by=access.user, project=access.project, key=key)
    messages.success(
        request, _("“%(name)s” was created.") % {"name": new.name} + " " + _copied_message(copied)
    )
    return redirect("project", new.pk)


def _copied_message(copied: Copied) -> str:
    said = _("%(items)s copied.") % {"items": plural(copied.items, "item")}
    if copied.left_out:
        left = plural(copied.left_out, "item")
        said += " " + _("%(items)s left out: people wrote these texts.") % {"items": left}
    return said
