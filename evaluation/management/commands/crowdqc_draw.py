"""manage.py crowdqc_draw: draw items that people should label next, and hand them out first."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.models import Role, Task, User
from crowdqc.errors import DomainError
from evaluation.replacement import actions, next_items
from evaluation.replacement.selectors import draws


class Command(BaseCommand):
    help = (
        "Draw items that people should label next, beside a model that answered them all. They are "
        "handed out first, and how they were drawn is kept, so that the next test of the models "
        "can weigh them."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options: which items of what, beside which model, for whom."""
        parser.add_argument("task", type=int, help="number of the task")
        parser.add_argument("--by", required=True, help="username of a requester of its project")
        parser.add_argument("--model", required=True, help="name of a system that answered")
        parser.add_argument("--items", type=int, default=next_items.USUAL, help="how many")
        parser.add_argument("--way", choices=list(next_items.WAYS), default=next_items.UNSURE)
        parser.add_argument("--field", default="", help="default: the task's first field")
        parser.add_argument(
            "--trusted",
            action="store_true",
            help="what people labelled so far is a random part of all items",
        )
        parser.add_argument("--seed", type=int)
        parser.add_argument("--json", action="store_true", help="print the draw as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Draw and say what was drawn; exit status 1 where it is refused."""
        task = Task.objects.select_related("project", "current").filter(pk=options["task"]).first()
        if task is None:
            raise CommandError("There is no such task: name its number.")
        by = User.objects.filter(
            username=options["by"],
            memberships__project=task.project_id,
            memberships__role=Role.REQUESTER,
            memberships__removed_at__isnull=True,
        ).first()
        if by is None:
            raise CommandError("Say with --by who asks: a requester of its project.")
        try:
            made = actions.ask_about_items(
                by=by,
                task=task,
                field=options["field"],
                system_id=next_items.system_named(task, options["model"]),
                wanted=options["items"],
                way=options["way"],
                trusted=options["trusted"],
                seed=options["seed"],
            )
        except DomainError as error:
            fields = "".join(f" {name}: {why}" for name, why in error.fields.items())
            raise CommandError(f"{error.message}{fields}") from error
        told = draws.draw_payload(made, task)
        if options["json"]:
            self.stdout.write(json.dumps(told, default=str, indent=1))
            return
        self.stdout.write(
            f"{len(told['items'])} items are handed out first: {told['answers']} answers, "
            f"{told['pay']} {task.project.currency} at most."
        )
