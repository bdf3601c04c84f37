"""Two sets of attributes compared without knowing whose they are (InteractEval, App. G)."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from annotation.models import Item, Task, User
from annotation.records.actions.audit import record
from crowdqc.errors import Conflict, Invalid, NotAllowed
from crowdqc.numbers import count
from evaluation.checklists.making import pipeline, stages
from evaluation.models import SetComparison

# Question -> its words; {dimension} is filled in. The structure is that of App. G.
QUESTIONS = {
    "points": gettext_noop(
        "What does the definition of “{dimension}” ask for? Name its key points."
    ),
    "fit": gettext_noop(
        "Compare A and B as a help for scoring “{dimension}”. What does each get right or miss?"
    ),
    "fineness": gettext_noop(
        "Compare A and B in how fine they are. Which goes into more detail, and where?"
    ),
    "diversity": gettext_noop("Compare A and B in how varied their contents are."),
    "other": gettext_noop("Compare A and B in whatever was not asked above."),
    "first": gettext_noop("The most important difference between A and B"),
    "second": gettext_noop("The second most important difference"),
    "third": gettext_noop("The third most important difference"),
}
PREFERS = "prefers"
SIDES = ("A", "B", "")
MAX_ANSWER = 10_000
ALL = {pipeline.PEOPLE: gettext_noop("All people"), pipeline.MODELS: gettext_noop("All models")}
LABELS = {pipeline.PEOPLE: "people", pipeline.MODELS: "models", pipeline.EVERYBODY: "combined"}


def label_of(whose: str) -> str:
    """A set's true name: people, models, combined, or one author."""
    return LABELS.get(whose, whose.removeprefix(pipeline.AUTHOR))


@transaction.atomic
def begin(*, by: User, task: Task, item: Item, first: str, second: str) -> SetComparison:
    """Freeze two sets of a dimension and draw which one is shown as A.

    Somebody's unfinished comparison of the same two sets is gone on with. Raises Invalid for twice
    the same set, Conflict where one is empty.
    """
    if first == second:
        raise Invalid(
            gettext("These are one set."), fields={"second": gettext("Another set than the first.")}
        )
    there = SetComparison.objects.filter(item=item, by=by, finished_at__isnull=True)
    for one in there:
        if {part["whose"] for part in one.sets} == {first, second}:
            return one
    found = pipeline.attributes_of(task, item)
    sets = []
    for whose in (first, second):
        texts = [one["text"] for one in pipeline.entries_of(found, whose)]
        if whose == pipeline.NOBODY or not texts:
            raise Conflict(gettext("One of the sets is empty."))
        sets.append({"whose": whose, "label": label_of(whose), "attributes": _mixed(texts)})
    made = SetComparison.objects.create(
        item=item, sets=sets, turned=bool(secrets.randbelow(2)), by=by
    )
    record(by=by, project=task.project, action="sets.compare", on=made, item=item.pk)
    return made


def _mixed(texts: list[str]) -> list[str]:
    """Sort texts in an order that does not show who wrote what."""
    return sorted(texts, key=lambda text: hashlib.sha256(text.encode()).hexdigest())


def attribute_sets(comparison: SetComparison) -> dict[str, list[str]]:
    """The attributes of A and of B."""
    first, second = (part["attributes"] for part in comparison.sets)
    return {"A": second, "B": first} if comparison.turned else {"A": first, "B": second}


def names(comparison: SetComparison) -> dict[str, str]:
    """Return which author is A and which is B, to reveal after a blind comparison."""
    first, second = (part["label"] for part in comparison.sets)
    return {"A": second, "B": first} if comparison.turned else {"A": first, "B": second}


@transaction.atomic
def answer(
    *, by: User, comparison: SetComparison, given: Mapping[str, Any], finish: bool
) -> SetComparison:
    """Save a person's answers to a comparison; ``finish`` requires all of them and closes it.

    Raises NotAllowed for somebody else's, Conflict for a finished one, Invalid naming what is
    missing or too long.
    """
    locked = SetComparison.objects.select_for_update(of=("self",)).get(pk=comparison.pk)
    if locked.by_id != by.pk:
        raise NotAllowed(gettext("This comparison is somebody else’s."))
    if locked.finished_at is not None:
        raise Conflict(gettext("This comparison is finished; its answers stay as they are."))
    clean = {name: str(given.get(name, "")).strip() for name in QUESTIONS}
    long = [name for name, text in clean.items() if len(text) > MAX_ANSWER]
    if long:
        raise Invalid(
            gettext("An answer is too long."),
            fields={
                long[0]: gettext("%(max_answer)s characters at most.")
                % {"max_answer": count(MAX_ANSWER)}
            },
        )
    side = str(given.get(PREFERS, ""))
    locked.answers = {**clean, PREFERS: side if side in SIDES else ""}
    if finish:
        empty = {name: gettext("Write a sentence.") for name, text in clean.items() if not text}
        if empty:
            raise Invalid(gettext("Some questions have no answer yet."), fields=empty)
        locked.finished_at = timezone.now()
        record(by=by, project=locked.item.task.project, action="sets.compared", on=locked)
    locked.save(update_fields=["answers", "finished_at"])
    return locked


def choices(task: Task, items: list[Item]) -> list[tuple[str, str]]:
    """The sets that can be compared: people, models, and each author."""
    authors = {
        (author, kind)
        for item in items
        for author, kind, _ in pipeline.authors(pipeline.attributes_of(task, item))
    }
    kinds = {kind for _, kind in authors}
    both = ((pipeline.PEOPLE, stages.PERSON), (pipeline.MODELS, stages.MODEL))
    found = [(whose, gettext(ALL[whose])) for whose, kind in both if kind in kinds]
    if len(kinds) > 1:
        found.append((pipeline.EVERYBODY, gettext("People and models combined")))
    ones = [
        (f"{pipeline.AUTHOR}{author}", gettext("Only %(author)s") % {"author": author})
        for author, _ in sorted(authors)
    ]
    return found + ones
