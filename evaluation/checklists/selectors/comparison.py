"""Finished comparisons of attribute sets, un-blinded, with the words that several people use."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.utils.translation import gettext as _

from annotation.models import Task, User
from evaluation.checklists.making import pipeline
from evaluation.checklists.making.comparison import PREFERS, QUESTIONS, names
from evaluation.methods.text.corpus import FUNCTION_WORDS, stem, words
from evaluation.models import SetComparison

SHOWN_WORDS = 12
NOT_TOLD = {"set", "sets", "attribute", "attributes", "difference", "differences"}


def page(task: Task, reader: User) -> dict[str, Any]:
    """Finished comparisons; nothing of them while the reader is still comparing, to stay blind."""
    rows = list(
        SetComparison.objects.filter(item__task=task)
        .select_related("item__group", "by")
        .order_by("pk")
    )
    own = next((one for one in rows if one.by_id == reader.pk and one.finished_at is None), None)
    done = [one for one in rows if one.finished_at is not None]
    if own is not None:
        return {"groups": [], "own": own, "finished": len(done)}
    by_item: dict[int, list[SetComparison]] = {}
    for one in done:
        by_item.setdefault(one.item_id, []).append(one)
    # What the results page shows; ``own`` is the reader's unfinished comparison.
    return {
        "groups": [_group(part) for part in by_item.values()],
        "own": None,
        "finished": len(done),
    }


def _group(rows: list[SetComparison]) -> dict[str, Any]:
    dimension = pipeline.subject_of(rows[0].item).dimension
    questions = [
        _question(name, _(label).format(dimension=dimension), rows)
        for name, label in QUESTIONS.items()
    ]
    counted: Counter[str] = Counter()
    for one in rows:
        side = one.answers.get(PREFERS, "")
        counted[names(one)[side] if side else _("neither")] += 1
    people = len({one.by_id for one in rows})
    # The finished comparisons of one dimension.
    return {
        "dimension": dimension,
        "questions": questions,
        "people": people,
        "preferred": counted.most_common(),
    }


def _question(name: str, label: str, rows: list[SetComparison]) -> dict[str, Any]:
    found = []
    for one in rows:
        true = names(one)
        # What one person said, with whose A and B were.
        found.append(
            {"who": str(one.by), "a": true["A"], "b": true["B"], "text": one.answers.get(name, "")}
        )
    # One question, every answer to it, and the words that come up with several persons.
    return {
        "label": label,
        "answers": found,
        "shared": shared_words([(one.by_id, one.answers.get(name, "")) for one in rows]),
    }


def shared_words(texts: list[tuple[Any, str]]) -> list[tuple[str, int]]:
    """(word, persons) of the words that two or more persons use, the most common first.

    Words of one stem count as one and stand in their first form; function words do not count.
    """
    users: dict[str, set[Any]] = {}
    forms: dict[str, str] = {}
    for who, text in texts:
        for word in words(text):
            if len(word) < 3 or word in FUNCTION_WORDS or word in NOT_TOLD:
                continue
            users.setdefault(stem(word), set()).add(who)
            forms.setdefault(stem(word), word)
    found = [(forms[key], len(who)) for key, who in users.items() if len(who) > 1]
    return sorted(found, key=lambda one: (-one[1], one[0]))[:SHOWN_WORDS]
