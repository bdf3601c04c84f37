"""Items whose answer is known: set and taken back in the draft, one way for every type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from annotation.authoring.actions.drafts import lock_draft
from annotation.authoring.actions.items import supersede
from annotation.models import Item, Task, User
from annotation.records.actions.audit import record
from annotation.task_types import get_type
from annotation.task_types.known import clean_known, in_words
from annotation.task_types.scales import text
from crowdqc.errors import Invalid

LONGEST_WHY = 600


def clean_why(why: str) -> str:
    """An explanation as stored; Invalid where it is too long."""
    return text({"why": why}, "why", "why", LONGEST_WHY)


@transaction.atomic
def set_known(*, by: User, task: Task, key: str, given: Mapping[str, Any], why: str = "") -> Item:
    """Set the known answers of an item; without any it becomes an ordinary item again.

    ``given``: see ``known.clean_known``; ``why`` is what workers read after they answered, where
    the task gives feedback. An item with known answers gives up its slots: it is mixed in, and
    never counts. A published item is replaced in the draft. Invalid names the field.
    """
    task_type = get_type(task.type)
    if task_type.pairs_texts or not task_type.known_fields(task.versions.latest("number").settings):
        raise Invalid(_("Items of this task take no known answers."))
    draft = lock_draft(task, by=by)
    item = task.items.filter(key=key, until__isnull=True).select_related("group").first()
    if item is None:
        noun = task_type.noun_in(draft.settings)
        raise Invalid(
            _("There is no %(noun)s %(key)s.")
            % {"noun": pgettext("noun", noun), "key": repr(key[:80])},
            fields={"key": _("Choose one from the list.")},
        )
    fields = task_type.known_fields(draft.settings)
    expected = clean_known(fields, given) or None
    said = clean_why(why) if expected else ""
    if item.expected == expected and item.known_why == said:
        return item
    item = supersede(item, draft, expected=expected, known_why=said)
    if expected:
        Item.objects.filter(pk=item.pk).update(redundancy=F("held"))
    words = in_words(fields, expected)
    record(by=by, project=task.project, action="item.known", on=item, key=key, known=words)
    return item


@transaction.atomic
def import_known(*, by: User, task: Task, rows: Sequence[Mapping[str, Any]], name: str = "") -> int:
    """Set checked rows (item, field, value, within, explanation); returns how many items changed.

    What is known of further fields of an item stays.
    """
    by_item: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_item.setdefault(row["item"], []).append(row)
    changed = 0
    for key, own in by_item.items():
        item = task.items.filter(key=key, until__isnull=True).first()
        before = (item.pk, item.expected, item.known_why) if item is not None else None
        given = _as_input(item.expected or {}) if item is not None else {}
        given |= {row["field"]: {"value": row["value"], "within": row["within"]} for row in own}
        why = next((row["explanation"] for row in own if row["explanation"]), "")
        kept = why or (item.known_why if item is not None else "")
        item = set_known(by=by, task=task, key=key, given=given, why=kept)
        changed += before != (item.pk, item.expected, item.known_why)
    record(by=by, project=task.project, action="items.known", on=task, file=name, new=changed)
    return changed


def _as_input(expected: Mapping[str, Any]) -> dict[str, Any]:
    """Known answers as ``clean_known`` takes them again."""
    return {
        name: {"value": "\n".join(known["accept"])}
        if isinstance(known, Mapping) and "accept" in known
        else known
        for name, known in expected.items()
    }
