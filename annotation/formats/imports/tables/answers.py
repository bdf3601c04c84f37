"""A table of free-text answers that is to become a task: who answered which question how."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.importer import (
    ConsistentTexts,
    Field,
    Reader,
    Row,
    Times,
    guess,
    plain,
)
from annotation.files.reading.keys import text_print
from annotation.files.reading.recognise import (
    LOOKED_AT,
    MOST_LABELS,
    WORKERS,
    item_by_id,
    told_by_rows,
)
from annotation.formats.imports.answers import MAX_ANSWER, Answers
from annotation.formats.imports.items import Items, made_id
from annotation.formats.imports.tables.base import (
    Fit,
    Fixes,
    LastCounts,
    TableReader,
    unread,
)
from crowdqc.numbers import count, plural
from crowdqc.web.words import count_words

ASKED = "a question or its id"
ID = re.compile(r"\S{1,80}")  # what is written as one word names a question
EXPLANATION = "explanation"  # an answer, unless it explains a vote
TEXT = {"text", "content"}  # an answer, unless a column beside it holds a vote
CHOSEN = {"label", "annotation", "vote", "choice", "category", "score", "rating"}
VOTES = {"label", "score", "rating", "verdict"}
WORDS = 3  # words of a usual answer, from which it is no label
IDS = ("item_id", "qid", "item", "task", "task_id", "id", "key")
TEXTS = ("question_text", "prompt", "query", "instruction", "frage")
_ITEM = {one.name: one for one in Items.fields}
_ANSWER = {one.name: one for one in Answers.fields}


class AnswerTable(TableReader):
    """Rows {item_id, question, context, topic, worker_id, answer, submitted_at}."""

    slug = "answer_table"
    title = gettext_lazy("Free-text answers")
    unit = "answer"
    alike = (("worker_id",), ("item_id",))
    fields = (
        Field("worker_id", gettext_lazy("Worker"), True, (*_ANSWER["worker_id"].also, *WORKERS)),
        Field("item_id", gettext_lazy("Question id"), False, ("question_id", *IDS), ASKED),
        Field("question", gettext_lazy("Question"), False, TEXTS, ASKED),
        Field("answer", gettext_lazy("Answer"), True, (*_ANSWER["answer"].also, EXPLANATION)),
        Field("context", gettext_lazy("Text to read"), False, _ITEM["context"].also),
        Field("topic", gettext_lazy("Topic"), False, _ITEM["topic"].also),
        Field("submitted_at", gettext_lazy("Time"), False, _ANSWER["submitted_at"].also),
    )
    limits = (
        ("worker_id", 120, gettext_noop("a worker id")),
        ("answer", MAX_ANSWER, gettext_noop("an answer")),
        *(one for one in Items.limits),
    )

    def guess(self, columns: Sequence[str], rows: Iterable[Row]) -> dict[str, str]:
        """Map fields to columns by name, and the question's id by its values, too."""
        looked = [row.values for row in itertools.islice(rows, LOOKED_AT)]
        named = told_by_rows(guess(columns, self.fields), columns, looked, "worker_id", "item_id")
        item = "" if "item_id" in named else item_by_id(columns, rows, named, "worker_id")
        return {**named, "item_id": item} if item else named

    def fit(self, columns: Sequence[str], rows: Sequence[Row]) -> Fit:
        """Worker, question and answer are there, and answers are sentences, not labels."""
        mapping = self.guess(columns, rows)
        if lacks := self.lacks(mapping):
            return Fit(False, lacks)
        if plain(mapping["answer"]) == EXPLANATION and any(plain(one) in VOTES for one in columns):
            return Fit(False, _("a column is called as labels are"))
        if plain(mapping["answer"]) in TEXT and any(plain(one) in CHOSEN for one in columns):
            return Fit(False, _("a column is called as labels are"))
        answers = [row.values.get(mapping["answer"], "").strip() for row in rows]
        given = [one for one in answers if one]
        different = len(set(given))
        usual = median([count_words(one) for one in given]) if given else 0
        said = _("%(answer)s has %(differents)s") % {
            "answer": mapping["answer"],
            "differents": plural(different, "different value"),
        }
        if usual < WORDS and (different <= MOST_LABELS or 2 * different < len(given)):
            return Fit(False, _("%(said)s, too few for answers") % {"said": said})
        asked = mapping.get("item_id") or mapping["question"]
        told = {(row.values.get(asked), row.values.get(mapping["answer"])) for row in rows}
        if len(told) == len({row.values.get(asked) for row in rows}) < len(rows):
            return Fit(
                False,
                _("%(answer)s is the same in all rows of a question")
                % {"answer": mapping["answer"]},
            )
        return Fit(
            True,
            _("%(said)s, usually of %(words)s")
            % {"said": said, "words": plural(round(usual), "word")},
        )

    def read(self, reader: Reader, rows: Iterable[Row], known: Fixes) -> None:
        """Answers by worker and question; a question without an id gets one made of its text."""
        last = LastCounts(reader, ("worker_id", "item_id", "question"), "answer")
        asked: dict[str, dict[str, str]] = {}
        one_text = ConsistentTexts(
            reader,
            {},
            _("the table"),
            _("This question has another text in {where}."),
            _("Give each question an id of its own."),
        )
        made, times = set[str](), Times(reader, "submitted_at", rows)
        for row in rows:
            with reader:
                values = reader.values(row, self.fields)
                reader.needed(
                    row, "worker_id", gettext_noop("No worker"), gettext_noop("Left out.")
                )
                reader.needed(row, "answer", gettext_noop("No answer"), gettext_noop("Left out."))
                if not values["item_id"] and not values["question"]:
                    reader.refuse(row, ["item_id", "question"], _("No question"), _("Left out."))
                reader.limit(row, self.limits)
                if not values["item_id"] and ID.fullmatch(values["question"]):
                    values["item_id"] = values["question"]
                elif not values["item_id"]:
                    values["item_id"] = made_id(values)
                    made.add(values["item_id"])
                if values["question"]:
                    digest = text_print(values["question"])
                    one_text.check(row, ["question"], values["item_id"], digest)
                at = times.read(row)
                item = asked.setdefault(values["item_id"], dict[str, str]())
                for name in ("question", "context", "topic"):
                    item[name] = item.get(name) or values[name]
                key = (values["worker_id"], values["item_id"])
                last.take(
                    row,
                    key,
                    {"answer": values["answer"], "submitted_at": at, "meta": unread(reader, row)},
                )
        times.note()
        for (worker, item_id), (_line, one) in last.found.items():
            more = {"worker_id": worker, "item_id": item_id, **asked[item_id]}
            reader.checked.good.append({**one, **more}, len(one["answer"]))
        self._add_facts(reader, last, made)

    @staticmethod
    def _add_facts(reader: Reader, last: LastCounts, made: set[str]) -> None:
        if made:
            note = _("%(questions)s without an id: one is made of the text.") % {
                "questions": plural(len(made), "question")
            }
            reader.checked.notes.append(note)
        workers = Counter(worker for worker, _ in last.found)
        items = Counter(item for _, item in last.found)
        low, high = min(items.values(), default=0), max(items.values(), default=0)
        alone = sum(n < 2 for n in items.values())
        warnings: list[dict[str, str]] = []
        if alone:
            text = _("%(questions)s with one answer: there is nothing to compare it with.") % {
                "questions": plural(alone, "question")
            }
            warnings.append({"level": "", "head": _("Questions answered once."), "text": text})
        cannot = _("Every question has one answer: there is nothing to compare.")
        reader.checked.about |= {
            "facts": [
                [_("Answers"), count(len(last.found))],
                [_("Workers"), count(len(workers))],
                [_("Questions"), count(len(items))],
                [
                    _("Answers per question"),
                    count(low)
                    if low == high
                    else _("%(low)s to %(high)s") % {"low": count(low), "high": count(high)},
                ],
            ],
            "by": [plural(len(workers), "worker"), plural(len(items), "question")],
            "warnings": warnings,
            "low": low,
            "cannot": [_("Nothing to compare"), cannot] if items and high < 2 else [],
        }
