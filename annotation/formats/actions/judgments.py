"""Judgments from elsewhere: a task for them, its pairs, and votes of people and models in bulk.

Votes are canonical here; what a file says of left and right has been turned by ``sides`` before.
What is there already is left alone, so that a file taken in twice adds nothing.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.authoring.actions.drafts import as_title, edit_draft, lock_draft
from annotation.authoring.actions.items import STEP
from annotation.authoring.actions.tasks import create_task, move, publish
from annotation.files.reading.keys import Counts, Keys
from annotation.files.reading.spool import Spool
from annotation.formats.actions.answers import BATCH, MOST, lock_version, take_slots
from annotation.models import (
    Answer,
    Assignment,
    AssignmentItem,
    ChoiceValue,
    Item,
    ItemGroup,
    Project,
    Task,
    User,
)
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState, TaskVersion
from annotation.records.actions.bulk import (
    Batch,
    copy_into,
    encode_rows,
    reserve_ids,
    split_rows,
    write_batches,
)
from annotation.task_types import Values
from annotation.task_types.pairwise.sides import ORDINALS, to_canonical
from annotation.work.actions.answers import encode_values
from crowdqc.errors import Conflict

# Votes written at a time. What the database counts of them it counts once a time: with 2,000 an
# import took a tenth longer.
AT_ONCE = 10_000
Advance = Callable[[int], None]
Choices = tuple[tuple[str, str, int | None], ...]  # field, code, ordinal
TICK = dt.timedelta(microseconds=1)


class PairItem(NamedTuple):
    """An item to be: two candidates in canonical order (or one, or none) under a topic."""

    key: str
    topic: str
    question: str
    first: int | None = None
    second: int | None = None
    side: int = 0
    repeat: bool = False
    meta: Mapping[str, str] | None = None  # columns of its file that no field reads


class Vote(NamedTuple):
    """One author's judgment of one item as it is stored.

    ``sides_known`` and ``order_known``: whether it is recorded on which sides the two texts stood,
    and after which other items it was given.
    ``author`` is a worker's membership or a system; ``bundle`` tells an author's assignments
    apart, ``position`` counts from 0 within one. ``met`` is the place from 0 at which a worker met
    the item, where that is another one.
    """

    author: int
    item: int
    choices: Choices
    flipped: bool = False
    bundle: str = ""
    position: int = 0
    uncounted: str = ""  # why it does not count
    texts: tuple[tuple[str, int, str], ...] = ()
    spans: tuple[tuple[str, int, str, int, int], ...] = ()
    replicate: int = 0
    at: dt.datetime | None = None
    met: int | None = None
    meta: Mapping[str, str] | None = None  # columns of the file that no field reads
    sides_known: bool = True
    order_known: bool = True


class Votes(Spool[Vote]):
    """Votes with what is asked of all before the first is stored, so that they are read once."""

    def __init__(self, given: Iterable[Vote] = ()) -> None:
        self.slots: Counter[int] = Counter()  # how many count, by item
        # (author, bundle) -> the time of the last vote in it, where that is known
        self.bundles: dict[tuple[int, str], dt.datetime | None] = {}
        self.fields: set[str] = set()
        super().__init__(given)

    def append(self, one: Vote, weight: int = 0) -> None:
        """Put one more at the end."""
        if not one.uncounted:
            self.slots[one.item] += 1
        where = (one.author, one.bundle)
        last = self.bundles.setdefault(where, one.at)
        if one.at is not None and (last is None or one.at > last):
            self.bundles[where] = one.at
        self.fields.update(choice[0] for choice in one.choices)
        super().append(one, weight)


class Session(NamedTuple):
    """When an author opened and submitted a bundle, as far as that is known."""

    opened: dt.datetime | None
    submitted: dt.datetime


class Added(NamedTuple):
    """How many rows are new, and how many were there already."""

    new: int
    there: int


def choices_of(shown: Mapping[str, str], *, flipped: bool) -> Choices:
    """Stored choices of a vote as displayed: dimension -> left, neutral or right."""
    codes = ((name, to_canonical(side, flipped=flipped)) for name, side in shown.items())
    return tuple((name, code, ORDINALS[code]) for name, code in codes)


def task_called(project: Project, type: str, title: str) -> Task | None:
    """Return the project's task of this type and title; None if there is none."""
    return (
        project.tasks.filter(type=type, versions__title=title)
        .select_related("project", "current")
        .order_by("pk")
        .first()
    )


def import_task(
    *, by: User, project: Project, type: str, title: str, fields: Mapping[str, Any]
) -> Task:
    """The task of this title, made as a draft with these rules where there is none."""
    task = task_called(project, type, title)
    if task is None:
        task = create_task(by=by, project=project, type=type, title=title)
        edit_draft(by=by, task=task, fields=fields)
    return task


@transaction.atomic
def add_items(
    *, by: User, task: Task, pairs: Sequence[PairItem], titles: Mapping[str, str]
) -> dict[str, int]:
    """Publish these items with the task, where they are new; returns the ids of all by key.

    ``titles`` name the topics. An item is asked in every later version; what is there stays. A
    task that nobody was asked yet is closed at once: who wants more answers opens it. Raises
    Conflict where the task has a draft of other changes.
    """
    shown = task.versions.latest("number")
    live = dict(task.items.in_version(shown.number).values_list("key", "pk"))
    new = [pair for pair in pairs if pair.key not in live]
    if new:
        closed = _ready(by, task)
        draft = lock_draft(task, by=by)
        groups = _groups(task, draft.number, [pair.topic for pair in new], titles)
        last = task.items.order_by("-position").values_list("position", flat=True).first() or 0
        made = Item.objects.bulk_create(
            [
                Item(
                    task=task,
                    group_id=groups[pair.topic],
                    key=pair.key,
                    question=pair.question,
                    position=last + STEP * number,
                    since=draft.number,
                    side=pair.side,
                    first_id=pair.first,
                    second_id=pair.second,
                    repeat=pair.repeat,
                    settings={"meta": dict(pair.meta)} if pair.meta else {},
                )
                for number, pair in enumerate(new, 1)
            ],
            batch_size=BATCH,
        )
        live |= {item.key: item.pk for item in made}
        publish(by=by, task=task)
        if closed:
            move(by=by, task=task, to="close")
        task.refresh_from_db()
    return live


def _ready(by: User, task: Task) -> bool:
    """See that a draft may be begun or is empty; whether the task is to be closed afterwards."""
    if task.current_id is None:
        if task.items.exists():
            raise Conflict(_("The task has pairs that are not published; publish them first."))
        return True
    if task.versions.filter(published_at__isnull=True).exists():
        raise Conflict(_("The task has a draft of changes; publish it or throw it away first."))
    if task.state == TaskState.CLOSED:
        move(by=by, task=task, to="reopen")
        return True
    return False


def _groups(
    task: Task, number: int, topics: Iterable[str], titles: Mapping[str, str]
) -> dict[str, int]:
    found = dict(task.groups.in_version(number).values_list("key", "pk"))
    last = task.groups.order_by("-position").values_list("position", flat=True).first() or 0
    new = [topic for topic in dict.fromkeys(topics) if topic not in found]
    made = ItemGroup.objects.bulk_create(
        [
            ItemGroup(
                task=task,
                key=topic,
                title=as_title(titles.get(topic, "")),
                since=number,
                position=last + STEP * place,
            )
            for place, topic in enumerate(new, 1)
        ],
        batch_size=BATCH,
    )
    return found | {group.key: group.pk for group in made}


def _bundles(
    version: TaskVersion, sessions: Mapping[tuple[int, str], Session], now: dt.datetime
) -> dict[tuple[int, str], int]:
    """The submitted assignments, without pay, that votes from elsewhere belong to."""
    ids = reserve_ids(Assignment, len(sessions))
    copy_into(
        Assignment,
        ("id", "worker_id", "leased_at", "opened_at", "submitted_at", "expires_at"),
        (
            (pk, author, one.opened or one.submitted, one.opened, one.submitted, one.submitted)
            for pk, ((author, _), one) in zip(ids, sessions.items(), strict=True)
        ),
        task_id=version.task_id,
        version_id=version.pk,
        source="import",
        pay=0,
        state=AssignmentState.SUBMITTED,
        settled_at=now,
    )
    return dict(zip(sessions, ids, strict=True))


@transaction.atomic
def add_votes(
    *,
    task: Task,
    votes: Sequence[Vote],
    sessions: Mapping[tuple[int, str], Session] | None = None,
    advance: Advance = lambda done: None,
) -> Added:
    """Store votes of people, a bundle an assignment: submitted, without pay, settled.

    Votes that count hold slots, and the redundancy grows where they are more than it asks for.
    ``sessions`` gives the times of (author, bundle); the others are taken to be submitted now,
    one after another. ``advance`` is told how many votes are stored.
    """
    version, now = lock_version(task), timezone.now()
    new, sessions = _new(task, votes), sessions or {}
    told = {
        where: sessions.get(where) or Session(None, now + number * TICK)
        for number, where in enumerate(new.bundles)
    }
    take_slots(new.slots)
    bundles, ids = _bundles(version, told, now), iter(reserve_ids(Answer, len(new)))

    def batches() -> Iterator[Batch]:
        for part in split_rows(new, AT_ONCE):
            placed = [
                (pk, vote, bundles[vote.author, vote.bundle], told[vote.author, vote.bundle])
                for vote, pk in zip(part, ids, strict=False)
            ]
            items = [
                (bundle, vote.item, vote.position, vote.flipped, not vote.uncounted)
                for _, vote, bundle, _ in placed
            ]
            answers = [(pk, *_answer(vote, at, when)) for pk, vote, at, when in placed]
            names = ("assignment_id", "item_id", "position", "flipped", "holds")
            yield Batch(
                len(part),
                [
                    encode_rows(AssignmentItem, names, items, lazy=False),
                    encode_rows(
                        *(Answer, ("id", *ANSWER), answers), lazy=False, version_id=version.pk
                    ),
                    *encode_values((pk, _values(vote)) for pk, vote, *_ in placed),
                ],
            )

    write_batches(batches(), advance)
    return Added(len(new), len(votes) - len(new))


@transaction.atomic
def add_model_votes(
    *, task: Task, votes: Sequence[Vote], advance: Advance = lambda done: None
) -> Added:
    """Store votes of systems; a system judges an item once a replicate."""
    version, now = lock_version(task), timezone.now()
    there = Keys()
    given = Answer.objects.filter(item__task=task, system__isnull=False)
    for key in given.values_list("system_id", "item_id", "replicate").iterator():
        there.add(key)

    def is_new(vote: Vote) -> bool:
        return (vote.author, vote.item, vote.replicate) not in there

    ids = iter(reserve_ids(Answer, sum(map(is_new, votes))))

    def batches() -> Iterator[Batch]:
        for part in split_rows(filter(is_new, votes), AT_ONCE):
            answers = [
                (
                    pk,
                    vote.item,
                    vote.author,
                    vote.replicate,
                    vote.flipped,
                    not vote.uncounted,
                    vote.uncounted,
                    vote.at or now,
                    vote.sides_known,
                )
                for vote, pk in zip(part, ids, strict=False)
            ]
            yield Batch(
                len(part),
                [
                    encode_rows(Answer, OF_SYSTEM, answers, lazy=False, version_id=version.pk),
                    *encode_values(
                        (row[0], _values(vote)) for row, vote in zip(answers, part, strict=True)
                    ),
                ],
            )

    done = write_batches(batches(), advance)
    return Added(done, len(votes) - done)


OF_SYSTEM = (
    "id",
    "item_id",
    "system_id",
    "replicate",
    "flipped",
    "counts",
    "uncounted_reason",
    "answered_at",
    "sides_known",
)


ANSWER = (
    "item_id",
    "assignment_id",
    "worker_id",
    "order_shown",
    "flipped",
    "counts",
    "uncounted_reason",
    "answered_at",
    "meta",
    "sides_known",
)


def _answer(vote: Vote, bundle: int, session: Session) -> tuple[Any, ...]:
    """The values of the fields ``ANSWER``."""
    shown = vote.position if vote.met is None else vote.met
    return (
        vote.item,
        bundle,
        vote.author,
        shown if vote.order_known else None,
        vote.flipped,
        not vote.uncounted,
        vote.uncounted,
        vote.at or session.submitted,
        json.dumps(vote.meta) if vote.meta else None,
        vote.sides_known,
    )


def _values(vote: Vote) -> Values:
    return Values(texts=list(vote.texts), choices=list(vote.choices), spans=list(vote.spans))


def _vote_key(
    author: int | None, item: int, flipped: bool, choices: Iterable[tuple[str, str]]
) -> Any:
    return author, item, flipped, sorted(choices)


def _count_stored(task: Task, fields: Collection[str]) -> Counts:
    """Count people's stored judgments by who, which item, how it was shown and what was said."""
    found = Counts()
    rows = Answer.objects.filter(item__task=task, worker__isnull=False).order_by("pk")
    # Models' values are read along: a join by task is planned well, one by answers is not.
    values = ChoiceValue.objects.filter(answer__item__task=task, field__in=fields)
    said = itertools.groupby(
        values.order_by("answer_id").values_list("answer_id", "field", "code").iterator(),
        key=itemgetter(0),
    )
    of, mine = next(said, (0, iter(())))
    people = rows.values_list("pk", "worker_id", "item_id", "flipped")
    for pk, worker, item, flipped in people.iterator():
        while of and of < pk:
            of, mine = next(said, (0, iter(())))
        choices = [(field, code) for _, field, code in mine] if of == pk else []
        found.add(_vote_key(worker, item, flipped, choices))
    return found


def place_votes(votes: Iterable[Vote]) -> Votes:
    """Group votes into bundles: a further vote of an author on an item starts a new bundle.

    So does who judges more than ``MOST`` items, as places are small numbers.
    """
    times = Counts()
    places: Counter[tuple[int, int]] = Counter()
    found = Votes()
    for vote in votes:
        again = times.add((vote.author, vote.item))
        further, place = divmod(places[vote.author, again], MOST)
        places[vote.author, again] += 1
        bundle = f"{again}.{further}" if further else str(again)
        found.append(vote._replace(bundle=bundle, position=place))
    return found


def submission_time(votes: Iterable[Vote]) -> dict[tuple[int, str], Session]:
    """Set each bundle's time of submission to that of its last vote, if known."""
    bundles = (votes if isinstance(votes, Votes) else Votes(votes)).bundles
    return {where: Session(None, at) for where, at in bundles.items() if at is not None}


def _new(task: Task, votes: Sequence[Vote]) -> Votes:
    """The votes that are not there; one given twice by the same person stays two."""
    votes = votes if isinstance(votes, Votes) else Votes(votes)
    workers = {author for author, _ in votes.bundles}
    if not Answer.objects.filter(item__task=task, worker__in=workers).exists():
        return votes
    there = _count_stored(task, votes.fields)

    def same(vote: Vote) -> Any:
        codes = ((name, code) for name, code, _ in vote.choices)
        return _vote_key(vote.author, vote.item, vote.flipped, codes)

    return Votes(vote for vote in votes if not there.take(same(vote)))
