"""Free text, items: item_id, question, context, topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from annotation.files.reading.importer import (
    Checked,
    Field,
    First,
    Importer,
    Reader,
    Row,
    text_print,
)

MADE = 12  # characters of an id that is made of a question's text


@dataclass(frozen=True)
class KnownItems:
    """What the draft holds: key -> (question, passage), and topic -> passage."""

    questions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    topics: Mapping[str, str] = field(default_factory=dict)


class Items(Importer):
    slug = "items"
    title = "Questions"
    fields = (
        Field(
            "item_id",
            "Question id",
            False,
            ("question_id", "id", "key", "qid", "item", "uid", "nr", "no", "number", "nummer"),
        ),
        Field(
            "question",
            "Question",
            True,
            (
                "question_text",
                "text",
                "prompt",
                "title",
                "query",
                "instruction",
                "input",
                "frage",
                "fragetext",
                "pregunta",
                "domanda",
                "vraag",
                "pergunta",
            ),
        ),
        Field(
            "context",
            "Text to read",
            False,
            (
                "passage",
                "paragraph",
                "document",
                "story",
                "article",
                "source_text",
                "kontext",
                "absatz",
                "contexte",
                "contexto",
                "contesto",
            ),
        ),
        Field(
            "topic",
            "Topic",
            False,
            ("group", "group_id", "theme", "subject", "category", "thema", "tema", "sujet"),
        ),
    )
    note = (
        "Where a question has no id, one is made of its text: the same question gets the same id "
        "again."
    )

    def check(self, rows: Iterable[Row], mapping: Mapping[str, str], known: KnownItems) -> Checked:
        checked = Checked()
        reader = Reader(mapping, checked)
        first = First()
        # Where each topic's text stood first, and what stands for it.
        topics: dict[str, tuple[int | None, bytes]] = {
            topic: (None, text_print(passage.strip())) for topic, passage in known.topics.items()
        }
        made = 0
        for row in rows:
            values = {f.name: reader.value(row, f.name) for f in self.fields}
            if not values["item_id"] and values["question"]:
                values["item_id"] = made_id(values)
                made += 1
            if not self._complete(reader, row, values):
                continue
            if not self._new(reader, row, values, first, known):
                continue
            if values["topic"] and not self._one_text(reader, row, values, topics):
                continue
            checked.good.append(values)
        texts = {v["topic"] or v["context"] for v in checked.good} - {""}
        if texts:
            noun = "text" if len(texts) == 1 else "texts"
            checked.facts.append(f"{len(texts):,} {noun}")
        if made:
            whose = "1 question has" if made == 1 else f"{made:,} questions have"
            checked.notes.append(
                f"{whose} no id. Each gets one made of its text, so that the same question is "
                "known again in the next file."
            )
        return checked

    @staticmethod
    def _complete(reader: Reader, row: Row, values: Mapping[str, str]) -> bool:
        if not values["question"]:
            mend = "Write the question, or delete the row."
            reader.bad(row, "question", "A question needs text.", mend)
            return False
        limits = (
            ("item_id", 80, "an id"),
            ("question", 20_000, "a question"),
            ("context", 100_000, "a text to read"),
            ("topic", 80, "a topic"),
        )
        return all(reader.fits(row, name, most, noun) for name, most, noun in limits)

    @staticmethod
    def _new(
        reader: Reader,
        row: Row,
        values: Mapping[str, str],
        first: First,
        known: KnownItems,
    ) -> bool:
        key, question = values["item_id"], values["question"]
        line, same = first.setdefault(key, row.line, question)
        if line != row.line:
            if same:
                reader.repeated(row, "item_id", line, "question")
                return False
            reader.bad(
                row,
                "item_id",
                f"Given twice, first on line {line:,}, with another question.",
                "Keep one, or give this one another id.",
            )
            return False
        if key in known.questions:
            there, passage = known.questions[key]
            same_text = not values["context"] or values["context"] == passage.strip()
            if there == question and same_text:
                reader.checked.there += 1
                return False
            what = "another question" if there != question else "another text to read"
            reader.bad(
                row,
                "item_id",
                f"The task has this id with {what}.",
                "Change it in the builder, or give this row another id.",
            )
            return False
        return True

    @staticmethod
    def _one_text(
        reader: Reader,
        row: Row,
        values: dict[str, str],
        topics: dict[str, tuple[int | None, bytes]],
    ) -> bool:
        given = text_print(values["context"])
        line, passage = topics.setdefault(values["topic"], (row.line, given))
        if not values["context"] or given == passage:
            return True
        where = f"line {line:,}" if line else "the task"
        reader.bad(
            row,
            ["topic", "context"],
            f"This topic has another text in {where}.",
            "Give each text a topic of its own, or leave the text out here.",
        )
        return False


def made_id(values: Mapping[str, str]) -> str:
    """The id of a question that has none: the same topic, text to read and question, the same."""
    content = "\0".join(values[name] for name in ("topic", "context", "question"))
    return f"q-{text_print(content).hex()[:MADE]}"
