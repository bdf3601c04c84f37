"""Items and answers of a task as lists, and one item. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import Access, get_item, get_task, open_to_viewers, require_trace_reader
from annotation.chats.page import chat_page
from annotation.files.writing.tables import EVERY, FORMATS, Table
from annotation.formats.selectors.files import LARGE, size_of
from annotation.lists.pages import list_page
from annotation.models import Task
from crowdqc.errors import Missing
from evaluation.items.joined import JOINED, JoinedTable
from evaluation.items.listing import answer_listing, item_listing
from evaluation.items.selectors import item_page
from evaluation.runs.exports.own_ids import own_ids
from evaluation.runs.selectors.lists import title_of


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@open_to_viewers
def task_items(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """The items of a task, with their answers and how far these lie apart."""
    access, task = get_task(request, project_id, task_id)
    require_trace_reader(access, task)
    context = {"task": task, "title": title_of(task), "total": task.items.count()}
    listing = item_listing(access, task)
    return list_page(request, access, listing, "evaluation/items/items.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@open_to_viewers
def task_answers(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """The answers of a task, and which of them count."""
    access, task = get_task(request, project_id, task_id)
    require_trace_reader(access, task)
    context = {"task": task, "title": title_of(task)}
    listing = answer_listing(access, task)
    return list_page(request, access, listing, "evaluation/items/answers.html", context)


@login_required
@require_safe
@open_to_viewers
def task_item(request: HttpRequest, project_id: int, task_id: int, item_id: int) -> HttpResponse:
    """One item: its answers, labels, scores, logs and history."""
    access, task, item = get_item(request, project_id, task_id, item_id)
    require_trace_reader(access, task)
    shown = item_page(task, item, request.GET.get("page"))
    context = {"task": task, "title": title_of(task), "item": item, "shown": shown}
    if item.chat is not None:
        chat = chat_page(item.chat, facts=True)
        context |= {"chat": chat, "heading": chat.first_words}
    return render(request, "evaluation/items/item.html", context)


@login_required
@require_safe
@open_to_viewers
def task_table(request: HttpRequest, project_id: int, task_id: int, form: str) -> HttpResponseBase:
    """The items with texts, own columns, votes and labels in one file, or a way to have it."""
    access, task = _published(request, project_id, task_id)
    if form not in EVERY:
        raise Missing(_("There is no format %(format)s.") % {"format": repr(form)})
    if size_of(task) > LARGE:
        return redirect(f"{reverse('files_list', args=[project_id])}?task={task.pk}#ask")
    return _sent(task, JOINED, JoinedTable(task, ids=own_ids(access, task)).table(), form)


@login_required
@require_safe
@open_to_viewers
def task_columns(request: HttpRequest, project_id: int, task_id: int) -> HttpResponseBase:
    """What each column of the joined table holds."""
    access, task = _published(request, project_id, task_id)
    joined = JoinedTable(task, ids=own_ids(access, task))
    return _sent(task, f"{JOINED}-columns", joined.dictionary(), "csv")


def _published(request: HttpRequest, project_id: int, task_id: int) -> tuple[Access, Task]:
    """Return access and task; Missing where nothing was ever published."""
    access, task = get_task(request, project_id, task_id)
    require_trace_reader(access, task)
    if task.current_id is None:
        raise Missing(_("The task was never published."))
    return access, task


def _sent(task: Task, name: str, table: Table, form: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(table.parts(form), content_type=FORMATS[form])
    response["Content-Disposition"] = f'attachment; filename="task-{task.pk}-{name}.{form}"'
    return response
