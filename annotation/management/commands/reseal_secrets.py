"""Seal all secrets anew under SECRET_KEY; afterwards SECRET_KEY_FALLBACKS can be emptied."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from crowdqc.sealing.sealed import CURRENT, RESEALED, UNREADABLE, reseal_all


class Command(BaseCommand):
    """Prints a line a field; fails where a value opens under no key that is left."""

    help = (
        "Seal all secrets anew under SECRET_KEY: tokens of platforms, webhook secrets, keys of "
        "endpoints, second factors. Run it after a change of SECRET_KEY, with the old key in "
        "SECRET_KEY_FALLBACKS. Calling it again changes nothing."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        unreadable = 0
        for place, counts in reseal_all():
            unreadable += counts[UNREADABLE]
            self.stdout.write(
                f"{place.model}.{place.field}: {counts[RESEALED]} resealed, "
                f"{counts[CURRENT]} already current, {counts[UNREADABLE]} unreadable"
            )
        if unreadable:
            raise CommandError(
                f"{unreadable} values open under no key that is set. Add the key they were sealed "
                "under to SECRET_KEY_FALLBACKS, or enter these secrets again."
            )
