"""manage.py restore FILE: put a backup into this installation's database (docs/admin/backup.md)."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection

from crowdqc.deployment.backup import records
from crowdqc.deployment.backup.archive import ArchiveReader
from crowdqc.deployment.backup.envelope import read_passphrase
from crowdqc.deployment.backup.places import open_backup, split_address
from crowdqc.deployment.backup.recovery import finish_recovery
from crowdqc.deployment.backup.restore import Restored, restore_backup, test_restore
from crowdqc.errors import DomainError


class Command(BaseCommand):
    help = (
        "Restore a backup into an empty database. It is loaded and checked beside the tables in "
        "use and then replaces them at once; if anything fails, nothing changes."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file, and what to do with it."""
        parser.add_argument("file", nargs="?", help="a path, or s3://bucket/folder/name")
        parser.add_argument(
            "--passphrase-file",
            metavar="FILE",
            default=settings.CROWDQC_BACKUP_PASSPHRASE_FILE,
            help="default: CROWDQC_BACKUP_PASSPHRASE_FILE",
        )
        parser.add_argument(
            "--replace", action="store_true", help="also where the database holds data, which goes"
        )
        parser.add_argument("--noinput", action="store_true", help="ask nothing")
        parser.add_argument(
            "--test", action="store_true", help="restore it beside, compare all rows, remove it"
        )
        parser.add_argument(
            "--after-recovery",
            action="store_true",
            help="no file: after a recovery of the database server, hold payments, end sessions",
        )
        parser.add_argument(
            "--keys-to", metavar="FILE", type=Path, help="only write the backup's keys there"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it; every reason against is an error with exit status 1."""
        file: str = options["file"] or ""
        if bool(file) == options["after_recovery"]:
            raise CommandError("Give either a file or --after-recovery.")
        try:
            if options["after_recovery"]:
                self._finish_recovery()
                return
            word = read_passphrase(name) if (name := options["passphrase_file"]) else ""
            if options["keys_to"]:
                self._write_keys(file, word, options["keys_to"])
            elif options["test"]:
                self._test(file, word)
            else:
                self._restore(file, word, options)
        except (DomainError, OSError) as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(f"The database refused it; nothing was changed. {error}") from error

    def _say(self, text: str) -> None:
        self.stderr.write(text, style_func=str)

    def _restore(self, file: str, word: str, options: dict[str, Any]) -> None:
        if options["replace"] and not options["noinput"]:
            name = connection.settings_dict["NAME"]
            typed = input(f"All data in {name} will be deleted. Type {name} to go on: ")
            if typed != name:
                raise CommandError("Nothing was changed.")
        done = restore_backup(file, passphrase=word, replace=options["replace"], say=self._say)
        # Nothing is left to do but what the framework does after each migration.
        call_command("migrate", verbosity=0)
        self._print_result(done, f"restored from the backup of {done.checked.manifest.made_at}")

    def _finish_recovery(self) -> None:
        for note in finish_recovery():
            self.stdout.write(note)
        self.stdout.write("All sessions are ended.")

    def _test(self, file: str, word: str) -> None:
        _, name = split_address(file)
        try:
            done = test_restore(file, passphrase=word, say=self._say)
        except (DomainError, DatabaseError) as error:
            records.record_test(name, str(error))
            raise
        records.record_test(name)
        self._print_result(done, "restored, compared and removed again")

    def _print_result(self, done: Restored, what: str) -> None:
        rows, tables = done.checked.rows, len(done.checked.manifest.tables)
        self.stdout.write(f"{rows:,} rows of {tables} tables {what}, in {done.seconds:.1f} s")
        for note in done.notes:
            self.stdout.write(note)
        if done.unreadable:
            self.stderr.write(
                f"{done.unreadable} sealed values open under no key that is known here. Put the "
                "old SECRET_KEY into SECRET_KEY_FALLBACKS and run manage.py reseal_secrets, or "
                "enter these secrets again."
            )

    def _write_keys(self, file: str, word: str, to: Path) -> None:
        with open_backup(file) as source:
            keys = ArchiveReader(source, word).keys
        if not keys:
            raise CommandError("The backup holds no keys.")
        lines = [
            f"SECRET_KEY={keys['SECRET_KEY']}",
            f"SECRET_KEY_FALLBACKS={','.join(keys['SECRET_KEY_FALLBACKS'])}",
        ]
        out = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(out, "w") as into:
            into.write("\n".join(lines) + "\n")
        self.stdout.write(f"The keys are in {to}. Put them into .env.")
