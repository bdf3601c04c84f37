"""The audit log: who did what in words, and a database that lets nobody change it."""

from __future__ import annotations

import csv
import io
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.utils import IntegrityError
from django.test import Client
from django.urls import reverse

from annotation.accounts.tokens import actions as tokens
from annotation.models import AuditEntry, EventBatch, LedgerEntry, Payment, PaymentAttempt, User
from annotation.payouts.actions import proposals as payouts
from annotation.privacy.actions import retention
from annotation.records.actions.audit import record
from annotation.records.selectors import audit
from evaluation.people import erasure
from tests.support import factories
from tests.support.factories import World
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db
APPEND_ONLY = ("annotation_auditentry", "annotation_ledgerentry", "annotation_eventbatch")


@pytest.fixture
def world() -> World:
    return factories.make_world(1)


def page(user: User | None, name: str, *args: Any, **query: Any) -> Any:
    client = Client()
    assert user is not None
    client.force_login(user)
    return client.get(reverse(name, args=args), query)


def test_each_entry_stands_in_words_and_a_worker_under_the_pseudonym(world: World) -> None:
    assert world.worker.user is not None
    User.objects.filter(pk=world.worker.user.pk).update(display_name="Anna Secret")
    factories.claim_and_submit(world.task, world.worker)
    said = html_of(page(world.requester, "audit_log", world.project.pk))
    assert f"<b>{world.worker.pseudonym}</b> submitted an assignment" in said
    assert "published version 1 of a task" in said
    assert "Anna Secret" not in said
    assert world.worker.user.username not in said
    other = factories.make_project()
    assert page(world.requester, "audit_log", other.pk).status_code == 404


def test_the_log_is_filtered_by_person_action_object_and_day(world: World) -> None:
    submitted = factories.claim_and_submit(world.task, world.worker)

    def found(**query: str) -> set[str]:
        filters = audit.Filters.from_query(query)
        return {line.entry.action for line in audit.read_page(world.project, filters).lines}

    assert found(person=world.worker.pseudonym) == {
        "consent.give",
        "assignment.claim",
        "assignment.submit",
    }
    assert found(person=str(world.requester)) >= {"project.create", "version.publish"}
    assert found(person=world.worker.user.username) == set()  # type: ignore[union-attr]
    assert "task.create" in found(family="task")
    assert found(object="assignment", id=str(submitted.pk)) == {
        "assignment.claim",
        "assignment.submit",
    }
    assert found(since="2001-01-01", until="2001-02-01") == set()
    assert found(since="nonsense", id="x", family="x") == found()


def test_pages_stay_in_place_while_the_log_grows(
    world: World, django_assert_num_queries: Any
) -> None:
    for number in range(2 * audit.PAGE):
        record(
            by=world.requester,
            project=world.project,
            action="run.start",
            on=world.task,
            number=number,
        )
    first = audit.read_page(world.project, audit.Filters())
    record(by=None, project=world.project, action="log.erase", on=world.task, events=3)
    second = audit.read_page(world.project, audit.Filters(), first.older or 0)
    ids = [line.entry.pk for line in [*first.lines, *second.lines]]
    assert ids == sorted(ids, reverse=True)
    assert len(set(ids)) == 2 * audit.PAGE
    for _ in range(2):
        with django_assert_num_queries(2):
            audit.read_page(world.project, audit.Filters())


def test_the_same_entries_come_as_a_file(world: World) -> None:
    response = page(world.manager, "audit_log_export", world.project.pk, family="project")
    told = b"".join(response.streaming_content).decode()
    rows = list(csv.DictReader(io.StringIO(told)))
    assert [row["action"] for row in rows] == ["project.create"]
    assert rows[0]["said"] == "made the project"


def test_a_person_sees_what_their_account_did(world: World) -> None:
    tokens.create_token(by=world.requester, name="mine", scopes=["read"], days=3)
    said = html_of(page(world.requester, "account_log"))
    assert "<b>You</b> made a token of the API" in said
    assert "You still belong to a project" in said
    assert "made a token" not in html_of(page(world.manager, "account_log"))


def test_nobody_changes_deletes_or_empties_what_is_only_added_to(world: World) -> None:
    for change in (
        lambda: AuditEntry.objects.update(action="x"),
        lambda: AuditEntry.objects.all()._raw_delete("default"),
    ):
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            change()
    for table in APPEND_ONLY:
        with (
            pytest.raises(IntegrityError, match="append-only"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SELECT set_config('crowdqc.may_truncate', 'off', true)")
            cursor.execute(f"TRUNCATE {table} CASCADE")
    # The switch for erasing opens the log of typing and nothing else.
    with (
        pytest.raises(IntegrityError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT set_config('crowdqc.erasing', 'on', true)")
        cursor.execute("DELETE FROM annotation_auditentry")


def test_a_request_about_a_payment_that_ended_stays_as_it_was() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'crowdqc_try_ended'"
        )
        (told,) = cursor.fetchone() or ("",)
    assert f"ON public.{PaymentAttempt._meta.db_table}" in told
    assert "BEFORE DELETE OR UPDATE" in told


@pytest.fixture
def plain_role(transactional_db: None) -> Iterator[None]:
    """Everything belongs to a role that may do what an owner may, and the application is it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, current_database()")
        owner, database = cursor.fetchone() or ("", "")
        role = f"crowdqc_plain_{uuid.uuid4().hex[:8]}"
        cursor.execute(f'CREATE ROLE "{role}" NOSUPERUSER')
        cursor.execute(f'GRANT ALL ON SCHEMA public TO "{role}"')
        cursor.execute(f'GRANT ALL ON DATABASE "{database}" TO "{role}"')
        cursor.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' "
            "UNION SELECT viewname FROM pg_views WHERE schemaname = 'public'"
        )
        tables = [row[0] for row in cursor.fetchall()]
        for table in tables:
            cursor.execute(f'ALTER TABLE "{table}" OWNER TO "{role}"')
        cursor.execute(f'SET ROLE "{role}"')
    yield
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")
        for table in tables:
            cursor.execute(f'ALTER TABLE "{table}" OWNER TO "{owner}"')
        cursor.execute(f'REASSIGN OWNED BY "{role}" TO "{owner}"')
        cursor.execute(f'DROP OWNED BY "{role}"')
        cursor.execute(f'DROP ROLE "{role}"')


def test_a_role_without_superpowers_may_not_and_can_still_work(plain_role: None) -> None:
    """The owner of the tables: UPDATE and DELETE are refused by privilege, before any trigger."""
    world = factories.make_world(1)
    work = factories.claim_and_submit(world.task, world.worker)
    factories.make_log(work, [{"method": "open", "time": 0}])
    batch = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=[payouts.ProposedLine(work.pk)]
    )
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=payouts.total(batch))
    assert LedgerEntry.objects.exists()
    refused = [
        "UPDATE annotation_auditentry SET action = 'x'",
        "DELETE FROM annotation_auditentry",
        "UPDATE annotation_ledgerentry SET amount = 1",
        "DELETE FROM annotation_ledgerentry",
        "UPDATE annotation_eventbatch SET events = '[]'",
    ]
    for statement in refused:
        with (
            pytest.raises(DatabaseError, match="permission denied"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)
    with (
        pytest.raises(IntegrityError, match="append-only"),
        transaction.atomic(),
    ):
        EventBatch.objects.all()._raw_delete("default")
    assert retention.erase_logs_of_worker(by=world.manager, worker=world.worker) == 1
    assert not EventBatch.objects.exists()
    Payment.objects.update(state=Payment.State.DONE)
    erasure.request_erasure(by=world.manager, worker=world.worker)
    assert erasure.carry_out(world.worker.pk) == "done"


def test_nothing_refers_to_what_is_only_added_to() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conrelid::regclass::text FROM pg_constraint WHERE contype = 'f' "
            "AND confrelid::regclass::text = ANY(%s)",
            [list(APPEND_ONLY)],
        )
        assert cursor.fetchall() == []
