"""``manage.py crowdqc_quota``: how much a person or a project may have, by the installation."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.accounts import quotas
from annotation.accounts.signing.selectors import find_proven_user
from annotation.installation.actions import set_limit
from annotation.models import Project, User
from crowdqc.errors import DomainError


class Command(BaseCommand):
    """Shows what is used and may be used, and changes it."""

    help = (
        "Show the quotas of the installation, of a person or of a project, with what is used of "
        "each; or give the person or project one of its own, or everybody without --person and "
        "--project another one. The audit log records it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options: whose quotas, and which to change."""
        parser.add_argument("--person", help="a user name or e-mail address")
        parser.add_argument("--project", type=int, help="the number in the project's address")
        parser.add_argument("--set", nargs=2, metavar=("NAME", "MOST"), help="projects 200")
        parser.add_argument("--reset", metavar="NAME", help="take a quota of its own back")

    def handle(self, *args: Any, **options: Any) -> None:
        """Change what is asked for, then list."""
        owner = self._owner(options)
        try:
            if options["set"]:
                name, most = options["set"]
                if not most.isdecimal():
                    raise CommandError("A quota is a whole number from 0.")
                set_limit(by=None, name=name, owner=owner, limit=int(most))
            if options["reset"]:
                set_limit(by=None, name=options["reset"], owner=owner, limit=None)
        except DomainError as error:
            raise CommandError(" ".join([error.message, *error.fields.values()])) from error
        for name, used, most in quotas.quota_table(owner):
            self.stdout.write(f"{name:<22} {used:>12,} of {most:,}")

    def _owner(self, options: dict[str, Any]) -> User | Project | None:
        if options["project"] is not None:
            project = Project.objects.filter(pk=options["project"]).first()
            if project is None:
                raise CommandError("There is no such project.")
            return project
        if options["person"]:
            user = find_proven_user(options["person"])
            if user is None:
                raise CommandError("There is no such person.")
            return user
        return None
