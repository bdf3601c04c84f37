"""The demo's accounts that are offered for signing in, in development alone."""

from __future__ import annotations

from django.conf import settings
from django.utils.translation import gettext as _

from annotation.models import User

PASSWORD = "crowdqc-demo"  # noqa: S105 - for demo accounts only, printed when they are made
# How the demo's accounts are named: those to sign in with, and its invented workers.
USERNAMES, PREFIX = ("requester", "manager", "worker1", "worker2"), "demo-"
LOADED = "demo.load"  # the action in the audit log
VIEWER = f"{PREFIX}viewer"  # of a public demo only


def offered_accounts() -> list[dict[str, str]]:
    """List username and role of the demo's accounts; none where the setting is off."""
    if not settings.CROWDQC_DEMO_SIGN_IN:
        return []
    roles = {"requester": _("Requester"), "manager": _("Manager"), "worker1": _("Worker")}
    if settings.CROWDQC_DEMO:
        roles[VIEWER] = _("Viewer")
    known = User.objects.filter(username__in=roles, is_active=True)
    names = set(known.values_list("username", flat=True))
    return [{"username": name, "role": roles[name]} for name in roles if name in names]
