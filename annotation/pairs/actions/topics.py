"""The topics of a task that judges texts: each a group of the draft, by the key its texts name."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext

from annotation.authoring.actions.drafts import as_title, edit_draft, lock_draft
from annotation.authoring.actions.items import STEP, set_category
from annotation.models import Candidate, Item, ItemGroup, Project, Task, User
from annotation.pairs.actions.candidates import (
    TOPICS,
    WRITTEN,
    Rows,
    add_candidates,
    candidates_from_answers,
)
from annotation.pairs.actions.pair_items import (
    key_of_pair,
    make_texts,
    redraw_pairs,
    require,
)
from annotation.pairs.selectors import list_topics_with_items
from annotation.records.actions.audit import record
from annotation.task_types import get_type
from crowdqc.errors import Invalid


@dataclass(frozen=True)
class TopicContent:
    """What workers see of a topic: its question and sources.

    They never see its ``category``.
    """

    title: str = ""
    passage: str = ""
    category: str = ""


@transaction.atomic
def add_topics(*, by: User, task: Task, topics: Mapping[str, TopicContent]) -> int:
    """Put topics into the draft, with all texts that the project has on them; returns how many.

    Those that are there stay as they are; one that the draft took out comes back.
    """
    shown = task.versions.latest("number")
    live = set(task.groups.in_version(shown.number).values_list("key", flat=True))
    fresh = [key for key in topics if key not in live]
    if not fresh:
        return 0
    draft = lock_draft(task, by=by)
    back = {group.key: group.pk for group in task.groups.filter(until=draft.number, key__in=fresh)}
    ItemGroup.objects.filter(pk__in=back.values()).update(until=None)
    last = task.groups.aggregate(m=Max("position"))["m"] or 0
    new = [key for key in fresh if key not in back]
    ItemGroup.objects.bulk_create(
        [
            ItemGroup(
                task=task,
                key=key,
                position=last + STEP * (number + 1),
                since=draft.number,
                title=as_title(topics[key].title),
                passage=topics[key].passage,
                category=topics[key].category,
            )
            for number, key in enumerate(new)
        ],
        batch_size=1000,
    )
    return len(fresh)


def project_topics(
    project: Project, keys: Collection[str] | None = None
) -> dict[str, TopicContent]:
    """Topics on which the project has texts, with their questions; all, or those named."""
    rows = Candidate.objects.filter(project=project).order_by("topic", "query")
    if keys is not None:
        rows = rows.filter(topic__in=keys)
    found = rows.values_list("topic", "query").distinct()
    return {
        topic: TopicContent(title=query) for topic, query in found
    }  # the last has words if any has


def use_project_topics(*, by: User, task: Task, keys: Collection[str] | None = None) -> int:
    """Put all topics on which the project has texts into the draft, or those named."""
    require(task)
    found = add_topics(by=by, task=task, topics=project_topics(task.project, keys))
    _settle(by, task)
    return found


@transaction.atomic
def add_texts(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Add checked rows of a file to the project, and their topics to a task that judges texts.

    Returns how many texts are new, to the project or to the task.
    """
    new, _ = add_candidates(by=by, project=task.project, rows=rows, name=name)
    if get_type(task.type).judges_texts:
        keys = {row["topic"] for row in rows}
        beside = {row["topic"]: row["context"] for row in rows if row.get("context")}
        kinds = {row["topic"]: row["category"] for row in rows if row.get("category")}
        about = project_topics(task.project, keys)
        shown = {
            key: replace(one, passage=beside.get(key, ""), category=kinds.get(key, ""))
            for key, one in about.items()
        }
        add_topics(by=by, task=task, topics=shown)
        blank = task.groups.filter(key__in=kinds, until__isnull=True, category="")
        for group in blank:  # of topics that were there before
            set_category(by=by, task=task, group=group, category=kinds[group.key])
        _settle(by, task)
        return len(rows)
    return new


def _settle(by: User, task: Task) -> None:
    """Make items of texts that were added: of each by itself, or pairs by the design."""
    task_type = get_type(task.type)
    if task_type.judges_texts and not task_type.pairs_texts:
        make_texts(by=by, task=task)
    elif task_type.pairs_texts:
        redraw_pairs(by=by, task=task)


@transaction.atomic
def add_pairs(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Add the pairs of a file to the draft as they stand there; returns how many are new.

    Rows hold topic, texts, two of them with topic, query, text, system, key and category, and may
    hold item_id. The pairs of the draft are from then on not drawn by a design, until somebody asks
    for that.
    """
    require(task, paired=True)
    texts = {text["key"]: text for row in rows for text in row["texts"]}
    add_candidates(by=by, project=task.project, rows=list(texts.values()), name=name)
    topics = {row["topic"] for row in rows}
    kinds = {text["topic"]: text["category"] for text in texts.values() if text["category"]}
    about = project_topics(task.project, topics)
    add_topics(
        by=by,
        task=task,
        topics={key: replace(one, category=kinds.get(key, "")) for key, one in about.items()},
    )
    draft = lock_draft(task, by=by)
    stored = Candidate.objects.filter(project=task.project, key__in=texts).defer("text")
    by_key = {one.key: one for one in stored}
    groups = dict(task.groups.in_version(draft.number).values_list("key", "pk"))
    there = set(task.items.in_version(draft.number).values_list("first_id", "second_id"))
    last = task.items.aggregate(m=Max("position"))["m"] or 0
    made: list[Item] = []
    for row in rows:
        first, second = sorted((by_key[text["key"]] for text in row["texts"]), key=lambda c: c.pk)
        if (first.pk, second.pk) in there:
            continue
        there.add((first.pk, second.pk))
        made.append(
            Item(
                task=task,
                group_id=groups[row["topic"]],
                key=row.get("item_id") or key_of_pair(first, second.pk, repeat=False),
                position=last + STEP * (len(made) + 1),
                question=first.query,
                since=draft.number,
                first=first,
                second=second,
            )
        )
    Item.objects.bulk_create(made, batch_size=1000)
    edit_draft(by=by, task=task, fields={"settings": {"made": ""}})
    record(by=by, project=task.project, action="pairs.import", on=task, file=name, new=len(made))
    return len(made)


@transaction.atomic
def add_answers(
    *,
    by: User,
    task: Task,
    source: Task,
    topic: str = "item",
    people: bool = True,
    systems: bool = True,
    style: str = "",
    most: int = 0,
) -> tuple[int, int]:
    """Put an earlier task's answers, and their questions as topics, into the draft.

    A response of a writing task keeps its topic and its style, whatever ``topic`` and ``style``
    say, and its topic gets the passages as sources.
    ``most``: people's answers paired on a topic, drawn by lot (0: all); the others are left out
    and can be taken in by hand. Returns new texts and topics. Raises Invalid where the project
    has texts on a topic of the same key that answer another question.
    """
    require(task)
    if not (people or systems):
        raise Invalid(
            gettext("Whose answers?"), fields={"people": gettext("People's, systems' or both.")}
        )
    if topic not in TOPICS:
        raise Invalid(gettext("There is no such topic."), fields={"topic": ", ".join(TOPICS)})
    about, items = _topics_of(source, topic), None
    if get_type(source.type).has_styles:
        asked = list_topics_with_items(source)
        topic, items = WRITTEN, {pk for one in asked for pk in one.items}
        about = {one.key: TopicContent(one.query, one.sources) for one in asked}
    _same_questions(task.project, about)
    new, _ = candidates_from_answers(
        by=by,
        project=task.project,
        source_task=source,
        topic=topic,
        people=people,
        systems=systems,
        style=style.strip()[:60],
        items=items,
    )
    taken = Candidate.objects.filter(
        project=task.project_id, topic__in=about, source_answer__item__task=source
    )
    keys = set(taken.values_list("topic", flat=True))
    topics = add_topics(
        by=by, task=task, topics={key: one for key, one in about.items() if key in keys}
    )
    if most and people:
        _draw(by, task, list(taken.filter(author__isnull=False).order_by("pk")), most)
    if new or topics:
        _settle(by, task)
    return new, topics


def _topics_of(source: Task, topic: str) -> dict[str, TopicContent]:
    """Topics that a task's questions (or texts) give, with the passage people had."""
    assert source.current is not None  # noqa: S101 (only a published task has answers)
    items = source.items.in_version(source.current.number).select_related("group")
    if topic == "group":
        return {i.group.key: TopicContent(i.group.title, i.group.passage) for i in items}
    rows = items.order_by("group__position", "position", "pk")
    return {i.key: TopicContent(i.question, i.group.passage) for i in rows}


def _same_questions(project: Project, about: Mapping[str, TopicContent]) -> None:
    there = Candidate.objects.filter(project=project, topic__in=about).exclude(query="")
    for key, query in there.values_list("topic", "query").distinct():
        if query.strip() != about[key].title.strip():
            raise Invalid(
                gettext(
                    "The project has texts on topic %(key)s that answer another question: "
                    "“%(query)s”. Only texts on one question are compared."
                )
                % {"key": key, "query": query[:80]},
                fields={
                    "task": gettext("Topic %(key)s is taken by another question.") % {"key": key}
                },
            )


def _draw(by: User, task: Task, texts: list[Candidate], most: int) -> None:
    """Leave all but ``most`` of each topic's texts out, by a draw that their authors cannot repeat.

    What an earlier draw left out stays so.
    """
    rng = random.SystemRandom()
    by_topic: dict[str, list[int]] = {}
    for text in texts:
        by_topic.setdefault(text.topic, []).append(text.pk)
    left = set(lock_draft(task, by=by).settings.get("left_out", []))
    for pks in by_topic.values():
        kept = [pk for pk in pks if pk not in left]
        left.update(rng.sample(kept, max(0, len(kept) - most)))
    edit_draft(by=by, task=task, fields={"settings": {"left_out": sorted(left)}})
