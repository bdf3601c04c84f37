"""Pages by which an owner deletes a project and reads the books of one. HTTP only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import get_installation_owner, is_installation_owner
from annotation.installation.actions import MAX_REASON
from annotation.models import Membership, Project, User
from crowdqc.errors import DomainError, Missing
from evaluation.deletion import actions
from evaluation.deletion.books import books_page, books_response
from evaluation.deletion.progress import describe_deletion

KEPT = gettext_lazy("The audit log keeps it.")


class NameForm(forms.Form):
    """The project's name, typed once more."""

    name = forms.CharField(label=gettext_lazy("Name of the project"), max_length=200)


class DeletionForm(NameForm):
    """The project's name, and why it goes."""

    why = forms.CharField(label=gettext_lazy("Reason"), max_length=MAX_REASON, help_text=KEPT)


class KeepForm(forms.Form):
    """Why a project is not deleted after all."""

    why = forms.CharField(label=gettext_lazy("Reason"), max_length=MAX_REASON, help_text=KEPT)


FORMS: dict[str, type[forms.Form]] = {"delete": DeletionForm, "now": NameForm, "keep": KeepForm}


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def deletion(request: HttpRequest, project_id: int) -> HttpResponse:
    """Ask for the deletion of a project, take that back, and see how far it is."""
    owner = get_installation_owner(request)
    project = _find_project(project_id)
    do, status = request.POST.get("do", ""), 200
    filled = {name: form() for name, form in FORMS.items()}
    if request.method == "POST":
        if do not in FORMS:
            raise Missing(_("There is no such action here."))
        form = filled[do] = FORMS[do](request.POST)
        status = 422
        if form.is_valid():
            try:
                message = _change(owner, project, do, form.cleaned_data)
            except DomainError as error:
                if error.status in (403, 404):
                    raise
                known = {name: text for name, text in error.fields.items() if name in form.fields}
                for name, text in known.items():
                    form.add_error(name, text)
                if not known:
                    form.add_error(None, error.message)
            else:
                messages.success(request, message)
                return redirect("installation_deletion", project.pk)
    context = {
        **describe_deletion(project),
        "forms": filled,
        "is_member": Membership.objects.filter(
            project=project, user=owner, removed_at=None
        ).exists(),
        "now_hidden": [("do", "now")],
        "keep_hidden": [("do", "keep")],
    }
    return render(request, "evaluation/deletion/deletion.html", context, status=status)


def _change(by: User, project: Project, do: str, values: dict[str, Any]) -> str:
    """Do what was asked for; return the message about it."""
    changes: dict[str, Callable[[], object]] = {
        "delete": lambda: actions.request_deletion(by=by, project=project, **values),
        "now": lambda: actions.delete_now(by=by, project=project, **values),
        "keep": lambda: actions.cancel_deletion(by=by, project=project, **values),
    }
    changes[do]()
    if do == "delete":
        return _("The project is archived, and deleted in %(days)s days.") % {"days": actions.DAYS}
    return _("The deletion begins.") if do == "now" else _("The project is kept.")


def _find_project(project_id: int) -> Project:
    project = Project.objects.select_related("owner").filter(pk=project_id).first()
    if project is None:
        raise Missing(_("There is no such project."))
    return project


def _find_books(request: HttpRequest, project_id: int) -> Project:
    """Return a project for owners of the installation, or for who owned it until it was deleted."""
    project = _find_project(project_id)
    owned = project.owner_id == request.user.pk and project.deleted_at is not None
    if not owned and not is_installation_owner(request.user):
        raise Missing(_("There is no such project."))
    return project


@never_cache
@login_required
@require_safe
def books(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the accounts of a project."""
    project = _find_books(request, project_id)
    context = {**books_page(project), "is_owner": is_installation_owner(request.user)}
    return render(request, "evaluation/deletion/books.html", context)


@never_cache
@login_required
@require_safe
def books_file(request: HttpRequest, project_id: int) -> StreamingHttpResponse:
    """Download the books of a project as a ZIP."""
    return books_response(_find_books(request, project_id))
