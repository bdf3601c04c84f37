"""CrowdRAG-25: the published artifact with its results, or the raw judgments alone."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import CommandError, OutputWrapper
from django.db import transaction

from annotation.formats.actions.published.crowdrag import (
    Imported,
    import_judgments,
    import_study,
    raw_task,
)
from annotation.formats.actions.published.rows import TITLE
from annotation.formats.imports.published.crowdrag import (
    FIRST_VOTES,
    CrowdRagStudy,
    read_folder,
    read_raw,
)
from annotation.models import User
from annotation.task_types.pairwise.type import TEMPLATE
from evaluation.models import Run, RunState
from evaluation.pairwise.run import CORE
from evaluation.published.formats.base import Bar, Options, add_target, parts, target
from evaluation.published.studies import crowdrag as published
from evaluation.runs import engine as runs
from evaluation.runs.run_types import fits

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
            run, new = published.import_published(by=user, task=found.judgments, study=study)
            bar("published results", 1, 1)
        out.write(_report(found, study, run, new))
        if not options["no_runs"]:
            out.write(_queue(user, found, run))
        out.write(f"{time.monotonic() - began:.1f} s\n")


def _line(stream: OutputWrapper, line: str) -> None:
    stream.write(f"{line}\n")


def _report(found: Imported, study: CrowdRagStudy, run: Run, new: bool) -> str:
    """What became of every part."""
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


def _queue(by: User, found: Imported, run: Run) -> str:
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
    checks = published.queue_checks(by=by, published=run)
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
