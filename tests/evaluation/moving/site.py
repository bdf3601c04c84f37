"""A site of its own beside the tests: ``python -m tests.evaluation.moving.site`` and its act."""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
django.setup()

from django.core.management import call_command  # noqa: E402

from annotation.models import Payment, Project, Recruitment, User  # noqa: E402
from evaluation.bundles import writing as bundle  # noqa: E402
from evaluation.bundles.checking import verify  # noqa: E402
from evaluation.bundles.kinds.registry import KINDS  # noqa: E402
from evaluation.models import ProjectMove, Run, RunState  # noqa: E402
from evaluation.moving import tables  # noqa: E402
from evaluation.moving.writing import sum_books  # noqa: E402
from evaluation.runs import engine as runs  # noqa: E402
from tests.evaluation.corpora import labels as label_corpus  # noqa: E402
from tests.support.everything import everything  # noqa: E402

QUICK = {"restarts": 2, "resamples": 100}


def fill() -> int:
    """Make a project with all types of tasks, runs, money and logs; its id."""
    values, _ = everything()
    project = Project.objects.get(pk=values["project_id"])
    labels = label_corpus.make_labelled(
        workers=6, task=label_corpus.make_task(project=project, items=20, known=4)
    )
    runs.start(by=project.owner, task=labels, method="labels", params=QUICK)
    for pk in Run.objects.filter(state=RunState.QUEUED).values_list("pk", flat=True):
        runs.execute(pk)
    way = Recruitment.objects.filter(kind="prolific").earliest("pk")
    Payment.objects.filter(what="base").update(
        what="bonus", recruitment=way, state=Payment.State.PLANNED
    )
    return int(project.pk)


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


def export(project: str, file: str, *more: str) -> dict[str, Any]:
    """Fill the site where there is no such project, look at it, and export it."""
    pk = int(project) or fill()
    before = look(pk)
    call_command("crowdqc_project", "export", str(pk), file, *more, stderr=io.StringIO())
    return {"project": pk, "before": before, "after": look(pk)}


def take_in(file: str, owner: str = "") -> dict[str, Any]:
    """Import an archive; what the command says and what the project is."""
    said = io.StringIO()
    more = ["--owner", owner] if owner else []
    if owner and not User.objects.filter(username=owner).exists():
        User.objects.create(username=owner)
    call_command("crowdqc_project", "import", file, *more, stdout=said, stderr=io.StringIO())
    project = ProjectMove.objects.filter(direction="in").latest("pk").project
    assert project is not None
    return {
        "project": project.pk,
        "owner": project.owner.username,
        "archived": project.archived_at is not None,
        "said": said.getvalue(),
        "after": look(project.pk),
    }


if __name__ == "__main__":
    acts = {"export": export, "take_in": take_in}
    print(json.dumps(acts[sys.argv[1]](*sys.argv[2:])))  # type: ignore[operator]
