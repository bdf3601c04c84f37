"""Votes within records, as a row each: lists of objects, lists in step, and answers by question.

A record of an item holds objects that name their annotators; one of an annotator holds objects
that name their items. Outer columns are kept in each row. A column is called by the last key of its
path, or by the whole path where another column is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from annotation.files.reading.importer import plain
from annotation.files.reading.literals import read_value
from annotation.files.reading.recognise import (
    ITEMS,
    LABELS,
    LOOKED_AT,
    MOSTLY,
    WORKERS,
    named_column,
)
from annotation.files.reading.rows import MAX_SHOWN, Problem, Row
from annotation.files.reading.tables import Event, Table
from annotation.files.reading.values import as_text
from annotation.formats.imports.winners import WINNERS
from crowdqc.files.json_input import Unreadable

Path = tuple[str, ...]
LABEL = "label"  # what the column of the only question is called
VOTE, LIST = "vote", "list"  # where the paths of votes begin, and the column of their list's name
DEEPEST = 8  # levels that are looked through
MARKS = ",;|"  # between values of a list that is written as text
MOST_WORDS = 4  # of a name of a worker
NAMED = 3  # paths that a note lists
VOTES = (*LABELS, *WINNERS, "score")
QUESTIONS = ("task_label", "question", "name", "title", "task", "schema")
ANSWERS = ("answer", "answers")  # what the key of an answer ends in; else it is VALUE
VALUE = "value"
SAID = ("name", "label", "content", "text", VALUE)  # where an answer is an object


class Question(str):
    """The last key of a path where it is a question that an answer names."""

    __slots__ = ()


@dataclass(frozen=True)
class NestedVotes:
    """Objects of votes within a record, by path, and where their list is."""

    path: Path
    votes: list[dict[Path, Any]]


def spread(table: Table, is_known: Callable[[Mapping[str, str]], bool]) -> Table:
    """A table whose records hold votes with a row for each; others stay as they are.

    ``is_known`` says of a record that another reader takes it.
    """
    table, rows = peek(table)
    if not rows or is_known(rows[0]):
        return table
    table, rows = peek(_with_lists(table, rows))
    records = list(map(_record, rows))
    found = [one for record in records for one in _votes_in(record)]
    if found and _names_repeat(found):
        asked = _asked(path for one in found for vote in one.votes for path in vote)
        paths = dict.fromkeys(".".join(one.path) for one in found)
        note = _("Votes are read out of %(paths)s.") % {"paths": ", ".join([*paths][:NAMED])}
        if [*paths] == [""]:
            note = _(
                "Lists are read in step: each of %(workers)s gave the value at the same place in "
                "%(votes)s."
            )
            note %= dict(zip(("workers", "votes"), _columns_in_step(records[0]), strict=False))
    else:
        asked = _asked(path for record in records for path, _said in _leaves(record))
        note = _("Answers are read out of lists of questions: %(questions)s.")
        note %= {"questions": ", ".join(asked[:NAMED])}
        if not asked or not named_column(rows[0], WORKERS) or named_column(rows[0], VOTES):
            return table
        found = []
    table.notes.append(note)
    columns: list[str] = []
    named = _Names({(asked[0],): LABEL} if len(asked) == 1 else {})
    return replace(
        table, columns=columns, events=_events(table, columns, named, _alike(records), bool(found))
    )


def peek(table: Table) -> tuple[Table, list[Mapping[str, str]]]:
    """The table and its first rows, which it still has."""
    held = list(itertools.islice(table.events, LOOKED_AT))
    rows = [one.values for one in held if isinstance(one, Row)]
    return replace(table, events=itertools.chain(held, table.events)), rows


def _with_lists(table: Table, rows: list[Mapping[str, str]]) -> Table:
    """The table with lists in place of texts that list workers and votes in step."""
    listed = [name for name in rows[0] if name.endswith("s")]
    pairs = (
        (worker, vote, mark)
        for worker, vote in itertools.permutations(listed, 2)
        if named_column([worker[:-1]], WORKERS) and named_column([vote[:-1]], VOTES)
        for mark in MARKS
    )
    for *names, mark in pairs:
        counts = [[row.get(name, "").count(mark) for name in names] for row in rows]
        same = sum(first == second for first, second in counts)
        if sum(map(any, counts)) * 2 > len(rows) and same >= MOSTLY * len(rows):
            return replace(table, events=_split_lists(table.events, names, mark))
    return table


def _split_lists(events: Iterable[Event], names: list[str], mark: str) -> Iterator[Event]:
    for event in events:
        if not isinstance(event, Row) or event.values.get(names[0], "")[:1] == "[":
            yield event
            continue
        lists = [list(map(str.strip, event.values.get(name, "").split(mark))) for name in names]
        if len(lists[0]) == len(lists[1]):
            told = dict(zip(names, map(as_text, lists), strict=True))
            yield Row(event.line, {**event.values, **told})
            continue
        sizes = {"workers": len(lists[0]), "votes": len(lists[1])}
        wrong = _("%(workers)s workers, but %(votes)s votes.") % sizes
        cells = " / ".join(event.values.get(name, "") for name in names)
        yield Problem(event.line, ", ".join(names), cells[:MAX_SHOWN], wrong, _("Left out."))


def _asked(paths: Iterable[Path]) -> list[str]:
    return list(dict.fromkeys(path[-1] for path in paths if isinstance(path[-1], Question)))


def _alike(records: Iterable[Mapping[str, Any]]) -> set[str]:
    """Columns that hold objects with the same keys in all records."""
    shapes: dict[str, set[frozenset[Path]]] = {}
    for record in records:
        for key, said in record.items():
            shapes.setdefault(key, set()).add(frozenset(dict(_leaves({key: said}))))
    return {key for key, shape in shapes.items() if len(shape) == 1}


def _events(
    table: Table, columns: list[str], named: _Names, alike: set[str], has_votes: bool
) -> Iterator[Event]:
    known = set[str]()
    for event in table.events:
        if not isinstance(event, Row):
            yield event
            continue
        record = _record(event.values)
        found = _votes_in(record) if has_votes else []
        lists = [one.path for one in found]
        lists += [(name,) for name in (_columns_in_step(record) if () in lists else ())]
        outer = {
            path: said
            for key, inner in record.items()
            for path, said in _leaves({key: inner}, aside=lists)
            if key in alike or len(path) == 1 or isinstance(path[-1], Question)
        }
        shared = named.of(outer)
        for one in found or [NestedVotes((), [{}])]:
            own = shared | ({LIST: one.path[-1]} if len(found) > 1 else {})
            for vote in one.votes:
                values = own | named.of({(VOTE, *path): said for path, said in vote.items()})
                columns.extend(name for name in values if name not in known)
                known.update(values)
                yield Row(event.line, values)


def reason_of_nested(rows: Iterable[Row]) -> str:
    """Say where votes are nested in records that cannot be read; "" where none are."""
    paths = dict.fromkeys(
        ".".join((*path, *key))
        for row in rows
        for path, objects in _lists(_record(row.values))
        for key, said in dict(_leaves(objects[0])).items()
        if _called(key, VOTES) or (len(objects) > 1 and isinstance(said, int | float))
    )
    if not paths:
        return ""
    told = _("Votes are nested in %(paths)s: write a row for each, with who gave it to which item.")
    return told % {"paths": ", ".join([*paths][:NAMED])}


class _Names:
    """Columns by path: the last key, or all of them where another path has it."""

    def __init__(self, names: dict[Path, str]) -> None:
        self._asked, self._by_path, self._taken = names, dict[Path, str](), set(names.values())

    def of(self, leaves: Mapping[Path, Any]) -> dict[str, str]:
        return {self._name(path): as_text(said) for path, said in leaves.items()}

    def _name(self, path: Path) -> str:
        if path not in self._by_path:
            name = self._asked.get(path[-1:]) or path[-1]
            if name in self._taken and path[-1:] not in self._asked:
                name = ".".join(path)
            self._taken.add(name)
            self._by_path[path] = name
        return self._by_path[path]


def _record(values: Mapping[str, str]) -> dict[str, Any]:
    return {name: _opened(said) for name, said in values.items()}


def _opened(said: Any) -> Any:
    """What the JSON in a text holds; the same where it is none."""
    if isinstance(said, str) and said[:1] in ("{", "["):
        try:
            return read_value(said, as_written=True)
        except Unreadable:
            return said
    return said


def _leaves(
    held: Mapping[str, Any], path: Path = (), aside: Iterable[Path] = ()
) -> Iterator[tuple[Path, Any]]:
    """Values of an object that are none, by path; lists of questions as their answers."""
    for key, raw in held.items():
        here, said = (*path, key), _opened(raw)
        if here in aside:
            continue
        if isinstance(said, dict) and said and len(here) < DEEPEST:
            yield from _leaves(said, here, aside)
        elif answers := _answers(said):
            yield from (
                ((*here, Question(question)), answer) for question, answer in answers.items()
            )
        else:
            yield here, said


def _votes_in(record: Mapping[str, Any]) -> list[NestedVotes]:
    """Lists of a record whose objects each name a worker, or an item where it names the worker."""
    mine = dict(_leaves(record))
    names_items = _names_one(mine, WORKERS) and not _names_one(mine, ITEMS)
    found = []
    for path, objects in _lists(record):
        votes = [dict(_leaves(one)) for one in objects]
        is_named = all(_names_one(vote, WORKERS) for vote in votes) or (
            names_items and all(_names_one(vote, ITEMS) for vote in votes)
        )
        if is_named and any(map(_says_one, votes)):
            found.append(NestedVotes(path, votes))
    return found


def _lists(held: Any, path: Path = ()) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    """Lists of objects within objects, and lists in step as such."""
    said = _opened(held)
    if isinstance(said, list) and said and all(isinstance(one, dict) for one in said) and path:
        yield path, said
    elif isinstance(said, dict) and len(path) < DEEPEST:
        if in_step := _in_step(said):
            yield path, in_step
            return
        for key, inner in said.items():
            yield from _lists(inner, (*path, key))


def _in_step(held: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Lists of one length, of which one names workers and one says what they gave, as objects."""
    lists = {key: one for key, said in held.items() if isinstance(one := _opened(said), list)}
    names = _columns_in_step(lists)
    size = len(lists[names[0]]) if names else 0
    same = {key.removesuffix("s"): one for key, one in lists.items() if len(one) == size}
    if not names:
        return []
    return [dict(zip(same, row, strict=True)) for row in zip(*same.values(), strict=True)]


def _columns_in_step(held: Mapping[str, Any]) -> tuple[str, ...]:
    """The list of workers and that of what they gave, of one length; () without."""
    for worker, vote in itertools.product(held, held):
        who, what = _opened(held[worker]), _opened(held[vote])
        if (
            named_column([worker.removesuffix("s")], WORKERS)
            and named_column([vote.removesuffix("s")], VOTES)
            and isinstance(who, list)
            and isinstance(what, list)
            and who
            and len(who) == len(what)
            and not any(isinstance(one, dict | list) for one in who)
        ):
            return worker, vote
    return ()


def _called(path: Path, names: Iterable[str]) -> bool:
    return bool(named_column([path[-1]], [*names]))


def _is_plain(said: Any) -> bool:
    return not isinstance(said, dict | list)


def _names_one(vote: Mapping[Path, Any], names: Iterable[str]) -> bool:
    """Whether one of the object's values names a worker, or an item."""
    return any(
        _called(path, names) and _is_plain(said) and as_text(said).strip()
        for path, said in vote.items()
    )


def _says_one(vote: Mapping[Path, Any]) -> bool:
    return any(_called(path, VOTES) or isinstance(path[-1], Question) for path in vote)


def _names_repeat(found: Iterable[NestedVotes]) -> bool:
    """Whether what names workers or items are names, and stands in several objects."""
    names = [
        as_text(said)
        for one in found
        for vote in one.votes
        for path, said in vote.items()
        if _called(path, (*WORKERS, *ITEMS)) and _is_plain(said)
    ]
    are_names = all(len(name.split()) <= MOST_WORDS for name in names)
    return are_names and len(set(names)) < len(names)


def _answers(said: Any) -> dict[str, str]:
    """Answers by question, of a list of objects that each name one; {} of any other value."""
    if not isinstance(said, list) or not said or not all(isinstance(one, dict) for one in said):
        return {}
    found: dict[str, str] = {}
    for one in said:
        question = next((as_text(one[name]) for name in QUESTIONS if one.get(name)), "")
        keys = [key for key in one if plain(key).endswith(ANSWERS)] or [VALUE]
        answer = _answer(one.get(keys[0]))
        if not question or answer is None:
            return {}
        found[question] = answer
    return found


def _answer(said: Any) -> str | None:
    """An answer, or several as one; None where an object says nothing that is one."""
    if isinstance(said, dict):
        return next((as_text(said[name]) for name in SAID if _is_plain(said.get(name, []))), None)
    if isinstance(said, list):
        parts = [_answer(one) for one in said]
        return None if None in parts else " + ".join(sorted(filter(None, parts)))
    return as_text(said)
