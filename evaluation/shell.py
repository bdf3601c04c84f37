"""What every page's shell shows: where one can go, what is running, who one is."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.access import Access
from annotation.accounts.projects.shell import own_counts, tab_counts
from annotation.models import Role
from crowdqc.numbers import plural
from evaluation.runs.selectors.shell import active_run, percent

# Tab: label, address, which count stands beside it, which names of addresses belong to it.
TABS = (
    (gettext_noop("Overview"), "project", "", ("project",)),
    (
        gettext_noop("Tasks"),
        "task_list",
        "tasks",
        ("task", "import", "recruitment", "announcement", "announcements"),
    ),
    (gettext_noop("Traces"), "trace_list", "traces", ("trace",)),
    (
        gettext_noop("People"),
        "people",
        "people",
        ("people", "worker_card", "invitation", "panel", "worker_data", "message", "conversation"),
    ),
    (
        gettext_noop("Results"),
        "results",
        "",
        ("results", "task_results", "pair", "rating", "writing", "rescaling", "audit", "domain"),
    ),
    (gettext_noop("Runs"), "run_list", "runs", ("run",)),
    (gettext_noop("Models"), "models", "", ("models", "task_models", "task_ask")),
    (
        gettext_noop("Payouts"),
        "payout_list",
        "payouts",
        ("payout", "ledger", "review", "rejection", "replay", "payment", "statement"),
    ),
    (
        gettext_noop("Settings"),
        "project_settings",
        "",
        ("project_settings", "audit_log", "hook", "files"),
    ),
)


OF_VIEWERS = ("task_list", "results", "run_list")  # tabs of people who may only read


def shell(request: HttpRequest) -> dict[str, Any]:
    """Return the context of base.html: ``nav``, ``running``, ``person``, ``unread``."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"nav": [], "running": None, "person": None}
    access: Access | None = getattr(request, "access", None)
    if access is None or not (access.is_staff or access.is_viewer):
        # Asked for where the bar is drawn: not for fragments, not beside somebody's work.
        counts = cache(partial(own_counts, user))
        return {
            "theme": user.theme,
            "nav": cache(partial(_worker_nav, request, counts, is_owner=user.is_superuser)),
            "running": None,
            "person": {"name": str(user), "role": _("owner") if user.is_superuser else ""},
            "unread": lambda: counts()["unread"],
        }
    numbers = tab_counts(access.project, user)
    run = active_run(access.project)
    running = None
    if run:
        url = reverse("run", args=[access.project.pk, run.number])
        running = {"label": plural(1, "run"), "url": url, "percent": percent(run)}
    return {
        "theme": user.theme,
        "nav": _project_nav(request, access, {**numbers, "runs": int(bool(run))}),
        "running": running,
        "person": {"name": str(user), "role": listed_roles(access)},
        "unread": numbers["unread"],
        "access": access,
        "project": access.project,
    }


def listed_roles(access: Access) -> str:
    """Name the roles of a person, in the reader's language."""
    return ", ".join(str(Role(role).label) for role in sorted(access.roles))


def _name(request: HttpRequest) -> str:
    return (request.resolver_match and request.resolver_match.url_name) or ""


def _belongs(name: str, prefixes: tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(f"{prefix}_") for prefix in prefixes)


def _project_nav(
    request: HttpRequest, access: Access, counts: dict[str, int]
) -> list[dict[str, Any]]:
    name = _name(request)
    # "project_settings" also begins with "project": the longest match wins.
    current = max(
        (tab for tab in TABS if _belongs(name, tab[3])),
        key=lambda tab: max(len(p) for p in tab[3] if _belongs(name, (p,))),
        default=None,
    )
    return [
        {
            "label": _(label),
            "url": reverse(address, args=[access.project.pk]),
            "count": counts.get(count) or None,
            "current": current is not None and current[0] == label,
        }
        for label, address, count, _names in TABS
        if (access.is_staff or address in OF_VIEWERS)
        and (address != "trace_list" or counts["sources"] or _belongs(name, ("trace",)))
    ]


def _worker_nav(
    request: HttpRequest, counts: Callable[[], dict[str, int]], *, is_owner: bool
) -> list[dict[str, Any]]:
    name = _name(request)
    own: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    if is_owner and _belongs(name, ("installation", "operations")):
        return _installation_nav(name)
    if is_owner:
        own = ((_("Installation"), "installation", ()),)
    return [
        {
            "label": label,
            "url": reverse(address),
            "count": (lambda: counts()["messages"] or None) if address == "work_messages" else None,
            "current": name == address or name in beside,
        }
        for label, address, beside in (
            (_("Work"), "work_home", ()),
            (_("Earnings"), "work_earnings", ()),
            (_("Messages"), "work_messages", ("work_conversation", "work_ask")),
            (_("My data"), "work_record", ()),
            (_("Projects"), "project_list", ()),
            *own,
        )
    ]


def _installation_nav(name: str) -> list[dict[str, Any]]:
    """Tabs of the pages by which an owner runs the installation."""
    return [
        {
            "label": label,
            "url": reverse(address),
            "count": None,
            "current": name == address or name in beside,
        }
        for label, address, beside in (
            (_("Projects"), "installation", ("installation_limits", "installation_moves")),
            (_("People"), "installation_people", ("installation_person_limits",)),
            (_("Operations"), "operations", ()),
            (_("Growth"), "installation_growth", ()),
            (_("Log"), "installation_security", ()),
            (_("Settings"), "installation_settings", ()),
        )
    ]
