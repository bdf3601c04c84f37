"""Ratings with explanations, and the documents with answers that they are about.

A row of documents is one answer under judgment: document_id, document, question_id, question,
sentence, answer. The document's text and the question stand in every row of theirs, or in the first
alone. ``sentence`` is the number of the sentence that the question arose from, as
annotation.task_types.sentences counts them; 0 or nothing for none.

A row of ratings has item_id, worker_id, label, explanation, evidence and correct. ``label`` is a
point of the task's first scale, by value or by name; a column that has the name of a scale holds a
point of it, and ``correct`` one of the scale called "correctness". ``evidence`` are sentence
numbers of the document, as in "3, 5-7".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.importer import (
    Field,
    Importer,
    Reader,
    Row,
    UniqueRows,
    closest_name,
    span,
)
from annotation.files.reading.recognise import NUMBERED
from annotation.formats.imports.answers import refuse_removed
from annotation.task_types.rating.explanation import MAX_EXPLANATION, numbers
from annotation.task_types.scales import scaled
from annotation.task_types.sentences import sentences
from crowdqc.errors import Invalid
from crowdqc.numbers import count, parse_whole, plural

LABEL, CORRECT = "label", "correct"
CORRECTNESS = "correctness"
COLUMNS = ("item_id", "worker_id", LABEL, "explanation", "evidence", CORRECT)
YES_NO = {"true": "1", "yes": "1", "false": "0", "no": "0"}
Said = tuple[str, str, tuple[tuple[str, int], ...], str]  # item, worker, values, explanation


@dataclass(frozen=True)
class KnownDocuments:
    """What is there: documents by id, and answers by id (their own text)."""

    documents: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)


class Documents(Importer):
    """Answers beside their documents; rows as ``add_documents`` takes them."""

    slug = "documents"
    title = gettext_lazy("Documents with answers")
    fields = (
        Field(
            "document_id",
            gettext_lazy("Document id"),
            True,
            ("article_id", "document_key", "doc_id"),
        ),
        Field(
            "document", gettext_lazy("Document"), False, ("article", "passage", "context", "text")
        ),
        Field("title", gettext_lazy("Title"), False, ("headline", "document_title")),
        Field("question_id", gettext_lazy("Question id"), True, ("question_key", "qid")),
        Field("question", gettext_lazy("Question"), True, ("query", "prompt", "frage")),
        Field("sentence", gettext_lazy("Sentence it arose from"), False, ("sentence_id", "anchor")),
        Field("answer_id", gettext_lazy("Answer id"), True, ("item_id", "id", "key", *NUMBERED)),
        Field(
            "answer", gettext_lazy("Answer"), True, ("response", "output", "completion", "antwort")
        ),
        Field("system", gettext_lazy("System"), True, ("model", "source", "llm")),
        Field("prompt_strategy", gettext_lazy("Prompt strategy"), False, ("strategy", "prompting")),
    )
    limits = (
        ("document_id", 80, gettext_noop("an id")),
        ("document", 100_000, gettext_noop("a document")),
        ("title", 160, gettext_noop("a title")),
        ("question_id", 80, gettext_noop("an id")),
        ("question", 20_000, gettext_noop("a question")),
        ("answer_id", 80, gettext_noop("an id")),
        ("answer", 100_000, gettext_noop("an answer")),
        ("system", 120, gettext_noop("a name")),
        ("prompt_strategy", 120, gettext_noop("a name")),
    )

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownDocuments) -> None:
        """Answers with the text of their document and question; an empty cell says nothing."""
        checked = reader.checked
        once = UniqueRows(
            reader,
            ["answer_id", "answer"],
            known.answers,
            twice=gettext_noop("Give each answer an id of its own."),
            differs=gettext_noop("The project has this id with another text."),
            leave=gettext_noop("Give this row another id: texts under judgment never change."),
        )
        told: dict[tuple[str, ...], str] = {
            ("document", key): text for key, text in known.documents.items()
        }
        for row in rows:
            with reader:
                values = reader.values(row, self.fields)
                for name in ("document_id", "question_id", "answer_id", "answer", "system"):
                    if not reader.value(row, name):
                        wrong = _("There is no %(name)s.") % {"name": name.replace("_", " ")}
                        reader.refuse(row, name, wrong, _("Write it."))
                reader.limit(row, self.limits)
                self._check_same(reader, row, "document", values, told)
                self._check_same(reader, row, "question", values, told)
                anchor = self._anchor(reader, row, values)
                if once.is_new(row, values["answer_id"], values["answer"]):
                    checked.good.append({**values, "sentence": anchor})
        if checked.good:
            there = {row["document_id"] for row in checked.good}
            answers = plural(len(checked.good), "answer")
            checked.facts.append(
                _("%(answers)s on %(documents)s")
                % {"answers": answers, "documents": plural(len(there), "document")}
            )

    @staticmethod
    def _check_same(
        reader: Reader,
        row: Row,
        name: str,
        values: dict[str, str],
        told: dict[tuple[str, ...], str],
    ) -> None:
        """See that the row says the same as the rows before it; an empty cell says nothing."""
        key: tuple[str, ...] = (name, values["document_id"])
        if name == "question":
            key = (*key, values["question_id"])
        given, first = values[name], told.get(key, "")
        if given and first and given.strip() != first.strip():
            wrong = _("Differs from the %(name)s given before.") % {"name": name}
            reader.refuse(row, name, wrong, _("Give it one text."))
        told[key] = values[name] = first or given
        if name == "question" and not values[name]:
            reader.refuse(row, name, _("There is no question."), _("Write it."))

    @staticmethod
    def _anchor(reader: Reader, row: Row, values: Mapping[str, str]) -> int:
        raw, last = values["sentence"] or "0", len(sentences(values["document"]))
        at = parse_whole(raw, high=last)
        if at is not None:
            return at
        there = (
            _("1 to %(last)s; 0 for none") % {"last": count(last)}
            if last
            else _("0: there is no document")
        )
        reader.refuse(row, "sentence", _("The document has no such sentence."), f"{there}.")


@dataclass(frozen=True)
class KnownRatings:
    """Items with the number of their document's last sentence, and what is there how often."""

    items: Mapping[str, int] = field(default_factory=dict)
    said: Mapping[Said, int] = field(default_factory=dict)
    removed: Set[str] = frozenset()  # workers who were removed from the project


def columns_of(scales: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The column of each scale, by the scale's name: ``label`` for the first one."""
    found = {}
    for at, scale in enumerate(scales):
        name = str(scale["name"])
        usual = CORRECT if name == CORRECTNESS else name
        found[name] = LABEL if at == 0 else f"rated_{name}" if usual in COLUMNS[:5] else usual
    return found


class Ratings(Importer):
    """The format, of the scales that a task asks for."""

    slug = "ratings"
    title = gettext_lazy("Ratings with explanations")

    def __init__(self, scales: Sequence[Mapping[str, Any]] = ()) -> None:
        self.scales = {str(scale["name"]): scale for scale in scales}
        self.columns = columns_of(scales)
        self.fields = (
            Field(
                "item_id", gettext_lazy("Answer id"), True, ("item", "answer_id", "id", *NUMBERED)
            ),
            Field("worker_id", gettext_lazy("Worker id"), True, ("worker", "annotator", "rater")),
            *(
                Field(self.columns[name], scale["label"], True, (name, f"{name}_label"))
                for name, scale in self.scales.items()
            ),
            Field(
                "explanation",
                gettext_lazy("Explanation"),
                False,
                ("feedback", "reason", "rationale"),
            ),
            Field(
                "evidence",
                gettext_lazy("Evidence sentences"),
                False,
                ("sentences", "evidence_sentences"),
            ),
        )

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownRatings) -> None:
        """Read ratings; repeats of a stored rating are recognised up to their stored number."""
        checked, left = reader.checked, dict(known.said)
        for row in rows:
            with reader:
                found = self._rating(reader, row, known)
                said: Said = (
                    found["item_id"],
                    found["worker_id"],
                    tuple(found["values"]),
                    found["explanation"],
                )
                if left.get(said, 0):
                    left[said] -= 1
                    checked.there += 1
                else:
                    checked.good.append(found)

    def _rating(self, reader: Reader, row: Row, known: KnownRatings) -> dict[str, Any]:
        item = reader.known_name(row, "item_id", known.items)
        if item not in known.items:
            near = closest_name(item, known.items)
            mend = (
                _("Did you mean %(near)s?") % {"near": near} if near else span(sorted(known.items))
            )
            reader.refuse(row, "item_id", _("No answer has this id."), mend)
        reader.needed(
            row,
            "worker_id",
            gettext_noop("There is no worker."),
            gettext_noop("Write who rated it."),
        )
        worker = reader.fit(row, "worker_id", 120, gettext_noop("an id"))
        refuse_removed(reader, row, "worker_id", worker, known.removed)
        said = reader.fit(row, "explanation", MAX_EXPLANATION, gettext_noop("an explanation"))
        points = reader.read_all(*(partial(self._point, reader, row, name) for name in self.scales))
        try:
            evidence = numbers(reader.value(row, "evidence").strip("[]"), known.items[item])
        except Invalid as error:
            reader.refuse(row, "evidence", error.message, _("Sentence numbers, as in 3, 5-7."))
        return {
            "item_id": item,
            "worker_id": worker,
            "values": list(zip(self.scales, points, strict=True)),
            "explanation": said,
            "evidence": evidence,
        }

    def _point(self, reader: Reader, row: Row, name: str) -> int:
        column, points = self.columns[name], self.scales[name]["points"]
        raw = reader.value(row, column)
        by_name = {str(point["label"]).casefold(): point["value"] for point in points}
        factor = self.scales[name].get("factor", 1)
        by_value = {f"{point['value'] / factor:g}": int(point["value"]) for point in points}
        value = by_name.get(raw.casefold())
        if (number := scaled(raw, factor)) in by_value.values():
            value = number
        if value is None:
            value = by_value.get(YES_NO.get(raw.casefold(), ""))
        if value is None:
            said = ", ".join(by_value)
            reader.refuse(
                row,
                column,
                _("The scale has no such point."),
                _("One of %(said)s.") % {"said": said},
            )
        return int(value)
