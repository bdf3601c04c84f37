"""Fill the database of a version with its own code: ``python -m tests.upgrade.fill each|demo``.

Says the owner's session, as the version makes one, and pages that read many tables. A release
fills with the copy of this file that it carries; one that carries none gets ours.
"""

from __future__ import annotations

import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import reverse  # noqa: E402

from annotation.models import Project, Role  # noqa: E402
from annotation.payouts.actions import bonus_rule  # noqa: E402
from evaluation.grading import actions as grading  # noqa: E402
from evaluation.runs.sharing.actions import share  # noqa: E402
from tests.backup import site  # noqa: E402
from tests.evaluation.corpora import official_runs, pairs, texts, writing  # noqa: E402
from tests.support import factories  # noqa: E402


def fill_with_each() -> None:
    """One of each thing, and official runs of answers and of judgments."""
    site.fill()
    answered, judged = texts.make_answered(), pairs.make_judged()
    writing.make_written(workers=2)
    owner = answered.project.owner
    other = factories.make_member(answered.project, Role.MANAGER).user
    bonus_rule.set_rule(by=owner, task=answered, bonus_by="none")
    marks = grading.open_grading(by=owner, task=answered, first=owner, second=other)
    grading.grade(by=owner, grading=marks, answer_id=marks.answer_ids[0], value=70)
    official_runs.use_recipe(answered, **official_runs.QUICK)
    for run in (
        official_runs.finish(answered, **official_runs.QUICK),
        official_runs.finish(judged, resamples=100),
    ):
        share(by=run.project.owner, run=official_runs.make_official(run))


def main(what: str) -> None:
    """Make the tables and fill them; in one process, as each start takes seconds."""
    call_command("migrate", verbosity=0)
    if what == "demo":
        call_command("load_demo", encoder="char-svd")
    else:
        fill_with_each()
    project = Project.objects.order_by("pk").first()
    client = Client()
    client.force_login(project.owner)
    pages = [reverse("project_list"), reverse("project", args=[project.pk])]
    assert all(client.get(page).status_code == 200 for page in pages)
    cookie = next(iter(client.cookies.values()))
    print(json.dumps([f"{cookie.key}={cookie.value}", ["/healthz", *pages]]))


if __name__ == "__main__":
    main(sys.argv[1])
