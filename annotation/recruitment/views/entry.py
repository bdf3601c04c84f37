"""Where people from elsewhere come in and leave, and where their platform calls. HTTP only."""

from __future__ import annotations

import secrets
from typing import Any, cast

from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation.models import Membership, Recruitment, Task, User, Visit
from annotation.recruitment import selectors
from annotation.recruitment.actions import key_sets as recruitment_actions
from annotation.recruitment.platforms import entry_params as coming
from annotation.recruitment.platforms import webhook
from annotation.recruitment.platforms.entry_params import LEAVING, Refused
from annotation.work.actions import assignments, visits
from annotation.work.actions.origins import record_origin
from crowdqc import limits
from crowdqc.errors import Conflict, DomainError, Invalid, LimitExceeded, Missing, NotAllowed
from crowdqc.numbers import parse_whole
from crowdqc.sealing import sealed
from crowdqc.web.middleware import POLICY

BACKEND = "annotation.accounts.signing.backends.AccountBackend"
COOKIE, COOKIE_DAYS = "crowdqc_visitor", 60
WAIT_SECONDS = 2  # until a page that waits for the platform's keys tries again


@require_GET
@never_cache
def entry(request: HttpRequest, token: str) -> HttpResponse:
    """Entry from a platform: leads to the assignment, or explains why there is none."""
    limits.require_try(
        limits.ENTRIES,
        limits.client_network(request),
        gettext("Too many entries from this address."),
    )
    recruitment = coming.read_entry_token(token)
    staff = selectors.is_staff_of(request.user, recruitment.task.project_id)
    try:
        if staff:
            return _preview(request, recruitment, staff=True)
        comes = coming.read(recruitment, request.GET.dict())
        if comes.preview:
            return _preview(request, recruitment, staff=False)
        if recruitment.entry == Recruitment.Entry.JWT:
            recruitment_actions.check_signature(recruitment=recruitment, coming=comes)
        secret = _secret_of(request, comes.participant)
        who = request.user if request.user.is_authenticated else None
        visit = visits.enter_visit(
            recruitment=recruitment,
            coming=comes,
            who=who,
            bound=coming.digest(secret, comes.participant),
        )
    except recruitment_actions.KeysPending as error:
        return _wait(request, error)
    except Refused as error:
        visits.record_refusal(recruitment=recruitment, error=error)
        return _refuse(request, recruitment, error)
    # A new key of the session: what was set before somebody came in is worth nothing after it.
    login(request, cast(User, visit.worker.user), backend=BACKEND)
    response = _on_to_work(request, visit)
    limits.remember_device(request, response, ())
    response.set_signed_cookie(
        COOKIE,
        f"{coming.digest(comes.participant)}:{secret}",
        salt=COOKIE,
        max_age=COOKIE_DAYS * 86_400,
        httponly=True,
        samesite="Lax",
        secure=request.is_secure(),
    )
    return response


def _secret_of(request: HttpRequest, participant: str) -> str:
    """This browser's secret, if it is of this person; else a new one.

    A second person at the same computer gets a secret of their own, so that neither of them can
    open the other's work by writing the other's id into the address.
    """
    kept = request.get_signed_cookie(COOKIE, default="", salt=COOKIE) or ""
    of, _, secret = kept.partition(":")
    return secret if of == coming.digest(participant) and secret else secrets.token_urlsafe(32)


def _preview(request: HttpRequest, recruitment: Recruitment, *, staff: bool) -> HttpResponse:
    context = {
        "recruitment": recruitment,
        "version": recruitment.task.current,
        "staff": staff,
        "currency": recruitment.currency,
    }
    return render(request, "annotation/recruitment/entry/preview.html", context)


def _refuse(request: HttpRequest, recruitment: Recruitment, error: Refused) -> HttpResponse:
    context = {"error": error, "recruitment": recruitment}
    return render(
        request, "annotation/recruitment/entry/refused.html", context, status=error.status
    )


def _wait(request: HttpRequest, error: Refused) -> HttpResponse:
    """A page that opens the same address again; nothing is noted, as nothing was decided."""
    response = render(
        request, "annotation/recruitment/entry/waiting.html", {"error": error}, status=503
    )
    response.headers["Refresh"] = response.headers["Retry-After"] = str(WAIT_SECONDS)
    return response


def _on_to_work(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Redirect to the visit's assignment, or to the question about recording before it."""
    held = visit.assignment
    if held is not None and held.state == "submitted":
        return redirect("work_done", assignment_id=held.pk)
    task = visit.recruitment.task
    try:
        found = assignments.claim_assignment(
            by=cast(User, visit.worker.user), task=task, worker=visit.worker
        )
    except NotAllowed as error:
        if error.code == "no-consent":
            return redirect(f"{reverse('work_consent', args=[task.project_id])}?task={task.pk}")
        refusal = Refused(error.message, coming.ASK, code="not-allowed")
    except Conflict as error:
        return _nothing_left(request, visit, error)
    else:
        record_origin(by=cast(User, visit.worker.user), worker=visit.worker, request=request)
        return redirect("work_assignment", assignment_id=found.pk)
    visits.record_refusal(recruitment=visit.recruitment, error=refusal)
    return _refuse(request, visit.recruitment, refusal)


def _nothing_left(request: HttpRequest, visit: Visit, error: Conflict) -> HttpResponse:
    todo = gettext("Return the submission on the platform; nothing is held against you.")
    refusal = Refused(error.message, todo, code="nothing-left", status=409)
    visits.record_refusal(recruitment=visit.recruitment, error=refusal)
    return _refuse(request, visit.recruitment, refusal)


def nothing_left(request: HttpRequest, task: Task, error: Conflict) -> HttpResponse | None:
    """Answer a platform's participant whose task was filled meanwhile; None for anybody else."""
    visit = selectors.visit_of(cast(User, request.user))
    if visit is None or visit.recruitment.task_id != task.pk or visit.assignment_id is not None:
        return None
    return _nothing_left(request, visit, error)


@login_required
@require_http_methods(["GET", "POST"])
@never_cache
def leave(request: HttpRequest) -> HttpResponse:
    """Go back to the platform without handing in, with the code for it."""
    user = cast(User, request.user)
    visit = selectors.visit_of(user)
    if visit is None:
        raise Missing(
            gettext("You came here by an account of your own; there is no platform to return to.")
        )
    error = ""
    if request.method == "POST":
        try:
            visits.leave_visit(by=user, visit=visit, outcome=request.POST.get("outcome", ""))
        except Invalid as refused:
            error = refused.fields["outcome"]
        else:
            return redirect("entry_leave")
    context = {
        "visit": visit,
        "error": error,
        "left": visit.outcome in LEAVING,
        **return_context(visit),
    }
    status = 422 if error else 200
    return render(request, "annotation/recruitment/entry/leave.html", context, status=status)


def return_context(visit: Visit | None) -> dict[str, Any]:
    """Return the context of the way back: an address, a code, or a form."""
    if visit is None:
        return {"came_from": None, "submit_to": ""}
    submit = ""
    if visit.return_to and visit.return_to in visits.submit_addresses(visit.recruitment):
        submit = f"{visit.return_to.rstrip('/')}/mturk/externalSubmit"
    on = "Prolific" if visit.recruitment.kind == Recruitment.Kind.PROLIFIC else ""
    return {
        "came_from": visit,
        "platform": on or visit.recruitment.name,
        "code": visit.code,
        "back_url": visits.return_address(visit),
        "submit_to": submit,
    }


def allow_form(response: HttpResponse, address: str) -> HttpResponse:
    """Allow the page's form to be sent to another site's address."""
    if address:
        policy = POLICY.replace("form-action 'self'", f"form-action 'self' {address}")
        response.headers["Content-Security-Policy"] = policy
    return response


def left_without_consent(request: HttpRequest, worker: Membership) -> bool:
    """Record that a platform's participant declined consent; False for anybody else."""
    visit = selectors.visit_of(cast(User, request.user)) if worker.external_id else None
    if visit is None or visit.worker_id != worker.pk:
        return False
    try:
        visits.leave_visit(by=cast(User, request.user), visit=visit, outcome="no_consent")
    except Conflict:  # handed in already: declining changes nothing of that
        return False
    return True


@csrf_exempt
@require_POST
def platform_hook(request: HttpRequest, recruitment_id: int) -> HttpResponse:
    """Receive an event of Prolific: check its signature, store it once and apply it."""
    recruitment = (
        Recruitment.objects.filter(pk=recruitment_id).select_related("task__project").first()
    )
    try:
        if recruitment is None or not recruitment.webhook_sealed:
            raise Missing(gettext("Nothing is expected here."))
        if (
            parse_whole(request.headers.get("Content-Length") or "0", high=webhook.MOST_BYTES)
            is None
        ):
            raise LimitExceeded(gettext("Too long for an event."))
        secret = sealed.unseal(recruitment.webhook_sealed, webhook.PURPOSE, gettext("The secret"))
        event = webhook.read(secret, request.headers, request.body)
        kept = visits.receive_event(recruitment=recruitment, event=event)
    except DomainError as error:
        return JsonResponse({"detail": error.message}, status=error.status)
    return JsonResponse({"id": kept.event_id, "note": kept.note})
