"""What grows with use is deleted after its time, what proves something stays, and a page counts."""

from __future__ import annotations

import datetime as dt
import io
import json
import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.models import CASCADE, ForeignKey, Model
from django.db.utils import IntegrityError
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import (
    AuditEntry,
    Hook,
    HookDelivery,
    LedgerEntry,
    Notice,
    Panel,
    PanelMember,
    PayoutBatch,
    Task,
    User,
)
from annotation.records.actions.audit import EVERYDAY, PERMANENT
from annotation.records.installation_state import forget_state
from annotation.records.selectors.audit_words import SENTENCES
from crowdqc.database.compiled import insert_row
from crowdqc.errors import Invalid, NotAllowed
from evaluation.models import (
    CallState,
    CallUse,
    DeletedRows,
    DiscardedFailure,
    LiveEvaluation,
    LLMAttempt,
    LLMCall,
    OfficialRun,
    Run,
    RunFigure,
    RunShare,
    RunState,
    Selection,
    Snapshot,
)
from evaluation.retention import actions
from evaluation.retention.actions import delete_expired, set_retention
from evaluation.retention.growth import growth, stored_by_kind
from evaluation.retention.kinds import KINDS, SETTABLE
from tests.support import factories as make

pytestmark = [pytest.mark.db, pytest.mark.django_db]
GROWTH, SETTINGS = "/installation/growth/", "/installation/settings/"


@pytest.fixture(autouse=True)
def _known_state() -> Iterator[None]:
    forget_state()
    yield
    forget_state()


@pytest.fixture
def owner() -> User:
    return make.make_user("owner", is_superuser=True)


@pytest.fixture
def task() -> Task:
    return make.make_task(make.make_project(), 1)


def ago(days: float) -> dt.datetime:
    return timezone.now() - dt.timedelta(days=days)


def entry(action: str, days: float) -> int:
    """An entry of the audit log as it was written some days ago."""
    pk: int = insert_row(
        AuditEntry(at=ago(days), actor=None, project=None, action=action, object_type="user")
    ).pk
    return pk


def run(task: Task, days: float = 1_000, **fields: Any) -> Run:
    """A finished run of some days ago; the newest of its project is no candidate."""
    number = Run.objects.filter(project=task.project).count() + 1
    fields = {"method": "aqer", "version": "1", "state": RunState.DONE, **fields}
    made = Run.objects.create(project=task.project, task=task, number=number, **fields)
    Run.objects.filter(pk=made.pk).update(created_at=ago(days))
    return made


def left(model: type[Model]) -> set[int]:
    return set(model._default_manager.values_list("pk", flat=True))


# -- what goes and what stays ----------------------------------------------------------------------


def test_audit_entries_go_after_their_time_and_those_of_money_and_access_with_the_books() -> None:
    gone = {entry("assignment.claim", 1_096), entry("payout.approve", 366 * 10 + 1)}
    stays = {
        entry("assignment.claim", 1_094),
        entry("payout.approve", 3_655),
        entry("member.remove", 1_096),
        entry("an.unknown.action", 1_096),
        *(entry(action, 40_000) for action in PERMANENT),
    }
    assert delete_expired() == 2
    assert stays <= left(AuditEntry) and not gone & left(AuditEntry)


def test_notices_go_but_those_of_states_and_those_still_to_be_mailed(owner: User) -> None:
    def notice(kind: str, **fields: Any) -> int:
        made = Notice.objects.create(user=owner, kind=kind, text="x", key=str(uuid.uuid4()))
        Notice.objects.filter(pk=made.pk).update(**{"created_at": ago(366), **fields})
        return made.pk

    notice("work.approved")
    stays = {
        notice("task.complete"),
        notice("budget.used"),
        notice("work.approved", mail_at=ago(365)),
        notice("work.approved", created_at=ago(364)),
    }
    assert delete_expired() == 1 and left(Notice) == stays


def test_superseded_runs_go_with_scores_and_snapshots_and_the_newest_stay(task: Task) -> None:
    lone, used = (
        Snapshot.objects.create(
            project=task.project, task=task, content_hash=name * 64, answer_ids=[1]
        )
        for name in "ab"
    )
    Snapshot.objects.update(created_at=ago(1_000))
    old = run(task, snapshot=lone)
    RunFigure.objects.create(run=old, name="of_a_test", data={})
    DiscardedFailure.objects.create(kind="run", row=old.pk)
    following = run(task, method="bootstrap", source=old, snapshot=lone)
    failed = run(task, state=RunState.FAILED)
    stays = {
        run(task, 900, snapshot=used).pk,  # the newest that is done
        run(task, 900, method="bootstrap").pk,
        run(task, 900, lane="gpt").pk,
        run(task, 700, state=RunState.FAILED).pk,
    }
    assert delete_expired() == 4
    assert left(Run) == stays and not stays & {old.pk, following.pk, failed.pk}
    assert left(Snapshot) == {used.pk}
    assert not RunFigure.objects.exists() and not DiscardedFailure.objects.exists()


def official(old: Run, by: User) -> None:
    OfficialRun.objects.create(
        task=old.task, method=old.method, run=old, how="first", since=ago(900), until=ago(800)
    )


def board(old: Run, by: User) -> None:
    RunShare.objects.create(run=old, slug="a-board", created_by=by, stopped_at=ago(1))


def link(old: Run, by: User) -> None:
    RunShare.objects.create(run=old, digest="d", created_by=by, expires_at=ago(-1))


def payout(old: Run, by: User) -> None:
    PayoutBatch.objects.create(
        project=old.project, task=old.task, number=1, key=uuid.uuid4(), proposed_by=by,
        evidence_run=old.number,
    )  # fmt: skip


def panel(old: Run, by: User) -> None:
    made = Panel.objects.create(project=old.project, name="A", created_by=by)
    Selection.objects.create(panel=made, task=old.task, run=old, rule="top", by=by)


def seat(old: Run, by: User) -> None:
    made = Panel.objects.create(project=old.project, name="A", created_by=by)
    PanelMember.objects.create(
        panel=made, worker=make.make_worker(old.project), added_by=by, run_number=old.number
    )


def figure(old: Run, by: User) -> None:
    other = run(old.task, 1, method="checks")
    RunFigure.objects.create(
        run=other, name="compare", data={"series": [{"run": old.pk}, {"run": None}]}
    )


def human(old: Run, by: User) -> None:
    other = run(old.task, 1, method="checks")
    RunFigure.objects.create(run=other, name="about", data={"human_run": old.pk})


def follower(old: Run, by: User) -> None:
    run(old.task, 1, method="bootstrap", source=old)


def followed(old: Run, by: User) -> None:
    source = run(old.task, method="core")
    run(old.task, 1, method="core")
    official(source, by)
    Run.objects.filter(pk=old.pk).update(source=source)


def published(old: Run, by: User) -> None:
    Run.objects.filter(pk=old.pk).update(method="published")
    run(old.task, 1, method="published")


def due(old: Run, by: User) -> None:
    Run.objects.filter(pk=old.pk).update(follow_up_due=True)


REASONS = (
    *(official, board, link, payout, panel, seat, figure, human),
    *(follower, followed, published, due),
)


@pytest.mark.parametrize("reason", REASONS)
def test_a_run_that_something_rests_on_stays(task: Task, owner: User, reason: Any) -> None:
    old, beside = run(task), run(task)
    run(task, 1)
    reason(old, owner)
    delete_expired()
    assert old.pk in left(Run) and beside.pk not in left(Run)


def test_an_expired_link_keeps_no_run(task: Task, owner: User) -> None:
    old = run(task)
    run(task, 1)
    RunShare.objects.create(run=old, digest="d", created_by=owner, expires_at=ago(1))
    assert delete_expired() == 1 and old.pk not in left(Run)


def test_every_table_that_goes_with_a_run_is_counted_as_its_kind() -> None:
    """Or its rows keep the run, which the tests above hold."""
    holds = {"OfficialRun", "RunShare", "BoardBundle", "WatchNote", "LiveJudging", "Run"}
    goes = {
        model
        for model in apps.get_models()
        for field in model._meta.local_fields
        if isinstance(field, ForeignKey)
        and field.related_model is Run
        and field.remote_field.on_delete is CASCADE
    }
    assert {model for model in goes if model.__name__ not in holds} == set(KINDS["runs"].beside)


def test_a_live_evaluation_keeps_the_votes_that_it_is_of(task: Task, owner: User) -> None:
    rows = [
        Snapshot.objects.create(
            project=task.project, task=task, content_hash=name * 64, answer_ids=[]
        )
        for name in "ab"
    ]
    Snapshot.objects.update(created_at=ago(31))
    LiveEvaluation.objects.create(
        task=task, state="ended", reason="by_hand", ended_at=ago(31), systems=[], dimension="d",
        max_judgments=1, opened_by=owner, result={"snapshot": rows[0].content_hash},
    )  # fmt: skip
    assert delete_expired() == 1 and left(Snapshot) == {rows[0].pk}


def test_calls_go_once_no_run_has_them(task: Task) -> None:
    def call(key: str, **fields: Any) -> LLMCall:
        fields = {"state": CallState.DONE, **fields}
        made = LLMCall.objects.create(
            project=task.project, model_name="m", key=key, prompt="p@1", messages=[], **fields
        )
        LLMCall.objects.filter(pk=made.pk).update(created_at=ago(731))
        LLMAttempt.objects.create(
            call=made, number=1, sent_at=ago(731), ended_at=ago(731), outcome="ok"
        )
        return made

    gone, old, used = call("a"), run(task), call("b")
    CallUse.objects.create(run=run(task, 1), call=used, subject="answer:1")
    with_old = call("c")
    CallUse.objects.create(run=old, call=with_old, subject="answer:1")
    stays = {used.pk, call("d", source="import").pk, call("e", state=CallState.QUEUED).pk}
    assert delete_expired() == 3  # a run, what it alone had asked, and what none has
    assert left(LLMCall) == stays and not stays & {gone.pk, with_old.pk}
    assert LLMAttempt.objects.count() == 3


def test_settled_deliveries_go_after_a_month(task: Task) -> None:
    hook = Hook.objects.create(
        project=task.project, url="https://a.example", secret_sealed=b"",
        created_by=task.project.owner,
    )  # fmt: skip

    def delivery(state: str, days: float | None) -> int:
        made = HookDelivery.objects.create(
            hook=hook, event_id=uuid.uuid4(), event="x", payload={}, state=state,
            next_at=ago(0), done_at=None if days is None else ago(days),
        )  # fmt: skip
        return int(made.pk)

    delivery("done", 31)
    delivery("failed", 31)
    stays = {delivery("done", 29), delivery("waiting", None), delivery("waiting", 31)}
    assert delete_expired() == 2 and left(HookDelivery) == stays


# -- how it is done --------------------------------------------------------------------------------


def test_twice_is_once_and_the_log_has_one_entry_a_kind_and_day() -> None:
    for _ in range(3):
        entry("assignment.claim", 1_200)
    assert delete_expired() == 3
    entry("assignment.claim", 1_200)
    assert delete_expired() == 0  # this day's work is done
    assert not AuditEntry.objects.filter(action="retention.delete").exists()
    tomorrow = timezone.now() + dt.timedelta(days=1)
    assert delete_expired(tomorrow) == 1
    assert delete_expired(tomorrow) == 0
    [made] = AuditEntry.objects.filter(action="retention.delete")
    assert made.detail == {
        "kind": "audit", "rows": 3, "day": timezone.localdate().isoformat(),
    }  # fmt: skip
    assert DeletedRows.objects.get(kind="audit", day=timezone.localdate(tomorrow)).rows == 1


def _in_twos(monkeypatch: pytest.MonkeyPatch) -> None:
    small = tuple(
        type(kind)(**{**kind.__dict__, "at_once": 2}) for kind in SETTABLE if kind.name == "audit"
    )
    monkeypatch.setattr(actions, "SETTABLE", small)


@pytest.mark.django_db(transaction=True)
def test_a_job_that_is_killed_has_lost_nothing_and_the_next_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _in_twos(monkeypatch)
    due_now = [entry("assignment.claim", 1_200) for _ in range(5)]
    stays = entry("assignment.claim", 1)
    real, calls = actions._audit_log_opened, []

    def killed(kind: Any) -> Any:
        calls.append(kind)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(kind)

    monkeypatch.setattr(actions, "_audit_log_opened", killed)
    with pytest.raises(KeyboardInterrupt):
        delete_expired()
    assert left(AuditEntry) == {*due_now[2:], stays}
    assert DeletedRows.objects.get().rows == 2
    assert delete_expired() == 3
    assert left(AuditEntry) == {stays} and DeletedRows.objects.get().rows == 5


def test_a_turn_that_runs_out_of_time_is_gone_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    _in_twos(monkeypatch)
    for _ in range(3):
        entry("assignment.claim", 1_200)
    assert delete_expired(seconds=0) == 0
    assert DeletedRows.objects.get().finished_at is None
    assert delete_expired() == 3


def test_nothing_else_deletes_from_the_audit_log() -> None:
    """Neither other switches, nor this one where entries are young, of the books or permanent."""
    old = entry("assignment.claim", 1_200)
    cases = [
        *((switch, old) for switch in ("", "crowdqc.erasing", "crowdqc.sweeping")),
        ("crowdqc.retention", entry("assignment.claim", 89)),
        ("crowdqc.retention", entry("payout.approve", 2_180)),
        ("crowdqc.retention", entry("an.unknown.action", 2_180)),
        *(("crowdqc.retention", entry(action, 40_000)) for action in PERMANENT),
    ]
    for switch, pk in cases:
        with (
            pytest.raises(IntegrityError, match="append-only"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            if switch:
                cursor.execute("SELECT set_config(%s, 'on', true)", [switch])
            cursor.execute("DELETE FROM annotation_auditentry WHERE id = %s", [pk])


def test_the_switch_opens_no_other_table(task: Task) -> None:
    done = make.claim_and_submit(task)
    make.make_log(done, [{"method": "open", "time": 0}])
    LedgerEntry.objects.create(
        project=task.project, task=task, worker=done.worker, assignment=done, kind="correction",
        debit="work:1", credit="worker:1", amount=1, currency="EUR", key="k",
    )  # fmt: skip
    for statement in (
        "DELETE FROM annotation_ledgerentry",
        "DELETE FROM annotation_eventbatch",
        "UPDATE annotation_auditentry SET action = 'x'",
    ):
        with (
            pytest.raises(IntegrityError, match="append-only"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute("SELECT set_config('crowdqc.retention', 'on', true)")
            cursor.execute(statement)


def test_everyday_actions_are_those_of_the_databases_guard() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT prosrc FROM pg_proc WHERE proname = 'crowdqc_append_only'")
        (source,) = cursor.fetchone() or ("",)
    everyday, permanent = re.findall(r"ARRAY\[(.*?)\]", source, re.DOTALL)
    assert re.findall(r"'([^']+)'", everyday) == list(EVERYDAY)
    assert re.findall(r"'([^']+)'", permanent) == list(PERMANENT)
    assert set(EVERYDAY) <= set(SENTENCES) and not set(EVERYDAY) & set(PERMANENT)
    money = ("account", "consent", "correction", "invitation", "ledger", "member", "payment",
             "payout", "rejection", "role", "statement", "token")  # fmt: skip
    families = {action.partition(".")[0] for action in EVERYDAY} & set(money)
    assert families == {"account"}  # its language and theme


# -- settings --------------------------------------------------------------------------------------


def test_owner_sets_the_retention_on_the_page_and_it_is_audited(owner: User) -> None:
    pages = Client()
    pages.force_login(owner)
    form = pages.get(SETTINGS).context["forms"]["retention"]
    assert form["audit"].initial == 1_095 and form["audit_books"].initial == 10
    values: dict[str, Any] = {f"retention-{kind.name}": kind.usual for kind in SETTABLE}
    values |= {"retention-notices": 60, "retention-runs": ""}
    assert pages.post(SETTINGS, {"do": "retention", **values}).status_code == 302
    assert (KINDS["notices"].keeps, KINDS["runs"].keeps) == (60, None)
    made = AuditEntry.objects.filter(action="installation.retention").order_by("pk")
    assert [(one.actor, one.detail["kind"], one.detail["keeps"]) for one in made] == [
        (owner, "notices", 60),
        (owner, "runs", None),
    ]
    refused = pages.post(SETTINGS, {"do": "retention", **values, "retention-audit": 89})
    assert refused.status_code == 422 and KINDS["audit"].keeps == 1_095


def test_who_owns_nothing_sets_nothing_and_limits_hold(owner: User) -> None:
    with pytest.raises(NotAllowed):
        set_retention(by=make.make_user(), name="audit", keeps=100)
    for name, keeps in (("audit", 89), ("audit_books", 5), ("notices", 36_501), ("ledger", 30)):
        with pytest.raises(Invalid):
            set_retention(by=owner, name=name, keeps=keeps)


def test_what_is_kept_until_deleted_is_not_deleted(task: Task) -> None:
    run(task)
    run(task, 1)
    set_retention(by=None, name="runs", keeps=None)
    assert delete_expired() == 0 and Run.objects.count() == 2


# -- the page --------------------------------------------------------------------------------------


@pytest.fixture
def pages(owner: User) -> Client:
    client = Client()
    client.force_login(owner)
    return client


def test_the_page_shows_what_a_count_shows(pages: Client, task: Task) -> None:
    make.claim_and_submit(task)
    for days in (2, 29, 31, 400):
        entry("assignment.claim", days)
    [rows] = [group.rows for group in pages.get(GROWTH).context["table"].groups]
    by_kind = {row.kind: row for row in rows}
    everyday = AuditEntry.objects.filter(action__in=EVERYDAY)
    audit = by_kind["audit"]
    assert audit.rows == everyday.count()
    assert audit.recent_rows == everyday.filter(at__gte=ago(30)).count()
    assert audit.oldest == everyday.earliest("at").at and audit.kept == "1,095 days"
    assert audit.year_bytes == round(audit.recent_bytes * 365 / 30)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_total_relation_size('annotation_auditentry'),"
            " pg_total_relation_size('evaluation_llmcall')"
            " + pg_total_relation_size('evaluation_llmattempt')"
        )
        whole, calls = cursor.fetchone() or (0, 0)
    assert abs(audit.bytes + by_kind["audit_books"].bytes - whole) <= 1
    assert audit.bytes == round(whole * audit.rows / AuditEntry.objects.count())
    assert by_kind["model_calls"].bytes == calls
    kept = {name: row.kept for name, row in by_kind.items()}
    assert (by_kind["other"].rows, kept["books"]) == (None, "until deleted")
    assert (kept["audit_books"], kept["runs"]) == ("10 years", "730 days if superseded")


def test_all_tables_are_on_the_page_once() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
            " AND relname <> 'crowdqc_file_piece'"
        )
        (whole,) = cursor.fetchone() or (0,)
    assert abs(sum(row.bytes for row in growth()) - whole) <= 2
    tables = [model for kind in KINDS.values() for model in {*kind.models}]
    shared = {kind.model for kind in KINDS.values() if kind.name.startswith("audit")}
    assert len(tables) == len({*tables}) + len(shared)


def test_the_page_takes_as_many_queries_at_any_size(pages: Client) -> None:
    counts = []
    for _ in range(2):
        make.claim_and_submit(make.make_task())
        with CaptureQueriesContext(connection) as seen:
            assert pages.get(GROWTH).status_code == 200
        counts.append(len(seen))
    assert counts[0] == counts[1] <= len(KINDS) + 12


def test_owner_sets_retention_by_a_program_and_a_command(owner: User) -> None:
    header = {"Authorization": f"Token {make.api_token(owner, ('installation',))}"}
    address = "/api/installation/retention/"
    body = json.dumps({"name": "deliveries", "keeps": 7})
    changed = Client().patch(address, body, "application/json", headers=header)
    kept = {one["name"]: one["keeps"] for one in changed.json()}
    assert (changed.status_code, kept["deliveries"], kept["audit_books"]) == (200, 7, 10)
    wrong = json.dumps({"name": "deliveries", "keeps": 0})
    refused = Client().patch(address, wrong, "application/json", headers=header)
    assert (refused.status_code, refused.json()["fields"]) != (200, {})
    rows = Client().get("/api/installation/growth/", headers=header).json()
    assert {one["kind"] for one in rows} == {*KINDS, "other"}
    out = io.StringIO()
    call_command("crowdqc_owner", "retention", "runs", "kept", stdout=out)
    assert "runs\tkept\t730\t30\tdays" in out.getvalue() and KINDS["runs"].keeps is None
    call_command("crowdqc_owner", "growth", stdout=out)
    assert "model_calls\t0\t" in out.getvalue()


def test_metrics_know_bytes_without_counting() -> None:
    with CaptureQueriesContext(connection) as seen:
        stored = stored_by_kind()
    assert len(seen) == 2
    assert stored["audit"][0] > 0 and "audit_books" not in stored


@pytest.mark.django_db(transaction=True)
def test_only_the_job_has_the_privilege_and_only_within_its_transaction() -> None:
    """The role of the application owns the tables and is no superuser."""
    role = f"crowdqc_plain_{uuid.uuid4().hex[:8]}"
    entry("assignment.claim", 1_200)
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        (admin,) = cursor.fetchone() or ("",)
        cursor.execute(f'CREATE ROLE "{role}" NOSUPERUSER')
        cursor.execute(f'GRANT ALL ON SCHEMA public TO "{role}"')
        cursor.execute(f'GRANT ALL ON ALL TABLES IN SCHEMA public TO "{role}"')
        cursor.execute(f'GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO "{role}"')
        cursor.execute(f'REVOKE ALL ON annotation_auditentry FROM "{role}"')
        cursor.execute(f'ALTER TABLE annotation_auditentry OWNER TO "{role}"')
        cursor.execute(f'SET ROLE "{role}"')
    try:
        with pytest.raises(DatabaseError, match="permission denied"), transaction.atomic():
            AuditEntry.objects.all()._raw_delete("default")
        assert delete_expired() == 1
        with pytest.raises(DatabaseError, match="permission denied"), transaction.atomic():
            AuditEntry.objects.all()._raw_delete("default")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET ROLE")
            cursor.execute(f'ALTER TABLE annotation_auditentry OWNER TO "{admin}"')
            cursor.execute(f'DROP OWNED BY "{role}"')
            cursor.execute(f'DROP ROLE "{role}"')
