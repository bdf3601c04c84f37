"""Whoever runs an installation lists, transfers, closes and unlocks, and all of it is audited."""

from __future__ import annotations

import io
import json
import uuid
from pathlib import Path

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.core.management import CommandError, call_command

from annotation.accounts.signing.selectors import find_user
from annotation.models import AuditEntry, Membership, Notice, Role, User
from annotation.models.tasks import TaskState
from annotation.payouts.actions import proposals as payouts
from annotation.records.installation_state import require_feature
from crowdqc.errors import Conflict
from tests.security.accounts.factors import set_up_app
from tests.support import factories as make

pytestmark = pytest.mark.django_db


def owner(*words: str) -> str:
    """What the command prints."""
    out = io.StringIO()
    call_command("crowdqc_owner", *words, stdout=out)
    return out.getvalue()


def last_entry(action: str) -> AuditEntry:
    """The newest audit entry of an action."""
    return AuditEntry.objects.filter(action=action).latest("pk")


def test_projects_are_listed_with_their_use() -> None:
    task = make.make_task()
    make.claim_and_submit(task)
    line = next(
        row for row in owner("projects").splitlines() if row.startswith(f"{task.project_id}\t")
    )
    _id, name, owned_by, members, tasks, answers, *_rest = line.split("\t")
    assert (name, owned_by) == (task.project.name, task.project.owner.username)
    assert (int(tasks), int(answers)) == (1, 4) and int(members) >= 2
    assert task.project.owner.username in owner("accounts")


def test_project_is_transferred_with_its_reason_and_managers_know() -> None:
    project, new = make.make_project(), make.make_user()
    manager = make.make_member(project).user
    owner("transfer", str(project.pk), new.username, "--why", "She left the lab.")
    project.refresh_from_db()
    assert project.owner == new
    assert Membership.objects.filter(project=project, user=new, role=Role.REQUESTER).exists()
    assert last_entry("project.transfer").detail["why"] == "She left the lab."
    assert Notice.objects.filter(user=manager, kind="roles.changed").exists()


def test_nothing_is_given_to_who_only_claims_an_address() -> None:
    project, claimer = make.make_project(), make.make_user()
    address = EmailAddress.objects.create(
        user=claimer, email="ana@example.org", verified=False, primary=True
    )
    User.objects.filter(pk=claimer.pk).update(email=address.email)
    with pytest.raises(CommandError):
        owner("transfer", str(project.pk), address.email, "--why", "She left the lab.")
    EmailAddress.objects.update(verified=True)
    owner("transfer", str(project.pk), address.email, "--why", "She left the lab.")
    project.refresh_from_db()
    assert project.owner == claimer


def test_second_factor_is_removed_and_its_person_told() -> None:
    user = make.make_user(password=make.PASSWORD)
    set_up_app(user)
    with pytest.raises(CommandError):
        owner("reset-factor", user.username, "--why", " ")
    assert Authenticator.objects.filter(user=user).exists()
    owner("reset-factor", user.username, "--why", "Passport shown at the desk.")
    assert not Authenticator.objects.filter(user=user).exists()
    assert Notice.objects.filter(user=user, kind="account.factor_reset").exists()


def test_account_that_owns_a_project_is_not_closed() -> None:
    project, other = make.make_project(), make.make_user(password=make.PASSWORD)
    with pytest.raises(CommandError, match="another owner"):
        owner("close-account", project.owner.username, "--why", "Abuse.")
    owner("close-account", other.username, "--why", "Abuse.")
    other.refresh_from_db()
    assert not other.is_active
    owner("reopen-account", other.username, "--why", "A mistake.")
    other.refresh_from_db()
    assert other.is_active


def test_closing_a_project_closes_its_tasks_once() -> None:
    task = make.make_task()
    assert owner("close-project", str(task.project_id), "--why", "Ended.").startswith("1 ")
    task.refresh_from_db()
    assert task.state == TaskState.CLOSED
    assert owner("close-project", str(task.project_id), "--why", "Ended.").startswith("0 ")


def test_broadcast_reaches_each_person_once() -> None:
    people = [make.make_user(), make.make_user()]
    first = int(owner("broadcast", "Maintenance on Sunday.").split()[0])
    assert first >= len(people)
    assert owner("broadcast", "Maintenance on Sunday.").startswith("0 ")


def test_audit_log_is_written_to_a_new_file(tmp_path: Path) -> None:
    task = make.make_task()
    path = tmp_path / "audit.jsonl"
    owner("audit", str(path), "--project", str(task.project_id))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert {row["project"] for row in rows} == {task.project_id}
    assert "version.publish" in {row["action"] for row in rows}
    with pytest.raises(CommandError):
        owner("audit", str(path))


def test_merged_account_gives_its_roles_work_and_addresses_to_the_other() -> None:
    task, into = make.make_task(), make.make_user("stays")
    done = make.claim_and_submit(task)
    double = done.worker.user
    assert double is not None
    EmailAddress.objects.create(user=double, email="old@example.org", verified=True, primary=True)
    owned = make.make_project(owner=double)
    owner("merge", double.username, "stays", "--why", "One person.")
    done.worker.refresh_from_db()
    owned.refresh_from_db()
    assert (done.worker.user, owned.owner, find_user("old@example.org")) == (into, into, into)
    double.refresh_from_db()
    assert not double.is_active
    assert last_entry("account.merge").detail["into"] == into.pk


def test_two_workers_of_one_project_are_not_merged() -> None:
    task = make.make_task()
    first, second = (make.claim_and_submit(task).worker.user for _ in range(2))
    assert first is not None and second is not None
    with pytest.raises(CommandError, match="Both work in"):
        owner("merge", first.username, second.username, "--why", "One person.")
    assert Membership.objects.filter(user=first).exists()


def test_merging_leaves_nobody_to_approve_their_own_proposal() -> None:
    done = make.claim_and_submit(make.make_task())
    project, line = done.task.project, payouts.ProposedLine(done.pk, "approve")
    proposer, approver = project.owner, make.make_member(project).user
    batch = payouts.propose_payout(by=proposer, task=done.task, lines=[line], key=uuid.uuid4())
    owner("merge", proposer.username, approver.username, "--why", "One person.")
    batch.refresh_from_db()
    assert batch.proposed_by == approver


def test_archived_project_closes_its_tasks_and_is_reopened() -> None:
    task = make.make_task()
    number = str(task.project_id)
    owner("archive-project", number, "--why", "Nobody uses it.")
    task.refresh_from_db()
    task.project.refresh_from_db()
    assert task.state == TaskState.CLOSED and task.project.archived_at is not None
    with pytest.raises(CommandError):
        owner("archive-project", number, "--why", "Again.")
    owner("reopen-project", number, "--why", "It is used.")
    task.project.refresh_from_db()
    assert task.project.archived_at is None


def test_features_are_switched_by_name() -> None:
    assert owner("switch-off", "boards") == "Switched off: boards.\n"
    with pytest.raises(Conflict):
        require_feature("boards")
    with pytest.raises(CommandError, match="no such feature"):
        owner("switch-off", "everything")
    assert owner("switch-off") == "Switched off: nothing.\n"
