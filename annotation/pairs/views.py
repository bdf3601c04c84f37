"""The builder of tasks that judge texts: dimensions or scales, texts, pairs, attention pairs."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation.authoring.actions import asked, drafts, items
from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.views.builder.context import (
    field_refused,
    field_saved,
    field_view,
    find,
    open_group,
    place_of,
    rows_changed,
    summary_of,
)
from annotation.authoring.views.builder.parts import BuilderState
from annotation.models import Task, User
from annotation.pairs.actions import pair_design, pair_items, topics
from crowdqc import numbers
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import count

DESIGN = ("kind", "pairs_per_topic", "repeat_every", "strata")
RULES = ("redundancy", "sides", "gold_per_assignment")  # and fields of the version beside it
EXPECTED = "e-"  # and a dimension's name: the field of what an attention pair expects of it


@field_view("asked")
def task_build_asked(
    post: QueryDict, user: User, task: Task, place: BuilderState
) -> BuilderState | None:
    """Save the fields of the open dimension or scale, named in the query."""
    if post.keys() - {"csrfmiddlewaretoken"} == {"label"}:
        label = post.get("label", "")
        name = asked.rename_row(by=user, task=task, name=place.question, label=label)
        return place.with_changes(question=name)
    fields = {name: value for name, value in post.items() if isinstance(value, str)}
    if "has_neutral" in fields:
        fields.setdefault("neutral", "")
    asked.edit_row(by=user, task=task, name=place.question, fields=fields)
    return None


@login_required
@require_POST
def task_build_asked_step(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Add, remove or move a dimension or scale, change its points, or use the template."""
    access, task = find(request, project_id, task_id)
    place, to = place_of(request, task), request.POST.get("to", "")
    if place.part != "asked":
        place = place.with_changes(part="asked")
    user, name = access.user, place.question
    if to == "add":
        try:
            label = request.POST.get("new", "")
            place = place.with_changes(question=asked.add_row(by=user, task=task, label=label))
        except Invalid as error:
            return field_refused(request, access, task, error, into="#new-note")
    elif to == "template":
        asked.use_template(by=user, task=task)
        place = place.with_changes(question="")
    elif to == "remove":
        asked.remove_row(by=user, task=task, name=name)
        place = place.with_changes(question="")
    elif to in ("up", "down"):
        asked.move_row(by=user, task=task, name=name, step=-1 if to == "up" else 1)
    elif to in ("more", "fewer"):
        asked.change_points(by=user, task=task, name=name, step=1 if to == "more" else -1)
    else:
        raise Invalid(
            _("There is no such step."), fields={"to": "add, template, remove, up, down."}
        )
    return rows_changed(request, access, task, place, focus=to == "add")


@login_required
@require_POST
def task_build_texts(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Take texts in (answers of a task, topics of the project), leave one out, drop a topic."""
    access, task = find(request, project_id, task_id)
    place, post = place_of(request, task), request.POST
    to = post.get("to", "")
    try:
        if to == "answers":
            _take_answers(request, access.user, task)
        elif to == "topics":
            topics.use_project_topics(by=access.user, task=task)
        elif "leave" in post or "take" in post:
            candidate = _number(post.get("leave") or post.get("take", ""))
            pair_items.leave_out(
                by=access.user, task=task, candidate=candidate, out="leave" in post
            )
        elif to == "drop":
            _drop(access.user, task, post.get("topic", ""))
        elif to == "rate":
            new = pair_design.rating_task(by=access.user, task=task)
            messages.success(request, _("A task that rates these texts one by one is begun."))
            return _redirect_to_builder(request, new)
        else:
            raise Invalid(
                _("There is no such step."), fields={"to": "answers, topics, leave, take."}
            )
    except Invalid as error:
        return field_refused(request, access, task, error, into="#texts-note")
    return rows_changed(request, access, task, place)


def _redirect_to_builder(request: HttpRequest, task: Task) -> HttpResponse:
    """Off to the builder of another task."""
    response = redirect("task_build", task.project_id, task.pk)
    if request.htmx:  # type: ignore[attr-defined]
        return HttpResponse(headers={"HX-Redirect": response["Location"]})
    return response


def _number(raw: str) -> int:
    number = numbers.parse_whole(raw)
    if number is None:
        raise Conflict(_("This text is not among the task's. Reload the page."))
    return number


def _take_answers(request: HttpRequest, user: Any, task: Task) -> None:
    """Texts from the answers of the task chosen in the form."""
    post = request.POST
    raw = post.get("source", "")
    source = None
    if raw.isascii() and raw.isdigit() and len(raw) < 18:
        source = task.project.tasks.filter(pk=raw, current__isnull=False).first()
    if source is None or source.pk == task.pk:
        raise Invalid(_("Whose answers?"), fields={"source": _("Choose a task of this project.")})
    most = numbers.parse_whole(post.get("most", "").strip() or "0", high=9999)
    if most is None:
        raise Invalid(
            _("most is not a whole number."), fields={"most": _("A whole number, please.")}
        )
    new, about = topics.add_answers(
        by=user,
        task=task,
        source=source,
        topic=post.get("by", "item"),
        people="people" in post,
        systems="systems" in post,
        style=post.get("style", ""),
        most=most,
    )
    said = _("%(texts)s and %(topics)s.") % {
        "texts": numbers.plural(new, "new text"),
        "topics": numbers.plural(about, "new topic"),
    }
    messages.success(request, said if new or about else _("Nothing new: its answers are here."))


def _drop(user: Any, task: Task, key: str) -> None:
    group = open_group(task, BuilderState(text=key), "topic")
    items.remove_group(by=user, task=task, group=group)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def task_build_pairs(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Save how pairs are drawn; ``to``: make them, or draw others by the same design.

    GET: what publishing the draft asks of people and money, as a fragment.
    """
    access, task = find(request, project_id, task_id)
    if request.method != "POST":
        context = summary_of(access, task)
        return render(request, "annotation/authoring/pairs/_summary.html", context)
    place, post = place_of(request, task), request.POST
    fields: dict[str, Any] = {name: post[name] for name in DESIGN if name in post}
    to = post.get("to", "")
    try:
        if to == "again":
            seed = Build(task).version.settings["design"]["seed"]
            fields["seed"] = seed + 1
        if fields:
            pair_items.edit_design(by=access.user, task=task, fields=fields)
        if any(name in post for name in RULES):  # without scripts the whole part is sent
            settings = {name: post[name] for name in RULES[1:] if name in post}
            rules = {"redundancy": post["redundancy"]} if "redundancy" in post else {}
            drafts.edit_draft(by=access.user, task=task, fields={**rules, "settings": settings})
        if to in ("make", "again"):
            made = pair_items.make_pairs(by=access.user, task=task)
            messages.success(request, _changes_message(made))
    except Invalid as error:
        return field_refused(request, access, task, error, into="#make-note" if to else "")
    if to or "kind" in fields:
        return rows_changed(request, access, task, place.with_changes(question="", page="1"))
    return field_saved(request, access, task, {"note": "pairs"})


def _changes_message(made: pair_items.PairChanges) -> str:
    there = numbers.plural(made.pairs, "pair")
    if not (made.new or made.gone):
        return _("Nothing changed: the draft holds these %(pairs)s already.") % {"pairs": there}
    told = {"pairs": there, "new": count(made.new), "gone": count(made.gone)}
    if made.gone:
        return _("The draft holds %(pairs)s: %(new)s new, %(gone)s taken out.") % told
    return _("The draft holds %(pairs)s: %(new)s new.") % told


@login_required
@require_POST
def task_build_attention(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Add an attention pair with what it expects, or remove the one named ``remove``."""
    access, task = find(request, project_id, task_id)
    place, post = place_of(request, task), request.POST
    try:
        if "remove" in post:
            pair_items.remove_attention(by=access.user, task=task, key=post["remove"])
        else:
            expected = {
                name.removeprefix(EXPECTED): str(value)
                for name, value in post.items()
                if name.startswith(EXPECTED)
            }
            if not post.get("left") or not post.get("right"):
                raise Invalid(_("Which texts?"), fields={"right": _("Choose two texts.")})
            pair_items.add_attention(
                by=access.user,
                task=task,
                left=_number(post["left"]),
                right=_number(post["right"]),
                expected=expected,
                why=post.get("why", ""),
            )
            place = place.with_changes(text="")
    except Invalid as error:
        return field_refused(request, access, task, error, into="#attention-note")
    return rows_changed(request, access, task, place)
