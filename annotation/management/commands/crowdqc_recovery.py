"""manage.py crowdqc_recovery: set up and check point-in-time recovery (docs/admin/backup.md)."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from crowdqc.deployment.backup import recovery
from crowdqc.errors import DomainError


class Command(BaseCommand):
    help = (
        "Set up recovery to any minute with pgBackRest. config: print pgbackrest.conf. server: "
        "print the settings of PostgreSQL. check: print how far the archive reaches; fails where "
        "it is behind. No secret is printed."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the actions and where the database server is."""
        parser.add_argument("action", choices=["config", "server", "check"])
        parser.add_argument("--to", metavar="FILE", type=Path, help="write it there")
        parser.add_argument(
            "--data", default="/var/lib/postgresql/18/docker", help="the server's data folder"
        )
        parser.add_argument(
            "--socket", default="/var/run/postgresql", help="folder of the server's socket"
        )
        parser.add_argument("--port", type=int, default=5432)
        parser.add_argument("--superuser", default="postgres", help="role that makes base backups")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print or write a configuration, or the state of the archive."""
        try:
            if options["action"] == "check":
                self._check()
                return
            server = recovery.ServerPlace(
                options["data"], options["socket"], options["superuser"], options["port"]
            )
            text = (
                recovery.pgbackrest_config(server)
                if options["action"] == "config"
                else recovery.server_config()
            )
            self._write(text, options["to"])
        except (DomainError, OSError) as error:
            raise CommandError(str(error)) from error

    def _write(self, text: str, to: Path | None) -> None:
        if to is None:
            self.stdout.write(text, ending="")
            return
        partial = to.with_name(f"{to.name}.partial")
        partial.write_text(text)
        partial.chmod(0o644)
        os.replace(partial, to)

    def _check(self) -> None:
        if not recovery.is_configured():
            raise CommandError("CROWDQC_RECOVERY_FOLDER is not set.")
        state = recovery.recovery_state()
        for name, at in (("log", state.archived_at), ("base backup", state.base_at)):
            when = f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else "never"
            self.stdout.write(f"last {name}: {when}")
        if problems := recovery.recovery_problems(state):
            raise CommandError(" ".join(text for _, text in problems))
