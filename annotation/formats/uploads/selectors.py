"""What pages show of uploads: how far one is, how it is read, what is wrong with its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.formats.registry import Words
from annotation.formats.uploads.naming import total
from annotation.formats.uploads.staging import ACTIVE, WRITTEN, problems_of, rows_of
from annotation.models import ImportFile, ImportPart, Task
from crowdqc import numbers
from crowdqc.tally import Tally, reason_words

State = ImportFile.State
NOTHING = "Nothing imported"


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
    unread: tuple[str, ...] = ()  # columns that no field reads
    tally: Tally | None = None  # what becomes, or became, of every row
    lines: tuple[tuple[int, str, str], ...] = ()  # how many, why, and where such rows stood


def uploads_of(task: Task, kind: str) -> list[ImportFile]:
    """The newest uploads of a kind."""
    files = task.import_files.filter(kind=kind).defer("sheet", "found")
    return list(files.select_related("uploaded_by").order_by("-pk")[:20])


def view_of(file: ImportFile, words: Words) -> View:
    """The page of a file of a format."""
    if file.state in ACTIVE:
        return _at_work(file)
    if file.state == State.IMPORTED:
        return View(
            "done",
            "Imported",
            _imported(file.report, words.one),
            rows=file.report["came"],
            tally=Tally.from_dict(file.report),
            lines=_lines(file.report),
        )
    if file.state == State.FAILED:
        return View("bad", NOTHING, "The file cannot be imported.")
    found = file.found
    mapping = {column: name for name, column in found["mapping"].items()}
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
        unread=tuple(found["unread"]),
        tally=Tally.from_dict(found["tally"]) if found["tally"] else None,
        columns=tuple(
            {"name": name, "field": mapping.get(name, "")} for name in file.sheet["columns"] if name
        ),
        first_rows=tuple(
            {
                "line": line,
                "values": [
                    {"text": values.get(name, ""), "read": name in mapping}
                    for name in file.sheet["columns"]
                    if name
                ],
            }
            for line, values in file.sheet["first"]
        ),
    )


def _at_work(file: ImportFile) -> View:
    done = f"{file.done:,} of {file.total:,} rows" if file.total else f"{file.done:,} rows"
    if file.state == State.IMPORTING:
        rest = f"{done} checked."
        if file.total and file.done >= file.total:
            written = file.found.get(WRITTEN, 0)
            rest = f"{written:,} answers written so far." if written else "Writing the rows."
        sentence = f"{rest} You can close this page."
    else:
        sentence = f"{done} {'checked' if file.state == State.CHECKING else 'read'} so far."
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
        return "Nothing was added: every row was there already."
    new = numbers.plural(report["new"], f"new {noun}")
    return f"{new} from {numbers.plural(report['came'], 'row')}."


def _lines(report: Mapping[str, Any]) -> tuple[tuple[int, str, str], ...]:
    """Each reason in words, with its number of rows and the first lines where such rows stood."""
    found = []
    for reason, n in sorted(report["left_out"].items(), key=lambda one: (-one[1], one[0])):
        lines = [f"{line:,}" for line in report["lines"].get(reason, ()) if line is not None]
        more = ", ..." if n > len(lines) and lines else ""
        found.append((n, reason_words(reason), ", ".join(lines) + more))
    return tuple(found)


def _ready(file: ImportFile, unit: str) -> tuple[str, str, str]:
    found, rows = file.found, total(file)
    if found["unmapped"]:
        names = ", ".join(one["label"].lower() for one in found["unmapped"])
        return "bad", NOTHING, f"No column is read as {names}. Choose it below."
    if found["bad"]:
        return (
            "bad",
            NOTHING,
            f"{found['bad']:,} of {rows:,} rows cannot be read. "
            "Correct them in the file, or leave them out.",
        )
    if found["there"] == rows:
        said = f"All {rows:,} rows are there already; importing adds nothing."
        return "done", "Nothing new", said
    if not found["new"]:
        return "done", "Nothing new", f"None of {numbers.plural(rows, 'row')} is new."
    if unit:
        new = numbers.plural(found["new"], f"new {unit}")
        return "waiting", "Nothing imported yet", f"{new} in {numbers.plural(rows, 'row')}."
    said = f"{found['new']:,} of {rows:,} rows {'is' if found['new'] == 1 else 'are'} new."
    return "waiting", "Nothing imported yet", said


def _look_right(found: Mapping[str, Any], unit: str) -> str:
    """``All 12 new rows look right``."""
    new, noun = found["new"], unit or "row"
    looks = f"{noun} looks right" if new == 1 else f"{noun}s look right"
    if found["bad"]:
        return f"The other {looks}" if unit and new == 1 else f"The other {new:,} {looks}"
    if unit:
        return f"{new:,} new {looks}"
    return f"The new {looks}" if new == 1 else f"All {new:,} new {looks}"


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
