"""The published ratings with explanations, and the scores that a model gave them."""

from __future__ import annotations

import time
from argparse import ArgumentParser

from django.core.management.base import OutputWrapper
from django.db import transaction

from annotation.accounts.named.actions import workers_by_id
from annotation.formats.actions.judgments import Added
from annotation.formats.actions.ratings import STUDY, RatingRow, add_ratings, document_task
from annotation.formats.imports.published.ebr import EbrStudy, read_folder, values_of
from annotation.models import Project, Task, User
from annotation.records.actions.audit import record
from evaluation.published.formats.base import Bar, Options, add_target, parts, target
from evaluation.published.studies import ebr as ebr_published

TITLE = "Completeness of answers, with explanations"
REDUNDANCY, PER_ASSIGNMENT = 5, 6
NO_ARTICLES = "The articles are not public: documents are empty, and their pages say so."


class Ebr:
    slug = "ebr"
    help = "published ratings with explanations (a folder): answers, annotations, a model's scores"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_target(parser, task=False)

    def run(self, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
        began, bar = time.monotonic(), Bar(err)
        study = read_folder(options["file"])
        with transaction.atomic():
            user, project, _ = target(options)
            task, added = import_study(by=user, project=project, study=study, bar=bar)
            run, new = ebr_published.import_published(by=user, task=task, rows=study.annotations)
            bar("published scores", len(study.annotations), len(study.annotations))
        out.write(
            f"Project {project.pk}, task {task.pk}\n"
            f"  answers: {len(study.answers):,}\n"
            f"  ratings: {parts(*added)}\n"
            f"  workers: {len({row['worker_id'] for row in study.annotations}):,}\n"
            f"  run {run.number}: published scores, {'written' if new else 'there already'}\n"
            f"{NO_ARTICLES}\n{time.monotonic() - began:.1f} s\n"
        )


def import_study(*, by: User, project: Project, study: EbrStudy, bar: Bar) -> tuple[Task, Added]:
    """The task with its answers, and the annotations as ratings of people.

    Who annotated an answer two or three times has as many assignments with it.
    """
    fields = {
        "redundancy": REDUNDANCY,
        "items_per_assignment": PER_ASSIGNMENT,
        "order": "fixed",
        "settings": {**STUDY, "evidence": "none"},
    }
    task = document_task(
        by=by, project=project, title=TITLE, rows=study.answers, fields=fields, name="ebr"
    )
    bar("answers", len(study.answers), len(study.answers))
    items = dict(task.items.values_list("key", "pk"))
    workers = workers_by_id(project, {row["worker_id"] for row in study.annotations})
    ratings = [
        RatingRow(
            workers[row["worker_id"]].pk,
            items[row["item_id"]],
            values_of(row),
            row["feedback"].strip(),
        )
        for row in study.annotations
    ]
    total = len(ratings)
    added = add_ratings(
        task=task, ratings=ratings, advance=lambda done: bar("ratings", done, total)
    )
    record(by=by, project=project, action="ratings.import", on=task, file="ebr", new=added.new)
    return task, added
