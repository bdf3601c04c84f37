"""Questions and texts whose files also tell what is known of them."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from annotation.authoring.actions.items import import_items
from annotation.authoring.actions.known import import_known
from annotation.formats.actions.answers import Rows
from annotation.models import Task, User
from annotation.pairs.actions.candidates import Rows as Texts
from annotation.pairs.actions.topics import add_texts


@transaction.atomic
def import_questions(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Import questions, and set the known answers in their rows' ``known``."""
    new = import_items(by=by, task=task, rows=rows, name=name)
    _set_known(by, task, {row["item_id"]: row["known"] for row in rows if row.get("known")}, name)
    return new


@transaction.atomic
def import_texts(*, by: User, task: Task, rows: Texts, name: str = "") -> int:
    """Import texts, and set the known answers in their rows' ``known`` on the new items."""
    new = add_texts(by=by, task=task, rows=rows, name=name)
    known = {row["key"]: row["known"] for row in rows if row.get("known")}
    items = task.items.filter(until__isnull=True, first__key__in=known)
    keys = dict(items.values_list("key", "first__key")) if known else {}
    _set_known(by, task, {key: known[text] for key, text in keys.items()}, name)
    return new


def _set_known(by: User, task: Task, known: Mapping[str, Mapping[str, str]], name: str) -> None:
    rows = [{"item": key, "explanation": "", **one} for key, one in known.items()]
    if rows:
        import_known(by=by, task=task, rows=rows, name=name)
