"""Projects, their settings, and joining by a link."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.forms import Form
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import Access, get_access
from annotation.accounts.organisations.selectors import (
    list_organisations,
    list_own_organisations,
)
from annotation.accounts.plugins.selectors import plugin_rows
from annotation.accounts.projects import actions
from annotation.accounts.projects import actions as people
from annotation.accounts.projects.actions import is_usual_consent
from annotation.accounts.projects.consent_words import fill_consent
from annotation.accounts.projects.forms import (
    ConsentForm,
    InstitutionForm,
    ProjectForm,
    ProjectSettingsForm,
    add_errors,
)
from annotation.accounts.projects.selectors import (
    consent_versions,
    list_projects,
    published_types,
)
from annotation.accounts.quotas import used_rows
from annotation.accounts.roles.actions import waiting_grant
from annotation.accounts.roles.selectors import accept_problem
from annotation.accounts.security.factors import require_factor_in_project
from annotation.accounts.security.stepup import is_second_factor_required
from annotation.formats.actions.export_files import KEPT
from annotation.models import Invitation, Membership, Role, RoleGrant, User
from annotation.notifications.kinds import KINDS
from annotation.privacy.actions.erasure import KEPT_DAYS
from annotation.privacy.selectors import erasure, retention
from annotation.records.actions import locks
from annotation.work.selectors.work import count_offers
from crowdqc import limits
from crowdqc.errors import Conflict, DomainError, Invalid, LimitExceeded, NotAllowed
from crowdqc.numbers import parse_whole


@login_required
@require_safe
def project_list(request: HttpRequest) -> HttpResponse:
    rows = list_projects(request.user)
    only_works = any(not row.is_staff for row in rows)
    offers = count_offers(cast(User, request.user)) if only_works else {}
    context = {
        "rows": [(row, offers.get(row.project.pk, 0)) for row in rows],
        "has_organisations": list_organisations(request.user).exists(),
    }
    return render(request, "annotation/accounts/projects/project_list.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def project_new(request: HttpRequest) -> HttpResponse:
    chosen = {"organisation": request.GET.get("organisation")}
    own = list_own_organisations(cast(User, request.user))
    form = ProjectForm(request.POST or None, initial=chosen, organisations=own)
    if request.method == "POST" and form.is_valid():
        try:
            project = people.create_project(by=cast(User, request.user), **form.cleaned_data)
        except (Invalid, LimitExceeded) as error:
            add_errors(form, error)
        else:
            return redirect("project", project.pk)
    status = 422 if form.errors else 200
    return render(
        request, "annotation/accounts/projects/project_new.html", {"form": form}, status=status
    )


def _membership(user: Any, invitation: Invitation) -> Membership | None:
    if not user.is_authenticated:
        return None
    return Membership.objects.filter(
        project=invitation.project, user=user, role=invitation.role, removed_at__isnull=True
    ).first()


def _waiting(user: Any, invitation: Invitation) -> RoleGrant | None:
    if not user.is_authenticated:
        return None
    return waiting_grant(invitation.project, user, invitation.role)


def _waits(request: HttpRequest, grant: RoleGrant) -> HttpResponse:
    context = {"grant": grant, "project": grant.project}
    return render(request, "annotation/accounts/projects/join_waiting.html", context)


def _inside(member: Membership) -> HttpResponse:
    if member.role == Role.WORKER:
        return redirect("work_consent", member.project_id)
    return redirect("project", member.project_id)


def _closed(request: HttpRequest, error: DomainError) -> HttpResponse:
    context = {"error": error, "gone": error.status != 404}
    return render(
        request, "annotation/accounts/projects/join_closed.html", context, status=error.status
    )


@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Show an invitation and accept it."""
    try:
        if request.method == "POST":
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            joined = people.accept_invitation(by=request.user, token=token)
            return _inside(joined) if joined else redirect("join", token)
        invitation = people.open_invitation(token)
        if member := _membership(request.user, invitation):
            return _inside(member)
        if grant := _waiting(request.user, invitation):
            return _waits(request, grant)
        if invitation.uses >= invitation.max_uses:
            raise Conflict(_("This invitation has been used up. Ask for a new link."))
    except DomainError as error:
        return _closed(request, error)
    consent = people.current_consent_text(invitation.project)
    context: dict[str, Any] = {
        "invitation": invitation,
        "project": invitation.project,
        "is_worker": invitation.role == Role.WORKER,
        "consent": consent,
        "words": fill_consent(consent.text, published_types(invitation.project)),
    }
    if request.user.is_authenticated:
        context["why_not"] = accept_problem(invitation, request.user)
    return render(request, "annotation/accounts/projects/join.html", context)


def _settings_access(request: HttpRequest, project_id: int) -> Access:
    """Let managers read settings and requesters change them."""
    return get_access(request, project_id, *((Role.REQUESTER,) if request.method == "POST" else ()))


def _disable_form(form: Form, access: Access) -> None:
    """Disable the form for people who may only read."""
    for field in form.fields.values():
        field.disabled = not access.is_requester


DAYS = ("reply_days", "answer_days", "decide_days")
SETTINGS = (
    "name",
    "budget",
    "hourly_floor",
    "single_approval",
    "correction_limit",
    "show_scores",
    *DAYS,
)


def _settings_form(access: Access, sent: QueryDict | None = None) -> ProjectSettingsForm:
    initial = {name: getattr(access.project, name) for name in SETTINGS}
    form = ProjectSettingsForm(sent, initial=initial)
    _disable_form(form, access)
    # A disabled field keeps its initial value, whatever is sent.
    for name in ("single_approval", "correction_limit"):
        form.fields[name].disabled = not access.is_owner
    return form


def _save_settings(access: Access, form: ProjectSettingsForm) -> bool:
    """Save the settings; return False with errors in the form."""
    if not form.is_valid():
        return False
    try:
        actions.change_project(by=access.user, project=access.project, **form.cleaned_data)
    except Invalid as error:
        add_errors(form, error)
        return False
    return True


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def project_settings(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show and change name, budget, floor and single approval."""
    access = _settings_access(request, project_id)
    project = access.project
    if request.method == "POST":
        with locks.lock_row(project):
            form = _settings_form(access, request.POST)
            saved = _save_settings(access, form)
        if saved:
            messages.success(request, _("The settings are saved."))
            return redirect("project_settings", project_id)
    else:
        form = _settings_form(access)
    context: dict[str, Any] = {
        "access": access,
        "project": project,
        "form": form,
        "consent": actions.current_consent_text(project),
        "kept": retention.kept_of_project(project),
        "words": erasure.kept_words(project),
        "swept_days": KEPT_DAYS,
        "file_days": KEPT.days,
        "told": KINDS.values(),
        "plugins": plugin_rows(project),
        "limits": used_rows(project),
        "second_factor": is_second_factor_required(project, access.user),
    }
    status = 422 if form.errors else 200
    return render(
        request, "annotation/accounts/projects/project_settings.html", context, status=status
    )


@login_required
@require_POST
def project_settings_factor(request: HttpRequest, project_id: int) -> HttpResponse:
    """Switch the second factor for payments (owner only)."""
    access = get_access(request, project_id)
    required = request.POST.get("required")
    if not access.is_owner:
        raise NotAllowed(_("Only the owner of the project may change this."))
    if required not in ("yes", "no"):
        raise Invalid(_("Say whether it is required."), fields={"required": _("yes or no")})
    require_factor_in_project(by=access.user, project=access.project, required=required == "yes")
    messages.success(request, _("Saved. The project’s managers are told."))
    return redirect("project_settings", project_id)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def project_settings_consent(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the consent text, preview it, change it (a new version), or name the institution."""
    access = _settings_access(request, project_id)
    if request.method == "POST" and request.POST.get("preview"):
        limits.require_try(limits.PREVIEWS, access.user.pk, _("Too many tries."))
        preview = {
            "text": fill_consent(request.POST.get("text", "")[:20_000]),
            "transcription": "transcription" in request.POST,
            "devices": "devices" in request.POST,
        }
        return render(request, "annotation/accounts/projects/_consent_preview.html", preview)
    if "institution" in request.POST and "text" not in request.POST:
        return _name_institution(request, access)
    return _consent_page(request, access, InstitutionForm())


def _name_institution(request: HttpRequest, access: Access) -> HttpResponse:
    """Put the institution into the consent text, and go back to the task that asked for it."""
    form = InstitutionForm(request.POST)
    if not form.is_valid():
        return _consent_page(request, access, form)
    new = actions.name_institution(by=access.user, project=access.project, **form.cleaned_data)
    messages.success(
        request,
        _("Version %(new_number)s is in force. Workers are asked again.")
        % {"new_number": new.number},
    )
    task = parse_whole(request.GET.get("task", ""))
    if task is not None and access.project.tasks.filter(pk=task).exists():
        return redirect("task_publish", access.project.pk, task)
    return redirect("project_settings_consent", access.project.pk)


def _consent_page(
    request: HttpRequest, access: Access, institution: InstitutionForm
) -> HttpResponse:
    project_id, posted = access.project.pk, request.POST or None
    versions = consent_versions(access.project)
    current = versions[0]
    names = ConsentForm.base_fields
    initial = {name: getattr(current, name) for name in names}
    form = ConsentForm(None if institution.is_bound else posted, initial=initial)
    _disable_form(form, access)
    if form.is_bound and form.is_valid():
        if not form.changes():
            messages.info(
                request, _("Nothing was changed: the text is that of the version in force.")
            )
            return redirect("project_settings_consent", project_id)
        try:
            new = actions.change_consent_text(
                by=access.user, project=access.project, **form.cleaned_data
            )
        except Invalid as error:
            add_errors(form, error)
        else:
            messages.success(
                request,
                _("Version %(new_number)s is in force. Workers are asked again.")
                % {"new_number": new.number},
            )
            return redirect("project_settings_consent", project_id)
    context: dict[str, Any] = {
        "access": access,
        "project": access.project,
        "form": form,
        "versions": versions,
        "current": current,
        "text": fill_consent(form["text"].value() or ""),
        "transcription": form["transcription"].value(),
        "devices": form["devices"].value(),
        "opened_with": form["text"].as_hidden(only_initial=True),
        "institution": institution if access.is_requester and is_usual_consent(current) else None,
    }
    status = 422 if form.errors or institution.errors else 200
    return render(
        request,
        "annotation/accounts/projects/project_settings_consent.html",
        context,
        status=status,
    )
