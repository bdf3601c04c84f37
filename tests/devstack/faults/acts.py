"""What a fault test does in a site's own database: ``python -m tests.devstack.faults.acts``.

The program is loaded once; each line of JSON ``[name, words...]`` is done by a fork of it, which
answers with a line of JSON.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
import traceback
from typing import Any

import django
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
django.setup()

from annotation.formats.uploads import actions as uploads  # noqa: E402
from annotation.models import (  # noqa: E402
    Answer,
    AssignmentItem,
    ChoiceValue,
    ImportFile,
    Notice,
    Task,
)
from annotation.notifications.actions.notices import notify  # noqa: E402
from crowdqc.jobs.broker import queue_states  # noqa: E402
from evaluation.models import Run  # noqa: E402
from evaluation.operations.selectors import figures  # noqa: E402
from evaluation.runs import engine  # noqa: E402
from tests.evaluation.corpora import labels  # noqa: E402
from tests.support import factories as make  # noqa: E402
from tests.support.servers.llm import make_model  # noqa: E402


def world(people: int, questions: int) -> dict[str, Any]:
    """A task that everybody may answer all of, and a token of each worker."""
    made = make.make_world(n=questions, redundancy=people, items_per_assignment=1)
    workers = [make.make_user() for _ in range(people)]
    for user in workers:
        make.make_worker(made.project, user)
    tokens = [make.api_token(user, per_minute=6000) for user in workers]
    return {"task": made.task.pk, "tokens": tokens}


TOPIC: dict[str, Any] = {
    "name": "topic",
    "label": "Topic",
    "question": "What is it about?",
    "kind": "choose_one",
    "required": False,
    "options": [{"value": code, "label": code} for code in map("topic-{}".format, range(200))],
}


def make_large() -> int:
    """A task of which a run on TOPIC makes arrays of 120 MB: workers times labels squared."""
    task = labels.make_labelled(workers=100, task=labels.make_task(further=[TOPIC]))
    found = Answer.objects.filter(item__task=task).values_list("pk", "item__position")
    ChoiceValue.objects.bulk_create(
        ChoiceValue(answer_id=pk, field=TOPIC["name"], code=f"topic-{k % 3}", ordinal=k % 3)
        for pk, k in found
    )
    return int(task.pk)


def start_large(task_id: int) -> int:
    """A run on TOPIC, started where there is more memory than workers have."""
    settings.CROWDQC_JOB_MEMORY = 100_000
    return _start(Task.objects.get(pk=task_id), {"field": TOPIC["name"]})


def start_run(resamples: int = 200) -> int:
    """A run on labels; it takes longer with more resamples."""
    return _start(labels.make_labelled(items=40, workers=8), {"resamples": resamples})


def _start(task: Task, params: dict[str, Any]) -> int:
    # In a lane of its own: the task's first run may start by itself.
    params = {"restarts": 2, **params}
    return engine.start(
        by=task.project.owner, task=task, method="labels", params=params, lane="fault"
    ).pk


def start_import(workers: int) -> int:
    """An upload of 20 answers of each worker, whose import somebody has asked for."""
    task = make.make_task(make.make_project(also_manager=True), 20)
    keys = list(task.items.values_list("key", flat=True))
    rows = [f"{key},w{who},It nests on {who} roofs." for who in range(workers) for key in keys]
    content = "\n".join(["item_id,worker_id,answer", *rows]).encode()
    by = task.project.owner
    file = uploads.keep_file(by=by, task=task, kind="answers", name="a.csv", content=content)
    while (file := ImportFile.objects.get(pk=file.pk)).state != ImportFile.State.READY:
        time.sleep(0.2)  # a worker reads it
    uploads.request_import(by=by, file=file)
    return file.pk


def import_state(pk: int) -> list[Any]:
    """State, answers, pairs of worker and question that answered, and turns that were taken."""
    file = ImportFile.objects.get(pk=pk)
    rows = Answer.objects.filter(item__task=file.task)
    pairs = set(rows.values_list("worker", "item"))
    return [file.state, rows.count(), len(pairs), file.attempts]


def ask_model(url: str) -> int:
    """A run that asks a model at this address."""
    task = labels.make_labelled(items=20, workers=4)
    model = make_model(task.project, url)
    return engine.start(
        by=task.project.owner,
        task=task,
        method="answers",
        params={"model": model.pk},
        lane=f"{model.pk}/",
    ).pk


def cancel_run(pk: int) -> str:
    """Somebody cancels it."""
    run = Run.objects.get(pk=pk)
    return engine.cancel(by=run.project.owner, run=run).state


def run_state(pk: int) -> list[Any]:
    """State, attempts, error, and how many rows it wrote."""
    run = Run.objects.get(pk=pk)
    return [run.state, run.attempts, run.error, run.workerscore_rows.count()]


def tell(people: int) -> int:
    """Have a notice mailed to so many people."""
    for _ in range(people):
        person = make.make_user()
        person.email = f"{person.username}@example.org"
        person.save()
        notify(to=[person], key="a", kind="run.finished", text="x", url="/")
    return people


def mail() -> dict[str, Any]:
    """What the operations page says of mail, and how many left."""
    sent = Notice.objects.filter(mailed_at__isnull=False).count()
    return figures.mail() | {"sent": sent}


def waiting() -> int:
    """Jobs in all queues."""
    from crowdqc.celery import app

    return sum(state.waiting for state in queue_states(app).values())


def counted(task: int) -> list[int]:
    """Answers of a task, and those that a worker gave twice to a question."""
    rows = AssignmentItem.objects.filter(item__task=task, assignment__state="submitted")
    pairs = list(rows.values_list("assignment__worker", "item"))
    return [len(pairs), len(pairs) - len(set(pairs))]


def submitted(task: int) -> list[int]:
    """Assignments of a task that are there as submitted."""
    rows = AssignmentItem.objects.filter(item__task=task, assignment__state="submitted")
    return sorted(set(rows.values_list("assignment", flat=True)))


def main() -> None:
    """Do what each line says."""
    print("ready", flush=True)
    for line in sys.stdin:
        name, *words = json.loads(line)
        pid = os.fork()
        if pid:
            os.waitpid(pid, 0)
            continue
        make._RUN = secrets.token_hex(4)  # each fork begins to count names anew
        try:
            print(json.dumps({"value": globals()[name](*words)}), flush=True)
        except Exception:
            traceback.print_exc()
            print(json.dumps({"error": traceback.format_exc(limit=-2)[-300:]}), flush=True)
        finally:
            os._exit(0)


if __name__ == "__main__":
    main()
