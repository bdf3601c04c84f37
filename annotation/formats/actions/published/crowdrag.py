"""CrowdRAG-25 into a project: texts, judgments of people, models and experts, and the pilot.

All or nothing, and each part once: taken in again, the same files add nothing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.named.actions import systems_by_name, workers_named
from annotation.formats.actions.judgments import (
    Added,
    Session,
    Vote,
    add_model_votes,
    add_votes,
    choices_of,
    import_task,
)
from annotation.formats.actions.published.crowdrag_panels import experts, pilot
from annotation.formats.actions.published.rows import (
    MODEL,
    TITLE,
    Progress,
    fields_of,
    pair_items,
    votes_of,
)
from annotation.formats.imports.published.crowdrag import CrowdRagStudy, Judgment, Pair
from annotation.models import Candidate, Membership, Project, Task, User
from annotation.pairs.actions.candidates import add_candidates
from annotation.records.actions.audit import record
from annotation.records.actions.locks import lock_project
from annotation.task_types.pairwise.sides import call_of
from crowdqc.errors import Conflict

IMPORTED = "crowdrag.import"


@dataclass
class ImportedStudy:
    """The tasks, and what became of each part: (new, there already)."""

    judgments: Task
    experts: Task | None = None
    pilot: Task | None = None
    added: dict[str, Added] = field(default_factory=dict)


def ignore_progress(what: str, done: int, total: int) -> None:
    """A progress that nobody looks at."""


@transaction.atomic
def import_study(
    *, by: User, project: Project, study: CrowdRagStudy, progress: Progress = ignore_progress
) -> ImportedStudy:
    """Write a study that was read; everything or nothing.

    Raises Invalid where the project has other texts under the study's ids, and NotAllowed where
    one of its workers was removed from the project.
    """
    lock_project(project.pk)
    workers = _workers(project, study)
    progress("texts", 0, len(study.responses))
    added = {"texts": _texts(by, project, study)}
    progress("texts", len(study.responses), len(study.responses))
    keys = dict(
        Candidate.objects.filter(
            project=project, key__in=[one.key for one in study.responses]
        ).values_list("key", "pk")
    )
    found = ImportedStudy(_judged_task(by, project, study), added=added)
    items = pair_items(
        by=by, task=found.judgments, pairs=[one.pair for one in study.judgments], keys=keys
    )
    added["judgments"] = add_votes(
        task=found.judgments,
        votes=votes_of(study.judgments, items, keys, workers),
        sessions=_sessions(study, workers),
        advance=_advance(progress, _("judgments of people"), len(study.judgments)),
    )
    added["model judgments"] = _models(found.judgments, study, items, keys, progress)
    if study.experts:
        found.experts, added["expert judgments"] = experts(
            by, found.judgments, study, keys, workers
        )
    if study.pointwise is not None:
        found.pilot, added["pilot ratings"] = pilot(by, project, study, workers)
    if any(part.new for part in added.values()):
        record(
            by=by,
            project=project,
            action=IMPORTED,
            on=found.judgments,
            new={name: part.new for name, part in added.items()},
        )
    return found


@transaction.atomic
def import_judgments(
    *, by: User, task: Task, judgments: Sequence[Judgment], progress: Progress = ignore_progress
) -> Added:
    """Write the raw judgments alone into a task whose project holds their texts.

    Raises Conflict where a text is not there.
    """
    keys = dict(Candidate.objects.filter(project=task.project_id).values_list("key", "pk"))
    wanted = {key: one.topic for one in judgments for key in one.pair}
    gone = sorted(wanted.keys() - keys.keys())
    if gone:
        raise Conflict(
            _(
                "%(gone)s of %(wanted)s texts are not in the project (%(first)s is the "
                "first). The raw judgments hold no texts: import those first (format "
                "candidates)."
            )
            % {"gone": f"{len(gone):,}", "wanted": f"{len(wanted):,}", "first": gone[0]}
        )
    workers = workers_named(task.project, {one.worker for one in judgments})
    items = pair_items(by=by, task=task, pairs=[one.pair for one in judgments], keys=keys)
    return add_votes(
        task=task,
        votes=votes_of(judgments, items, keys, workers),
        advance=_advance(progress, _("judgments of people"), len(judgments)),
    )


def raw_task(*, by: User, project: Project, title: str, settings: Mapping[str, Any]) -> Task:
    """The task of this title for raw judgments, made with these settings where there is none."""
    return import_task(
        by=by,
        project=project,
        type="pairwise",
        title=title,
        fields={"settings": {"sides": "authored", **settings}},
    )


def _advance(progress: Progress, what: str, total: int) -> Callable[[int], None]:
    progress(what, 0, total)
    return lambda done: progress(what, done, total)


def _workers(project: Project, study: CrowdRagStudy) -> dict[str, Membership]:
    """Everybody whom the files name: writers, judges, experts, raters."""
    return workers_named(
        project,
        {
            *study.authors.values(),
            *(one.worker for one in study.judgments),
            *(one.worker for one in study.experts),
            *(one.worker for one in study.ratings),
        },
    )


def _texts(by: User, project: Project, study: CrowdRagStudy) -> Added:
    """The responses as texts, in the order of their ids, which the stored pairs then follow."""
    rows = [
        {
            "key": one.key,
            "topic": one.topic,
            "query": one.query,
            "text": one.text,
            "style": one.style,
            "origin": one.origin,
            "system": one.origin,
            "prompt_strategy": one.style,
            "author": study.authors.get(one.key, ""),
        }
        for one in sorted(study.responses)
    ]
    return Added(*add_candidates(by=by, project=project, rows=rows, name="responses"))


def _judged_task(by: User, project: Project, study: CrowdRagStudy) -> Task:
    # Section 3.2: five workers a questionnaire of 15 pairs, ten minutes at least.
    rules = {"redundancy": 5, "items_per_assignment": 16, "min_seconds": 600, "lease_minutes": 90}
    return import_task(
        by=by, project=project, type="pairwise", title=TITLE, fields=fields_of(study.study, **rules)
    )


def _sessions(
    study: CrowdRagStudy, workers: Mapping[str, Membership]
) -> dict[tuple[int, str], Session]:
    """Sessions whose length is known, as if they had ended now; when they were is not published."""
    now = timezone.now()
    bundles = dict.fromkeys((one.worker, one.questionnaire) for one in study.judgments)
    found = {}
    for place, where in enumerate(bundles):
        submitted = now + dt.timedelta(microseconds=place)
        seconds = study.seconds.get(where)
        opened = None if seconds is None else submitted - dt.timedelta(seconds=seconds)
        found[workers[where[0]].pk, where[1]] = Session(opened, submitted)
    return found


def _models(
    task: Task,
    study: CrowdRagStudy,
    items: Mapping[Pair, int],
    keys: Mapping[str, int],
    progress: Progress,
) -> Added:
    """A call is a replicate: two a repeat, one for each order of the pair."""
    kinds = [
        {"system": MODEL, "prompt_strategy": kind}
        for kind in dict.fromkeys(one.inference for one in study.models)
    ]
    systems = systems_by_name(task.project, kinds)
    votes = []
    for one in study.models:
        flipped = keys[one.pair[0]] > keys[one.pair[1]]
        votes.append(
            Vote(
                systems[MODEL, one.inference].pk,
                items[one.pair],
                choices_of(one.labels, flipped=flipped),
                flipped,
                replicate=call_of(one.repeat - 1, flipped=flipped),
                texts=tuple((name, 0, text) for name, text in one.justifications.items()),
            )
        )
    return add_model_votes(
        task=task, votes=votes, advance=_advance(progress, _("judgments of models"), len(votes))
    )
