"""Checklists filled in elsewhere: item_id (or text), worker or system, question, answer.

A row is one answer to one question; the rows of one author on one text make one checklist, which
has to be complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from annotation.files.reading.importer import Checked, Field, Importer, Reader, Row, closest
from annotation.formats.imports.authors import AFTER, AUTHOR, WHAT, Authors, KnownAnswers, facts

ANSWERS = {
    "yes": "yes",
    "no": "no",
    "true": "yes",
    "false": "no",
    "1": "yes",
    "0": "no",
    "y": "yes",
    "n": "no",
}


class Checks(Importer):
    """The format; ``check`` gives one row for each checklist."""

    slug = "checks"
    title = "Checklists"
    note = (
        "A row is one answer, yes or no, to one question about one text. The rows of one author "
        "on one text have to answer every question of the list."
    )
    fields = (
        Field("item_id", "Item id", False, ("item",), WHAT),
        Field("text", "Text id", False, ("text_id", "candidate", "first", "key"), WHAT),
        *AUTHOR,
        Field("name", "Question", True, ("question_name", "question", "check")),
        Field("answer", "Answer", True, ("value", "yes", "tick")),
        *AFTER,
    )

    def check(
        self, rows: Iterable[Row], mapping: Mapping[str, str], known: KnownAnswers
    ) -> Checked:
        """Checklists to add, those that are there already, and what is wrong with rows."""
        checked = Checked(rows=0)
        reader = Reader(mapping, checked)
        authors = Authors(reader, known, ("item_id", "text"))
        found: dict[Any, dict[str, Any]] = {}
        mine_of: dict[Any, dict[str, Row]] = {}
        spoilt: set[Any] = set()
        for row in rows:
            item, author = authors.item(row), authors.author(row)
            if item is None or author is None:
                continue
            key = (authors.key(author), item)
            uncounted, said = authors.uncounted(row), self._said(reader, row, known)
            if uncounted is None or said is None:
                spoilt.add(key)
                continue
            mine = found.setdefault(
                key, {**author, "item": item, "uncounted": uncounted, "answers": {}}
            )
            there = mine["answers"].get(said[0])
            if there is None:
                mine["answers"][said[0]] = said[1]
                mine_of.setdefault(key, {})[said[0]] = row
            elif there != said[1]:
                reader.bad(row, ["name", "answer"], "Answered above, and otherwise.", "Keep one.")
                spoilt.add(key)
            else:
                reader.repeated(row, "name", mine_of[key][said[0]].line, "answer")
        for key, one in found.items():
            if key in spoilt:
                reader.spoil([row.line for row in mine_of[key].values()], "checklist")
            else:
                self._settle(reader, list(mine_of[key].values()), key, one, known)
        checked.facts += facts(checked.good)
        return checked

    @staticmethod
    def _said(reader: Reader, row: Row, known: KnownAnswers) -> tuple[str, str] | None:
        """The question's name and yes or no; None where either is unknown."""
        name, answer = reader.value(row, "name"), reader.value(row, "answer").casefold()
        if name not in known.asked:
            by_label = {label: short for short, label in known.asked.items()}
            if name not in by_label:
                near = closest(name, [*known.asked, *by_label])
                mend = f"Did you mean {near}?" if near else f"It has {', '.join(known.asked)}."
                reader.bad(row, "name", "The checklist has no such question.", mend)
                return None
            name = by_label[name]
        if answer not in ANSWERS:
            reader.bad(row, "answer", "This is neither yes nor no.", "Write yes or no.")
            return None
        return name, ANSWERS[answer]

    @staticmethod
    def _settle(
        reader: Reader, rows: list[Row], key: Any, one: dict[str, Any], known: KnownAnswers
    ) -> None:
        """Whether a checklist is new, as the task has it, or bad with all of its rows."""
        open_lines = [name for name in known.asked if name not in one["answers"]]
        there = known.there.get(key)
        if open_lines:
            wrong = f"{len(open_lines)} of {len(known.asked)} questions are not answered."
            reader.bad(rows[0], "name", wrong, f"Add {', '.join(open_lines[:5])}.")
        elif there is None:
            reader.checked.good.append(one)
            reader.checked.rows = reader.checked.used + len(rows)
            return
        elif there == one["answers"]:
            reader.checked.there += len(rows)
            return
        else:
            reader.bad(
                rows[0],
                ["worker", "system", "item_id"],
                "The task has another checklist of this author for it.",
                "Leave these rows out: answers are not overwritten.",
            )
        reader.spoil([row.line for row in rows], "checklist")
