"""Topics to write on: a query with ranked passages, a topic a line or a passage a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.importer import Field, Importer, Reader, Row
from crowdqc.files.json_input import Unreadable, read_json
from crowdqc.numbers import count, parse_whole, plural

MAX_KEY, MAX_QUERY = 39, 20_000  # characters of a topic's id and of its query
MAX_PASSAGES, MAX_DOCUMENT, MAX_TITLE, MAX_TEXT = 200, 80, 300, 20_000
KEYS = ("key", "id", "docid", "doc_id", "document_id", "passage_id", "segment_id")
TITLES = ("title", "headline", "heading")
TEXTS = ("text", "passage", "segment", "contents", "content", "body")
Passage = dict[str, str]
Content = tuple[str, list[tuple[str, str, str]]]  # a topic's query; key, title, text of passages


@dataclass(frozen=True)
class KnownTopics:
    """What the draft holds: topic -> query and passages."""

    topics: Mapping[str, Content] = field(default_factory=dict)


@dataclass
class ReadTopic:
    """A topic as far as the file has told it."""

    row: Row
    query: str
    whole: bool  # told on one line
    passages: list[tuple[int, Passage]] = field(default_factory=list)  # rank, passage
    lines: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lines = self.lines or [self.row.line]

    @property
    def ranked(self) -> list[Passage]:
        """Return the topic's passages by rank."""
        return [passage for _, passage in sorted(self.passages, key=lambda one: one[0])]


def content_of(query: str, passages: Iterable[Mapping[str, str]]) -> Content:
    """Return a topic's content for comparing with a stored one, without generated ids."""
    return query, [(one["key"], one["title"], one["text"]) for one in passages]


class Topics(Importer):
    """Topics from JSONL (one a line, passages as a list) or CSV (one row a passage).

    Its rows have ``topic``, ``query`` and ``passages``, the best first.
    """

    slug = "topics"
    title = gettext_lazy("Topics")
    note = gettext_lazy(
        "JSONL has one topic a line: its passages as a list of objects with key, "
        "title and text, or their ids and texts as two lists. CSV has one row a "
        "passage, with the topic and its query on each; rank says their order, "
        "else the order of the rows does."
    )
    fields = (
        Field(
            "topic",
            gettext_lazy("Topic"),
            True,
            ("topic_id", "query_id", "question_id", "qid", "id"),
        ),
        Field("query", gettext_lazy("Query"), True, ("question", "prompt", "query_text")),
        Field(
            "passages",
            gettext_lazy("Passages, as a list"),
            False,
            ("documents", "references", "results"),
        ),
        Field(
            "references_texts", gettext_lazy("Texts of the passages, as a list"), False, ("texts",)
        ),
        Field(
            "references_ids",
            gettext_lazy("Ids of the passages, as a list"),
            False,
            ("doc_ids", "docids"),
        ),
        Field(
            "passage",
            gettext_lazy("One passage"),
            False,
            ("passage_text", "text", "segment", "document"),
        ),
        Field("rank", gettext_lazy("Its rank"), False, ("position", "place")),
        Field("passage_key", gettext_lazy("Its id"), False, (*KEYS[2:], "key")),
        Field("title", gettext_lazy("Its title"), False, TITLES[1:]),
    )
    limits = (
        ("topic", MAX_KEY, gettext_noop("a topic's id")),
        ("query", MAX_QUERY, gettext_noop("a query")),
        ("passage", MAX_TEXT, gettext_noop("a passage")),
        ("passage_key", MAX_DOCUMENT, gettext_noop("an id")),
        ("title", MAX_TITLE, gettext_noop("a title")),
    )

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownTopics) -> None:
        """Topics with their passages in order; the rows of one topic come in together."""
        found: dict[str, ReadTopic] = {}
        for row in rows:
            with reader:
                mend = gettext_noop("Write one that no other topic has.")
                key = reader.needed(row, "topic", gettext_noop("A topic needs an id."), mend)
                reader.limit(row, self.limits)
                one = _read_row(reader, row)
                there = found.setdefault(key, one)
                if there is not one:
                    self._join(reader, row, there, one)
        for key, one in found.items():
            with reader.together(one.lines, "topic"):
                self._settle(reader, key, one, known)
        good = reader.checked.good
        if good:
            passages = sum(len(one["passages"]) for one in good)
            reader.checked.facts += [plural(len(good), "topic"), plural(passages, "passage")]

    @staticmethod
    def _join(reader: Reader, row: Row, there: ReadTopic, one: ReadTopic) -> None:
        """Another row of a topic: a further passage of it, the same once more, or a contradiction.

        Where one row of a topic has no rank, all of them stand as the file has them.
        """
        first = _("line %(line)s") % {"line": count(there.row.line)}
        if there.whole or one.whole:
            same = content_of(there.query, there.ranked) == content_of(one.query, one.ranked)
            if there.whole and one.whole and same:
                reader.repeated(row, "topic", there.row.line, "passages")
                return
            mend = gettext_noop("Keep one, or give this one another id.")
            reader.refuse(
                row, "topic", _("Given twice, first on %(first)s.") % {"first": first}, mend
            )
        if one.query and there.query and one.query != there.query:
            wrong = _("This topic has another query on %(first)s.") % {"first": first}
            mend = gettext_noop("A topic has one query; give this one a topic of its own.")
            reader.refuse(row, ["topic", "query"], wrong, mend)
        there.query = there.query or one.query
        rank, passage = one.passages[0]
        if any(at == rank != -1 for at, _ in there.passages):
            wrong = _("Passage %(rank)s of this topic is there already.") % {"rank": rank}
            reader.refuse(row, ["topic", "rank"], wrong, _("Give each passage a rank of its own."))
        if passage["key"] and any(row["key"] == passage["key"] for _, row in there.passages):
            wrong = gettext_noop("This passage of the topic is there already.")
            mend = gettext_noop("Delete the row, or give the passage another id.")
            reader.refuse(row, ["topic", "passage_key"], wrong, mend)
        if len(there.passages) == MAX_PASSAGES:
            wrong = _("The topic has %(max_passages)s passages already.") % {
                "max_passages": MAX_PASSAGES
            }
            reader.refuse(row, "topic", wrong, _("Keep the best, and delete the others."))
        there.passages.append((rank, passage))
        there.lines.append(row.line)
        if any(at == -1 for at, _ in there.passages):
            there.passages = [(-1, kept) for _, kept in there.passages]

    @staticmethod
    def _settle(reader: Reader, key: str, one: ReadTopic, known: KnownTopics) -> None:
        """Whether a topic is new, or as the draft has it. Raises Refused."""
        if not one.query:
            reader.refuse(one.row, "query", _("The topic has no query."), _("Write what is asked."))
        there = known.topics.get(key)
        if there is not None and not _equal_content(there, content_of(one.query, one.ranked)):
            what = _("another query") if there[0] != one.query else _("other passages")
            wrong = _("The task has this topic with %(what)s.") % {"what": what}
            mend = gettext_noop("Change it in the builder, or give this one another id.")
            reader.refuse(one.row, "topic", wrong, mend)
        made = {"topic": key, "query": one.query, "passages": one.ranked}
        reader.checked.add(made, len(one.lines), there=there is not None)


def _read_row(reader: Reader, row: Row) -> ReadTopic:
    """Read a row's topic with all, one or none of its passages. Raises Refused."""
    query = reader.value(row, "query")
    if any(reader.value(row, name) for name in ("passages", "references_texts")):
        return ReadTopic(row, query, True, list(enumerate(_listed(reader, row))))
    rank = reader.value(row, "rank")
    one = {
        "key": reader.value(row, "passage_key"),
        "title": reader.value(row, "title"),
        "text": reader.value(row, "passage"),
    }
    if not any(one.values()) and not rank:
        return ReadTopic(row, query, True)
    wrong, mend = (
        gettext_noop("The passage has no text."),
        gettext_noop("Write it, or delete the row."),
    )
    reader.needed(row, "passage", wrong, mend)
    at = parse_whole(rank, high=999_999) if rank.isdigit() else None
    if rank and at is None:
        reader.refuse(
            row, "rank", _("This is not a whole number."), _("Number the passages 1, 2, 3.")
        )
    return ReadTopic(row, query, False, [(-1 if at is None else at, one)])


def _equal_content(there: Content, given: Content) -> bool:
    """Equal but for ids that the file does not give."""
    if there[0] != given[0] or len(there[1]) != len(given[1]):
        return False
    pairs = zip(there[1], given[1], strict=True)
    return all(old[1:] == new[1:] and new[0] in ("", old[0]) for old, new in pairs)


def _list(reader: Reader, row: Row, name: str) -> list[Any]:
    raw = reader.value(row, name)
    if not raw:
        return []
    try:
        found = read_json(raw, any_text=True)
    except Unreadable:
        found = None
    if not isinstance(found, list):
        mend = gettext_noop('Write a JSON list: ["...", "..."].')
        reader.refuse(row, name, _("This is no list."), mend)
    if len(found) > MAX_PASSAGES:
        wrong = _("%(found)s passages; %(max_passages)s is the most for a topic.") % {
            "found": count(len(found)),
            "max_passages": MAX_PASSAGES,
        }
        reader.refuse(row, name, wrong, _("Keep the best."))
    return found


def _listed(reader: Reader, row: Row) -> list[Passage]:
    """The passages of a topic that is told on one line. Raises Refused."""
    name = "passages" if reader.value(row, "passages") else "references_texts"
    given = _list(reader, row, name)
    ids = _list(reader, row, "references_ids") if name == "references_texts" else []
    if ids and len(ids) != len(given):
        wrong = _("%(ids)s ids for %(given)s passages.") % {"ids": len(ids), "given": len(given)}
        mend = gettext_noop("Give each passage an id, or leave the ids out.")
        reader.refuse(row, ["references_ids"], wrong, mend)
    found: list[Passage] = []
    for rank, raw in enumerate(given, 1):
        one = _passage(raw, str(ids[rank - 1]) if ids else "")
        wrong = _wrong(one, found)
        if wrong:
            reader.refuse(
                row,
                name,
                _("Passage %(rank)s: %(wrong)s") % {"rank": rank, "wrong": wrong},
                _("Mend it, or leave it out."),
            )
        found.append(one)
    return found


def _passage(raw: Any, key: str) -> Passage:
    if not isinstance(raw, Mapping):
        return {"key": key.strip(), "title": "", "text": _text(raw)}
    values = {str(name).lower(): value for name, value in raw.items()}

    def first(names: Iterable[str]) -> str:
        return next((_text(values[name]) for name in names if values.get(name)), "")

    return {"key": key.strip() or first(KEYS), "title": first(TITLES), "text": first(TEXTS)}


def _text(value: Any) -> str:
    if not isinstance(value, str | int):
        return ""
    return str(value).replace("\r\n", "\n").replace("\r", "\n").strip()


def _wrong(one: Passage, before: Iterable[Passage]) -> str:
    """Return the error in a passage of a list; "" where there is none."""
    if not one["text"]:
        return _("there is no text.")
    for name, most in (("key", MAX_DOCUMENT), ("title", MAX_TITLE), ("text", MAX_TEXT)):
        if len(one[name]) > most:
            return _("%(one)s characters as its %(name)s; %(most)s is the most.") % {
                "one": count(len(one[name])),
                "name": name,
                "most": count(most),
            }
        if "\x00" in one[name] or any("\ud800" <= mark <= "\udfff" for mark in one[name]):
            return "it holds a character that no text can hold."
    if one["key"] and any(other["key"] == one["key"] for other in before):
        return _("%(key)s is there twice.") % {"key": one["key"]}
    return ""
