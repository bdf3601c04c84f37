"""CrowdRAG-25: the published artifact with its results, or the raw judgments alone."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import CommandError, OutputWrapper
from django.db import models, transaction
from django.utils import timezone

from annotation.formats.actions.published.crowdrag import (
    ImportedStudy,
    import_judgments,
    import_study,
    raw_task,
)
from annotation.formats.actions.published.rows import TITLE, pair_key
from annotation.formats.imports.published.crowdrag import (
    FIRST_VOTES,
    CrowdRagStudy,
    Gold,
    read_folder,
    read_raw,
)
from annotation.models import Answer, Candidate, Item, Membership, Project, Task, User
from annotation.records.actions.audit import record
from annotation.task_types.pairwise.sides import SHOWN, STORED, to_canonical
from annotation.task_types.pairwise.type import TEMPLATE
from crowdqc.errors import Conflict
from evaluation.models import CandidateScore, ItemLabel, Run, RunFigure, RunState, WorkerScore
from evaluation.models.runs import PUBLISHED
from evaluation.pairwise.run import CORE
from evaluation.published.formats.base import Bar, Options, add_target, parts, target
from evaluation.published.reproduce.crowdrag import tables as crowdrag
from evaluation.published.reproduce.crowdrag.tables import RESTARTS
from evaluation.published.studies import crowdrag_checks as checks
from evaluation.published.studies.crowdrag_checks import TABLES, TEXTS, as_json
from evaluation.published.studies.data import as_crowdrag
from evaluation.runs import engine as runs
from evaluation.runs.numbering import next_number
from evaluation.runs.progress import fresh_steps
from evaluation.runs.results.rows import BATCH, result_hash
from evaluation.runs.run_types import fits

VERSION = "CrowdRAG-25"
SEED = 0  # of the resampled intervals in the tables, as ``reproduce`` has it by default
NO_INTERVAL = "published without an interval"
Rows = dict[type[models.Model], list[dict[str, Any]]]


def published_run(task: Task) -> Run | None:
    """The published results that were imported beside a task, if they were."""
    return task.runs.filter(method=PUBLISHED, version=VERSION, state=RunState.DONE).first()


@transaction.atomic
def import_published(*, by: User, task: Task, study: CrowdRagStudy) -> tuple[Run, bool]:
    """The run of what was published on an imported study, and whether it is new.

    Its tables are measured from the rows written here and from the task's. Raises Conflict where
    the task is not that study.
    """
    Project.objects.select_for_update().get(pk=task.project_id)
    there = published_run(task)
    if there is not None:
        return there, False
    now = timezone.now()
    run = Run.objects.create(
        project_id=task.project_id,
        task=task,
        number=next_number(task.project_id),
        method=PUBLISHED,
        version=VERSION,
        seed=SEED,
        state=RunState.DONE,
        trigger="import",
        started_by=by,
        started_at=now,
        finished_at=now,
        params={"name": VERSION},
    )
    record(by=by, project=task.project, action="scores.import", on=run)
    rows: Rows = {
        WorkerScore: _workers(task, study),
        ItemLabel: list(_labels(task, study.published.gold)),
        CandidateScore: _grades(task, study),
    }
    for model, content in rows.items():
        made: list[models.Model] = [model(run=run, **row) for row in content]
        model._default_manager.bulk_create(made, batch_size=BATCH)
    told: dict[str, Any] = {
        TABLES: as_json(crowdrag.table_rows(as_crowdrag(task, run), seed=SEED)),
        TEXTS: {one.key: one.cleaned for one in study.responses if one.judged},
        "recipe": {"method": PUBLISHED, "version": VERSION, "params": run.params, "seed": SEED},
    }
    RunFigure.objects.bulk_create(
        RunFigure(run=run, name=name, data=data) for name, data in told.items()
    )
    Run.objects.filter(pk=run.pk).update(
        result_hash=result_hash(rows, told), finished_at=timezone.now()
    )
    run.refresh_from_db()
    return run, True


def queue_checks(*, by: User | None, published: Run) -> Run:
    """Queue the checks of a published run, once; those that are there are returned.

    Raises Conflict where the run is another one.
    """
    if not published.is_published:
        raise Conflict("Only a published result has these checks.")
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=published.project_id)
        there = published.followers.filter(
            method=checks.METHOD, state__in=(*runs.ACTIVE, RunState.DONE)
        ).first()
        if there is not None:
            return there
        run = Run.objects.create(
            project_id=published.project_id,
            task_id=published.task_id,
            method=checks.METHOD,
            number=next_number(published.project_id),
            source=published,
            version=published.version,
            params={"restarts": RESTARTS},
            seed=published.seed,
            trigger="follows",
            started_by=by,
            progress=fresh_steps(checks.RUNS.steps),
        )
        runs.enqueue(run.pk)
    return run


def _workers(task: Task, study: CrowdRagStudy) -> list[dict[str, Any]]:
    """Competence as one minus the published spam probability, by worker and dimension."""
    spam = study.published.spam
    members = dict(
        Membership.objects.filter(project=task.project_id, external_id__in=list(spam)).values_list(
            "external_id", "pk"
        )
    )
    given = Counter(
        Answer.objects.filter(item__task=task, worker__isnull=False).values_list(
            "worker_id", flat=True
        )
    )
    return [
        {
            "worker_id": members[name],
            "dimension": dimension,
            "estimate": 1 - value,
            "n": given[members[name]],
            "extra": {"spam": value, "no_interval": NO_INTERVAL},
        }
        for name, by_dimension in spam.items()
        if name in members
        for dimension, value in by_dimension.items()
    ]


def _labels(task: Task, gold: Iterable[Gold]) -> Iterable[dict[str, Any]]:
    """Labels of pairs as shown, turned to the pair as it is stored, with their probabilities."""
    items = {
        key: (pk, side < 0)
        for key, pk, side in Item.objects.filter(task=task).values_list("key", "pk", "side")
    }
    votes = Counter(
        Answer.objects.filter(item__task=task, worker__isnull=False).values_list(
            "item_id", flat=True
        )
    )
    for one in gold:
        item, flipped = items[pair_key(one.pair)]
        chance = {
            to_canonical(side, flipped=flipped): value
            for side, value in zip(SHOWN, one.probability, strict=True)
        }
        yield {
            "item_id": item,
            "dimension": one.dimension,
            "label": to_canonical(one.label, flipped=flipped),
            "posterior": {code: chance[code] for code in STORED},
            "entropy": _entropy(chance),
            "n": votes[item],
        }


def _entropy(chance: Mapping[str, float]) -> float:
    p = np.array([value for value in chance.values() if value > 0])
    return float(max(0.0, -(p * np.log(p)).sum()))


def _grades(task: Task, study: CrowdRagStudy) -> list[dict[str, Any]]:
    """Grades 1 to 6 within a topic; the merits behind them were not published."""
    texts = dict(
        Candidate.objects.filter(
            project=task.project_id, key__in=list(study.published.grades)
        ).values_list("key", "pk")
    )
    judged = Counter(
        key
        for pair, dimension in {(one.pair, one.dimension) for one in study.published.gold}
        for key in pair
        if dimension == study.published.gold[0].dimension
    )
    return [
        {
            "candidate_id": texts[key],
            "dimension": dimension,
            "estimate": None,
            "n": judged[key],
            "extra": {"grade": grade, "no_interval": NO_INTERVAL},
        }
        for key, grades in study.published.grades.items()
        for dimension, grade in grades.items()
    ]


LATER = (
    "Not imported here: writing logs, retrieved passages and questionnaires of the writing study; "
    "crowdqc_import crowdrag-writing takes them in."
)


class CrowdRag:
    slug = "crowdrag"
    help = "the published study (a folder): texts, judgments, experts, pilot, published results"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_target(parser, task=False)
        parser.add_argument(
            "--no-runs",
            action="store_true",
            help="do not queue our own run and the checks of the published one",
        )

    def run(self, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
        began = time.monotonic()
        bar = Bar(err)
        study = read_folder(options["file"], say=lambda line: _line(err, f"read {line}"))
        with transaction.atomic():
            user, project, _ = target(options)
            found = import_study(by=user, project=project, study=study, progress=bar)
            bar("published results", 0, 1)
            run, new = import_published(by=user, task=found.judgments, study=study)
            bar("published results", 1, 1)
        out.write(_report(found, study, run, new))
        if not options["no_runs"]:
            out.write(_queue(user, found, run))
        out.write(f"{time.monotonic() - began:.1f} s\n")


def _line(stream: OutputWrapper, line: str) -> None:
    stream.write(f"{line}\n")


def _report(found: ImportedStudy, study: CrowdRagStudy, run: Run, new: bool) -> str:
    """Say what became of every part."""
    lines = [f"Project {found.judgments.project_id}"]
    lines += [f"  {name}: {parts(*added)}" for name, added in found.added.items()]
    lines.append(f"  workers: {len({one.worker for one in study.judgments}):,}")
    uncounted = sum(not one.counted for one in study.judgments)
    lines.append(f"  of the judgments, {uncounted:,} do not count: beyond the first five of a pair")
    tasks = [("judgments", found.judgments), ("experts", found.experts), ("pilot", found.pilot)]
    lines += [f"  task {task.pk}: {name}" for name, task in tasks if task is not None]
    state = "written" if new else "there already"
    lines.append(f"  run {run.number}: published results, {state}")
    if not new and not any(added.new for added in found.added.values()):
        lines.append("Everything was there already; nothing was added.")
    if study.missing:
        lines.append(f"Not in the folder: {', '.join(study.missing)}.")
    return "\n".join([*lines, LATER]) + "\n"


def _queue(by: User, found: ImportedStudy, run: Run) -> str:
    """Queue what follows, where it is not there: our own runs, and the checks of the published."""
    said = []
    for task, whose in ((found.judgments, "ours"), (found.experts, "the experts")):
        if (
            task is None
            or task.runs.filter(method=CORE, state__in=(*runs.ACTIVE, RunState.DONE)).exists()
        ):
            continue
        core = runs.start(by=by, task=task, method=CORE, trigger="import")
        said.append(f"run {core.number} ({whose})")
    there = run.followers.exists()
    checks = queue_checks(by=by, published=run)
    if not there:
        said.append(f"run {checks.number} (Table 8, MACE fitted again, nulls and cross-fit)")
    return f"Queued: {', '.join(said)}.\n" if said else ""


class CrowdRagRaw:
    slug = "crowdrag-raw"
    help = "the raw judgments alone (study2_responses.jsonl.gz), on texts of the project"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_target(parser, task=True)
        parser.add_argument("--title", default=TITLE, help="the title of the task")
        parser.add_argument(
            "--first",
            type=int,
            default=FIRST_VOTES,
            metavar="N",
            help=f"votes of a pair that count ({FIRST_VOTES}, as published; 0: all)",
        )

    def run(self, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
        path: Path = options["file"]
        judgments = read_raw(path, first=options["first"])
        _line(err, f"read {len(judgments):,} judgments")
        with transaction.atomic():
            user, project, task = target(options)
            if task is None:
                task = raw_task(
                    by=user,
                    project=project,
                    title=options["title"],
                    settings={"dimensions": [dict(row) for row in TEMPLATE]},
                )
            if not fits(task, CORE):
                raise CommandError(f"Task {task.pk} compares no texts.")
            added = import_judgments(by=user, task=task, judgments=judgments, progress=Bar(err))
        out.write(f"{path.name}: task {task.pk}, {len(judgments):,} judgments, {parts(*added)}.\n")
