"""Pages of organisations. HTTP only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.access import get_installation_owner, is_installation_owner
from annotation.accounts.organisations import actions as organisations
from annotation.accounts.organisations.selectors import (
    get_organisation,
    list_organisations,
    may_change,
)
from annotation.accounts.projects.forms import add_errors
from annotation.models import Organisation, OrganisationMember, OrganisationRole, Project, User
from crowdqc.errors import Conflict, Invalid, Missing
from crowdqc.numbers import parse_whole
from evaluation.llm.selectors import models as model_reads
from evaluation.llm.views.models import Place
from evaluation.organisations import selectors
from evaluation.organisations.actions import close_organisation, set_organisation
from evaluation.organisations.forms import FoundForm, JoinForm, MemberForm, NameForm, SettingsForm

VERBS = ["GET", "HEAD", "POST"]


@never_cache
@login_required
@require_http_methods(VERBS)
def organisation_list(request: HttpRequest) -> HttpResponse:
    """List the person's organisations; owners of the installation found others."""
    user = cast(User, request.user)
    form = FoundForm(request.POST or None)
    if request.method == "POST":
        owner = get_installation_owner(request)
        if form.is_valid():
            said = form.cleaned_data
            try:
                person = organisations.find_person(owner, said["person"])
                made = organisations.create_organisation(
                    by=owner, name=said["name"], currency=said["currency"], owner=person
                )
            except (Invalid, Conflict) as error:
                add_errors(form, error)
            else:
                messages.success(request, _("%(name)s is created.") % {"name": made.name})
                return redirect("organisation", made.pk)
    context = {
        "rows": list_organisations(user).order_by("name", "pk"),
        "form": form if is_installation_owner(user) else None,
    }
    status = 422 if form.errors else 200
    return render(request, "evaluation/organisations/list.html", context, status=status)


@never_cache
@login_required
@require_http_methods(VERBS)
def organisation(request: HttpRequest, organisation_id: int) -> HttpResponse:
    """Show one organisation, and change it."""
    user = cast(User, request.user)
    found = get_organisation(user, organisation_id)
    what, status = request.POST.get("do", ""), 200
    all_forms = _forms(found, user)
    if request.method == "POST":
        if what in all_forms:
            all_forms |= _forms(found, user, what, request)
        form = all_forms.get(what, forms.Form({}))
        status = 422
        if form.is_valid():
            try:
                message = _change(user, found, what, request, form.cleaned_data)
            except (Invalid, Conflict) as error:
                add_errors(form, error)
                messages.error(request, error.message)
            else:
                messages.success(request, message)
                left = not list_organisations(user).filter(pk=found.pk).exists()
                return redirect("organisation_list") if left else redirect("organisation", found.pk)
    context = _context(found, user, all_forms)
    return render(request, "evaluation/organisations/organisation.html", context, status=status)


def _forms(
    found: Organisation, user: User, sent: str = "", request: HttpRequest | None = None
) -> dict[str, Any]:
    """Return the forms of the page, the sent one alone where there is one."""
    data = request.POST if request is not None else None
    joinable = selectors.list_joinable(found, user) if found.own_role else []  # type: ignore[attr-defined]
    made: dict[str, Callable[[], forms.Form]] = {
        "settings": lambda: SettingsForm.of(found, data),
        "add_member": lambda: MemberForm(data),
        "join": lambda: JoinForm(data, projects=joinable),
        "rename": lambda: NameForm(data, initial={"name": found.name}),
    }
    return {name: make() for name, make in made.items() if sent in ("", name)}


def _context(found: Organisation, user: User, all_forms: dict[str, Any]) -> dict[str, Any]:
    changes = may_change(found, user)
    projects = selectors.project_rows(found, user, may_change=changes)
    people = selectors.people_page(found)
    place = Place(user, found, may_change=changes)
    return {
        "organisation": found,
        "may_change": changes,
        "is_owner": is_installation_owner(user),
        "projects": projects,
        **people,
        "own": user.pk,
        "roles": OrganisationRole.choices,
        "figures": selectors.figures(found, projects, len(people["members"])),
        "place": place,
        "rows": place.rows(model_reads.endpoints(found)),
        "forms": all_forms,
        "join_hidden": [("do", "join")],
        "close_hidden": [("do", "close")],
    }


def _change(
    by: User, found: Organisation, what: str, request: HttpRequest, values: dict[str, Any]
) -> str:
    """Do what was asked for; return the message about it. Raises Missing for anything else."""
    changes: dict[str, Callable[[], str]] = {
        "settings": lambda: _save_settings(by, found, values),
        "add_member": lambda: _add_member(by, found, values),
        "change_role": lambda: _change_role(by, _member(found, request), request),
        "remove_member": lambda: _remove_member(by, _member(found, request)),
        "join": lambda: _join(by, found, values["project"]),
        "leave": lambda: _leave(by, found, request),
        "rename": lambda: _rename(by, found, values["name"]),
        "close": lambda: _close(by, found),
    }
    if what not in changes:
        raise Missing(_("There is no such action here."))
    return changes[what]()


def _member(found: Organisation, request: HttpRequest) -> OrganisationMember:
    pk = parse_whole(request.POST.get("member", ""))
    member = found.members.filter(pk=pk or 0).select_related("user", "organisation").first()
    if member is None:
        raise Missing(_("This person does not belong to the organisation."))
    return member


def _save_settings(by: User, found: Organisation, values: dict[str, Any]) -> str:
    organisations.change_settings(by=by, organisation=found, **values)
    return _("The settings are saved.")


def _add_member(by: User, found: Organisation, values: dict[str, Any]) -> str:
    organisations.require_owner(found, by, organisations.PEOPLE)
    person = organisations.find_person(by, values["person"])
    organisations.set_member(by=by, organisation=found, user=person, role=values["role"])
    return _("%(person)s belongs to %(name)s.") % {"person": person, "name": found.name}


def _change_role(by: User, member: OrganisationMember, request: HttpRequest) -> str:
    made = organisations.set_member(
        by=by,
        organisation=member.organisation,
        user=member.user,
        role=request.POST.get("role", ""),
    )
    return _("%(person)s is %(role)s now.") % {
        "person": member.user,
        "role": made.get_role_display(),
    }


def _remove_member(by: User, member: OrganisationMember) -> str:
    organisations.remove_member(by=by, member=member)
    return _("%(person)s no longer belongs to it.") % {"person": member.user}


def _join(by: User, found: Organisation, project_id: int) -> str:
    project = Project.objects.get(pk=project_id)
    set_organisation(by=by, project=project, organisation=found)
    return _("%(project)s belongs to %(name)s.") % {"project": project.name, "name": found.name}


def _leave(by: User, found: Organisation, request: HttpRequest) -> str:
    pk = parse_whole(request.POST.get("project", ""))
    project = found.projects.filter(pk=pk or 0).first()
    if project is None:
        raise Missing(_("There is no such project in this organisation."))
    set_organisation(by=by, project=project, organisation=None)
    return _("%(project)s left its organisation.") % {"project": project.name}


def _rename(by: User, found: Organisation, name: str) -> str:
    row = organisations.rename_organisation(by=by, organisation=found, name=name)
    return _("It is called %(name)s now.") % {"name": row.name}


def _close(by: User, found: Organisation) -> str:
    close_organisation(by=by, organisation=found)
    return _("%(name)s is closed.") % {"name": found.name}
