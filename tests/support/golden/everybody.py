"""Who looks at what: the roles of the demo, the owners of small studies, programs, commands."""

from __future__ import annotations

import io
import re
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from django.core.management import CommandError, call_command
from django.db import connection, transaction

from annotation.models import (
    Announcement,
    Answer,
    Conversation,
    ExportFile,
    Hook,
    Membership,
    Panel,
    PayoutBatch,
    Project,
    Recruitment,
    Role,
    Task,
    User,
)
from evaluation.models import Run, RunState
from tests.evaluation.corpora.pair_study import one_similarity
from tests.support import access_api
from tests.support.everything import ROUTES
from tests.support.fits import small_fits
from tests.support.golden import corpora, reading
from tests.support.golden.comparing import Key, Records
from tests.support.golden.fixed import fixed
from tests.support.golden.visiting import LIMITS, Limits, Visitor

FEW, ALL = Limits(1, 2, 6), Limits(99, 99, 99)
OF_A_STUDY, OF_A_TABLE = Limits(2, 4, 6), Limits(1, 2, 3)
PLACE = re.compile(r"<(?:\w+:)?(\w+)>")
SAMPLE = 3  # of rows that are alike: people, answers


def load() -> None:
    """The demo with all that its jobs bring, as production has it after a while."""
    call_command("load_demo", encoder="char-svd", stdout=io.StringIO())
    fixed.jobs.work()


def visitors() -> Iterator[Visitor]:
    """The roles of the demo, in the order in which they look."""
    public = ["/", "/login/", "/signup/", "/score/", "/boards/which-answer-is-better/"]
    yield Visitor("nobody", None, public)
    for name, start in (
        ("requester", "/projects/"),
        ("manager", "/projects/"),
        ("worker1", "/work/"),
        ("worker2", "/work/"),
    ):
        user = User.objects.get(username=name)
        yield Visitor(name, user, [start], LIMITS if name == "requester" else FEW)
    project = Project.objects.get(name="Two texts, sixteen questions")
    owner = User.objects.get(username="requester")
    yield Visitor("requester's program", owner, list(api(project)), ALL)
    worker = User.objects.get(username="worker1")
    own = [f"/{route}" for name, route in ROUTES.items() if re.match(r"api_(own|open)", name)]
    own = [one for one in own if not PLACE.search(one)]
    yield Visitor("worker1's program", worker, own)


def owner_of(study: corpora.Study) -> Visitor:
    """The owner of a small study, who looks at its results."""
    limits = OF_A_TABLE if study.name.startswith("table") else OF_A_STUDY
    alone = not study.name.startswith("one of each")
    return Visitor(study.name, study.owner, study.starts, limits, results_only=alone)


def api(project: Project) -> Iterator[str]:
    """Every address of the API that a program of the project's staff may read."""
    tasks = Task.objects.filter(project=project).order_by("pk")
    of = {"project": project}
    rows: dict[str, list[dict[str, Any]]] = {
        "project_id": [{"project_id": project.pk}],
        "task_id": [{"task_id": one.pk} for one in tasks],
        "run_id": [
            {"run_id": one.pk}
            for one in Run.objects.filter(state=RunState.DONE, **of).order_by("pk")
        ],
        "membership_id": [
            {"membership_id": one.pk}
            for one in Membership.objects.filter(role=Role.WORKER, **of).order_by("pk")[:SAMPLE]
        ],
        "number": [
            {"number": one.number} for one in PayoutBatch.objects.filter(**of).order_by("number")
        ],
        "panel_id": [{"panel_id": one.pk} for one in Panel.objects.filter(**of).order_by("pk")],
        "hook_id": [{"hook_id": one.pk} for one in Hook.objects.filter(**of).order_by("pk")],
        "file_id": [{"file_id": one.pk} for one in ExportFile.objects.filter(**of).order_by("pk")],
        "answer_id": [
            {"answer_id": one.pk}
            for task in tasks
            for one in Answer.objects.filter(item__task=task).order_by("pk")[:SAMPLE]
        ],
        "name": [{"name": one} for one in sorted({task.domain for task in tasks} - {""})],
        "conversation_id": [
            {"task_id": one.task_id, "conversation_id": one.pk}
            for one in Conversation.objects.filter(task__in=tasks).order_by("pk")
        ],
        "announcement_id": [
            {"task_id": one.task_id, "announcement_id": one.pk}
            for one in Announcement.objects.filter(task__in=tasks).order_by("pk")
        ],
        "recruitment_id": [
            {"task_id": one.task_id, "recruitment_id": one.pk}
            for one in Recruitment.objects.filter(task__in=tasks).order_by("pk")
        ],
    }
    left_out = {access_api.CALL, access_api.OWN}
    for name, route in ROUTES.items():
        if not name.startswith("api_") or access_api.GET.get(name) in left_out:
            continue
        places = PLACE.findall(route)
        if places and places[-1] in rows:
            for values in rows[places[-1]]:
                full = {"project_id": project.pk, **values}
                if set(places) <= set(full):
                    yield "/" + PLACE.sub(lambda found, full=full: str(full[found[1]]), route)
        elif not places and name not in ("api_schema", "api_docs"):
            yield f"/{route}"


def commands(only: re.Pattern[str] | None) -> Records:
    """What the commands write of each kind of run that is done: its tables, bundle and report."""
    found: Records = {}
    latest: dict[tuple[int, str], Run] = {}
    for run in Run.objects.filter(state=RunState.DONE).order_by("pk"):
        latest[run.task_id, run.method] = run
    with tempfile.TemporaryDirectory() as folder:
        for run in latest.values():
            for what, form in (("run", "zip"), ("bundle", "zip"), ("report", "html")):
                name = f"{what} {run.number} of task {run.task_id}, {run.method}"
                if only and not only.search(name):
                    continue
                found["command", name] = _exported(run, what, Path(folder) / f"{what}.{form}")
    return found


def _exported(run: Run, what: str, path: Path) -> dict[str, Any]:
    fixed.begin(f"{what} {run.pk}")
    path.unlink(missing_ok=True)
    path.with_name("manifest.json").unlink(missing_ok=True)
    try:
        with transaction.atomic():
            call_command(
                "crowdqc_export",
                what,
                task=run.task_id,
                run=run.number,
                out=path,
                stdout=io.StringIO(),
            )
            transaction.set_rollback(True)
    except CommandError as refused:
        return {"refused": str(refused)}
    kind = "application/zip" if path.suffix == ".zip" else "text/html"
    return reading.body(kind, path.read_bytes())


def records(only: re.Pattern[str] | None = None, known: Collection[Key] = ()) -> Records:
    """What each of them reads.

    ``known``: who asked for which addresses in an earlier record. What nothing links to any more is
    asked for as well, and says so. With ``only`` nobody follows links: they ask for the known
    addresses in which it is found, or, where none is known, keep these of all.
    """
    began = time.perf_counter()

    def say(what: str) -> None:
        spent = f"{time.perf_counter() - began:6.1f} s, {time.process_time():6.1f} s of a processor"
        print(f"{spent}  {what}", flush=True)

    found: Records = {}
    seconds: Counter[str] = Counter()
    with small_fits(), one_similarity():
        load()
        say("the demo is loaded")
        studies = list(corpora.studies())
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        say(f"{len(studies)} studies are made")
        for visitor in [*visitors(), *map(owner_of, studies)]:
            wanted = [at for who, at in known if who == visitor.who]
            if only and known:
                wanted = [at for at in wanted if only.search(at)]
            else:
                visitor.follow()
            visitor.visit_unlinked(wanted, is_new=not only)
            found |= visitor.records
            seconds += visitor.seconds
            say(f"{len(visitor.records):5} answers to {visitor.who}")
        found |= commands(only)
        say("files of commands")
    print("; ".join(f"{name} {spent:.1f} s" for name, spent in seconds.most_common(12)))
    return {key: one for key, one in found.items() if only is None or only.search(key[1])}
