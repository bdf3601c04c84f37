"""What a person is told: the list, opening one, and whether mail comes too."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.notifications.actions import notices as actions
from annotation.notifications.messages import MAX_TRIES
from annotation.notifications.selectors.notices import kinds_for, notices_of, own_notice
from crowdqc.errors import Invalid
from crowdqc.numbers import whole

PER_PAGE = 50


@login_required
@require_safe
@never_cache
def notice_list(request: HttpRequest) -> HttpResponse:
    """All of them, the newest first, and the switch for mail."""
    page = Paginator(notices_of(request.user), PER_PAGE).get_page(request.GET.get("page"))
    rows = list(page.object_list)
    context = {
        "page": page,
        "rows": rows,
        "upto": rows[0].pk if rows and page.number == 1 else 0,
        "given_up": MAX_TRIES,
        "kinds": kinds_for(request.user),
    }
    return render(request, "annotation/notifications/notices/list.html", context)


@login_required
@require_safe
@never_cache
def notice(request: HttpRequest, notice_id: int) -> HttpResponse:
    """Note that it was opened and lead to what it is about."""
    found = own_notice(request.user, notice_id)
    if request.method == "GET":
        actions.mark_read(by=request.user, notice=found)  # type: ignore[arg-type]
    ours = found.url.startswith("/") and url_has_allowed_host_and_scheme(found.url, None)
    return redirect(found.url if ours else "notice_list")


@login_required
@require_POST
def notice_read_all(request: HttpRequest) -> HttpResponse:
    """Mark what the page showed; what came meanwhile stays unread."""
    upto = whole(request.POST.get("upto", ""))
    if upto is None:
        raise Invalid("Say up to which notice.", fields={"upto": "A number."})
    actions.mark_all_read(by=request.user, upto=upto)  # type: ignore[arg-type]
    return redirect("notice_list")


@login_required
@require_POST
def notice_mail(request: HttpRequest) -> HttpResponse:
    """Have notices by mail as well, or not."""
    wanted = request.POST.get("mail") == "on"
    actions.set_mail(by=request.user, wanted=wanted)  # type: ignore[arg-type]
    told = "Notices come by mail, too." if wanted else "No more mail. Notices stand here."
    messages.success(request, told)
    return redirect("notice_list")


@login_required
@require_POST
def notice_kinds(request: HttpRequest) -> HttpResponse:
    """Choose which kinds to get: those that were offered and are not ticked are off."""
    offered = {name for name, kind, _ in kinds_for(request.user) if not kind.always}
    off = offered - set(request.POST.getlist("kind"))
    kept = set(request.user.muted) - offered  # type: ignore[union-attr]
    actions.set_muted(by=request.user, kinds=off | kept)  # type: ignore[arg-type]
    messages.success(request, "Your notification settings are saved.")
    return redirect("notice_list")


@csrf_exempt  # a mailbox posts here by itself (RFC 8058); the signed link says for whom
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def notice_stop(request: HttpRequest, token: str) -> HttpResponse:
    """The link in each mail: asks once by a button, or is posted by the person's mailbox."""
    person = actions.person_of(token)
    if request.method == "POST":
        actions.set_mail(by=person, wanted=False)
        person.wants_mail = False
    return render(
        request, "annotation/notifications/notices/stop.html", {"wants_mail": person.wants_mail}
    )
