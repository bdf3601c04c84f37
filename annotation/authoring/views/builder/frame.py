"""The builder: every field saves itself; the answer carries the state, preview and cost back."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_task, open_to_viewers
from annotation.authoring.actions import drafts, items
from annotation.authoring.selectors.builder.frame import TEXTS_PER_PAGE, Build
from annotation.authoring.views.builder.context import (
    context_of,
    field_refused,
    field_saved,
    find,
    place_of,
    rows_changed,
)
from annotation.authoring.views.builder.parts import builder_of, entry_of
from annotation.models import Item, ItemGroup
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import parse_whole
from crowdqc.web.htmx import page_or_fragment

RULES = (
    "title",
    "instructions",
    "order",
    "redundancy",
    "items_per_assignment",
    "lease_minutes",
    "min_seconds",
    "expected_minutes",
    "pay",
    "bonus_note",
)
# Settings that have views of their own (build_pairs, build_writing).
OTHERWISE = {
    "dimensions",
    "scales",
    "design",
    "left_out",
    "made",
    "styles",
    "entry",
    "exit",
    "questions",
    "fields",
    "version",
}


def _settings_of(post: QueryDict, names: Any) -> dict[str, Any]:
    """Settings of the type present in a form; ``has_NAME`` stands for an unticked box."""
    return {
        name: post.get(name, "") if name in post else False
        for name in names
        if name not in OTHERWISE and (name in post or f"has_{name}" in post)
    }


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def task_build(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Show a part of the builder, or save the fields of the version that are sent."""
    access, task = find(request, project_id, task_id)
    if request.method != "POST":
        return page_or_fragment(
            request,
            "annotation/authoring/builder/build.html",
            "annotation/authoring/builder/_builder.html",
            context_of(access, task, place_of(request, task)),
        )
    version = Build(task).version
    fields: dict[str, Any] = {name: request.POST[name] for name in RULES if name in request.POST}
    settings = _settings_of(request.POST, version.settings)
    if settings:
        fields["settings"] = settings
    try:
        drafts.edit_draft(by=access.user, task=task, fields=fields)
    except Invalid as error:
        return field_refused(request, access, task, error)
    if builder_of(task).redrawn_by & request.POST.keys():
        return rows_changed(request, access, task, place_of(request, task))
    name = next(iter(request.POST.keys() & {*RULES, "caption"}), "settings")
    return field_saved(request, access, task, {"note": name})


def _item(build: Build, key: str) -> Item:
    item = build.item(key)
    if item is None:
        raise Conflict(_("This question was removed meanwhile. Reload the page."))
    return item


def _group(build: Build, key: str) -> ItemGroup:
    group = build.group(key)
    if group is None:
        raise Conflict(_("This text was removed meanwhile. Reload the page."))
    return group


@login_required
@require_POST
def task_build_question(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Save the wording and settings of one question, named by its key."""
    access, task = find(request, project_id, task_id)
    build = Build(task)
    item = _item(build, request.GET.get("question", ""))
    sent = _settings_of(request.POST, build.version.settings)
    try:
        items.save_item(
            by=access.user,
            task=task,
            item=item,
            question=request.POST.get("question", item.question),
            settings={**build.version.settings, **item.settings, **sent} if sent else None,
        )
    except Invalid as error:
        return field_refused(request, access, task, error)
    return field_saved(request, access, task, {"note": "question"})


@login_required
@require_POST
def task_build_add(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """A new empty question at the end of the text that is shown, opened for writing."""
    access, task = find(request, project_id, task_id)
    build, place = Build(task), place_of(request, task)
    group = build.group(request.POST.get("text", "") or place.text)
    shown = build.item(place.question)
    item = items.save_item(
        by=access.user, task=task, group=group or (shown.group if shown else None), question=""
    )
    return rows_changed(
        request, access, task, place.with_changes(question=item.key, page="1", text=""), focus=True
    )


@login_required
@require_POST
def task_build_remove(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Take the open question out of the draft."""
    access, task = find(request, project_id, task_id)
    place = place_of(request, task)
    items.remove_item(by=access.user, task=task, item=_item(Build(task), place.question))
    return rows_changed(request, access, task, place.with_changes(question=""))


@login_required
@require_POST
def task_build_move(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Move a question within its text: one ``up`` or ``down``, or before or after ``beside``."""
    access, task = find(request, project_id, task_id)
    build, place = Build(task), place_of(request, task)
    item = _item(build, request.POST.get("key", "") or place.question)
    keys = list(build.items.filter(group=item.group_id).values_list("key", flat=True))
    index = _target(keys, item.key, request.POST)
    items.place_item(by=access.user, task=task, row=item, index=index)
    return rows_changed(request, access, task, place)


def _target(keys: list[str], key: str, post: QueryDict) -> int:
    """The wanted index among ``keys``; Invalid where it cannot be."""
    now, beside = keys.index(key), post.get("beside", "")
    if beside:
        if beside not in keys:
            raise Invalid(
                _("A question moves within its text."),
                fields={"beside": _("Not in the same text.")},
            )
        return keys.index(beside)
    step = {"up": -1, "down": 1}.get(post.get("to", ""))
    if step is None:
        raise Invalid(_("There is no such move."), fields={"to": _("up or down.")})
    return now + step


@login_required
@require_POST
def task_build_text(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Save a text: its title, passage, category, and whether the worker may look back."""
    access, task = find(request, project_id, task_id)
    build, place, post = Build(task), place_of(request, task), request.POST
    group = build.groups.first()
    now: dict[str, Any] = {"title": "", "passage": "", "look_back": True}
    if place.text:
        group = _group(build, place.text)
    if group is not None:
        now = {"title": group.title, "passage": group.passage, "look_back": group.look_back}
    if "group_title" in post:
        now["title"] = post["group_title"]
    if "passage" in post:
        now["passage"] = post["passage"]
    if "look_back" in post or "has_look_back" in post:
        now["look_back"] = post.get("look_back") in ("1", "on", "true")
    try:
        if "category" in post and group is not None:
            items.set_category(by=access.user, task=task, group=group, category=post["category"])
            return field_saved(request, access, task, {"note": "category", "noted_group": group})
        group = items.save_group(by=access.user, task=task, group=group, **now)
    except Invalid as error:
        return field_refused(request, access, task, error)
    fields = ("passage", "group_title", "look_back")
    name = next((one for one in fields if one in post), "look_back")
    return field_saved(request, access, task, {"note": name, "noted_group": group})


@login_required
@require_POST
def task_build_text_step(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Add a text, take one out with its questions, or move it ``up`` or ``down``."""
    access, task = find(request, project_id, task_id)
    build, place, to = Build(task), place_of(request, task), request.POST.get("to", "")
    if to == "add":
        group = items.save_group(by=access.user, task=task)
        last = build.texts // TEXTS_PER_PAGE + 1
        return rows_changed(
            request, access, task, place.with_changes(text=group.key, page=str(last))
        )
    group = _group(build, place.text)
    if to == "remove":
        items.remove_group(by=access.user, task=task, group=group)
        return rows_changed(request, access, task, place.with_changes(text=""))
    keys = list(build.groups.values_list("key", flat=True))
    index = _target(keys, group.key, request.POST)
    items.place_item(by=access.user, task=task, row=group, index=index)
    return rows_changed(request, access, task, place)


@login_required
@require_safe
@open_to_viewers
def task_preview(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Every question as a worker sees it, one a page; nothing is recorded."""
    access, task = get_task(request, project_id, task_id)
    build = Build(task)
    builder = builder_of(task, build.version)
    number = parse_whole(request.GET.get("n", "1"), low=1) or 1
    number = min(number, max(1, build.questions))
    item = build.nth(number)
    # The part of the builder that one came from, and goes back to.
    part = request.GET.get("part", "")
    part = part if part in builder.parts else ""
    keep = f"&part={part}" if part else ""
    size = max(1, min(build.version.items_per_assignment, build.questions))
    first = (number - 1) // size * size
    segments = [
        {
            "state": "current" if n + 1 == number else "done" if n + 1 < number else "open",
            "label": f"{pgettext('noun', build.noun).capitalize()} {n + 1}",
            "url": f"?n={n + 1}{keep}",
        }
        for n in range(first, min(first + size, build.questions))
    ]
    settings = {**build.version.settings, **(item.settings if item else {})}
    context = {
        "access": access,
        "project": task.project,
        "task": task,
        "version": build.version,
        "build": build,
        "builder": builder,
        "page_template": builder.page_template,
        "item": item,
        "number": number,
        "total": build.questions,
        "segments": segments,
        "in_bundle": number - first,
        "bundle": min(size, build.questions - first),
        "settings": settings,
        "entry": entry_of(item, number - first - 1),
        "group": item.group if item else None,
        "preview": True,
        "part": part,
        "keep": keep,
        "answer_template": build.type.answer_template,
        "cost": build.cost(),
    }
    if item is not None:
        context |= builder.previewed(build, item, settings, size)
    return render(request, "annotation/authoring/builder/preview.html", context)
