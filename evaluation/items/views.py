"""Items and answers of a task as lists, and one item. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import get_item, get_task, open_to_viewers, require_trace_reader
from annotation.chats.page import chat_page
from annotation.lists.pages import list_page
from evaluation.items.listing import answer_listing, item_listing
from evaluation.items.selectors import item_page
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
