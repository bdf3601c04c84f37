"""manage.py crowdqc_score FILE: judge labels and workers of a file. Needs no database."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError

from annotation.files.reading.recognise import WIDE, Layout, recognise
from annotation.files.reading.rows import Problem
from annotation.files.reading.sources import of_bytes
from annotation.files.reading.tables import open_table
from crowdqc.errors import DomainError, Invalid
from crowdqc.files.cells import csv_lines
from crowdqc.numbers import count, plural
from evaluation.methods.core.base import BadParameter, DataError, Hooks, IntArray, Result, Table
from evaluation.methods.core.votes import Labels
from evaluation.methods.labels import method
from evaluation.methods.labels.verdict import Verdict, verdict

Told = tuple[int, str, str, str]  # line, worker, item, label
SHOWN = 30  # rows of a board that are printed
ABOUT_GROUPS = "Of workers who label without looking, about 3 in 100 are called better by chance."
LABEL_COLUMNS = (
    "label",
    "true",
    "given",
    "majority",
    "dawid_skene",
    "mace",
    "glad",
    "gold",
    "mistake_from",
    "mistake_to",
    "same_label",
)
GROUPS = (
    "better than guessing",
    "cannot be told from guessing",
    "always or nearly always one label",
)


class Command(BaseCommand):
    help = (
        "Judge the labels of a file (CSV, TSV, JSONL or parquet): worker, item, label and, where "
        "known, gold; or a matrix with a row an item and a column a worker."
    )
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file and options of the method."""
        parser.add_argument("file", type=Path)
        parser.add_argument("--out", type=Path, help="folder for all tables as CSV")
        parser.add_argument("--reliable", type=float, help="competence that a worker must exceed")
        parser.add_argument("--ordered", action="store_true", help="labels have an order")
        parser.add_argument("--seed", type=int, default=0)

    def handle(self, *args: Any, **options: Any) -> None:
        """Progress goes to the error stream, the verdict and boards to the output."""
        if options["seed"] < 0:
            raise CommandError("--seed must be 0 or more")
        try:
            data, gold, layout = read(options["file"])
            for line in columns_told(layout):
                self.stderr.write(line, style_func=str)
            result = method.fit(
                data,
                rng=np.random.default_rng(options["seed"]),
                gold=gold,
                hooks=Hooks(progress=self._progress()),
                reliable=options["reliable"],
                ordered=options["ordered"],
            )
        except DomainError as problem:
            raise CommandError(" ".join([problem.message, *problem.fields.values()])) from problem
        except (DataError, BadParameter, OSError) as problem:
            raise CommandError(str(problem)) from problem
        for line in report(data, result):
            self.stdout.write(line)
        if options["out"]:
            write_tables(options["out"], data, result)
            self.stdout.write(f"\nTables written to {options['out']}.")

    def _progress(self) -> Any:
        seen: list[str] = []

        def say(stage: str, done: int, total: int) -> None:
            if stage not in seen:
                seen.append(stage)
                self.stderr.write(stage, style_func=str)

        return say


def read(path: Path) -> tuple[Labels, IntArray, Layout]:
    """Votes, known answers (items,) and the layout of a file.

    Raises Invalid naming the column or the line, and OSError.
    """
    table = open_table(of_bytes(path.read_bytes()), path.name)
    rows = []
    for event in table.events:
        if isinstance(event, Problem):
            raise Invalid(f"Line {event.line}: {event.wrong}", fields={"file": event.mend})
        rows.append(event)
    layout = recognise(table.columns, [row.values for row in rows])
    told = list(_told(layout, rows))
    known = dict(_known(layout, rows))
    if not told:
        raise Invalid("The file holds no labels.", fields={"file": "Choose a file with labels."})
    _refuse_twice(told)
    names: list[list[str]] = [
        sorted(set(column), key=_natural)
        for column in (
            [worker for _, worker, _, _ in told],
            [item for _, _, item, _ in told],
            [*(label for *_, label in told), *known.values()],
        )
    ]
    places = [{name: k for k, name in enumerate(column)} for column in names]
    worker, item, label = (
        np.array([place[value] for value in column])
        for place, column in zip(places, list(zip(*told, strict=True))[1:], strict=True)
    )
    data = Labels.build(worker, item, label, workers=names[0], items=names[1], labels=names[2])
    gold = np.array([places[2].get(known.get(name, ""), -1) for name in names[1]])
    return data, gold, layout


def _natural(name: str) -> tuple[bool, float, str]:
    """Numbers by size, before words."""
    try:
        return (False, float(name), name)
    except ValueError:
        return (True, 0.0, name)


def _told(layout: Layout, rows: Sequence[Any]) -> Iterator[Told]:
    for place, row in enumerate(rows, start=1):
        if layout.kind == WIDE:
            item = row.values.get(layout.item, "") if layout.item else f"row {place}"
            for worker in layout.workers:
                if label := row.values.get(worker, ""):
                    yield row.line, worker, item, label
            continue
        values = [row.values.get(name, "") for name in (layout.worker, layout.item, layout.label)]
        for name, value in zip(("worker", "item", "label"), values, strict=True):
            if not value:
                raise Invalid(
                    f"Line {row.line} has no {name}.", fields={"file": "Fill it in, or delete it."}
                )
        yield row.line, values[0], values[1], values[2]


def _known(layout: Layout, rows: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Item and known answer; an item's rows must agree."""
    seen: dict[str, str] = {}
    for place, row in enumerate(rows, start=1):
        answer = row.values.get(layout.gold, "") if layout.gold else ""
        if not answer:
            continue
        item = row.values.get(layout.item, "") if layout.item else f"row {place}"
        if seen.setdefault(item, answer) != answer:
            raise Invalid(
                f"Line {row.line}: item {item!r} has two known answers, {seen[item]!r} and "
                f"{answer!r}.",
                fields={"file": "Keep the one that is right."},
            )
    yield from seen.items()


def _refuse_twice(told: Sequence[Told]) -> None:
    first: dict[tuple[str, str], int] = {}
    for line, worker, item, _ in told:
        before = first.setdefault((worker, item), line)
        if before != line:
            raise Invalid(
                f"Line {line}: worker {worker!r} labelled item {item!r} on line {before} already.",
                fields={"file": "Keep the label that counts."},
            )


def columns_told(layout: Layout) -> Iterator[str]:
    """What the columns were taken for."""
    if layout.kind == WIDE:
        yield f"A matrix: a row an item ({layout.item or 'without names'}), a column a worker."
    else:
        yield f"worker: {layout.worker}, item: {layout.item}, label: {layout.label}"
    if layout.gold:
        yield f"known answers: {layout.gold}"
    if layout.by_values:
        yield f"Told by their values, please check: {', '.join(layout.by_values)}"


def report(data: Labels, result: Result) -> Iterator[str]:
    """The verdict, then the boards."""
    tables = result.estimates
    yield from sentences(verdict(result))
    yield ""
    yield from board("Methods on known answers", tables["compare"], _methods(tables["compare"]))
    yield from board("Workers", tables["worker"], _workers(data, tables["worker"]))
    yield from board("Labels", tables["class"], _classes(data, tables["class"]))
    yield from board("Agreement", tables["agreement"], _agreement(data, tables["agreement"]))
    yield from (f"Warning: {text}" for text in result.diagnostics["warnings"])


def sentences(found: Verdict) -> Iterator[str]:
    """The verdict in words."""
    yield (
        f"{count(found.better)} of {plural(found.workers, 'worker')} "
        f"{_verb(found.better, 'labels', 'label')} better than guessing (by the 95% interval), "
        f"{count(found.unknown)} cannot be told from guessing, "
        f"{count(found.one_label)} always or nearly always "
        f"{_verb(found.one_label, 'gives', 'give')} one label."
    )
    yield ABOUT_GROUPS
    if found.not_scored:
        alone = "shares no item with others and has no score"
        several = "share no item with others and have no score"
        yield f"{plural(found.not_scored, 'worker')} {_verb(found.not_scored, alone, several)}."
    if found.reliable is not None:
        alone = "has a 95% interval that lies above the threshold"
        several = "have 95% intervals that lie above the threshold"
        yield f"{plural(found.reliable, 'worker')} {_verb(found.reliable, alone, several)}."
    yield (
        f"{plural(found.items, 'item')}; {count(found.level_items)} "
        f"{_verb(found.level_items, 'has', 'have')} no majority; majority and Dawid-Skene "
        f"differ on {count(found.differ)}."
    )
    if found.alpha is not None:
        interval = _range(found.alpha_low, found.alpha_high)
        yield f"Krippendorff's alpha {_number(found.alpha)}{interval}."
    if found.known and found.tops:
        answers = plural(found.known, "known answer")
        if len(found.tops) == len(method.METHODS):
            yield f"All methods are equally often right on {answers}."
        else:
            apart = "" if found.told_apart else " (not distinguishable from the others)"
            yield f"Most often right on {answers}: {', '.join(found.tops)}{apart}."


def _verb(number: int, one: str, many: str) -> str:
    """The form of a verb that agrees with a number."""
    return one if number == 1 else many


def board(title: str, table: Table, rows: Iterator[Sequence[str]]) -> Iterator[str]:
    """A table as aligned text; the first row of ``rows`` are headings."""
    lines = [list(row) for row in rows]
    shown = lines[: SHOWN + 1]
    widths = [max(len(line[k]) for line in shown) for k in range(len(shown[0]))]
    yield title
    for line in shown:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        yield "  ".join(cells).rstrip()
    if len(lines) > len(shown):
        rest = plural(len(lines) - len(shown), "row")
        yield f"... {rest} more; --out writes all of them"
    yield ""


def _methods(table: Table) -> Iterator[Sequence[str]]:
    yield ("method", "right", "of", "95% CI", "differs from majority", "Brier", "calibration")
    for row in table.rows():
        yield (
            method.METHODS[row["method"]],
            _number(row["right"] / row["n"] if row["n"] else None),
            str(row["n"]),
            _range(row["low"], row["high"]).strip(" ()"),
            str(row["differ"]),
            _number(row["brier"]),
            _number(row["calibration"]),
        )


def _workers(data: Labels, table: Table) -> Iterator[Sequence[str]]:
    yield ("worker", "labels", "competence", "95% CI", "chance", "MACE", "GLAD", "group")
    scored = table["component"] > 0
    competence = np.nan_to_num(table["competence"], nan=-1.0)
    # By group before competence: among those who may be guessing, the order is chance.
    order = np.lexsort((-competence, np.where(scored, table["group"], len(GROUPS))))
    rows = table.rows()
    for at in order:
        row = rows[at]
        yield (
            data.workers[row["worker"]],
            f"{row['n']:g}",
            _number(row["competence"]),
            _range(row["low"], row["high"]).strip(" ()"),
            _number(row["chance"]),
            _number(row["mace"]),
            _number(row["glad"]),
            GROUPS[row["group"]] if row["component"] else "not scored",
        )


def _classes(data: Labels, table: Table) -> Iterator[Sequence[str]]:
    yield ("label", "prevalence", "95% CI", "share of majorities")
    for row in table.rows():
        yield (
            data.labels[row["label"]],
            _number(row["prevalence"]),
            _range(row["low"], row["high"]).strip(" ()"),
            _number(row["majority_share"]),
        )


def _agreement(data: Labels, table: Table) -> Iterator[Sequence[str]]:
    yield ("coefficient", "of", "value", "95% CI", "items", "")
    scopes = {"all": "all labels", "better": "workers better than guessing"}
    for row in table.rows():
        yield (
            row["coefficient"],
            scopes.get(row["scope"], f"label {data.labels[row['label']]}"),
            _number(row["value"]),
            _range(row["low"], row["high"]).strip(" ()"),
            str(row["units"]),
            row["reason"],
        )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" ({low:.3f}-{high:.3f})"


def write_tables(folder: Path, data: Labels, result: Result) -> None:
    """Every table as a CSV file, with names in the place of indices."""
    folder.mkdir(parents=True, exist_ok=True)
    names: Mapping[str, Sequence[str]] = {
        "worker": data.workers,
        "item": data.items,
        "method": method.METHODS,
        **dict.fromkeys(LABEL_COLUMNS, data.labels),
    }
    for name, table in result.estimates.items():
        lines = csv_lines(_cells(table, names), ends="\n")
        (folder / f"{name}.csv").write_text("".join(lines), encoding="utf-8")


def _cells(table: Table, names: Mapping[str, Sequence[str]]) -> Iterator[list[Any]]:
    """Headings and rows; "mace" and "glad" are labels of items, but numbers of workers."""
    columns = list(table.columns)
    whole = [np.issubdtype(table[column].dtype, np.integer) for column in columns]
    yield columns
    for row in table.rows():
        yield [
            _name(names[column], row[column]) if index and column in names else row[column]
            for column, index in zip(columns, whole, strict=True)
        ]


def _name(names: Sequence[str], at: int) -> str:
    return names[at] if at >= 0 else ""
