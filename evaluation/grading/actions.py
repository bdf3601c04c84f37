"""Expert grading of systems' or workers' answers by two people, blind to author and one another.

As in Geva et al. 2025 (section 5.2, App. A): marks from 0 to 100; where the two lie further apart
than the gap (33), they talk and agree on one mark. What counts is that mark, else the mean.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from annotation.models import Answer, Membership, Role, Task, User
from annotation.records.actions.audit import record
from crowdqc.errors import Conflict, Invalid, NotAllowed
from crowdqc.numbers import count
from evaluation.grading.keys import keys_of
from evaluation.methods.aqer_study import method as aqer_study
from evaluation.models import Grade, Grading
from evaluation.runs.run_types import require_fit

MOST_LETTERS = 2000  # of a right answer
MOST = 20_000
SYSTEMS, WORKERS = "systems", "workers"
AUTHORS = {SYSTEMS: "system", WORKERS: "worker"}  # whose answers are graded -> their column


@dataclass(frozen=True)
class Marks:
    """The marks of one answer; ``agreed`` is the one both settled on afterwards."""

    first: int | None = None
    second: int | None = None
    agreed: int | None = None

    def apart(self, gap: int) -> bool:
        """Whether the two lie further apart than ``gap``."""
        return (
            self.first is not None
            and self.second is not None
            and abs(self.first - self.second) > gap
        )

    def final(self, gap: int) -> float | None:
        """The mark that counts; None while one is missing or the two are not reconciled."""
        if self.agreed is not None:
            return float(self.agreed)
        if self.first is None or self.second is None or self.apart(gap):
            return None
        return (self.first + self.second) / 2


@transaction.atomic
def open_grading(
    *,
    by: User,
    task: Task,
    first: User,
    second: User,
    per_system: int = 0,
    seed: int = 0,
    of: str = SYSTEMS,
) -> Grading:
    """Let two people of the project's staff grade the counting answers of SYSTEMS or of WORKERS.

    ``per_system`` answers of each of them, drawn by ``seed`` (0: all). Right answers of earlier
    gradings go with the same questions. Raises Invalid for the graders or the number, and Conflict
    where nothing can be graded or a grading is open.
    """
    require_fit(
        task,
        aqer_study.NAME,
        Invalid(gettext("Only answers in free text are graded against AQER.")),
    )
    task = Task.objects.select_for_update(no_key=True).get(pk=task.pk)
    _check_graders(task, first, second)
    if not 0 <= per_system <= MOST:
        raise Invalid(
            gettext("So many cannot be drawn."),
            fields={"per_system": gettext("0 to %(most)s.") % {"most": count(MOST)}},
        )
    if task.gradings.filter(closed_at__isnull=True).exists():
        raise Conflict(gettext("A grading of this task is open; close it first."))
    if of not in AUTHORS:
        raise Invalid(
            gettext("Answers of workers or of models are graded."),
            fields={"of": ", ".join(AUTHORS)},
        )
    ids = _drawn(task, AUTHORS[of], per_system, seed)
    if not ids:
        raise Conflict(
            gettext("No language model has answered yet, so there is nothing to grade.")
            if of == SYSTEMS
            else gettext("No worker has answered yet, so there is nothing to grade.")
        )
    if len(ids) > MOST:
        raise Invalid(
            gettext("That are %(ids)s answers; at most %(most)s can be graded at once.")
            % {"ids": count(len(ids)), "most": count(MOST)},
            fields={"per_system": gettext("Draw fewer of each.")},
        )
    graded = set(Answer.objects.filter(pk__in=ids).values_list("item_id", flat=True))
    grading = Grading.objects.create(
        task=task,
        first=first,
        second=second,
        answer_ids=ids,
        keys={str(pk): text for pk, text in keys_of(task).items() if pk in graded},
        seed=seed,
        created_by=by,
    )
    record(by=by, project=task.project, action="grading.open", on=grading, answers=len(ids))
    return grading


def _check_graders(task: Task, first: User, second: User) -> None:
    """Raise Invalid unless they are two people of the project's staff."""
    staff = set(
        Membership.objects.filter(
            project=task.project_id,
            removed_at__isnull=True,
            role__in=(Role.REQUESTER, Role.MANAGER),
        ).values_list("user_id", flat=True)
    )
    for field, user in (("first", first), ("second", second)):
        if user.pk not in staff:
            raise Invalid(
                gettext("A grader belongs to the project's staff."),
                fields={field: gettext("Not staff.")},
            )
    if first.pk == second.pk:
        raise Invalid(
            gettext("Two different people grade."),
            fields={"second": gettext("Somebody else, please.")},
        )


def _drawn(task: Task, author: str, per_system: int, seed: int) -> list[int]:
    rows = (
        Answer.objects.filter(
            item__task=task, counts=True, stage=Answer.Stage.MAIN, **{f"{author}__isnull": False}
        ).order_by(author, "item__position", "item_id", "replicate")
    ).values_list(f"{author}_id", "pk")
    by_system: dict[int, list[int]] = {}
    for system, pk in rows:
        by_system.setdefault(system, []).append(pk)
    rng, found = np.random.default_rng(seed), []
    for theirs in by_system.values():
        some = len(theirs) if not per_system else min(per_system, len(theirs))
        found += [theirs[at] for at in sorted(rng.choice(len(theirs), some, replace=False))]
    return found


def order_for(grading: Grading, grader_id: int) -> list[int]:
    """Return the answers in this grader's own random order."""
    ids = list(grading.answer_ids)
    np.random.default_rng([grading.seed, grader_id]).shuffle(ids)
    return ids


def _check_mark(grading: Grading, answer_id: int, value: int, note: str) -> None:
    if grading.closed_at is not None:
        raise Conflict(gettext("This grading is closed."))
    if answer_id not in grading.answer_ids:
        raise Invalid(
            gettext("This answer is not among those to grade."),
            fields={"answer": gettext("Unknown.")},
        )
    if not 0 <= value <= 100:
        raise Invalid(
            gettext("A mark lies between 0 and 100."), fields={"value": gettext("0 to 100.")}
        )
    if len(note) > 300:
        raise Invalid(
            gettext("The note is too long."), fields={"note": gettext("300 characters at most.")}
        )


@transaction.atomic
def grade(*, by: User, grading: Grading, answer_id: int, value: int, note: str = "") -> Grade:
    """A grader's mark of one answer; given again, it replaces the one before."""
    grading = Grading.objects.select_for_update(of=("self",)).get(pk=grading.pk)
    if by.pk not in (grading.first_id, grading.second_id):
        raise NotAllowed(gettext("Only the two graders mark answers."))
    _check_mark(grading, answer_id, value, note)
    both = marks_of(grading).get(answer_id, Marks())
    if both.agreed is not None:
        raise Conflict(gettext("Both agreed on a mark for this answer already."))
    found, _ = Grade.objects.update_or_create(
        grading=grading,
        answer_id=answer_id,
        grader=by,
        defaults={"value": value, "note": note.strip(), "by": by},
    )
    record(by=by, project=grading.task.project, action="grading.mark", on=found, value=value)
    return found


@transaction.atomic
def reconcile(*, by: User, grading: Grading, answer_id: int, value: int, note: str = "") -> Grade:
    """Store the mark that the two graders agreed on; either of them may do so."""
    grading = Grading.objects.select_for_update(of=("self",)).get(pk=grading.pk)
    if by.pk not in (grading.first_id, grading.second_id):
        raise NotAllowed(gettext("Only the two graders reconcile their marks."))
    _check_mark(grading, answer_id, value, note)
    if not marks_of(grading).get(answer_id, Marks()).apart(grading.gap):
        raise Conflict(
            gettext("The two marks of this answer are not more than %(gap)s apart.")
            % {"gap": grading.gap}
        )
    found, _ = Grade.objects.update_or_create(
        grading=grading,
        answer_id=answer_id,
        grader=None,
        defaults={"value": value, "note": note.strip(), "by": by},
    )
    record(by=by, project=grading.task.project, action="grading.reconcile", on=found, value=value)
    return found


@transaction.atomic
def save_right_answers(*, by: User, grading: Grading, texts: Mapping[int, str]) -> Grading:
    """Keep the right answers of a grading by item, "" for none. Raises Invalid for a long text."""
    grading = Grading.objects.select_for_update(of=("self",)).get(pk=grading.pk)
    answers = Answer.objects.filter(pk__in=grading.answer_ids)
    asked = set(answers.values_list("item_id", flat=True))
    kept = {str(pk): text.strip() for pk, text in texts.items() if pk in asked and text.strip()}
    if any(len(text) > MOST_LETTERS for text in kept.values()):
        raise Invalid(
            gettext("A right answer has %(most)s characters at most.") % {"most": MOST_LETTERS}
        )
    grading.keys = kept
    grading.save(update_fields=["keys"])
    record(
        by=by, project=grading.task.project, action="grading.keys", on=grading, questions=len(kept)
    )
    return grading


@transaction.atomic
def close(*, by: User, grading: Grading, now: dt.datetime | None = None) -> Grading:
    """End the grading; what was marked stays. Raises Conflict while marks lie too far apart."""
    grading = Grading.objects.select_for_update(of=("self",)).get(pk=grading.pk)
    if grading.closed_at is not None:
        return grading
    still = sum(
        both.apart(grading.gap) and both.agreed is None for both in marks_of(grading).values()
    )
    if still:
        raise Conflict(
            gettext("%(still)s answers have marks more than %(gap)s apart; settle them.")
            % {"still": still, "gap": grading.gap}
        )
    grading.closed_at = now or timezone.now()
    grading.save(update_fields=["closed_at"])
    record(by=by, project=grading.task.project, action="grading.close", on=grading)
    return grading


def marks_of(grading: Grading) -> dict[int, Marks]:
    """Return the marks given so far, by answer (one query)."""
    found: dict[int, dict[str, int]] = {}
    names: Mapping[int | None, str] = {
        grading.first_id: "first",
        grading.second_id: "second",
        None: "agreed",
    }
    for answer, grader, value in grading.grades.values_list("answer_id", "grader_id", "value"):
        found.setdefault(answer, {})[names[grader]] = value
    return {answer: Marks(**given) for answer, given in found.items()}
