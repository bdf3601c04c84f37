"""A worker's conversations with the people of projects. HTTP only."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_own_assignment
from annotation.conversations import actions, selectors
from annotation.conversations.forms import MessageForm, message_number, send_form
from annotation.models import Conversation, User
from crowdqc.numbers import parse_whole

PER_PAGE = 50
TEMPLATE = "annotation/conversations/own.html"
SENT = gettext_lazy("Message sent.")


def _help(pseudonym: str) -> str:
    return _("The requester sees %(pseudonym)s, never your name or e-mail.") % {
        "pseudonym": pseudonym
    }


def _context(request: HttpRequest, found: Conversation | None, **more: Any) -> dict[str, Any]:
    """The list on the left, and the conversation that is open."""
    user = cast(User, request.user)
    rows = selectors.list_own_conversations(user)
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    lines = selectors.message_lines(found) if found else []
    if found and request.method == "GET" and lines:
        actions.mark_seen(by=user, conversation=found, upto=lines[-1].message.pk)
    new = sum(one.new for one in page)  # type: ignore[attr-defined]
    return {"page": page, "open": found, "lines": lines, "new": new, **more}


@login_required
@require_safe
@never_cache
def message_list(request: HttpRequest) -> HttpResponse:
    """Page of the worker's conversations; ``task`` opens that task's."""
    user = cast(User, request.user)
    task = parse_whole(request.GET.get("task", ""))
    if task is not None:
        found = selectors.list_own_conversations(user).filter(task=task).first()
        if found is not None:
            return redirect("work_conversation", found.pk)
    return render(request, TEMPLATE, _context(request, None))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def conversation(request: HttpRequest, conversation_id: int) -> HttpResponse:
    """Page of one conversation, with a form to write."""
    user = cast(User, request.user)
    found = selectors.own_conversation(user, conversation_id)
    form = MessageForm(request.POST or None, help_text=_help(found.worker.pseudonym))
    status = 200
    if request.method == "POST":
        status = send_form(
            request,
            form,
            lambda data: actions.write_as_worker(
                by=user, worker=found.worker, task=found.task, **data
            ),
            str(SENT),
        )
        if status < 300:
            return redirect("work_conversation", found.pk)
    held = selectors.open_assignment(found.worker, found.task_id)
    back = (reverse("work_assignment", args=[held.pk]), _("Continue the task")) if held else None
    context = _context(request, found, form=form, worker=found.worker, back=back)
    return render(request, TEMPLATE, context, status=status)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def write_about_item(request: HttpRequest, assignment_id: int) -> HttpResponse:
    """Write from an assignment about the item numbered ``item``."""
    user, held = cast(User, request.user), get_own_assignment(request, assignment_id)
    about = selectors.entry_subject(held, parse_whole(request.GET.get("item", "")))
    form = MessageForm(request.POST or None, help_text=_help(held.worker.pseudonym))
    status = 200
    held.task.current = held.version
    if request.method == "POST":
        status = send_form(
            request,
            form,
            lambda data: actions.write_as_worker(
                by=user,
                worker=held.worker,
                task=held.task,
                assignment=held,
                item_id=about.item_id if about else None,
                **data,
            ),
            str(SENT),
        )
        if status < 300:
            return redirect(request.get_full_path())
    found = selectors.find_conversation(held.worker, held.task_id)
    if about is None:
        back = (reverse("work_assignment", args=[held.pk]), _("Back to the task"))
    else:
        address = reverse("work_item", args=[held.pk, about.number])
        back = (
            address,
            _("Back to %(noun)s %(number)s")
            % {"noun": pgettext("noun", about.noun), "number": about.number},
        )
    context = _context(
        request, found, form=form, worker=held.worker, task=held.task, about=about, back=back
    )
    return render(request, TEMPLATE, context, status=status)


@login_required
@require_POST
def report(request: HttpRequest, conversation_id: int) -> HttpResponse:
    """Report a message of the project's people to its managers."""
    user = cast(User, request.user)
    found = selectors.own_conversation(user, conversation_id)
    actions.report_message(by=user, conversation=found, message_id=message_number(request))
    messages.success(request, _("Reported. A manager of the project looks at it."))
    return redirect("work_conversation", found.pk)
