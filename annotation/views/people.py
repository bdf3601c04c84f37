"""Signing up, finding one's way, and joining by a link."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.views import (
    LoginView,
    PasswordChangeView,
    PasswordResetConfirmView,
    redirect_to_login,
)
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_safe

from annotation.actions import accounts, people
from annotation.forms import ProjectForm, SignInForm, SignUpForm, add_errors
from annotation.models import Invitation, Membership, Role, User
from annotation.selectors.projects import projects_of, roles_anywhere
from crowdqc.errors import Conflict, DomainError, Invalid
from crowdqc.limits import hold_back

BACKEND = "django.contrib.auth.backends.ModelBackend"


def _next(request: HttpRequest) -> str:
    """Where the person wanted to go, if that is a page of ours."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    safe = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if safe else ""


class SignIn(LoginView):
    """Signing in, a few times a minute; tries over the API are counted together with these."""

    authentication_form = SignInForm
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        hold_back(request, name=request.POST.get("username", ""))
        return super().post(request, *args, **kwargs)


class _EndsTokens:
    """A new password signs the person out of the API too, as it does elsewhere."""

    def form_valid(self, form: SetPasswordForm) -> HttpResponse:
        with transaction.atomic():
            response: HttpResponse = super().form_valid(form)  # type: ignore[misc]
            accounts.password_changed(by=form.user)
        return response


class PasswordChange(_EndsTokens, PasswordChangeView):
    """A new password for the one that is known."""


class PasswordReset(_EndsTokens, PasswordResetConfirmView):
    """A new password by a link that was sent."""


@require_http_methods(["GET", "HEAD", "POST"])
def signup(request: HttpRequest) -> HttpResponse:
    """A new account, signed in at once and sent where the person was going."""
    wanted = _next(request)
    if request.user.is_authenticated:
        return redirect(wanted or "home")
    if request.method == "POST":
        hold_back(request, name=request.POST.get("username", ""))
    form = SignUpForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            user = accounts.sign_up(**form.cleaned_data)
        except Invalid as error:
            add_errors(form, error)
        else:
            login(request, user, backend=BACKEND)
            return redirect(wanted or "home")
    status = 422 if form.errors else 200
    context = {"form": form, "next": wanted}
    return render(request, "registration/signup.html", context, status=status)


@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Where the person's work is: their only project, the list, or the worker's page."""
    roles = roles_anywhere(request.user)
    staffed = {project_id for project_id, role in roles if role != Role.WORKER}
    if len(staffed) == 1:
        return redirect("project", staffed.pop())
    if staffed:
        return redirect("project_list")
    if roles:
        return redirect("work_home")
    return render(request, "annotation/people/nobody_yet.html")


@login_required
@require_safe
def project_list(request: HttpRequest) -> HttpResponse:
    rows = projects_of(request.user)
    return render(request, "annotation/people/project_list.html", {"rows": rows})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def project_new(request: HttpRequest) -> HttpResponse:
    form = ProjectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            project = people.create_project(by=cast(User, request.user), **form.cleaned_data)
        except Invalid as error:
            add_errors(form, error)
        else:
            return redirect("task_list", project.pk)
    status = 422 if form.errors else 200
    return render(request, "annotation/people/project_new.html", {"form": form}, status=status)


def _membership(user: Any, invitation: Invitation) -> Membership | None:
    if not user.is_authenticated:
        return None
    return Membership.objects.filter(
        project=invitation.project, user=user, role=invitation.role, removed_at__isnull=True
    ).first()


def _inside(member: Membership) -> HttpResponse:
    if member.role == Role.WORKER:
        return redirect("work_consent", member.project_id)
    return redirect("project", member.project_id)


def _closed(request: HttpRequest, error: DomainError) -> HttpResponse:
    context = {"error": error, "gone": error.status != 404}
    return render(request, "annotation/people/join_closed.html", context, status=error.status)


@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """An invitation: what one is asked to join, and joining it."""
    try:
        if request.method == "POST":
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            return _inside(people.accept_invitation(by=request.user, token=token))
        invitation = people.read_invitation(token)
        if member := _membership(request.user, invitation):
            return _inside(member)
        if invitation.uses >= invitation.max_uses:
            raise Conflict("This invitation has been used up. Ask for a new link.")
    except DomainError as error:
        return _closed(request, error)
    context = {
        "invitation": invitation,
        "project": invitation.project,
        "is_worker": invitation.role == Role.WORKER,
        "consent": people.current_consent_text(invitation.project),
    }
    return render(request, "annotation/people/join.html", context)
