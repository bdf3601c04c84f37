"""Audits of explanations: open one, judge blindly, close it (section 4.2 of the EBR paper)."""

from __future__ import annotations

import numpy as np
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from annotation.access import STAFF
from annotation.models import Membership, Role, Task, User
from annotation.records.actions.audit import record
from annotation.work.snapshots import explanations
from crowdqc.errors import Conflict, Invalid, NotAllowed
from evaluation.methods.rescaling import explanation_audit
from evaluation.models import AuditVerdict, ExplanationAudit
from evaluation.rescaling.dataset import scale_of
from evaluation.rescaling.run import SLUG
from evaluation.runs.run_types import require_fit

DEFAULT_EACH, MOST_EACH = 20, 200
DEFAULT_SEED = 20417


def judges(task: Task) -> list[User]:
    """Staff of the project who rated nothing in the task: they may judge its explanations."""
    staff = User.objects.filter(
        memberships__project=task.project_id,
        memberships__role__in=STAFF,
        memberships__removed_at__isnull=True,
    )
    raters = Membership.objects.filter(answers__item__task=task, user__isnull=False)
    return list(staff.exclude(pk__in=raters.values("user")).distinct().order_by("username"))


@transaction.atomic
def open_audit(
    *, by: User, task: Task, judge: User, each: int, scale: str = "", seed: int = DEFAULT_SEED
) -> ExplanationAudit:
    """Draw ``each`` explanations of every worker and label, the same number of all that have them.

    Raises Invalid (the judge wrote ratings here or is no staff, a number out of range, a task
    without explanations) and Conflict where the judge has an open audit of the task.
    """
    _require_requester(by, task)
    require_fit(task, SLUG, Invalid(gettext("Only ratings have explanations to audit.")))
    Task.objects.select_for_update(no_key=True).get(pk=task.pk)
    if not 1 <= each <= MOST_EACH:
        raise Invalid(
            gettext("The number for each worker and label is out of range."),
            fields={"each": gettext("1 to %(most)s.") % {"most": MOST_EACH}},
        )
    if judge not in judges(task):
        raise Invalid(
            gettext("The judge must be staff of the project and must have rated nothing here."),
            fields={"judge": gettext("Choose somebody else.")},
        )
    if task.audits.filter(judge=judge, closed_at__isnull=True).exists():
        raise Conflict(
            gettext("%(judge)s has an open audit of this task; it must be closed first.")
            % {"judge": judge}
        )
    chosen = scale_of(task, scale)
    rows = [row for row in explanations.explained_ratings(task, chosen.name) if row.explanation]
    if not rows:
        raise Invalid(
            gettext("No rating that counts has an explanation."),
            fields={"scale": gettext("Another.")},
        )
    drawn = explanation_audit.sample(
        [row.worker_id for row in rows],
        [row.value for row in rows],
        each=each,
        rng=np.random.default_rng(seed),
    )
    audit = ExplanationAudit.objects.create(
        task=task,
        judge=judge,
        scale=chosen.name,
        per_label=each,
        seed=seed,
        created_by=by,
        answer_ids=[rows[at].answer_id for at in drawn],
    )
    record(
        by=by,
        project=task.project,
        action="audit.open",
        on=audit,
        explanations=len(drawn),
        judge=judge.pk,
    )
    return audit


@transaction.atomic
def give_verdict(
    *, by: User, audit: ExplanationAudit, place: int, agrees: bool, note: str = ""
) -> AuditVerdict:
    """The judge's verdict on the explanation at ``place`` (from 1); another one takes its place.

    Raises NotAllowed for anybody else, Conflict once the audit is closed, Invalid for a place
    that there is not.
    """
    locked = _locked(audit)
    if locked.judge_id != by.pk:
        raise NotAllowed(gettext("Only the judge of this audit gives verdicts."))
    if locked.closed_at is not None:
        raise Conflict(gettext("This audit is closed; its verdicts stand."))
    if not 1 <= place <= len(locked.answer_ids):
        raise Invalid(
            gettext("There is no such explanation in the audit."), fields={"n": gettext("Another.")}
        )
    verdict, _ = AuditVerdict.objects.update_or_create(
        audit=locked,
        answer_id=locked.answer_ids[place - 1],
        defaults={"agrees": agrees, "note": note.strip()[:300]},
    )
    # What was said stays out of the log until the audit is closed.
    record(by=by, project=locked.task.project, action="audit.verdict", on=locked, place=place)
    return verdict


@transaction.atomic
def close(*, by: User, audit: ExplanationAudit) -> ExplanationAudit:
    """Close an audit so that its result is shown to all; closing it again changes nothing.

    The judge may once everything is judged, a requester at any time. Raises NotAllowed and
    Conflict (explanations that the judge has not seen yet).
    """
    locked = _locked(audit)
    if locked.closed_at is not None:
        return locked
    left = len(locked.answer_ids) - locked.verdicts.count()
    if locked.judge_id != by.pk:
        _require_requester(by, locked.task)
    elif left and not _is_requester(by, locked.task):
        raise Conflict(gettext("%(left)s explanations are not judged yet.") % {"left": left})
    locked.closed_at = timezone.now()
    locked.save(update_fields=["closed_at"])
    record(by=by, project=locked.task.project, action="audit.close", on=locked, left=left)
    return locked


def _locked(audit: ExplanationAudit) -> ExplanationAudit:
    return (
        ExplanationAudit.objects.select_for_update(of=("self",))
        .select_related("task__project", "task__current")
        .get(pk=audit.pk)
    )


def _is_requester(user: User, task: Task) -> bool:
    return Membership.objects.filter(
        project=task.project_id, user=user, role=Role.REQUESTER, removed_at__isnull=True
    ).exists()


def _require_requester(user: User, task: Task) -> None:
    if not _is_requester(user, task):
        raise NotAllowed(gettext("This needs the role of requester in this project."))
