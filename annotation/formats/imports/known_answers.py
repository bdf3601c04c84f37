"""Known answers of items that the draft holds: item, answer; field, tolerance, explanation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.importer import Field, Importer, Reader, Row, closest_name
from annotation.files.reading.recognise import NUMBERED
from annotation.formats.imports.authors import TEXTS, digest_text
from annotation.task_types.known import KnownField, clean_known
from crowdqc.errors import Invalid
from crowdqc.numbers import count

# In files of items: narrow names, as a column "answer" is seldom meant for workers to be tried by.
GOLD = (
    Field(
        "gold", gettext_lazy("Known answer"), False, ("known_answer", "gold_answer", "gold_label")
    ),
    Field("within", gettext_lazy("Tolerance"), False, ("tolerance",)),
)


def known_given(reader: Reader, row: Row, one: KnownField, names: Sequence[str]) -> dict[str, str]:
    """The known answer that a row gives for a field, in its columns of these two names.

    Several that are accepted are written with | between them. Raises Refused.
    """
    value, within = (reader.value(row, name) for name in names)
    given = {"value": "\n".join(value.split("|")), "within": within}
    try:
        clean_known([one], {one.name: given})
    except Invalid as error:
        reader.refuse(row, names, error.message, next(iter(error.fields.values()), ""))
    return given


def known_of_item(reader: Reader, row: Row, fields: Sequence[KnownField]) -> dict[str, str]:
    """Read a known answer from the ``GOLD`` columns of an item's row: field, value, within; or {}.

    Raises Refused where the task asks for more than one thing, or for nothing that can be known.
    """
    if not reader.value(row, "gold"):
        return {}
    if len(fields) != 1:
        wrong = gettext_noop("A known answer of this task has no single field.")
        reader.refuse(
            row, "gold", wrong, _("Leave it out; import known answers as their own file.")
        )
    return {"field": fields[0].name, **known_given(reader, row, fields[0], ["gold", "within"])}


@dataclass(frozen=True)
class KnownFields:
    """What the draft holds: the keys of its items; and what can be known of one.

    ``digests``: hash of a text that one item has -> the item's key.
    """

    items: frozenset[str] = frozenset()
    fields: Sequence[KnownField] = ()
    digests: Mapping[str, str] = field(default_factory=dict)


class KnownAnswersFile(Importer):
    """A row is what is known of one field of one item; accepted answers stand in lines or by |."""

    slug = "known_answers"
    title = gettext_lazy("Known answers")
    fields = (
        Field(
            "item",
            gettext_lazy("Item id"),
            True,
            ("item_id", "key", "id", "question_id", "text_id", *NUMBERED, "question", *TEXTS),
        ),
        Field(
            "answer",
            gettext_lazy("Known answer"),
            True,
            ("known_answer", "gold", "truth", "expected"),
        ),
        Field(
            "field", gettext_lazy("Field"), False, ("scale", "name", "dimension", "question_name")
        ),
        Field("within", gettext_lazy("Tolerance"), False, ("tolerance", "off")),
        Field("explanation", gettext_lazy("Explanation"), False, ("why", "reason", "feedback")),
    )
    limits = (
        ("item", 20_000, gettext_noop("a text")),
        ("explanation", 600, gettext_noop("an explanation")),
    )
    note = gettext_lazy(
        "Answers that are all accepted are written with | between them. An item "
        "with a known answer is mixed in among the others; its answers do not count "
        "towards those wanted. "
        "Workers never see the file."
    )

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownFields) -> None:
        """Read the known answers, one per item and field."""
        by_name = {one.name: one for one in known.fields}
        only = known.fields[0].name if len(known.fields) == 1 else ""
        first: dict[tuple[str, str], int] = {}
        for row in rows:
            with reader:
                values = reader.values(row, self.fields)
                reader.needed(
                    row,
                    "item",
                    gettext_noop("There is no item id."),
                    gettext_noop("Write it, or delete the row."),
                )
                reader.needed(
                    row,
                    "answer",
                    gettext_noop("There is no answer."),
                    gettext_noop("Write it, or delete the row."),
                )
                reader.limit(row, self.limits)
                name = values["field"] or only
                values["item"] = reader.known_name(row, "item", known.items)
                if values["item"] not in known.items:
                    digest = digest_text(values["item"])
                    values["item"] = known.digests.get(digest, values["item"])
                if values["item"] not in known.items:
                    self._unknown(reader, row, "item", values["item"], known.items)
                if name not in by_name:
                    self._unknown(reader, row, "field", name, by_name)
                given = known_given(reader, row, by_name[name], ["answer", "within"])
                line = first.setdefault((values["item"], name), row.line)
                if line != row.line:
                    wrong = _("This item has a known answer on line %(line)s.") % {
                        "line": count(line)
                    }
                    reader.refuse(row, ["item", "field"], wrong, _("Give each field one row."))
                good = {"item": values["item"], "field": name, **given}
                reader.checked.good.append({**good, "explanation": values["explanation"]})

    @staticmethod
    def _unknown(reader: Reader, row: Row, name: str, said: str, known: Iterable[str]) -> None:
        near = closest_name(said, list(known))
        what = "item" if name == "item" else "field"
        mend = (
            _("Did you mean %(near)s?") % {"near": near}
            if near
            else _("Use an id of the task’s %(things)s.") % {"things": f"{what}s"}
        )
        reader.refuse(row, name, _("The task has no such %(what)s.") % {"what": what}, mend)
