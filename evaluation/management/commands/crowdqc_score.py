"""manage.py crowdqc_score FILE: judge the votes of a file. Needs no database."""

from __future__ import annotations

import itertools
import shlex
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.files.reading.importer import Row, Sheet
from annotation.files.reading.recognise import LOOKED_AT
from annotation.files.reading.sheet import spooled
from annotation.files.reading.sources import PIECE, Source, encodings_instead, of_bytes
from annotation.files.reading.tables import Reading, open_table
from annotation.formats.imports.chats import reason_of_chats, reason_of_scores
from annotation.formats.imports.tables.base import SAME_FIELDS
from annotation.formats.imports.tables.native import unfold
from annotation.formats.imports.tables.possible import possible_columns, reason_of_columns
from annotation.formats.registry import reason_of_table, recognise_table
from annotation.formats.selectors.imports import CheckedFile, check_rows
from crowdqc.errors import DomainError, Invalid
from crowdqc.files.cells import csv_lines
from crowdqc.numbers import plural
from evaluation.methods.core.base import BadParameter, DataError, Hooks
from evaluation.runs.recipe import DEFAULT_SEED
from evaluation.score_table.kinds import KINDS, reason_of_one_column
from evaluation.score_table.reports.text import Options, as_json, write_tables

NAMED = 20  # rows left out that are printed
LEFT_OUT = "left-out.csv"
NOTHING = "No row can be used."
IMPORT_CHATS = "Import them: manage.py crowdqc_import chats FILE --task ID --by NAME."
# What the options name, as the kinds call it.
SIDES = {"left": ("model_a",), "right": ("model_b",), "winner": ("winner",)}
ROLES = dict(zip(("worker", "item", "label"), SAME_FIELDS, strict=False)) | SIDES


class Command(BaseCommand):
    help = (
        "Judge the votes of a table (CSV, TSV, JSON, JSONL, parquet, Excel): labels (worker, item, "
        "label and, where known, gold; or a matrix with a row an item and a column a worker), "
        "comparisons (judge, left, right, winner), free-text answers (worker, question, answer), "
        "ratings (worker, item, score), and exports of Label Studio, Prodigy, Argilla, doccano, "
        "Potato and MTurk."
    )
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file and options of the method."""
        parser.add_argument("file", type=Path)
        parser.add_argument("--kind", choices=list(KINDS), help="where it is not recognised")
        for name, other in (("worker", "judge"), ("item", "question"), ("label", "score")):
            parser.add_argument(
                f"--{name}", metavar="COLUMN", help=f"which is the {name} ({other})"
            )
        for name in SIDES:
            parser.add_argument(f"--{name}", metavar="COLUMN", help="of comparisons")
        parser.add_argument("--header", choices=["none"], help="the first line is a row")
        parser.add_argument("--encoding", default="", help="where it is neither UTF-8 nor UTF-16")
        parser.add_argument("--na", action="append", metavar="VALUE", help="stands for no label")
        parser.add_argument("--read", action="append", metavar="VALUE=VALUE", help="as another one")
        parser.add_argument("--out", type=Path, help="folder for all tables as CSV")
        parser.add_argument("--reliable", type=float, help="competence that a worker must exceed")
        parser.add_argument("--ordered", action="store_true", help="labels have an order")
        parser.add_argument("--json", action="store_true", help="the whole result as JSON")
        parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="default: that of runs")

    def handle(self, *args: Any, **options: Any) -> None:
        """Progress and rows left out go to the error stream, verdict and boards to the output."""
        if options["seed"] < 0:
            raise CommandError("--seed must be 0 or more")
        try:
            given = {name: options[name] for name in ROLES if options[name]}
            reading = Reading(False if options["header"] else None, options["encoding"])
            uses = dict(one.partition("=")[::2] for one in options["read"] or ())
            uses |= dict.fromkeys(options["na"] or (), "")
            slug, found = open_file(options["file"], options["kind"], given, uses, reading)
            for line in columns_told(slug, found):
                self.stderr.write(line, style_func=str)
            if found.sheet.encoding_note and not options["encoding"]:
                with options["file"].open("rb") as file:
                    head = of_bytes(file.read(PIECE))  # all that a sample is taken from
                for codec, _name, sample in encodings_instead(head):
                    self.stderr.write(f"--encoding {codec}: {sample}", style_func=str)
            asked = Options(
                seed=options["seed"],
                reliable=options["reliable"],
                ordered=options["ordered"],
                hooks=Hooks(progress=self._progress()),
            )
            KINDS[slug].refuse_if_too_large(found.checked)
            report = KINDS[slug].report(found.checked, asked)
        except DomainError as problem:
            raise CommandError(" ".join([problem.message, *problem.fields.values()])) from problem
        except (DataError, BadParameter, OSError) as problem:
            raise CommandError(str(problem)) from problem
        if options["json"]:
            self.stdout.write(as_json(report, slug))
        for line in () if options["json"] else report.lines:
            self.stdout.write(line)
        if options["out"]:
            write_tables(options["out"], report)
            lines = csv_lines(rejected_table(found), ends="\n")
            (options["out"] / LEFT_OUT).write_text("".join(lines), encoding="utf-8")
            told = self.stderr if options["json"] else self.stdout
            told.write(f"\nTables written to {options['out']}.")

    def _progress(self) -> Any:
        seen: list[str] = []

        def say(stage: str, done: int, total: int) -> None:
            if stage not in seen:
                seen.append(stage)
                self.stderr.write(stage, style_func=str)

        return say


def open_file(
    path: Path,
    kind: str | None = None,
    given: Mapping[str, str] | None = None,
    uses: Mapping[str, str] | None = None,
    reading: Reading | None = None,
) -> tuple[str, CheckedFile]:
    """The kind of a file and its rows, read as the page reads them.

    ``given`` are columns by role (``ROLES``), ``uses`` labels read as others ("" is none). Raises
    Invalid where a column is missing or no row can be scored, and OSError.
    """
    source = of_bytes(path.read_bytes())
    with _refusing_chats(source, path.name):
        sheet = spooled(unfold(open_table(source, path.name, reading=reading)))
    given = given or {}
    for column in set(given.values()) - set(sheet.columns):
        raise Invalid(
            f"The file has no column {column}.",
            fields={"file": f"It has {', '.join(sheet.columns[:20])}."},
        )
    slug = kind or _kind_of(sheet, given)
    reader = KINDS[slug].reader
    own = {one.name for one in reader.fields}
    chosen = {
        next(name for name in ROLES[role] if name in own): column
        for role, column in given.items()
        if own & set(ROLES[role])
    }
    taken = set(chosen.values())
    guessed = reader.guess(sheet.columns, sheet.rows)
    mapping = {name: one for name, one in guessed.items() if one not in taken} | chosen
    label = next((name for name in ROLES["label"] if name in own), "label")
    column = mapping.get(label, label)
    fixes: dict[str, dict[str, str]] = {column: dict(uses)} if uses else {}
    with _refusing_chats(source, path.name):
        found = check_rows(None, slug, sheet, mapping, fixes)
        for one in found.checked.about.get("offers", ()) if uses else ():  # of other columns
            if (uses or {}).get(one["value"]) == one["use"]:
                fixes.setdefault(one["column"], {})[one["value"]] = one["use"]
        if fixes.keys() - {column}:
            found = check_rows(None, slug, sheet, mapping, fixes)
        if found.unmapped and (one := reason_of_one_column(sheet.columns)):
            raise Invalid(one)
        if found.unmapped:
            looked = [*itertools.islice(sheet.rows, LOOKED_AT)]
            said = reason_of_table(sheet.columns, looked)
            mend = f"Name the columns {KINDS[slug].needs}, or say {_options(own)}."
            if not said:
                lacking = [{"name": one.name, "label": one.label} for one in found.unmapped]
                possible = possible_columns(sheet.columns, looked)
                said = reason_of_columns(reader.fields, found.mapping, lacking, possible)
                said += f" The file has {', '.join(sheet.columns[:20])}."
                mend += _other_kinds(slug, sheet, looked)
            raise Invalid(said, fields={"file": mend})
    cannot = found.checked.about.get("cannot") or () if found.checked.good else ("", NOTHING)
    lacks_rows = not (found.checked.good or found.checked.about.get("offers"))
    if lacks_rows and (chats := reason_of_scores(source, path.name)):
        raise Invalid(chats, fields={"file": IMPORT_CHATS})
    if cannot:
        rows = itertools.islice(rejected_lines(found), NAMED)
        parts = {"rows": "\n".join(rows), "offers": "\n".join(offered_lines(found))}
        raise Invalid(cannot[1], fields={name: said for name, said in parts.items() if said})
    return slug, found


@contextmanager
def _refusing_chats(source: Source, name: str) -> Iterator[None]:
    """Say of a file that cannot be read as a table that it holds conversations, if it does."""
    try:
        yield
    except Invalid:
        if reason := reason_of_chats(source, name):
            raise Invalid(reason, fields={"file": IMPORT_CHATS}) from None
        raise


def _options(own: set[str]) -> str:
    """The options that name columns of a kind with these fields."""
    return ", ".join(f"--{role}" for role, names in ROLES.items() if not own.isdisjoint(names))


def _other_kinds(slug: str, sheet: Sheet, rows: Sequence[Row]) -> str:
    """Which other kinds read a file; "" where none does."""
    fits = recognise_table(sheet.columns, rows)[1]
    reads = [f"--kind {one}" for one, fit in fits.items() if fit.fits and one != slug]
    return f" The file can be read with {' or '.join(reads)}." if reads else ""


def _kind_of(sheet: Sheet, given: Mapping[str, str]) -> str:
    """The kind of a table, whose columns are called as somebody said."""
    names = {column: role for role, column in given.items()}
    rows = [
        Row(row.line, {names.get(name, name): value for name, value in row.values.items()})
        for row in itertools.islice(sheet.rows, LOOKED_AT)
    ]
    return recognise_table([names.get(name, name) for name in sheet.columns], rows)[0]


def columns_told(slug: str, found: CheckedFile) -> Iterator[str]:
    """Yield lines on how the file's columns were read and which rows are left out."""
    kind = KINDS[slug]
    fields = {one.name: str(one.label).lower() for one in kind.reader.fields}
    columns = ", ".join(f"{fields[name]}: {column}" for name, column in found.mapping.items())
    yield f"{kind.title}. {columns}"
    if found.sheet.encoding_note:
        said = filter(None, (found.sheet.encoding, found.sheet.encoding_note.rstrip(".")))
        yield f"{': '.join(said)}."
    yield from found.checked.notes
    for one in found.checked.about.get("warnings", ()):
        yield f"Warning: {one['head']} {one['text']}"
    yield from offered_lines(found)
    rows = list(rejected_lines(found))
    if rows:
        yield f"{plural(len(rows), 'row')} left out:"
        yield from rows[:NAMED]
        if len(rows) > NAMED:
            yield f"... {len(rows) - NAMED:,} more; --out writes all of them to {LEFT_OUT}"


def offered_lines(found: CheckedFile) -> Iterator[str]:
    """Yield a line for each other reading of a value, with the option that chooses it."""
    for one in found.checked.about["offers"]:
        option = shlex.quote(f"{one['value']}={one['use']}")
        yield f"{one['text']}: --read={option}"


def rejected_lines(found: CheckedFile) -> Iterator[str]:
    """A line for each row that is left out."""
    for line, column, value, wrong, mend in itertools.islice(rejected_table(found), 1, None):
        yield f"Line {line}, {column or 'row'} {value or 'empty'}: {wrong}. {mend}".replace(
            "..", "."
        )


def rejected_table(found: CheckedFile) -> Iterator[list[Any]]:
    """Head and rows of a table of what is left out, by line."""
    yield ["line", "column", "value", "wrong", "mend"]
    for one in found.checked.problems.merged(found.checked.repeats):
        yield [one.line, one.column, one.value, one.wrong, one.mend]
