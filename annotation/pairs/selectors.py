"""What pages show of texts that people wrote, and how far pairs are released."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Count, Min, Q, QuerySet
from django.utils import timezone

from annotation.models import Answer, Assignment, Candidate, Task, TaskVersion
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState
from annotation.task_types.pairwise.page import as_sources


class ReleaseState(NamedTuple):
    """What a task's window holds: how many may still be claimed, and when the next begins."""

    left: int
    every: int
    next_at: dt.datetime


def window(published: dt.datetime, hours: int, now: dt.datetime) -> tuple[dt.datetime, dt.datetime]:
    """Return begin and end of the release period that contains ``now``."""
    length = dt.timedelta(hours=hours)
    begin = published + max(0, (now - published) // length) * length
    return begin, begin + length


def rule_of(version: TaskVersion | None) -> Mapping[str, Any] | None:
    """Return the version's release rule ``{"assignments", "hours"}``; None if it has none."""
    return version.settings.get("release") if version is not None else None


def release_states(tasks: Sequence[Task]) -> dict[int, ReleaseState]:
    """Return the release state of each task that releases in batches, by id (two queries).

    ``current`` of every task has to be fetched. A claim asks under the lock of its version.
    """
    ruled = {task.pk: rule for task in tasks if (rule := rule_of(task.current))}
    if not ruled:
        return {}
    now = timezone.now()
    published = dict(
        TaskVersion.objects.filter(task__in=ruled, published_at__isnull=False)
        .values_list("task_id")
        .annotate(first=Min("published_at"))
    )
    windows = {pk: window(published[pk], rule["hours"], now) for pk, rule in ruled.items()}
    inside = Q()
    for pk, (begin, _) in windows.items():
        inside |= Q(task_id=pk, leased_at__gte=begin)
    taken = dict(
        Assignment.objects.filter(
            inside, state__in=(AssignmentState.LEASED, AssignmentState.SUBMITTED), quiz__isnull=True
        )
        .exclude(source="import")
        .values_list("task_id")
        .annotate(n=Count("pk"))
    )
    return {
        pk: ReleaseState(
            max(0, rule["assignments"] - taken.get(pk, 0)), rule["assignments"], windows[pk][1]
        )
        for pk, rule in ruled.items()
    }


LONGEST = 100_000  # characters of a topic's sources, as the builder takes them


@dataclass(frozen=True)
class PublishedTopic:
    """A topic as the published version asks for it, and the items that asked just that."""

    key: str
    query: str
    sources: str
    items: list[int]


def list_topics_with_items(task: Task) -> list[PublishedTopic]:
    """Return topics of the current version, each with its query's items.

    Responses to another wording or to other passages of a topic are not among them: they answer
    something else, and their citations count other passages.
    """
    assert task.current is not None  # noqa: S101 (only a published task has responses)
    number, first = task.current.number, task.current.settings["first_number"]
    groups = {group.pk: group for group in task.groups.all()}
    shown = {g.key: g for g in groups.values() if g.since <= number < (g.until or number + 1)}
    items = list(
        task.items.order_by("pk").values_list("pk", "group_id", "question", "since", "until")
    )
    queries = {
        group: question
        for _, group, question, since, until in items
        if since <= number < (until or number + 1)
    }
    found: dict[str, PublishedTopic] = {}
    for pk, group_id, question, _, _ in items:
        now = shown.get(groups[group_id].key)
        if now is None or groups[group_id].passages != now.passages:
            continue
        if question != queries.get(now.pk):
            continue
        if now.key not in found:
            found[now.key] = PublishedTopic(now.key, question, _sources(now.passages, first), [])
        found[now.key].items.append(pk)
    return list(found.values())


def _sources(passages: list[dict[str, str]], first: int) -> str:
    """Passages as sources, as many of the first as there is room for."""
    most = len(passages)
    while len(text := as_sources(passages[:most], first)) > LONGEST:
        most -= 1
    return text


@dataclass(frozen=True)
class DerivedProgress:
    """How far the responses of a task are put to judgment."""

    people: int  # counting responses of people
    systems: int
    taken: int  # of them all, those that are texts under judgment
    task: Task | None  # the newest pairwise task over them

    @property
    def new(self) -> int:
        """Count the answers that are not taken over yet."""
        return max(0, self.people + self.systems - self.taken)


def chain_of(task: Task) -> DerivedProgress:
    """Count the responses that "judge these responses" would take over (three queries)."""
    assert task.current is not None  # noqa: S101 (only a published task has responses)
    seen = task.items.in_version(task.current.number).values("pk")
    out = task.exclusions.in_force().values("worker")
    rows = Answer.objects.filter(
        item__in=seen, counts=True, stage=Answer.Stage.MAIN, texts__field="answer"
    ).exclude(worker__in=out)
    counts = rows.aggregate(
        people=Count("pk", filter=Q(worker__isnull=False)),
        systems=Count("pk", filter=Q(system__isnull=False)),
    )
    taken = Candidate.objects.filter(source_answer__in=rows.values("pk"))
    return DerivedProgress(
        counts["people"], counts["systems"], taken.count(), judged_by(task).first()
    )


def judged_by(task: Task, type: str = "pairwise") -> QuerySet[Task]:
    """Return the open tasks that judge this task's responses, newest first."""
    rows = Task.objects.filter(project_id=task.project_id, source=task, type=type)
    return rows.exclude(state=TaskState.CLOSED).order_by("-pk")
