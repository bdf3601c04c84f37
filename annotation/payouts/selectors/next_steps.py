"""The next step of tasks, with what waits for this person in proposals and what runs have done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.access import Access
from annotation.accounts.roles.selectors import Ties, list_managers, load_ties
from annotation.authoring.selectors.next_step import Button, Standing, button_of
from annotation.authoring.selectors.tasks import TaskRow
from annotation.hooks import run_states
from annotation.models import PayoutBatch, Project, User
from annotation.payouts.actions.rules import (
    NAMED,
    ApprovalGap,
    find_approvers,
    proposers,
    why_not_second,
)
from crowdqc.numbers import listed


def open_proposals(access: Access) -> QuerySet[PayoutBatch]:
    """Open proposals by number; ``own``: their lines about the viewer."""
    mine = Count("lines", filter=Q(lines__assignment__worker__user=access.user))
    rows = access.project.payout_batches.filter(state=PayoutBatch.State.PROPOSED)
    rows = rows.select_related("task__current", "proposed_by").annotate(own=mine)
    return rows.order_by("number")


def may_approve(access: Access, batch: PayoutBatch, chain: Ties) -> bool:
    """Whether the viewer may approve one of ``open_proposals``; see ``reason_cannot_decide``."""
    decides = access.is_manager or (access.project.single_approval and access.is_owner)
    second = not why_not_second(access.project, batch.proposed_by, access.user, chain)
    return decides and second and not batch.own  # type: ignore[attr-defined]


def ways_out(project: Project, proposer: User, viewer: User) -> tuple[tuple[str, str], ...]:
    """Where the viewer can see to a second approver of the proposer: addresses and words."""
    gap = find_approvers(project, proposer)[1]
    return _links(gap, project, viewer) if gap else ()


def _links(gap: ApprovalGap, project: Project, viewer: User) -> tuple[tuple[str, str], ...]:
    found = []
    people = reverse("people", args=[project.pk])
    if viewer in gap.confirmers:
        words = _("Confirm %(person)s") % {"person": gap.person}
        found.append((f"{people}#roles", words))
    if viewer in gap.inviters:
        found.append((f"{people}?invite=manager#invite", _("Invite a manager")))
    if project.owner_id == viewer.pk:
        settings = reverse("project_settings", args=[project.pk]) + "#field-single_approval"
        found.append((settings, _("Allow approval by one person")))
    return tuple(found)


def approval_context(project: Project, proposer: Any, viewer: Any) -> dict[str, Any]:
    """Who can approve what the proposer proposes, else why nobody can and the ways out."""
    people, gap = find_approvers(project, proposer)
    if gap is None:
        return {"approvers": listed([str(one) for one in people], NAMED)}
    others = [str(one) for one in proposers_for(project, viewer)] if proposer == viewer else []
    return {
        "nobody": gap.text,
        "single_approval": "" if project.owner_id == viewer.pk else gap.single_approval,
        "ways_out": _links(gap, project, viewer),
        "others": listed(others, NAMED),
    }


def proposers_for(project: Project, viewer: User) -> list[User]:
    """List who else may propose what the viewer, as a manager, may approve."""
    if viewer not in list_managers(project):
        return []
    others = User.objects.filter(pk__in=proposers(project)).exclude(pk=viewer.pk)
    chain = load_ties(project)
    return [one for one in others if not why_not_second(project, one, viewer, chain)]


def next_steps(access: Access, rows: Sequence[TaskRow]) -> dict[int, Button]:
    """Return by task the next step that this person may take."""
    states = run_states([row.task for row in rows])
    open_ones = list(open_proposals(access))
    chain = load_ties(access.project) if open_ones else Ties(())
    proposals: dict[int, int] = {}
    for one in open_ones:
        if may_approve(access, one, chain):
            proposals.setdefault(one.task_id, one.number)
    found = {}
    for row in rows:
        pk = row.task.pk
        step = button_of(
            standing_of(row, results=states.get(pk, ""), proposal=proposals.get(pk, 0)),
            project_id=access.project.pk,
            task_id=pk,
            is_requester=access.is_requester,
        )
        if step:
            found[pk] = step
    return found


def standing_of(row: TaskRow, *, results: str, proposal: int) -> Standing:
    """Collect what decides on a task's next step from its figures."""
    return Standing(
        state=row.task.state,
        items=row.questions,
        add_words=row.type.add_words,
        draft=row.draft.number if row.draft else 0,
        begun=bool(row.answers or row.submitted or row.leased),
        complete=row.complete,
        waiting=row.waiting,
        proposal=proposal,
        results=results,
    )
