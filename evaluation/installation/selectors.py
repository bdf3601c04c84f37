"""What the owner's pages show beside their lists."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts import quotas
from annotation.accounts.quotas import INSTALLATION
from annotation.accounts.roles.selectors import list_unconfirmed
from annotation.models import Organisation, Project, StoredFile, User
from annotation.records.actions.audit import VISITOR
from annotation.records.installation_state import current_state, is_sign_up_open
from crowdqc.numbers import count
from evaluation.installation.listing import idle_since, project_rows
from evaluation.models import LLMCall

NAMED = 10  # people to confirm that the page shows
LimitRow = tuple[str, Any, int, int | None]  # name, label, what usually holds, what is set


def limit_rows(owner: Project | User | None) -> list[LimitRow]:
    """Return the limits of a project or a person, or those that usually hold."""
    if owner is None:
        set_now = current_state().quotas
        return [
            (name, quotas.QUOTAS[name].label, int(quotas.usual_limit(name)), set_now.get(name))
            for name in quotas.QUOTAS
        ]
    own = quotas.own_limits(owner)
    return [
        (name, quotas.QUOTAS[name].label, quotas.usual_limit(name), own.get(name))
        for name, _used, _most in quotas.quota_table(owner)
    ]


def projects_page(owner: User) -> dict[str, Any]:
    """Return figures, and what waits for a decision of the owner's."""
    found = list(project_rows().filter(deleted_at=None).values_list("archived_at", "active"))
    archived = sum(at is not None for at, _active in found)
    in_use = sum(
        at is None and active is not None and active >= idle_since() for at, active in found
    )
    return {
        "in_use": in_use,
        "idle": len(found) - archived - in_use,
        "archived": archived,
        "figures": _figures(),
        "organisations": Organisation.objects.filter(closed_at=None).count(),
        "warnings": _ownerless(),
        "unconfirmed": list_unconfirmed(owner)[:NAMED],
        "limits": [
            (label, usual)
            for name, label, usual, _own in limit_rows(None)
            if quotas.QUOTAS[name].of != INSTALLATION and not name.startswith("waiting")
        ],
    }


def _figures() -> list[dict[str, Any]]:
    """People, storage, what models cost this month, and who may sign up."""
    people = User.objects.exclude(username__startswith=VISITOR)
    stored = StoredFile.objects.aggregate(n=Sum("size"))["n"] or 0
    most = quotas.quota_limit("megabytes") * quotas.MB
    first = timezone.localtime().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    calls = LLMCall.objects.filter(finished_at__gte=first, cost__isnull=False)
    costs = calls.order_by().values_list("project__currency").annotate(total=Sum("cost"))
    return [
        {"label": _("People with an account"), "value": count(people.count()), "of": ""},
        {
            "label": _("Storage"),
            "value": f"{stored / 1e9:.1f}",
            "of": _("of %(most)s GB") % {"most": f"{most / 1e9:.0f}"},
            "done": min(stored, most),
            "total": most,
        },
        {
            "label": _("Models this month"),
            "value": " + ".join(f"{total:.2f}" for _currency, total in costs) or "0",
            "of": " + ".join(currency for currency, _total in costs),
        },
        {
            "label": _("Sign-ups"),
            "value": _("Open") if is_sign_up_open() else _("By invitation"),
            "of": "",
        },
    ]


def _ownerless() -> list[dict[str, str]]:
    rows = Project.objects.filter(owner__is_active=False, archived_at=None).order_by("pk")[:5]
    return [
        {
            "level": "warn",
            "head": _("“%(project)s” has no owner.") % {"project": row.name},
            "text": _("Its account is closed."),
            "url": f"?{urlencode({'q': row.name})}",
            "link": _("Show"),
        }
        for row in rows
    ]
