"""Nobody gets a role that moves money by an address, a link, a token or an account of their own."""

from __future__ import annotations

import re

import pytest
from allauth.account.models import EmailAddress
from django.db import transaction
from django.test import Client
from django.urls import reverse

from annotation.accounts.actions import mail
from annotation.accounts.actions.invitation_mail import invite_by_mail
from annotation.accounts.projects import actions as people
from annotation.accounts.roles import actions as roles
from annotation.models import AuditEntry, Invitation, Membership, Notice, Role, RoleGrant, User
from crowdqc.errors import NotAllowed
from tests.security.money.people import (
    JSON,
    approve,
    browser,
    let_in,
    mailed_link,
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
    return factories.make_world(2, redundancy=9)


def holds(user: User, role: str = Role.MANAGER) -> bool:
    rows = Membership.objects.filter(user=user, role=role, removed_at__isnull=True)
    return rows.exists()


# An address that is only claimed ----------------------------------------------------------------


@pytest.mark.parametrize("role", ["manager", "requester", "worker"])
def test_an_account_that_only_claims_the_address_gets_no_link(world: World, role: str) -> None:
    """(A1) The link goes to the mailbox; an unproven account learns nothing."""
    attacker = person("kim@example.org", verified=False)
    invite_by_mail(by=world.requester, project=world.project, role=role, emails="Kim@example.org")
    assert not Notice.objects.filter(user=attacker).exists()
    page = browser(attacker).get(reverse("notice_list")).content.decode()
    assert "/join/" not in page and world.project.name not in page
    assert mailed_link("kim@example.org")


def test_a_role_is_only_for_the_proven_address_it_was_written_for(world: World) -> None:
    """(A1) Whoever has the link without the mailbox stays out; the mailbox's owner comes in."""
    attacker = person("other@example.org")
    claims = person("kim@example.org", verified=False)
    invite_by_mail(
        by=world.requester, project=world.project, role="manager", emails="kim@example.org"
    )
    link = mailed_link("kim@example.org")
    for user in (attacker, claims):
        assert browser(user).post(link).status_code == 403
        assert "Not with this account" in browser(user).get(link).content.decode()
        assert not holds(user)
    with pytest.raises(NotAllowed):
        program(claims, "work")
    joined = program(attacker, "work", "pay").post(
        "/api/work/join/", {"token": link.split("/")[2]}, JSON
    )
    assert joined.status_code == 403 and not holds(attacker)
    User.objects.filter(pk=claims.pk).update(email="")
    claims.emailaddress_set.update(verified=True)
    assert browser(claims).post(link).status_code == 302
    assert holds(claims) or RoleGrant.objects.filter(user=claims, state="waiting").exists()
    assert not Invitation.objects.exclude(bound_to="").exists()


def test_who_proved_the_address_is_told_of_a_role_without_its_link(world: World) -> None:
    """(A1) A notice says that a mail was sent; a worker's notice still has the link."""
    user = person("kim@example.org")
    for role in ("manager", "worker"):
        invite_by_mail(
            by=world.requester, project=world.project, role=role, emails="kim@example.org"
        )
    role, work = Notice.objects.filter(user=user, kind="invitation").order_by("pk")
    assert role.url == "" and "mail that was sent to k…@example.org" in role.text
    assert work.url.startswith("/join/")


def test_a_link_that_gives_a_role_stands_on_no_page_and_in_no_answer(world: World) -> None:
    """(A1, A2) Not for who made it either: it leaves by mail only."""
    [made] = invite_by_mail(
        by=world.requester, project=world.project, role="manager", emails="kim@example.org"
    )
    token = people.invitation_token(made)
    for user in (world.requester, world.manager):
        page = browser(user).get(reverse("people", args=[world.project.pk])).content.decode()
        assert token not in page and "by mail only" in page
    client = program(world.requester, "read", "write", "pay")
    base = f"/api/projects/{world.project.pk}/invitations/"
    [row] = client.get(base).json()
    assert row["role"] == "manager" and row["token"] == row["link"] == ""
    body = {"role": "manager", "emails": ["lee@example.org"]}
    [row] = client.post(f"{base}mail/", body, JSON).json()
    assert row["token"] == row["link"] == ""
    refused = client.post(base, {"role": "manager"}, JSON)
    assert refused.status_code == 422 and "emails" in refused.json()["fields"]


def test_an_invitation_that_ended_keeps_no_address_and_opens_nothing(world: World) -> None:
    """(A1) The address is kept until the link ends, and the link ends with it."""
    [made] = invite_by_mail(
        by=world.requester, project=world.project, role="manager", emails="kim@example.org"
    )
    link = mailed_link("kim@example.org")
    made.refresh_from_db()
    assert (made.email, made.bound_to) == ("", "kim@example.org")
    Invitation.objects.update(expires_at=made.created_at)
    assert mail.forget_addresses() == 1
    made.refresh_from_db()
    assert made.bound_to == "" and made.revoked_at
    assert browser(person("kim@example.org")).post(link).status_code == 403


# A role of one's own making ---------------------------------------------------------------------


def test_a_requester_makes_and_removes_no_manager(world: World) -> None:
    """(A2) Roles that move money are given and ended by the owner and managers."""
    other = factories.make_member(world.project, Role.REQUESTER).user
    assert other is not None
    page, api = browser(other), program(other, "read", "write", "pay")
    form = {"role": "manager", "max_uses": 1, "days": 7, "emails": "me@example.org"}
    assert page.post(reverse("invitation_new", args=[world.project.pk]), form).status_code == 422
    base = f"/api/projects/{world.project.pk}/"
    body = {"role": "requester", "emails": ["me@example.org"]}
    assert api.post(f"{base}invitations/mail/", body, JSON).status_code == 403
    manager = Membership.objects.get(user=world.manager)
    remove = reverse("people_remove", args=[world.project.pk, manager.pk])
    assert page.post(remove).status_code == 403
    assert api.delete(f"{base}people/{manager.pk}/").status_code == 403
    assert holds(world.manager) and not Invitation.objects.exists()
    assert (
        'value="manager"'
        not in page.get(reverse("people", args=[world.project.pk])).content.decode()
    )


def test_a_token_without_pay_changes_no_role_and_no_rule(world: World) -> None:
    """(A2) The scope to write is not the scope to move money."""
    task, manager = world.task, Membership.objects.get(user=world.manager)
    base = f"/api/projects/{world.project.pk}/"
    mail_to = {"role": "manager", "emails": ["me@example.org"]}
    asked = [
        ("post", f"{base}invitations/mail/", mail_to),
        ("post", f"{base}invitations/", {"role": "manager"}),
        ("delete", f"{base}people/{manager.pk}/", {}),
        ("patch", base, {"budget": "1000000"}),
        ("patch", base, {"hourly_floor": "1"}),
        ("patch", base, {"single_approval": True}),
        ("patch", base, {"correction_limit": "9999"}),
        ("put", f"/api/tasks/{task.pk}/payout-rule/", {"bonus_by": "none"}),
    ]
    client = program(world.requester, "read", "write", "work", "run")
    for verb, path, body in asked:
        answer = getattr(client, verb)(path, body, content_type=JSON)
        assert answer.status_code == 403, (verb, path, answer.content)
        assert answer.json()["code"] == "missing-scope"
    assert client.patch(base, {"name": "Storks"}, JSON).status_code == 200
    world.project.refresh_from_db()
    assert world.project.budget is None and holds(world.manager)


def test_every_manager_is_told_of_changed_roles_and_rules(world: World) -> None:
    """(A2) Whoever does it over a program or a page, the owner and all managers see it."""
    second = factories.make_member(world.project).user
    api = program(world.requester, "read", "write", "pay")
    assert (
        api.patch(
            f"/api/projects/{world.project.pk}/", {"budget": "500"}, content_type=JSON
        ).status_code
        == 200
    )
    invite_by_mail(
        by=world.manager, project=world.project, role="requester", emails="kim@example.org"
    )
    member = Membership.objects.get(user=second)
    people.remove_member(by=world.manager, member=member)
    for user in (world.requester, world.manager):
        told = Notice.objects.filter(user=user, project=world.project)
        assert [(row.kind, row.text) for row in told.order_by("pk")] == [
            ("project.rules", "Payment rules changed in Birds: the budget."),
            ("roles.changed", "Somebody was invited to Birds as requester."),
            ("roles.changed", "The role of a manager in Birds was ended."),
        ]


def test_an_owner_approves_nothing_with_a_second_account(world: World) -> None:
    """(A2) The reproduced attack: invite yourself as manager, join, propose here, approve there."""
    owner = person("owner@example.org")
    project = factories.make_project(owner=owner)
    task = factories.make_task(project, 2, redundancy=9)
    second = let_in(owner, project, "second@example.org")
    assert holds(second)
    batch = propose(owner, task)
    refused = approve(program(second, "read", "pay"), batch)
    assert refused.status_code == 403 and refused.json()["code"] == "may-not-approve"
    page = browser(second).get(reverse("payout", args=[project.pk, batch.number])).content.decode()
    assert "Nobody can approve this yet" in page and "confirmed on the server" in page
    assert f"{owner} can allow approval by one person" in page
    form = {"expected_total": "100.50"}
    url = reverse("payout_approve", args=[project.pk, batch.number])
    assert browser(second).post(url, form).status_code == 403
    assert owed(project) == 0


def test_the_chain_is_followed_to_its_ends(world: World) -> None:
    """(A2) Neither a third account, nor two that the same one let in, nor a removed link helps."""
    owner = person("owner@example.org")
    project = factories.make_project(owner=owner, also_manager=True)
    task = factories.make_task(project, 2, redundancy=9)
    second = let_in(owner, project, "second@example.org")
    third = let_in(second, project, "third@example.org")
    sister = let_in(owner, project, "sister@example.org")
    people.remove_member(by=owner, member=Membership.objects.get(user=second))
    accounts = [owner, third, sister]
    for proposer in accounts:
        batch = propose(proposer, task)
        for other in accounts:
            assert approve(program(other, "read", "pay"), batch).status_code == 403
    assert owed(project) == 0


def test_where_a_second_manager_is_there_a_new_one_waits_for_them(world: World) -> None:
    """(A2) Until then nobody has the role; nobody tied to either of the two confirms it."""
    helper = let_in(world.requester, world.project, "helper@example.org", Role.REQUESTER)
    grant = RoleGrant.objects.get(user=helper)
    assert grant.state == "waiting"
    browser(world.manager).post(reverse("role_confirm", args=[world.project.pk, grant.pk]))
    second = let_in(world.requester, world.project, "second@example.org")
    grant = RoleGrant.objects.get(user=second)
    assert grant.state == "waiting" and not holds(second)
    here = reverse("project", args=[world.project.pk])
    assert browser(second).get(here).status_code == 404
    confirm = reverse("role_confirm", args=[world.project.pk, grant.pk])
    assert browser(second).post(confirm).status_code == 404
    for user in (world.requester, helper):
        assert browser(user).post(confirm).status_code == 403
    waits = Notice.objects.get(user=world.manager, key=f"roles.waits:{grant.pk}")
    page = browser(world.manager).get(waits.url.split("#")[0]).content.decode()
    assert confirm in page and "Awaiting confirmation" in page
    assert browser(world.manager).post(confirm).status_code == 302
    assert holds(second)
    batch = propose(world.requester, world.task)
    assert approve(program(second, "read", "pay"), batch).status_code == 200
    entry = AuditEntry.objects.filter(action="role.confirm").latest("pk")
    assert entry.actor == world.manager and entry.object_id == grant.pk


def test_a_second_role_ties_nobody_to_who_gave_it(world: World) -> None:
    """(A2) Who was independent before stays so; who was tied stays tied."""
    User.objects.filter(pk=world.manager.pk).update(email="manager@example.org")
    EmailAddress.objects.create(user=world.manager, email="manager@example.org", verified=True)
    let_in(world.requester, world.project, "manager@example.org", Role.REQUESTER)
    assert holds(world.manager, Role.REQUESTER)
    batch = propose(world.requester, world.task)
    assert approve(program(world.manager, "read", "pay"), batch).status_code == 200


def test_a_declined_role_is_never_had(world: World) -> None:
    """(A2) The same over the API, with the scope that pays."""
    second = let_in(world.requester, world.project, "second@example.org")
    grant = RoleGrant.objects.get(user=second)
    path = f"/api/projects/{world.project.pk}/role-grants/"
    [row] = program(world.manager, "read").get(path).json()["results"]
    assert (row["state"], row["reason_cannot_confirm"]) == ("waiting", "")
    decline = f"{path}{grant.pk}/decline/"
    assert program(world.manager, "read", "write").post(decline).status_code == 403
    assert program(world.manager, "read", "pay").post(decline).json()["state"] == "declined"
    with pytest.raises(Exception, match="declined"):
        roles.confirm_role(by=world.manager, grant=grant)
    assert not holds(second)


def test_an_invitation_ends_with_the_right_to_give_it(world: World) -> None:
    """(A2, A3) What a manager opened before their removal lets nobody in afterwards."""
    invite_by_mail(
        by=world.manager, project=world.project, role="manager", emails="kim@example.org"
    )
    link = mailed_link("kim@example.org")
    people.remove_member(by=world.requester, member=Membership.objects.get(user=world.manager))
    assert browser(person("kim@example.org")).post(link).status_code == 403


def test_only_the_owner_ends_a_role_of_the_owner(world: World) -> None:
    """(A2) A manager who was let in takes the project from nobody."""
    owner = Membership.objects.create(
        project=world.project, user=world.requester, role=Role.MANAGER
    )
    with pytest.raises(NotAllowed), transaction.atomic():
        people.remove_member(by=world.manager, member=owner)
    people.remove_member(by=world.requester, member=owner)


def test_a_worker_link_still_works_for_whoever_has_it(world: World) -> None:
    """Open links stay as simple as they were."""
    made = people.invite(by=world.requester, project=world.project, role=Role.WORKER, max_uses=2)
    page = browser(world.manager).get(reverse("people", args=[world.project.pk])).content.decode()
    assert re.search(r"/join/[^\"]+", page)
    link = reverse("join", args=[people.invitation_token(made)])
    assert Client().get(link).status_code == 200
    assert browser(world.outsider).post(link).status_code == 302
