"""manage.py move_files: stored files from one storage to another (docs/admin/storage.md)."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from annotation.files.stored.actions import move_files
from crowdqc.errors import DomainError


class Command(BaseCommand):
    help = (
        "Move all stored files into the storage that CROWDQC_FILES names. Each is read back and "
        "compared before its old copy is deleted. The site may go on; run it again if it stops."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the option: the storage to move to."""
        parser.add_argument(
            "--to",
            default=settings.CROWDQC_FILES,
            metavar="STORAGE",
            help="database, folder or s3; default: CROWDQC_FILES",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Say how many were moved; exit status 1 where one is damaged."""
        try:
            moved = move_files(options["to"], say=self.stderr.write)
        except (DomainError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"{moved.files:,} files ({moved.size / 1e6:,.1f} MB) moved to {options['to']}"
        )
        if moved.damaged:
            raise CommandError(f"{len(moved.damaged)} files are damaged and stay where they are.")
