"""manage.py backup: everything of this installation as one file (docs/admin/backup.md)."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from crowdqc.deployment.backup.envelope import read_passphrase
from crowdqc.deployment.backup.schedule import create_backup
from crowdqc.errors import DomainError


class Command(BaseCommand):
    help = (
        "Write a backup of everything: people, tasks, answers, results, books, files. It is read "
        "back before it gets its name. With a passphrase it is encrypted and holds SECRET_KEY; "
        "without one, keep SECRET_KEY elsewhere."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options: where to write to, and how to encrypt."""
        parser.add_argument(
            "--to", metavar="FOLDER", help="or s3://bucket/folder; default: CROWDQC_BACKUP_FOLDER"
        )
        parser.add_argument(
            "--passphrase-file",
            metavar="FILE",
            default=settings.CROWDQC_BACKUP_PASSPHRASE_FILE,
            help="its first line encrypts the backup; default: CROWDQC_BACKUP_PASSPHRASE_FILE",
        )
        parser.add_argument(
            "--without-keys", action="store_true", help="leave SECRET_KEY out of it"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Say where it is, its size, and what is not in it."""
        folder = options["to"] or settings.CROWDQC_BACKUP_FOLDER
        if not folder:
            raise CommandError("Give --to FOLDER, or set CROWDQC_BACKUP_FOLDER.")
        try:
            passphrase = read_passphrase(file) if (file := options["passphrase_file"]) else ""
            made = create_backup(folder, passphrase=passphrase, keys=not options["without_keys"])
        except (DomainError, OSError) as error:
            raise CommandError(f"No backup was made. {error}") from error
        except (DatabaseError, psycopg.Error) as error:
            raise CommandError(f"No backup was made. The database: {error}") from error
        self.stdout.write(
            f"{made.address}: {made.rows:,} rows, {made.size / 1e6:.1f} MB, {made.seconds:.1f} s, "
            f"{'encrypted' if made.encrypted else 'not encrypted'}"
        )
        if made.missing:
            self.stderr.write(
                f"{len(made.missing)} files are not in it, as they are gone: {made.missing[0]} ..."
            )
        if not made.keys:
            self.stderr.write(
                "SECRET_KEY is not in it. Keep it elsewhere: without it, keys of endpoints and "
                "second factors have to be entered again."
            )
