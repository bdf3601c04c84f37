"""Erasing what a person wrote, wherever it went: calls, vectors, stages, notes, then answers.

Rows are found by what they refer to, never by searching texts: a call by the answer, item or
checklist it was about, an attribute by its answer or author. This side is cleared first, since
afterwards nothing says which texts there were; a second look at the end takes what a run wrote
meanwhile. Every step is a transaction of a bounded size and does nothing when it is done again,
so that a killed job is simply taken up anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import models, transaction
from django.utils import timezone

from annotation.models import (
    Candidate,
    Item,
    Membership,
    Recording,
    TaskVersion,
    TextValue,
    User,
)
from annotation.privacy.actions import erasure as collected
from annotation.privacy.actions.erasure import AT_ONCE, erasing
from annotation.privacy.name_places import GONE
from annotation.privacy.selectors import erasure as reads
from annotation.records.actions.locks import lock_project
from crowdqc.queue import enqueue
from evaluation.checklists.filled.run import ASKED_LIST
from evaluation.checklists.making import stages
from evaluation.embeddings.embeddings import text_hash
from evaluation.llm.ask import SUBJECT
from evaluation.models import (
    AuditVerdict,
    CallUse,
    ChecklistStage,
    ChecklistVersion,
    Embedding,
    Grade,
    LLMAttempt,
    LLMCall,
    Run,
    RunFigure,
    RunState,
    SetComparison,
    Snapshot,
)
from evaluation.runs.engine import ACTIVE
from evaluation.runs.run_types import without_texts

CHUNK = 200  # calls a transaction
SPOILED = {
    "worker": "It read texts of a worker that were erased on request.",
    "due": "It read texts that were erased after the days that the project keeps them.",
}
# Strings of a model's answer that are choices, and stay as scores do; all others are its words.
CHOICES = {"yes", "no", "A", "B", "C", "N", "tie"}


@dataclass
class Scope:
    """What is erased: assignments of a project, whose they are (one worker's), and the texts."""

    project: int
    assignments: list[int]
    why: str
    author: Membership | None = None
    alone: set[str] = field(default_factory=set)  # that nobody else wrote
    attributes: set[tuple[str, str]] = field(default_factory=set)  # (pseudonym, text)
    answers: set[int] = field(default_factory=set)
    texts: set[int] = field(default_factory=set)  # candidates made of them
    recordings: set[int] = field(default_factory=set)

    def read(self) -> Scope:
        """Look up the texts; afterwards they are known here alone."""
        self.alone = reads.own_words(self.assignments, self.author)
        written = TextValue.objects.filter(answer__assignment__in=self.assignments)
        self.attributes = set(written.values_list("answer__worker__pseudonym", "text"))
        self.answers = reads.answers_with_words(self.assignments)
        made = models.Q(source_answer__assignment__in=self.assignments)
        if self.author is not None:
            made |= models.Q(author=self.author)
        self.texts = set(Candidate.objects.filter(made).values_list("pk", flat=True))
        spoken = Recording.objects.filter(entry__assignment__in=self.assignments)
        self.recordings = set(spoken.values_list("pk", flat=True))
        return self


def _parts(ids: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (ids[start : start + size] for start in range(0, len(ids), size))


def request_erasure(
    *, by: User, worker: Membership, although_undecided: bool = False
) -> Membership:
    """Request the erasure of a worker, and enqueue it."""
    with transaction.atomic():
        worker = collected.request_erasure(
            by=by, worker=worker, although_undecided=although_undecided
        )
        enqueue("evaluation.jobs.erase_worker", worker.pk)
    return worker


def carry_out(worker_id: int) -> str:
    """Erase a worker whose erasure was decided; "waits" while runs of the project are in work."""
    worker = Membership.objects.filter(pk=worker_id, erase_asked_at__isnull=False).first()
    if worker is None or worker.erased_at:
        return "not mine"
    with transaction.atomic():
        # A run is claimed under the same lock, and none is while an erasure is to be done.
        lock_project(worker.project_id)
        if Run.objects.filter(project=worker.project_id, state=RunState.RUNNING).exists():
            return "waits"
    ids = list(worker.assignments.order_by("pk").values_list("pk", flat=True))
    _erase(Scope(worker.project_id, ids, "worker", worker))
    collected.finish(worker=worker.pk)
    return "done"


def waiting_erasures() -> list[int]:
    """Workers whose erasure was decided and is not done."""
    return list(reads.waiting_erasures().order_by("pk").values_list("pk", flat=True))


def erase_due() -> int:
    """Erase texts whose retention time is over; return in how many assignments."""
    due: dict[int, list[int]] = {}
    for pk, project in reads.due(timezone.now()).values_list("pk", "task__project_id"):
        due.setdefault(project, []).append(pk)
    done = 0
    for project, ids in due.items():
        if Run.objects.filter(project=project, state__in=ACTIVE).exists():
            continue
        for part in _parts(sorted(ids), 10 * AT_ONCE):
            done += _erase(Scope(project, list(part), "due"))
    return done


def _erase(scope: Scope) -> int:
    scope.read()
    last = LLMCall.objects.aggregate(m=models.Max("pk"))["m"] or 0
    mark_spoiled(scope, blank_calls(scope))
    clear_checklists(scope)
    clear_notes(scope)
    drop_vectors(scope)
    done = sum(
        collected.erase_words(assignments=part, by=None, why=scope.why)
        for part in _parts(scope.assignments, AT_ONCE)
    )
    # Nothing can be read from now on; what a run wrote since the first look goes as well.
    mark_spoiled(scope, blank_calls(scope, since=last))
    drop_vectors(scope)
    return done


@transaction.atomic
def mark_spoiled(scope: Scope, calls: Collection[int]) -> int:
    """Mark the runs that used these answers or calls as no longer reproducible."""
    runs = Run.objects.filter(project=scope.project, spoiled="")
    snapshots = [
        pk
        for pk, ids in Snapshot.objects.filter(project=scope.project)
        .values_list("pk", "answer_ids")
        .iterator(chunk_size=20)
        if not scope.answers.isdisjoint(ids)
    ]
    read = runs.filter(snapshot__in=snapshots).exclude(method__in=without_texts())
    marked = read.update(spoiled=SPOILED[scope.why])
    used = CallUse.objects.filter(call__in=calls).values("run")
    return marked + runs.filter(pk__in=used).update(spoiled=SPOILED[scope.why])


# -- calls of models -----------------------------------------------------------------------------


def blank_calls(scope: Scope, since: int = 0) -> list[int]:
    """Blank the texts of calls on these answers; hash, choices and cost stay. Returns their ids.

    A call that was about somebody else's same words too stays theirs. Returns the calls' ids.
    """
    found = _calls_about(scope, since)
    for part in _parts(found, CHUNK):
        _blank(part)
    return found


def _calls_about(scope: Scope, since: int) -> list[int]:
    """Calls about nothing but these answers, texts made of them and their checklists."""
    items = Item.objects.filter(models.Q(first__in=scope.texts) | models.Q(second__in=scope.texts))
    shown = set(items.values_list("pk", flat=True))
    known = {
        "answer": scope.answers,
        "text": scope.texts,
        "item": shown,
        "pair": shown,
        "checklist": _checklists(scope),
        "recording": scope.recordings,
    }
    uses = CallUse.objects.filter(run__project=scope.project, call__pk__gt=since)
    own: set[int] = set()
    others: set[int] = set()
    for call, subject in uses.values_list("call_id", "subject").iterator(chunk_size=5000):
        # A prompt may hold two answers: it goes with either.
        mine = any(int(one[2]) in known[one[1]] for one in SUBJECT.finditer(subject))
        (own if mine else others).add(call)
    return sorted(own - others)


@transaction.atomic
def _blank(calls: Sequence[int]) -> None:
    for row in LLMCall.objects.filter(pk__in=calls).only("value", "reason"):
        LLMCall.objects.filter(pk=row.pk).update(
            messages=[], text="", value=_choices(row.value), reason=row.reason and GONE
        )
    with erasing():
        tries = LLMAttempt.objects.filter(call__in=calls)
        tries.exclude(text="", reason="").update(text="", reason="")


def _choices(value: Any) -> Any:
    """A model's answer without its words; numbers and choices stay."""
    if isinstance(value, str):
        return value if value in CHOICES else GONE
    if isinstance(value, dict):
        return {name: _choices(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_choices(one) for one in value]
    return value


# -- checklists, notes, vectors -----------------------------------------------------------------


def _checklists(scope: Scope) -> set[int]:
    """Checklists that were made from attributes of these answers."""
    rows = ChecklistStage.objects.filter(
        checklist__project=scope.project, kind=ChecklistStage.Kind.ATTRIBUTES
    )
    return {
        row.checklist_id
        for row in rows
        if any(one.get("from") in scope.answers for one in row.data)
    }


def clear_checklists(scope: Scope) -> None:
    """Take the attributes out of stages, versions, tasks, runs and comparisons of sets.

    A run that kept them in its list of questions has another hash without them.
    """
    project, kind = scope.project, ChecklistStage.Kind.ATTRIBUTES
    for checklist in _checklists(scope):
        with transaction.atomic():
            for row in ChecklistStage.objects.filter(checklist=checklist, kind=kind):
                _save(row, "data", _blank_attributes(row.data, scope))
    versions = ChecklistVersion.objects.filter(checklist__project=project)
    tasks = TaskVersion.objects.filter(task__project=project, task__type="checklist")
    with transaction.atomic(), erasing():
        for version in versions:
            _save(version, "questions", _without_origins(version.questions, scope))
        for shown in tasks:
            asked = _without_origins(shown.settings.get("questions", []), scope)
            _save(shown, "settings", {**shown.settings, "questions": asked})
        for figure in RunFigure.objects.filter(run__project=project, name=ASKED_LIST):
            if _save(figure, "data", _without_origins(figure.data, scope)):
                spoiled = Run.objects.filter(pk=figure.run_id, spoiled="")
                spoiled.update(spoiled=SPOILED[scope.why])
        items = Item.objects.filter(answers__in=scope.answers)
        for compared in SetComparison.objects.filter(item__in=items.values("pk")):
            _save(compared, "sets", [_without_texts(one, scope) for one in compared.sets])


def _blank_attributes(entries: Sequence[Any], scope: Scope) -> list[Any]:
    """Blank the text of attributes in the scope, keeping their entries."""
    return [{**one, "text": GONE} if _is_own(one, scope) else one for one in entries]


def _is_own(entry: Mapping[str, Any], scope: Scope) -> bool:
    if entry.get("from") in scope.answers:
        return True
    author = entry.get("author")
    if entry.get("kind") != stages.PERSON:
        return False
    if scope.author is not None:
        return author == scope.author.pseudonym
    return (author, entry.get("text")) in scope.attributes


def _without_origins(questions: Sequence[Any], scope: Scope) -> list[Any]:
    """Questions without the attributes that they were made from, where these are erased."""
    return [
        {**one, "attributes": _blank_attributes(one["attributes"], scope)}
        if one.get("attributes")
        else one
        for one in questions
    ]


def _without_texts(compared: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    """A compared set, which holds attributes as bare texts, without those nobody else wrote."""
    texts = [GONE if text.strip() in scope.alone else text for text in compared["attributes"]]
    return {**compared, "attributes": texts}


def _save(row: models.Model, column: str, fresh: Any) -> bool:
    """Store what has changed; whether it has."""
    if fresh == getattr(row, column):
        return False
    type(row)._default_manager.filter(pk=row.pk).update(**{column: fresh})
    return True


@transaction.atomic
def clear_notes(scope: Scope) -> None:
    """Take out what graders and judges noted about these answers; their marks stay."""
    for rows in (
        Grade.objects.filter(answer__in=scope.answers),
        AuditVerdict.objects.filter(answer__in=scope.answers),
    ):
        rows.exclude(note="").update(note=GONE)


def drop_vectors(scope: Scope) -> int:
    """Delete the stored vectors of texts that nobody else wrote."""
    return sum(
        Embedding.objects.filter(text_hash__in=part).delete()[0]
        for part in _parts(sorted(_hashes(scope.alone)), 1000)
    )


def _hashes(words: Iterable[str]) -> set[str]:
    return {text_hash(word) for word in words}


def plan(worker: Membership) -> tuple[reads.HeldData, int]:
    """Return what erasing a worker would remove, and how many runs it would spoil."""
    ids: Sequence[int] = list(worker.assignments.values_list("pk", flat=True))
    answers = reads.answers_with_words(ids)
    snapshots = [
        pk
        for pk, found in Snapshot.objects.filter(project=worker.project_id).values_list(
            "pk", "answer_ids"
        )
        if not answers.isdisjoint(found)
    ]
    runs = Run.objects.filter(snapshot__in=snapshots, spoiled="").exclude(
        method__in=without_texts()
    )
    return reads.held_data(worker), runs.count()
