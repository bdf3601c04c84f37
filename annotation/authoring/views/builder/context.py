"""What every page and fragment of the builder shows, and how a save or a refusal is answered."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation.access import Access, get_task
from annotation.accounts.projects.actions import current_consent_text
from annotation.authoring.selectors.builder.checklist import checked
from annotation.authoring.selectors.builder.frame import Build, asks_twice
from annotation.authoring.selectors.builder.pairs import (
    PairBuild,
    shown_item,
    sources_of,
    unused_topics,
)
from annotation.authoring.selectors.builder.rating import RatingBuild
from annotation.authoring.selectors.builder.think_aloud import thought
from annotation.authoring.selectors.builder.writing import WritingBuild
from annotation.authoring.views.builder.place import Place
from annotation.models import Item, Role, Task
from annotation.task_types import get_type
from annotation.task_types.pairwise import page as judging
from annotation.task_types.rating import page as rating
from annotation.task_types.rating.type import DOCUMENT
from annotation.task_types.writing import page as writing
from annotation.task_types.writing.type import ENTRY, EXIT, FORBIDDEN
from crowdqc.errors import Invalid

# Where the templates of the builder lie, and which parts a shape has of its own.
FOLDER = "annotation/authoring"
JUDGED_PARTS = {"text", "asked", "texts", "pairs"}
RATING_PARTS = {"rules", "documents"}
WANTED = (("none", "None"), ("optional", "Optional"), ("required", "Required"))
OWN_PARTS: dict[str, tuple[str, set[str]]] = {
    "texts": (FOLDER, set()),
    "responses": (f"{FOLDER}/writing", {"text", "styles", "topics", "forms", "order"}),
    "pairs": (f"{FOLDER}/pairs", JUDGED_PARTS),
    "ratings": (f"{FOLDER}/pairs", JUDGED_PARTS),
    "documents": (f"{FOLDER}/pairs", JUDGED_PARTS),
    "attributes": (f"{FOLDER}/think", {"text", "dimensions", "order"}),
    "checks": (f"{FOLDER}/checklist", {"text", "asked", "texts"}),
}


def find(request: HttpRequest, project_id: int, task_id: int) -> tuple[Access, Task]:
    """The task of a requester."""
    return get_task(request, project_id, task_id, Role.REQUESTER)


def place_of(request: HttpRequest, task: Task) -> Place:
    """Where in the task's builder the request is."""
    shape = get_type(task.type).shape
    return Place.of(request, "documents" if shape == "ratings" and of_documents(task) else shape)


def of_documents(task: Task) -> bool:
    """Whether the newest version of a rating task is about documents."""
    newest = task.versions.order_by("-number").values_list("settings__layout", flat=True)
    return newest.first() == DOCUMENT


def context_of(access: Access, task: Task, place: Place) -> dict[str, Any]:
    """What every fragment of the builder may show."""
    build = Build(task)
    documents = place.shape == "documents"
    shown = _documents if documents else SHOWN.get(build.shape, _judged)
    missing = build.missing()
    folder, parts = OWN_PARTS[place.shape]
    part = f"{folder if place.part in parts else FOLDER}/_part_{place.part}.html"
    if place.part in RATING_PARTS:
        part = f"{FOLDER}/rating/_part_{place.part}.html"
    return {
        "access": access,
        "project": task.project,
        "task": task,
        "build": build,
        "version": build.version,
        "place": place,
        "part_template": part,
        "preview_template": f"{FOLDER}/rating/_preview.html"
        if documents
        else f"{folder}/_preview.html",
        "wanted": WANTED,
        "missing": missing,
        "cost": build.cost(),
        "answers": build.answers() if task.current_id else 0,
        "here": reverse("task_build", args=[task.project_id, task.pk]),
        "save_to": _save_to(task, place),
        "answer_template": build.type.answer_template,
        "builder_template": build.type.builder_template,
        "preview": True,
        **shown(build, place),
        **_republishing(build, missing),
        **({"consent": current_consent_text(task.project)} if place.part == "consent" else {}),
    }


def _save_to(task: Task, place: Place) -> str:
    """Where the part's form goes without scripts."""
    own = {
        "asked": "task_build_asked",
        "pairs": "task_build_pairs",
        "forms": "task_build_rows",
        "rules": "task_build_rating",
        "documents": "task_build_document",
        "topics": "task_build_topic",
        "dimensions": "task_build_dimension",
    }
    name = own.get(place.part, "task_build")
    if place.shape == "checks" and place.part == "asked":
        name = "task_build_line"
    return reverse(name, args=[task.project_id, task.pk])


# A task of questions ---------------------------------------------------------------------------


def _questions(build: Build, place: Place) -> dict[str, Any]:
    """Questions and texts of a task that asks for answers, and the preview of one."""
    item = build.item(place.question)
    if item is not None and place.page == "1":
        place = place.but(page=str(build.page_of(item)))
    page, rows = build.question_page(place.page)
    shown = item or next((row.item for row in rows), None)
    group = build.group(place.text) or (shown.group if shown else build.groups.first())
    if place.text and shown and group and shown.group_id != group.pk:
        shown = build.items.filter(group=group).first() or shown
    return {
        "place": place,
        "page": page,
        "rows": rows,
        "open_item": item,
        "group": group,
        "texts": build.text_page(place.page if place.part == "text" else 1),
        **_preview(build, shown, rows),
    }


def _preview(build: Build, item: Item | None, rows: list[Any]) -> dict[str, Any]:
    """One question as a worker sees it, with the ones before and after it."""
    keys = [row.item.key for row in rows]
    number = keys.index(item.key) if item and item.key in keys else 0
    size = min(build.version.items_per_assignment, build.questions) or 1
    first = number // size * size
    return {
        "shown": item,
        "shown_settings": {**build.version.settings, **(item.settings if item else {})},
        "segments": _segments(size, number - first, build.noun),
        "shown_number": number - first + 1,
        "shown_of": size,
        "before": keys[number - 1] if number else "",
        "after": keys[number + 1] if number + 1 < len(keys) else "",
        "entry": entry_of(item, number - first),
        "open_hint": item is not None and asks_twice(item.question),
    }


def _segments(size: int, current: int, noun: str) -> list[dict[str, str]]:
    return [
        {
            "state": "done" if n < current else "current" if n == current else "open",
            "label": f"{noun.capitalize()} {n + 1}",
        }
        for n in range(min(size, 40))
    ]


def entry_of(item: Item | None, position: int) -> SimpleNamespace | None:
    """An item as the worker's templates want it, with nothing answered."""
    if item is None:
        return None
    return SimpleNamespace(item=item, item_id=item.pk, position=position, draft={})


# A task that judges texts ----------------------------------------------------------------------


def _judged(build: Build, place: Place) -> dict[str, Any]:
    """The open part of a task that judges texts, and the preview of a pair or text."""
    pairs, version = PairBuild(build), build.version
    item = shown_item(build, place.question if place.part == "pairs" else "")
    size = min(version.items_per_assignment, build.questions) or 1
    found: dict[str, Any] = {
        "pairs": pairs,
        "asked": version.settings.get("dimensions") or version.settings.get("scales"),
        "settings": version.settings,
        "shown_item": item,
        "shown_of": size,
        "segments": _segments(size, 0, build.noun),
        "entry": entry_of(item, 0),
        "brief": True,
        "answered": 0,
        "lines": judging.lines(version.settings, {}),
    }
    if item is not None:
        found |= judging.page(item, version.settings, {}, sources=version.settings["show_sources"])
    if place.part == "texts":
        page, topics = pairs.topics(place.page)
        texts, others = unused_topics(build.task, version)
        found |= {
            "page": page,
            "topics": topics,
            "answer_tasks": sources_of(build.task),
            "unused_texts": texts,
            "unused_topics": others,
        }
    if place.part == "pairs":
        page, rows = pairs.pairs(place.page)
        found |= {"page": page, "rows": rows, "attention_topic": pairs.topic(place.text)}
    return found


# A task that rates answers beside documents -------------------------------------------------------


def _documents(build: Build, place: Place) -> dict[str, Any]:
    """The open part of a task of documents, and the preview of an answer beside one."""
    own, settings = RatingBuild(build), build.version.settings
    group = build.group(place.text)
    item = own.shown(group, place.question)
    size = min(build.version.items_per_assignment, build.questions) or 1
    found: dict[str, Any] = {
        "pairs": PairBuild(build),
        "asked": settings["scales"],
        "settings": settings,
        "segments": _segments(size, 0, "answer"),
        "document": group,
        "shown_item": item,
        **previewed_rating(item, settings, size),
    }
    if place.part == "documents":
        if group is not None and place.page == "1":
            found["place"] = place = place.but(page=str(own.page_of(group)))
        page, rows = own.documents(place.page)
        found |= {"page": page, "rows": rows, "answers_of": own.answers(group) if group else []}
    return found


def previewed_rating(item: Item | None, settings: dict[str, Any], size: int) -> dict[str, Any]:
    """What a preview shows of an answer beside its document; without one, the scales alone."""
    lines = judging.lines(settings, {})
    if item is None:
        asked = settings.get("explanation") or {}
        return {
            "lines": lines,
            "brief": True,
            "answered": 0,
            "evidence": "none",
            "wants_explanation": asked.get("wanted", "none") != "none",
            "explanation_required": asked.get("wanted") == "required",
            "least_words": asked.get("min_words", 1),
            "explanation_words": 0,
        }
    own: dict[str, Any] = {**settings, **item.settings}
    entry: Any = entry_of(item, 0)
    return {
        **judging.page(item, own, {}, sources=False),
        **rating.page(entry, own, size),
        "entry": entry,
        "brief": True,
    }


# A task that asks for responses -----------------------------------------------------------------


def _written(build: Build, place: Place) -> dict[str, Any]:
    """The open part of a task that asks for responses, and the preview of one."""
    own, version = WritingBuild(build), build.version
    topic = build.group(place.text)
    style = place.question if place.part == "styles" else ""
    found: dict[str, Any] = {
        "writing": own,
        "settings": version.settings,
        "place": place,
        "topic": topic,
        **previewed(build, own.shown(topic, style), style),
    }
    if place.part == "forms":
        stage = place.question.partition(".")[0]
        stage = stage if stage in (ENTRY, EXIT) else ENTRY
        found |= {"stage": stage, "shown_form": found[f"{stage}_form"]}
    if place.part == "topics":
        if topic is not None and place.page == "1":
            found["place"] = place = place.but(page=str(own.page_of(topic)))
        page, rows = own.topics(place.page)
        found |= {"page": page, "rows": rows, "cited": own.passages(topic) if topic else []}
    return found


def previewed(build: Build, item: Item | None, style: str = "") -> dict[str, Any]:
    """What the preview shows of a response: query, style, rules, passages, both forms."""
    settings: dict[str, Any] = {**build.version.settings, **(item.settings if item else {})}
    if item is None:
        settings["style"] = style or settings["styles"][0]["name"]
    return {
        "shown_item": item,
        "shown_settings": settings,
        "entry": entry_of(item, 0),
        "style": writing.style_of(settings),
        "forbidden": settings["tools"] == FORBIDDEN,
        "passages": writing.passages(item.group, settings) if item else [],
        "entry_form": writing.form(ENTRY, {}, settings, named=False),
        "exit_form": writing.form(EXIT, {}, settings, named=False),
    }


# What the builder shows of a task, where it is not one of pairs or ratings.
SHOWN = {"texts": _questions, "responses": _written, "attributes": thought, "checks": checked}


def summary_of(access: Access, task: Task) -> dict[str, Any]:
    """What publishing asks of people and money."""
    build = Build(task)
    settings = build.version.settings
    return {
        "access": access,
        "project": task.project,
        "task": task,
        "build": build,
        "version": build.version,
        "cost": build.cost(),
        "pairs": PairBuild(build) if build.shape in ("pairs", "ratings", "checks") else None,
        "asked": settings.get("dimensions") or settings.get("scales") or settings.get("questions"),
    }


# Answers to a save -----------------------------------------------------------------------------


def _republishing(build: Build, missing: list[Any]) -> dict[str, Any]:
    """In words, what publishing over an older version does to its answers."""
    if not build.is_draft or not build.task.current_id or missing:
        return {}
    changes, noun = build.changes(), build.noun
    words = changes.words(noun) or [f"no {noun} changed"]
    sentences = [f"Version {build.version.number}: {', '.join(words)}."]
    kept = build.touched_answers(changes)
    if changes.changed:
        sentences.append(
            f"{kept:,} answers to the old wording stay with version {build.version.number - 1} "
            "and are not pooled with new ones."
        )
    sentences.append(f"Answers to all other {noun}s count on.")
    sentences.append("Whoever is working now keeps the version and the pay they began with.")
    return {"republishing": " ".join(sentences)}


def address_of(task: Task, place: Place) -> str:
    """The builder's address at a place."""
    return reverse("task_build", args=[task.project_id, task.pk]) + place.query


def saved(request: HttpRequest, access: Access, task: Task, note: dict[str, Any]) -> HttpResponse:
    """The note beside the field just saved, and everything that depends on it, out of band."""
    place = place_of(request, task)
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect(address_of(task, place))
    context = {**context_of(access, task, place), **note}
    return render(request, "annotation/authoring/_saved.html", context)


def refused(
    request: HttpRequest, access: Access, task: Task, error: Invalid, *, into: str = ""
) -> HttpResponse:
    """What is wrong, in the place of the field's help (or ``into`` it); nothing was saved."""
    if request.htmx:  # type: ignore[attr-defined]
        context = {"error": error, "step": bool(into)}
        found = render(request, "annotation/authoring/_field_error.html", context, status=422)
        if into:
            found["HX-Retarget"], found["HX-Reswap"] = into, "innerHTML"
        return found
    context = {**context_of(access, task, place_of(request, task)), "refused": error}
    return render(request, "annotation/authoring/build.html", context, status=422)


def moved(
    request: HttpRequest, access: Access, task: Task, place: Place, *, focus: bool = False
) -> HttpResponse:
    """The whole builder after rows were added, moved or removed."""
    url = address_of(task, place)
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect(url)
    context = {**context_of(access, task, place), "with_header": True, "focus": focus}
    response = render(request, "annotation/authoring/_builder.html", context)
    response["HX-Replace-Url"] = url
    return response
