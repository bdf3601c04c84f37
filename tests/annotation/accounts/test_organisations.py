"""People of an organisation see its projects and move no money there; workers stay blind."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from annotation.access import get_access, is_installation_owner
from annotation.accounts.organisations import actions
from annotation.accounts.organisations.selectors import list_sole_ownerships
from annotation.accounts.projects import actions as projects
from annotation.accounts.roles.selectors import can_give_roles
from annotation.installation.merging import merge_accounts
from annotation.models import (
    AuditEntry,
    Notice,
    Organisation,
    OrganisationMember,
    OrganisationRole,
    Project,
    Role,
    User,
)
from annotation.payouts.actions import rules
from annotation.payouts.actions.proposals import propose_payout
from annotation.privacy.actions.erasure import forget_account
from crowdqc.errors import Conflict, Invalid, Missing, NotAllowed
from tests.support import factories as make

pytestmark = pytest.mark.django_db
OWNER, MEMBER = OrganisationRole.OWNER, OrganisationRole.MEMBER


class Lab:
    """An organisation with an owner, a member and one project of somebody else."""

    def __init__(self) -> None:
        self.head, self.member = make.make_user(), make.make_user()
        self.organisation = actions.create_organisation(by=None, name="Bird lab", owner=self.head)
        self.add(self.member, MEMBER)
        self.project = make.make_project(organisation=self.organisation)

    def add(self, user: User, role: str) -> OrganisationMember:
        return actions.set_member(by=None, organisation=self.organisation, user=user, role=role)

    def roles(self, user: User, project: Project | None = None) -> set[str]:
        """The person's roles in the project; none where they cannot tell it from none."""
        request: Any = type("Request", (), {"user": user, "method": "GET", "resolver_match": None})
        try:
            access = get_access(request, (project or self.project).pk, *Role.values)
        except Missing:
            return set()
        return set(access.roles)


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_roles_reach_the_projects_of_the_organisation_and_end_at_once() -> None:
    lab = Lab()
    other = make.make_project()
    assert lab.roles(lab.head) == {Role.REQUESTER} and lab.roles(lab.member) == {Role.VIEWER}
    assert not lab.roles(lab.head, other)
    pages = client_of(lab.member)
    assert pages.get(reverse("task_list", args=[lab.project.pk])).status_code == 200
    assert pages.get(reverse("task_new", args=[lab.project.pk])).status_code == 403
    token = {"Authorization": f"Token {make.api_token(lab.member, project=lab.project)}"}
    listed = Client().get(reverse("api_projects"), headers=token).json()["results"]
    assert [(one["id"], one["roles"]) for one in listed] == [(lab.project.pk, ["viewer"])]
    for person in (lab.member, lab.head):
        row = OrganisationMember.objects.filter(user=person).first()
        if person is lab.head:
            lab.add(make.make_user(), OWNER)
        assert row is not None
        actions.remove_member(by=None, member=row)
        assert not lab.roles(person)
    assert pages.get(reverse("project", args=[lab.project.pk])).status_code == 404
    assert not Client().get(reverse("api_projects"), headers=token).json()["results"]


def test_role_of_the_organisation_moves_no_money_and_gives_no_roles() -> None:
    lab = Lab()
    task = make.make_task(lab.project)
    done = make.claim_and_submit(task)
    assert not rules.may_propose(lab.project, lab.head)
    assert rules.why_not_decide_in(lab.project, lab.head)
    assert not can_give_roles(lab.project, lab.head)
    assert lab.head not in rules.approvers(lab.project, lab.project.owner)
    pages = client_of(lab.head)
    with pytest.raises(NotAllowed, match="by the organisation"):
        propose_payout(by=lab.head, task=task, key=uuid4(), lines=[rules.ProposedLine(done.pk)])
    invited = {"role": "manager", "max_uses": 1, "days": 3, "emails": "second@lab.example"}
    pages.post(reverse("invitation_new", args=[lab.project.pk]), invited)
    assert not lab.project.invitations.exclude(role=Role.WORKER).exists()


def test_worker_of_a_project_gains_no_sight_of_it_by_an_organisation() -> None:
    lab = Lab()
    worker = make.make_worker(lab.project)
    assert worker.user is not None
    lab.add(worker.user, OWNER)
    assert lab.roles(worker.user) == {Role.WORKER}
    assert client_of(worker.user).get(f"/projects/{lab.project.pk}/results/").status_code == 403
    make.make_worker(lab.project, lab.member)  # whoever joins as a worker is blind from then on
    assert lab.roles(lab.member) == {Role.WORKER}
    projects.remove_member(by=lab.project.owner, member=worker)
    assert not lab.roles(worker.user)  # nor do they see it once they stopped working
    make.make_member(lab.project, Role.VIEWER, worker.user)  # the project's own people may
    assert lab.roles(worker.user) == {Role.VIEWER}


def test_only_owners_change_an_organisation_and_it_keeps_one() -> None:
    lab = Lab()
    stranger = make.make_user("stranger")
    for person in (lab.member, stranger):
        with pytest.raises(NotAllowed):
            actions.set_member(by=person, organisation=lab.organisation, user=person, role=OWNER)
        with pytest.raises(NotAllowed):
            actions.change_settings(
                by=person, organisation=lab.organisation, model_budget=Decimal(9)
            )
    with pytest.raises(NotAllowed):  # a group of sign-on must not lead to another by a name
        actions.rename_organisation(by=lab.head, organisation=lab.organisation, name="Other")
    with pytest.raises(NotAllowed):
        actions.create_organisation(by=lab.head, name="Mine", owner=lab.head)
    [last] = OrganisationMember.objects.filter(user=lab.head)
    for change in (
        lambda: actions.remove_member(by=lab.head, member=last),
        lambda: lab.add(lab.head, MEMBER),
    ):
        with pytest.raises(Conflict, match="keeps one owner"):
            change()
    own = OrganisationMember.objects.get(user=lab.member)
    actions.remove_member(by=lab.member, member=own)  # anybody leaves by themself
    assert not OrganisationMember.objects.filter(user=lab.member).exists()
    assert AuditEntry.objects.filter(action="organisation.leave", actor=lab.member).exists()
    assert Notice.objects.filter(user=lab.member, key__startswith="organisation.leave").exists()


def test_account_that_only_claims_an_address_is_not_let_in() -> None:
    claimed = make.make_user("real@uni.example")
    claimed.emailaddress_set.create(email="real@uni.example", verified=False, primary=True)
    closed = make.make_user("closed", is_active=False)
    for said in ("real@uni.example", closed.username, "nobody", ""):
        with pytest.raises(Invalid):
            actions.find_person(None, said)
    claimed.emailaddress_set.update(verified=True)
    assert actions.find_person(None, "Real@uni.example") == claimed


def test_new_project_begins_with_the_settings_of_its_organisation() -> None:
    lab = Lab()
    values = {"hourly_floor": Decimal("12.50"), "decide_days": 3, "answer_days_kept": 90}
    actions.change_settings(by=None, organisation=lab.organisation, **values)
    made = projects.create_project(
        by=lab.member, name="Nests", currency="USD", organisation=lab.organisation
    )
    assert made.currency == "EUR" and made.organisation == lab.organisation
    assert {name: getattr(made, name) for name in values} == values
    assert lab.roles(lab.head, made) == {Role.REQUESTER}
    with pytest.raises(NotAllowed):
        projects.create_project(by=make.make_user(), name="No", organisation=lab.organisation)
    with pytest.raises(Invalid):
        actions.change_settings(by=None, organisation=lab.organisation, decide_days=None)


def test_links_that_an_owner_of_the_organisation_made_end_with_the_role() -> None:
    lab = Lab()
    lab.add(make.make_user(), OWNER)
    link = projects.invite(by=lab.head, project=lab.project, role=Role.WORKER, max_uses=5)
    lab.add(lab.head, MEMBER)
    link.refresh_from_db()
    assert link.revoked_at is not None


def test_merged_and_erased_accounts_leave_no_role_behind() -> None:
    lab = Lab()
    stays = make.make_user()
    lab.add(stays, MEMBER)
    merge_accounts(by=None, user=lab.head, into=stays, why="One person.")
    assert OrganisationMember.objects.get(user=stays).role == OWNER
    assert not OrganisationMember.objects.filter(user=lab.head).exists()
    assert list_sole_ownerships(stays) == ["Bird lab"]
    with pytest.raises(Conflict, match="last owner"):
        forget_account(by=stays)
    forget_account(by=lab.member)
    assert list(OrganisationMember.objects.values_list("user", flat=True)) == [stays.pk]
    assert not is_installation_owner(stays) and Organisation.objects.count() == 1
