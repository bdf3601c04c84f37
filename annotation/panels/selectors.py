"""What is known of panels, of qualification rounds and of people left out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import (
    Answer,
    Assignment,
    Exclusion,
    Membership,
    Panel,
    PanelMember,
    Project,
    Qualification,
    Rejection,
    Role,
    Task,
)
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState
from annotation.task_types.rating import page as rating
from annotation.task_types.rating.explanation import EVIDENCE, EXPLANATION, FEEDBACK
from annotation.task_types.rating.type import in_words
from crowdqc.errors import Missing


def panels_of(project: Project) -> QuerySet[Panel]:
    """A project's panels, each with how many are on it now."""
    return project.panels.annotate(now=Count("members", filter=Q(members__until__isnull=True)))


def workers_of(project: Project, ids: Collection[int]) -> list[Membership]:
    """Return the project's workers with these ids; Missing if one is not among them."""
    found = list(project.memberships.filter(pk__in=ids, role=Role.WORKER, removed_at=None))
    if len(found) < len(set(ids)):
        raise Missing(_("There is no such worker in this project."))
    return found


def rounds_of(task: Task) -> QuerySet[Assignment]:
    """Return the submitted rounds of a qualification task, each with its decision."""
    rows = Assignment.objects.filter(task=task, state=AssignmentState.SUBMITTED, quiz__isnull=True)
    return rows.select_related("worker", "qualification")


MOST = 200


def is_at_work(task: Task) -> bool:
    """Whether somebody works on the open task, so that its rules stay until it is paused."""
    working = task.assignments.filter(state=AssignmentState.LEASED)
    return task.state == TaskState.OPEN and working.exists()


def list_excluded_workers(task: Task) -> dict[str, Any]:
    """``exclusions`` in force, and ``answered``: who gave an answer that enters results."""
    exclusions = list(task.exclusions.in_force().select_related("worker", "by"))
    answered = able_to_exclude(task).order_by("pseudonym")[:MOST]
    return {"exclusions": exclusions, "answered": list(answered)}


def count_left_out(task: Task) -> int:
    """Count the rejected assignments whose answers are left out of results."""
    rows = Rejection.objects.filter(assignment__task=task, line__leaves_out=True)
    return rows.exclude(outcome=Rejection.Outcome.OVERTURNED).count()


def able_to_exclude(task: Task) -> QuerySet[Membership]:
    """Return who gave an answer to the task that enters results."""
    given = Answer.objects.filter(item__task=task, worker=OuterRef("pk"), counts=True)
    out = task.exclusions.in_force().values("worker")
    return Membership.objects.filter(Exists(given), project=task.project_id).exclude(pk__in=out)


WAITS = gettext_lazy(
    "A person is reading your last round. You can take another one once it is decided."
)
ADMITTED = gettext_lazy("You have passed: the tasks of the panel are open to you.")
DECLINED = gettext_lazy(
    "Your last round was decided with “not this time”; there is no further one."
)
STOPPED = gettext_lazy("You get no more work in this task. Your pay does not change.")
FEW = 200  # rounds that are listed


def _own(tasks: Sequence[Task], members: Sequence[Membership]) -> QuerySet[Assignment]:
    return Assignment.objects.filter(
        task__in=tasks,
        worker__in=members,
        state=AssignmentState.SUBMITTED,
        quiz__isnull=True,
    )


def reasons_barred(tasks: Sequence[Task], members: Sequence[Membership]) -> dict[int, str]:
    """Return by qualification task why these members may take no further round, as sentences.

    Two queries however many tasks there are.
    """
    asked = [task for task in tasks if task.qualifies_id]
    if not asked:
        return {}
    panels = [task.qualifies_id for task in asked]
    on = set(
        PanelMember.objects.filter(
            panel__in=panels, worker__in=members, until__isnull=True
        ).values_list("panel_id", flat=True)
    )
    found: dict[int, str] = {}
    rounds = _own(asked, members).order_by("pk").values_list("task_id", "qualification__verdict")
    for task, verdict in rounds:
        if verdict is None:
            found[task] = str(WAITS)
        elif verdict == Qualification.Verdict.DECLINED:
            found.setdefault(task, str(DECLINED))
        elif verdict == Qualification.Verdict.ADMITTED:
            found.setdefault(task, str(ADMITTED))
    for one in asked:
        if one.qualifies_id in on:
            found[one.pk] = str(ADMITTED)
    return found


def stops_work(members: Sequence[Membership]) -> QuerySet[Exclusion]:
    """Return the exclusions that bar these members from further work in a task."""
    return Exclusion.objects.in_force().filter(worker__in=members, stops_work=True)


def latest_verdicts(members: Sequence[Membership], most: int = 20) -> list[Qualification]:
    """Return the latest decisions on these members' qualification rounds, newest first."""
    return list(
        Qualification.objects.filter(assignment__worker__in=members)
        .select_related("assignment__version", "assignment__task__qualifies")
        .order_by("-pk")[:most]
    )


# For who decides ----------------------------------------------------------------------------------


def rounds(task: Task) -> list[Assignment]:
    """Submitted rounds of the task: those that wait to be read first, the oldest of them on top."""
    found = (
        Assignment.objects.filter(task=task, state=AssignmentState.SUBMITTED, quiz__isnull=True)
        .select_related("worker", "qualification")
        .annotate(ratings=Count("answers"))
    )
    waiting = found.filter(qualification__isnull=True).order_by("submitted_at", "pk")
    decided = found.filter(qualification__isnull=False).order_by("-submitted_at", "-pk")
    return [*waiting[:FEW], *decided[:FEW]]


def number_of(assignment: Assignment) -> int:
    """The round's number of this worker in this task, from 1."""
    before = Assignment.objects.filter(
        task=assignment.task_id,
        worker=assignment.worker_id,
        state=AssignmentState.SUBMITTED,
        quiz__isnull=True,
        pk__lt=assignment.pk,
    )
    return before.count() + 1


@dataclass(frozen=True)
class RatingRead:
    """One rating as somebody reads it beside the document."""

    answer: Answer
    chosen: str  # its points in words
    explanation: str
    evidence: list[int]
    feedback: str


def read_round(assignment: Assignment) -> list[dict[str, Any]]:
    """Return a round's ratings grouped by document, with the document's sentences."""
    found: dict[int, dict[str, Any]] = {}
    rows = (
        assignment.answers.select_related("item__group", "item__first")
        .prefetch_related("texts", "choices", "spans")
        .order_by("order_shown")
    )
    for answer in rows:
        group = answer.item.group
        here = found.setdefault(group.pk, {"group": group, "ratings": [], "chosen": {}})
        one = _read(answer, {**assignment.version.settings, **answer.item.settings})
        here["ratings"].append(one)
        here["chosen"].update(dict.fromkeys(one.evidence))
    for here in found.values():
        here["paragraphs"] = rating.document(here["group"], 0, here["chosen"])
    return list(found.values())


def _read(answer: Answer, settings: dict[str, Any]) -> RatingRead:
    texts = {text.field: text.text for text in answer.texts.all()}
    draft = {f"r-{choice.field}": choice.code for choice in answer.choices.all()}
    spans = [span.start for span in answer.spans.all() if span.field == EVIDENCE]
    return RatingRead(
        answer,
        in_words(draft, settings),
        texts.get(EXPLANATION, ""),
        sorted(spans),
        texts.get(FEEDBACK, ""),
    )


def feedback(task: Task) -> QuerySet[Answer]:
    """Return answers with feedback to the requester, newest first; ``said`` is the feedback."""
    return (
        Answer.objects.filter(item__task=task, texts__field=FEEDBACK)
        .select_related("worker", "assignment__version")
        .annotate(said=F("texts__text"))
        .order_by("-answered_at", "-pk")
    )


def count_able_workers(task: Task) -> int:
    """Count workers who may take the task and are not left out of its results."""
    workers = able_workers(task.project_id)
    if task.panel_id:
        members = PanelMember.objects.filter(panel=task.panel_id, until__isnull=True)
        workers = workers.filter(pk__in=members.values("worker"))
    return workers.exclude(pk__in=task.exclusions.in_force().values("worker")).count()


def able_workers(project_id: int) -> QuerySet[Membership]:
    """Return the workers of a project who can work: with an account, and not removed."""
    return Membership.objects.filter(
        project=project_id, role=Role.WORKER, user__isnull=False, removed_at__isnull=True
    )
