"""A file that is damaged, cut, foreign or of other tables is refused before anything is written."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from allauth.account.models import EmailAddress
from django.core.management import CommandError, call_command

from annotation.models import LedgerEntry, Membership, Payment, Project, TaskVersion, User
from annotation.payouts.actions import proposals as payouts
from crowdqc.errors import Conflict, DomainError
from evaluation.models import ProjectMove, Run
from evaluation.moving import actions
from evaluation.moving.archive import MANIFEST, PEOPLE, BadArchive, encode_line
from evaluation.moving.reading import ImportDiffers
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    world = factories.make_world(n=2)
    factories.claim_and_submit(world.task)
    path = tmp_path / "project.zip"
    actions.export_project(by=None, project=world.project, path=path)
    return path


def rewrite(path: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """The same archive with members changed, or left out where this gives None."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(out, "w") as after:
        for name in before.namelist():
            content = change(name, before.read(name))
            if content is not None:
                after.writestr(name, content)
    made = path.with_name("changed.zip")
    made.write_bytes(out.getvalue())
    return made


def manifest_with(**values: object) -> Callable[[str, bytes], bytes]:
    def change(name: str, content: bytes) -> bytes:
        if name != MANIFEST:
            return content
        return json.dumps({**json.loads(content), **values}).encode()

    return change


def cut(path: Path) -> Path:
    made = path.with_name("cut.zip")
    made.write_bytes(path.read_bytes()[:-400])
    return made


def empty(path: Path) -> Path:
    made = path.with_name("empty.zip")
    made.write_bytes(b"")
    return made


BAD: dict[str, Callable[[Path], Path]] = {
    "cut": cut,
    "empty": empty,
    "a row changed": lambda path: rewrite(
        path,
        lambda name, content: content.upper() if name.endswith("Item.jsonl") else content,
    ),
    "a table missing": lambda path: rewrite(
        path, lambda name, content: None if name.endswith("Answer.jsonl") else content
    ),
    "another program": lambda path: rewrite(path, manifest_with(kind="something")),
    "another format": lambda path: rewrite(path, manifest_with(format=2)),
    "other tables": lambda path: rewrite(
        path, manifest_with(migrations=["annotation.0001_initial", "evaluation.0099_new"])
    ),
    "no manifest": lambda path: rewrite(
        path, lambda name, content: None if name == MANIFEST else content
    ),
    "a manifest of nothing": lambda path: rewrite(
        path, lambda name, content: b"[]" if name == MANIFEST else content
    ),
}


@pytest.mark.parametrize("how", BAD)
def test_a_bad_archive_writes_nothing(archive: Path, how: str) -> None:
    bad = BAD[how](archive)
    before = (Project.objects.count(), User.objects.count())
    with pytest.raises(BadArchive):
        actions.import_project(by=None, path=bad)
    assert (Project.objects.count(), User.objects.count()) == before
    assert not ProjectMove.objects.filter(direction="in").exists()


def test_no_password_mail_or_token_is_in_an_archive(archive: Path) -> None:
    user = User.objects.exclude(email="").first()
    with zipfile.ZipFile(archive) as inside:
        text = b"".join(inside.read(name) for name in inside.namelist())
    assert user is None or user.email.encode() not in text
    assert b"pbkdf2" not in text and b"password" not in text.replace(b"No passwords", b"")


def test_a_copy_lives_beside_its_project(archive: Path) -> None:
    [project] = Project.objects.all()
    done = actions.import_project(by=None, path=archive)
    assert done.project.pk != project.pk and done.project.archived_at is not None
    assert done.project.tasks.count() == project.tasks.count()
    assert set(done.renamed) >= {"annotation.Assignment.submit_key"}
    assert not done.project.owner.is_active and not done.project.owner.email
    with pytest.raises(Conflict) as caught:
        actions.import_project(by=None, path=archive)
    assert caught.value.code == "imported-already"


def test_what_is_under_way_is_named(tmp_path: Path) -> None:
    world = factories.make_world(n=2)
    Run.objects.create(
        project=world.project, task=world.task, number=7, method="aqer", version="1", state="queued"
    )
    with pytest.raises(DomainError, match="7") as caught:
        actions.export_project(by=None, project=world.project, path=tmp_path / "a.zip")
    assert caught.value.code == "under-way" and not list(tmp_path.iterdir())
    assert not Payment.objects.exists()


def test_an_id_of_another_project_is_refused(archive: Path) -> None:
    """However the manifest was made to fit, no row of an archive reaches a row that is here."""

    def reach(name: str, content: bytes) -> bytes:
        if name.endswith("TaskVersion.jsonl"):
            rows = [json.loads(line) for line in content.splitlines()]
            content = b"".join(encode_line({**row, "task_id": row["task_id"] - 1}) for row in rows)
        return content

    bad = forge(archive, reach)
    there = TaskVersion.objects.count()
    with pytest.raises(BadArchive):
        actions.import_project(by=None, path=bad)
    assert TaskVersion.objects.count() == there


def forge(path: Path, change: Callable[[str, bytes], bytes]) -> Path:
    """Change members, and what the manifest says of them."""
    with zipfile.ZipFile(path) as inside:
        members = {name: change(name, inside.read(name)) for name in inside.namelist()}
    manifest = json.loads(members.pop(MANIFEST))
    for name, content in members.items():
        manifest["members"][name]["sha256"] = hashlib.sha256(content).hexdigest()
        manifest["members"][name]["size"] = len(content)
    made = path.with_name("forged.zip")
    with zipfile.ZipFile(made, "w") as out:
        for name, content in members.items():
            out.writestr(name, content)
        out.writestr(MANIFEST, json.dumps(manifest))
    return made


def test_an_import_that_differs_is_named_and_stays_archived(archive: Path) -> None:
    """Here the books of the manifest say something else than its rows."""
    with zipfile.ZipFile(archive) as inside:
        manifest = json.loads(inside.read(MANIFEST))
    books = {**manifest["books"], "EUR work:1": ["9.00", "0.00"]}
    with pytest.raises(ImportDiffers, match="EUR work"):
        actions.import_project(by=None, path=rewrite(archive, manifest_with(books=books)))
    project = ProjectMove.objects.get(direction="in").project
    assert project is not None and project.archived_at is not None
    assert not project.tasks.exclude(state="draft").exists()


def verified(user: User, address: str) -> User:
    EmailAddress.objects.create(user=user, email=address, verified=True, primary=True)
    return user


def test_people_keep_their_account_where_they_agreed_and_both_sides_know_the_address(
    tmp_path: Path,
) -> None:
    world = factories.make_world(n=2)
    agreed, other = world.requester, world.manager
    verified(agreed, "anna@example.org")
    verified(other, "ben@example.org")
    path = tmp_path / "project.zip"
    actions.export_project(by=None, project=world.project, path=path, consents=["anna@example.org"])
    with zipfile.ZipFile(path) as inside:
        people = [json.loads(line) for line in inside.read(PEOPLE).splitlines()]
    assert [one["email"] for one in people if "email" in one] == ["anna@example.org"]
    done = actions.import_project(by=None, path=path)
    members = Membership.objects.filter(project=done.project)
    assert members.filter(user=agreed).exists() and not members.filter(user=other).exists()
    new = User.objects.filter(username__startswith="moved-")
    assert new and not any(one.is_active or one.email or one.has_usable_password() for one in new)


def payment_in(world: factories.World, state: str) -> Payment:
    """A payment of a worker of the project, in this state."""
    done = factories.claim_and_submit(world.task)
    line = payouts.ProposedLine(done.pk)
    batch = payouts.propose_payout(by=world.requester, task=world.task, key=uuid4(), lines=[line])
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=payouts.total(batch))
    payment = Payment.objects.get(assignment=done)
    Payment.objects.filter(pk=payment.pk).update(state=state)
    return payment


@pytest.mark.parametrize("state", ["prepared", "sending", "unclear"])
def test_a_payment_on_its_way_keeps_the_project_here(tmp_path: Path, state: str) -> None:
    world = factories.make_world(n=2)
    payment = payment_in(world, state)
    with pytest.raises(Conflict, match=f"{payment.pk}") as caught:
        actions.export_project(
            by=None, project=world.project, path=tmp_path / "a.zip", leave=True, why="It moves."
        )
    assert caught.value.code == "under-way"
    world.project.refresh_from_db()
    assert world.project.archived_at is None


def test_leaving_twice_gives_the_same_rows(tmp_path: Path) -> None:
    world = factories.make_world(n=2)
    payment = payment_in(world, "by_hand")
    sums = []
    for name in ("a.zip", "b.zip"):
        done = actions.export_project(
            by=None, project=world.project, path=tmp_path / name, leave=True, why="It moves."
        )
        sums.append(done.manifest.members["rows/annotation.Payment.jsonl"].sha256)
    payment.refresh_from_db()
    assert payment.state == "unclear" and sums[0] == sums[1]
    moved = actions.import_project(by=None, path=tmp_path / "b.zip").project
    assert moved.archived_at is None
    assert Payment.objects.get(assignment__task__project=moved).state == "by_hand"


def test_a_copy_pays_nobody(tmp_path: Path) -> None:
    world = factories.make_world(n=2)
    payment = payment_in(world, "by_hand")
    actions.export_project(by=None, project=world.project, path=tmp_path / "a.zip")
    copied = actions.import_project(by=None, path=tmp_path / "a.zip").project
    payment.refresh_from_db()
    assert payment.state == "by_hand"
    assert Payment.objects.get(assignment__task__project=copied).state == "unclear"
    assert LedgerEntry.objects.filter(project=copied).count() == 1


def test_an_archive_is_checked_without_writing(archive: Path) -> None:
    said = io.StringIO()
    call_command("crowdqc_project", "check", str(archive), stdout=said)
    assert "rows/annotation.Answer.jsonl" in said.getvalue()
    with pytest.raises(CommandError):
        call_command("crowdqc_project", "check", str(cut(archive)), stdout=said)
    assert not ProjectMove.objects.filter(direction="in").exists()


def test_an_archive_without_a_table_is_refused_however_its_manifest_was_made(archive: Path) -> None:
    with zipfile.ZipFile(archive) as inside:
        members = json.loads(inside.read(MANIFEST))["members"]
    name = "rows/annotation.Assignment.jsonl"
    del members[name]
    lacking = rewrite(archive, lambda one, content: None if one == name else content)
    lacking = rewrite(lacking, manifest_with(members=members))
    with pytest.raises(BadArchive, match="Assignment"):
        actions.import_project(by=None, path=lacking)
    assert not ProjectMove.objects.filter(direction="in").exists()
