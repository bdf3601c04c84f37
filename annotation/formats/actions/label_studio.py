"""Label Studio's tasks as one of ours: its items, and what people and models said of them."""

from __future__ import annotations

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from annotation.accounts.named.actions import systems_by_name, workers_named
from annotation.authoring.actions.items import import_items
from annotation.authoring.actions.tasks import move, publish
from annotation.formats.actions.judgments import (
    Added,
    PairItem,
    Session,
    Vote,
    add_items,
    add_model_votes,
    add_votes,
    ended,
    import_task,
    placed,
)
from annotation.formats.exports.tools.label_studio import CANCELLED, GROUND_TRUTH
from annotation.formats.imports.candidates import key_of
from annotation.formats.imports.tools.label_studio import (
    CHOICES,
    MANY,
    PAIRWISE,
    RATING,
    Given,
    LSFile,
    LSTask,
)
from annotation.models import Candidate, Item, Project, Task, User
from annotation.pairs.actions.candidates import add_candidates
from annotation.records.actions.audit import record
from annotation.task_types import TYPES, get_type
from annotation.task_types.pairwise.sides import FIRST, ORDINALS, SECOND
from annotation.task_types.rating.explanation import SENTENCE
from annotation.task_types.rating.type import DOCUMENT
from annotation.work.snapshots.answers import ANSWER, DECLINED
from annotation.work.snapshots.judgments import asked
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import whole

DEFAULT_TYPES = {"texts": "free_text", "pairs": "pairwise", "ratings": "rating"}
Labels = Mapping[str, Mapping[str, int]]
STARS = 5  # of a rating where nobody gave more
NAME = re.compile(r"[^a-z0-9_]+")


@transaction.atomic
def import_label_studio(
    *,
    by: User,
    project: Project,
    file: LSFile,
    task: Task | None = None,
    title: str = "",
    name: str = "",
) -> tuple[Task, Added]:
    """The tasks as items of ``task``, or of one of this title made for them; and what was said.

    What was cancelled, and what is marked as ground truth, is kept and does not count. Importing
    twice adds nothing. Raises Invalid and Conflict, naming the task and the annotation.
    """
    shape = get_type(task.type).shape if task is not None else _shape(file)
    if shape not in DEFAULT_TYPES:
        raise Invalid("This task takes no Label Studio file.", fields={"task": shape})
    if task is None:
        task = _begun(by, project, file, shape, title or name)
    items = _items(by, task, file, shape, name)
    people, systems, sessions = _votes(task, file, items, _labels(task), shape)
    added = [
        add_votes(task=task, votes=people, sessions=sessions),
        add_model_votes(task=task, votes=systems),
    ]
    new, there = sum(one.new for one in added), sum(one.there for one in added)
    record(by=by, project=project, action="label_studio.import", on=task, file=name, new=new)
    return task, Added(new, there)


def _shape(file: LSFile) -> str:
    """Texts, pairs or ratings, by our own word or by the controls that were used."""
    own = file.about.get("type")
    if own in TYPES:
        return TYPES[own].shape
    types = file.types()
    if PAIRWISE in types:
        return "pairs"
    return "ratings" if {RATING, CHOICES} & types else "texts"


def _begun(by: User, project: Project, file: LSFile, shape: str, title: str) -> Task:
    own = file.about
    settings = own.get("settings") if own.get("type") == DEFAULT_TYPES[shape] else None
    if settings and settings.get("layout") == DOCUMENT:
        raise Conflict(
            "Ratings about documents need their documents: import these first, and then this file "
            "into that task."
        )
    return import_task(
        by=by,
        project=project,
        type=DEFAULT_TYPES[shape],
        title=title,
        fields={"settings": settings or _settings(file, shape)},
    )


def _settings(file: LSFile, shape: str) -> dict[str, Any]:
    """What a file of others asks, as far as its answers show it."""
    said: dict[str, dict[Any, None]] = defaultdict(dict)
    kinds: dict[str, str] = {}
    for one in (given for task in file.tasks for given in task.given):
        for control, kind, value in one.choices:
            kinds[control] = kind
            said[control][value[0] if kind == CHOICES else value] = None
    if shape == "pairs":
        dimensions = [
            {"name": _name(control), "label": control, "neutral": True}
            for control, kind in kinds.items()
            if kind == PAIRWISE
        ]
        return {"dimensions": dimensions, "show_sources": False}
    if shape == "texts":
        return {}
    scales = []
    for control, kind in kinds.items():
        if kind == RATING:
            most = max(STARS, *said[control])
            points = [{"value": n, "label": str(n)} for n in range(1, most + 1)]
        else:
            points = [{"value": n, "label": x} for n, x in enumerate(sorted(said[control]), 1)]
            if len(points) < 2:
                points.append({"value": 2, "label": "another"})
        scales.append({"name": _name(control), "label": control, "points": points})
    return {"scales": scales}


def _name(control: str) -> str:
    """A control's name as one of ours."""
    name = NAME.sub("_", control.casefold()).strip("_")[:40]
    return name if name[:1].isalpha() else f"q_{name}"[:40]


def _items(by: User, task: Task, file: LSFile, shape: str, name: str) -> dict[str, Item]:
    """The items by key; made where the task was never published, else they have to be there."""
    if shape == "texts":
        if task.current is None:
            rows = [_question(one) for one in file.tasks]
            import_items(by=by, task=task, rows=rows, name=name)
            publish(by=by, task=task)
            move(by=by, task=task, to="close")
            task.refresh_from_db()
    elif task.current is None or not _all_there(task, file):
        pairs = _judged(by, task.project, file, shape, name)
        _refuse_twice(pairs)
        add_items(by=by, task=task, pairs=pairs, titles={one.topic: one.topic for one in pairs})
        task.refresh_from_db()
    if task.current is None:
        raise Conflict("Publish the task first: answers name the version they answer.")
    found = {item.key: item for item in task.items.in_version(task.current.number)}
    lost = [one for one in file.tasks if one.key not in found]
    if lost:
        raise Invalid(
            f"The task does not ask for {lost[0].key} ({lost[0].where}).",
            fields={"item_id": f"{len(lost):,} tasks of the file are not in it."},
        )
    return found


def _refuse_twice(pairs: list[PairItem]) -> None:
    """Raise Invalid where two tasks hold the same pair, which is one item here."""
    seen: dict[Any, str] = {}
    for pair in pairs:
        same = (pair.first, pair.second, pair.side, pair.repeat)
        if pair.second is not None and same in seen:
            raise Invalid(
                f"The tasks {seen[same]} and {pair.key} hold the same two texts.",
                fields={"data": "Put their annotations into one task."},
            )
        seen[same] = pair.key


def _all_there(task: Task, file: LSFile) -> bool:
    there = set(task.items.filter(until=None).values_list("key", flat=True))
    return all(one.key in there for one in file.tasks)


def _words(data: Mapping[str, Any]) -> list[str]:
    """The texts of a task's data, in order."""
    return [value for name, value in data.items() if isinstance(value, str) and name != "item_id"]


def _question(one: LSTask) -> Mapping[str, str]:
    data = one.data
    texts = _words(data)
    question = data.get("question") or data.get("text") or (texts[0] if texts else "")
    context = data.get("context") or (data.get("text", "") if data.get("question") else "")
    if not str(question).strip():
        raise Invalid(f"{one.where} holds no text to be asked.", fields={"data": "No text."})
    return {
        "item_id": one.key,
        "question": str(question),
        "context": str(context or ""),
        "topic": str(data.get("topic") or ""),
    }


def _texts(one: LSTask, shape: str) -> list[str]:
    """The texts that a task puts to judgment: under our names, else its first ones."""
    names = ("text1", "text2") if shape == "pairs" else ("text",)
    found = [str(one.data[key]) for key in names if one.data.get(key)]
    texts = found if len(found) == len(names) else _words(one.data)[: len(names)]
    if len(texts) < len(names):
        raise Invalid(
            f"{one.where} holds too few texts to be judged: {len(texts)} of {len(names)}.",
            fields={"data": " and ".join(names)},
        )
    return texts


def _judged(by: User, project: Project, file: LSFile, shape: str, name: str) -> list[PairItem]:
    """What the tasks put to judgment: texts of the project, made where they are new."""
    rows: list[dict[str, Any]] = []
    wanted: list[tuple[LSTask, list[str], str]] = []
    for one in file.tasks:
        data = one.data
        topic = str(data.get("topic") or (one.key if shape == "pairs" else "label-studio"))[:80]
        keys = []
        numbers = ("1", "2") if shape == "pairs" else ("",)
        for number, text in zip(numbers, _texts(one, shape), strict=True):
            source = str(data.get(f"source{number}") or f"text{number}")
            system, _, strategy = source.partition(", ")
            key = str(data.get(f"key{number}") or key_of(topic, source, text))
            rows.append(
                {
                    "key": key,
                    "topic": topic,
                    "text": text,
                    "query": str(data.get("query") or ""),
                    "system": system[:120],
                    "prompt_strategy": strategy[:120],
                }
            )
            keys.append(key)
        wanted.append((one, keys, topic))
    add_candidates(by=by, project=project, rows=rows, name=name)
    known = Candidate.objects.filter(project=project, key__in={row["key"] for row in rows})
    pks = dict(known.values_list("key", "pk"))
    return [_pair(one, [pks[key] for key in keys], topic) for one, keys, topic in wanted]


def _pair(one: LSTask, texts: list[int], topic: str) -> PairItem:
    first, *second = sorted(texts)
    side = (whole(one.meta.get("side", 0), -1, 1) or 0) * (1 if first == texts[0] else -1)
    return PairItem(
        one.key,
        topic,
        str(one.data.get("query") or ""),
        first,
        second[0] if second else None,
        side=side,
        repeat=bool(one.meta.get("repeat")),
    )


def _votes(
    task: Task, file: LSFile, items: Mapping[str, Item], labels: Labels, shape: str
) -> tuple[list[Vote], list[Vote], dict[tuple[int, str], Session]]:
    """What people said, what systems said, and when people worked where that is known."""
    given = [(one, said) for one in file.tasks for said in one.given]
    workers = workers_named(task.project, {said.author for _, said in given if not said.system})
    systems = systems_by_name(
        task.project,
        [
            {"system": said.author, "prompt_strategy": _strategy(said)}
            for _, said in given
            if said.system
        ],
    )
    turned = _turned(items, file) if shape == "pairs" else set()
    timed: list[Vote] = []
    loose: list[Vote] = []
    models: list[Vote] = []
    sessions: dict[tuple[int, str], Session] = {}
    for one, said in given:
        if said.system:
            author = systems[said.author, _strategy(said)].pk
        else:
            author = workers[said.author].pk
        vote = _vote(said, author, items[one.key].pk, labels, turned=one.key in turned)
        if said.system:
            models.append(vote)
        elif said.seconds is None or said.at is None:
            loose.append(vote)
        else:  # timed work is a bundle of its own, so that its time stays
            timed.append(vote._replace(bundle=said.where))
            opened = said.at - dt.timedelta(seconds=said.seconds)
            sessions[author, said.where] = Session(opened, said.at)
    people = [*timed, *placed(loose)]
    return people, models, {**ended(people), **sessions}


def _strategy(said: Given) -> str:
    return str(said.meta.get("prompt_strategy", ""))[:120]


def _turned(items: Mapping[str, Item], file: LSFile) -> set[str]:
    """The tasks whose first text is the second one of the pair as it is stored here."""
    pks = {pk for item in items.values() for pk in (item.first_id, item.second_id) if pk}
    texts = dict(Candidate.objects.filter(pk__in=pks).values_list("pk", "text"))
    found = set()
    for one in file.tasks:
        item, first = items[one.key], _texts(one, "pairs")[0]
        if texts.get(item.first_id or 0) != first and texts.get(item.second_id or 0) == first:
            found.add(one.key)
    return found


def _vote(said: Given, author: int, item: int, labels: Labels, *, turned: bool) -> Vote:
    choices: list[tuple[str, str, int | None]] = []
    spans: list[tuple[str, int, str, int, int]] = []
    for control, kind, value in said.choices:
        if control in MANY and kind == CHOICES:
            spans += [(control, at, SENTENCE, int(n), int(n)) for at, n in enumerate(value)]
        elif control == DECLINED:
            choices.append((DECLINED, value[0], None))
        else:
            choices.append(_choice(said, labels, control, kind, value, turned=turned))
    alone = not labels and len(said.texts) == 1
    texts = tuple(
        (ANSWER if alone else _name(name), at, text)
        for name, held in said.texts.items()
        for at, text in enumerate(held)
    )
    why = ""
    if said.ground_truth:
        why = GROUND_TRUTH
    elif said.cancelled:
        why = str(said.meta.get("reason") or CANCELLED)[:200]
    return Vote(
        author,
        item,
        tuple(choices),
        bool(said.meta.get("flipped")) != turned,
        uncounted=why,
        texts=texts,
        spans=tuple(spans),
        at=said.at,
        replicate=whole(said.meta.get("replicate", 0)) or 0,
    )


def _choice(
    said: Given, labels: Labels, control: str, kind: str, value: Any, *, turned: bool
) -> tuple[str, str, int | None]:
    """Field, code and ordinal; Invalid where the task has no such scale or point."""
    name = control if control in labels else _name(control)
    if name not in labels:
        raise Invalid(
            f"{said.where}: the task does not ask for {control}.",
            fields={"from_name": ", ".join(labels) or "none"},
        )
    if kind == PAIRWISE:
        code = {FIRST: SECOND, SECOND: FIRST}.get(value, value) if turned else value
        return name, code, ORDINALS[code]
    word = str(value) if kind == RATING else value[0]
    number = labels[name].get(word)
    if number is None:
        raise Invalid(
            f"{said.where}: {control} has no point {word}.",
            fields={control: ", ".join(labels[name])},
        )
    return name, str(number), number


def _labels(task: Task) -> Labels:
    """What a task asks: dimension or scale -> points by number and by label."""
    version = task.current or task.versions.latest("number")
    words = {
        row["name"]: {point["label"]: point["value"] for point in row["points"]}
        for row in version.settings.get("scales", [])
    }
    return {
        one.name: {**words.get(one.name, {}), **{str(point): point for point in one.points}}
        for one in asked(version)
    }
