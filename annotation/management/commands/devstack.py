"""``manage.py devstack``: the whole stack in one terminal."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from crowdqc.devstack.supervisor import Supervisor


class Command(BaseCommand):
    """Runs database, web, worker and scheduler until Ctrl-C."""

    help = "Run database, web, worker and scheduler together; Ctrl-C stops all of it."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to serve on")
        parser.add_argument(
            "--port", type=int, default=8000, help="port to serve on; the next free one if taken"
        )
        parser.add_argument("--no-demo", action="store_true", help="do not load the demo data")

    def handle(self, *args: Any, **options: Any) -> None:
        supervisor = Supervisor(
            host=options["host"], port=options["port"], demo=not options["no_demo"]
        )
        sys.exit(supervisor.run())
