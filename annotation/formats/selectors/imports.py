"""What a task holds already, as importers need it, and a file examined against it."""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.files.reading.importer import Checked, Field, Images, Prints, Sheet, guess, missing
from annotation.formats.imports import get_format
from annotation.formats.imports.answers import KnownAnswers
from annotation.formats.imports.candidates import KnownCandidates
from annotation.formats.imports.candidates import content_of as text_of
from annotation.formats.imports.items import KnownItems
from annotation.formats.imports.judged_pairs import KnownPair
from annotation.formats.imports.judgment_lines import Author, Key, KnownJudgments
from annotation.formats.imports.judgments import Judgments
from annotation.formats.imports.ratings import Ratings
from annotation.formats.imports.system_answers import KnownSystems
from annotation.formats.imports.tools.arena import OVERALL, Battle, print_of
from annotation.formats.imports.writing.responses import KnownResponses
from annotation.formats.imports.writing.topics import KnownTopics, content_of
from annotation.formats.selectors.known_ratings import known_documents, known_ratings
from annotation.formats.selectors.known_thinking import (
    known_attributes,
    known_checks,
    known_samples,
)
from annotation.models import (
    Answer,
    Candidate,
    Item,
    Membership,
    Project,
    Role,
    System,
    Task,
    TextValue,
)
from annotation.task_types import get_type
from annotation.task_types.pairwise.sides import left_right, replicate_of, shown
from annotation.work.snapshots import judgments
from crowdqc.errors import Conflict, Invalid
from crowdqc.tally import Tally, by_reason

# The fields of each format that pages show as Markdown.
MARKDOWN = {
    "items": ("question", "context"),
    "candidates": ("text", "query", "context"),
    "topics": ("query", "passage", "passages", "references_texts"),
    "documents": ("document", "question", "answer"),
    "samples": ("text", "rubric"),
}


def kinds_of(task: Task) -> tuple[str, ...]:
    """The kinds of files that a task takes."""
    version = task.versions.order_by("-number").first()
    return get_type(task.type).imports_of(version.settings if version else {})


def format_for(task: Task, kind: str) -> Any:
    """The format of this kind, with what this task asks for; Invalid where it takes no such file.

    A task that was never published has what its draft asks for.
    """
    importer, kinds = get_format(kind), kinds_of(task)
    if kind not in kinds:
        raise Invalid(
            f"This task takes no {importer.title.lower()}.", fields={"kind": ", ".join(kinds)}
        )
    if kind not in ("judgments", "ratings"):
        return importer
    version = task.current or task.versions.latest("number")
    if kind == "ratings":
        return Ratings(version.settings["scales"])
    return Judgments(judgments.asked(version))


def known_for(task: Task, kind: str) -> Any:
    """What the rows of a file are compared with."""
    if kind == "candidates":
        return known_candidates(task.project)
    of_drafts = {
        "items": _known_items,
        "topics": _known_topics,
        "samples": known_samples,
        "documents": known_documents,
        "arena": _known_battles,
    }
    if kind in of_drafts:
        return of_drafts[kind](task)
    if task.current is None:
        raise Conflict("Publish the task first: answers name the version they answer.")
    known = {
        "answers": _known_answers,
        "system_answers": _known_systems,
        "judgments": _known_judgments,
        "responses": _known_responses,
        "attributes": known_attributes,
        "checks": known_checks,
        "ratings": known_ratings,
    }
    return known[kind](task)


def _known_items(task: Task) -> KnownItems:
    version = task.versions.order_by("-number").first()
    number = version.number if version else 1
    items = task.items.in_version(number).values_list("key", "question", "group_id")
    groups = list(task.groups.in_version(number).values_list("pk", "key", "passage"))
    passages = {pk: passage for pk, _, passage in groups}  # once, however many share one
    return KnownItems(
        questions={key: (question, passages[group]) for key, question, group in items.iterator()},
        topics={key: passage for _, key, passage in groups},
    )


def _known_topics(task: Task) -> KnownTopics:
    version = task.versions.latest("number")
    asked = task.items.in_version(version.number).values_list("group_id", "question")
    queries = dict(asked.order_by("-pk"))
    return KnownTopics(
        {
            group.key: content_of(queries.get(group.pk, group.title), group.passages)
            for group in task.groups.in_version(version.number)
        }
    )


def _keys(task: Task) -> list[str]:
    assert task.current is not None  # noqa: S101 (asked for by known_for)
    items = task.items.in_version(task.current.number)
    return list(items.order_by("group__position", "position", "pk").values_list("key", flat=True))


def _known_answers(task: Task) -> KnownAnswers:
    texts = TextValue.objects.filter(
        field="answer", index=0, answer__item__task=task, answer__worker__isnull=False
    ).exclude(answer__worker__external_id="")
    removed = Membership.objects.filter(project_id=task.project_id, removed_at__isnull=False)
    return KnownAnswers(
        keys=_keys(task),
        texts=Prints(
            ((worker, key), text)
            for worker, key, text in texts.values_list(
                "answer__worker__external_id", "answer__item__key", "text"
            ).iterator()
        ),
        removed=set(removed.exclude(external_id="").values_list("external_id", flat=True)),
    )


def _known_systems(task: Task) -> KnownSystems:
    texts = TextValue.objects.filter(
        field="answer", index=0, answer__item__task=task, answer__system__isnull=False
    )
    names, strategies = _systems(task)
    return KnownSystems(
        keys=_keys(task),
        names=names,
        strategies=strategies,
        texts=Prints(
            ((name, strategy, key, replicate), text)
            for name, strategy, key, replicate, text in texts.values_list(
                "answer__system__name",
                "answer__system__prompt_strategy",
                "answer__item__key",
                "answer__replicate",
                "text",
            ).iterator()
        ),
    )


def _systems(task: Task) -> tuple[list[str], list[str]]:
    """The names and the prompt strategies in use in the project."""
    rows = System.objects.filter(project_id=task.project_id)
    systems = list(rows.values_list("name", "prompt_strategy"))
    return [name for name, _ in systems], [strategy for _, strategy in systems if strategy]


def _known_responses(task: Task) -> KnownResponses:
    workers = Membership.objects.filter(project_id=task.project_id, role=Role.WORKER)
    people = list(workers.values_list("pk", "pseudonym", "external_id", "removed_at"))
    names, strategies = _systems(task)
    texts = TextValue.objects.filter(field="answer", index=0, answer__item__task=task)
    found: dict[tuple[Author, str], str] = {}
    for worker, name, strategy, replicate, key, text in texts.order_by("answer").values_list(
        "answer__worker_id",
        "answer__system__name",
        "answer__system__prompt_strategy",
        "answer__replicate",
        "answer__item__key",
        "text",
    ):
        author: Author = ("worker", worker) if worker else ("system", name, strategy, replicate)
        found.setdefault((author, key), text)
    return KnownResponses(
        keys=_keys(task),
        people={pseudonym: pk for pk, pseudonym, _, _ in people}
        | {external: pk for pk, _, external, _ in people if external},
        removed=frozenset(name for _, *both, removed in people if removed for name in both if name),
        names=names,
        strategies=strategies,
        texts=found,
    )


def _known_judgments(task: Task) -> KnownJudgments:
    assert task.current is not None  # noqa: S101 (asked for by known_for)
    workers = Membership.objects.filter(project_id=task.project_id, role=Role.WORKER)
    people = list(workers.values_list("pk", "pseudonym", "external_id", "removed_at"))
    names, strategies = _systems(task)
    own = Item.objects.filter(task=task)
    return KnownJudgments(
        pairs=_pairs(task),
        attention=set(own.filter(expected__isnull=False).values_list("key", flat=True)),
        people={pseudonym: pk for pk, pseudonym, _, _ in people}
        | {external: pk for pk, _, external, _ in people if external},
        removed={pk for pk, _, _, removed in people if removed},
        names=names,
        strategies=strategies,
        **_judged(task),
    )


def _known_battles(task: Task) -> Counter[bytes]:
    """What is there as battles on the dimension that battles are about, and how often."""
    asked = [one.name for one in judgments.asked(task.versions.latest("number"))]
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
        side = shown(code, flipped=flipped)
        found[print_of(Battle(0, topic, "", left, right, side, judge, None))] += 1
    return found


def _pairs(task: Task) -> list[KnownPair]:
    assert task.current is not None  # noqa: S101 (asked for by known_for)
    asked = set(task.items.in_version(task.current.number).values_list("pk", flat=True))
    rows = Item.objects.filter(task=task, expected__isnull=True)
    fields = ("pk", "key", "first__key", "second__key", "side", "repeat")
    return [
        KnownPair(pk, key, first or "", second or "", side, repeat, pk in asked)
        for pk, key, first, second, side, repeat in rows.order_by(
            "group__position", "position", "pk"
        ).values_list(*fields)
    ]


def _judged(task: Task) -> dict[str, Any]:
    """``there`` and ``again`` of KnownJudgments; in ``there`` the first where several are."""
    codes = judgments.codes(task)
    answers = Answer.objects.filter(item__task=task, stage=Answer.Stage.MAIN).order_by("pk")
    found: dict[Key, list[tuple[dt.datetime, dict[str, str]]]] = {}
    for pk, item, flipped, worker, system, strategy, call, at in answers.values_list(
        "pk",
        "item__key",
        "flipped",
        "worker_id",
        "system__name",
        "system__prompt_strategy",
        "replicate",
        "answered_at",
    ):
        author: Author = (
            ("worker", worker) if worker else ("system", system, strategy, replicate_of(call))
        )
        found.setdefault((author, item, flipped), []).append((at, codes.get(pk, {})))
    return {
        "there": {key: said[0][1] for key, said in found.items()},
        "again": {
            (key, at): codes for key, said in found.items() if len(said) > 1 for at, codes in said
        },
    }


def known_candidates(project: Project) -> KnownCandidates:
    """The texts under judgment of a project, their topics' queries, and the names of sources."""
    rows = Candidate.objects.filter(project=project)
    texts = rows.values_list("key", "topic", "text")
    names = System.objects.filter(project=project).values_list("name", flat=True)
    return KnownCandidates(
        texts=Prints((key, text_of(topic, text)) for key, topic, text in texts.iterator()),
        queries=dict(rows.exclude(query="").order_by("pk").values_list("topic", "query")),
        names=sorted(set(names)),
    )


@dataclass(frozen=True)
class Examined:
    """A file, how its columns are read, and what became of its rows."""

    sheet: Sheet
    mapping: dict[str, str]
    unmapped: list[Field]  # required fields that no column gives
    checked: Checked

    @property
    def bad_rows(self) -> int:
        return len(self.checked.bad_lines)

    @property
    def unread(self) -> list[str]:
        """Columns that no field reads."""
        read = set(self.mapping.values())
        return [name for name in self.sheet.columns if name and name not in read]

    @property
    def why_bad(self) -> Counter[str]:
        """How many rows cannot be taken, by the first thing that is wrong with each."""
        rows = itertools.groupby(self.checked.problems.ordered(), key=lambda one: one.line)
        return by_reason(next(problems).wrong for _, problems in rows)

    @property
    def tally(self) -> Tally:
        """What becomes of every row of the file."""
        checked = self.checked
        return Tally(
            came=len(self.sheet.rows) + len({one.line for one in self.sheet.unreadable}),
            used=checked.used,
            left_out={"there": checked.there, "twice": len(checked.repeats), **self.why_bad},
        )

    @property
    def can_import(self) -> bool:
        return not self.unmapped


def examine(
    task: Task, kind: str, sheet: Sheet, mapping: Mapping[str, str] | None = None
) -> Examined:
    """Check every row of a file that was read; nothing is written.

    ``mapping`` (field -> column) overrules the guess from the columns' names. Conflict where
    the task takes no such file yet.
    """
    return _examined(format_for(task, kind), known_for(task, kind), sheet, mapping)


def examine_candidates(
    project: Project, sheet: Sheet, mapping: Mapping[str, str] | None = None
) -> Examined:
    """The same for a file of texts, which belong to a project and to no task."""
    return _examined(get_format("candidates"), known_candidates(project), sheet, mapping)


def _examined(
    importer: Any, known: Any, sheet: Sheet, mapping: Mapping[str, str] | None
) -> Examined:
    columns = set(sheet.columns)
    chosen = (
        {f: column for f, column in mapping.items() if column in columns}
        if mapping
        else guess(sheet.columns, importer.fields)
    )
    unmapped = missing(chosen, importer.fields)
    if unmapped:
        return Examined(sheet, chosen, unmapped, Checked())
    images = Images(
        sheet.rows, [chosen[one] for one in MARKDOWN.get(importer.slug, ()) if one in chosen]
    )
    checked = importer.check(images if images.columns else sheet.rows, chosen, known)
    checked.notes += images.notes
    checked.problems = checked.problems.merged(sheet.unreadable)
    return Examined(sheet, chosen, unmapped, checked)
