"""Expert grading as its pages show it: what is left to mark, where two marks lie apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from annotation.models import Answer, Membership, Role, Task, TextValue, User
from annotation.task_types.rendering import render_markdown
from evaluation.grading.actions import Marks, marks_of, order_for
from evaluation.models import Grading

LEAST = 10  # answers marked by both, below which no agreement is told


@dataclass(frozen=True)
class Shown:
    """One answer as a grader sees it: nothing says whose it is or what a method thinks of it."""

    answer_id: int
    question: str
    passage: Any
    text: str


@dataclass(frozen=True)
class Apart:
    """An answer whose two marks lie too far apart, with what both noted."""

    shown: Shown
    first: int
    second: int
    notes: Sequence[str]
    agreed: int | None


@dataclass(frozen=True)
class Standing:
    """How far a grading is, and how well the two agree."""

    total: int
    first: int
    second: int
    both: int
    apart: int
    open: int  # apart and not settled yet
    final: int
    r: float | None
    low: float | None
    high: float | None
    difference: float | None  # mean of second less first


def newest(task: Task) -> Grading | None:
    """The task's open grading, else the one closed last."""
    return (
        task.gradings.select_related("first", "second", "task__project")
        .order_by("closed_at", "-id")
        .first()
        if task.gradings.filter(closed_at__isnull=True).exists()
        else task.gradings.select_related("first", "second", "task__project").first()
    )


def staff(task: Task) -> list[User]:
    """Who may grade: requesters and managers of the project."""
    rows = (
        Membership.objects.filter(
            project=task.project_id,
            removed_at__isnull=True,
            user__isnull=False,
            role__in=(Role.REQUESTER, Role.MANAGER),
        )
        .select_related("user")
        .order_by("user__username")
    )
    return list({row.user_id: row.user for row in rows if row.user}.values())


def standing(grading: Grading) -> Standing:
    """Counts, and Pearson's r of the two graders with its interval by Fisher's z."""
    marks = marks_of(grading)
    both = [
        (m.first, m.second) for m in marks.values() if m.first is not None and m.second is not None
    ]
    r, low, high = _agreement(both)
    return Standing(
        total=len(grading.answer_ids),
        first=sum(m.first is not None for m in marks.values()),
        second=sum(m.second is not None for m in marks.values()),
        both=len(both),
        apart=sum(m.apart(grading.gap) for m in marks.values()),
        open=sum(m.apart(grading.gap) and m.agreed is None for m in marks.values()),
        final=sum(m.final(grading.gap) is not None for m in marks.values()),
        r=r,
        low=low,
        high=high,
        difference=float(np.mean([b - a for a, b in both])) if both else None,
    )


def _agreement(
    both: Sequence[tuple[int, int]], level: float = 0.95
) -> tuple[float | None, float | None, float | None]:
    """Pearson's r of pairs of marks, by Fisher's z; None where it is not defined."""
    if len(both) < LEAST:
        return None, None, None
    x, y = np.array(both, dtype=float).T
    if not x.std() or not y.std():
        return None, None, None
    r, n = float(np.corrcoef(x, y)[0, 1]), len(both)
    middle, reach = np.arctanh(min(r, 1 - 1e-9)), -float(ndtri((1 - level) / 2)) / np.sqrt(n - 3)
    return r, float(np.tanh(middle - reach)), float(np.tanh(middle + reach))


def next_answer(grading: Grading, grader: User) -> int | None:
    """The next answer in this grader's own order that they have not marked."""
    done = set(grading.grades.filter(grader=grader).values_list("answer_id", flat=True))
    return next((pk for pk in order_for(grading, grader.pk) if pk not in done), None)


def place_of(grading: Grading, grader: User, answer_id: int) -> tuple[int, int | None, int | None]:
    """Number of an answer in this grader's order (from 1), and the ones before and after it."""
    order = order_for(grading, grader.pk)
    at = order.index(answer_id)
    before = order[at - 1] if at else None
    return at + 1, before, order[at + 1] if at + 1 < len(order) else None


def shown(answer_ids: Sequence[int]) -> dict[int, Shown]:
    """Answers by id as a grader sees them; two queries."""
    texts = dict(
        TextValue.objects.filter(answer__in=answer_ids, field="answer", index=0).values_list(
            "answer_id", "text"
        )
    )
    rows = Answer.objects.filter(pk__in=answer_ids).values_list(
        "pk", "item__question", "item__group__passage"
    )
    return {
        pk: Shown(pk, question, render_markdown(passage), texts.get(pk, ""))
        for pk, question, passage in rows
    }


def own_mark(grading: Grading, grader: User, answer_id: int) -> tuple[int | None, str]:
    """What this grader gave so far."""
    found = grading.grades.filter(grader=grader, answer=answer_id).first()
    return (found.value, found.note) if found else (None, "")


def apart(grading: Grading, marks: Mapping[int, Marks] | None = None) -> list[Apart]:
    """Answers whose marks lie too far apart, the widest gap first; unsettled ones before."""
    marks = marks_of(grading) if marks is None else marks
    wide = [pk for pk, both in marks.items() if both.apart(grading.gap)]
    notes: dict[int, list[str]] = {}
    rows = grading.grades.filter(answer__in=wide, grader__isnull=False).exclude(note="")
    for pk, note in rows.order_by("grader_id").values_list("answer_id", "note"):
        notes.setdefault(pk, []).append(note)
    texts = shown(wide)
    found = [
        Apart(
            texts[pk],
            marks[pk].first or 0,
            marks[pk].second or 0,
            notes.get(pk, []),
            marks[pk].agreed,
        )
        for pk in wide
        if pk in texts
    ]
    found.sort(key=lambda one: (one.agreed is not None, -abs(one.first - one.second)))
    return found
