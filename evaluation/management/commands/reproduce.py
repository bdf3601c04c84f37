"""manage.py reproduce NAME: a published table beside measured values. Needs no database."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from crowdqc.errors import DomainError
from evaluation.published.reproduce import REPRODUCTIONS
from evaluation.published.reproduce.data import data_folder
from evaluation.published.reproduce.rows import Row


class Command(BaseCommand):
    help = "Measure a published table again and print both, with every difference."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        """NAME, --data, --json, --seed, --repetitions."""
        parser.add_argument("name", choices=sorted(REPRODUCTIONS))
        parser.add_argument("--data", help="folder of the published data (else CROWDQC_DATA)")
        parser.add_argument("--json", action="store_true", help="print the rows as JSON")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--repetitions", type=int, default=None)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the reproduction; progress goes to the error stream, rows to the output."""
        chosen = REPRODUCTIONS[options["name"]]
        more = {} if options["repetitions"] is None else {"repetitions": options["repetitions"]}
        if more and more["repetitions"] < 2:
            raise CommandError("--repetitions must be 2 or more")
        try:
            rows = chosen.run(
                data_folder(options["data"]),
                say=lambda line: self.stderr.write(line, style_func=str),
                seed=options["seed"],
                **more,
            )
        except DomainError as problem:
            raise CommandError(problem.message) from problem
        if options["json"]:
            self.stdout.write(json.dumps([row.as_json() for row in rows], indent=1))
            return
        self.stdout.write(f"{chosen.title}\n\n{table(rows)}\n\n{chosen.left_out}")


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
