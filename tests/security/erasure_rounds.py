"""Erasing a person changes no row of anybody else, whatever name they brought along (A6).

Tried on the demo by the file of tests that has it loaded (``tests/evaluation/demo``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from annotation.models import (
    ImportPart,
    LedgerEntry,
    Membership,
    Payment,
    PlatformEvent,
    Rejection,
    Statement,
    Task,
    TextValue,
    Visit,
)
from annotation.privacy.name_places import GONE
from evaluation.people import erasure
from tests.security.erasure_names import Planted, names, parts, plant

NUMBER = int(os.environ.get("CROWDQC_NAMES", "200"))
EACH = 120  # names of one person
# Columns that erasing may change in rows of the project: why a run cannot be repeated, that a text
# is asked about no more.
DECLARED = {"evaluation_run": "spoiled", "annotation_item": "redundancy"}
# Tables of which whole rows are the person's, with where it says so.
OWN = {
    "annotation_answercount": "worker_id = %(w)s",
    "annotation_membership": "id = %(w)s",
    "annotation_visit": "worker_id = %(w)s",
    "annotation_assignment": "worker_id = %(w)s",
    "annotation_payment": "worker_id = %(w)s",
    "annotation_answer": "worker_id = %(w)s",
    "annotation_consent": "membership_id = %(w)s",
    "annotation_panelmember": "worker_id = %(w)s",
    "annotation_conversation": "worker_id = %(w)s",
    "annotation_message": (
        "conversation_id IN (SELECT id FROM annotation_conversation WHERE worker_id = %(w)s)"
    ),
    "annotation_notice": "user_id = %(u)s",
    "annotation_apitoken": "user_id = %(u)s",
    "annotation_keptreply": "user_id = %(u)s",
    "annotation_candidate": "author_id = %(w)s OR source_answer_id = ANY(%(a)s)",
    "annotation_textvalue": "answer_id = ANY(%(a)s)",
    "annotation_choicevalue": "answer_id = ANY(%(a)s)",
    "annotation_spanvalue": "answer_id = ANY(%(a)s)",
    "annotation_assignmentitem": "assignment_id = ANY(%(s)s)",
    "annotation_eventstream": "assignment_id = ANY(%(s)s)",
    "annotation_eventbatch": (
        "stream_id IN (SELECT id FROM annotation_eventstream WHERE assignment_id = ANY(%(s)s))"
    ),
    "annotation_rejection": "assignment_id = ANY(%(s)s)",
    "annotation_paymentattempt": (
        "payment_id IN (SELECT id FROM annotation_payment WHERE worker_id = %(w)s)"
    ),
    "annotation_exportfile": "project_id = %(p)s",
    "evaluation_grade": "answer_id = ANY(%(a)s)",
    "evaluation_auditverdict": "answer_id = ANY(%(a)s)",
    "evaluation_llmcall": "id IN (SELECT call_id FROM evaluation_calluse WHERE subject ~ "
    "('^answer:(' || array_to_string(%(a)s, '|') || ')(\\D|$)'))",
}
# JSON in which somebody's entries stand beside others': every changed value is judged.
MIXED = {
    "annotation_statement": "rows",
    "annotation_platformevent": "payload",
    "evaluation_checkliststage": "data",
    "evaluation_runfigure": "data",
    "evaluation_checklistversion": "questions",
    "annotation_taskversion": "settings",
    "evaluation_setcomparison": "sets",
}

Rows = dict[str, dict[str, str]]


def tables() -> dict[str, str]:
    """Every table with its key."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
            "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] "
            "WHERE i.indisprimary AND c.relnamespace = 'public'::regnamespace"
        )
        return dict(cursor.fetchall())


def digests(known: dict[str, str]) -> Rows:
    """Table -> key -> a digest of the row, less what is declared to change."""
    found: Rows = {}
    with connection.cursor() as cursor:
        for table, key in known.items():
            row = "t::text"
            if table in DECLARED:
                row = f"(to_jsonb(t) - '{DECLARED[table]}')::text"
            cursor.execute(f'SELECT {key}::text, md5({row}) FROM "{table}" t')  # noqa: S608
            found[table] = dict(cursor.fetchall())
    return found


def own_rows(worker: Membership) -> dict[str, set[str]]:
    """Table -> keys of the person's own rows."""
    assignments = list(worker.assignments.values_list("pk", flat=True))
    values = {
        "w": worker.pk,
        "u": worker.user_id,
        "p": worker.project_id,
        "s": assignments,
        "a": list(worker.answers.values_list("pk", flat=True)),
    }
    found = {}
    with connection.cursor() as cursor:
        for table, mine in OWN.items():
            cursor.execute(f"SELECT id::text FROM {table} WHERE {mine}", values)  # noqa: S608
            found[table] = {row[0] for row in cursor.fetchall()}
    return found


def values_of(table: str) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id::text, {MIXED[table]}::text FROM {table}")  # noqa: S608
        return {key: json.loads(text) for key, text in cursor.fetchall()}


def changes(before: Any, after: Any) -> Iterator[tuple[Any, Any]]:
    """(value before, value after) of each leaf that differs; a changed shape is a difference."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for name, value in before.items():
            yield from changes(value, after[name])
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            yield from changes(one, other)
    elif before != after:
        yield before, after


def balances() -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT account, sum(amount) FROM (SELECT debit AS account, amount "
            "FROM annotation_ledgerentry UNION ALL SELECT credit, -amount "
            "FROM annotation_ledgerentry) AS moves GROUP BY account"
        )
        return dict(cursor.fetchall())


def erase(worker: Membership) -> None:
    now = timezone.now()
    Payment.objects.filter(worker=worker).update(state="done")
    Membership.objects.filter(pk=worker.pk).update(erase_asked_at=now, removed_at=now)
    assert erasure.carry_out(worker.pk) == "done"


def check_round(task: Task, worker: Membership, other: Membership, called: list[str]) -> None:
    planted, known = plant(task, worker, other, called), tables()
    Payment.objects.filter(worker=worker).update(state="done")
    own, texts = (
        own_rows(worker),
        set(TextValue.objects.filter(answer__worker=worker).values_list("text", flat=True)),
    )
    # What stands there before the erasure is decided, which marks the membership alone.
    before, booked = digests(known), balances()
    mixed = {table: values_of(table) for table in MIXED}
    parts_of = ImportPart.objects.filter(file=planted.own_upload)
    staged = {str(pk) for pk in parts_of.values_list("pk", flat=True)}
    erase(worker)
    after = digests(known)
    for table, rows in before.items():
        changed = {key for key, digest in rows.items() if after[table].get(key) != digest}
        new = after[table].keys() - rows.keys()
        assert table == "annotation_auditentry" or not new, table
        if table in MIXED:
            assert_only_names(mixed[table], values_of(table), changed, planted, {*called, *texts})
        elif table == "annotation_importfile":
            assert changed == {str(planted.own_upload)}
        elif table == "annotation_importpart":
            assert changed == staged
        elif table != "evaluation_embedding":  # a cache by hash, computed again when it is needed
            assert changed <= own.get(table, set()), f"{table}: rows of others changed"
    assert balances() == booked
    assert_erased(worker, planted, called)


def assert_only_names(
    before: dict[str, Any],
    after: dict[str, Any],
    changed: set[str],
    planted: Planted,
    words: set[str],
) -> None:
    for key in changed:
        if int(key) in planted.own_events and after[key] == {}:
            continue
        for was, now in changes(before[key], after[key]):
            assert now == GONE and was in words, (was, now)


def assert_erased(worker: Membership, planted: Planted, called: list[str]) -> None:
    visits = Visit.objects.filter(worker=worker)
    called = [one for one in called if one != "erased-1"]  # what the first visit is called now
    assert not set(visits.values_list("participant", flat=True)) & set(called)
    assert not set(visits.values_list("session", flat=True)) & set(called)
    for payload in PlatformEvent.objects.filter(pk__in=planted.own_events).values_list(
        "payload", flat=True
    ):
        assert payload == {}
    for event in PlatformEvent.objects.filter(pk__in=planted.mixed_events):
        assert event.payload["participant_id"] == GONE
        assert f"About {event.payload['resource_id']}" == event.note
    for statement in Statement.objects.filter(recruitment__visits__worker=worker).distinct():
        mine, *others = statement.rows
        assert (mine["participant"], mine["submission"], mine["amount"]) == (GONE, GONE, "100.00")
        kept = [one[name] for one in others for name in ("participant", "submission")]
        assert GONE not in kept or GONE in called
    assert not ImportPart.objects.filter(file=planted.own_upload).exists()
    assert not TextValue.objects.filter(answer__worker=worker).exists()
    assert not Rejection.objects.filter(assignment__worker=worker).exclude(reply__in=["", GONE])


def check_names(demo: Task) -> None:
    """Many names a person, each by a recruitment of its own, beside other people."""
    workers = list(
        Membership.objects.filter(project=demo.project, role="worker", answers__isnull=False)
        .distinct()
        .order_by("pk")
    )
    for at, called in enumerate(parts(names(NUMBER, seed=7), EACH)):
        with transaction.atomic():
            worker, other = workers[at % len(workers)], workers[(at + 1) % len(workers)]
            check_round(demo, worker, other, called)
            transaction.set_rollback(True)


KNOWN = {
    "annotation_textvalue",
    "annotation_assignmentitem",
    "annotation_eventbatch",
    "annotation_candidate",
    "annotation_itemgroup",  # a passage that somebody copied from
    "evaluation_checkliststage",
    "evaluation_checklistversion",
    "evaluation_llmcall",
    "annotation_taskversion",
    "evaluation_runfigure",  # the questions of a checklist, with the attributes behind them
    "evaluation_setcomparison",
}


def check_places() -> None:
    """What erasing clears by reference is everywhere where a worker's own texts stand."""
    texts = TextValue.objects.filter(answer__worker__isnull=False).values_list("text", flat=True)
    long = sorted({text for text in texts if len(text) >= 25})
    assert len(long) > 50
    found = set()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = "
            "'public' AND data_type IN ('text', 'character varying', 'json', 'jsonb')"
        )
        for table, column in cursor.fetchall():
            cursor.execute(
                f'SELECT EXISTS (SELECT 1 FROM "{table}" t, unnest(%s::text[]) w '  # noqa: S608
                f'WHERE strpos(t."{column}"::text, w) > 0)',
                [long],
            )
            if (cursor.fetchone() or (False,))[0]:
                found.add(table)
    assert not found - KNOWN, found - KNOWN
    assert LedgerEntry.objects.exists()
