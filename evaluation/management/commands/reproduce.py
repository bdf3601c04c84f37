"""manage.py reproduce NAME ...: published tables beside measured values. Needs no database."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from crowdqc.errors import DomainError
from evaluation.published.reproduce import REPRODUCTIONS
from evaluation.published.reproduce.data import data_folder
from evaluation.published.reproduce.rows import Counts, Row, count


class Command(BaseCommand):
    help = "Measure a published table again and print both, with every difference."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        """NAME ..., --data, --json, --counts, --seed, --repetitions."""
        parser.add_argument("names", nargs="+", choices=sorted(REPRODUCTIONS), metavar="NAME")
        parser.add_argument("--data", help="folder of the published data (else CROWDQC_DATA)")
        parser.add_argument("--json", action="store_true", help="print the rows as JSON")
        parser.add_argument(
            "--counts",
            action="store_true",
            help="print as JSON how many printed figures agree, by paper, command and table",
        )
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--repetitions", type=int, default=None)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the reproductions; progress goes to the error stream, rows to the output."""
        more = {} if options["repetitions"] is None else {"repetitions": options["repetitions"]}
        if more and more["repetitions"] < 2:
            raise CommandError("--repetitions must be 2 or more")
        measured: dict[str, list[Row]] = {}
        for name in options["names"]:
            try:
                measured[name] = REPRODUCTIONS[name].measure(
                    data_folder(options["data"]),
                    say=lambda line: self.stderr.write(line, style_func=str),
                    seed=options["seed"],
                    **more,
                )
            except DomainError as problem:
                raise CommandError(problem.message) from problem
        if options["counts"]:
            self.stdout.write(json.dumps(counts(measured), indent=1))
        elif options["json"]:
            every = [row.as_comparison() for rows in measured.values() for row in rows]
            self.stdout.write(json.dumps(every, indent=1))
        else:
            self.stdout.write("\n\n".join(report(name, rows) for name, rows in measured.items()))


def report(name: str, rows: list[Row]) -> str:
    """The rows of one reproduction as text, with its title, its counts and what it leaves out."""
    chosen = REPRODUCTIONS[name]
    return f"{chosen.title}\n\n{table(rows)}\n\n{count(rows)}.\n\n{chosen.left_out}"


def counts(measured: Mapping[str, list[Row]]) -> dict[str, Any]:
    """Printed figures and those within rounding: by paper, and by command with its tables."""
    papers: dict[str, list[Row]] = {}
    for name, rows in measured.items():
        papers.setdefault(REPRODUCTIONS[name].paper or "others", []).extend(rows)
    commands: dict[str, Any] = {}
    for name, rows in measured.items():
        tables: dict[str, list[Row]] = {}
        for row in rows:
            if row.is_counted:
                tables.setdefault(row.table, []).append(row)
        commands[name] = {
            **_as_json(count(rows)),
            "tables": {table: _as_json(count(own)) for table, own in tables.items()},
        }
    return {
        "papers": {paper: _as_json(count(rows)) for paper, rows in papers.items()},
        "commands": commands,
    }


def _as_json(found: Counts) -> dict[str, int]:
    return {"printed": found.printed, "within_rounding": found.within_rounding}


def table(rows: list[Row]) -> str:
    """Rows as aligned text."""
    head = ("table", "quantity", "protocol", "published", "measured", "difference", "note")
    cells = [
        (
            row.table,
            row.quantity,
            row.protocol,
            "-" if row.published is None else f"{row.published:.3f}",
            f"{row.measured:.3f}",
            "-" if row.difference is None else f"{row.difference:+.3f}",
            row.note,
        )
        for row in rows
    ]
    widths = [max(len(line[k]) for line in (head, *cells)) for k in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (head, *cells)
    )
