"""Qualification: a person reads a round, says what they think of it and decides what follows."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models import Assignment, Panel, Qualification, User
from annotation.models.assignments import AssignmentState
from annotation.notifications.actions.notices import notify
from annotation.panels.actions import panels
from annotation.panels.selectors import number_of
from annotation.records.actions.audit import record
from annotation.task_types.texts import storable
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import count

MAX_FEEDBACK = 4000


@transaction.atomic
def decide(*, by: User, assignment: Assignment, verdict: str, feedback: str) -> Qualification:
    """Decide a submitted round once, with words that the worker reads; pay is decided apart.

    "admitted" puts the worker onto the panel that the task qualifies for, "again" gives another
    round. Raises Invalid naming ``verdict`` or ``feedback``, Conflict where the round is decided
    already or qualifies nobody.
    """
    locked = (
        Assignment.objects.select_for_update(of=("self",), no_key=True)
        .select_related("task__project", "task__qualifies", "worker__user", "version")
        .get(pk=assignment.pk)
    )
    if verdict not in Qualification.Verdict.values:
        raise Invalid(
            _("Choose what follows: another round, onto the panel, or not this time."),
            fields={"verdict": _("Another round, onto the panel, or not this time.")},
        )
    words = storable(feedback).strip()
    if not words:
        raise Invalid(_("Write what the worker should read."), fields={"feedback": _("Write it.")})
    if len(words) > MAX_FEEDBACK:
        raise Invalid(
            _("The feedback is too long."),
            fields={"feedback": _("%(most)s characters.") % {"most": count(MAX_FEEDBACK)}},
        )
    wanted = locked.task.qualifies
    if wanted is None:
        raise Conflict(_("This task qualifies for no panel."))
    if locked.state != AssignmentState.SUBMITTED:
        raise Conflict(_("This round is not submitted."))
    if locked.worker.user_id == by.pk:
        raise Conflict(_("Nobody decides about their own round."))
    try:
        with transaction.atomic():
            made = Qualification.objects.create(
                assignment=locked, round=number_of(locked), verdict=verdict, feedback=words, by=by
            )
    except IntegrityError as error:
        raise Conflict(_("This round is decided already.")) from error
    if verdict == Qualification.Verdict.ADMITTED:
        panels.admit(
            by=by,
            panel=wanted,
            workers=[locked.worker],
            tell=False,
            why=f"passed round {made.round} of “{locked.version.title}”"[: panels.MOST_WHY],
        )
    _notify_worker(made, wanted)
    record(
        by=by,
        project=locked.task.project,
        action="qualification.decide",
        on=locked,
        verdict=verdict,
    )
    return made


def _notify_worker(made: Qualification, wanted: Panel) -> None:
    """Tell the worker what was decided; the feedback itself stands on their work page."""
    work = made.assignment

    def text() -> str:
        said = {
            Qualification.Verdict.AGAIN: _(
                "Round %(round)s of “%(task)s” was read. You may do another round; the feedback is "
                "on your work page."
            ),
            Qualification.Verdict.ADMITTED: _(
                "Round %(round)s of “%(task)s” was read. You are on the panel “%(panel)s”; the "
                "feedback is on your work page."
            ),
            Qualification.Verdict.DECLINED: _(
                "Round %(round)s of “%(task)s” was read. You were not admitted; the feedback is on "
                "your work page."
            ),
        }[Qualification.Verdict(made.verdict)]
        return said % {"round": made.round, "task": work.version.title, "panel": wanted.name}

    notify(
        to=[work.worker.user],
        kind="qualification.decided",
        project=work.task.project,
        key=f"qualification.decided:{made.pk}",
        url=reverse("work_home"),
        text=text,
    )
