"""What every page and fragment of the builder shows, and how a save or a refusal is answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation.access import Access, get_task
from annotation.accounts.projects.actions import current_consent_text
from annotation.accounts.projects.consent_words import fill_consent
from annotation.authoring.actions.rows import row_gone
from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.builder.known import KnownBuild
from annotation.authoring.selectors.builder.pairs import PairBuild
from annotation.authoring.selectors.examples import count_examples
from annotation.authoring.selectors.rewording import Rewording
from annotation.authoring.selectors.tasks import describe_changes
from annotation.authoring.views.builder.parts import BuilderState, builder_of
from annotation.formats.registry import item_format
from annotation.gallery.templates import is_unconfirmed_text
from annotation.models import ItemGroup, Role, Task, User
from crowdqc.errors import Invalid
from crowdqc.numbers import count, several


def find(request: HttpRequest, project_id: int, task_id: int) -> tuple[Access, Task]:
    """Return access and task for a requester."""
    return get_task(request, project_id, task_id, Role.REQUESTER)


def place_of(request: HttpRequest, task: Task) -> BuilderState:
    """Return the place in the task's builder (part, page, item) that a request names."""
    builder = builder_of(task)
    return BuilderState.of(request, builder.parts, builder.opens_at)


def context_of(access: Access, task: Task, place: BuilderState) -> dict[str, Any]:
    """Return the template context that all fragments of the builder share."""
    build = Build(task)
    builder = builder_of(task, build.version)
    missing, part = build.missing(), builder.parts[place.part]
    shown = builder.shown(build, place)
    return {
        "access": access,
        "project": task.project,
        "task": task,
        "build": build,
        "version": build.version,
        "place": place,
        "builder": builder,
        "words": builder.words(build),
        "tabs": builder.tabs(build, place, shown),
        "part_template": part.template,
        "preview_template": builder.preview_template,
        "missing": missing,
        "cost": build.cost(),
        "here": reverse("task_build", args=[task.project_id, task.pk]),
        "save_to": reverse(part.saves_to, args=[task.project_id, task.pk]),
        "answer_template": build.type.answer_template,
        "builder_template": build.type.builder_template,
        "preview": True,
        **shown,
        "template_text": is_unconfirmed_text(build.version),
        "import_kind": item_format(build.type.imports_of(build.version.settings)),
        **({"known": KnownBuild(build)} if place.part == "known" else {}),
        **(count_examples(task, build.version) if build.is_draft else {}),
        "now": timezone.now(),
        **(_consent_context(task) if place.part == "consent" else {}),
    }


def summary_of(access: Access, task: Task) -> dict[str, Any]:
    """Return the context of the builder's summary: version, cost, generated pairs, lines asked."""
    build = Build(task)
    return {
        "access": access,
        "project": task.project,
        "task": task,
        "build": build,
        "version": build.version,
        "cost": build.cost(),
        "builder": builder_of(task, build.version),
        "pairs": PairBuild(build) if build.type.judges_texts else None,
        "asked": build.type.lines(build.version.settings),
    }


# Answers to a save -----------------------------------------------------------------------------


def republishing(build: Build, rewording: Rewording, *, keeps_answers: bool = True) -> str:
    """In words, what publishing over an older version does to its answers; empty without one."""
    published = build.task.current
    if published is None:
        return ""
    changes, noun = build.changes(), build.noun
    words = describe_changes(published, build.version, changes) or [_("nothing changed")]
    sentences = [
        _("Version %(number)s: %(changes)s.")
        % {"number": build.version.number, "changes": ", ".join(words)}
    ]
    asked = {old.key for old, _new in rewording.items} if rewording.answers else set()
    others = replace(changes, changed=changes.changed - asked)
    kept = build.touched_answers(others)
    if others.changed:
        sentences.append(
            _(
                "%(kept)s answers to the old wording stay with version %(number)s and are not "
                "pooled with new ones."
            )
            % {"kept": count(kept), "number": build.version.number - 1}
        )
    if not keeps_answers:
        other = ""
    elif changes.changed or changes.removed:
        other = _("Answers to all other %(nouns)s still count.")
    else:
        other = _("Answers to all %(nouns)s still count.")
    if other:
        sentences.append(other % {"nouns": several(noun)})
    sentences.append(_("Whoever is working now keeps the version and the pay they began with."))
    return " ".join(sentences)


def address_of(task: Task, place: BuilderState) -> str:
    """Return the builder's address at a place."""
    return reverse("task_build", args=[task.project_id, task.pk]) + place.query


@dataclass(frozen=True)
class Followed:
    """A saved row: the place where it now is, and its fields that followed what was written."""

    place: BuilderState
    fields: Mapping[str, str]


def field_saved(
    request: HttpRequest,
    access: Access,
    task: Task,
    note: dict[str, Any],
    followed: Followed | None = None,
) -> HttpResponse:
    """Answer a saved field: its note, and all parts of the page that depend on it."""
    asked = place_of(request, task)
    place = followed.place if followed else asked
    builder_of(task).renew_items(access.user, task)
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect(address_of(task, place))
    context = {**context_of(access, task, place), **note}
    found = render(request, "annotation/authoring/builder/_saved.html", context)
    if followed:
        names = {"before": asked.question, "now": place.question, "fields": followed.fields}
        found["HX-Trigger"] = json.dumps({"followed": names})
        if place != asked:
            found["HX-Replace-Url"] = address_of(task, place)
    return found


def field_refused(
    request: HttpRequest, access: Access, task: Task, error: Invalid, *, into: str = ""
) -> HttpResponse:
    """Answer with the error of a form field, shown in place of its help text; nothing was saved."""
    if request.htmx:  # type: ignore[attr-defined]
        context = {"error": error, "step": bool(into)}
        found = render(
            request, "annotation/authoring/builder/_field_error.html", context, status=422
        )
        if not into and request.headers.get("HX-Target") == "builder":
            into = "next .field-note"  # of the field; what was to come anew stays as it is
        if into:
            found["HX-Retarget"], found["HX-Reswap"] = into, "innerHTML"
        return found
    context = {**context_of(access, task, place_of(request, task)), "refused": error}
    return render(request, "annotation/authoring/builder/build.html", context, status=422)


def rows_changed(
    request: HttpRequest, access: Access, task: Task, place: BuilderState, *, focus: bool = False
) -> HttpResponse:
    """Answer with the whole builder after rows were added, moved or removed."""
    url = address_of(task, place)
    builder_of(task).renew_items(access.user, task)
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect(url)
    context = {**context_of(access, task, place), "with_header": True, "focus": focus}
    response = render(request, "annotation/authoring/builder/_builder.html", context)
    response["HX-Replace-Url"] = url
    return response


# Views of what is open -------------------------------------------------------------------------

STEPS = {"up": -1, "down": 1}
Saved = bool | BuilderState | Followed | None
Save = Callable[[QueryDict, User, Task, BuilderState], Saved]
Step = Callable[[QueryDict, User, Task, BuilderState], BuilderState]


def field_view(
    note: str, opened: str = "question"
) -> Callable[[Save], Callable[..., HttpResponse]]:
    """A view that saves fields of the open row, ``opened`` naming it in a Place.

    The function saves what the form sends, and returns whether the whole builder is shown anew,
    the place where it then is, or what followed; where it raises Invalid, that is shown in the
    place of the field's help.
    """

    def wrap(save: Save) -> Callable[..., HttpResponse]:
        @login_required
        @require_POST
        @wraps(save)
        def view(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
            access, task = find(request, project_id, task_id)
            place = place_of(request, task)
            if not getattr(place, opened):  # without scripts, and none is open
                return field_saved(request, access, task, {"note": note})
            try:
                again = save(request.POST, access.user, task, place)
            except Invalid as error:
                return field_refused(request, access, task, error)
            if isinstance(again, Followed):
                return field_saved(request, access, task, {"note": note}, again)
            if again:
                place = again if isinstance(again, BuilderState) else place
                return rows_changed(request, access, task, place)
            return field_saved(request, access, task, {"note": note})

        return view

    return wrap


def row_view(
    into: str, *, part: str = "", focus: Collection[str] = ("add",)
) -> Callable[[Step], Callable[..., HttpResponse]]:
    """A view that adds, moves or removes rows in a part of the builder.

    The function takes the step named ``to`` and returns the place that is then shown; Invalid is
    shown ``into`` an element. After the steps in ``focus`` the new row's field has the focus.
    """

    def wrap(step: Step) -> Callable[..., HttpResponse]:
        @login_required
        @require_POST
        @wraps(step)
        def view(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
            access, task = find(request, project_id, task_id)
            place = place_of(request, task)
            try:
                place = step(
                    request.POST, access.user, task, place.with_changes(part=part or place.part)
                )
            except Invalid as error:
                return field_refused(request, access, task, error, into=into)
            return rows_changed(
                request, access, task, place, focus=request.POST.get("to", "") in focus
            )

        return view

    return wrap


def open_group(task: Task, place: BuilderState, noun: str) -> ItemGroup:
    """The open text, topic, dimension or document; Conflict where it is there no more."""
    group = Build(task).group(place.text)
    if group is None:
        raise row_gone(noun)
    return group


def _consent_context(task: Task) -> dict[str, Any]:
    text = current_consent_text(task.project)
    return {"consent": text, "consent_words": fill_consent(text.text, [task.type])}
