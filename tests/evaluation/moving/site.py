"""A site of its own beside the tests: ``python -m tests.evaluation.moving.site`` and its acts.

Ids of each table begin at a number of their own, so that an id that was not rewritten is seen
wherever it stands.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from annotation.models import Payment, Project, Recruitment, Task, User  # noqa: E402
from evaluation.bundles import writing as bundle  # noqa: E402
from evaluation.bundles.checking import verify  # noqa: E402
from evaluation.bundles.kinds.registry import KINDS  # noqa: E402
from evaluation.models import ProjectMove, Run, RunState  # noqa: E402
from evaluation.moving import tables  # noqa: E402
from evaluation.moving.rows import plain  # noqa: E402
from evaluation.moving.writing import sum_books  # noqa: E402
from evaluation.runs import engine, run_types  # noqa: E402
from tests.evaluation.corpora import checks as check_corpus  # noqa: E402
from tests.evaluation.corpora import labels as label_corpus  # noqa: E402
from tests.evaluation.corpora import texts as text_corpus  # noqa: E402
from tests.evaluation.corpora import writing as writing_corpus  # noqa: E402
from tests.support import factories  # noqa: E402
from tests.support.everything import everything  # noqa: E402

QUICK = {"encoder": "char-svd", "resamples": 100, "draws": 100, "restarts": 2}
APART = 5_000_000  # between the ids of two tables
USED = 100_000  # of which so many are used at most
LONG = re.compile(r"(?<![0-9a-f.])\d{7,9}(?![0-9a-f.])")
# Names that were made of ids and are looked up by nobody.
NAMES = {"annotation.Item.key", "annotation.Candidate.key"}


def spread_ids(further: int) -> None:
    """Begin the ids of each table at a number of its own, and so many further."""
    with connection.cursor() as cursor:
        for number, model in enumerate(tables.all_models(), 1):
            if model._meta.pk.get_internal_type() == "BigAutoField":
                cursor.execute(
                    "SELECT setval(pg_get_serial_sequence(%s, %s), %s)",
                    [model._meta.db_table, model._meta.pk.column, number * APART + further],
                )


def fill() -> int:
    """Make a project with all types of tasks, runs, money and logs; its id."""
    spread_ids(0)
    values, _ = everything()
    project = Project.objects.get(pk=values["project_id"])
    with mock.patch.object(factories, "make_project", lambda *args, **options: project):
        for task in studies(project):
            kind = run_types.type_of(engine.main_method(task) or "")
            quick = {name: QUICK[name] for name in QUICK if name in kind.options.defaults}
            engine.start(by=project.owner, task=task, method=kind.slug, params=quick)
    while queued := Run.objects.filter(state=RunState.QUEUED).first():
        engine.execute(queued.pk)
    way = Recruitment.objects.filter(kind="prolific").earliest("pk")
    Payment.objects.filter(what="base").update(
        what="bonus", recruitment=way, state=Payment.State.PLANNED
    )
    return int(project.pk)


def studies(project: Project) -> Iterator[Task]:
    """A small study of each kind of results."""
    yield label_corpus.make_labelled(
        workers=6, task=label_corpus.make_task(project=project, items=20, known=4)
    )
    yield text_corpus.make_answered(project)
    yield project.tasks.filter(type="pairwise", items__answers__isnull=False).earliest("pk")
    yield check_corpus.make_study(topics=3)
    yield writing_corpus.make_written(workers=4, models=False)


def look(project: int) -> dict[str, Any]:
    """Return what must be the same wherever the project is."""
    return {
        "rows": {
            tables.label(one): tables.rows_of(one, project).count() for one in tables.ordered()
        },
        "books": sorted(sum_books(Project.objects.get(pk=project)).values()),
        "bundles": [_verify(one) for one in Run.objects.filter(project=project).order_by("pk")],
        "payments": sorted(
            Payment.objects.filter(assignment__task__project=project).values_list("what", "state")
        ),
    }


def _verify(run: Run) -> Any:
    if run.method not in KINDS or run.state != RunState.DONE:
        return [run.method, run.state]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.zip"
        path.write_bytes(b"".join(bundle.parts(run)))
        report = verify(path)
    return [run.method, report.good, [good for good, _ in report.lines]]


def old_ids(project: int) -> dict[str, int]:
    """Count, by column, the numbers that are ids as they were where the project began."""
    found: dict[str, int] = {}
    for model in tables.ordered():
        for row in tables.rows_of(model, project).values():
            for column, value in row.items():
                name = f"{tables.label(model)}.{column}"
                if not column.endswith("_id") and name not in NAMES:
                    for number in numbers(plain(value)):
                        if 0 < (number - APART) % APART < USED and number < 150 * APART:
                            found[name] = found.get(name, 0) + 1
    return found


def numbers(value: Any) -> Iterator[int]:
    """Yield the numbers of seven digits and more in JSON, also those within texts."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from numbers(key)
            yield from numbers(one)
    elif isinstance(value, list):
        for one in value:
            yield from numbers(one)
    elif isinstance(value, str) and len(value) < 200:
        yield from (int(one) for one in LONG.findall(value))
    elif isinstance(value, int) and value >= APART:
        yield value


def export(project: str, file: str, *more: str) -> dict[str, Any]:
    """Fill the site where there is no such project, look at it, and export it."""
    pk = int(project) or fill()
    before = look(pk)
    call_command("crowdqc_project", "export", str(pk), file, *more, stderr=io.StringIO())
    return {"project": pk, "before": before, "after": look(pk)}


def prepare() -> None:
    """Make a site whose ids are in use."""
    spread_ids(USED)


def take_in(file: str, owner: str = "") -> dict[str, Any]:
    """Import an archive; what the command says and what the project is."""
    said = io.StringIO()
    more = ["--owner", owner] if owner else []
    if owner and not User.objects.filter(username=owner).exists():
        User.objects.create(username=owner)
    call_command("crowdqc_project", "import", file, *more, stdout=said, stderr=io.StringIO())
    move = ProjectMove.objects.filter(direction="in").latest("pk")
    project = move.project
    assert project is not None
    return {
        "project": project.pk,
        "owner": project.owner.username,
        "archived": project.archived_at is not None,
        "said": said.getvalue(),
        "shift": move.shift,
        "old ids": old_ids(project.pk),
        "after": look(project.pk),
    }


if __name__ == "__main__":
    acts = {"export": export, "prepare": prepare, "take_in": take_in}
    print(json.dumps(acts[sys.argv[1]](*sys.argv[2:])))  # type: ignore[operator]
