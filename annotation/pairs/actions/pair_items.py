"""The pairs of a draft, drawn by its design, and attention pairs, chosen by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from annotation.authoring.actions.drafts import edit_draft, lock_draft
from annotation.authoring.actions.items import STEP
from annotation.authoring.actions.known import clean_why
from annotation.models import Candidate, Item, Task, TaskVersion, User
from annotation.pair_design.pairs import design_pairs
from annotation.records.actions.audit import record
from annotation.task_types import TaskType, get_type
from annotation.task_types.pairwise.sides import NEUTRAL, SHOWN, to_canonical
from annotation.task_types.pairwise.texts import (
    as_text,
    chosen_texts,
    design_of,
    signature,
    texts_of,
)
from crowdqc.errors import Conflict, Invalid

Wanted = tuple[int, int, int | None, bool, int]  # group, first, second, repeat, side


@dataclass(frozen=True)
class PairChanges:
    """What making the pairs did to the draft."""

    pairs: int
    new: int
    gone: int


def edit_design(*, by: User, task: Task, fields: Mapping[str, Any]) -> TaskVersion:
    """Change how pairs are drawn; nothing is drawn by that. Invalid names the field."""
    require(task, paired=True)
    shown = _shown(task)
    design = {**shown.settings["design"], **fields}
    return edit_draft(by=by, task=task, fields={"settings": {"design": design}})


def require(task: Task, *, paired: bool | None = None) -> TaskType:
    """Return the type of a task that judges texts; Invalid for others.

    ``paired``: whether it must judge them in pairs (True) or singly (False).
    """
    task_type = get_type(task.type)
    if not task_type.judges_texts or paired not in (None, task_type.pairs_texts):
        raise Invalid(gettext("This type of task judges no texts."))
    return task_type


def _shown(task: Task) -> TaskVersion:
    version = task.versions.order_by("-number").first()
    assert version is not None  # noqa: S101 (a task is born with a draft)
    return version


@transaction.atomic
def make_pairs(*, by: User, task: Task) -> PairChanges:
    """Replace the draft's pairs by those that its design draws of its texts.

    A pair that stays keeps its row, and with it its answers; made twice, nothing changes. Raises
    Invalid, naming the field, where the design cannot be met.
    """
    require(task, paired=True)
    shown = _shown(task)
    if shown.settings.get("made") == signature(task, shown):
        return PairChanges(
            task.items.in_version(shown.number).filter(expected__isnull=True).count(), 0, 0
        )
    draft = lock_draft(task, by=by)
    texts = chosen_texts(task, draft)
    groups = {group.key: group.pk for group in task.groups.in_version(draft.number)}
    gold = task.items.in_version(draft.number).filter(expected__isnull=False)
    kept_back = set(gold.values_list("first_id", "second_id"))
    authored = draft.settings["sides"] == "authored"
    wanted: list[Wanted] = []
    drawn = design_pairs(
        [as_text(text) for text in texts], design_of(draft), draft.items_per_assignment
    )
    for pair in drawn:
        first, second = sorted((int(pair.first_key), int(pair.second_key)))
        if (first, second) not in kept_back:
            side = (-1 if pair.repeat else 1) if authored else 0
            wanted.append((groups[pair.topic], first, second, pair.repeat, side))
    made = _replace(task, draft, wanted, texts)
    edit_draft(by=by, task=task, fields={"settings": {"made": signature(task, draft)}})
    record(
        by=by,
        project=task.project,
        action="pairs.make",
        on=task,
        pairs=made.pairs,
        new=made.new,
        gone=made.gone,
    )
    return made


def _replace(
    task: Task, draft: TaskVersion, wanted: Sequence[Wanted], texts: Iterable[Candidate]
) -> PairChanges:
    """Make ``wanted`` the draft's items, in this order; equal ones stay, later ones come back."""
    asked = task.items.filter(expected__isnull=True, first__isnull=False)
    live = {_pair_key(item): item for item in asked.in_version(draft.number)}
    ended = {_pair_key(item): item for item in asked.filter(until=draft.number)}
    places = {want: (n + 1) * STEP for n, want in enumerate(wanted)}
    gone = [item for want, item in live.items() if want not in places]
    Item.objects.filter(pk__in=[i.pk for i in gone if i.since == draft.number]).delete()
    Item.objects.filter(pk__in=[i.pk for i in gone if i.since != draft.number]).update(
        until=draft.number
    )
    back = [ended[want] for want in places if want not in live and want in ended]
    stay = [live[want] for want in places if want in live] + back
    for item in stay:
        item.position, item.until = places[_pair_key(item)], None
    Item.objects.bulk_update(stay, ["position", "until"], batch_size=1000)
    known = {text.pk: text for text in texts}
    titles = dict(task.groups.values_list("pk", "title"))
    new = [
        Item(
            task=task,
            group_id=group,
            key=key_of_pair(known[first], second, repeat),
            position=places[group, first, second, repeat, side],
            question=known[first].query or titles[group],
            since=draft.number,
            first_id=first,
            second_id=second,
            repeat=repeat,
            side=side,
        )
        for group, first, second, repeat, side in places
        if (group, first, second, repeat, side) not in live
        and (group, first, second, repeat, side) not in ended
    ]
    Item.objects.bulk_create(new, batch_size=1000)
    return PairChanges(len(places), len(new) + len(back), len(gone))


def _pair_key(item: Item) -> Wanted:
    assert item.first_id is not None  # noqa: S101 (filtered)
    return item.group_id, item.first_id, item.second_id, item.repeat, item.side


def key_of_pair(first: Candidate, second: int | None, repeat: bool) -> str:
    """What exports call an item: its topic and its texts' ids."""
    parts = [first.topic[:40], str(first.pk), *([str(second)] if second else [])]
    return "-".join(parts) + ("-again" if repeat else "")


# Texts above which pairs are made when somebody asks: drawing them takes seconds.
MOST_REDRAWN = 5_000


def redraw_pairs(*, by: User, task: Task) -> PairChanges | None:
    """Make the draft's pairs anew where what they depend on changed; None where nothing did.

    Pairs that were not drawn by the design (of a file, of a panel) stay. Where the design cannot
    be met nothing changes: ``missing_pairs`` says so.
    """
    shown = _shown(task)
    made = shown.settings.get("made")
    drawn_here = made or not task.items.in_version(shown.number).exists()
    texts = chosen_texts(task, shown) if drawn_here and shown.published_at is None else []
    if not 2 <= len(texts) <= MOST_REDRAWN or made == signature(task, shown):
        return None
    try:
        return make_pairs(by=by, task=task)
    except Invalid:
        return None


@transaction.atomic
def make_texts(*, by: User, task: Task) -> PairChanges:
    """Make every text of the topics that is not left out an item of the draft.

    For tasks that judge one text at a time.
    """
    require(task, paired=False)
    draft = lock_draft(task, by=by)
    texts = chosen_texts(task, draft)
    groups = dict(
        task.groups.in_version(draft.number).order_by("position", "pk").values_list("key", "pk")
    )
    turn: dict[str, int] = {}
    rows = []
    gold = task.items.in_version(draft.number).filter(expected__isnull=False)
    kept_back = set(gold.values_list("first_id", flat=True))
    for text in (
        one for one in texts if one.pk not in kept_back
    ):  # topics take turns, so that an assignment is a mixture of them
        turn[text.topic] = turn.get(text.topic, 0) + 1
        rows.append((turn[text.topic], list(groups).index(text.topic), text))
    wanted: list[Wanted] = [
        (groups[text.topic], text.pk, None, False, 0)
        for _, _, text in sorted(rows, key=lambda row: row[:2])
    ]
    return _replace(task, draft, wanted, texts)


@transaction.atomic
def leave_out(*, by: User, task: Task, candidate: int, out: bool) -> None:
    """Leave a text out of the task's pairs (``out``), or take it in again."""
    task_type = require(task)
    draft = lock_draft(task, by=by)
    if not texts_of(task, draft).filter(pk=candidate).exists():
        raise Conflict(gettext("This text is not among the task's. Reload the page."))
    others = set(draft.settings.get("left_out", [])) - {candidate}
    left = sorted(others | {candidate}) if out else sorted(others)
    edit_draft(by=by, task=task, fields={"settings": {"left_out": left}})
    if not task_type.pairs_texts:
        make_texts(by=by, task=task)


@transaction.atomic
def add_attention(
    *,
    by: User,
    task: Task,
    left: int,
    right: int,
    expected: Mapping[str, str],
    why: str = "",
) -> Item:
    """Add an attention pair: two texts of one topic, and the side that is hoped for.

    ``expected``: dimension -> left, neutral or right, for texts shown in this order; dimensions
    that are not named may be answered as one likes. It is handed out beside the pairs that are
    asked and never counts. ``why`` is what workers read after they answered, where the task gives
    feedback. Invalid names the field.
    """
    require(task, paired=True)
    draft = lock_draft(task, by=by)
    texts = {text.pk: text for text in texts_of(task, draft).filter(pk__in=(left, right))}
    if len(texts) != 2 or len({text.topic for text in texts.values()}) != 1:
        raise Invalid(
            gettext("An attention pair needs two texts of one topic."),
            fields={"right": gettext("Choose two different texts.")},
        )
    codes = _expected(draft, expected, flipped=left > right)
    first, second = sorted((left, right))
    if (
        task.items.in_version(draft.number)
        .filter(expected__isnull=False, first=first, second=second)
        .exists()
    ):
        raise Invalid(
            gettext("This pair is there already."),
            fields={"right": gettext("Choose another text.")},
        )
    topic = texts[first].topic
    group = task.groups.in_version(draft.number).get(key=topic)
    return Item.objects.create(
        task=task,
        group=group,
        key=f"{topic[:40]}-{first}-{second}-attention",
        position=0,
        question=texts[first].query or group.title,
        since=draft.number,
        first_id=first,
        second_id=second,
        expected=codes,
        known_why=clean_why(why),
    )


def _expected(draft: TaskVersion, given: Mapping[str, str], *, flipped: bool) -> dict[str, str]:
    known = {dimension["name"]: dimension for dimension in draft.settings["dimensions"]}
    codes = {}
    for name, shown in given.items():
        if not shown:
            continue
        if name not in known or shown not in SHOWN:
            raise Invalid(
                gettext("There is no such answer."),
                fields={name: gettext("left, neutral or right.")},
            )
        if shown == NEUTRAL and not known[name]["neutral"]:
            raise Invalid(
                gettext("“%(label)s” asks for left or right.") % {"label": known[name]["label"]},
                fields={name: gettext("Left or right.")},
            )
        codes[name] = to_canonical(shown, flipped=flipped)
    if not codes:
        raise Invalid(
            gettext("An attention pair expects something."),
            fields={"expected": gettext("Say on one dimension at least which side is better.")},
        )
    return codes


@transaction.atomic
def remove_attention(*, by: User, task: Task, key: str) -> None:
    """Take an attention pair out of the draft."""
    draft = lock_draft(task, by=by)
    item = task.items.in_version(draft.number).filter(key=key, expected__isnull=False).first()
    if item is None:
        raise Conflict(gettext("This pair was removed meanwhile. Reload the page."))
    if item.since == draft.number:
        item.delete()
    else:
        Item.objects.filter(pk=item.pk).update(until=draft.number)
