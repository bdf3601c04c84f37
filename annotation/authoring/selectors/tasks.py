"""Tasks for lists and for their own page: what was asked, collected, spent, and what is next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext, gettext_lazy, ngettext, pgettext

from annotation.authoring.selectors.cost import count_assignments, shown_items
from annotation.authoring.selectors.planned import planned_answers
from annotation.authoring.selectors.progress import TaskProgress, progress_of
from annotation.models import (
    Answer,
    AnswerCount,
    Assignment,
    Item,
    LedgerEntry,
    PayoutLine,
    Project,
    Task,
    TaskVersion,
)
from annotation.models.assignments import AssignmentState
from annotation.models.payouts import OWED, PAID_OUT
from annotation.task_types import TaskType, get_type
from annotation.task_types.labels.fields import FROM_TEMPLATE
from crowdqc.numbers import plural, several

ZERO = Decimal("0.00")


@dataclass(frozen=True)
class TaskRow:
    """A task of the list with its version, progress and pay."""

    task: Task
    version: TaskVersion  # the published one, or the draft of a task never published
    draft: TaskVersion | None
    questions: int
    planned: int  # answers
    pending: int  # answers that nobody has submitted yet; beside them an import may bring more
    answers: int
    progress: TaskProgress
    waiting: int  # submitted, and neither settled nor in a proposal
    approved: Decimal  # what the books owe or paid
    paid_out: Decimal  # of it, what really left
    last_answer: Any

    @property
    def outstanding(self) -> int:
        """Assignments that fill the slots still open."""
        documents = self.progress.documents
        return count_assignments(self.pending, self.version, self.questions, documents)

    @property
    def filled(self) -> int:
        """Count the planned answers that have been given."""
        return max(0, self.planned - self.pending)

    @property
    def submitted(self) -> int:
        return self.progress.submitted

    @property
    def leased(self) -> int:
        return self.progress.leased

    @property
    def cost_limit(self) -> Decimal:
        return self.progress.cost_limit

    @property
    def type(self) -> TaskType:
        return get_type(self.task.type)

    @property
    def type_label(self) -> str:
        return str(self.type.label)

    @property
    def noun(self) -> str:
        """Noun for one item of the task: question, pair, text or answer."""
        return self.type.noun_in(self.version.settings)

    @property
    def nouns(self) -> str:
        """Singular and plural of the item's noun, for the template filter ``plural``."""
        return f"{self.noun},{self.noun}s"

    @property
    def answer_noun(self) -> str:
        """Noun for one answer to an item of the task."""
        return self.type.answer_noun

    @property
    def is_imported(self) -> bool:
        """Whether a file brought all answers, more than planned, so that nothing is to come."""
        return self.answers > self.planned and not self.pending and self.progress.is_imported

    @property
    def complete(self) -> bool:
        """Whether all answers that are asked for have been given."""
        return self.planned > 0 and not self.pending


def _by_task(rows: QuerySet[Any], by: str, **totals: Any) -> dict[int, dict[str, Any]]:
    """Totals of ``rows`` for each task, in one query."""
    return {row[by]: row for row in rows.order_by().values(by).annotate(**totals)}


def with_titles(tasks: QuerySet[Task]) -> QuerySet[Task]:
    """Tasks with ``title``: that of the version in force, else of the draft."""
    latest = TaskVersion.objects.filter(task=OuterRef("pk")).order_by("-number").values("title")
    return tasks.annotate(title=Coalesce("current__title", Subquery(latest[:1])))


def with_work(tasks: QuerySet[Task]) -> QuerySet[Task]:
    """Tasks with ``title``, ``last_submit``, and whether work ``waits``."""
    done = Assignment.objects.filter(task=OuterRef("pk"), state=AssignmentState.SUBMITTED)
    last = done.order_by("-submitted_at").values("submitted_at")
    busy = PayoutLine.objects.filter(assignment=OuterRef("pk"), live=True)
    return with_titles(tasks).annotate(
        last_submit=Subquery(last[:1]),
        waits=Exists(done.filter(~Exists(busy), settled_at__isnull=True)),
    )


@dataclass(frozen=True)
class Collected:
    """Items of a task without known answers, and the answers planned for and given to them.

    ``pending`` answers were not submitted yet. An import may bring items more than planned.
    """

    questions: int = 0
    planned: int = 0
    pending: int = 0
    answers: int = 0
    every: tuple[int, int] = (0, 0)  # items and free slots, those with known answers included

    @property
    def filled(self) -> int:
        """Count the planned answers that have been given."""
        return max(0, self.planned - self.pending)


def collected_answers(found: Sequence[Task]) -> dict[int, Collected]:
    """What was asked and answered by task, repeated items included; three queries."""
    asks = Q(expected__isnull=True)
    items = _by_task(
        shown_items(Item.objects.filter(task__in=found)),
        "task_id",
        questions=Count("pk", filter=asks),
        planned=Sum(planned_answers(F("task__current__redundancy")), filter=asks, default=0),
        slots=Sum("redundancy", filter=asks, default=0),
        items=Count("pk"),
        free=Sum(F("redundancy") - F("held"), default=0),
    )
    # Those of all versions are counted as they come; few are of questions that were taken out.
    answers = _by_task(
        AnswerCount.objects.filter(version__task__in=found, worker__isnull=False, known=False),
        "version__task_id",
        n=Sum("n"),
    )
    gone = _by_task(
        Answer.objects.filter(
            item__task__in=found,
            item__expected__isnull=True,
            item__until__lte=F("item__task__current__number"),
            counts=True,
            stage=Answer.Stage.MAIN,
            worker__isnull=False,
        ),
        "item__task_id",
        n=Count("pk"),
    )
    none = {"questions": 0, "planned": 0, "slots": 0, "items": 0, "free": 0}
    rows = {task.pk: items.get(task.pk, none) for task in found}
    given = {
        task.pk: answers.get(task.pk, {}).get("n", 0) - gone.get(task.pk, {}).get("n", 0)
        for task in found
    }
    return {
        task.pk: Collected(
            questions=rows[task.pk]["questions"],
            planned=rows[task.pk]["planned"],
            pending=max(0, rows[task.pk]["slots"] - given[task.pk]),
            every=(rows[task.pk]["items"], rows[task.pk]["free"]),
            answers=given[task.pk],
        )
        for task in found
    }


def rows_of(found: list[Task]) -> list[TaskRow]:
    """Tasks with their figures; the number of queries does not grow with them."""
    drafts = {
        draft.task_id: draft
        for draft in TaskVersion.objects.filter(task__in=found, published_at__isnull=True)
    }
    shown = {task.pk: task.current or drafts[task.pk] for task in found}
    collected = {
        pk: one if shown[pk].published_at else _as_planned(one, shown[pk])
        for pk, one in collected_answers(found).items()
    }
    busy = PayoutLine.objects.filter(assignment=OuterRef("pk"), live=True)
    submitted = Assignment.objects.filter(
        task__in=found, state=AssignmentState.SUBMITTED, settled_at__isnull=True
    )
    waiting = _by_task(submitted.filter(~Exists(busy)), "task_id", n=Count("pk"))
    books = _by_task(
        LedgerEntry.objects.filter(task__in=found),
        "task_id",
        approved=Sum("amount", filter=OWED, default=ZERO),
        paid=PAID_OUT,
    )
    return [
        TaskRow(
            task=one.task,
            version=shown[one.task.pk],
            draft=drafts.get(one.task.pk),
            questions=collected[one.task.pk].questions,
            planned=collected[one.task.pk].planned,
            pending=collected[one.task.pk].pending,
            answers=collected[one.task.pk].answers,
            progress=one,
            waiting=waiting.get(one.task.pk, {}).get("n", 0),
            approved=books.get(one.task.pk, {}).get("approved", ZERO),
            paid_out=books.get(one.task.pk, {}).get("paid", ZERO),
            last_answer=one.last,
        )
        for one in progress_of(found, {pk: one.every for pk, one in collected.items()})
    ]


def _as_planned(collected: Collected, draft: TaskVersion) -> Collected:
    """Return what a draft will collect: before the first publication no item has slots."""
    wanted = collected.questions * draft.redundancy
    every = (collected.questions, wanted)
    return replace(collected, planned=wanted, pending=wanted, every=every)


def task_rows(project: Project) -> list[TaskRow]:
    """List every task of a project, newest first."""
    return rows_of(list(project.tasks.select_related("current").order_by("-pk")))


def task_row(task: Task) -> TaskRow:
    """Return one task with its progress and pay."""
    return rows_of(list(Task.objects.filter(pk=task.pk).select_related("current")))[0]


@dataclass(frozen=True)
class VersionRow:
    """A version, what it changed in words, and how many answers name it."""

    version: TaskVersion
    changes: list[str]
    answers: int
    current: bool


# What a version can change, said of its row: numbers with both values, texts without them.
FIELDS = {
    "title": gettext_lazy("another title"),
    "instructions": gettext_lazy("other instructions"),
    "order": gettext_lazy("another order"),
    "redundancy": gettext_lazy("%(answers)s per %(noun)s %(before)s to %(after)s"),
    "items_per_assignment": gettext_lazy("%(nouns)s per assignment %(before)s to %(after)s"),
    "lease_minutes": gettext_lazy("time for an assignment %(before)s to %(after)s"),
    "min_seconds": gettext_lazy("least time %(before)s to %(after)s"),
    "expected_minutes": gettext_lazy("expected time %(before)s to %(after)s"),
    "pay": gettext_lazy("pay %(before)s to %(after)s"),
    "bonus_note": gettext_lazy("another bonus note"),
}


# Settings that say how pairs are drawn: what they changed is counted in pairs.
DRAWN = {"design", "left_out", "made"}
WORDING = ("question", "label", "description")  # of a line: a field, dimension, scale or question
CHOICES = ("options", "points")


def describe_changes(old: TaskVersion, new: TaskVersion, items: QuestionChanges) -> list[str]:
    """Say what a version changes: what it asks, its rules, and ``items``; phrases."""
    task_type = get_type(new.task.type)
    noun = task_type.noun_in(new.settings)
    nouns = {
        "noun": pgettext("noun", noun),
        "nouns": several(noun),
        "answers": several(task_type.answer_noun),
    }
    said = _describe_lines(task_type, old.settings, new.settings)
    for name, words in FIELDS.items():
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            said.append(str(words) % {**nouns, "before": before, "after": after})
    return said + items.words(noun)


def _describe_lines(
    task_type: TaskType, old: Mapping[str, Any], new: Mapping[str, Any]
) -> list[str]:
    """Say which questions asked of every item are new, gone or reworded, and other rules."""
    before = {row["name"]: row for row in task_type.lines(old)}
    after = {row["name"]: row for row in task_type.lines(new)}
    both = [(before[name], row) for name, row in after.items() if name in before]
    said = []
    if n := len(after.keys() - before.keys()):
        said.append(ngettext("%(n)s question new", "%(n)s questions new", n) % {"n": n})
    if n := len(before.keys() - after.keys()):
        said.append(ngettext("%(n)s question taken out", "%(n)s questions taken out", n) % {"n": n})
    if n := _count_differing(both, WORDING):
        said.append(ngettext("question reworded", "%(n)s questions reworded", n) % {"n": n})
    if n := _count_differing(both, CHOICES):
        said.append(ngettext("options changed", "options of %(n)s questions changed", n) % {"n": n})
    if _rules(task_type, old, both, 0) != _rules(task_type, new, both, 1):
        said.append(gettext("other rules for answers"))
    return said


Both = Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]


def _count_differing(both: Both, keys: Sequence[str]) -> int:
    return sum(any(old.get(key) != new.get(key) for key in keys) for old, new in both)


def _rules(task_type: TaskType, settings: Mapping[str, Any], both: Both, side: int) -> object:
    """What is neither a wording nor counted in pairs."""
    lines = task_type.lines(settings)
    own = {key: one for key, one in settings.items() if key not in DRAWN and one != lines}
    kept = {*WORDING, *CHOICES, FROM_TEMPLATE}
    return own, [{key: one for key, one in pair[side].items() if key not in kept} for pair in both]


@dataclass(frozen=True)
class QuestionChanges:
    """Keys of questions that one version adds, takes out, or words anew."""

    added: set[str]
    removed: set[str]
    changed: set[str]

    def words(self, noun: str = "question") -> list[str]:
        """Return phrases on how many items are new, changed and removed."""
        pairs = (
            (gettext("%(items)s new"), self.added),
            (gettext("%(items)s changed"), self.changed),
            (gettext("%(items)s taken out"), self.removed),
        )
        return [words % {"items": plural(len(keys), noun)} for words, keys in pairs if keys]


def question_changes(task: Task, number: int) -> QuestionChanges:
    """Return which items version ``number`` added, removed and changed."""
    began = set(task.items.filter(since=number).values_list("key", flat=True))
    ended = set(task.items.filter(until=number).values_list("key", flat=True))
    return QuestionChanges(began - ended, ended - began, began & ended)


def versions_of(task: Task) -> list[VersionRow]:
    """All versions, newest first; the number of queries does not grow with them."""
    versions = list(task.versions.select_related("published_by").order_by("number"))
    answers = dict(
        AnswerCount.objects.filter(version__task=task, worker__isnull=False, known=False)
        .values_list("version_id")
        .annotate(answers=Sum("n"))
    )
    began: dict[int, set[str]] = {}
    ended: dict[int, set[str]] = {}
    later = task.items.filter(Q(since__gt=1) | Q(until__isnull=False))
    for key, since, until in later.values_list("key", "since", "until"):
        began.setdefault(since, set()).add(key)
        if until:
            ended.setdefault(until, set()).add(key)
    rows = []
    for old, version in zip([None, *versions], versions, strict=False):
        changes = [gettext("the first version")]
        if old is not None:
            version.task = task
            new, gone = began.get(version.number, set()), ended.get(version.number, set())
            items = QuestionChanges(new - gone, gone - new, new & gone)
            changes = describe_changes(old, version, items)
        rows.append(
            VersionRow(
                version,
                changes or [gettext("nothing yet")],
                answers.get(version.pk, 0),
                version.pk == task.current_id,
            )
        )
    return rows[::-1]


def domains_of(project: Project) -> list[str]:
    """List the domains of the project's tasks, each once, in alphabetical order."""
    rows = project.tasks.exclude(domain="").order_by("domain")
    return list(rows.values_list("domain", flat=True).distinct())
