"""The builder of tasks that rate answers beside documents: rules, documents, answers."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation.authoring.actions import asked, drafts, items
from annotation.authoring.actions.rows import row_gone
from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.views.builder.context import (
    field_refused,
    field_saved,
    field_view,
    find,
    open_group,
    place_of,
    row_view,
    rows_changed,
)
from annotation.authoring.views.builder.parts import BuilderState
from annotation.models import Item, Task, User
from annotation.pairs.actions import rating_documents
from annotation.task_types.rating.type import DOCUMENT
from crowdqc.errors import Invalid
from crowdqc.numbers import parse_whole

PLAIN = ("evidence", "layout")
BOXES = ("feedback", "one_document", "show_sources", "skippable")


def _rules(post: QueryDict, now: dict[str, Any]) -> dict[str, Any]:
    """The settings that a form of the part sends, over those that stand there."""
    found: dict[str, Any] = {name: post[name] for name in PLAIN if name in post}
    for name in BOXES:
        if name in post or f"has_{name}" in post:
            found[name] = post.get(name, False)
    if "break_after" in post:
        found["break_after"] = post["break_after"]
    explanation = dict(now.get("explanation") or {})
    for name in ("wanted", "min_words"):
        if f"explanation_{name}" in post:
            explanation[name] = post[f"explanation_{name}"]
            found["explanation"] = explanation
    release = dict(now.get("release") or {})
    for name in ("assignments", "hours"):
        if f"release_{name}" in post:
            release[name] = post[f"release_{name}"]
            found["release"] = release if str(release.get("assignments") or "0") != "0" else None
    return found


@login_required
@require_POST
def task_build_rating(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Save what stands on the page of a rating and how assignments are released."""
    access, task = find(request, project_id, task_id)
    now = Build(task).version.settings
    fields = _rules(request.POST, now)
    try:
        turns = fields.get("layout", now.get("layout")) != now.get("layout")
        if turns and fields["layout"] == DOCUMENT and Build(task).groups.exists():
            raise Invalid(
                _("The task has texts already."), fields={"layout": _("Take its texts out first.")}
            )
        drafts.edit_draft(by=access.user, task=task, fields={"settings": fields})
        if turns:
            asked.use_template(by=access.user, task=task)
    except Invalid as error:
        return field_refused(request, access, task, error)
    if {"layout", "explanation_wanted", "evidence"} & set(request.POST):
        return rows_changed(
            request, access, task, place_of(request, task).with_changes(part="rules")
        )
    return field_saved(request, access, task, {"note": "rules"})


@field_view("document", opened="text")
def task_build_document(post: QueryDict, user: User, task: Task, place: BuilderState) -> None:
    """Save the title or the text of the open document, or the question of its open answer."""
    group = open_group(task, place, "document")
    if "title" in post or "passage" in post:
        rating_documents.save_document(
            by=user,
            task=task,
            group=group,
            title=post.get("title", group.title),
            passage=post.get("passage", group.passage),
        )
    if "question" in post or "anchor" in post:
        item = _answer(task, place.question)
        rating_documents.change_question(
            by=user,
            task=task,
            item=item,
            question=post.get("question", item.question),
            anchor=_number(post.get("anchor", item.settings.get("anchor", 0))),
        )


def _number(raw: Any) -> int:
    if not str(raw).strip():
        return 0
    number = parse_whole(raw, high=999_999)
    if number is None:
        raise Invalid(
            _("The sentence is not a number."), fields={"anchor": _("A number, or nothing.")}
        )
    return number


def _answer(task: Task, key: str) -> Item:
    item = Build(task).item(key)
    if item is None:
        raise row_gone("answer")
    return item


@row_view("#answers-note")
def task_build_document_step(
    post: QueryDict, user: User, task: Task, place: BuilderState
) -> BuilderState:
    """Add or remove a document; add an answer to the open one, or take its open answer out."""
    to = post.get("to", "")
    if to == "add":
        group = rating_documents.save_document(by=user, task=task, group=None, title="", passage="")
        return place.with_changes(text=group.key, question="", page="1")
    group = open_group(task, place, "document")
    if to == "remove":
        items.remove_group(by=user, task=task, group=group)
        return place.with_changes(text="", question="")
    if to == "answer":
        rating_documents.add_answer(
            by=user,
            task=task,
            group=group,
            question=post.get("new_question", ""),
            anchor=_number(post.get("new_anchor", "")),
            answer=post.get("new_answer", ""),
            system=post.get("new_system", ""),
        )
        return place.with_changes(question="")
    if to == "answer-remove":
        item = _answer(task, place.question)
        rating_documents.remove_answer(by=user, task=task, item=item)
        return place.with_changes(question="")
    raise Invalid(_("There is no such step."), fields={"to": "add, remove, answer, answer-remove."})
