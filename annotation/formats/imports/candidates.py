"""Texts to be judged: key, topic, query, text, style, origin, system, prompt_strategy, author.

``context`` is what a topic's texts were written from: a task shows it beside them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.importer import (
    ConsistentTexts,
    Field,
    Importer,
    Reader,
    Row,
    UniqueRows,
    is_same_text,
    same_name,
)
from annotation.files.reading.keys import TextDigests
from annotation.files.reading.spool import Spool
from annotation.formats.imports.answers import refuse_removed
from annotation.formats.imports.known_answers import GOLD, known_of_item
from annotation.formats.imports.prompt_topics import NO_TOPICS, PromptTopics
from annotation.pair_design import groups_of, tell_groups
from annotation.task_types.known import KnownField
from crowdqc.numbers import plural

WHENCE = "a system or an origin"
ABOUT = gettext_lazy("a topic or a query")


@dataclass(frozen=True)
class KnownCandidates:
    """What the project holds: key -> content, topic -> query, and the sources in use."""

    texts: Mapping[str, str] | TextDigests = field(default_factory=dict)
    queries: Mapping[str, str] = field(default_factory=dict)
    names: Sequence[str] = ()
    fields: Sequence[KnownField] = ()  # what can be known of a text, where each is an item
    pairs_texts: bool = False  # two texts of a topic are compared
    topics: Set[str] | None = None  # those of the task; None: it judges no texts
    removed: Set[str] = frozenset()  # workers who were removed from the project
    prompts: PromptTopics = NO_TOPICS


def key_of(topic: str, source: str, text: str) -> str:
    """Make a key for a text without one; the same text of a source gets the same key."""
    digest = hashlib.sha256("\0".join((topic, source, text)).encode()).hexdigest()
    return f"{topic[:80]}-{digest[:16]}"


class Candidates(Importer):
    """The texts of a project; rows as ``add_candidates`` takes them.

    A row says where its text comes from by ``system`` (with ``prompt_strategy``) or by ``origin``
    (with ``style``, which then tells sources apart). Without ``key`` one is made of the content,
    without ``topic`` one of the query.
    """

    slug = "candidates"
    id_field = "key"
    title = gettext_lazy("Texts to be judged")
    fields = (
        Field(
            "topic",
            gettext_lazy("Topic"),
            False,
            ("topic_id", "query_id", "question_id", "group"),
            ABOUT,
        ),
        Field(
            "query",
            gettext_lazy("Query"),
            False,
            ("question", "prompt", "title", "instruction", "frage", "pregunta"),
            ABOUT,
        ),
        Field(
            "text",
            gettext_lazy("Text"),
            True,
            (
                *("response_text", "answer", "content", "output", "body"),
                *("completion", "generation", "response", "antwort", "respuesta"),
            ),
        ),
        # After the text: "response" is an id only where another column holds the text.
        Field(
            "key",
            gettext_lazy("Text id"),
            False,
            ("id", "candidate", "candidate_id", "response", "text_id", "response_id"),
        ),
        Field("style", gettext_lazy("Style"), False, ("genre", "format")),
        Field("origin", gettext_lazy("Origin"), False, ("kind", "source"), WHENCE),
        Field(
            "system",
            gettext_lazy("System"),
            False,
            ("model", "llm", "system_name", "model_name", "modell", "modelo", "sistema"),
            WHENCE,
        ),
        Field("prompt_strategy", gettext_lazy("Prompt strategy"), False, ("strategy", "prompting")),
        Field(
            "author", gettext_lazy("Author's worker id"), False, ("worker", "worker_id", "writer")
        ),
        Field(
            "context",
            gettext_lazy("Source beside it"),
            False,
            ("passage", "document", "article", "source_text"),
        ),
        Field(
            "category", gettext_lazy("Category of the topic"), False, ("topic_category", "domain")
        ),
        *GOLD,
    )
    limits = (
        ("category", 60, gettext_noop("a category")),
        ("topic", 80, gettext_noop("a topic")),
        ("query", 20_000, gettext_noop("a query")),
        ("text", 100_000, gettext_noop("a text")),
        ("key", 120, gettext_noop("an id")),
        ("style", 60, gettext_noop("a style")),
        ("origin", 60, gettext_noop("an origin")),
        ("system", 120, gettext_noop("a name")),
        ("prompt_strategy", 120, gettext_noop("a name")),
        ("author", 120, gettext_noop("a worker id")),
        ("context", 100_000, gettext_noop("a source")),
    )

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownCandidates) -> None:
        """Texts under their keys, each of one topic and source; a topic has one query."""
        checked = reader.checked
        once = UniqueRows(
            reader,
            ["key", "topic", "text"],
            known.texts,
            twice=gettext_noop("Give each text an id of its own."),
            differs=gettext_noop("The project has this id with another text or topic."),
            leave=gettext_noop("Give this row another id: texts under judgment never change."),
        )
        one_query = ConsistentTexts(
            reader,
            {topic: (None, query) for topic, query in known.queries.items() if query},
            _("the project"),
            _("This topic has another query in {where}."),
            _("A topic has one query; give this one a topic of its own, or leave the query out."),
        )
        spelled = {same_name(name): name for name in known.names}
        kinds: dict[str, str] = {}
        for row in rows:
            with reader:
                values = reader.values(row, self.fields)
                self._complete(reader, row, values)
                refuse_removed(reader, row, "author", values["author"], known.removed)
                if not values["topic"]:
                    values["topic"] = known.prompts.topic_of(values["query"])
                    values["key"] = _own_key(values, known)
                if not values["system"]:  # texts of one origin and style are one source
                    values["prompt_strategy"] = values["prompt_strategy"] or values["style"]
                values["system"] = values["system"] or values["origin"]
                source = "\0".join(values[one] for one in ("system", "prompt_strategy", "author"))
                values["key"] = values["key"] or key_of(values["topic"], source, values["text"])
                self._spelled(reader, row, values["system"], spelled)
                if values["query"]:
                    one_query.check(row, ["topic", "query"], values["topic"], values["query"])
                known_answer = known_of_item(reader, row, known.fields)
                self._one_kind(reader, row, values, kinds)
                content = content_of(values["topic"], values["text"])
                elsewhere = known.topics is not None and values["topic"] not in known.topics
                if once.is_new(row, values["key"], content, elsewhere=elsewhere):
                    checked.good.append({**values, "known": known_answer})
        if one_query.first:  # any row of a topic may give it
            none = (None, "")
            checked.good = Spool(
                {**one, "query": one["query"] or one_query.first.get(one["topic"], none)[1]}
                for one in checked.good
            )
        if checked.good:
            topics = {one["topic"] for one in checked.good}
            sources = {(one["system"], one["prompt_strategy"]) for one in checked.good}
            checked.facts += [plural(len(topics), "topic"), plural(len(sources), "source")]
            if known.pairs_texts and not known.queries:
                first = {one["topic"]: one["system"] for one in checked.good}
                met = {(first[one["topic"]], one["system"]) for one in checked.good}
                if apart := tell_groups(groups_of(met)):
                    checked.notes.append(apart)

    def _complete(self, reader: Reader, row: Row, values: Mapping[str, str]) -> None:
        if not (values["topic"] or values["query"]):
            wrong = gettext_noop("A text needs a topic or a query.")
            mend = gettext_noop("Only texts of one topic are compared; name it.")
            reader.refuse(row, "topic", wrong, mend)
        reader.needed(
            row,
            "text",
            gettext_noop("There is no text."),
            gettext_noop("Write it, or delete the row."),
        )
        if not (values["system"] or values["origin"]):
            wrong = gettext_noop("Nothing says where the text comes from.")
            mend = gettext_noop("Name its system, or its origin (human, llm).")
            reader.refuse(row, ["system", "origin"], wrong, mend)
        reader.limit(row, self.limits)

    @staticmethod
    def _one_kind(
        reader: Reader, row: Row, values: Mapping[str, str], kinds: dict[str, str]
    ) -> None:
        said = values["category"]
        if said and kinds.setdefault(values["topic"], said) != said:
            wrong = _("This topic is “%(kinds)s” in another row.") % {
                "kinds": kinds[values["topic"]]
            }
            reader.refuse(
                row, "category", wrong, _("A topic has one category; correct one of them.")
            )

    @staticmethod
    def _spelled(reader: Reader, row: Row, name: str, spelled: dict[str, str]) -> None:
        usual = spelled.setdefault(same_name(name), name)
        if name != usual:
            wrong = _("Differs from “%(usual)s” only by case and space.") % {"usual": usual}
            mend = gettext_noop("Use one spelling, or they count as two sources.")
            reader.refuse(row, "system", wrong, mend)


def _own_key(values: Mapping[str, str], known: KnownCandidates) -> str:
    """Return the row's id, or another one where the same text has it on a topic of other tasks."""
    key, topic, there = values["key"], values["topic"], known.texts.get(values["key"])
    contents = (content_of(one, values["text"]) for one in known.prompts.other_topics(topic))
    if there is None or not any(is_same_text(there, one) for one in contents):
        return key
    return f"{key[: 119 - len(topic)]}-{topic}"


def content_of(topic: str, text: str) -> str:
    """Return a text with its topic as one string, for comparing with a stored one."""
    return f"{topic}\0{text.strip()}"
