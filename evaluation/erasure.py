"""Erasing what a person wrote, wherever it went: calls, vectors, stages, figures, then answers.

This side is cleared first, since only the answers say which words to look for; a second look at
the end takes what a run wrote meanwhile. Every step is a transaction of a bounded size and does
nothing when it is done again, so that a killed job is simply taken up anew.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import models, transaction
from django.utils import timezone

from annotation.actions import erasure as collected
from annotation.actions.erasure import AT_ONCE, GONE, erasing, without
from annotation.models import Candidate, Item, Membership, Project, TaskVersion, User
from annotation.selectors import erasure as reads
from evaluation import checks
from evaluation.embeddings import text_hash
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
from evaluation.runs import ACTIVE

CHUNK = 200  # calls and figures a transaction
# Runs of these read judgments, ratings and ticks, which stay, and no text.
CHOICES_ONLY = ("pairwise", "pairwise_checks", "ratings", checks.SLUG)
SPOILED = {
    "worker": "It read texts of a worker that were erased on request.",
    "due": "It read texts that were erased after the days that the project keeps them.",
}
SUBJECT = re.compile(r"(answer|item|pair|text|checklist):(\d+)")


@dataclass
class Scope:
    """What is erased: assignments of a project, whose they are (one worker's), and the words."""

    project: int
    assignments: list[int]
    why: str
    author: Membership | None = None
    alone: set[str] = field(default_factory=set)  # that nobody else wrote
    findable: set[str] = field(default_factory=set)  # and long enough to be looked for
    answers: set[int] = field(default_factory=set)
    texts: set[int] = field(default_factory=set)  # candidates made of them

    def read(self) -> Scope:
        """Look up the words; afterwards they are known here alone."""
        self.alone, self.findable = reads.own_words(self.project, self.assignments, self.author)
        self.answers = reads.answers_with_words(self.assignments)
        made = models.Q(source_answer__assignment__in=self.assignments)
        if self.author is not None:
            made |= models.Q(author=self.author)
        self.texts = set(Candidate.objects.filter(made).values_list("pk", flat=True))
        return self


def _parts(ids: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (ids[start : start + size] for start in range(0, len(ids), size))


def ask(*, by: User, worker: Membership, although_undecided: bool = False) -> Membership:
    """Decide on it (``annotation.actions.erasure.ask``) and have it done in the background."""
    from evaluation.jobs import erase_worker

    with transaction.atomic():
        worker = collected.ask(by=by, worker=worker, although_undecided=although_undecided)
        transaction.on_commit(lambda: erase_worker.delay(worker.pk), robust=True)
    return worker


def carry_out(worker_id: int) -> str:
    """Erase a worker whose erasure was decided; "waits" while runs of the project are in work."""
    worker = Membership.objects.filter(pk=worker_id, erase_asked_at__isnull=False).first()
    if worker is None or worker.erased_at:
        return "not mine"
    with transaction.atomic():
        # A run is claimed under the same lock, and none is while an erasure is to be done.
        Project.objects.select_for_update(no_key=True).get(pk=worker.project_id)
        if Run.objects.filter(project=worker.project_id, state=RunState.RUNNING).exists():
            return "waits"
    ids = list(worker.assignments.order_by("pk").values_list("pk", flat=True))
    _erase(Scope(worker.project_id, ids, "worker", worker))
    collected.finish(worker=worker.pk)
    return "done"


def waiting() -> list[int]:
    """Workers whose erasure was decided and is not done."""
    return list(reads.waiting().order_by("pk").values_list("pk", flat=True))


def erase_due() -> int:
    """Erase the texts that were kept for as long as their projects say; how many assignments."""
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
    spoil(scope, blank_calls(scope))
    clear_checklists(scope)
    clear_figures(scope)
    drop_vectors(scope)
    done = sum(
        collected.erase_words(assignments=part, by=None, why=scope.why)
        for part in _parts(scope.assignments, AT_ONCE)
    )
    # Nothing can be read from now on; what a run wrote since the first look goes as well.
    spoil(scope, blank_calls(scope, since=last))
    clear_figures(scope)
    drop_vectors(scope)
    return done


@transaction.atomic
def spoil(scope: Scope, calls: Collection[int]) -> int:
    """Mark the runs that read these answers or used these calls: none can be computed again."""
    runs = Run.objects.filter(project=scope.project, spoiled="")
    snapshots = [
        pk
        for pk, ids in Snapshot.objects.filter(project=scope.project)
        .values_list("pk", "answer_ids").iterator(chunk_size=20)
        if not scope.answers.isdisjoint(ids)
    ]  # fmt: skip
    read = runs.filter(snapshot__in=snapshots).exclude(method__in=CHOICES_ONLY)
    marked = read.update(spoiled=SPOILED[scope.why])
    used = CallUse.objects.filter(call__in=calls).values("run")
    return marked + runs.filter(pk__in=used).update(spoiled=SPOILED[scope.why])


# -- calls of models -----------------------------------------------------------------------------


def blank_calls(scope: Scope, since: int = 0) -> list[int]:
    """Empty what was said to models and came back where the words stand in it; hash and cost stay.

    Found by what a call was about, and by the words themselves. Returns the calls' ids.
    """
    own = LLMCall.objects.filter(project=scope.project, pk__gt=since)
    found = set(own.filter(pk__in=_about(scope)).values_list("pk", flat=True))
    if scope.findable:
        rows = own.exclude(messages=[]).only("messages", "text", "value")
        for row in rows.iterator(chunk_size=CHUNK):
            if _holds(scope.findable, [row.messages, row.text, row.value]):
                found.add(row.pk)
    for part in _parts(sorted(found), CHUNK):
        _blank(list(part), scope)
    return sorted(found)


def _about(scope: Scope) -> list[int]:
    """Calls that name one of the answers, of the texts made of them or of their checklists."""
    items = Item.objects.filter(models.Q(first__in=scope.texts) | models.Q(second__in=scope.texts))
    shown = set(items.values_list("pk", flat=True))
    known = {
        "answer": scope.answers, "text": scope.texts, "item": shown, "pair": shown,
        "checklist": _checklists(scope),
    }  # fmt: skip
    uses = CallUse.objects.filter(run__project=scope.project).values_list("call_id", "subject")
    return [
        call
        for call, subject in uses.iterator(chunk_size=5000)
        if (match := SUBJECT.match(subject)) and int(match[2]) in known[match[1]]
    ]


@transaction.atomic
def _blank(calls: list[int], scope: Scope) -> None:
    for row in LLMCall.objects.filter(pk__in=calls).only("value", "reason"):
        LLMCall.objects.filter(pk=row.pk).update(
            messages=[], text="", value=_unquoted(row.value, scope.findable),
            reason=without(row.reason, scope.findable),
        )  # fmt: skip
    with erasing():
        LLMAttempt.objects.filter(call__in=calls).exclude(text="").update(text="")


def _unquoted(value: Any, words: Collection[str]) -> Any:
    """A model's answer without strings that quote these words, whole or in part."""
    if isinstance(value, str):
        part = len(value) >= reads.FEWEST and any(value in word for word in words)
        return GONE if part or any(word in value for word in words) else value
    if isinstance(value, dict):
        return {name: _unquoted(one, words) for name, one in value.items()}
    if isinstance(value, list):
        return [_unquoted(one, words) for one in value]
    return value


def _holds(words: Collection[str], value: Any) -> bool:
    told = "\n".join(reads.strings(value))
    return any(word in told for word in words)


# -- checklists, figures, vectors ---------------------------------------------------------------


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
    """Take the attributes out of stages, frozen versions, their tasks and comparisons of sets."""
    name = scope.author.pseudonym if scope.author is not None else ""
    project = scope.project
    for checklist in _checklists(scope):
        with transaction.atomic():
            for row in ChecklistStage.objects.filter(checklist=checklist):
                _save(row, "data", _anonymous(row.data, scope, name))
    versions = ChecklistVersion.objects.filter(checklist__project=project)
    tasks = TaskVersion.objects.filter(task__project=project, task__type="checklist")
    with transaction.atomic(), erasing():
        for version in versions:
            _save(version, "questions", _anonymous(version.questions, scope, name))
        for shown in tasks:
            _save(shown, "settings", _anonymous(shown.settings, scope, name))
        for compared in SetComparison.objects.filter(item__task__project=project):
            _save(compared, "sets", _anonymous(compared.sets, scope, name))
            _save(compared, "answers", without(compared.answers, scope.findable))


def _anonymous(value: Any, scope: Scope, name: str) -> Any:
    """Entries of these answers or of this author, and whole texts of theirs, without words."""
    if isinstance(value, str):
        return GONE if value.strip() in scope.alone else without(value, scope.findable)
    if isinstance(value, list):
        return [_anonymous(one, scope, name) for one in value]
    if isinstance(value, dict):
        origin = value.get("from")
        own = isinstance(origin, int) and origin in scope.answers
        own |= bool(name) and value.get("author") == name and value.get("kind") == "person"
        if own and "text" in value:
            return {**value, "text": GONE}
        return {key: _anonymous(one, scope, name) for key, one in value.items()}
    return value


def _save(row: models.Model, column: str, fresh: Any) -> None:
    if fresh != getattr(row, column):
        type(row)._default_manager.filter(pk=row.pk).update(**{column: fresh})


def clear_figures(scope: Scope) -> None:
    """Take quotes out of figures of runs and out of what graders and judges noted."""
    if not scope.findable:
        return
    project, words = scope.project, scope.findable
    for rows, columns in (
        (RunFigure.objects.filter(run__project=project), ("data",)),
        (Run.objects.filter(project=project).exclude(error=""), ("error",)),
        (Grade.objects.filter(grading__task__project=project).exclude(note=""), ("note",)),
        (AuditVerdict.objects.filter(audit__task__project=project).exclude(note=""), ("note",)),
    ):
        collected.take_out(rows, columns, words)


def drop_vectors(scope: Scope) -> int:
    """Delete the stored vectors of texts that nobody else wrote."""
    return sum(
        Embedding.objects.filter(text_hash__in=part).delete()[0]
        for part in _parts(sorted(_hashes(scope.alone)), 1000)
    )


def _hashes(words: Iterable[str]) -> set[str]:
    return {text_hash(word) for word in words}


def plan(worker: Membership) -> tuple[reads.Held, int]:
    """What erasing this worker takes away, and how many finished runs could not be redone."""
    ids: Sequence[int] = list(worker.assignments.values_list("pk", flat=True))
    answers = reads.answers_with_words(ids)
    snapshots = [
        pk
        for pk, found in Snapshot.objects.filter(project=worker.project_id).values_list(
            "pk", "answer_ids"
        )
        if not answers.isdisjoint(found)
    ]
    runs = Run.objects.filter(snapshot__in=snapshots, spoiled="").exclude(method__in=CHOICES_ONLY)
    return reads.held(worker), runs.count()
