"""Keep the state that a public demo begins with every night, or bring it back now."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from crowdqc.deployment.backup.envelope import BadBackup
from crowdqc.errors import DomainError
from evaluation.demo import public


class Command(BaseCommand):
    help = (
        "With CROWDQC_DEMO=public: keep the present state as the one that each night brings back, "
        "or bring it back now. The site serves on meanwhile."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=("keep", "reset"), help="what to do")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["action"] == "keep":
                public.work_on_runs()
                made = public.keep_state()
                self.stdout.write(f"Kept {made.rows:,} rows in {made.address}.")
            else:
                restored = public.reset()
                self.stdout.write(f"The demo begins anew, after {restored.seconds:.0f} s.")
        except (DomainError, BadBackup, OSError) as error:
            raise CommandError(str(error)) from error
