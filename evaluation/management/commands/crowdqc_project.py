"""``manage.py crowdqc_project``: write a project to a file, and take one in from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from annotation.accounts.signing.selectors import find_proven_user
from annotation.models import Project, User
from crowdqc.errors import DomainError
from evaluation.moving import actions
from evaluation.moving.archive import ArchiveReader
from evaluation.moving.people import ACCOUNTS, PSEUDONYMS


class Command(BaseCommand):
    """Exports, checks and imports one project with all its rows and files."""

    help = (
        "Write one project (tasks, people, answers, logs, files, runs, books) to an archive, or "
        "take one in. An import that was stopped goes on where it was when it is started again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the verbs."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        one = verbs.add_parser("export", help="write a project to a file")
        one.add_argument("project", type=int, help="the number in the project's address")
        one.add_argument("file", type=Path, help="must not exist yet")
        one.add_argument("--people", choices=(PSEUDONYMS, ACCOUNTS), default=PSEUDONYMS)
        one.add_argument(
            "--consents",
            type=Path,
            metavar="FILE",
            help="with --people accounts: addresses of those who agreed, one a line",
        )
        one.add_argument(
            "--leave",
            action="store_true",
            help="archive the project here; what waits to be paid is paid by the target alone",
        )
        one.add_argument("--why", default="", help="with --leave: the reason, for the audit log")
        one = verbs.add_parser("check", help="compare a file with the sums in it; writes nothing")
        one.add_argument("file", type=Path)
        one = verbs.add_parser("import", help="take a project in from a file")
        one.add_argument("file", type=Path)
        one.add_argument("--owner", metavar="USERNAME", help="who owns the project here")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the verb says; every reason against is an error with exit status 1."""
        try:
            verbs = {"export": self._export, "check": self._check, "import": self._import}
            verbs[options["verb"]](options)
        except (DomainError, OSError) as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(
                f"The database refused it. Start it again to go on. {error}"
            ) from error

    def _say(self, text: str, rows: int) -> None:
        self.stderr.write(text, style_func=str)

    def _export(self, options: dict[str, Any]) -> None:
        project = Project.objects.filter(pk=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project {options['project']}.")
        consents: list[str] | None = None
        if options["people"] == ACCOUNTS:
            if options["consents"] is None:
                raise CommandError("Give --consents FILE, the addresses of those who agreed.")
            consents = options["consents"].read_text().split()
        done = actions.export_project(
            by=None,
            project=project,
            path=options["file"],
            leave=options["leave"],
            consents=consents,
            why=options["why"],
            say=self._say,
        )
        rows = sum(one.rows or 0 for one in done.manifest.members.values())
        self.stdout.write(f"{options['file']}: {rows:,} rows, {done.size / 1e6:.1f} MB")
        self.stdout.write(f"SHA-256 {done.sha256}")
        for name, count in done.manifest.dropped.items():
            self.stdout.write(f"{name}: {count:,} point to another project, and are empty")

    def _check(self, options: dict[str, Any]) -> None:
        reader = ArchiveReader(options["file"])
        reader.check_members()
        manifest = reader.manifest
        self.stdout.write(
            f"{manifest.name}, project {manifest.project}: a {manifest.purpose} of "
            f"{manifest.made_at}, by crowdqc {manifest.version}"
        )
        for name, member in sorted(manifest.members.items()):
            if member.rows:
                self.stdout.write(f"{name}: {member.rows:,} rows")
        self._print_books(manifest.books)

    def _print_books(self, books: dict[str, list[str]]) -> None:
        for account, (debit, credit) in books.items():
            self.stdout.write(f"{account}: {debit} debit, {credit} credit")

    def _import(self, options: dict[str, Any]) -> None:
        owner: User | None = None
        if options["owner"]:
            owner = find_proven_user(options["owner"])
            if owner is None:
                raise CommandError(f"There is no account {options['owner']}.")
        done = actions.import_project(by=None, path=options["file"], owner=owner, say=self._say)
        self.stdout.write(f"Project {done.project.pk}: {done.rows:,} rows, each as in the archive")
        self._print_books(done.manifest.books)
        self.stdout.write(
            f"{len(done.manifest.snapshots):,} sets of frozen answers can be computed again"
        )
        for name, count in done.renamed.items():
            self.stdout.write(f"{name}: {count:,} values were taken here, and are other ones")
