"""``manage.py confirm_manager``: the installation's administrator vouches for somebody."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.accounts.roles.actions import confirm_by_installation
from annotation.accounts.signing.selectors import find_proven_user
from annotation.models import Project
from crowdqc.errors import DomainError


class Command(BaseCommand):
    """Confirms that somebody is another person than the one who invited them."""

    help = (
        "Confirm the roles of a person in a project: that they are another person than whoever "
        "invited them. From then on each may approve what the other proposes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", type=int, help="the number in the project's address")
        parser.add_argument("user", help="the person's user name or e-mail address")

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(pk=options["project"]).first()
        if project is None:
            raise CommandError("There is no such project.")
        user = find_proven_user(options["user"])
        if user is None:
            raise CommandError("There is no such person.")
        try:
            done = confirm_by_installation(project=project, user=user)
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"{done} role(s) confirmed." if done else "Confirmed before.")
