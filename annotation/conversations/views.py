"""Conversations of a project with its workers, and announcements. HTTP only."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import Access, get_access, get_task
from annotation.conversations import actions, selectors
from annotation.conversations.forms import MessageForm, message_number, send_form
from annotation.models import Assignment, Conversation, Role
from annotation.notifications.actions.notices import mark_read_at
from crowdqc.errors import Invalid, Missing
from crowdqc.numbers import parse_whole

PER_PAGE = 50
SENT = gettext_lazy("Message sent.")
MODERATED = {
    "remove": gettext_lazy("The message was removed."),
    "keep": gettext_lazy("The message stays."),
    "close": gettext_lazy("The conversation is closed."),
    "open": gettext_lazy("The conversation is open again."),
    "block": gettext_lazy("This worker can write no messages in the project."),
    "unblock": gettext_lazy("This worker can write messages again."),
}


@login_required
@require_safe
@never_cache
def message_list(request: HttpRequest, project_id: int) -> HttpResponse:
    """Page of conversations: waiting for an answer, reported, or all."""
    access = get_access(request, project_id)
    show = request.GET.get("show", "waiting")
    show = show if show in selectors.STATES else "waiting"
    rows = selectors.list_conversations(access.project, show)
    context = {
        "page": Paginator(rows, PER_PAGE).get_page(request.GET.get("page")),
        "show": show,
        "waiting": selectors.count_waiting(access.project),
    }
    return render(request, "annotation/conversations/list.html", context)


def _render(
    request: HttpRequest,
    access: Access,
    found: Conversation | None,
    form: MessageForm,
    status: int,
    **more: Any,
) -> HttpResponse:
    worker = found.worker if found else more["worker"]
    context = {
        "open": found,
        "lines": selectors.message_lines(found) if found else [],
        "form": form,
        "worker": worker,
        "task": found.task if found else more["task"],
        "moderates": access.is_manager and worker.user_id != access.user.pk,
        "is_own": worker.user_id == access.user.pk,
        "left": worker.removed_at is not None or worker.user_id is None,
        **more,
    }
    return render(request, "annotation/conversations/conversation.html", context, status=status)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def conversation(request: HttpRequest, project_id: int, conversation_id: int) -> HttpResponse:
    """Page of one conversation, with a form to answer."""
    access = get_access(request, project_id)
    found = selectors.get_conversation(access.project, conversation_id)
    form = MessageForm(request.POST or None)
    status = 200
    if request.method == "POST":
        status = send_form(
            request,
            form,
            lambda data: actions.write_as_staff(
                by=access.user, worker=found.worker, task=found.task, **data
            ),
            str(SENT),
        )
        if status < 300:
            return redirect("conversation", project_id, found.pk)
    elif request.method == "GET":
        mark_read_at(by=access.user, url=request.path)
    return _render(request, access, found, form, status)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def message_new(request: HttpRequest, project_id: int, assignment_id: int) -> HttpResponse:
    """Page for writing to a worker about their work, or about one item or answer."""
    access = get_access(request, project_id)
    rows = Assignment.objects.select_related("task__current", "worker__user")
    held = rows.filter(pk=assignment_id, task__project=access.project).first()
    if held is None:
        raise Missing(_("There is no such assignment in this project."))
    held.worker.project = held.task.project = access.project
    about = selectors.entry_subject(held, parse_whole(request.GET.get("item", "")))
    if about is None:
        about = selectors.answer_subject(held, parse_whole(request.GET.get("answer", "")))
    form = MessageForm(request.POST or None)
    status = 200
    if request.method == "POST":
        status = send_form(
            request,
            form,
            lambda data: actions.write_as_staff(
                by=access.user,
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
    if found:
        found.worker, found.task = held.worker, held.task
    more = {"worker": held.worker, "task": held.task, "about": about, "assignment": held}
    return _render(request, access, found, form, status, **more)


@login_required
@require_POST
def report(request: HttpRequest, project_id: int, conversation_id: int) -> HttpResponse:
    """Report a worker's message to the project's managers."""
    access = get_access(request, project_id)
    found = selectors.get_conversation(access.project, conversation_id)
    actions.report_message(by=access.user, conversation=found, message_id=message_number(request))
    messages.success(request, _("Reported. A manager of the project looks at it."))
    return redirect("conversation", project_id, found.pk)


@login_required
@require_POST
def moderate(request: HttpRequest, project_id: int, conversation_id: int) -> HttpResponse:
    """Remove or keep a message, close a conversation, block a worker; and back. By managers."""
    access = get_access(request, project_id, Role.MANAGER)
    found = selectors.get_conversation(access.project, conversation_id)
    step = request.POST.get("step", "")
    if step not in MODERATED:
        raise Invalid(_("There is no such step."), fields={"step": _("Choose one.")})
    number = message_number(request) if step in ("remove", "keep") else 0
    actions.apply_step(by=access.user, conversation=found, step=step, message_id=number)
    messages.success(request, str(MODERATED[step]))
    return redirect("conversation", project_id, found.pk)


# -- announcements ---------------------------------------------------------------------------------


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def announcements(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Page of announcements to all workers of a task, with a form for another."""
    access, task = get_task(request, project_id, task_id)
    form = MessageForm(request.POST or None, label=_("Announcement"))
    status = 200
    if request.method == "POST":
        told = _("Announcement sent.")
        status = send_form(
            request, form, lambda data: actions.announce(by=access.user, task=task, **data), told
        )
        if status < 300:
            return redirect("announcements", project_id, task.pk)
    context = {
        "task": task,
        "form": form,
        "workers": selectors.list_recipients(task).exclude(user=access.user).count(),
        "rows": selectors.list_announcements(task),
    }
    return render(request, "annotation/conversations/announcements.html", context, status=status)


@login_required
@require_POST
def announcement_remove(
    request: HttpRequest, project_id: int, task_id: int, announcement_id: int
) -> HttpResponse:
    """Remove an announcement: its author, or a manager."""
    access, task = get_task(request, project_id, task_id)
    found = selectors.get_announcement(task, announcement_id)
    actions.remove_announcement(by=access.user, announcement=found, is_manager=access.is_manager)
    messages.success(request, _("The announcement was removed."))
    return redirect("announcements", project_id, task.pk)
