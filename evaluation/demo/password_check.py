"""A system check: do accounts of the demo still have the password that everybody knows?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register


@register(Tags.database, deploy=True)
def demo_passwords(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Asked of the database, so only by ``check --deploy --database default``."""
    if not databases or settings.CROWDQC_DEMO:
        return []
    from annotation.models import User
    from evaluation.demo.loader import ACCOUNTS, PASSWORD

    known = [
        user.username
        for user in User.objects.filter(username__in=ACCOUNTS, is_active=True)
        if user.check_password(PASSWORD)
    ]
    if not known:
        return []
    said = f"Accounts of the demo have its public password: {', '.join(sorted(known))}."
    return [Error(said, hint="Change the passwords or close the accounts.", id="crowdqc.E006")]
