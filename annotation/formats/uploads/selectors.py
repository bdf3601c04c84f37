"""What pages show of uploads: how far one is, how it is read, what is wrong with its rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.files.reading.importer import Field, Row, guess, missing, values_of_file
from annotation.formats.imports.tables.base import SAME_FIELDS
from annotation.formats.imports.tables.labels import LabelMatrix
from annotation.formats.registry import READERS, Format
from annotation.formats.uploads.naming import total
from annotation.formats.uploads.staging import ACTIVE, WRITTEN, problems_of, rows_of
from annotation.models import ImportFile, ImportPart, Task
from crowdqc import numbers
from crowdqc.tally import Tally, reason_words

State = ImportFile.State
NOTHING = gettext_lazy("Nothing imported")


@dataclass(frozen=True)
class View:
    """A file as its page shows it."""

    state: str  # mark, word and sentence of the header
    word: str
    sentence: str
    active: bool = False  # a job is at it, so the page asks again
    done: int = 0
    total: int = 0
    rows: int = 0
    new: int = 0
    there: int = 0
    bad: int = 0
    can_import: bool = False
    look_right: str = ""  # the rows that are new
    columns: tuple[dict[str, Any], ...] = ()
    first_rows: tuple[dict[str, Any], ...] = ()
    problems: tuple[dict[str, Any], ...] = ()
    more_problems: int = 0
    repeats: tuple[dict[str, Any], ...] = ()
    listed: int = 0  # lines of the download: what is bad, and what is given twice
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    of_file: tuple[dict[str, Any], ...] = ()  # fields that no column says, and their value
    unread: tuple[str, ...] = ()  # columns that no field reads
    reading: Mapping[str, Any] | None = None  # ``reading_choices``
    tally: Tally | None = None  # what becomes, or became, of every row
    lines: tuple[tuple[int, str, str], ...] = ()  # how many, why, and where such rows stood

    @property
    def took_every_row(self) -> bool:
        """Whether an import took every row of the file."""
        return not self.lines


def uploads_of(task: Task, kind: str) -> list[ImportFile]:
    """The newest uploads of a kind."""
    files = task.import_files.filter(kind=kind).defer("sheet", "found")
    return list(files.select_related("uploaded_by").order_by("-pk")[:20])


def view_of(file: ImportFile, one: Format) -> View:
    """The page of a file of a format."""
    words = one.words
    if file.state in (*ACTIVE, State.UPLOADING):
        return _at_work(file)
    if file.state == State.IMPORTED:
        return View(
            "done",
            _("Imported"),
            _imported(file.report, words.one),
            rows=file.report["came"],
            tally=Tally.from_dict(file.report),
            lines=_lines(file.report),
        )
    if file.state == State.FAILED:
        return View("bad", str(NOTHING), _("The file cannot be imported."))
    found = file.found
    mapping = {column: name for name, column in found["mapping"].items()}
    shown = [name for name in file.sheet["columns"] if name and name not in one.hidden]
    if not one.maps_columns:
        shown = [name for name in shown if any(name in row for _line, row in file.sheet["first"])]
    state, word, sentence = _ready(file, words.unit)
    return View(
        state,
        word,
        sentence,
        rows=total(file),
        new=found["new"],
        there=found["there"],
        bad=found["bad"],
        can_import=not found["unmapped"],
        look_right=_look_right(found, words.unit),
        facts=tuple(found["facts"]),
        problems=tuple(found["problems"]),
        more_problems=found["all_problems"] - len(found["problems"]),
        repeats=tuple(found["repeats"]),
        listed=found["listed"],
        notes=tuple(found["notes"]),
        of_file=_of_file(one, found["mapping"], file.sheet["columns"]),
        unread=() if one.reader.keeps_columns else tuple(found["unread"]),
        reading=reading_choices(file, one.fields),
        tally=Tally.from_dict(found["tally"]) if found["tally"] else None,
        columns=tuple({"name": name, "field": mapping.get(name, "")} for name in shown),
        first_rows=tuple(
            {
                "line": line,
                "values": [
                    {"text": values.get(name, ""), "read": name in mapping or not one.maps_columns}
                    for name in shown
                ],
            }
            for line, values in file.sheet["first"]
        ),
    )


def reading_choices(file: ImportFile, fields: Sequence[Field] = ()) -> dict[str, Any] | None:
    """Return how a file of separated values was read, with what may be chosen; None if nothing.

    It is unsure where no column is called as one of ``fields``: its first line may be a row.
    """
    if file.stored_id is None or file.sheet["kind"] != "CSV":
        return None
    stated = {"header": None, "encoding": "", **file.sheet.get("reading", {})}
    is_odd = bool(fields) and not guess(file.sheet["columns"], fields)
    return {
        "header": {None: "", True: "yes", False: "no"}[stated["header"]],
        "encoding": stated["encoding"],
        "encodings": file.sheet.get("encodings", []),
        "is_unsure": bool(
            is_odd or file.sheet["note"] or stated["encoding"] or file.sheet.get("notes")
        ),
    }


def _of_file(
    one: Format, mapping: Mapping[str, str], columns: Sequence[str]
) -> tuple[dict[str, Any], ...]:
    """Who gave all rows of a file, as a field with its value; () where a column says it."""
    fields = [field for field in one.fields if field.is_of_file] if one.maps_columns else []
    if any(mapping.get(field.name) in columns for field in fields):
        return ()
    said = values_of_file(mapping, one.fields)
    return tuple({"field": field, "value": said.get(field.name, "")} for field in fields)


def arriving_sentence(file: ImportFile) -> str:
    """How much of a file is here that is fetched or comes in parts; "" for any other."""
    if file.state not in (State.FETCHING, State.UPLOADING):
        return ""
    done = {"done": f"{file.done / 2**20:.1f}", "total": f"{file.total / 2**20:.1f}"}
    if file.total:
        return _("%(done)s of %(total)s MB are here.") % done
    return _("%(done)s MB are here. You can close this page.") % done


def _at_work(file: ImportFile) -> View:
    if arriving := arriving_sentence(file):
        return View(
            "running",
            file.get_state_display(),
            arriving,
            active=True,
            done=file.done,
            total=file.total,
        )
    done = (
        _("%(done)s of %(total)s rows")
        % {"done": numbers.count(file.done), "total": numbers.count(file.total)}
        if file.total
        else _("%(done)s rows") % {"done": numbers.count(file.done)}
    )
    if file.state == State.IMPORTING:
        sentence = _("%(rows)s checked. You can close this page.") % {"rows": done}
        if file.total and file.done >= file.total:
            written = file.found.get(WRITTEN, 0)
            sentence = _("Writing the rows. You can close this page.")
            if written:
                sentence = _("%(number)s answers written so far. You can close this page.") % {
                    "number": numbers.count(written)
                }
    elif file.state == State.CHECKING:
        sentence = _("%(rows)s checked so far.") % {"rows": done}
    else:
        sentence = _("%(rows)s read so far.") % {"rows": done}
    return View(
        "running",
        file.get_state_display(),
        sentence,
        active=True,
        done=file.done,
        total=file.total,
    )


def _imported(report: dict[str, Any], noun: str) -> str:
    if report["came"] == report["left_out"].get("there", 0):
        return _("Nothing was added: every row was there already.")
    new = numbers.plural(report["new"], f"new {noun}")
    return _("%(new)s from %(rows)s.") % {"new": new, "rows": numbers.plural(report["came"], "row")}


def _lines(report: Mapping[str, Any]) -> tuple[tuple[int, str, str], ...]:
    """Return each reason in words, its number of rows, and the first lines with it."""
    found = []
    for reason, n in sorted(report["left_out"].items(), key=lambda one: (-one[1], one[0])):
        lines = [
            numbers.count(line) for line in report["lines"].get(reason, ()) if line is not None
        ]
        more = ", ..." if n > len(lines) and lines else ""
        found.append((n, reason_words(reason), ", ".join(lines) + more))
    return tuple(found)


def _ready(file: ImportFile, unit: str) -> tuple[str, str, str]:
    found, rows = file.found, total(file)
    if found["unmapped"]:
        names = ", ".join(numbers.mid_sentence(one["label"]) for one in found["unmapped"])
        return (
            "bad",
            str(NOTHING),
            _("No column is read as %(names)s. Choose it below.") % {"names": names},
        )
    if found["bad"]:
        return (
            "bad",
            str(NOTHING),
            _(
                "%(bad)s of %(rows)s rows cannot be read. Correct them in the file, or "
                "leave them out."
            )
            % {"bad": numbers.count(found["bad"]), "rows": numbers.count(rows)},
        )
    if found["there"] == rows:
        said = _("All %(rows)s rows are there already; importing adds nothing.") % {
            "rows": numbers.count(rows)
        }
        return "done", _("Nothing new"), said
    if not found["new"]:
        return (
            "done",
            _("Nothing new"),
            _("None of %(rows)s is new.") % {"rows": numbers.plural(rows, "row")},
        )
    if unit:
        new = numbers.plural(found["new"], f"new {unit}")
        return (
            "waiting",
            _("Nothing imported yet"),
            _("%(new)s in %(rows)s.") % {"new": new, "rows": numbers.plural(rows, "row")},
        )
    said = ngettext(
        "%(new)s of %(rows)s rows is new.", "%(new)s of %(rows)s rows are new.", found["new"]
    )
    numbers_said = {"new": numbers.count(found["new"]), "rows": numbers.count(rows)}
    return "waiting", _("Nothing imported yet"), said % numbers_said


def _look_right(found: Mapping[str, Any], unit: str) -> str:
    """``All 12 new rows look right``."""
    new, noun = found["new"], unit or "row"
    if found["bad"] and unit and new == 1:
        said = _("The other %(noun)s looks right")
    elif found["bad"]:
        said = ngettext(
            "The other %(new)s %(noun)s looks right", "The other %(new)s %(noun)ss look right", new
        )
    elif unit:
        said = ngettext("%(new)s new %(noun)s looks right", "%(new)s new %(noun)ss look right", new)
    elif new == 1:
        said = _("The new %(noun)s looks right")
    else:
        said = _("All %(new)s new %(noun)ss look right")
    return said % {"new": numbers.count(new), "noun": noun}


def bad_rows(file: ImportFile) -> Iterator[list[Any]]:
    """Head and lines of a table of the rows left out, with reasons; problems and rows in step."""
    columns = file.sheet["columns"]
    yield ["line", "column", "wrong", "mend", *columns]
    rows = iter(rows_of(file))
    row = next(rows, None)
    kind, count = ImportPart.Kind.PROBLEMS, file.found["listed"]
    for problem in problems_of(file, kind, count):
        while row is not None and row.line < (problem.line or 0):
            row = next(rows, None)
        values = (
            [row.values.get(one, "") for one in columns]
            if row is not None and row.line == problem.line
            else [problem.value]
        )
        yield [problem.line, problem.column, problem.wrong, problem.mend, *values]


def shared_columns(
    file: ImportFile, kind: str, columns: Sequence[str], rows: Collection[Row]
) -> dict[str, str]:
    """Field -> column of another kind as a person chose it, or where the file does not tell it.

    {} where the kinds share none.
    """
    matrix, reader = LabelMatrix.slug, READERS[kind]
    if matrix in (file.kind, kind):
        return {}  # whose columns are workers
    guessed = reader.guess(columns, rows)
    lacking = len(missing(guessed, reader.fields))
    before = file.mapping or file.found.get("mapping", {})
    names = {one.name for one in reader.fields}
    kept = {}
    for name, column in before.items():
        same = next((group for group in SAME_FIELDS if name in group), (name,))
        for new in names.intersection(same):
            told = {**guessed, new: column}
            if file.mapping or len(missing(told, reader.fields)) < lacking:
                kept[new] = column
    if not kept:
        return {}
    taken = set(kept.values())
    return {name: one for name, one in guessed.items() if one not in taken} | kept
