"""The builder of known answers, the same for every type that takes them."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext

from annotation.authoring.actions.known import set_known
from annotation.authoring.views.builder.context import row_view
from annotation.authoring.views.builder.parts import BuilderState
from annotation.models import Task, User
from crowdqc.errors import Invalid

VALUE, WITHIN = "k-", "w-"  # and a field's name: its known answer, and how far one may be off


@row_view("#known-note", part="known")
def task_build_known(post: QueryDict, user: User, task: Task, place: BuilderState) -> BuilderState:
    """Set the known answers of an item, or take them back (``to=remove:KEY``)."""
    to, _, key = post.get("to", "").partition(":")
    given: dict[str, Any] = {}
    for sent, value in post.items():
        if sent.startswith(VALUE):
            name = sent.removeprefix(VALUE)
            given[name] = {"value": value, "within": post.get(WITHIN + name, "")}
    if to == "remove":
        given = {}
    elif not any(row["value"].strip() for row in given.values()):
        raise Invalid(
            gettext("No answer is chosen."), fields={"known": gettext("Choose the known answer.")}
        )
    key = (key or post.get("question", "") or post.get("key", "")).strip()
    set_known(by=user, task=task, key=key, given=given, why=post.get("why", ""))
    return place.with_changes(question="")
