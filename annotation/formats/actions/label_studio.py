"""Label Studio's tasks as one of ours: its items, and what people and models said of them."""

from __future__ import annotations

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

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
    import_task,
    place_votes,
    submission_time,
)
from annotation.formats.exports.tools.label_studio import CANCELLED, GROUND_TRUTH
from annotation.formats.imports.candidates import key_of
from annotation.formats.imports.tools.label_studio import (
    MANY,
    LSAnnotation,
    LSFile,
    LSTask,
)
from annotation.models import Candidate, Item, Project, Task, User
from annotation.pairs.actions.candidates import add_candidates
from annotation.records.actions.audit import record
from annotation.task_types import TaskType, get_type
from annotation.task_types.label_studio import (
    CHOICES,
    MARKS,
    PAIRWISE,
    RANKER,
    RATING,
    TEXT,
    Control,
    Stored,
)
from annotation.task_types.pairwise.sides import FIRST, ORDINALS, SECOND
from annotation.task_types.rating.explanation import SENTENCE
from annotation.work.snapshots.answers import ANSWER, DECLINED
from annotation.work.snapshots.judgments import version_items
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import count, parse_whole

FORMAT = "label-studio"
Labels = Mapping[str, Mapping[str, int]]
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
    """Import a Label Studio file into ``task``, or into a new task of this title.

    What was cancelled, and what is marked as ground truth, is kept and does not count. Importing
    twice adds nothing. Raises Invalid and Conflict, naming the task and the annotation.
    """
    type = get_type(task.type) if task is not None else file.task_type()
    if FORMAT not in type.exports:
        raise Invalid(_("This task takes no Label Studio file."), fields={"task": type.shape})
    if task is None:
        task = _begun(by, project, file, type, title or name)
    items = _items(by, task, file, type, name)
    people, systems, sessions = _votes(task, file, items, _labels(task), type)
    added = [
        add_votes(task=task, votes=people, sessions=sessions),
        add_model_votes(task=task, votes=systems),
    ]
    new, there = sum(one.new for one in added), sum(one.there for one in added)
    record(by=by, project=project, action="label_studio.import", on=task, file=name, new=new)
    return task, Added(new, there)


def _begun(by: User, project: Project, file: LSFile, type: TaskType, title: str) -> Task:
    own = file.about
    settings = own.get("settings") if own.get("type") == type.slug else None
    if settings and "documents" in type.imports_of(settings):
        raise Conflict(
            _(
                "Ratings about documents need their documents: import these first, and "
                "then this file into that task."
            )
        )
    return import_task(
        by=by,
        project=project,
        type=type.slug,
        title=title,
        fields={"settings": settings or type.label_studio.settings(_controls(file))},
    )


def _controls(file: LSFile) -> list[Control]:
    """Return the controls that a file of another tool seems to have, judging by its answers."""
    said: dict[str, dict[Any, None]] = defaultdict(dict)
    kinds: dict[str, str] = {}
    several = set[str]()
    for one in (given for task in file.tasks for given in task.given):
        for control, kind, value in one.choices:
            kinds[control] = kind
            said[control] |= dict.fromkeys(value if kind in (CHOICES, RANKER) else [value])
            if kind == CHOICES and len(value) != 1:
                several.add(control)
        for control, marks in one.marks.items():
            kinds[control] = MARKS
            said[control] |= dict.fromkeys(mark.label for mark in marks)
    return [
        Control(_name(name), name, kind, said[name], name in several)
        for name, kind in kinds.items()
    ]


def _name(control: str) -> str:
    """A control's name as one of ours."""
    name = NAME.sub("_", control.casefold()).strip("_")[:40]
    return name if name[:1].isalpha() else f"q_{name}"[:40]


def _items(by: User, task: Task, file: LSFile, type: TaskType, name: str) -> dict[str, Item]:
    """The items by key; made where the task was never published, else they have to be there."""
    if not type.judges_texts:
        if task.current is None:
            rows = [_question(one) for one in file.tasks]
            import_items(by=by, task=task, rows=rows, name=name)
            publish(by=by, task=task)
            move(by=by, task=task, to="close")
            task.refresh_from_db()
    elif task.current is None or not _is_imported(task, file):
        pairs = _judged(by, task.project, file, type, name)
        _refuse_twice(pairs)
        add_items(by=by, task=task, pairs=pairs, titles={one.topic: one.topic for one in pairs})
        task.refresh_from_db()
    if task.current is None:
        raise Conflict(_("Publish the task first: answers name the version they answer."))
    found = {item.key: item for item in task.items.in_version(task.current.number)}
    lost = [one for one in file.tasks if one.key not in found]
    if lost:
        raise Invalid(
            _("The task does not ask for %(key)s (%(where)s).")
            % {"key": lost[0].key, "where": lost[0].where},
            fields={
                "item_id": _("%(lost)s tasks of the file are not in it.")
                % {"lost": count(len(lost))}
            },
        )
    return found


def _refuse_twice(pairs: list[PairItem]) -> None:
    """Raise Invalid where two tasks hold the same pair, which is one item here."""
    seen: dict[Any, str] = {}
    for pair in pairs:
        same = (pair.first, pair.second, pair.side, pair.repeat)
        if pair.second is not None and same in seen:
            raise Invalid(
                _("The tasks %(seen)s and %(key)s hold the same two texts.")
                % {"seen": seen[same], "key": pair.key},
                fields={"data": _("Put their annotations into one task.")},
            )
        seen[same] = pair.key


def _is_imported(task: Task, file: LSFile) -> bool:
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
        raise Invalid(
            _("%(where)s holds no text to be asked.") % {"where": one.where},
            fields={"data": _("No text.")},
        )
    return {
        "item_id": one.key,
        "question": str(question),
        "context": str(context or ""),
        "topic": str(data.get("topic") or ""),
    }


def _texts(one: LSTask, names: tuple[str, ...]) -> list[str]:
    """The texts that a task puts to judgment: under our names, else its first ones."""
    found = [str(one.data[key]) for key in names if one.data.get(key)]
    texts = found if len(found) == len(names) else _words(one.data)[: len(names)]
    if len(texts) < len(names):
        raise Invalid(
            _("%(where)s holds too few texts to be judged: %(texts)s of %(names)s.")
            % {"where": one.where, "texts": len(texts), "names": len(names)},
            fields={"data": " and ".join(names)},
        )
    return texts


def _judged(by: User, project: Project, file: LSFile, type: TaskType, name: str) -> list[PairItem]:
    """Return the pairs of the file's tasks, making the project's texts that are new."""
    rows: list[dict[str, Any]] = []
    wanted: list[tuple[LSTask, list[str], str]] = []
    for one in file.tasks:
        data = one.data
        topic = str(data.get("topic") or (one.key if type.pairs_texts else "label-studio"))[:80]
        keys = []
        names = type.label_studio.texts
        for column, text in zip(names, _texts(one, names), strict=True):
            number = column.removeprefix("text")
            source = one.source_of(number)
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
    side = (parse_whole(one.meta.get("side", 0), -1, 1) or 0) * (1 if first == texts[0] else -1)
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
    task: Task, file: LSFile, items: Mapping[str, Item], labels: Labels, type: TaskType
) -> tuple[list[Vote], list[Vote], dict[tuple[int, str], Session]]:
    """Return people's votes, systems' votes, and people's working times where these are known."""
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
    turned = _turned(items, file, type.label_studio.texts) if type.pairs_texts else set()
    timed: list[Vote] = []
    loose: list[Vote] = []
    models: list[Vote] = []
    sessions: dict[tuple[int, str], Session] = {}
    for one, said in given:
        if said.system:
            author = systems[said.author, _strategy(said)].pk
        else:
            author = workers[said.author].pk
        item, settings = items[one.key], task.current.settings if task.current else {}
        own = _own_values(said, type, settings, item.question)
        vote = _vote(said, author, item.pk, labels, own, turned=one.key in turned)
        if said.system:
            models.append(vote)
        elif said.seconds is None or said.at is None:
            loose.append(vote)
        else:  # timed work is a bundle of its own, so that its time stays
            timed.append(vote._replace(bundle=said.where))
            opened = said.at - dt.timedelta(seconds=said.seconds)
            sessions[author, said.where] = Session(opened, said.at)
    people = [*timed, *place_votes(loose)]
    return people, models, {**submission_time(people), **sessions}


def _strategy(said: LSAnnotation) -> str:
    return str(said.meta.get("prompt_strategy", ""))[:120]


def _turned(items: Mapping[str, Item], file: LSFile, names: tuple[str, ...]) -> set[str]:
    """The tasks whose first text is the second one of the pair as it is stored here."""
    pks = {pk for item in items.values() for pk in (item.first_id, item.second_id) if pk}
    texts = dict(Candidate.objects.filter(pk__in=pks).values_list("pk", "text"))
    found = set()
    for one in file.tasks:
        item, first = items[one.key], _texts(one, names)[0]
        if texts.get(item.first_id or 0) != first and texts.get(item.second_id or 0) == first:
            found.add(one.key)
    return found


def _own_values(
    said: LSAnnotation, type: TaskType, settings: Mapping[str, Any], text: str
) -> Stored | None:
    """Return an annotation as the task type stores it; Invalid names the annotation."""
    names = {row["name"] for row in settings.get("fields", [])}
    told: dict[str, tuple[str, Any]] = {name: (TEXT, held) for name, held in said.texts.items()}
    told |= {name: (kind, value) for name, kind, value in said.choices}
    told |= {name: (MARKS, marks) for name, marks in said.marks.items()}
    given = {name if name in names else _name(name): one for name, one in told.items()}
    try:
        own = type.label_studio.values(given, settings, text)
    except Invalid as error:
        raise Invalid(f"{said.where}: {error.message}", fields=error.fields) from error
    if own is None and said.marks:
        raise Invalid(
            _("%(where)s: the task marks no text.") % {"where": said.where},
            fields={"type": "labels"},
        )
    return own


def _vote(
    said: LSAnnotation,
    author: int,
    item: int,
    labels: Labels,
    own: Stored | None,
    *,
    turned: bool,
) -> Vote:
    choices: list[tuple[str, str, int | None]] = [*own.choices] if own else []
    spans: list[tuple[str, int, str, int, int]] = [*own.spans] if own else []
    for control, kind, value in () if own else said.choices:
        if kind == CHOICES and len(value) != 1 and not (value and control in MANY):
            raise Invalid(
                _("%(where)s: %(control)s has %(value)s choices.")
                % {"where": said.where, "control": control, "value": len(value)},
                fields={control: _("Several choices at once are not taken. Keep one of them.")},
            )
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
    if own:
        texts = tuple(own.texts)
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
        replicate=parse_whole(said.meta.get("replicate", 0)) or 0,
    )


def _choice(
    said: LSAnnotation, labels: Labels, control: str, kind: str, value: Any, *, turned: bool
) -> tuple[str, str, int | None]:
    """Field, code and ordinal; Invalid where the task has no such scale or point."""
    name = control if control in labels else _name(control)
    if name not in labels:
        raise Invalid(
            _("%(where)s: the task does not ask for %(control)s.")
            % {"where": said.where, "control": control},
            fields={"from_name": ", ".join(labels) or "none"},
        )
    if kind == PAIRWISE:
        code = {FIRST: SECOND, SECOND: FIRST}.get(value, value) if turned else value
        return name, code, ORDINALS[code]
    if kind not in (RATING, CHOICES):
        raise Invalid(
            _("%(where)s: %(control)s is a %(kind)s.")
            % {"where": said.where, "control": control, "kind": kind},
            fields={control: _("A choice.")},
        )
    word = str(value) if kind == RATING else value[0]
    number = labels[name].get(word)
    if number is None:
        raise Invalid(
            _("%(where)s: %(control)s has no point %(word)s.")
            % {"where": said.where, "control": control, "word": word},
            fields={control: ", ".join(labels[name])},
        )
    return name, str(number), number


def _labels(task: Task) -> Labels:
    """What a task asks: dimension or scale -> points by number and by label."""
    version = task.version_or_draft()
    words = {
        row["name"]: {point["label"]: point["value"] for point in row["points"]}
        for row in version.settings.get("scales", [])
    }
    return {
        one.name: {
            **words.get(one.name, {}),
            **dict(zip(one.written or map(str, one.points), one.points, strict=True)),
        }
        for one in version_items(version)
    }
