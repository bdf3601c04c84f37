"""The road from collected checklist answers to the method: frozen rows, a hash, index arrays."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext

from annotation.models import Candidate, Membership, System, Task
from annotation.work.snapshots import judgments
from annotation.work.snapshots.checks import CheckRow, counting_checks
from crowdqc.errors import Conflict
from evaluation.checklists.filled.ask import CHANCES
from evaluation.checklists.filled.ask import SLUG as ASKED
from evaluation.checklists.filled.text_scores import Human, dimension_name, human_scores
from evaluation.checklists.filled.texts import condition_of
from evaluation.methods.checklists.study import Study
from evaluation.models import RunFigure, RunState, Snapshot
from evaluation.runs.freezing.snapshots import is_unchanged, keep_snapshot

Chances = Mapping[tuple[int, int, str], float]  # system, item, question -> probability of yes


@dataclass(frozen=True)
class Author:
    """Who answers: a person or a model with its prompt strategy."""

    kind: str  # "person" or "model"
    pk: int  # of the membership or system
    name: str
    detail: str = ""


@dataclass(frozen=True, eq=False)
class ChecksDataset:
    """A snapshot of a checklist task as arrays, and what its indices stand for.

    ``candidates`` are the ids of the study's texts, ``authors`` those of its authors, ``asked``
    the lines of the list as they stand in the version's settings, ``condition`` says whose
    attributes the list was made from, ``title`` what it is called.
    """

    study: Study
    authors: tuple[Author, ...]
    candidates: tuple[int, ...]
    asked: tuple[Mapping[str, Any], ...]
    dimension: str
    condition: str
    title: str
    human: Human


@dataclass(frozen=True)
class ChecksParts:
    """Everything that the arrays of a snapshot are made of.

    ``authors`` stand in the order in which they first occur in ``rows``; ``texts`` hold key and
    topic by id.
    """

    rows: Sequence[CheckRow]
    authors: tuple[Author, ...]
    texts: Mapping[int, tuple[str, str]]
    asked: tuple[Mapping[str, Any], ...]
    dimension: str
    condition: str
    title: str
    human: Human
    chances: Chances


def _author(row: CheckRow) -> tuple[bool, int]:
    return (row.worker_id is None, row.worker_id or row.system_id or 0)


def kept_rows(task: Task) -> list[CheckRow]:
    """Return one answer of each author to each question of a text, without excluded people.

    The earliest of a person stands, of a model its first replicate.
    """
    excluded = set(task.exclusions.in_force().values_list("worker_id", flat=True))
    rows = [row for row in counting_checks(task) if row.worker_id not in excluded]
    first: dict[tuple[Any, ...], tuple[int, int]] = {}
    for row in rows:
        place = (*_author(row), row.candidate_id)
        first[place] = min(
            first.get(place, (row.replicate, row.answer_id)), (row.replicate, row.answer_id)
        )
    rows = [row for row in rows if first[*_author(row), row.candidate_id][1] == row.answer_id]
    return sorted(rows, key=lambda row: (_author(row), row.candidate_id, row.name))


def content_hash(rows: Iterable[CheckRow]) -> str:
    """SHA-256 over author, text, question and answer of each row, in order."""
    digest = hashlib.sha256()
    for row in rows:
        line = [*_author(row), row.candidate_id, row.name, int(row.yes)]
        digest.update(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def freeze_checks(task: Task) -> Snapshot:
    """Freeze the counting answers of a task; the same content gives the same row again.

    Raises Conflict when nobody's answer counts.
    """
    rows = kept_rows(task)
    if not rows:
        raise Conflict(gettext("No filled checklist counts yet, so there is nothing to score."))
    ids = sorted({row.answer_id for row in rows})
    people = [row for row in rows if row.worker_id is not None]
    models = [row for row in rows if row.worker_id is None]
    counts = {
        "answers": len({row.answer_id for row in people}),
        "workers": len({row.worker_id for row in people}),
        "questions": len({row.candidate_id for row in rows}),
        "system_answers": len({row.answer_id for row in models}),
        "systems": len({row.system_id for row in models}),
        "counting": len(ids),
        "max_id": ids[-1],
        "left_out": judgments.count_left_out(task),
    }
    return keep_snapshot(task, content_hash(rows), ids, counts)


def load(snapshot: Snapshot) -> ChecksDataset:
    """The frozen answers as arrays; raises as ``reload_checks``."""
    return to_arrays(reload_checks(snapshot))


def reload_checks(snapshot: Snapshot) -> ChecksParts:
    """The frozen answers, with human scores of the texts as they are known now.

    Raises Conflict when the answers are no longer what was frozen.
    """
    task, wanted = snapshot.task, set(snapshot.answer_ids)
    rows = [row for row in kept_rows(task) if row.answer_id in wanted]
    if not is_unchanged(snapshot, content_hash(rows)):
        raise Conflict(
            gettext(
                "The answers of snapshot %(content_hash)s are no longer what they were "
                "when it was taken; start a new run."
            )
            % {"content_hash": snapshot.content_hash[:8]}
        )
    if task.current is None:
        raise Conflict(gettext("The task was never published."))
    dimension = str(task.current.settings.get("dimension", ""))
    texts = sorted({row.candidate_id for row in rows})
    about = Candidate.objects.in_bulk(texts)
    return ChecksParts(
        rows,
        authors_of(list(dict.fromkeys(_author(row) for row in rows))),
        {pk: (about[pk].key, about[pk].topic) for pk in texts},
        tuple(task.current.settings["questions"]),
        dimension,
        condition_of(task),
        task.current.title,
        human_scores(task.project_id, dimension_name(dimension), texts),
        chances_of(task),
    )


def to_arrays(parts: ChecksParts) -> ChecksDataset:
    """Rows in the order of a snapshot as arrays; reads no database."""
    rows, texts, human = parts.rows, tuple(parts.texts), parts.human
    keys = list(dict.fromkeys(_author(row) for row in rows))
    topics = sorted({topic for _, topic in parts.texts.values()})
    place = {row["name"]: k for k, row in enumerate(parts.asked)}
    at = {pk: k for k, pk in enumerate(texts)}
    who = {key: k for k, key in enumerate(keys)}
    study = Study.build(
        [who[_author(row)] for row in rows],
        [at[row.candidate_id] for row in rows],
        [place[row.name] for row in rows],
        [float(row.yes) for row in rows],
        chance=[
            parts.chances.get((row.system_id or 0, row.item_id, row.name), np.nan) for row in rows
        ],
        person=[not model for model, _ in keys],
        authors=[str(key) for key in keys],
        texts=[key for key, _ in parts.texts.values()],
        questions=[row["name"] for row in parts.asked],
        article=[topics.index(topic) for _, topic in parts.texts.values()],
        articles=topics,
        human=[human.scores.get(pk, np.nan) for pk in texts],
    )
    return ChecksDataset(
        study,
        parts.authors,
        texts,
        parts.asked,
        parts.dimension,
        parts.condition,
        parts.title,
        human,
    )


def authors_of(keys: Sequence[tuple[bool, int]]) -> tuple[Author, ...]:
    """Names of people (pseudonyms) and of models."""
    people = Membership.objects.in_bulk([pk for model, pk in keys if not model])
    systems = System.objects.in_bulk([pk for model, pk in keys if model])
    return tuple(
        Author("model", pk, systems[pk].name, systems[pk].prompt_strategy)
        if model
        else Author("person", pk, people[pk].pseudonym)
        for model, pk in keys
    )


def chances_of(task: Task, *, until: dt.datetime | None = None) -> Chances:
    """Return the probabilities of yes that models gave in runs on this task, where known.

    With ``until`` of runs that were finished then.
    """
    names = {
        (system.name, system.prompt_strategy): system.pk
        for system in System.objects.filter(project=task.project_id)
    }
    found: dict[tuple[int, int, str], float] = {}
    rows = RunFigure.objects.filter(
        name=CHANCES, run__task=task, run__method=ASKED, run__state=RunState.DONE
    ).order_by("run_id")
    if until is not None:
        rows = rows.filter(run__finished_at__lte=until)
    for row in rows:
        system = names.get(tuple(row.data["system"]))
        for item, by_name in row.data["items"].items():
            for name, chance in by_name.items():
                found[system or 0, int(item), name] = chance
    return found
