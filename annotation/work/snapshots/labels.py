"""Labels of items as evaluation freezes them: one flat row a vote on one field of a task."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import (
    Case,
    CharField,
    F,
    FilteredRelation,
    Q,
    QuerySet,
    Value,
    When,
)
from django.db.models.functions import Coalesce
from django.utils.translation import gettext

from annotation.models import Answer, ChoiceValue, Membership, Task, TaskVersion
from annotation.task_types.labels.fields import CHOOSE_ONE, UNSURE
from annotation.work.snapshots.answers import uncounted_otherwise
from crowdqc.errors import Conflict

CHUNK = 20_000
HEADER = (
    "pk",
    "item_id",
    "item__key",
    "item__since",
    "item__expected",
    "worker_id",
    "answered_at",
    "code",
)


@dataclass(frozen=True)
class LabelField:
    """A field in which one of several options is chosen; ``options`` are codes with labels."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...]

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the options, in their order."""
        return tuple(code for code, _ in self.options)

    @property
    def labels(self) -> dict[str, str]:
        """Label of each code."""
        return dict(self.options)


class LabelVote(NamedTuple):
    """One worker's label of one item; ``known`` is the item's known answer, "" without one."""

    answer_id: int
    item_id: int
    item_key: str
    item_since: int
    known: str
    worker_id: int
    answered_at: dt.datetime
    code: str


class SystemLabel(NamedTuple):
    """One model's label of one item; ``known`` is the item's known answer, "" without one."""

    system_id: int
    system: str
    strategy: str
    item_id: int
    known: str
    code: str


class Sorted(NamedTuple):
    """Every main answer of people to a task at one moment, seen from one field.

    ``came`` = the number of ``rows`` + the sum of ``left_out``.
    """

    rows: list[LabelVote]
    came: int
    left_out: Counter[str]


def fields_of(version: TaskVersion | None) -> list[LabelField]:
    """The fields of a version in which one option is chosen for a whole item, in their order."""
    rows: Sequence[Mapping[str, Any]] = version.settings.get("fields", []) if version else []
    return [
        LabelField(
            row["name"],
            row["label"],
            tuple((one["value"], one["label"] or one["value"]) for one in row["options"]),
        )
        for row in rows
        if row["kind"] == CHOOSE_ONE and not row.get("per")
    ]


def field_of(task: Task, name: str = "") -> LabelField:
    """Return the label field of this name, or the task's first; Conflict if there is none."""
    if task.current is None:
        raise Conflict(gettext("The task was never published."))
    found = fields_of(task.current)
    chosen = next((one for one in found if not name or one.name == name), None)
    if chosen is None and found:
        known = ", ".join(one.name for one in found)
        raise Conflict(
            gettext("The task has no field %(name)s with one choice; it has: %(known)s.")
            % {"name": repr(name), "known": known}
        )
    if chosen is None:
        raise Conflict(gettext("The task has no field in which one option is chosen."))
    return chosen


def pooled_versions(task: Task, field: LabelField) -> list[int]:
    """Return the published versions whose field offers the same options, in any order."""
    wanted = set(field.codes)
    return [
        version.pk
        for version in task.versions.filter(published_at__isnull=False)
        if any(one.name == field.name and set(one.codes) == wanted for one in fields_of(version))
    ]


def _counting(task: Task) -> Q:
    """Answers that enter results: those that count, and all to items with a known answer."""
    excluded = task.exclusions.in_force().values("worker")
    return (
        Q(
            item__task=task,
            stage=Answer.Stage.MAIN,
            worker__isnull=False,
            assignment__quiz__isnull=True,
        )
        & (Q(counts=True) | Q(item__expected__isnull=False))
        & ~Q(worker__in=excluded)
    )


def counting_rows(task: Task) -> QuerySet[Answer]:
    """Return the answers that snapshots of the task's fields would hold.

    The answer to an item with a known answer has no slot and never counts as work wanted; here it
    does, as it says how good workers and methods are.
    """
    return Answer.objects.filter(_counting(task))


def sorted_out(task: Task, field: LabelField) -> Sorted:
    """Read all labels of people in one query: those that count, and counts of the others by reason.

    Of a worker who labelled an item twice the earliest label stands.
    """
    rows: list[LabelVote] = []
    left_out: Counter[str] = Counter()
    came = 0
    main = _with_code(_main(task), field).annotate(why=_unused_reason(task, field))
    for *header, why in main.values_list(*HEADER, "why").iterator(chunk_size=CHUNK):
        came += 1
        if why:
            left_out[why] += 1
        else:
            rows.append(_vote(header, field))
    kept = first_votes(rows)
    left_out["repeated"] += len(rows) - len(kept)
    return Sorted(kept, came, +left_out)


def of_answers(task: Task, field: LabelField, answer_ids: Collection[int]) -> list[LabelVote]:
    """Return the labels in these answers, whether or not they still count."""
    wanted = set(answer_ids)
    rows = _with_code(_main(task), field).filter(code__in=field.codes).values_list(*HEADER)
    found = [_vote(row, field) for row in rows.iterator(chunk_size=CHUNK) if row[0] in wanted]
    return sorted(found, key=_order)


def system_labels(task: Task, field: LabelField) -> list[SystemLabel]:
    """Return the labels that systems chose in the field, the first of each item (two queries).

    Of a system that labelled an item several times the first label stands.
    """
    rows = ChoiceValue.objects.filter(
        field=field.name,
        code__in=field.codes,
        answer__item__task=task,
        answer__system__isnull=False,
        answer__stage=Answer.Stage.MAIN,
        answer__version__in=pooled_versions(task, field),
    ).order_by("answer__replicate", "answer_id")
    found: dict[tuple[int, int], SystemLabel] = {}
    for system, name, strategy, item, expected, code in rows.values_list(
        "answer__system_id",
        "answer__system__name",
        "answer__system__prompt_strategy",
        "answer__item_id",
        "answer__item__expected",
        "code",
    ).iterator(chunk_size=CHUNK):
        known = (expected or {}).get(field.name, "")
        known = known if known in field.codes else ""
        found.setdefault((system, item), SystemLabel(system, name, strategy, item, known, code))
    return list(found.values())


def labels_of_worker(
    task: Task, field: LabelField, worker: Membership, answer_ids: Collection[int]
) -> dict[int, str]:
    """Item -> what the worker chose in the field, among the answers of a snapshot."""
    wanted = set(answer_ids)
    rows = ChoiceValue.objects.filter(
        field=field.name, code__in=field.codes, answer__worker=worker, answer__item__task=task
    ).values_list("answer_id", "answer__item_id", "code")
    return {item: code for answer, item, code in rows if answer in wanted}


def _main(task: Task) -> QuerySet[Answer]:
    main = Answer.objects.filter(item__task=task, stage=Answer.Stage.MAIN, worker__isnull=False)
    return main.filter(assignment__quiz__isnull=True)


def _with_code(rows: QuerySet[Answer], field: LabelField) -> Any:
    """Add a column ``code``: the field's chosen value; empty if it was not asked or left open."""
    own = FilteredRelation("choices", condition=Q(choices__field=field.name))
    return rows.alias(choice=own).annotate(
        code=Coalesce(F("choice__code"), Value(""), output_field=CharField())
    )


def _unused_reason(task: Task, field: LabelField) -> Case:
    """The reason why a vote is not used, the first that holds; empty where it is."""
    excluded = task.exclusions.in_force().values("worker")
    return Case(
        When(
            uncounted_otherwise(task),
            item__expected__isnull=True,
            then=Value("uncounted"),
        ),
        When(worker__in=excluded, then=Value("excluded")),
        When(counts=False, item__expected__isnull=True, then=Value("uncounted")),
        When(~Q(version__in=pooled_versions(task, field)), then=Value("other_fields")),
        When(code=UNSURE, then=Value("unsure")),
        When(~Q(code__in=field.codes), then=Value("no_choice")),
        default=Value(""),
        output_field=CharField(),
    )


def _vote(header: Sequence[Any], field: LabelField) -> LabelVote:
    pk, item, key, since, expected, worker, at, code = header
    known = (expected or {}).get(field.name, "")
    return LabelVote(pk, item, key, since, known if known in field.codes else "", worker, at, code)


def _order(row: LabelVote) -> tuple[Any, ...]:
    return (row.item_key, row.item_since, row.worker_id, row.answered_at, row.answer_id)


def first_votes(rows: Sequence[LabelVote]) -> list[LabelVote]:
    """One vote a worker and item, in the order of a snapshot."""
    kept: list[LabelVote] = []
    for row in sorted(rows, key=_order):
        if not kept or (kept[-1].item_id, kept[-1].worker_id) != (row.item_id, row.worker_id):
            kept.append(row)
    return kept
