"""Money moves by two people: not by one with two accounts, two roles, two tokens or two halves."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from annotation.accounts.projects import actions as people
from annotation.models import (
    AuditEntry,
    Invitation,
    LedgerEntry,
    Membership,
    Notice,
    PayoutBatch,
    Project,
    Role,
    RoleGrant,
    User,
)
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.corrections.actions import decide
from annotation.payouts.selectors.next_steps import approval_context
from crowdqc.errors import Conflict
from tests.security.money.people import (
    JSON,
    approve,
    browser,
    large,
    let_in,
    owed,
    person,
    program,
    propose,
)
from tests.support import factories
from tests.support.factories import World

pytestmark = [pytest.mark.django_db]


@pytest.fixture
def world() -> World:
    return factories.make_world(2, redundancy=20)


def role_of(user: User, role: str = Role.MANAGER) -> Membership:
    return Membership.objects.get(user=user, role=role)


# Proposals --------------------------------------------------------------------------------------


def test_a_proposer_who_becomes_manager_approves_nothing_of_their_own(world: World) -> None:
    """(A2) A change of role makes nobody a second person."""
    batch = propose(world.requester, world.task)
    factories.make_member(world.project, Role.MANAGER, world.requester)
    assert approve(program(world.requester, "read", "pay"), batch).status_code == 403
    assert owed(world.project) == 0


def test_a_token_that_may_write_approves_nothing(world: World) -> None:
    """(A2) Proposing and approving need the scope that pays, whoever's token it is."""
    batch = propose(world.requester, world.task)
    refused = approve(program(world.manager, "read", "write", "work", "run"), batch)
    assert refused.status_code == 403 and refused.json()["code"] == "missing-scope"
    assert owed(world.project) == 0


def test_whether_one_may_approve_is_a_yes_or_no_with_its_reason(world: World) -> None:
    """(A7) The API's field is true for who may, and the reason has a field of its own."""
    batch = propose(world.requester, world.task)
    path = f"/api/projects/{world.project.pk}/payouts/{batch.number}/"
    told = {}
    for user in (world.manager, world.requester):
        shown = program(user, "read").get(path).json()
        told[user] = shown["may_approve"], bool(shown["reason_cannot_approve"])
        assert shown["approvers"] == 1
    assert told == {world.manager: (True, False), world.requester: (False, True)}
    assert payouts.reason_cannot_decide(batch, world.manager) == ""


def test_a_lone_manager_is_told_who_else_may_propose(world: World) -> None:
    told = approval_context(world.project, world.manager, world.manager)
    assert told["nobody"] and told["others"] == str(world.requester)
    factories.make_member(world.project, Role.MANAGER, world.requester)
    world.project.memberships.filter(user=world.manager).update(removed_at=timezone.now())
    told = approval_context(world.project, world.requester, world.requester)
    assert told["nobody"] and not told["others"]


def test_the_overview_offers_approval_to_who_may_approve(world: World) -> None:
    """(A7) The list and the page of a proposal say the same of everybody."""
    batch = propose(world.requester, world.task)
    tied = person("tied@example.org")
    factories.make_member(world.project, Role.MANAGER, tied)
    RoleGrant.objects.create(
        project=world.project,
        user=tied,
        role=Role.MANAGER,
        given_by=world.requester,
        state="given",
    )
    for user in (world.manager, world.requester, tied):
        page = browser(user).get(reverse("project", args=[world.project.pk])).content.decode()
        offered = f"Approve proposal {batch.number}" in page
        assert offered == (payouts.reason_cannot_decide(batch, user) == ""), user


def test_a_removed_persons_proposals_stop_at_once(world: World) -> None:
    """(A3) Proposals with bonuses, corrections, invitations: sent back with who, why and notice."""
    other = factories.make_member(world.project, Role.REQUESTER).user
    second = factories.make_member(world.project).user
    assert other is not None and second is not None
    batch = propose(other, world.task)
    correction = large(world, by=second)
    people.invite(by=other, project=world.project, role=Role.WORKER)
    page = browser(world.requester)
    for user, role in ((other, Role.REQUESTER), (second, Role.MANAGER)):
        member = role_of(user, role)
        assert (
            page.post(reverse("people_remove", args=[world.project.pk, member.pk])).status_code
            == 302
        )
    batch.refresh_from_db()
    assert (batch.state, batch.decided_by) == ("sent_back", world.requester)
    assert "removed" in batch.decision_note
    refused = approve(program(world.manager, "read", "pay"), batch)
    assert refused.status_code in (403, 409)
    with pytest.raises(Conflict):
        decide.approve_correction(by=world.manager, correction=correction)
    assert owed(world.project) == 0 and not LedgerEntry.objects.exists()
    assert not Invitation.objects.filter(revoked_at=None).exists()
    assert AuditEntry.objects.filter(action="payout.stop", object_id=batch.pk).exists()
    told = Notice.objects.filter(user=world.manager, kind="payout.stopped")
    assert [one.text.count("proposal") for one in told.order_by("pk")] == [1, 0]
    # The work may be proposed again by somebody who is there.
    line = batch.lines.get()
    again = payouts.propose_payout(
        by=world.requester,
        task=world.task,
        key=uuid4(),
        lines=[payouts.ProposedLine(line.assignment_id)],
    )
    assert approve(program(world.manager, "read", "pay"), again).status_code == 200


@pytest.mark.parametrize("change", ["removed", "closed"])
def test_nothing_is_approved_of_somebody_who_may_not_propose(world: World, change: str) -> None:
    """(A3) Even where the proposal stands open, as after a race or a closed account."""
    other = factories.make_member(world.project, Role.REQUESTER).user
    assert other is not None
    batch = propose(other, world.task)
    if change == "removed":
        Membership.objects.filter(user=other).update(removed_at=batch.proposed_at)
    else:
        User.objects.filter(pk=other.pk).update(is_active=False)
    refused = approve(program(world.manager, "read", "pay"), batch)
    assert refused.status_code == 403 and "was removed" in refused.content.decode()
    assert owed(world.project) == 0


# Small teams ------------------------------------------------------------------------------------


def small_team() -> tuple[Project, User, User, PayoutBatch]:
    """An owner, the manager they invited, and a proposal."""
    owner = person("owner@example.org")
    project = factories.make_project(owner=owner)
    task = factories.make_task(project, 2, redundancy=9)
    manager = let_in(owner, project, "manager@example.org")
    return project, owner, manager, propose(owner, task)


def test_the_administrator_confirms_a_manager_of_a_small_team() -> None:
    """A command vouches for somebody; from then on the two pay each other's proposals."""
    project, owner, manager, batch = small_team()
    with pytest.raises(CommandError, match="no such person"):
        call_command("confirm_manager", str(project.pk), "nobody")
    with pytest.raises(CommandError, match="Nobody gave"):
        call_command("confirm_manager", str(project.pk), owner.username)
    call_command("confirm_manager", str(project.pk), "Manager@example.org")
    grant = RoleGrant.objects.get(user=manager)
    assert (grant.state, grant.decided_by) == ("confirmed", None)
    assert approve(program(manager, "read", "pay"), batch).status_code == 200
    batch.refresh_from_db()
    assert not batch.single_approval


def test_an_owner_may_do_without_a_second_person_and_it_is_marked() -> None:
    """Single approval is the owner's, is told to all managers, and stands with each approval."""
    project, owner, manager, batch = small_team()
    settings = f"/api/projects/{project.pk}/"
    allow = {"single_approval": True}
    assert program(owner, "read", "pay", "write").patch(settings, allow, JSON).status_code == 200
    assert Notice.objects.filter(user=manager, kind="project.rules").exists()
    assert approve(program(manager, "read", "pay"), batch).status_code == 200
    batch.refresh_from_db()
    assert batch.single_approval
    page = browser(owner).get(reverse("payout", args=[project.pk, batch.number])).content.decode()
    assert "without an independent second person" in page


def test_an_owner_of_the_installation_confirms_a_manager_where_pages_name_it() -> None:
    """No page offers what does not help; after the confirmation the proposer's pages say so."""
    root, owner = person("root@example.org"), person("owner@example.org")
    User.objects.filter(pk=root.pk).update(is_superuser=True)
    project = factories.make_project(owner=owner)
    task = factories.make_task(project, 2, redundancy=9)
    batch = propose(owner, task)
    factories.claim_and_submit(task)

    def pages() -> list[str]:
        proposal = browser(owner).get(reverse("payout", args=[project.pk, batch.number]))
        new = browser(owner).get(reverse("payout_new", args=[project.pk, task.pk]) + "?pick=all")
        return [one.content.decode() for one in (proposal, new)]

    for page in pages():
        assert f"First invite a second manager, then {root} confirms them." in page
        assert "?invite=manager" in page
    manager = let_in(owner, project, "manager@example.org")
    for page in pages():
        assert f"{root} must confirm {manager}." in page and "?invite=manager" not in page
    grant = RoleGrant.objects.get(user=manager)
    confirm = reverse("installation_role_confirm", args=[grant.pk])
    assert confirm in browser(root).get(reverse("installation")).content.decode()
    for other in (owner, manager):
        assert browser(other).post(confirm).status_code == 404
    assert browser(root).post(confirm).status_code == 302
    proposal, new = pages()
    assert f"Second person: <b>{manager}</b>" in proposal and "Nobody can approve" not in proposal
    assert f"<b>{manager}</b> can approve what you propose." in new
    assert approve(program(manager, "read", "pay"), batch).status_code == 200


def test_an_owner_of_the_installation_does_not_confirm_whom_they_let_in() -> None:
    root = person("root@example.org")
    User.objects.filter(pk=root.pk).update(is_superuser=True)
    project = factories.make_project(owner=root)
    task = factories.make_task(project, 2, redundancy=9)
    manager = let_in(root, project, "manager@example.org")
    grant = RoleGrant.objects.get(user=manager)
    confirm = reverse("installation_role_confirm", args=[grant.pk])
    assert confirm not in browser(root).get(reverse("installation")).content.decode()
    assert browser(root).post(confirm).status_code == 403
    told = approval_context(project, root, root)
    assert told["nobody"].endswith(f"confirm_manager {project.pk} {manager.username}")
    assert [words for _, words in told["ways_out"]] == ["Allow approval by one person"]
    assert propose(root, task)
