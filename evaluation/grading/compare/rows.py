"""What the rows of a comparison's figures name: their answers' texts and their questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.models import Item
from annotation.work.snapshots.answers import texts_of


def texts_and_questions(
    rows: Sequence[Mapping[str, Any]],
) -> tuple[dict[int, str], dict[int, str]]:
    """Texts by the rows' ``answer`` and questions by their ``item``; two queries.

    Answers that were erased have no text.
    """
    texts = {pk: row.text for pk, row in texts_of([row["answer"] for row in rows]).items()}
    items = Item.objects.filter(pk__in={row["item"] for row in rows})
    return texts, dict(items.values_list("pk", "question"))
