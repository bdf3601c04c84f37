"""What a worker can leave behind, everywhere in the database, with a mark to find it by."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.utils import timezone

from annotation.models import (
    Answer,
    Assignment,
    Candidate,
    ChoiceValue,
    Item,
    ItemGroup,
    Membership,
    PlatformEvent,
    Recruitment,
    SpanValue,
    Statement,
    Task,
    TextValue,
    User,
    Visit,
)
from annotation.work.actions import assignments
from evaluation.checklists.making import actions as list_actions
from evaluation.checklists.making import comparison
from evaluation.models import (
    CallUse,
    ChecklistStage,
    ChecklistVersion,
    LLMAttempt,
    LLMCall,
    Run,
    Snapshot,
)
from tests.evaluation.corpora import thinking as think_corpus
from tests.support.factories import World
from tests.support.studies import judging

MARK = "Zqx"  # every word of the worker who is erased begins with it
ANSWER = "Zqx says that storks carry twigs to their nests"
EXPLAINED = "Zqx thinks that it leaves out the second reason"
COMMON = "Both parents feed the young with frogs, mice and beetles."  # of the passage itself
NOW = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Erased:
    world: World
    worker: Membership
    user: User
    answers: list[Answer]
    runs: dict[str, Run]
    pair: Item
    calls: dict[str, LLMCall]


def found(mark: str = MARK) -> dict[str, list[str]]:
    """Tables and columns of the whole database in which a word stands."""
    columns: dict[str, list[tuple[str, str]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns "
            "WHERE table_schema = 'public' AND data_type IN "
            "('text', 'character varying', 'json', 'jsonb', 'bytea', 'ARRAY') "
            "AND column_name <> 'password'"  # three letters may stand in a random hash
        )
        for table, column, kind in cursor.fetchall():
            columns.setdefault(table, []).append((column, kind))
        hits: dict[str, list[str]] = {}
        for table, known in columns.items():
            tests = ", ".join(
                f"coalesce(bool_or(position('{mark}'::bytea in \"{column}\") > 0), false)"
                if kind == "bytea"
                else f"coalesce(bool_or(\"{column}\"::text ILIKE '%{mark}%'), false)"
                for column, kind in known
            )
            cursor.execute(f'SELECT {tests} FROM "{table}"')  # noqa: S608
            row = cursor.fetchone() or ()
            named = [known[at][0] for at, hit in enumerate(row) if hit]
            if named:
                hits[table] = named
    return hits


def call(run: Run, subject: str, content: str, **fields: Any) -> LLMCall:
    """A call of a run that said ``content``, with the attempt that brought nothing."""
    made = LLMCall.objects.create(
        project=run.project,
        model_name="small",
        key=uuid.uuid4().hex,
        prompt="judge_text@1",
        messages=[{"role": "user", "content": f"Judge this: {content}"}],
        state="done",
        text=f"It says “{content}”.",
        value={"score": 70, "said": content},
        cost="0.01",
        **fields,
    )
    CallUse.objects.create(run=run, call=made, subject=subject)
    LLMAttempt.objects.create(
        call=made, number=1, sent_at=NOW, ended_at=NOW, outcome="wrong_form", text=content
    )
    return made


def run_on(task: Task, method: str, answers: list[Answer], **fields: Any) -> Run:
    """A finished run of a method that read these answers."""
    snapshot = Snapshot.objects.create(
        project=task.project,
        task=task,
        content_hash=uuid.uuid4().hex,
        answer_ids=[one.pk for one in answers],
    )
    number = Run.objects.filter(project=task.project).count() + 1
    return Run.objects.create(
        project=task.project,
        task=task,
        number=number,
        snapshot=snapshot,
        method=method,
        version="1",
        state="done",
        lane=str(number),
        **fields,
    )


def answer(assignment: Assignment, item: Item, stage: str = "main", **texts: str) -> Answer:
    """An answer with these texts, a choice and a span, as any type of task stores them."""
    made = Answer.objects.create(
        version=assignment.version,
        item=item,
        stage=stage,
        assignment=assignment,
        worker=assignment.worker,
        answered_at=NOW,
    )
    for field, text in texts.items():
        TextValue.objects.create(answer=made, field=field, text=text)
    ChoiceValue.objects.create(answer=made, field="quality_overall", code="first", ordinal=-1)
    SpanValue.objects.create(answer=made, field="evidence", start=3, end=9)
    return made


def judged_pair(world: World) -> Item:
    """A pair in another task, one of whose texts the worker wrote."""
    judged = judging.make_pairs(world.project, 1)
    made = Candidate.objects.get(source_answer__isnull=False, text=ANSWER)
    other = judging.make_candidate(world.project, "Another text.", made.topic)
    group = ItemGroup.objects.filter(task=judged).first()
    first, second = sorted((made, other), key=lambda one: one.pk)
    return Item.objects.create(
        task=judged,
        group=group,
        key="own",
        position=9,
        question="Which?",
        since=1,
        first=first,
        second=second,
        redundancy=3,
    )


def platform(world: World, worker: Membership, assignment: Assignment) -> None:
    """What a platform said of the person, under its own name for them."""
    way = Recruitment.objects.create(
        task=world.task, kind="panel", name="A panel", currency="EUR", created_by=world.requester
    )
    name = f"{MARK}-participant-71"
    Visit.objects.create(
        recruitment=way,
        participant=name,
        session=f"{MARK}-session-71",
        worker=worker,
        assignment=assignment,
        bound="x",
    )
    PlatformEvent.objects.create(
        recruitment=way,
        event_id="1",
        kind="submission",
        payload={"participant_id": name},
        applied_at=timezone.now(),
    )
    Statement.objects.create(
        task=world.task,
        digest="d",
        name="paid.csv",
        by=world.requester,
        rows=[{"participant": name, "amount": "1.80"}],
    )


def thought(world: World, user: User) -> tuple[Task, ChecklistVersion]:
    """A think-aloud of the person, a checklist of it, frozen, and a comparison of sets."""
    task = think_corpus.make_task(world.project)
    worker = Membership.objects.get(project=world.project, user=user, role="worker")
    lease = assignments.claim_assignment(by=user, task=task, worker=worker)
    item = think_corpus.item_of(task)
    made = answer(lease, item)
    for at, text in enumerate((f"{MARK} looks", f"{MARK} asks whether the end closes the start")):
        TextValue.objects.create(answer=made, field="attribute", index=at, text=text)
    Assignment.objects.filter(pk=lease.pk).update(
        state="submitted", submitted_at=NOW, settled_at=NOW
    )
    think_corpus.think(task, think_corpus.REED, "reed-02")
    listed = list_actions.create(
        by=world.requester, task=task, item=item, name="Order", whose="all"
    )
    stage = ChecklistStage.objects.get(checklist=listed, kind="attributes")
    named = [{key: one[key] for key in ("text", "author", "kind")} for one in stage.data]
    version = ChecklistVersion.objects.create(
        checklist=listed,
        number=1,
        content_hash="c",
        frozen_by=world.requester,
        questions=[{"name": "q1", "text": "Is it in order?", "attributes": named}],
    )
    comparison.begin(
        by=world.requester, task=task, item=item, first="people", second="author:reed-02"
    )
    return task, version
