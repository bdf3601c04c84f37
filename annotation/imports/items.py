"""Free text, items: item_id, question, context, topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .base import Checked, Field, First, Reader, Row, text_print


@dataclass(frozen=True)
class KnownItems:
    """What the draft holds: key -> (question, passage), and topic -> passage."""

    questions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    topics: Mapping[str, str] = field(default_factory=dict)


class Items:
    slug = "items"
    title = "Questions"
    fields = (
        Field("item_id", "Question id", True, ("question_id", "id", "key", "qid", "item")),
        Field("question", "Question", True, ("question_text", "text", "prompt", "title")),
        Field("context", "Text to read", False, ("passage", "paragraph", "document", "story")),
        Field("topic", "Topic", False, ("group", "group_id", "theme", "subject")),
    )

    def check(self, rows: Iterable[Row], mapping: Mapping[str, str], known: KnownItems) -> Checked:
        checked = Checked()
        reader = Reader(mapping, checked)
        first = First()
        # Where each topic's text stood first, and what stands for it.
        topics: dict[str, tuple[int | None, bytes]] = {
            topic: (None, text_print(passage.strip())) for topic, passage in known.topics.items()
        }
        for row in rows:
            values = {f.name: reader.value(row, f.name) for f in self.fields}
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
        return checked

    @staticmethod
    def _complete(reader: Reader, row: Row, values: Mapping[str, str]) -> bool:
        for name, wrong, mend in (
            ("item_id", "A question needs an id.", "Write one that no other question has."),
            ("question", "A question needs text.", "Write the question, or delete the row."),
        ):
            if not values[name]:
                reader.bad(row, name, wrong, mend)
                return False
        limits = (("item_id", 80, "an id"), ("question", 20_000, "a question"),
                  ("context", 100_000, "a text to read"), ("topic", 80, "a topic"))  # fmt: skip
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
                reader.checked.there += 1
                return False
            reader.bad(
                row, "item_id", f"Given twice, first on line {line:,}, with another question.",
                "Keep one, or give this one another id.",
            )  # fmt: skip
            return False
        if key in known.questions:
            there, passage = known.questions[key]
            same_text = not values["context"] or values["context"] == passage.strip()
            if there == question and same_text:
                reader.checked.there += 1
                return False
            what = "another question" if there != question else "another text to read"
            reader.bad(
                row, "item_id", f"The task has this id with {what}.",
                "Change it in the builder, or give this row another id.",
            )  # fmt: skip
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
            row, ["topic", "context"], f"This topic has another text in {where}.",
            "Give each text a topic of its own, or leave the text out here.",
        )  # fmt: skip
        return False
