"""Rows of a person that show several items, in numbered columns, as a row for each.

Forms of MTurk show a list of items at once, and experiments a round in a block of columns: the item
of round 3 differs between people, so that its columns are read together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from annotation.files.reading.importer import plain
from annotation.files.reading.recognise import MOST_LABELS, WORKERS, named_column
from annotation.files.reading.rows import Row
from annotation.files.reading.tables import Event, Table
from annotation.files.reading.values import NUMBER
from annotation.formats.imports.tables.nested import peek

Rows = Sequence[Mapping[str, str]]
RUN = re.compile(r"\d{1,3}")
ITEM_WORDS = {
    *("stimulus", "stim", "item", "text", "image", "img", "clip", "video", "audio", "url"),
    *("sentence", "question", "doc", "document", "tweet", "comment", "picture", "photo", "file"),
    *("imageurl", "post", "claim", "word", "pair", "itemid", "textid", "bild", "satz", "frase"),
}
VOTE_WORDS = {
    *("label", "answer", "choice", "rating", "response", "vote", "score", "judgment", "judgement"),
    *("annotation", "category", "class", "sentiment", "decision", "trustrating", "likert"),
    *("antwort", "bewertung", "respuesta", "réponse", "reponse", "resposta"),
}
SCORE_WORDS = ("rating", "score", "likert", "bewertung")
INPUT, ANSWER = "input", "answer"  # begin columns of MTurk
LEAST_POINTS = 4


@dataclass(frozen=True)
class Lists:
    """Columns of items and of votes, by their number."""

    items: dict[int, str]
    votes: dict[int, str]
    is_score: bool


def fold(table: Table) -> Table:
    """A table with a row for each numbered item; others stay as they are."""
    table, rows = peek(table)
    names = list(table.columns)
    found = _lists(names, rows)
    if found is None:
        return table
    numbers = sorted(found.items)
    note = _("%(items)s and %(votes)s are read together, as each row shows %(n)s items.")
    table.notes.append(
        note
        % {
            "items": found.items[numbers[0]],
            "votes": found.votes[numbers[0]],
            "n": len(numbers),
        }
    )
    kept = [name for name in names if not _is_of_round(name, names, numbers)]
    vote = "score" if found.is_score else "label"
    columns = dict.fromkeys([*kept, "item", vote])
    return replace(table, columns=[*columns], events=_votes(table.events, found, kept, vote))


def _votes(
    events: Iterable[Event], found: Lists, kept: Sequence[str], vote: str
) -> Iterator[Event]:
    for event in events:
        if not isinstance(event, Row):
            yield event
            continue
        own = {name: event.values.get(name, "") for name in kept}
        for number, column in found.items.items():
            item = event.values.get(column, "").strip()
            said = event.values.get(found.votes[number], "").strip()
            if item and said:
                yield Row(event.line, {**own, "item": item, vote: said})


def _is_of_round(name: str, names: Sequence[str], numbers: Sequence[int]) -> bool:
    """Whether a column is one of those that are there for each number."""
    for run in RUN.finditer(name):
        others = {f"{name[: run.start()]}{one}{name[run.end() :]}" for one in numbers}
        if int(run[0]) in numbers and others <= set(names):
            return True
    return False


def _lists(names: Sequence[str], rows: Rows) -> Lists | None:
    """The columns of items and votes that are numbered alike; None where they are not both."""
    if not named_column(names, WORKERS):
        return None
    groups: dict[tuple[str, str], dict[int, str]] = {}
    for name in names:
        for run in RUN.finditer(name):
            key = (name[: run.start()], name[run.end() :])
            groups.setdefault(key, {})[int(run[0])] = name
    groups = {key: group for key, group in groups.items() if len(group) > 1}
    items = [group for key, group in groups.items() if _are_items(key, group, rows)]
    votes = [group for key, group in groups.items() if _are_votes(key, group, rows)]
    pairs = [(one, two) for one in items for two in votes if one.keys() == two.keys()]
    if len(pairs) != 1:
        return None
    (item, vote), given = pairs[0], set[str]()
    for row in rows:
        given |= {said for name in vote.values() if (said := row.get(name, "").strip())}
    is_named = any(word in plain(name) for name in vote.values() for word in SCORE_WORDS)
    is_score = is_named and len(given) >= LEAST_POINTS and all(map(NUMBER.fullmatch, given))
    return Lists(dict(sorted(item.items())), vote, is_score)


def _words(key: tuple[str, str]) -> tuple[str, str]:
    """The first word of a group's name, and its last one."""
    parts = [plain(part) for part in re.split(r"[.:/]", f"{key[0]}{key[1]}") if plain(part)]
    return (parts[0], parts[-1]) if parts else ("", "")


def _are_items(key: tuple[str, str], group: Mapping[int, str], rows: Rows) -> bool:
    first, last = _words(key)
    cells = [said for row in rows for name in group.values() if (said := row.get(name, "").strip())]
    again = len(set(cells)) < len(cells)
    return bool(cells) and again and first != ANSWER and (last in ITEM_WORDS or first == INPUT)


def _are_votes(key: tuple[str, str], group: Mapping[int, str], rows: Rows) -> bool:
    first, last = _words(key)
    given = {said for row in rows for name in group.values() if (said := row.get(name, "").strip())}
    is_named = last in VOTE_WORDS or first == ANSWER or last.endswith(("rating", "label", "score"))
    return 1 < len(given) <= MOST_LABELS and is_named and first != INPUT
