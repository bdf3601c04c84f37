"""What a task holds already, as the readers of its files compare their rows with."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

from django.db.models import Q
from django.db.models.functions import MD5, Length

from annotation.authoring.actions.writing_topics import topics_without_passages
from annotation.files.reading.keys import TextDigests
from annotation.formats.imports.answers import KnownAnswers, KnownSystems
from annotation.formats.imports.authors import Author
from annotation.formats.imports.authors import KnownAnswers as KnownAuthored
from annotation.formats.imports.candidates import KnownCandidates
from annotation.formats.imports.candidates import content_of as text_of
from annotation.formats.imports.chats import KnownChatTexts
from annotation.formats.imports.items import KnownItems
from annotation.formats.imports.judged_pairs import KnownPair
from annotation.formats.imports.judgment_lines import Key, KnownJudgments
from annotation.formats.imports.known_answers import KnownFields
from annotation.formats.imports.labels import KnownItems as KnownLabelItems
from annotation.formats.imports.labels import KnownLabels
from annotation.formats.imports.pairs import KnownPairs, PairKeys
from annotation.formats.imports.prompt_topics import LENGTH, NO_TOPICS, PREFIX, PromptTopics
from annotation.formats.imports.ratings import KnownDocuments, KnownRatings, Said
from annotation.formats.imports.think_aloud import KnownSamples
from annotation.formats.imports.think_aloud import content_of as sample_of
from annotation.formats.imports.tools.arena import (
    OVERALL,
    Battle,
    KnownBattles,
    TaskPair,
    print_of,
)
from annotation.formats.imports.writing.collection import TopicsToFill
from annotation.formats.imports.writing.responses import KnownResponses
from annotation.formats.imports.writing.topics import KnownTopics
from annotation.formats.imports.writing.topics import content_of as topic_of
from annotation.models import (
    Answer,
    Candidate,
    ChoiceValue,
    Item,
    Membership,
    Project,
    Role,
    System,
    Task,
    TaskVersion,
    TextValue,
)
from annotation.task_types import get_type
from annotation.task_types.checklist.type import list_of
from annotation.task_types.labels.content import FILES
from annotation.task_types.pairwise.sides import left_right, replicate_of, to_displayed
from annotation.task_types.rating.explanation import EXPLANATION
from annotation.task_types.think_aloud.type import ATTRIBUTE
from annotation.work.snapshots import judgments


def _current(task: Task) -> TaskVersion:
    """The version in force: formats of answers are asked for published tasks alone."""
    assert task.current is not None  # noqa: S101 (Format.known_of refuses others)
    return task.current


def _systems(project_id: int) -> dict[str, list[str]]:
    """The names and the prompt strategies in use in the project."""
    rows = System.objects.filter(project_id=project_id).values_list("name", "prompt_strategy")
    names, strategies = [name for name, _ in rows], [strategy for _, strategy in rows if strategy]
    return {"names": names, "strategies": strategies}


def _authors(task: Task) -> dict[str, Any]:
    """The fields of KnownAuthors."""
    workers = Membership.objects.filter(project_id=task.project_id, role=Role.WORKER)
    people = list(workers.values_list("pk", "pseudonym", "external_id", "removed_at"))
    return {
        "people": {pseudonym: pk for pk, pseudonym, _, _ in people}
        | {external: pk for pk, _, external, _ in people if external},
        "removed": frozenset(pk for pk, _, _, removed in people if removed),
        **_systems(task.project_id),
    }


def _removed_names(project_id: int) -> frozenset[str]:
    """Ids and pseudonyms of the workers who were removed, but for ids of others."""
    workers = Membership.objects.filter(project_id=project_id, role=Role.WORKER)
    gone = workers.filter(removed_at__isnull=False).values_list("external_id", "pseudonym")
    here = workers.filter(removed_at__isnull=True).values_list("external_id", flat=True)
    return frozenset(name for names in gone for name in names if name) - set(here)


def _author(worker: int | None, *system: Any) -> Author:
    """Return whose answer it is: a member's, or a system's name, prompt strategy and replicate."""
    return ("worker", worker) if worker else ("system", *system)


def _keys(task: Task) -> list[str]:
    items = task.items.in_version(_current(task).number)
    return list(items.order_by("group__position", "position", "pk").values_list("key", flat=True))


def items(task: Task) -> KnownItems:
    """The questions and texts of the draft."""
    version = task.versions.order_by("-number").first()
    number = version.number if version else 1
    rows = task.items.in_version(number).values_list("key", "question", "group_id")
    groups = list(task.groups.in_version(number).values_list("pk", "key", "passage"))
    passages = {pk: passage for pk, _, passage in groups}  # once, however many share one
    return KnownItems(
        questions={key: (question, passages[group]) for key, question, group in rows.iterator()},
        topics={key: passage for _, key, passage in groups},
        fields=get_type(task.type).known_fields(version.settings) if version else (),
    )


def topics(task: Task) -> KnownTopics:
    """The queries and passages of the draft."""
    version = task.versions.latest("number")
    asked = task.items.in_version(version.number).values_list("group_id", "question")
    queries = dict(asked.order_by("-pk"))
    return KnownTopics(
        {
            group.key: topic_of(queries.get(group.pk, group.title), group.passages)
            for group in task.groups.in_version(version.number)
        }
    )


def topics_to_fill(task: Task) -> TopicsToFill:
    """How many topics of the draft have no passages."""
    return TopicsToFill(len(topics_without_passages(task, task.versions.latest("number"))))


def samples(task: Task) -> KnownSamples:
    """The rubrics and samples of the draft."""
    version = task.versions.latest("number")
    groups = list(task.groups.in_version(version.number))
    return KnownSamples(
        rubrics={group.title: group.passage for group in groups},
        samples={
            (group.title, row["key"]): sample_of(row["text"], row["source"], row["score"])
            for group in groups
            for row in group.passages
        },
    )


def documents(task: Task) -> KnownDocuments:
    """The draft's documents, and the texts of the project by their ids."""
    version = task.versions.latest("number")
    asked = set(task.items.in_version(version.number).values_list("key", flat=True))
    texts = Candidate.objects.filter(project=task.project).values_list("key", "text")
    return KnownDocuments(
        documents=dict(task.groups.in_version(version.number).values_list("key", "passage")),
        answers={key: text for key, text in texts if key in asked},
    )


def candidates(project: Project) -> KnownCandidates:
    """The texts under judgment of a project, their topics' queries, and the names of sources."""
    rows = Candidate.objects.filter(project=project)
    texts = rows.values_list("key", "topic", "text")
    return KnownCandidates(
        texts=TextDigests((key, text_of(topic, text)) for key, topic, text in texts.iterator()),
        queries=dict(rows.exclude(query="").order_by("pk").values_list("topic", "query")),
        names=sorted(set(_systems(project.pk)["names"])),
        removed=_removed_names(project.pk),
    )


def texts(task: Task) -> KnownCandidates:
    """As ``candidates``, with what can be known of a text that becomes an item of the task."""
    type, version = get_type(task.type), task.versions.latest("number")
    alone = type.judges_texts and not type.pairs_texts
    fields = type.known_fields(version.settings) if alone else ()
    return replace(
        candidates(task.project),
        fields=fields,
        pairs_texts=type.pairs_texts,
        topics=_topics(task) if type.judges_texts else None,
        prompts=_prompts(task) if type.judges_texts else NO_TOPICS,
    )


def _prompts(task: Task) -> PromptTopics:
    """The topics of prompts that any version of the task holds, and those with texts."""
    named = {"project": task.project_id, "topic__startswith": PREFIX}
    taken = Candidate.objects.filter(**named).order_by("topic").values_list("topic", flat=True)
    groups = task.groups.filter(key__startswith=PREFIX).order_by("-position", "-pk")
    held = {key[:LENGTH]: key for key in groups.values_list("key", flat=True)}
    return PromptTopics(held, dict.fromkeys(taken.distinct()))


def _topics(task: Task) -> frozenset[str]:
    """The topics of the draft."""
    groups = task.groups.in_version(task.versions.latest("number").number)
    return frozenset(groups.values_list("key", flat=True))


def pairs(task: Task) -> KnownPairs:
    """The pairs of the draft, and the queries of the project's topics."""
    version = task.versions.latest("number")
    asked = task.items.in_version(version.number).filter(second__isnull=False)
    rows = asked.values_list("key", "group__key", "first__key", "second__key").iterator()
    ids: dict[str, PairKeys] = {}
    for key, topic, first, second in rows:
        low, high = sorted((first, second))
        ids[key] = (topic, low, high)
    texts = Candidate.objects.filter(project=task.project_id).exclude(query="").order_by("pk")
    return KnownPairs(
        frozenset(ids.values()),
        ids,
        dict(texts.values_list("topic", "query")),
        _prompts(task),
    )


def answers(task: Task) -> KnownAnswers:
    """The questions in force, the texts of workers' answers, and the workers that were removed."""
    texts = TextValue.objects.filter(
        field="answer", index=0, answer__item__task=task, answer__worker__isnull=False
    ).exclude(answer__worker__external_id="")
    removed = Membership.objects.filter(project_id=task.project_id, removed_at__isnull=False)
    return KnownAnswers(
        keys=_keys(task),
        texts=TextDigests(
            ((worker, key), text)
            for worker, key, text in texts.values_list(
                "answer__worker__external_id", "answer__item__key", "text"
            ).iterator()
        ),
        removed=set(removed.exclude(external_id="").values_list("external_id", flat=True)),
    )


OF_SYSTEM = ("answer__system__name", "answer__system__prompt_strategy")


def system_answers(task: Task) -> KnownSystems:
    """The questions in force, and the texts of systems' answers."""
    texts = TextValue.objects.filter(
        field="answer", index=0, answer__item__task=task, answer__system__isnull=False
    ).values_list(*OF_SYSTEM, "answer__item__key", "answer__replicate", "text")
    return KnownSystems(
        keys=_keys(task),
        texts=TextDigests((tuple(key), text) for *key, text in texts.iterator()),
        **_systems(task.project_id),
    )


def responses(task: Task) -> KnownResponses:
    """The topics and styles in force, and the first text of each author to each."""
    texts = TextValue.objects.filter(field="answer", index=0, answer__item__task=task)
    found: dict[tuple[Author, str], str] = {}
    for worker, *system, key, text in texts.order_by("answer").values_list(
        "answer__worker_id", *OF_SYSTEM, "answer__replicate", "answer__item__key", "text"
    ):
        found.setdefault((_author(worker, *system), key), text)
    return KnownResponses(keys=_keys(task), texts=found, **_authors(task))


def attributes(task: Task) -> KnownAuthored:
    """The dimensions in force, and whose attributes are there."""
    there: dict[tuple[Author, str], list[str]] = {}
    rows = TextValue.objects.filter(field=ATTRIBUTE, answer__item__task=task)
    authors = _answered(task)
    for pk, text in rows.order_by("answer", "index").values_list("answer_id", "text"):
        if pk in authors:
            there.setdefault(authors[pk], []).append(text)
    return _authored(task, there)


def checks(task: Task) -> KnownAuthored:
    """The texts and questions in force, and whose checklists are there."""
    asked = dict(list_of(_current(task)))
    there: dict[tuple[Author, str], dict[str, str]] = {}
    rows = ChoiceValue.objects.filter(field__in=asked, answer__item__task=task)
    authors = _answered(task)
    for pk, field, code in rows.values_list("answer_id", "field", "code"):
        if pk in authors:
            there.setdefault(authors[pk], {})[field] = code
    return _authored(task, there, asked)


def _answered(task: Task) -> dict[int, tuple[Author, str]]:
    """Map each answer to the items in force to its author and its item."""
    shown = task.items.in_version(_current(task).number).values("pk")
    rows = Answer.objects.filter(item__in=shown, stage=Answer.Stage.MAIN).values_list(
        "pk", "item__key", "worker_id", "system__name", "system__prompt_strategy", "replicate"
    )
    return {pk: (_author(worker, *system), key) for pk, key, worker, *system in rows}


def _authored(
    task: Task, there: dict[Any, Any], asked: dict[str, str] | None = None
) -> KnownAuthored:
    shown = task.items.in_version(_current(task).number).filter(expected__isnull=True)
    rows = list(shown.order_by("position", "pk").values_list("key", "group__title", "first__key"))
    names = {text: key for key, _, text in rows if text}
    if asked is None:
        names |= {title: key for key, title, _ in rows if title}
    return KnownAuthored(
        items=names | {key: key for key, _, _ in rows},
        order=[key for key, _, _ in rows],
        there=there,
        asked=asked or {},
        **_authors(task),
    )


def known_fields(task: Task) -> KnownFields:
    """The items of the draft, and what can be known of one."""
    version = task.versions.latest("number")
    rows = task.items.in_version(version.number).values_list("key", MD5("question"))
    digests = dict(rows)
    texts = Counter(digests.values())
    return KnownFields(
        frozenset(digests),
        get_type(task.type).known_fields(version.settings),
        {digest: key for key, digest in digests.items() if texts[digest] == 1},
    )


def label_items(task: Task) -> KnownLabelItems:
    """Return the items of the draft with the fields asked."""
    version = task.versions.latest("number")
    rows = list(task.items.in_version(version.number).values_list("key", "question", "media_id"))
    texts = {key: text for key, text, _ in rows}
    kind = FILES.get(version.settings["content"])
    if kind is None:
        return KnownLabelItems(texts, version.settings["fields"])
    files = task.project.media_files.filter(type__startswith=kind).order_by("pk")
    return KnownLabelItems(
        texts,
        version.settings["fields"],
        files=dict(files.values_list("name", "pk")),  # of two of a name, the newer
        shown={key: file for key, _, file in rows if file},
    )


def chat_items(task: Task) -> KnownLabelItems:
    """Return the items of the draft by their plain texts."""
    version = task.versions.order_by("-number").first()
    rows = task.items.in_version(version.number if version else 1)
    return KnownLabelItems(dict(rows.values_list("key", "question")))


def chat_texts(task: Task) -> KnownChatTexts:
    """Return the conversations on the topics of the draft, and its pairs."""
    rows = Candidate.objects.filter(
        project=task.project_id, chat__isnull=False, topic__in=_topics(task)
    )
    paired = get_type(task.type).pairs_texts
    keys = frozenset(rows.values_list("key", flat=True))
    return KnownChatTexts(keys, pairs(task).pairs if paired else frozenset(), _prompts(task))


def labels(task: Task) -> KnownLabels:
    """The published items with their known answers, and every label by author and item."""
    shown = task.items.in_version(_current(task).number).order_by("position", "pk")
    rows = list(shown.values_list("key", "expected", Length("question"), MD5("question")))
    texts = Counter(digest for *_, digest in rows)
    authors = _answered(task)
    there: dict[tuple[Author, str], dict[str, str]] = {key: {} for key in authors.values()}
    said = ChoiceValue.objects.filter(answer__item__task=task)
    for pk, field, code in said.values_list("answer_id", "field", "code").iterator():
        if pk in authors:
            there[authors[pk]][field] = code
    return KnownLabels(
        items={key: key for key, *_ in rows},
        digests={digest: key for key, *_, digest in rows if texts[digest] == 1},
        order=[key for key, *_ in rows],
        there=there,
        lengths={key: length for key, _, length, _ in rows},
        fields=_current(task).settings["fields"],
        gold={key: known for key, known, *_ in rows if known},
        **_authors(task),
    )


def ratings(task: Task) -> KnownRatings:
    """The published items, and every rating under the worker's own id and under the pseudonym."""
    scales = [scale["name"] for scale in _current(task).settings["scales"]]
    of_task = {"answer__item__task": task, "answer__worker__isnull": False}
    points: dict[int, dict[str, int]] = defaultdict(dict)
    for pk, field, value in ChoiceValue.objects.filter(**of_task, field__in=scales).values_list(
        "answer_id", "field", "ordinal"
    ):
        points[pk][field] = value or 0
    words = dict(
        TextValue.objects.filter(**of_task, field=EXPLANATION).values_list("answer_id", "text")
    )
    said: Counter[Said] = Counter()
    rows = Answer.objects.filter(item__task=task, worker__isnull=False)
    for pk, item, own, name in rows.values_list(
        "pk", "item__key", "worker__external_id", "worker__pseudonym"
    ):
        values = tuple((scale, points[pk].get(scale, 0)) for scale in scales)
        for worker in {own, name} - {""}:
            said[item, worker, values, words.get(pk, "")] += 1
    shown = task.items.in_version(_current(task).number).values_list("key", "settings__sentences")
    return KnownRatings(
        items={key: last or 0 for key, last in shown},
        said=said,
        removed=_removed_names(task.project_id),
    )


def judged_pairs(task: Task) -> KnownJudgments:
    """The pairs of every version, and what was judged of them."""
    own = Item.objects.filter(task=task)
    return KnownJudgments(
        pairs=_pairs(task),
        digests=_text_digests(task),
        attention=set(own.filter(expected__isnull=False).values_list("key", flat=True)),
        **_authors(task),
        **_judged(task),
    )


def _text_digests(task: Task) -> dict[str, set[str]]:
    """The ids of texts under judgment by the hash of their text."""
    own = Item.objects.filter(task=task, expected__isnull=True)
    texts = Candidate.objects.filter(
        Q(pk__in=own.values("first")) | Q(pk__in=own.exclude(second=None).values("second"))
    )
    found: dict[str, set[str]] = {}
    for digest, key in texts.values_list(MD5("text"), "key"):
        found.setdefault(digest, set()).add(key)
    return found


def _pairs(task: Task) -> list[KnownPair]:
    asked = set(task.items.in_version(_current(task).number).values_list("pk", flat=True))
    rows = Item.objects.filter(task=task, expected__isnull=True)
    names = judgments.system_names(list(task.project.systems.values_list("pk", flat=True)))
    return [
        KnownPair(
            pk,
            key,
            first or "",
            second or "",
            side,
            repeat,
            pk in asked,
            (names.get(system_a, ""), names.get(system_b, "")),
        )
        for pk, key, first, second, side, repeat, system_a, system_b in rows.order_by(
            "group__position", "position", "pk"
        ).values_list(
            *("pk", "key", "first__key", "second__key", "side", "repeat"),
            *("first__system_id", "second__system_id"),
        )
    ]


def _judged(task: Task) -> dict[str, Any]:
    """``there`` and ``again`` of KnownJudgments; in ``there`` the first where several are."""
    codes = judgments.codes(task)
    rows = Answer.objects.filter(item__task=task, stage=Answer.Stage.MAIN).order_by("pk")
    found: dict[Key, list[tuple[dt.datetime, dict[str, str]]]] = {}
    for pk, item, flipped, worker, *system, call, at in rows.values_list(
        "pk",
        "item__key",
        "flipped",
        "worker_id",
        "system__name",
        "system__prompt_strategy",
        "replicate",
        "answered_at",
    ):
        key = (_author(worker, *system, replicate_of(call)), item, flipped)
        found.setdefault(key, []).append((at, codes.get(pk, {})))
    return {
        "there": {key: said[0][1] for key, said in found.items()},
        "again": {
            (key, at): codes for key, said in found.items() if len(said) > 1 for at, codes in said
        },
    }


def battles(task: Task) -> KnownBattles:
    """Count the task's votes as battles, by hash, on the dimension that battles are about."""
    asked = [one.name for one in judgments.version_items(task.versions.latest("number"))]
    name = asked[0] if len(asked) == 1 else OVERALL
    names = judgments.system_names(list(task.project.systems.values_list("pk", flat=True)))
    found: Counter[bytes] = Counter()
    rows = Answer.objects.filter(
        item__task=task, worker__isnull=False, item__second__isnull=False, choices__field=name
    )
    for judge, code, flipped, topic, system_a, text_a, system_b, text_b in rows.values_list(
        "worker__external_id",
        "choices__code",
        "flipped",
        "item__first__topic",
        "item__first__system_id",
        "item__first__text",
        "item__second__system_id",
        "item__second__text",
    ).iterator():
        first, second = (names[system_a], text_a), (names[system_b], text_b)
        left, right = left_right(first, second, flipped=flipped)
        side = to_displayed(code, flipped=flipped)
        found[print_of(Battle(0, topic, "", left, right, side, judge, None))] += 1
    return KnownBattles(found, compared_pairs(task), has_version=task.current_id is not None)


def compared_pairs(task: Task) -> dict[str, TaskPair]:
    """The pairs that battles can be about, by id; without attention pairs and repeats."""
    rows = Item.objects.filter(
        task=task, until=None, expected__isnull=True, second__isnull=False, repeat=False
    )
    names = judgments.system_names(list(task.project.systems.values_list("pk", flat=True)))
    return {
        key: TaskPair(topic, query, (names[system_a], text_a), (names[system_b], text_b))
        for key, topic, query, system_a, text_a, system_b, text_b in rows.values_list(
            "key",
            "first__topic",
            "first__query",
            "first__system_id",
            "first__text",
            "second__system_id",
            "second__text",
        ).iterator()
    }
