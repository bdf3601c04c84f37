"""A database with a million judgments, and the plans of the queries behind its pages.

``python -m tests.bench.service.million fill`` writes them (rows by SQL, results by a real run of
one study) and prints the addresses to look at; ``plans FILE`` opens each page in this process and
explains its slowest queries; ``live`` asks for one study's board after each of some judgments.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
django.setup()

from django.db import ProgrammingError, connection, models, transaction  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402
from django.urls import reverse  # noqa: E402
from django.utils import timezone  # noqa: E402

from annotation.authoring.actions import tasks  # noqa: E402
from annotation.models import (  # noqa: E402
    Answer,
    Assignment,
    AssignmentItem,
    Candidate,
    ChoiceValue,
    Item,
    ItemGroup,
    Membership,
    Project,
    System,
    Task,
    User,
)
from annotation.work.actions import reading  # noqa: E402
from evaluation.models import Run, RunState  # noqa: E402
from evaluation.runs import engine as runs  # noqa: E402
from tests.bench.service.fill import token_of  # noqa: E402
from tests.support import factories  # noqa: E402

PROJECTS, TASKS = int(os.environ.get("BENCH_PROJECTS", "5")), 5  # of 40,000 judgments each
LIVE_TOPICS = 1_120  # of 45 pairs with 5 votes on 4 dimensions each: a million judgments
PAIRS, VOTES, BUNDLE, WORKERS, TOPICS = 2000, 5, 10, 250, 50
DIMENSIONS = tuple(
    {
        "name": name,
        "label": name.capitalize(),
        "question": f"Which is better in {name}?",
        "neutral": True,
    }
    for name in ("clarity", "depth", "style", "overall")
)
QUICK = {"restarts": 2, "draws": 100, "resamples": 100}
SLOWEST = 2  # queries explained a page
READS = ("SELECT", "WITH s")  # how a query that only reads begins


def insert(model: type[models.Model], given: dict[str, str], source: str) -> None:
    """INSERT ... SELECT with the model's own defaults for every column that is not given."""
    columns, values, params = [], [], []
    for field in model._meta.concrete_fields:
        if field.primary_key:
            continue
        columns.append(f'"{field.column}"')
        if field.column in given:
            values.append(given[field.column])
        elif getattr(field, "auto_now_add", False) or getattr(field, "auto_now", False):
            values.append("now()")
        else:
            values.append("%s::" + (field.db_type(connection) or "text"))
            params.append(field.get_db_prep_save(field.get_default(), connection))
    table = model._meta.db_table
    statement = f'INSERT INTO "{table}" ({", ".join(columns)}) SELECT {", ".join(values)} {source}'
    with connection.cursor() as cursor:
        cursor.execute(statement, params)


def make_project(number: int) -> Project:
    """A project with its workers, each with an account."""
    project = factories.make_project(name=f"Study {number}", also_manager=True)
    users = User.objects.bulk_create(
        User(username=f"p{number}-w{k}", password="!") for k in range(WORKERS)
    )
    Membership.objects.bulk_create(
        Membership(project=project, user=user, role="worker", pseudonym=f"worker-{k:03d}")
        for k, user in enumerate(users)
    )
    return project


def make_task(project: Project, number: int, *, pairs: int = PAIRS, topics: int = TOPICS) -> Task:
    """A published study of ``pairs``, every one judged VOTES times on each dimension."""
    task = tasks.create_task(
        by=project.owner, project=project, type="pairwise", title=f"Which text is better? {number}"
    )
    tasks.edit_draft(
        by=project.owner,
        task=task,
        fields={
            "redundancy": VOTES,
            "items_per_assignment": BUNDLE,
            "pay": "1.20",
            "settings": {"dimensions": [dict(row) for row in DIMENSIONS]},
        },
    )
    texts = make_texts(project, number, topics)
    groups = ItemGroup.objects.bulk_create(
        ItemGroup(task=task, key=topic, title=topic, passage="[1]", position=at, since=1)
        for at, topic in enumerate(texts)
    )
    rows = []
    for group in groups:
        inside = texts[group.key]
        both = [(a, b) for i, a in enumerate(inside) for b in inside[i + 1 :]]
        rows += [
            Item(
                task=task,
                group=group,
                key=f"{first.pk}_{second.pk}",
                question="Which is better?",
                position=len(rows) + at,
                since=1,
                first=first,
                second=second,
            )
            for at, (first, second) in enumerate(both[: pairs // topics])
        ]
    Item.objects.bulk_create(rows)
    tasks.publish(by=project.owner, task=task)
    Item.objects.filter(task=task).update(held=VOTES, redundancy=VOTES)
    task.domain = "tea"
    task.save(update_fields=["domain"])
    return Task.objects.get(pk=task.pk)


def make_texts(project: Project, number: int, topics: int) -> dict[str, list[Candidate]]:
    """Ten texts a topic, one a source."""
    systems = [
        System.objects.get_or_create(project=project, name=f"model-{k}", prompt_strategy="")[0]
        for k in range(10)
    ]
    rows = [
        Candidate(
            project=project,
            key=f"t{number}-{topic}-{k}",
            topic=f"topic-{topic}",
            text=f"A text on topic {topic}. " * 20,
            query="How is tea made?",
            system=system,
            words=100,
        )
        for topic in range(topics)
        for k, system in enumerate(systems)
    ]
    found: dict[str, list[Candidate]] = {}
    for row in Candidate.objects.bulk_create(rows):
        found.setdefault(row.topic, []).append(row)
    return found


def answer(task: Task) -> None:
    """Everybody's assignments, answers and choices, as one would find them: four SQL statements."""
    people = list(task.project.memberships.filter(role="worker").order_by("pk"))
    first, version = people[0].pk, task.current_id
    items = list(task.items.order_by("position").values_list("pk", flat=True))
    blocks = len(items) // BUNDLE
    given = {
        "task_id": str(task.pk),
        "version_id": str(version),
        "state": "'submitted'",
        "pay": "1.20",
        # Five different people a block, other ones in the next, so that all are connected.
        "worker_id": f"{first} + ((s / {VOTES}) * 7 + (s % {VOTES}) * (1 + (s / {VOTES}) %% 49))"
        f" %% {WORKERS}",
        "leased_at": "now() - (s + 60) * interval '1 minute'",
        "opened_at": "now() - (s + 60) * interval '1 minute'",
        "expires_at": "now() - s * interval '1 minute'",
        "submitted_at": "now() - (s + 20 + s %% 25) * interval '1 minute'",
        "stretch": "s",
    }
    given["worker_id"] = given["worker_id"].replace("% 5", "%% 5")
    insert(Assignment, given, f"FROM generate_series(0, {blocks * VOTES - 1}) AS s")
    start = items[0]
    within = (
        f"FROM annotation_assignment a CROSS JOIN generate_series(0, {BUNDLE - 1}) AS k "
        f"WHERE a.task_id = {task.pk}"
    )
    item = f"{start} + (a.stretch / {VOTES}) * {BUNDLE} + k"
    insert(
        AssignmentItem,
        {
            "assignment_id": "a.id",
            "item_id": item,
            "position": "k",
            "flipped": "(a.stretch + k) %% 2 = 0",
        },
        within,
    )
    insert(
        Answer,
        {
            "version_id": str(version),
            "item_id": item,
            "assignment_id": "a.id",
            "worker_id": "a.worker_id",
            "order_shown": "k",
            "flipped": "(a.stretch + k) %% 2 = 0",
            "answered_at": "a.submitted_at",
            "counts": "TRUE",
            "uncounted_reason": "''",
        },
        within,
    )
    # The first text wins more often, the more so on some pairs; one in ten is neutral.
    draw = "hashint8(w.id * 31 + d.n) & 1023"
    names = ", ".join(f"({n}, '{row['name']}')" for n, row in enumerate(DIMENSIONS))
    code = f"CASE WHEN ({draw}) < 102 THEN 0 WHEN ({draw}) < 500 + (w.item_id %% 400) THEN -1 "
    insert(
        ChoiceValue,
        {
            "answer_id": "w.id",
            "field": "d.name",
            "code": code.replace("THEN 0", "THEN 'neutral'").replace("THEN -1", "THEN 'first'")
            + "ELSE 'second' END",
            "ordinal": code + "ELSE 1 END",
        },
        f"FROM annotation_answer w JOIN annotation_item i ON i.id = w.item_id "
        f"CROSS JOIN (VALUES {names}) AS d(n, name) WHERE i.task_id = {task.pk}",
    )


def answer_quickly(studies: list[Task]) -> None:
    """Answer without checking references, which are right by making, where this role may."""
    bare = False
    with contextlib.suppress(ProgrammingError), transaction.atomic():
        connection.cursor().execute("SET session_replication_role = replica")
        bare = True
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
        for task in studies:
            answer(task)
        cursor.execute("SET session_replication_role = DEFAULT" if bare else "SELECT 1")
        if bare:
            cursor.execute(RECOUNT)
        cursor.execute("ANALYZE")


# What the triggers would have counted.
RECOUNT = """
INSERT INTO annotation_judgmentcount
    (version_id, field, code, people, flipped, first_id, second_id, n)
SELECT version_id, field, code, people, flipped, first_id, second_id, count(*)
FROM crowdqc_pair_answer JOIN annotation_choicevalue USING (answer_id)
WHERE counts AND asked AND code IN ('first', 'neutral', 'second')
GROUP BY 1, 2, 3, 4, 5, 6, 7;
INSERT INTO annotation_answercount (version_id, worker_id, known, n, digest)
SELECT version_id, worker_id, expected IS NOT NULL, count(*), sum(hashint8extended(answer.id, 0))
FROM annotation_answer AS answer JOIN annotation_item AS item ON item.id = answer.item_id
WHERE counts AND stage = 'main'
GROUP BY 1, 2, 3
"""


def live(turns: int = 40) -> dict[str, Any]:
    """One study of a million judgments: ms of a judgment's change and of the board after it."""
    task = make_task(make_project(0), 0, pairs=LIVE_TOPICS * 45, topics=LIVE_TOPICS)
    answer_quickly([task])
    client = Client()
    client.force_login(task.project.owner)
    path = reverse("pair_live", args=[task.project_id, task.pk])
    values = list(ChoiceValue.objects.order_by("pk").values_list("pk", flat=True)[: turns + 1])
    found: dict[str, list[float]] = {"judgment": [], "board": []}
    shown = b""
    for value in values:
        began = time.perf_counter()
        ChoiceValue.objects.filter(pk=value).update(code="second", ordinal=1)
        stored = time.perf_counter()
        shown = client.get(path).content
        found["board"].append(1000 * (time.perf_counter() - stored))
        found["judgment"].append(1000 * (stored - began))
    if b"model-9" not in shown:
        raise RuntimeError("the board shows no system")
    # The first opening compiles its templates.
    return {"judgments": ChoiceValue.objects.count(), **{k: v[1:] for k, v in found.items()}}


def fill() -> dict[str, Any]:
    """Everything; returns sessions, a token, pages and how many judgments there are."""
    made = [make_project(number) for number in range(PROJECTS)]
    studies = [make_task(project, number) for project in made for number in range(TASKS)]
    answer_quickly(studies)
    return scored(made[0])


def scored(project: Project) -> dict[str, Any]:
    """Score two studies of the project by real runs, and say where to look."""
    two = list(project.tasks.order_by("pk")[:2])
    for task in two:
        run = runs.start(by=project.owner, task=task, params=QUICK)
        if runs.execute(run.pk) != RunState.DONE:
            raise RuntimeError(Run.objects.get(pk=run.pk).error)
        Run.objects.filter(task=task, state="queued").update(
            state=RunState.CANCELLED, finished_at=timezone.now()
        )
    reading.count_words_shown()  # as the job of one in service has done
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")  # as the housekeeping of one in service has done
    worker = project.memberships.filter(role="worker").order_by("pk")[100]
    return {
        "judgments": ChoiceValue.objects.count(),
        "answers": Answer.objects.count(),
        "owner": factories.session_of(project.owner),
        "worker": factories.session_of(worker.user),
        "token": token_of(project.owner, "read"),
        "owner_id": project.owner_id,
        "worker_id": worker.user_id,
        **pages(project, two[0], worker),
    }


def pages(project: Project, task: Task, worker: Membership) -> dict[str, dict[str, str]]:
    """The addresses of lists, leaderboards, workers and the API."""
    at, own = [project.pk], [project.pk, task.pk]
    item = task.items.order_by("pk").values_list("pk", flat=True)[50]
    lease = worker.assignments.filter(task=task).order_by("pk").values_list("pk", flat=True)[0]
    staff = {
        "overview": reverse("project", args=at),
        "tasks": reverse("task_list", args=at),
        "task": reverse("task", args=own),
        "people": reverse("people", args=at),
        "results": reverse("results", args=at),
        "leaderboard": reverse("pair_results", args=own),
        "study's strip with its ranking": reverse("pair_live", args=own),
        "study's workers": reverse("pair_workers", args=own),
        "study's worker": reverse("pair_worker", args=[*own, worker.pk]),
        "pairs": reverse("pair_list", args=own),
        "pair": reverse("pair", args=[*own, item]),
        "worker card": reverse("worker_card", args=[project.pk, worker.pk]),
        "domain board": reverse("domain_board", args=[project.pk, "tea"]),
        "review queue": reverse("review", args=own),
        "answers of an assignment": reverse("review_answers", args=[*own, lease]),
        "payouts": reverse("payout_list", args=at),
        "ledger": reverse("ledger", args=at),
        "runs": reverse("run_list", args=at),
    }
    api = {
        "API answers": reverse("api_answers", args=[task.pk]),
        "API assignments": reverse("api_assignments", args=[task.pk]),
        "API tasks": reverse("api_tasks", args=at),
    }
    mine = {
        "work home": reverse("work_home"),
        "own record": reverse("work_record"),
        "own card": reverse("work_card", args=at),
    }
    return {"staff": staff, "api": api, "mine": mine}


def plans(found: dict[str, Any], out: Path) -> None:
    """EXPLAIN (ANALYZE, BUFFERS) of the slowest queries of each page, into a file."""
    lines = []
    for who, group in (("owner_id", "staff"), ("owner_id", "api"), ("worker_id", "mine")):
        client = Client()
        client.force_login(User.objects.get(pk=found[who]))
        for name, path in found[group].items():
            client.get(path)
            began = time.perf_counter()
            with CaptureQueriesContext(connection) as seen:
                status = client.get(path).status_code
            took = 1000 * (time.perf_counter() - began)
            lines.append(f"== {name}: {status}, {took:.0f} ms, {len(seen)} queries ({path})")
            reads = [row for row in seen.captured_queries if row["sql"].lstrip()[:6] in READS]
            for row in sorted(reads, key=lambda row: -float(row["time"]))[:SLOWEST]:
                lines.append(f"-- {float(row['time']) * 1000:.0f} ms: {row['sql'][:2000]}")
                lines += explained(row["sql"])
            lines.append("")
    out.parent.mkdir(exist_ok=True)
    out.write_text("\n".join(lines) + "\n")


def explained(sql: str) -> list[str]:
    """The plan of one query, as it ran; what cannot be explained again says so."""
    with connection.cursor() as cursor:
        try:
            cursor.execute("EXPLAIN (ANALYZE, BUFFERS) " + sql.replace("%", "%%"), [])
        except Exception as problem:
            return [f"   (no plan: {str(problem).splitlines()[0]})"]
        return ["   " + row[0] for row in cursor.fetchall()]


if __name__ == "__main__":
    if sys.argv[1] == "fill":
        print(json.dumps(fill()))
    elif sys.argv[1] == "live":
        print(json.dumps(live()))
    else:
        plans(json.loads(sys.stdin.read()), Path(sys.argv[2]))
