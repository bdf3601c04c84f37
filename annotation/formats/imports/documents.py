"""Answers beside their documents: document_id, document, question_id, question, sentence, answer.

A row is one answer under judgment. The document's text and the question stand in every row of
theirs, or in the first alone. ``sentence`` is the number of the sentence that the question arose
from, as annotation.task_types.sentences counts them; 0 or nothing for none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from annotation.files.reading.importer import Checked, Field, Importer, Once, Reader, Row
from annotation.task_types.sentences import sentences
from crowdqc.numbers import plural, whole

LIMITS = (
    ("document_id", 80, "an id"),
    ("title", 160, "a title"),
    ("document", 100_000, "a document"),
    ("question_id", 80, "an id"),
    ("question", 20_000, "a question"),
    ("answer_id", 80, "an id"),
    ("answer", 100_000, "an answer"),
    ("system", 120, "a name"),
    ("prompt_strategy", 120, "a name"),
)


@dataclass(frozen=True)
class KnownDocuments:
    """What is there: documents by id, and answers by id (their own text)."""

    documents: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)


class Documents(Importer):
    """The format; ``check`` gives rows as ``add_documents`` takes them."""

    slug = "documents"
    title = "Documents with answers"
    fields = (
        Field("document_id", "Document id", True, ("article_id", "document_key", "doc_id")),
        Field("document", "Document", False, ("article", "passage", "context", "text")),
        Field("title", "Title", False, ("headline", "document_title")),
        Field("question_id", "Question id", True, ("question_key", "qid")),
        Field("question", "Question", True, ("query", "prompt", "frage")),
        Field("sentence", "Sentence it arose from", False, ("sentence_id", "anchor")),
        Field("answer_id", "Answer id", True, ("item_id", "id", "key")),
        Field("answer", "Answer", True, ("response", "output", "completion", "antwort")),
        Field("system", "System", True, ("model", "source", "llm")),
        Field("prompt_strategy", "Prompt strategy", False, ("strategy", "prompting")),
    )

    def check(
        self, rows: Iterable[Row], mapping: Mapping[str, str], known: KnownDocuments
    ) -> Checked:
        """Rows to add, those that are there already, and what is wrong with the others."""
        checked = Checked()
        reader = Reader(mapping, checked)
        once = Once(
            reader,
            ["answer_id", "answer"],
            known.answers,
            twice="Give each answer an id of its own.",
            differs="The project has this id with another text.",
            leave="Give this row another id: texts under judgment never change.",
        )
        told: dict[tuple[str, ...], str] = {
            ("document", key): text for key, text in known.documents.items()
        }
        for row in rows:
            values = {one.name: reader.value(row, one.name) for one in self.fields}
            if not (
                self._complete(reader, row, values)
                and self._one(reader, row, "document", values, told)
                and self._one(reader, row, "question", values, told)
            ):
                continue
            anchor = self._anchor(reader, row, values)
            if anchor is not None and once.takes(row, values["answer_id"], values["answer"]):
                checked.good.append({**values, "sentence": anchor})
        if checked.good:
            there = {row["document_id"] for row in checked.good}
            answers = plural(len(checked.good), "answer")
            checked.facts.append(f"{answers} on {plural(len(there), 'document')}")
        return checked

    @staticmethod
    def _complete(reader: Reader, row: Row, values: Mapping[str, str]) -> bool:
        for name in ("document_id", "question_id", "answer_id", "answer", "system"):
            if not values[name]:
                reader.bad(row, name, f"There is no {name.replace('_', ' ')}.", "Write it.")
                return False
        return all(reader.fits(row, name, most, noun) for name, most, noun in LIMITS)

    @staticmethod
    def _one(
        reader: Reader,
        row: Row,
        name: str,
        values: dict[str, str],
        told: dict[tuple[str, ...], str],
    ) -> bool:
        """Whether the row says the same as the rows before it; an empty cell says nothing."""
        key: tuple[str, ...] = (name, values["document_id"])
        if name == "question":
            key = (*key, values["question_id"])
        given, first = values[name], told.get(key, "")
        if given and first and given.strip() != first.strip():
            reader.bad(row, name, f"Differs from the {name} given before.", "Give it one text.")
            return False
        told[key] = values[name] = first or given
        if name == "question" and not values[name]:
            reader.bad(row, name, "There is no question.", "Write it.")
            return False
        return True

    @staticmethod
    def _anchor(reader: Reader, row: Row, values: Mapping[str, str]) -> int | None:
        raw, last = values["sentence"] or "0", len(sentences(values["document"]))
        at = whole(raw, high=last)
        if at is not None:
            return at
        there = f"1 to {last:,}; 0 for none" if last else "0: there is no document"
        reader.bad(row, "sentence", "The document has no such sentence.", f"{there}.")
        return None
