"""manage.py verify_bundle FILE [--report REPORT]: run a bundle's method again. No database."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evaluation.bundles.archive import MB, MOST_BYTES
from evaluation.bundles.checking import check_report, verify
from evaluation.bundles.kinds.base import Broken


def printable(text: str) -> str:
    """The text without what a terminal would take as a command: a file of others chose it."""
    return "".join(one if one.isprintable() else "\ufffd" for one in text)[:1000]


class Command(BaseCommand):
    help = (
        "Check a bundle: every file against the manifest, the answers against their hash, and the "
        "numbers by running the method again. Exit status 1 where anything differs."
    )
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file."""
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--report", type=Path, help="also hold every number of this report against the bundle"
        )
        parser.add_argument(
            "--most-mb",
            type=int,
            default=MOST_BYTES // MB,
            help="most megabytes that the bundle may unpack to (default: %(default)s)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """A line a check; progress goes to the error stream."""
        told: list[str] = []

        def say(stage: str, done: int, total: int) -> None:
            if stage not in told:
                told.append(stage)
                self.stderr.write(f"running again: {stage}", style_func=str)

        most = options["most_mb"] * MB
        try:
            report = verify(options["file"], say, most=most)
            if options["report"]:
                check_report(report, options["file"], options["report"], most=most)
        except Broken as error:
            raise CommandError(printable(str(error))) from error
        for good, text in report.lines:
            self.stdout.write(f"{'ok ' if good else 'NOT'}  {printable(text)}")
        if not report.good:
            raise CommandError("The bundle does not give its numbers again.")
        self.stdout.write("The bundle gives its numbers again.")
