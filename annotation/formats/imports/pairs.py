"""Pairs to be judged, a row each: the prompt, two texts, and which system wrote each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.importer import Field, Importer, Reader, Row
from annotation.files.reading.keys import FirstSeen
from annotation.formats.imports.candidates import key_of, topic_of_query
from annotation.pair_design import groups_of, tell_groups
from crowdqc.numbers import plural

SIDES = ("a", "b")
# A pair as the task holds it: its topic and the keys of its texts, the smaller first.
PairKeys = tuple[str, str, str]


@dataclass(frozen=True)
class KnownPairs:
    """What the draft holds: its pairs, and each topic's query."""

    pairs: frozenset[PairKeys] = frozenset()
    queries: dict[str, str] = field(default_factory=dict)


def _texts(*names: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The other names of the first and of the second column."""
    first = tuple(f"{name}{end}" for name in names for end in ("_a", "_1"))
    second = tuple(f"{name}{end}" for name in names for end in ("_b", "_2"))
    return first, second


TEXTS = _texts("response", "answer", "output", "completion", "text", "generation", "summary")
SYSTEMS = _texts("model", "system", "model_name", "source", "llm")


class Pairs(Importer):
    """The pairs of a file, as they stand there; rows as ``import_pairs`` takes them."""

    slug = "pairs"
    title = gettext_lazy("Pairs to be judged")
    fields = (
        Field(
            "prompt",
            gettext_lazy("Prompt"),
            True,
            ("query", "question", "instruction", "input", "context", "topic", "title", "frage"),
        ),
        Field("response_a", gettext_lazy("First text"), True, (*TEXTS[0], "left", "chosen")),
        Field("response_b", gettext_lazy("Second text"), True, (*TEXTS[1], "right", "rejected")),
        Field("model_a", gettext_lazy("System of the first"), False, SYSTEMS[0]),
        Field("model_b", gettext_lazy("System of the second"), False, SYSTEMS[1]),
        Field(
            "topic",
            gettext_lazy("Topic id"),
            False,
            ("topic_id", "prompt_id", "question_id", "query_id"),
        ),
        Field(
            "category", gettext_lazy("Category of the topic"), False, ("topic_category", "domain")
        ),
    )
    limits = (
        ("prompt", 20_000, gettext_noop("a query")),
        ("response_a", 100_000, gettext_noop("a text")),
        ("response_b", 100_000, gettext_noop("a text")),
        ("model_a", 120, gettext_noop("a name")),
        ("model_b", 120, gettext_noop("a name")),
        ("topic", 80, gettext_noop("a topic")),
        ("category", 60, gettext_noop("a category")),
    )
    note = gettext_lazy(
        "Each row is one pair. Pairs of one prompt are one topic. Without systems the two columns "
        "are compared."
    )

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownPairs) -> None:
        """Pairs of two different texts, each once; a topic has one prompt."""
        checked, first, prompts = reader.checked, FirstSeen(), FirstSeen()
        for row in rows:
            with reader:
                values = self._complete(reader, row)
                topic, prompt = values["topic"], values["prompt"]
                query = known.queries.get(topic, prompt)
                line, same = prompts.setdefault(topic, row.line, prompt)
                if not same or query != prompt:
                    wrong = _("This topic has another prompt in the project.")
                    if not same:
                        wrong = _("This topic has another prompt on line %(line)s.")
                        wrong %= {"line": f"{line:,}"}
                    reader.refuse(row, "topic", wrong, _("Give this prompt a topic of its own."))
                texts = [
                    {
                        "topic": topic,
                        "query": prompt,
                        "category": values["category"],
                        "text": values[f"response_{side}"],
                        "system": values[f"model_{side}"],
                        "key": key_of(topic, values[f"model_{side}"], values[f"response_{side}"]),
                    }
                    for side in SIDES
                ]
                low, high = sorted(text["key"] for text in texts)
                line, _same = first.setdefault("\0".join((topic, low, high)), row.line, "")
                if line != row.line:
                    reader.repeated(row, ("response_a", "response_b"), line, _("texts"))
                elif (topic, low, high) in known.pairs:
                    checked.there += 1
                else:
                    checked.good.append({"topic": topic, "texts": texts})
        if checked.good:
            topics = {one["topic"] for one in checked.good}
            systems = {text["system"] for one in checked.good for text in one["texts"]}
            checked.facts += [plural(len(topics), "topic"), plural(len(systems), "source")]
            met = {tuple(text["system"] for text in one["texts"]) for one in checked.good}
            if not known.pairs and (apart := tell_groups(groups_of(met))):
                checked.notes.append(apart)

    def _complete(self, reader: Reader, row: Row) -> dict[str, str]:
        """The values of a row, with a topic and systems where it names none. Raises Refused."""
        values = reader.values(row, self.fields)
        reader.needed(row, "prompt", gettext_noop("There is no prompt."), gettext_noop("Write it."))
        for side in SIDES:
            reader.needed(
                row,
                f"response_{side}",
                gettext_noop("There is no text."),
                gettext_noop("Write it, or delete the row."),
            )
            values[f"model_{side}"] = values[f"model_{side}"] or reader.column(f"response_{side}")
        reader.limit(row, self.limits)
        if values["response_a"] == values["response_b"]:
            reader.refuse(
                row,
                ["response_a", "response_b"],
                gettext_noop("Both texts are the same."),
                gettext_noop("Leave the row out: there is nothing to compare."),
            )
        values["topic"] = values["topic"] or topic_of_query(values["prompt"])
        return values
