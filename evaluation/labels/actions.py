"""Labels that people decide by hand: made, changed and revoked."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Item, Task, User
from annotation.records.actions.audit import record
from annotation.records.cleaning import clean_text
from annotation.work.snapshots import labels as collected
from crowdqc.errors import Conflict, Invalid
from evaluation.models import LabelDecision

LONGEST_REASON = 500


@transaction.atomic
def decide_label(
    *, by: User, task: Task, item: Item, field: str, label: str, reason: str = ""
) -> LabelDecision:
    """Choose an item's label in a field; it takes the place of an earlier decision.

    The same decision by the same person, sent again, changes nothing. Raises Invalid where the
    task has no such field, the field no such option, or the reason is too long.
    """
    known = {one.name: one for one in collected.fields_of(task.current)}
    if field not in known:
        raise Invalid(
            _("The task has no such field with one choice."),
            fields={"field": ", ".join(known) or _("There is none.")},
        )
    if label not in known[field].codes:
        raise Invalid(_("Choose a label."), fields={"label": _("Choose a label.")})
    reason = clean_text(reason, "reason", LONGEST_REASON)
    # People who decide are numbered, and an item has one decision: one at a time.
    task = Task.objects.select_for_update(of=("self",), no_key=True).get(pk=task.pk)
    before = LabelDecision.objects.standing().filter(item=item, field=field).first()
    if before and (before.label, before.reason, before.by_id) == (label, reason, by.pk):
        return before
    if before:
        _end(before, by)
    made = LabelDecision.objects.create(
        task=task,
        item=item,
        field=field,
        label=label,
        reason=reason,
        by=by,
        decider=_number_of(task, by),
    )
    words = {"field": known[field].label, "label": known[field].labels[label]}
    record(by=by, project=task.project, action="label.decide", on=item, **words)
    return made


@transaction.atomic
def revoke_decision(*, by: User, task: Task, item: Item, field: str) -> LabelDecision:
    """End the decision on an item's label.

    Conflict if there is none. Earlier decisions stay ended.
    """
    found = (
        LabelDecision.objects.standing()
        .select_for_update(of=("self",))
        .filter(task=task, item=item, field=field)
        .first()
    )
    if found is None:
        raise Conflict(_("The label of this item is not decided."))
    _end(found, by)
    record(by=by, project=task.project, action="label.revoke", on=item, field=field)
    return found


def _end(decision: LabelDecision, by: User) -> None:
    decision.ended_at, decision.ended_by = timezone.now(), by
    decision.save(update_fields=["ended_at", "ended_by"])


def _number_of(task: Task, by: User) -> int:
    """The person's number among those who decided in the task, or the next free one."""
    rows = LabelDecision.objects.filter(task=task)
    own = rows.filter(by=by).values_list("decider", flat=True).first()
    return own or (rows.aggregate(most=Max("decider"))["most"] or 0) + 1
