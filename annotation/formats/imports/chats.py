"""Conversations as items to be labeled, and as texts to be judged.

A file is opened by ``open_table``: each record becomes a row that holds its conversation as JSON
beside what is compared and shown of it, so that the rest of an import is as for any table.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.chats.model import Chat, ImagePart, dump_chat, load_chat
from annotation.chats.notes import note_texts
from annotation.chats.readers.base import ChatRecord, opening_of
from annotation.chats.readers.dispatch import FORMATS
from annotation.chats.readers.files import ChatFile, holds_chats, open_chats, open_values, scores_in
from annotation.chats.storage import MAX_QUESTION
from annotation.chats.text import plain_text
from annotation.files.reading.importer import Field, Importer, Reader, Row, Sheet
from annotation.files.reading.keys import FirstSeen, Keys
from annotation.files.reading.rows import Problem
from annotation.files.reading.sheet import spooled
from annotation.files.reading.sources import Source
from annotation.files.reading.tables import Table
from annotation.formats.imports.candidates import key_of
from annotation.formats.imports.labels import KnownItems
from annotation.formats.imports.prompt_topics import NO_TOPICS, PromptTopics
from crowdqc import numbers
from crowdqc.files.json_input import read_json
from crowdqc.numbers import plural

CHAT, CHAT_B = "chat", "chat_b"
SIDES = ((CHAT, "system", "a"), (CHAT_B, "system_b", "b"))
COLUMNS = (
    *("key", "format", "seen", "conversation", "system", "target", "scores", "meta", "facts"),
    *("system_b", "winner", "judge", "topic", CHAT, CHAT_B),
)
HIDDEN = ("seen", "facts", CHAT, CHAT_B)  # what a page of first rows does not show
MAX_KEY, MAX_NAME, MAX_TOPIC, MAX_QUERY = 80, 120, 80, 20_000
SHOWN_FORMATS = 5  # formats of one file that its preview names
SHOWN_SCORES = 3  # names of scores and of who gave them
PREVIEW = 300  # characters of a conversation in the preview
NO_VOTES = gettext_lazy("The file holds conversations, which have no votes to score.")
UNNAMED = "assistant"  # whose conversations name no model


def reason_of_chats(source: Source, name: str) -> str:
    """Say why a file of conversations cannot be scored; "" where it holds none."""
    if not holds_chats(source, name):
        return ""
    return reason_of_scores(source, name) or str(NO_VOTES)


def reason_of_scores(source: Source, name: str) -> str:
    """The same of conversations whose records bring scores along; "" of other files."""
    scores = scores_in(source, name) if holds_chats(source, name) else []
    if not scores:
        return ""
    names, authors = _first(one.name for one in scores), _first(one.by for one in scores)
    told = _("%(names)s (by %(authors)s)") % {"names": names, "authors": authors}
    text = _("The file holds conversations, whose records hold scores: %(scores)s.")
    return text % {"scores": told if authors else names}


def _first(names: Iterable[str]) -> str:
    return ", ".join(list(dict.fromkeys(filter(None, names)))[:SHOWN_SCORES])


def open_table(source: Source, name: str) -> Table:
    """Open a file of conversations as a table with ``COLUMNS``; Invalid as ``open_chats``."""
    return _as_table(open_chats(source, name))


def sheet_of(values: Iterable[Any]) -> Sheet:
    """Make a sheet of records that came as objects."""
    return spooled(_as_table(open_values(values)))


def _as_table(file: ChatFile) -> Table:
    return Table(file.kind, file.encoding, "", "", list(COLUMNS), _rows(file))


def _rows(file: ChatFile) -> Iterator[Row | Problem]:
    """Rows of the records, and what could not be read."""
    for event in file.events:
        if isinstance(event, Problem):
            yield event
        elif any(not chat.turns for chat in event.record.chats):
            yield Problem(
                event.line,
                "",
                event.record.key,
                _("The conversation has no turns."),
                _("Leave it out, or send its messages with it."),
            )
        else:
            yield Row(event.line, _row_of(event.record))


def _row_of(record: ChatRecord) -> dict[str, str]:
    """Write a record as the cells of a row."""
    chats = record.chats
    texts = [dump_chat(chat) for chat in chats]
    found = {
        "key": record.key,
        "format": record.format,
        "seen": ", ".join(record.seen),
        "conversation": plain_text(chats[0], most=PREVIEW),
        "system": record.system,
        "target": record.target,
        "scores": _dump(
            [[one.name, one.value, one.explanation, one.by, one.turn] for one in record.scores]
        ),
        "meta": _dump(dict(record.meta)),
        "facts": _dump([_facts(*one) for one in zip(chats, texts, strict=True)]),
        CHAT: texts[0],
    }
    if (pair := record.pair) is not None:
        found |= {
            "system": pair.system_left,
            "system_b": pair.system_right,
            "winner": pair.winner,
            "judge": pair.judge,
            "topic": pair.topic,
            CHAT_B: texts[1],
        }
    return {name: value for name, value in found.items() if value}


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if value else ""


def _load(text: str) -> Any:
    return read_json(text, any_text=True)


def _facts(chat: Chat, text: str) -> dict[str, Any]:
    """What a preview counts of a conversation, and its digest."""
    calls = [call for turn in chat.turns for call in turn.calls]
    parts = [part for turn in chat.turns for part in turn.parts]
    images = sum(isinstance(part, ImagePart) and bool(part.data) for part in parts)
    return {
        "turns": len(chat.turns),
        "calls": len(calls),
        "images": images,
        "steps": len(chat.spans),
        "notes": list(chat.notes),
        "digest": hashlib.sha256(text.encode()).hexdigest(),
    }


class _Totals:
    """Counts over the conversations of a file, for its preview."""

    def __init__(self) -> None:
        self.turns: list[int] = []
        self.counts: Counter[str] = Counter()
        self.notes: list[str] = []
        self.formats: dict[tuple[str, str], None] = {}

    def add(self, facts: Mapping[str, Any], values: Mapping[str, str]) -> None:
        """Count one conversation of a row with these values."""
        self.formats.setdefault((values.get("format", ""), values.get("seen", "")))
        self.turns.append(facts["turns"])
        for name in ("calls", "images", "steps"):
            self.counts[name] += facts[name]
        self.notes += facts["notes"]

    def say(self, reader: Reader) -> None:
        """Add what was counted to the facts and notes of the file."""
        if not self.turns:
            return
        low, high = min(self.turns), max(self.turns)
        turns = _("%(low)s to %(high)s turns") % {"low": low, "high": high}
        facts = [plural(len(self.turns), "conversation")]
        facts.append(turns if low < high else plural(low, "turn"))
        facts += [
            plural(self.counts[name], noun)
            for name, noun in (("calls", "tool call"), ("images", "image"), ("steps", "step"))
            if self.counts[name]
        ]
        facts += [
            _("read as %(format)s (%(fields)s)") % {"format": FORMATS[slug], "fields": seen}
            for slug, seen in list(self.formats)[:SHOWN_FORMATS]
            if slug in FORMATS
        ]
        reader.checked.facts += facts
        texts = note_texts(self.notes)
        if texts:
            reader.checked.notes.append(
                _("In the conversations: %(notes)s.") % {"notes": ", ".join(texts)}
            )


class Chats(Importer):
    """Conversations to be labeled; of a pair, each is an item of its own."""

    slug = "chats"
    keeps_columns = True
    title = gettext_lazy("Conversations")
    fields: tuple[Field, ...] = (Field(CHAT, gettext_lazy("Conversation"), True),)
    note = gettext_lazy(
        "Chats and traces of OpenAI, Anthropic, Hugging Face, ShareGPT, Inspect, OpenTelemetry, "
        "Langfuse, LangSmith, Phoenix and others, as JSON, JSON Lines, Parquet or an archive. "
        "Turns, tool calls and their results are kept, and so are models, scores and further "
        "columns."
    )

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownItems) -> None:
        """Items with their conversations; an id once."""
        checked, read = reader.checked, _Items(reader, known)
        checked.rows = 0
        for row in rows:
            with reader:
                made = read.items_of(row)
                for one in made:
                    checked.good.append(one, len(one["chat"]))
                checked.rows += bool(made)
        read.totals.say(reader)
        if read.pairs:
            checked.notes.append(
                _("%(pairs)s: each conversation is an item of its own.")
                % {"pairs": plural(read.pairs, "pair")}
            )
        if read.unnamed:
            checked.notes.append(
                _("%(items)s without an id: one is made of the conversation.")
                % {"items": plural(read.unnamed, "item")}
            )
        if read.columns:
            checked.facts.append(
                _("kept with the items: %(names)s")
                % {"names": ", ".join(sorted(read.columns)[:12])}
            )


class _Items:
    """Makes items of rows, and counts what a preview says of them."""

    def __init__(self, reader: Reader, known: KnownItems) -> None:
        self.reader, self.known = reader, known
        self.first, self.met, self.totals = FirstSeen(), Keys(), _Totals()
        self.columns: dict[str, None] = {}
        self.pairs = self.unnamed = 0

    def items_of(self, row: Row) -> list[dict[str, Any]]:
        """Return the new items of a row; where all are there already, count it. Raises Refused."""
        sides = _sides(row)
        made = [self._item(row, side, facts, is_one=len(sides) == 1) for side, facts in sides]
        new = [one for one in made if isinstance(one, dict)]
        if not new and any(one == "there" for one in made):
            self.reader.checked.there += 1
        self.pairs += len(new) == 2
        return new

    def _item(
        self, row: Row, side: tuple[str, str, str], facts: Mapping[str, Any], *, is_one: bool
    ) -> dict[str, Any] | str:
        """One item; "there" or "repeated" where it is not new."""
        name, system, end = side
        given = row.values.get("key", "")
        key = _key(given, facts, "" if is_one else end)
        line, same = self.first.setdefault(key, row.line, facts["digest"])
        if not same:
            wrong = _("Given twice, first on line %(line)s, with another conversation.")
            wrong %= {"line": numbers.count(line)}
            self.reader.refuse(row, "key", wrong, _("Give this item another id."))
        _place, is_new = self.met.add(key)
        if not is_new:
            self.reader.repeated(row, "key", line, _("conversation"))
            return "repeated"
        chat = row.values[name]
        if key in self.known.texts:
            if self.known.texts[key] != plain_text(_chat(chat), most=MAX_QUESTION):
                wrong = _("The task has this id with another conversation.")
                self.reader.refuse(row, "key", wrong, _("Give this item another id."))
            return "there"
        meta = _meta(row, system)
        self.columns |= dict.fromkeys(meta)
        self.unnamed += not given
        self.totals.add(facts, row.values)
        fixed: dict[str, Any] = {"text": "", "expected": {}, "file": None, "address": ""}
        return {"key": key, "meta": meta, "chat": chat, **fixed}


def _sides(row: Row) -> list[tuple[tuple[str, str, str], dict[str, Any]]]:
    """The conversations of a row: their columns, and what was counted of each."""
    sides = [one for one in SIDES if row.values.get(one[0])]
    return list(zip(sides, _facts_of(row) if sides else [], strict=True))


def _facts_of(row: Row) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _load(row.values["facts"])
    return found


def _chat(text: str) -> Chat:
    return load_chat(_load(text))


def _key(given: str, facts: Mapping[str, Any], end: str) -> str:
    """The id of an item: the record's, cut where it is long, or one of the content."""
    if not given:
        return f"chat-{facts['digest'][:16]}"
    whole = f"{given}-{end}" if end else given
    if len(whole) > MAX_KEY:
        return f"{whole[: MAX_KEY - 9]}-{facts['digest'][:8]}"
    return whole


def _meta(row: Row, system: str) -> dict[str, str]:
    """What is kept with an item: columns of the record, its model, target and scores."""
    values = row.values
    found: dict[str, str] = _load(values["meta"]) if values.get("meta") else {}
    more = {
        "system": values.get(system, ""),
        **{name: values.get(name, "") for name in ("target", "winner", "judge", "topic")},
    }
    for name, value, explanation, _by, turn in _scores(values):
        where = f"score {name}" + (f" [{turn}]" if turn else "")
        own, number = where, 1
        while own in more:
            number += 1
            own = f"{where} ({number})"
        more[own] = value
        if explanation:
            more[f"{own}: why"] = explanation[:2_000]
    return {**{name: value for name, value in more.items() if value}, **found}


def _scores(values: Mapping[str, str]) -> list[Any]:
    found: list[Any] = _load(values["scores"]) if values.get("scores") else []
    return found[:200]


# Texts to be judged ------------------------------------------------------------------------------


@dataclass(frozen=True)
class KnownChatTexts:
    """What the draft holds: keys of texts on its topics; its pairs, if it is one of pairs."""

    keys: frozenset[str] = frozenset()
    pairs: frozenset[tuple[str, str, str]] = frozenset()
    prompts: PromptTopics = NO_TOPICS


class ChatTexts(Importer):
    """Conversations under judgment; a good row holds one text or the two of a pair.

    Conversations that begin with the same question are of one topic.
    """

    slug = "chat_texts"
    keeps_columns = True
    title = gettext_lazy("Conversations to be judged")
    fields = Chats.fields
    note = gettext_lazy(
        "Conversations of systems, one or two a record: arena battles, preferences, chats and "
        "traces. Those that begin with the same question are of one topic. Verdicts in the file "
        "are not imported here: import them as battles."
    )

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownChatTexts) -> None:
        """Texts with their conversations, each once in a topic and of a system."""
        checked, first, totals = reader.checked, FirstSeen(), _Totals()
        topics, systems, unnamed, verdicts = set[str](), set[str](), 0, 0
        for row in rows:
            with reader:
                values, sides = row.values, _sides(row)
                if not sides:
                    mend = gettext_noop("Leave the row out.")
                    reader.refuse(row, CHAT, gettext_noop("There is no conversation."), mend)
                query = opening_of(_chat(values[CHAT]))[:MAX_QUERY]
                topic = values.get("topic", "")[:MAX_TOPIC] or known.prompts.topic_of(query)
                texts = []
                for (name, system, _end), one in sides:
                    source = values.get(system, "")[:MAX_NAME] or UNNAMED
                    unnamed += not values.get(system)
                    texts.append(_text(values[name], one, topic, query, source))
                if len(texts) > 1 and texts[0]["text"] == texts[1]["text"]:
                    wrong = gettext_noop("Both conversations are the same.")
                    mend = gettext_noop("Leave the row out: there is nothing to compare.")
                    reader.refuse(row, [CHAT], wrong, mend)
                keys = sorted(one["key"] for one in texts)
                line, _same = first.setdefault("\0".join(keys), row.line, "")
                if line != row.line:
                    reader.repeated(row, "key", line, _("conversation"))
                elif _is_there(known, topic, keys):
                    checked.there += 1
                else:
                    verdicts += bool(values.get("winner"))
                    for _side, one in sides:
                        totals.add(one, values)
                    topics.add(topic)
                    systems |= {one["system"] for one in texts}
                    weight = sum(len(one["chat"]) for one in texts)
                    checked.good.append({"topic": topic, "texts": texts}, weight)
        totals.say(reader)
        if topics:
            checked.facts += [plural(len(topics), "topic"), plural(len(systems), "source")]
        if unnamed:
            note = _("%(count)s without a model: they count as one system, %(name)s.")
            count = plural(unnamed, "conversation")
            checked.notes.append(note % {"count": count, "name": UNNAMED})
        if verdicts:
            note = _("%(count)s with a verdict, which is not imported here.")
            checked.notes.append(note % {"count": plural(verdicts, "pair")})


def _is_there(known: KnownChatTexts, topic: str, keys: list[str]) -> bool:
    if len(keys) == 2:
        return (topic, *keys) in known.pairs
    return keys[0] in known.keys


def _text(
    chat: str, facts: Mapping[str, Any], topic: str, query: str, system: str
) -> dict[str, str]:
    return {
        "key": key_of(topic, system, facts["digest"]),
        "topic": topic,
        "query": query,
        "category": "",
        "text": plain_text(_chat(chat)),
        "system": system,
        "chat": chat,
    }
