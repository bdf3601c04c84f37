"""Writing of checklists: their stages, the freezing of a version, the task made of one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from annotation.models import Candidate, Item, Task, User
from annotation.pairs.actions import checklist_items
from annotation.records.actions.audit import record
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import mid_sentence
from evaluation.checklists.filled.text_scores import dimension_name, human_scores
from evaluation.checklists.making import pipeline, stages
from evaluation.checklists.making.stages import Entries
from evaluation.methods.checklists import attribute_diversity
from evaluation.methods.checklists.sampling import balanced_sample
from evaluation.models import Checklist, ChecklistStage, ChecklistVersion, Run
from evaluation.runs.run_types import fits


@transaction.atomic
def create(*, by: User, task: Task, item: Item, name: str, whose: str) -> Checklist:
    """Create a checklist for a dimension from the attributes of ``whose`` people or models.

    ``whose``: see evaluation.checklists.making.pipeline. Raises Invalid for a name that is taken or
    empty, Conflict where nobody of ``whose`` has an attribute.
    """
    name = " ".join(name.split())
    if not fits(task, attribute_diversity.NAME) or item.task_id != task.pk:
        raise Invalid(_("A checklist is made from a dimension of a think-aloud task."))
    if not name or len(name) > 120:
        raise Invalid(_("The checklist needs a name."), fields={"name": _("1 to 120 characters.")})
    if Checklist.objects.filter(task=task, name=name).exists():
        raise Invalid(_("This name is taken."), fields={"name": _("Another one; this is taken.")})
    made = Checklist.objects.create(
        project=task.project, task=task, item=item, name=name, created_by=by
    )
    record(by=by, project=task.project, action="checklist.create", on=made, whose=_plain(whose))
    take_attributes(by=by, checklist=made, whose=whose)
    return made


def _plain(whose: str) -> str:
    """Return whose attributes they are, for the log: without the name of a person."""
    return "one author" if whose.startswith(pipeline.AUTHOR) else whose


@transaction.atomic
def take_attributes(*, by: User, checklist: Checklist, whose: str) -> ChecklistStage:
    """Save the current attributes of ``whose`` people or models as the first stage."""
    found = pipeline.attributes_of(checklist.task, checklist.item)
    return save_stage(
        by=by,
        checklist=checklist,
        kind=stages.ATTRIBUTES,
        entries=pipeline.entries_of(found, whose),
    )


@transaction.atomic
def save_stage(
    *,
    by: User | None,
    checklist: Checklist,
    kind: str,
    entries: Sequence[Mapping[str, Any]],
    run: Run | None = None,
    made_from: ChecklistStage | None = None,
    seen: int | None = None,
) -> ChecklistStage:
    """Store what a stage puts out as its newest row; the same again changes nothing.

    With a ``run`` a model made it, from ``made_from``; else the person ``by`` did, from what
    stands before it now; ``seen`` is the number of the row that they changed (0: there was none).
    Raises Invalid for entries that the stage does not take, Conflict where the stage before is
    missing or out of date, or where the stage is no longer what was seen.
    """
    checklist = _locked(checklist)
    found = pipeline.stage_states(checklist)
    if run is None:
        pipeline.needed(found, kind)
        previous = found.get(stages.previous_stage(kind))
        made_from = previous.row if previous is not None else None
    clean = stages.check(kind, entries, _inputs(found, kind, made_from))
    earlier = list(checklist.stages.filter(kind=kind).order_by("number"))
    clean = stages.identify(kind, clean, [row.data for row in earlier])
    last = earlier[-1] if earlier else None
    if seen is not None and seen != (last.number if last else 0):
        raise Conflict(
            _("Somebody changed this stage meanwhile. Look at it as it is now, then edit.")
        )
    source = made_from.pk if made_from is not None else None
    if last is not None and last.data == clean and last.made_from_id == source:
        return last
    row = ChecklistStage.objects.create(
        checklist=checklist,
        kind=kind,
        number=last.number + 1 if last else 1,
        data=clean,
        made_from=made_from,
        run=run,
        by=None if run is not None else by,
    )
    record(
        by=by,
        project=checklist.project,
        action="checklist.stage",
        on=row,
        stage=kind,
        number=row.number,
        entries=len(clean),
    )
    if kind == stages.COMPONENTS and not found[stages.ATTRIBUTES].data:
        # Components from the rubric alone: there is nothing to sort under them.
        nothing = [{"component": one["id"], "attributes": []} for one in clean]
        save_stage(by=by, checklist=checklist, kind=stages.CLUSTERS, entries=nothing)
    return row


def _locked(checklist: Checklist) -> Checklist:
    locked = (
        Checklist.objects.select_for_update(of=("self",))
        .select_related("project", "task", "item__group")
        .get(pk=checklist.pk)
    )
    if locked.archived_at is not None:
        raise Conflict(_("This checklist was put away."))
    return locked


def _inputs(
    found: Mapping[str, pipeline.Standing], kind: str, made_from: ChecklistStage | None
) -> dict[str, Entries]:
    """The stages before ``kind``: the row it was made from, and the rows that one was made from."""
    inputs, row = {}, made_from
    while row is not None:
        inputs[row.kind] = row.data
        row = row.made_from
    return {**{name: found[name].data for name in stages.ORDER}, **inputs}


@transaction.atomic
def freeze(*, by: User, checklist: Checklist) -> ChecklistVersion:
    """Freeze the validated questions as a new version; unchanged ones return the last version.

    Raises Conflict while a stage is missing or out of date.
    """
    checklist = _locked(checklist)
    found = pipeline.stage_states(checklist)
    left = pipeline.next_stage(found)
    if left:
        label = mid_sentence(str(ChecklistStage.Kind(left).label))
        said = (
            _("The stage “%(label)s” is out of date; a version is frozen when all stand.")
            if found[left].row is not None
            else _("The stage “%(label)s” is not made yet; a version is frozen when all stand.")
        )
        raise Conflict(said % {"label": label})
    data = pipeline.data_of(found)
    questions = stages.questions_of(data)
    digest = content_hash(questions)
    there = checklist.versions.filter(content_hash=digest).first()
    if there is not None:
        return there
    last = checklist.versions.aggregate(n=Max("number"))["n"] or 0
    version = ChecklistVersion.objects.create(
        checklist=checklist,
        number=last + 1,
        questions=questions,
        made_of={
            **stages.condition(data[stages.ATTRIBUTES]),
            "stages": {kind: one.row.number for kind, one in found.items() if one.row},
        },
        content_hash=digest,
        frozen_by=by,
    )
    record(
        by=by,
        project=checklist.project,
        action="checklist.freeze",
        on=version,
        number=version.number,
        questions=len(questions),
        content=digest[:8],
    )
    return version


def content_hash(questions: Entries) -> str:
    """SHA-256 over the questions with their components and origins."""
    told = json.dumps(questions, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(told.encode()).hexdigest()


def sample_texts(
    version: ChecklistVersion, texts: Sequence[Candidate], percent: int
) -> list[Candidate]:
    """A share of texts, even over human scores of the dimension and over topics, in their order.

    InteractEval, section 4.1. Where texts have human scores only these are drawn from; else the
    sample is even over topics alone. The version decides on the draw, so that it is the same again.
    """
    rows = list(texts)
    if percent >= 100 or not rows:
        return rows
    dimension = dimension_name(pipeline.subject_of(version.checklist.item).dimension)
    human = human_scores(version.checklist.project_id, dimension, [one.pk for one in rows]).scores
    if human:
        rows = [one for one in rows if one.pk in human]
    size = max(1, round(len(rows) * percent / 100))
    topics = {one.topic: at for at, one in enumerate(rows)}
    chosen = balanced_sample(
        np.array([human.get(one.pk, 0.0) for one in rows]),
        np.array([topics[one.topic] for one in rows]),
        size,
        rng=np.random.default_rng(version.pk),
    )
    return [rows[at] for at in sorted(chosen.tolist())]


@transaction.atomic
def make_task(
    *,
    by: User,
    version: ChecklistVersion,
    title: str,
    texts: Sequence[Candidate],
    key: UUID | None = None,
) -> Task:
    """A checklist task (a draft) that asks the version's questions about these texts.

    A version may have several: other texts, another crowd, another round; a form (``key``) sent
    twice makes one. Raises Invalid without a title.
    """
    checklist = version.checklist
    about = pipeline.subject_of(checklist.item)
    task = checklist_items.make_task(
        by=by,
        project=checklist.project,
        title=title,
        dimension=about.dimension,
        questions=version.questions,
        version=version.pk,
        texts=texts,
        key=key,
    )
    version.tasks.add(task)
    return task
