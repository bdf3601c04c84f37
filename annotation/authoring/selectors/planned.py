"""How many answers each item was planned to get, whatever more an import brought."""

from __future__ import annotations

from typing import Any

from django.db.models import Case, Exists, F, IntegerField, OuterRef, Q, Value, When
from django.utils.translation import gettext as _

from annotation.models import Answer
from crowdqc.numbers import count


def planned_answers(per_item: int | F) -> Case:
    """Return the number of answers planned for an item, as an expression on items.

    An import may bring an item more answers than ``per_item``, those of its version, which raises
    its redundancy; a requester may plan more for one item, which does too.
    """
    imported = Answer.objects.filter(item=OuterRef("pk"), assignment__source="import")
    planned: Any = per_item if isinstance(per_item, F) else Value(per_item)
    return Case(
        When(Q(redundancy__gt=per_item) & Exists(imported), then=planned),
        default=F("redundancy"),
        output_field=IntegerField(),
    )


def of_planned(given: int, planned: int) -> str:
    """Return what ``given`` answers are of: "of 90"; "90 planned" where there are more."""
    words = _("of %(total)s") if given <= planned else _("%(total)s planned")
    return words % {"total": count(planned)}
