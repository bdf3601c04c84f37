"""Pairs to be judged, a row each: the prompt, two texts, and which system wrote each."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.importer import MAX_ID, Field, Importer, Reader, Row, is_id, plain
from annotation.files.reading.keys import FirstSeen
from annotation.files.reading.recognise import LOOKED_AT
from annotation.formats.imports.candidates import key_of
from annotation.formats.imports.prompt_topics import NO_TOPICS, PromptTopics
from annotation.pair_design import groups_of, tell_groups
from crowdqc.numbers import count, plural

SIDES = ("a", "b")
# A pair as the task holds it: its topic and the keys of its texts, the smaller first.
PairKeys = tuple[str, str, str]


@dataclass(frozen=True)
class KnownPairs:
    """What the draft holds: its pairs with their ids, and each topic's query."""

    pairs: frozenset[PairKeys] = frozenset()
    ids: dict[str, PairKeys] = field(default_factory=dict)  # of items in the draft
    queries: dict[str, str] = field(default_factory=dict)
    prompts: PromptTopics = NO_TOPICS


def _texts(*names: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The other names of the first and of the second column."""
    first = tuple(f"{name}{end}" for name in names for end in ("_a", "_1"))
    second = tuple(f"{name}{end}" for name in names for end in ("_b", "_2"))
    return first, second


NOUNS = (
    *("response", "answer", "output", "completion", "text", "generation", "summary", "reply"),
    *("antwort", "ausgabe", "zusammenfassung", "respuesta", "texto", "salida", "resumen"),
)
LOOSE = ("text", "texto")  # beside another word they name many things: text_de, text_length
TEXTS = _texts(*NOUNS)
SYSTEMS = _texts("model", "system", "model_name", "source", "llm", "modell", "modelo", "sistema")


def _split_name(column: str) -> tuple[str, str]:
    """The noun of texts in a column's name and what else it says: ``llama_answer`` -> llama.

    Empty where no word of the name, or several, are such a noun.
    """
    words = re.findall(r"[^\W_]+", column)
    nouns = [word for word in words if plain(word) in NOUNS and plain(word) not in LOOSE]
    if len(nouns) != 1 or len(words) < 2 or is_id(column):
        return "", ""
    return plain(nouns[0]), " ".join(word for word in words if word != nouns[0])


# What a column of texts is called that is no answer of a system, as words of its name.
OTHERS = {
    *("context", "passage", "document", "source", "article", "text", "content", "background"),
    *("comment", "comments", "note", "notes", "remark", "remarks", "feedback", "explanation"),
    *("rationale", "reason", "reference", "gold", "target", "expected", "truth", "title", "name"),
    *("description", "abstract", "summary", "answer", "answers", "url", "link", "metadata", "tags"),
    *("category", "label", "instructions", "instruction", "time", "date", "evidence", "hint"),
    *("kontext", "quelle", "kommentar", "kommentare", "titel", "beschreibung", "begründung"),
    *("hinweis", "notiz", "antwort", "contexto", "fuente", "comentario", "comentarios", "título"),
    *("descripción", "nota", "notas", "respuesta", "razón"),
}
SHORTEST, UNLIKE = 15, 6  # mean length of answers in characters; how much longer one may be


def _columns_of_systems(columns: Iterable[str], rows: Sequence[Row]) -> list[str]:
    """The two columns of texts that are called as nothing else is: ``ChatGPT, Gemini``."""
    found: dict[str, float] = {}
    for column in columns:
        values = [row.values.get(column, "").strip() for row in rows]
        words = {word.casefold() for word in re.findall(r"[^\W\d_]+", column)}
        length = sum(map(len, values)) / max(1, len(values))
        if length >= SHORTEST and 2 * len({*values}) > len(values):
            if words & OTHERS or is_id(column):
                return []
            found[column] = length
    if len(found) != len(SIDES) or max(found.values()) > UNLIKE * min(found.values()):
        return []
    return [*found]


def _system_of(column: str) -> str:
    """What a column of texts is called where no column names systems: ``llama`` or as it is."""
    rest = _split_name(column)[1]
    return rest if len(rest) > 2 else column


class Pairs(Importer):
    """The pairs of a file, as they stand there; rows as ``import_pairs`` takes them."""

    slug = "pairs"
    id_field = "pair_id"
    title = gettext_lazy("Pairs to be judged")
    fields = (
        Field(
            "prompt",
            gettext_lazy("Prompt"),
            True,
            (
                *("query", "question", "instruction", "input", "context", "topic", "title"),
                *("frage", "aufgabe", "pregunta", "tarea"),
            ),
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
        # Other names name it only where every row has a value of its own.
        Field("pair_id", gettext_lazy("Item id")),
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
        ("pair_id", MAX_ID, gettext_noop("an id")),
        ("category", 60, gettext_noop("a category")),
    )
    note = gettext_lazy(
        "Each row is one pair. Pairs of one prompt are one topic. Without systems the two columns "
        "are compared."
    )

    def guess(self, columns: Sequence[str], rows: Iterable[Row]) -> dict[str, str]:
        """As every format, and two columns that name a text each: ``llama_answer, qwen_answer``."""
        found = super().guess(columns, rows)
        sides = [f"response_{side}" for side in SIDES]
        if "prompt" in found and not found.keys() & set(sides):
            named: dict[str, list[str]] = {}
            for column in columns:
                if column not in found.values():
                    named.setdefault(_split_name(column)[0], []).append(column)
            named.pop("", None)
            pair = next((own for own in named.values() if len(own) == len(sides)), [])
            if not pair:
                left = [one for one in columns if one not in found.values()]
                pair = _columns_of_systems(left, list(itertools.islice(rows, LOOKED_AT)))
            found |= dict(zip(sides, pair, strict=False))
        return found

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownPairs) -> None:
        """Pairs of two different texts, each once; a topic has one prompt."""
        checked, first, prompts, ids = reader.checked, FirstSeen(), FirstSeen(), FirstSeen()
        for row in rows:
            with reader:
                values = self._complete(reader, row, known.prompts)
                topic, prompt = values["topic"], values["prompt"]
                query = known.queries.get(topic, prompt)
                line, same = prompts.setdefault(topic, row.line, prompt)
                if not same or query != prompt:
                    wrong = _("This topic has another prompt in the project.")
                    if not same:
                        wrong = _("This topic has another prompt on line %(line)s.")
                        wrong %= {"line": count(line)}
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
                    continue
                self._check_id(reader, row, (topic, low, high), known, ids)
                if (topic, low, high) in known.pairs:
                    checked.there += 1
                else:
                    one = {"topic": topic, "texts": texts, "item_id": values["pair_id"]}
                    checked.good.append(one)
        if checked.good:
            topics = {one["topic"] for one in checked.good}
            systems = {text["system"] for one in checked.good for text in one["texts"]}
            checked.facts += [plural(len(topics), "topic"), plural(len(systems), "source")]
            met = {tuple(text["system"] for text in one["texts"]) for one in checked.good}
            if not known.pairs and (apart := tell_groups(groups_of(met))):
                checked.notes.append(apart)

    @staticmethod
    def _check_id(
        reader: Reader, row: Row, pair: PairKeys, known: KnownPairs, ids: FirstSeen
    ) -> None:
        """Raise Refused where the row's id is that of another pair."""
        item_id = reader.value(row, "pair_id")
        if not item_id:
            return
        mend = _("Give this pair another id.")
        line, _same = ids.setdefault(item_id, row.line, "")
        if line != row.line:
            wrong = _("Another pair has this id on line %(line)s.") % {"line": count(line)}
            reader.refuse(row, "pair_id", wrong, mend)
        if known.ids.get(item_id, pair) != pair:
            reader.refuse(row, "pair_id", _("Another pair of the task has this id."), mend)

    def _complete(self, reader: Reader, row: Row, prompts: PromptTopics) -> dict[str, str]:
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
            column = reader.column(f"response_{side}")
            values[f"model_{side}"] = values[f"model_{side}"] or _system_of(column)
        reader.limit(row, self.limits)
        if values["response_a"] == values["response_b"]:
            reader.refuse(
                row,
                ["response_a", "response_b"],
                gettext_noop("Both texts are the same."),
                gettext_noop("Leave the row out: there is nothing to compare."),
            )
        values["topic"] = values["topic"] or prompts.topic_of(values["prompt"])
        return values
