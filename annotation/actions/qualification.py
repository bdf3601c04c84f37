"""Qualification: a person reads a round, says what they think of it and decides what follows."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from annotation.models import Assignment, Panel, Qualification, Task, User
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState
from annotation.selectors.qualification import number_of
from annotation.task_types.texts import storable
from crowdqc.errors import Conflict, Invalid

from .audit import record
from .pair_design import panel

MAX_FEEDBACK = 4000


@transaction.atomic
def decide(*, by: User, assignment: Assignment, verdict: str, feedback: str) -> Qualification:
    """Decide a submitted round once, with words that the worker reads; pay is decided apart.

    "admitted" puts the worker onto the panel that the task qualifies for. Raises Invalid naming
    ``verdict`` or ``feedback``, Conflict where the round is decided already or qualifies nobody.
    """
    locked = (
        Assignment.objects.select_for_update(of=("self",), no_key=True)
        .select_related("task__project", "task__qualifies", "worker")
        .get(pk=assignment.pk)
    )
    if verdict not in Qualification.Verdict.values:
        raise Invalid(
            "Choose what follows: another round, onto the panel, or not this time.",
            fields={"verdict": "Another round, onto the panel, or not this time."},
        )
    words = storable(feedback).strip()
    if not words:
        raise Invalid("Write what the worker should read.", fields={"feedback": "Write it."})
    if len(words) > MAX_FEEDBACK:
        raise Invalid(
            "The feedback is too long.", fields={"feedback": f"{MAX_FEEDBACK:,} characters."}
        )
    wanted = locked.task.qualifies
    if wanted is None:
        raise Conflict("This task qualifies for no panel.")
    if locked.state != AssignmentState.SUBMITTED:
        raise Conflict("This round is not submitted.")
    if locked.worker.user_id == by.pk:
        raise Conflict("Nobody decides about their own round.")
    try:
        with transaction.atomic():
            made = Qualification.objects.create(
                assignment=locked, round=number_of(locked), verdict=verdict, feedback=words, by=by
            )
    except IntegrityError as error:
        raise Conflict("This round is decided already.") from error
    if verdict == Qualification.Verdict.ADMITTED:
        project = locked.task.project
        panel(by=by, project=project, name=wanted.name, workers=[locked.worker])
    record(by=by, project=locked.task.project, action="qualification.decide", on=locked,
           verdict=verdict)  # fmt: skip
    return made


@transaction.atomic
def set_panels(*, by: User, task: Task, qualifies: str, asks_for: str) -> Task:
    """Name the panel that passing leads to, and the panel that alone may work; empty: none.

    A panel of a new name is made, with nobody on it. Raises Invalid where both are the same, and
    Conflict for a task that is open.
    """
    locked = Task.objects.select_for_update(no_key=True).get(pk=task.pk)
    if locked.state == TaskState.OPEN:
        raise Conflict("Pause the task first: people are working under its rules.")
    named = {"qualifies": qualifies.strip(), "panel": asks_for.strip()}
    if named["qualifies"] and named["qualifies"] == named["panel"]:
        raise Invalid(
            "A task cannot ask for the panel it leads to.", fields={"panel": "Another one."}
        )
    for field, name in named.items():
        found: Panel | None = None
        if name:
            found = panel(by=by, project=task.project, name=name, workers=())
        setattr(locked, field, found)
    locked.save(update_fields=["qualifies", "panel"])
    record(by=by, project=task.project, action="task.panels", on=locked, **named)
    return locked
