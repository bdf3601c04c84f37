"""The builder: every field saves itself; the answer carries the state, preview and cost back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import Access, get_task
from annotation.actions import drafts, items, tasks
from annotation.actions.people import current_consent_text
from annotation.models import Item, ItemGroup, Role, Task
from annotation.selectors.build import TEXTS_PER_PAGE, Build, asks_twice
from crowdqc.errors import Conflict, Invalid
from crowdqc.htmx import page_or_fragment

from .place import Place

RULES = (
    "title", "instructions", "order", "redundancy", "items_per_assignment", "lease_minutes",
    "min_seconds", "pay", "bonus_note",
)  # fmt: skip


def _context(access: Access, task: Task, place: Place) -> dict[str, Any]:
    """What every fragment of the builder may show."""
    build = Build(task)
    item = build.item(place.question)
    if item is not None and place.page == "1":
        place = place.but(page=str(build.page_of(item)))
    page, rows = build.question_page(place.page)
    shown = item or next((row.item for row in rows), None)
    group = build.group(place.text) or (shown.group if shown else build.groups.first())
    if place.text and shown and group and shown.group_id != group.pk:
        shown = build.items.filter(group=group).first() or shown
    missing = build.missing()
    return {
        "access": access,
        "project": task.project,
        "task": task,
        "build": build,
        "version": build.version,
        "place": place,
        "page": page,
        "rows": rows,
        "open_item": item,
        "group": group,
        "texts": build.text_page(place.page if place.part == "text" else 1),
        "missing": missing,
        "cost": build.cost(),
        "answers": build.answers() if task.current_id else 0,
        "here": reverse("task_build", args=[task.project_id, task.pk]),
        **_preview(build, shown, rows),
        **_republishing(build, missing),
        **({"consent": current_consent_text(task.project)} if place.part == "consent" else {}),
    }


def _preview(build: Build, item: Item | None, rows: list[Any]) -> dict[str, Any]:
    """One question as a worker sees it, with the ones before and after it."""
    keys = [row.item.key for row in rows]
    number = keys.index(item.key) if item and item.key in keys else 0
    size = min(build.version.items_per_assignment, build.questions) or 1
    first = number // size * size
    segments = [
        {"state": "done" if n < number - first else "current" if n == number - first else "open",
         "label": f"Question {n + 1}"}
        for n in range(min(size, 40))
    ]  # fmt: skip
    return {
        "shown": item,
        "shown_settings": {**build.version.settings, **(item.settings if item else {})},
        "segments": segments,
        "shown_number": number - first + 1,
        "shown_of": size,
        "before": keys[number - 1] if number else "",
        "after": keys[number + 1] if number + 1 < len(keys) else "",
        "answer_template": build.type.answer_template,
        "builder_template": build.type.builder_template,
        "entry": _entry(item, number - first),
        "open_hint": item is not None and asks_twice(item.question),
        "preview": True,
    }


def _entry(item: Item | None, position: int) -> SimpleNamespace | None:
    """A question as the worker's templates want it, with nothing answered."""
    if item is None:
        return None
    return SimpleNamespace(item=item, item_id=item.pk, position=position, draft={})


def _republishing(build: Build, missing: list[Any]) -> dict[str, Any]:
    """In words, what publishing over an older version does to its answers."""
    if not build.is_draft or not build.task.current_id or missing:
        return {}
    changes = build.changes()
    words = changes.words() or ["no question changed"]
    sentences = [f"Version {build.version.number}: {', '.join(words)}."]
    kept = build.touched_answers(changes)
    if changes.changed:
        sentences.append(
            f"{kept:,} answers to the old wording stay with version {build.version.number - 1} "
            "and are not pooled with new ones."
        )
    sentences.append("Answers to all other questions count on.")
    sentences.append("Whoever is working now keeps the version and the pay they began with.")
    return {"republishing": " ".join(sentences)}


def _find(request: HttpRequest, project_id: int, task_id: int) -> tuple[Access, Task]:
    return get_task(request, project_id, task_id, Role.REQUESTER)


def _saved(request: HttpRequest, access: Access, task: Task, note: dict[str, Any]) -> HttpResponse:
    """The note beside the field just saved, and everything that depends on it, out of band."""
    place = Place.of(request)
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect(reverse("task_build", args=[task.project_id, task.pk]) + place.query)
    context = {**_context(access, task, place), **note}
    return render(request, "annotation/requester/_saved.html", context)


def _refused(request: HttpRequest, access: Access, task: Task, error: Invalid) -> HttpResponse:
    """What is wrong, in the place of the field's help; nothing was saved."""
    if request.htmx:  # type: ignore[attr-defined]
        context = {"error": error}
        return render(request, "annotation/requester/_field_error.html", context, status=422)
    context = {**_context(access, task, Place.of(request)), "refused": error}
    return render(request, "annotation/requester/build.html", context, status=422)


def _settings_of(post: QueryDict, names: Any) -> dict[str, Any]:
    """Settings of the type present in a form; ``has_NAME`` stands for an unticked box."""
    return {
        name: post.get(name, "") if name in post else False
        for name in names
        if name in post or f"has_{name}" in post
    }


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def task_build(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Show a part of the builder, or save the fields of the version that are sent."""
    access, task = _find(request, project_id, task_id)
    if request.method != "POST":
        return page_or_fragment(
            request,
            "annotation/requester/build.html",
            "annotation/requester/_builder.html",
            _context(access, task, Place.of(request)),
        )
    version = Build(task).version
    fields: dict[str, Any] = {name: request.POST[name] for name in RULES if name in request.POST}
    settings = _settings_of(request.POST, version.settings)
    if settings:
        fields["settings"] = settings
    try:
        drafts.edit_draft(by=access.user, task=task, fields=fields)
    except Invalid as error:
        return _refused(request, access, task, error)
    name = next(iter(request.POST.keys() & set(RULES)), "settings")
    return _saved(request, access, task, {"note": name})


def _item(build: Build, key: str) -> Item:
    item = build.item(key)
    if item is None:
        raise Conflict("This question was removed meanwhile. Reload the page.")
    return item


def _group(build: Build, key: str) -> ItemGroup:
    group = build.group(key)
    if group is None:
        raise Conflict("This text was removed meanwhile. Reload the page.")
    return group


@login_required
@require_POST
def task_build_question(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Save the wording and settings of one question, named by its key."""
    access, task = _find(request, project_id, task_id)
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
        return _refused(request, access, task, error)
    return _saved(request, access, task, {"note": "question"})


@login_required
@require_POST
def task_build_add(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """A new empty question at the end of the text that is shown, opened for writing."""
    access, task = _find(request, project_id, task_id)
    build, place = Build(task), Place.of(request)
    group = build.group(request.POST.get("text", "") or place.text)
    shown = build.item(place.question)
    item = items.save_item(
        by=access.user, task=task, group=group or (shown.group if shown else None), question=""
    )
    return _moved(
        request, access, task, place.but(question=item.key, page="1", text=""), focus=True
    )


def _moved(
    request: HttpRequest, access: Access, task: Task, place: Place, *, focus: bool = False
) -> HttpResponse:
    """The whole builder after rows were added, moved or removed."""
    url = reverse("task_build", args=[task.project_id, task.pk]) + place.query
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect(url)
    context = {**_context(access, task, place), "with_header": True, "focus": focus}
    response = render(request, "annotation/requester/_builder.html", context)
    response["HX-Replace-Url"] = url
    return response


@login_required
@require_POST
def task_build_remove(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Take the open question out of the draft."""
    access, task = _find(request, project_id, task_id)
    place = Place.of(request)
    items.remove_item(by=access.user, task=task, item=_item(Build(task), place.question))
    return _moved(request, access, task, place.but(question=""))


@login_required
@require_POST
def task_build_move(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Move a question within its text: one ``up`` or ``down``, or before or after ``beside``."""
    access, task = _find(request, project_id, task_id)
    build, place = Build(task), Place.of(request)
    item = _item(build, request.POST.get("key", "") or place.question)
    keys = list(build.items.filter(group=item.group_id).values_list("key", flat=True))
    index = _target(keys, item.key, request.POST)
    items.place(by=access.user, task=task, row=item, index=index)
    return _moved(request, access, task, place)


def _target(keys: list[str], key: str, post: QueryDict) -> int:
    """The wanted index among ``keys``; Invalid where it cannot be."""
    now, beside = keys.index(key), post.get("beside", "")
    if beside:
        if beside not in keys:
            raise Invalid(
                "A question moves within its text.", fields={"beside": "Not in the same text."}
            )
        return keys.index(beside)
    step = {"up": -1, "down": 1}.get(post.get("to", ""))
    if step is None:
        raise Invalid("There is no such move.", fields={"to": "up or down."})
    return now + step


@login_required
@require_POST
def task_build_text(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Save a text: its title, passage, and whether the worker may look back."""
    access, task = _find(request, project_id, task_id)
    build, place, post = Build(task), Place.of(request), request.POST
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
        group = items.save_group(by=access.user, task=task, group=group, **now)
    except Invalid as error:
        return _refused(request, access, task, error)
    name = "passage" if "passage" in post else "look_back" if "look_back" in now else "title"
    return _saved(request, access, task, {"note": name, "noted_group": group})


@login_required
@require_POST
def task_build_text_step(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Add a text, take one out with its questions, or move it ``up`` or ``down``."""
    access, task = _find(request, project_id, task_id)
    build, place, to = Build(task), Place.of(request), request.POST.get("to", "")
    if to == "add":
        group = items.save_group(by=access.user, task=task)
        last = build.texts // TEXTS_PER_PAGE + 1
        return _moved(request, access, task, place.but(text=group.key, page=str(last)))
    group = _group(build, place.text)
    if to == "remove":
        items.remove_group(by=access.user, task=task, group=group)
        return _moved(request, access, task, place.but(text=""))
    keys = list(build.groups.values_list("key", flat=True))
    index = _target(keys, group.key, request.POST)
    items.place(by=access.user, task=task, row=group, index=index)
    return _moved(request, access, task, place)


@login_required
@require_POST
def task_publish(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Freeze the draft and open the task; ``discard`` throws the draft away instead."""
    access, task = _find(request, project_id, task_id)
    if request.POST.get("discard"):
        tasks.discard_draft(by=access.user, task=task)
        messages.success(request, "The draft is discarded. The published version stands.")
        return redirect("task", project_id, task_id)
    version = tasks.publish(by=access.user, task=task)
    messages.success(request, f"Version {version.number} is published and the task is open.")
    return redirect("task", project_id, task_id)


@login_required
@require_safe
def task_preview(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Every question as a worker sees it, one a page; nothing is recorded."""
    access, task = get_task(request, project_id, task_id)
    build = Build(task)
    raw = request.GET.get("n", "1")
    number = int(raw) if raw.isascii() and raw.isdigit() and len(raw) < 8 else 1
    number = min(max(1, number), max(1, build.questions))
    item = build.items[number - 1 : number].first() if build.questions else None
    size = max(1, min(build.version.items_per_assignment, build.questions))
    first = (number - 1) // size * size
    segments = [
        {
            "state": "current" if n + 1 == number else "done" if n + 1 < number else "open",
            "label": f"Question {n + 1}",
            "url": f"?n={n + 1}",
        }
        for n in range(first, min(first + size, build.questions, first + 60))
    ]
    context = {
        "access": access, "project": task.project, "task": task, "version": build.version,
        "item": item, "number": number, "total": build.questions, "segments": segments,
        "in_bundle": number - first, "bundle": min(size, build.questions - first),
        "settings": {**build.version.settings, **(item.settings if item else {})},
        "entry": _entry(item, number - first - 1), "group": item.group if item else None,
        "preview": True,
        "answer_template": build.type.answer_template, "cost": build.cost(),
    }  # fmt: skip
    return render(request, "annotation/requester/preview.html", context)
