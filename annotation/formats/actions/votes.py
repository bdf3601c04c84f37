"""Judgments in the formats of other tools: battles, frames of comparisons, labels of items.

A file's own order is kept: it is the order in which a person judged, and rows are exported in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.accounts.named.actions import workers_named
from annotation.formats.actions.answers import Rows
from annotation.formats.actions.judgments import (
    BATCH,
    Added,
    PairItem,
    Vote,
    add_items,
    add_votes,
    choices_of,
    import_task,
    place_votes,
    submission_time,
)
from annotation.formats.imports.candidates import key_of
from annotation.formats.imports.published.study_json import LABELS
from annotation.formats.imports.tools.arena import OVERALL, TOPIC, Battle, find_pair
from annotation.formats.imports.tools.crowdkit import Comparison, Label
from annotation.formats.selectors.known import compared_pairs
from annotation.models import Answer, Candidate, ChoiceValue, Item, Project, Task, User
from annotation.pairs.actions.candidates import add_candidates
from annotation.records.actions.audit import record
from annotation.task_types import get_type
from annotation.task_types.pairwise.sides import ORDINALS, STORED
from annotation.work.snapshots.judgments import AskedDimension, version_items
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import LARGEST, count, parse_whole

IMPORTED = "judgments.import"
MAX_KEY = 120  # characters of a text's id


class SeenVote(NamedTuple):
    """Two texts as they were seen, which side won, and who said so."""

    left: Candidate
    right: Candidate
    winner: str
    judge: str


@dataclass(frozen=True)
class Target:
    """Where votes go: a task that is there, or one of this title in the project; which dimension.

    ``dimension`` may be left empty where the task has one, or asks for overall quality.
    """

    project: Project
    task: Task | None = None
    title: str = ""
    dimension: str = ""


@transaction.atomic
def import_battles(
    *, by: User, target: Target, battles: Sequence[Battle], name: str = ""
) -> tuple[Task, Added]:
    """Import battles as votes on pairs of texts; texts that exist are not added again.

    Raises Invalid where the task has no such dimension.
    """
    task, dimension = _task(by, target, neutral=True)
    pairs = compared_pairs(task)
    battles = [find_pair(one, pairs) for one in battles]
    texts = _battle_texts(by, target.project, battles, name)
    seen = [
        SeenVote(texts[one.topic, *one.left], texts[one.topic, *one.right], one.winner, one.judge)
        for one in battles
    ]
    votes = _votes(by, task, dimension, seen, [one.meta for one in battles])
    timed = [
        vote._replace(at=one.at, meta=one.meta, order_known=one.at is not None)
        for vote, one in zip(votes, battles, strict=True)
    ]
    return task, _stored(by, task, timed, name)


def import_battle_rows(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Add checked battles of an upload to a pairwise task; returns how many are new."""
    battles = [Battle(**row) for row in rows]
    target = Target(task.project, task)
    return import_battles(by=by, target=target, battles=battles, name=name)[1].new


@transaction.atomic
def import_comparisons(
    *, by: User, target: Target, rows: Sequence[Comparison], name: str = ""
) -> tuple[Task, Added]:
    """Import a pairwise frame as votes on pairs; a name is the id of a text in the project.

    What no text has as its id becomes a source of its own, whose text is not in the file. Raises
    Invalid where two names are texts of different topics.
    """
    task, dimension = _task(by, target, neutral=False)
    project = target.project
    names = list(dict.fromkeys(name for row in rows for name in (row.left, row.right)))
    known = set(
        Candidate.objects.filter(project=project, key__in=names).values_list("key", flat=True)
    )
    new = [
        {"key": one, "topic": TOPIC, "text": "", "system": one} for one in names if one not in known
    ]
    add_candidates(by=by, project=project, rows=new, name=name)
    texts = {one.key: one for one in Candidate.objects.filter(project=project, key__in=names)}
    for row in rows:
        if texts[row.left].topic != texts[row.right].topic:
            raise Invalid(
                _("Line %(line)s: %(left)s and %(right)s are texts of different topics.")
                % {"line": count(row.line), "left": row.left, "right": row.right},
                fields={"right": _("Only texts of one topic are compared.")},
            )
    seen = [SeenVote(texts[row.left], texts[row.right], row.winner, row.worker) for row in rows]
    votes = _votes(by, task, dimension, seen)
    votes = [vote._replace(order_known=False) for vote in votes]
    return task, _stored(by, task, votes, name)


@transaction.atomic
def import_labels(
    *, by: User, task: Task, dimension: str, labels: Sequence[Label], name: str = ""
) -> Added:
    """Labels of a task's items by their ids, on one dimension or scale.

    A pair's labels are first, neutral and second, or -1, 0 and 1; a rating's are points of the
    scale. An imported answer that lacks the dimension gets it. Raises Invalid whose ``rows`` name
    line, column, value, wrong and mend.
    """
    if task.current is None:
        raise Conflict(_("Publish the task first: answers name the version they answer."))
    one = _dimension(task, dimension)
    items = {item.key: item for item in task.items.in_version(task.current.number)}
    codes = [_code(label.label, one) for label in labels]
    workers = workers_named(task.project, {label.worker for label in labels})
    there = _labelled(task, one.name)
    bad, values, votes = [], [], []
    for label, code in zip(labels, codes, strict=True):
        item = items.get(label.task)
        who = workers[label.worker].pk
        found = there.get((who, item.pk)) if item else None
        if item is None or code is None:
            bad.append(_bad(label, _("No item of the task has this id.") if item is None else ""))
        elif found is None:
            vote = Vote(who, item.pk, ((one.name, *code),), flipped=item.side < 0)
            is_pair = item.second_id is not None
            votes.append(vote._replace(sides_known=not is_pair, order_known=not is_pair))
        elif found.code is None and found.imported:
            values.append(
                ChoiceValue(answer_id=found.answer, field=one.name, code=code[0], ordinal=code[1])
            )
        elif found.code != code[0]:
            bad.append(_bad(label, _("The task has another label of this worker.")))
    if bad:
        raise Invalid(
            _("%(bad)s of %(labels)s labels cannot be taken. Nothing was imported.")
            % {"bad": count(len(bad)), "labels": count(len(labels))},
            rows=bad[:200],
        )
    ChoiceValue.objects.bulk_create(values, batch_size=BATCH)
    added = _stored(by, task, place_votes(votes), name, more=len(values))
    return Added(added.new + len(values), len(labels) - added.new - len(values))


def _task(by: User, target: Target, *, neutral: bool) -> tuple[Task, str]:
    task = target.task
    if task is None:
        name = target.dimension or OVERALL
        label = LABELS.get(name, name.replace("_", " ").capitalize())
        dimension = {"name": name, "label": label, "neutral": neutral}
        task = import_task(
            by=by,
            project=target.project,
            type="pairwise",
            title=target.title,
            fields={"settings": {"dimensions": [dimension], "show_sources": False}},
        )
    elif not get_type(task.type).pairs_texts:
        raise Invalid(_("This task compares no texts."), fields={"task": _("A pairwise task.")})
    return task, _dimension(task, target.dimension).name


def _dimension(task: Task, dimension: str) -> AskedDimension:
    known = {one.name: one for one in version_items(task.versions.latest("number"))}
    if not dimension:
        dimension = next(iter(known)) if len(known) == 1 else OVERALL
    if dimension not in known:
        raise Invalid(
            _("The task does not ask for %(dimension)s.") % {"dimension": dimension},
            fields={"dimension": ", ".join(known)},
        )
    return known[dimension]


def _battle_texts(
    by: User, project: Project, battles: Sequence[Battle], name: str
) -> dict[tuple[str, str, str], Candidate]:
    """The texts by topic, model and content, made where they are new."""
    wanted = {
        (one.topic, *side): (one.query, chat)
        for one in reversed(battles)
        for side, chat in zip((one.left, one.right), one.chats, strict=True)
    }

    def there() -> dict[tuple[str, str, str], Candidate]:
        found = Candidate.objects.filter(project=project, topic__in={key[0] for key in wanted})
        texts = found.select_related("system").order_by("-pk")
        return {(text.topic, str(text.system), text.text): text for text in texts}

    known = there()
    named = Counter(f"{topic}-{model}" for topic, model, text in wanted if not text)
    there_already = Candidate.objects.filter(project=project, key__in=named)
    taken = set(there_already.values_list("key", flat=True))
    taken |= {own for own, n in named.items() if n > 1}

    def key(topic: str, model: str, text: str) -> str:
        """Call a text without words by what the file calls it, unless another one has that key."""
        own = f"{topic}-{model}"
        return key_of(topic, model, text) if text or own in taken or len(own) > MAX_KEY else own

    new = [
        {
            "key": key(topic, model, text),
            "topic": topic,
            "query": query,
            "text": text,
            "system": model,
            "chat": chat,
        }
        for (topic, model, text), (query, chat) in wanted.items()
        if (topic, model, text) not in known
    ]
    add_candidates(by=by, project=project, rows=new, name=name)
    return there() if new else known


def _votes(
    by: User,
    task: Task,
    dimension: str,
    seen: Sequence[SeenVote],
    metas: Iterable[Mapping[str, str] | None] = (),
) -> Sequence[Vote]:
    """Votes on pairs as they were seen, left and right, items made where they are new.

    ``metas`` are further columns of each vote; a new item has those that all its votes agree on.
    """
    workers = workers_named(task.project, {one.judge for one in seen})
    items = _items(by, task, seen, _agreed(zip(seen, metas, strict=False)))
    votes = []
    for left, right, winner, judge in seen:
        flipped = left.pk > right.pk
        item = items[min(left.pk, right.pk), max(left.pk, right.pk), flipped]
        choices = choices_of({dimension: winner}, flipped=flipped)
        votes.append(Vote(workers[judge].pk, item, choices, flipped))
    return place_votes(votes)


def _agreed(
    rows: Iterable[tuple[SeenVote, Mapping[str, str] | None]],
) -> dict[tuple[int, int], dict[str, str]]:
    """By pair, the columns that say the same in all of its votes."""
    found: dict[tuple[int, int], dict[str, str]] = {}
    for vote, meta in rows:
        first, second = sorted((vote.left.pk, vote.right.pk))
        pair, own = (first, second), dict(meta or {})
        known = found.setdefault(pair, own)
        found[pair] = {name: one for name, one in known.items() if own.get(name) == one}
    return found


def _items(
    by: User,
    task: Task,
    seen: Iterable[SeenVote],
    metas: Mapping[tuple[int, int], Mapping[str, str]],
) -> dict[tuple[int, int, bool], int]:
    """The item of each pair as it was seen: one that is shown only so, else one of any side."""
    pairs = {
        (min(a.pk, b.pk), max(a.pk, b.pk)): a for a, b, _, _ in seen
    }  # a topic's texts have one question
    there = _sided(task)
    new = [
        PairItem(
            f"{text.topic[:40]}-{first}-{second}",
            *(text.topic, text.query, first, second),
            meta=metas.get((first, second)),
        )
        for (first, second), text in pairs.items()
        if not {(first, second, side) for side in (-1, 0, 1)} & there.keys()
    ]
    if new:
        add_items(by=by, task=task, pairs=new, titles={one.topic: one.question for one in new})
        there = _sided(task)
    return {
        (*pair, flipped): next(
            there[*pair, side]
            for side in (-1 if flipped else 1, 0, 1, -1)
            if (*pair, side) in there
        )
        for pair in pairs
        for flipped in (False, True)
    }


def _sided(task: Task) -> dict[tuple[int, int, int], int]:
    rows = Item.objects.filter(task=task, until=None, expected__isnull=True, second__isnull=False)
    return {
        (first, second, side): pk
        for pk, first, second, side in rows.order_by("-repeat", "-pk").values_list(
            "pk", "first_id", "second_id", "side"
        )
    }


def _stored(by: User, task: Task, votes: Sequence[Vote], name: str, *, more: int = 0) -> Added:
    """Add the votes, and say so in the log where any is new."""
    added = add_votes(task=task, votes=votes, sessions=submission_time(votes))
    if added.new or more:
        record(
            by=by,
            project=task.project,
            action=IMPORTED,
            on=task,
            file=name,
            new=added.new + more,
        )
    return added


@dataclass(frozen=True)
class _Found:
    """An answer that is there, and its label on the dimension if it has one."""

    answer: int
    code: str | None
    imported: bool


def _labelled(task: Task, dimension: str) -> dict[tuple[int, int], _Found]:
    """Each worker's first answer to each item."""
    answers = Answer.objects.filter(item__task=task, worker__isnull=False)
    codes = dict(
        ChoiceValue.objects.filter(answer__item__task=task, field=dimension).values_list(
            "answer_id", "code"
        )
    )
    return {
        (worker, item): _Found(pk, codes.get(pk), source == "import")
        for pk, worker, item, source in answers.order_by("-pk").values_list(
            "pk", "worker_id", "item_id", "assignment__source"
        )
    }


def _code(label: str, one: AskedDimension) -> tuple[str, int] | None:
    """Code and ordinal of a label as a file has it; None where the task has no such label."""
    if one.points:
        point = one.parse_point(label)
        return None if point is None else (str(point), point)
    number = parse_whole(label, low=-LARGEST)
    code = (
        label
        if label in STORED
        else dict(zip((-1, 0, 1), STORED, strict=True)).get(2 if number is None else number)
    )
    if code is None or (ORDINALS[code] == 0 and not one.neutral):
        return None
    return code, ORDINALS[code]


def _bad(label: Label, wrong: str) -> Mapping[str, Any]:
    column, value = ("task", label.task) if "id" in wrong else ("label", label.label)
    return {
        "line": label.line,
        "column": column,
        "value": value,
        "wrong": wrong or _("The task has no such label."),
        "mend": _("Leave it out, or mend it."),
    }
