"""Checklists filled in elsewhere: item_id (or text), worker or system, question, answer.

A row is one answer to one question; the rows of one author on one text make one checklist, which
has to be complete.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.importer import Field, Importer, Reader, Refused, Row, closest_name
from annotation.formats.imports.authors import AFTER, AUTHOR, WHAT, Authors, KnownAnswers, facts

ANSWERS = {
    **dict.fromkeys(("yes", "true", "1", "y"), "yes"),
    **dict.fromkeys(("no", "false", "0", "n"), "no"),
}


@dataclass
class ReadChecklist:
    """One author's checklist of one text as far as the file has told it."""

    about: dict[str, Any]
    answers: dict[str, str] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)  # by question, as answers


class Checks(Importer):
    """The format; one good row for each checklist."""

    slug = "checks"
    title = gettext_lazy("Checklists")
    note = gettext_lazy(
        "A row is one answer, yes or no, to one question about one text. The rows "
        "of one author on one text have to answer every question of the list."
    )
    fields = (
        Field("item_id", gettext_lazy("Item id"), False, ("item",), WHAT),
        Field(
            "text", gettext_lazy("Text id"), False, ("text_id", "candidate", "first", "key"), WHAT
        ),
        *AUTHOR,
        Field("name", gettext_lazy("Question"), True, ("question_name", "question", "check")),
        Field("answer", gettext_lazy("Answer"), True, ("value", "yes", "tick")),
        *AFTER,
    )

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownAnswers) -> None:
        """Checklists with all of their answers; a bad row spoils those of its checklist."""
        authors = Authors(reader, known)
        found: dict[Any, ReadChecklist] = {}
        spoilt: set[Any] = set()
        for row in rows:
            with reader:
                item, (author, about) = reader.read_all(
                    partial(known.item, reader, row, ("item_id", "text")),
                    partial(authors.author, row),
                )
                key = (author, item)
                try:
                    uncounted, (name, answer) = reader.read_all(
                        partial(authors.uncounted, row),
                        partial(self._read_answer, reader, row, known),
                    )
                    about |= {"item": item, "uncounted": uncounted}
                    mine = found.setdefault(key, ReadChecklist(about))
                    if mine.answers.setdefault(name, answer) != answer:
                        wrong = gettext_noop("Answered above, and otherwise.")
                        reader.refuse(row, ["name", "answer"], wrong, _("Keep one."))
                except Refused:
                    spoilt.add(key)
                    continue
                if mine.rows.setdefault(name, row) is not row:
                    reader.repeated(row, "name", mine.rows[name].line, "answer")
        for key, one in found.items():
            with reader.together([row.line for row in one.rows.values()], "checklist"):
                if key in spoilt:
                    raise Refused
                self._settle(reader, one, known, known.there.get(key))
        reader.checked.facts += facts(reader.checked.good)

    @staticmethod
    def _read_answer(reader: Reader, row: Row, known: KnownAnswers) -> tuple[str, str]:
        """The question's name and yes or no. Raises Refused."""
        name, answer = reader.value(row, "name"), reader.value(row, "answer").casefold()
        by_label = {label: short for short, label in known.asked.items()}
        if name not in known.asked and name not in by_label:
            near = closest_name(name, [*known.asked, *by_label])
            mend = (
                _("Did you mean %(near)s?") % {"near": near}
                if near
                else _("It has %(asked)s.") % {"asked": ", ".join(known.asked)}
            )
            reader.refuse(row, "name", _("The checklist has no such question."), mend)
        if answer not in ANSWERS:
            reader.refuse(row, "answer", _("This is neither yes nor no."), _("Write yes or no."))
        return name if name in known.asked else by_label[name], ANSWERS[answer]

    @staticmethod
    def _settle(
        reader: Reader, one: ReadChecklist, known: KnownAnswers, there: dict[str, str] | None
    ) -> None:
        """Whether a checklist is new, or as the task has it. Raises Refused."""
        open_lines = [name for name in known.asked if name not in one.answers]
        first = next(iter(one.rows.values()))
        if open_lines:
            wrong = _("%(open_lines)s of %(asked)s questions are not answered.") % {
                "open_lines": len(open_lines),
                "asked": len(known.asked),
            }
            reader.refuse(
                first,
                "name",
                wrong,
                _("Add %(open_lines)s.") % {"open_lines": ", ".join(open_lines[:5])},
            )
        if there is not None and there != one.answers:
            wrong = gettext_noop("The task has another checklist of this author for it.")
            mend = gettext_noop("Leave these rows out: answers are not overwritten.")
            reader.refuse(first, ["worker", "system", "item_id"], wrong, mend)
        made = {**one.about, "answers": one.answers}
        reader.checked.add(made, len(one.rows), there=there is not None)
