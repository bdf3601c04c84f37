"""Scores of explanations that a model gave elsewhere, taken in as though it had been asked here.

Every score is a call with the source "import" and no model; a run without rows of its own ties
the calls to the answers, so that a rescaling run can read them and every figure leads to them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.files.reading.importer import Problem
from annotation.models import Membership, Project, Task, User
from annotation.records.actions.audit import record
from annotation.work.snapshots import explanations
from annotation.work.snapshots.explanations import Explained
from crowdqc.errors import Invalid
from evaluation.llm.schemas import SCORE
from evaluation.models import CallState, CallUse, LLMCall, Run, RunState
from evaluation.models.runs import PUBLISHED
from evaluation.rescaling.calls import WHAT, imports
from evaluation.rescaling.dataset import scale_of
from evaluation.rescaling.prompts import PUBLISHED_MODEL, PUBLISHED_PROMPT, subject_of
from evaluation.runs.numbering import next_number

BATCH = 2000
SHOWN = 50  # problems that are listed
VERSION, ELSEWHERE = "EBR", "imported"
VALUES = {"missing_all": 0, "missing_major": 30, "missing_minor": 70, "complete": 100}
MISSING = "The model's answer holds no number from 0 to 100."


@dataclass(frozen=True)
class ScoreRow:
    """One score as a file has it; ``value`` and ``explanation`` tell ratings of one person apart.

    ``worker`` is the file's id of the person, or their pseudonym; ``score`` None where the model
    gave none.
    """

    line: int
    item: str
    worker: str
    score: float | None
    raw: str
    value: int | None = None
    explanation: str | None = None


@dataclass(frozen=True)
class Source:
    """Where scores come from: the model, what it was told, and whose release it is."""

    model: str
    prompt: str
    version: str = ELSEWHERE
    variant: str = ""


@transaction.atomic
def import_published(
    *, by: User, task: Task, rows: Sequence[Mapping[str, str]], scale: str = ""
) -> tuple[Run, bool]:
    """The published scores of explanation-based rescaling; the run that holds them, whether new.

    ``rows`` are those of ``ebr_annotations.csv.gz`` by column: item_id, worker_id,
    complete_label, feedback, ebr_raw, ebr_num. The task must hold the same annotations, with
    item_id as the items' keys and worker_id as the workers' outside ids. Raises Invalid naming
    the rows that no answer of the task belongs to.
    """
    found = [
        ScoreRow(
            number,
            row["item_id"],
            row["worker_id"],
            _number(row["ebr_num"], number),
            row["ebr_raw"],
            VALUES.get(row["complete_label"]),
            row["feedback"].strip(),
        )
        for number, row in enumerate(rows, 2)
    ]
    source = Source(PUBLISHED_MODEL, PUBLISHED_PROMPT, VERSION, "article")
    return import_scores(by=by, task=task, rows=found, source=source, scale=scale)


@transaction.atomic
def import_scores(
    *, by: User, task: Task, rows: Sequence[ScoreRow], source: Source, scale: str = ""
) -> tuple[Run, bool]:
    """Take in scores of a task's explanations on one scale (default: its first).

    Returns the run that holds them and whether it is new; the same scores twice are once. Raises
    Invalid with every row that belongs to no answer, nothing being written then.
    """
    chosen = scale_of(task, scale)
    Project.objects.select_for_update().get(pk=task.project_id)
    placed = _placed(task, chosen.name, rows)
    digest = _digest(placed)
    for there in imports(task, chosen.name):
        same = (there.params["model_name"], there.params["prompt"], there.params["digest"])
        if same == (source.model, source.prompt, digest):
            return there, False
    run = _run(by, task, source, scale=chosen.name, placed=placed, digest=digest)
    calls = _calls(task, source, chosen.name, placed)
    CallUse.objects.bulk_create(
        (
            CallUse(run=run, call_id=call, subject=subject_of(answer.answer_id))
            for (_, answer), call in zip(placed, calls, strict=True)
        ),
        batch_size=BATCH,
    )
    record(by=by, project=task.project, action="scores.import", on=run, scores=len(placed))
    return run, True


Placed = list[tuple[ScoreRow, Explained]]


def _number(text: str, line: int) -> float | None:
    """A score of the file; None for an empty cell. Raises Invalid on anything else."""
    if not text.strip():
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 100:
        problem = Problem(line, "score", text, "Not a number from 0 to 100.", "Mend the cell.")
        raise Invalid(f"Line {line}: {text!r} is not a score.", rows=[problem.as_dict()])
    return value


def _placed(task: Task, scale: str, rows: Sequence[ScoreRow]) -> Placed:
    """Each row with its answer: the first one left of this person, item, value, explanation."""
    people = _people(task)
    keys = {pk: one.key for pk, one in explanations.rated_documents(task).items()}
    known = set(keys.values())
    left: defaultdict[tuple[str, int], list[Explained]] = defaultdict(list)
    for answer in explanations.explained_ratings(task, scale):
        left[keys[answer.item_id], answer.worker_id].append(answer)
    placed: Placed = []
    problems: list[Problem] = []
    for row in rows:
        candidates = left.get((row.item, people.get(row.worker, 0)), [])
        own = next((one for one in candidates if _fits(row, one)), None)
        if own is None:
            problems.append(_lost(row, known, people))
        else:
            candidates.remove(own)
            placed.append((row, own))
    if problems or not placed:
        raise Invalid(
            f"{len(problems):,} of {len(rows):,} scores belong to no rating of this task. "
            "Nothing was imported.",
            fields={"file": "Rows must name items and people of this task."},
            rows=[one.as_dict() for one in problems[:SHOWN]],
        )
    return placed


def _people(task: Task) -> dict[str, int]:
    """Workers by their outside id, and by pseudonym where no id says so."""
    rows = list(
        Membership.objects.filter(project=task.project_id, answers__item__task=task)
        .distinct()
        .values_list("pk", "external_id", "pseudonym")
    )
    return {**{name: pk for pk, _, name in rows}, **{own: pk for pk, own, _ in rows if own}}


def _fits(row: ScoreRow, answer: Explained) -> bool:
    return row.value in (None, answer.value) and row.explanation in (None, answer.explanation)


def _lost(row: ScoreRow, items: set[str], people: Mapping[str, int]) -> Problem:
    """Why a row found no answer."""
    if row.item not in items:
        return Problem(row.line, "item_id", row.item, "No item has this id.", "Use the task’s ids.")
    if row.worker not in people:
        return Problem(
            row.line,
            "worker_id",
            row.worker,
            "Nobody of this id rated here.",
            "Use the ids that the answers were imported with, or pseudonyms.",
        )
    return Problem(
        row.line,
        "item_id",
        row.item,
        "No counting rating of this person is left for this row.",
        "Leave the row out, or look whether the rating counts.",
    )


def _digest(placed: Placed) -> str:
    digest = hashlib.sha256()
    for row, answer in placed:
        digest.update(json.dumps([answer.answer_id, row.score, row.raw]).encode() + b"\n")
    return digest.hexdigest()


def _run(by: User, task: Task, source: Source, *, scale: str, placed: Placed, digest: str) -> Run:
    now = timezone.now()
    return Run.objects.create(
        project_id=task.project_id,
        task=task,
        number=next_number(task.project_id),
        method=PUBLISHED,
        version=source.version,
        state=RunState.DONE,
        trigger="import",
        started_by=by,
        started_at=now,
        finished_at=now,
        result_hash=digest,
        params={
            "what": WHAT,
            "scale": scale,
            "model_name": source.model,
            "prompt": source.prompt,
            "variant": source.variant,
            "calls": len(placed),
            "digest": digest,
            "missing": sum(row.score is None for row, _ in placed),
        },
    )


def _calls(task: Task, source: Source, scale: str, placed: Placed) -> list[int]:
    """The calls' ids in order; what was imported before under the same key is taken as it is."""
    now, keys, rows = timezone.now(), [], {}
    for row, answer in placed:
        text = answer.explanation
        parts = [
            "import",
            source.model,
            source.prompt,
            scale,
            answer.item,
            row.worker,
            answer.value,
            text,
            row.score,
            row.raw,
        ]
        key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        keys.append(key)
        rows[key] = _call(task, source, key, row, now)
    known = dict(
        LLMCall.objects.filter(project_id=task.project_id, key__in=rows).values_list("key", "pk")
    )
    made = LLMCall.objects.bulk_create(
        (call for key, call in rows.items() if key not in known), batch_size=BATCH
    )
    known.update({call.key: call.pk for call in made})
    return [known[key] for key in keys]


def _call(task: Task, source: Source, key: str, row: ScoreRow, now: Any) -> LLMCall:
    done = row.score is not None
    return LLMCall(
        project_id=task.project_id,
        model=None,
        model_name=source.model,
        key=key,
        prompt=source.prompt,
        messages=[],
        schema=SCORE.name,
        source="import",
        state=CallState.DONE if done else CallState.FAILED,
        text=row.raw,
        value={"score": row.score} if done else None,
        reason="" if done else MISSING,
        attempts=0,
        finished_at=now,
    )
