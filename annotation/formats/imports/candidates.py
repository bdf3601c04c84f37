"""Texts to be judged: key, topic, query, text, style, origin, system, prompt_strategy, author.

``context`` is what a topic's texts were written from: a task shows it beside them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from annotation.files.reading.importer import (
    Checked,
    Field,
    Importer,
    Once,
    Prints,
    Reader,
    Row,
    same_name,
)
from annotation.files.reading.spool import Spool

LIMITS = (
    ("key", 120, "an id"),
    ("topic", 80, "a topic"),
    ("query", 20_000, "a query"),
    ("text", 100_000, "a text"),
    ("style", 60, "a style"),
    ("origin", 60, "an origin"),
    ("system", 120, "a name"),
    ("prompt_strategy", 120, "a name"),
    ("author", 120, "a worker id"),
    ("context", 100_000, "a source"),
)
WHENCE = "a system or an origin"


@dataclass(frozen=True)
class KnownCandidates:
    """What the project holds: key -> content, topic -> query, and the sources in use."""

    texts: Mapping[str, str] | Prints = field(default_factory=dict)
    queries: Mapping[str, str] = field(default_factory=dict)
    names: Sequence[str] = ()


def key_of(topic: str, source: str, text: str) -> str:
    """The key of a text that came without one: the same text of a source gets the same key."""
    digest = hashlib.sha256("\0".join((topic, source, text)).encode()).hexdigest()
    return f"{topic[:80]}-{digest[:16]}"


class Candidates(Importer):
    """The texts of a project, from CSV or JSONL; ``check`` gives rows as ``add_candidates`` takes.

    A row says where its text comes from by ``system`` (with ``prompt_strategy``) or by ``origin``
    (with ``style``, which then tells sources apart). Without ``key`` one is made of the content.
    """

    slug = "candidates"
    title = "Texts to be judged"
    fields = (
        Field("topic", "Topic", True, ("topic_id", "query_id", "question_id", "group")),
        Field("query", "Query", False, ("question", "prompt", "title", "instruction", "frage")),
        Field(
            "text",
            "Text",
            True,
            (
                "response_text",
                "answer",
                "content",
                "output",
                "body",
                "completion",
                "generation",
                "response",
                "antwort",
            ),
        ),
        # After the text: "response" is an id only where another column holds the text.
        Field(
            "key",
            "Text id",
            False,
            ("id", "candidate", "candidate_id", "response", "text_id", "response_id"),
        ),
        Field("style", "Style", False, ("genre", "format")),
        Field("origin", "Origin", False, ("kind", "source"), WHENCE),
        Field("system", "System", False, ("model", "llm", "system_name", "model_name"), WHENCE),
        Field("prompt_strategy", "Prompt strategy", False, ("strategy", "prompting")),
        Field("author", "Author's worker id", False, ("worker", "worker_id", "writer")),
        Field(
            "context", "Source beside it", False, ("passage", "document", "article", "source_text")
        ),
    )

    def check(
        self, rows: Iterable[Row], mapping: Mapping[str, str], known: KnownCandidates
    ) -> Checked:
        """Rows to add, those that are there already, and what is wrong with the others."""
        checked = Checked()
        reader = Reader(mapping, checked)
        once = Once(
            reader,
            ["key", "topic", "text"],
            known.texts,
            twice="Give each text an id of its own.",
            differs="The project has this id with another text or topic.",
            leave="Give this row another id: texts under judgment never change.",
        )
        queries: dict[str, tuple[int | None, str]] = {
            topic: (None, query) for topic, query in known.queries.items() if query
        }
        spelled = {same_name(name): name for name in known.names}
        for row in rows:
            values = {f.name: reader.value(row, f.name) for f in self.fields}
            if not self._complete(reader, row, values):
                continue
            values["system"], values["prompt_strategy"] = _source(values)
            source = "\0".join((values["system"], values["prompt_strategy"], values["author"]))
            values["key"] = values["key"] or key_of(values["topic"], source, values["text"])
            if not (
                self._spelled(reader, row, values["system"], spelled)
                and self._one_query(reader, row, values, queries)
            ):
                continue
            if once.takes(row, values["key"], content_of(values["topic"], values["text"])):
                checked.good.append(values)
        if queries:
            checked.good = Spool(_asked(values, queries) for values in checked.good)
        self._facts(checked)
        return checked

    @staticmethod
    def _complete(reader: Reader, row: Row, values: Mapping[str, str]) -> bool:
        for name, wrong, mend in (
            ("topic", "A text needs a topic.", "Only texts of one topic are compared; name it."),
            ("text", "There is no text.", "Write it, or delete the row."),
        ):
            if not values[name]:
                reader.bad(row, name, wrong, mend)
                return False
        if not (values["system"] or values["origin"]):
            reader.bad(
                row,
                ["system", "origin"],
                "Nothing says where the text comes from.",
                "Name its system, or its origin (human, llm).",
            )
            return False
        return all(reader.fits(row, name, most, noun) for name, most, noun in LIMITS)

    @staticmethod
    def _spelled(reader: Reader, row: Row, name: str, spelled: dict[str, str]) -> bool:
        usual = spelled.setdefault(same_name(name), name)
        if name == usual:
            return True
        reader.bad(
            row,
            "system",
            f"Differs from “{usual}” only by case and space.",
            "Use one spelling, or they count as two sources.",
        )
        return False

    @staticmethod
    def _one_query(
        reader: Reader,
        row: Row,
        values: Mapping[str, str],
        queries: dict[str, tuple[int | None, str]],
    ) -> bool:
        if not values["query"]:
            return True
        line, query = queries.setdefault(values["topic"], (row.line, values["query"]))
        if query == values["query"]:
            return True
        where = f"line {line:,}" if line else "the project"
        reader.bad(
            row,
            ["topic", "query"],
            f"This topic has another query in {where}.",
            "A topic has one query; give this one a topic of its own, or leave the query out.",
        )
        return False

    @staticmethod
    def _facts(checked: Checked) -> None:
        if not checked.good:
            return
        topics = {values["topic"] for values in checked.good}
        sources = {(values["system"], values["prompt_strategy"]) for values in checked.good}
        checked.facts += [
            f"{len(topics):,} {'topic' if len(topics) == 1 else 'topics'}",
            f"{len(sources):,} {'source' if len(sources) == 1 else 'sources'}",
        ]


def _source(values: Mapping[str, str]) -> tuple[str, str]:
    """System and prompt strategy; texts of one origin and style are one source."""
    if values["system"]:
        return values["system"], values["prompt_strategy"]
    return values["origin"], values["prompt_strategy"] or values["style"]


def _asked(values: dict[str, str], queries: Mapping[str, tuple[int | None, str]]) -> dict[str, str]:
    """A text with the query of its topic, which any row of the topic may give."""
    return {**values, "query": values["query"] or queries.get(values["topic"], (None, ""))[1]}


def content_of(topic: str, text: str) -> str:
    """What a key stands for, to be compared."""
    return f"{topic}\0{text.strip()}"
