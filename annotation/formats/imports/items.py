"""Free text, items: item_id, question, context, topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.importer import ConsistentTexts, Field, Importer, Reader, Row
from annotation.files.reading.keys import FirstSeen, text_print
from annotation.formats.imports.known_answers import GOLD, known_of_item
from annotation.task_types.known import KnownField
from crowdqc.numbers import count, plural

MADE = 12  # characters of an id that is made of a question's text


@dataclass(frozen=True)
class KnownItems:
    """What the draft holds: key -> (question, passage), and topic -> passage."""

    questions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    topics: Mapping[str, str] = field(default_factory=dict)
    fields: Sequence[KnownField] = ()  # what can be known of a question


class Items(Importer):
    """Questions, each under its text."""

    slug = "items"
    id_field = "item_id"
    title = gettext_lazy("Questions")
    fields = (
        Field(
            "item_id",
            gettext_lazy("Question id"),
            False,
            ("question_id", "id", "key", "qid", "item", "uid", "nr", "no", "number", "nummer"),
        ),
        Field(
            "question",
            gettext_lazy("Question"),
            True,
            (
                *("question_text", "text", "prompt", "title", "query", "instruction", "input"),
                *("frage", "fragetext", "pregunta", "domanda", "vraag", "pergunta"),
            ),
        ),
        Field(
            "context",
            gettext_lazy("Text to read"),
            False,
            (
                *("passage", "paragraph", "document", "story", "article", "source_text"),
                *("kontext", "absatz", "contexte", "contexto", "contesto"),
            ),
        ),
        Field(
            "topic",
            gettext_lazy("Topic"),
            False,
            ("group", "group_id", "theme", "subject", "category", "thema", "tema", "sujet"),
        ),
        *GOLD,
    )
    limits = (
        ("item_id", 80, gettext_noop("an id")),
        ("question", 20_000, gettext_noop("a question")),
        ("context", 100_000, gettext_noop("a text to read")),
        ("topic", 80, gettext_noop("a topic")),
    )
    note = gettext_lazy(
        "Where a question has no id, one is made of its text: the same question "
        "gets the same id again. A question with a known answer is mixed in among "
        "the others and never counts."
    )

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownItems) -> None:
        """Rows of a question and its text; a topic has one text."""
        checked, first, made, golden = reader.checked, FirstSeen(), 0, 0
        one_text = ConsistentTexts(
            reader,
            {topic: (None, text_print(text.strip())) for topic, text in known.topics.items()},
            _("the task"),
            _("This topic has another text in {where}."),
            _("Give each text a topic of its own, or leave the text out here."),
        )
        for row in rows:
            with reader:
                values = reader.values(row, self.fields)
                if not values["item_id"] and values["question"]:
                    values["item_id"] = made_id(values)
                    made += 1
                wrong, mend = (
                    gettext_noop("A question needs text."),
                    gettext_noop("Write the question, or delete the row."),
                )
                reader.needed(row, "question", wrong, mend)
                reader.limit(row, self.limits)
                known_answer = known_of_item(reader, row, known.fields)
                if not self._is_new(reader, row, values, first, known):
                    continue
                topic, text = values["topic"], text_print(values["context"])
                if topic and values["context"]:
                    one_text.check(row, ["topic", "context"], topic, text)
                elif topic:
                    one_text.first.setdefault(topic, (row.line, text))
                checked.good.append({**values, "known": known_answer})
                golden += bool(known_answer)
        if golden:
            checked.facts.append(plural(golden, "known answer"))
        texts = {one["topic"] or one["context"] for one in checked.good} - {""}
        if texts:
            checked.facts.append(plural(len(texts), "text"))
        if made:
            checked.notes.append(
                _(
                    "%(questions)s no id. Each gets one made of its text, so that the same "
                    "question is known again in the next file."
                )
                % {"questions": plural(made, "question has", "questions have")}
            )

    @staticmethod
    def _is_new(
        reader: Reader, row: Row, values: Mapping[str, str], first: FirstSeen, known: KnownItems
    ) -> bool:
        key, question = values["item_id"], values["question"]
        line, same = first.setdefault(key, row.line, question)
        if line != row.line:
            if same:
                reader.repeated(row, "item_id", line, "question")
                return False
            wrong = _("Given twice, first on line %(line)s, with another question.") % {
                "line": count(line)
            }
            reader.refuse(row, "item_id", wrong, _("Keep one, or give this one another id."))
        if key not in known.questions:
            return True
        there, passage = known.questions[key]
        if there == question and values["context"] in ("", passage.strip()):
            reader.checked.there += 1
            return False
        what = _("another question") if there != question else _("another text to read")
        wrong = _("The task has this id with %(what)s.") % {"what": what}
        mend = gettext_noop("Change it in the builder, or give this row another id.")
        return reader.refuse(row, "item_id", wrong, mend)


def made_id(values: Mapping[str, str]) -> str:
    """Make an id for a question without one; equal topic, context and question give the same."""
    content = "\0".join(values[name] for name in ("topic", "context", "question"))
    return f"q-{text_print(content).hex()[:MADE]}"
