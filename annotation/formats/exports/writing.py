"""Responses of a writing task out: texts, how they came about, forms, topics with their passages.

People appear under their pseudonyms alone. The importers of topics, of responses and of writing
logs read what stands here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from annotation.files.writing.tables import Table
from annotation.formats.exports.answered import WHETHER, WHO, of_answers
from annotation.models import Answer, ChoiceValue, SpanValue, Task, TextValue
from annotation.task_types.rendering import words_in
from annotation.task_types.writing import citations
from annotation.task_types.writing.deltas import Delta, apply, diff_texts
from annotation.task_types.writing.type import CITATION, ENTRY, EXIT
from annotation.work.selectors import log
from annotation.work.snapshots import responses

CHUNK = 500
LOGS_AT_ONCE = 20  # assignments whose events are held
RESPONSES = (
    *("response", "topic", "query", "style", "origin", *WHO, "text", "words", "statements"),
    *("citations", "cited", "documents", "assignment", "started_at", *WHETHER),
)
HEAD = ("response", "worker", "topic", "style")
TOPICS = ("topic", "query", "rank", "passage_key", "title", "passage")
LISTS = ("cited", "documents")
Row = dict[str, Any]


def response_table(task: Task, form: str, dimension: str = "") -> Table:
    """Every response of people and systems, counting or not, with what it cites.

    ``cited`` are the ranks of the passages in the order in which they are first cited, from 1, and
    ``documents`` their ids; in CSV a space or a semicolon parts them.
    """
    rows = _responses(task)
    return Table(RESPONSES, rows if form == "jsonl" else map(_flat, rows))


def survey_table(task: Task, form: str, dimension: str = "") -> Table:
    """Table of the questionnaires before and after writing, a row a response."""
    names = _form_fields(task)
    return Table((*HEAD, *names), _surveys(task, names))


def topic_table(task: Task, form: str, dimension: str = "") -> Table:
    """The topics in force: a topic a line with its passages, or in CSV a passage a row."""
    if form == "jsonl":
        return Table(("topic", "query", "passages"), _topics(task))
    return Table(TOPICS, _passages(task))


def log_table(task: Task, form: str, dimension: str = "") -> Table:
    """Table of writing logs: the changes that lead from an empty text to each response.

    A change is [ms since ``started_at``, position, deleted, inserted] in UTF-16 units, with the ms
    between keystrokes after it where a run of typing was recorded.
    """
    rows = ({**head, "deltas": changes(events)} for head, events in _logs(task))
    return Table((*HEAD, "started_at", "deltas"), rows)


def changes(events: Iterable[Mapping[str, Any]]) -> list[Delta]:
    """The changes of one item's events, in the order in which they replay.

    A page that begins with another text than the last one ended with is a change like any other.
    """
    text, last, found = "", 0, list[Delta]()
    for event in events:
        delta = event.get("delta")
        if not delta:
            continue
        last = max(last, int(delta[0]))
        if event["method"] != "show":
            change = [last, *delta[1:4]]
            found.append([*change, event["ms"]] if event.get("ms") else change)
            text = apply(text, change)
            continue
        shown = diff_texts(text, delta[3])
        if shown is not None or not found:
            found.append([last, *(shown or (0, 0, ""))])
        text = delta[3]
    return found


OF_A_RESPONSE = (
    "text",
    "answer_id",
    "answer__item__question",
    "answer__item__group__key",
    "answer__item__group_id",
    "answer__item__settings",
    "answer__assignment_id",
    "answer__assignment__opened_at",
)


def _responses(task: Task) -> Iterator[Row]:
    cited: dict[int, list[int]] = {}
    spans = SpanValue.objects.filter(answer__item__task=task, field=CITATION)
    for pk, target in spans.order_by("answer", "index").values_list("answer_id", "target"):
        cited.setdefault(pk, []).append(int(target))
    keys = {
        pk: [str(one["key"]) for one in passages]
        for pk, passages in task.groups.values_list("pk", "passages")
    }
    for row, answer in of_answers(task, _answers(task), *OF_A_RESPONSE, chunk=CHUNK):
        ranks = cited.get(row["answer_id"], [])
        different, known = list(dict.fromkeys(ranks)), keys[row["item__group_id"]]
        opened = row["assignment__opened_at"]
        yield {
            **answer,
            "response": str(row["answer_id"]),
            "topic": row["item__group__key"],
            "query": row["item__question"],
            "style": row["item__settings"].get("style", ""),
            "origin": "human" if row["worker_id"] else "system",
            "text": row["text"],
            "words": words_in(row["text"]),
            "statements": len(citations.statements(row["text"])),
            "citations": len(ranks),
            "cited": different,
            "documents": [known[rank - 1] for rank in different if rank <= len(known)],
            "assignment": row["assignment_id"],
            "started_at": opened.isoformat() if opened else "",
        }


def _flat(row: Row) -> Row:
    """A row for CSV: ranks with spaces between them, ids with semicolons."""
    return {
        **row,
        "cited": " ".join(map(str, row["cited"])),
        "documents": "; ".join(row["documents"]),
    }


def _answers(task: Task) -> Any:
    """The texts of responses in the order of their items."""
    return TextValue.objects.filter(
        answer__item__task=task, answer__stage=Answer.Stage.MAIN, field=responses.TEXT, index=0
    ).order_by("answer__item__position", "answer__item_id", "answer_id")


def _form_fields(task: Task) -> list[str]:
    """The fields of both forms, of all versions, in their order."""
    fields: dict[str, None] = {}
    for settings in task.versions.order_by("number").values_list("settings", flat=True):
        for stage in (ENTRY, EXIT):
            fields |= dict.fromkeys(f"{stage}.{row['name']}" for row in settings.get(stage, []))
    return sorted(fields, key=lambda name: name.startswith(f"{EXIT}."))


def _surveys(task: Task, names: Sequence[str]) -> Iterator[Row]:
    said: dict[int, dict[str, Any]] = {}
    own = {"answer__item__task": task, "field__in": names}
    choices = ChoiceValue.objects.filter(**own).values_list("answer_id", "field", "ordinal")
    words = TextValue.objects.filter(**own, index=0).values_list("answer_id", "field", "text")
    for rows in (choices, words):
        for pk, name, value in rows.iterator(CHUNK):
            said.setdefault(pk, {})[name] = value
    for row in (
        _answers(task)
        .filter(answer__worker__isnull=False)
        .values_list(
            "answer_id",
            "answer__worker__pseudonym",
            "answer__item__group__key",
            "answer__item__settings",
        )
        .iterator(CHUNK)
    ):
        pk, worker, topic, settings = row
        head = (str(pk), worker, topic, settings.get("style", ""))
        given = said.get(pk, {})
        yield {**dict(zip(HEAD, head, strict=True)), **{name: given.get(name) for name in names}}


def _topics(task: Task) -> Iterator[Row]:
    version = task.version_or_draft()
    asked = task.items.in_version(version.number).order_by("-pk")
    queries = dict(asked.values_list("group_id", "question"))
    groups = task.groups.in_version(version.number).order_by("position", "pk")
    for group in groups.iterator(CHUNK):
        query = queries.get(group.pk, group.title)
        yield {"topic": group.key, "query": query, "passages": group.passages}


def _passages(task: Task) -> Iterator[Row]:
    for one in _topics(task):
        about = {"topic": one["topic"], "query": one["query"]}
        none = {name: "" for name in TOPICS[2:]}
        if not one["passages"]:
            yield {**about, **none}
        for rank, passage in enumerate(one["passages"], 1):
            yield {
                **about,
                "rank": rank,
                "passage_key": passage["key"],
                "title": passage["title"],
                "passage": passage["text"],
            }


def _logs(task: Task) -> Iterator[tuple[Row, list[log.Event]]]:
    """Each response that has a log: its head and its own events, in the order of replay."""
    rows = list(
        _answers(task)
        .filter(answer__assignment__streams__next_seq__gt=0)
        .distinct()
        .values_list(
            "answer_id",
            "answer__worker__pseudonym",
            "answer__item__group__key",
            "answer__item__settings",
            "answer__item_id",
            "answer__assignment_id",
            "answer__assignment__opened_at",
            "answer__assignment__leased_at",
        )
    )
    for first in range(0, len(rows), LOGS_AT_ONCE):
        part = rows[first : first + LOGS_AT_ONCE]
        events = responses.logs({row[5] for row in part})
        for pk, worker, topic, settings, item, assignment, opened, leased in part:
            own = log.item_events(events[assignment], item)
            if any(event.get("delta") for event in own):
                head = (str(pk), worker, topic, settings.get("style", ""))
                started = (opened or leased).isoformat()
                yield {**dict(zip(HEAD, head, strict=True)), "started_at": started}, own
