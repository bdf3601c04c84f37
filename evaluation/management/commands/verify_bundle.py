"""manage.py verify_bundle FILE [--report REPORT]: run a bundle's method again. No database."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evaluation.bundles.checking import check_report, verify
from evaluation.bundles.kinds.base import Broken


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

    def handle(self, *args: Any, **options: Any) -> None:
        """A line a check; progress goes to the error stream."""
        told: list[str] = []

        def say(stage: str, done: int, total: int) -> None:
            if stage not in told:
                told.append(stage)
                self.stderr.write(f"running again: {stage}", style_func=str)

        try:
            report = verify(options["file"], say)
            if options["report"]:
                check_report(report, options["file"], options["report"])
        except Broken as error:
            raise CommandError(str(error)) from error
        for good, text in report.lines:
            self.stdout.write(f"{'ok ' if good else 'NOT'}  {text}")
        if not report.good:
            raise CommandError("The bundle does not give its numbers again.")
        self.stdout.write("The bundle gives its numbers again.")
