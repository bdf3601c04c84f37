"""Telling other systems: addresses of a project, and a delivery for each that wants an event.

Deliveries are sent by a job (``deliver``), signed in the manner of Standard Webhooks.
"""

from __future__ import annotations

import base64
import secrets
import uuid
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Hook, HookDelivery, Project, User
from annotation.records.actions.audit import record
from annotation.records.actions.locks import lock_project
from crowdqc.database.compiled import CompiledQuery, Placeholder
from crowdqc.errors import Conflict, Invalid
from crowdqc.outbound import addresses
from crowdqc.queue import enqueue
from crowdqc.sealing.sealed import seal

PURPOSE = "webhook"
MOST_HOOKS = 20  # of a project
PING = "ping"
# What can be told, with what it is; a hook that names none gets all.
EVENTS = {
    "assignment.submitted": gettext_lazy("Somebody submitted work"),
    "run.finished": gettext_lazy("A run ended"),
    "live.ended": gettext_lazy("A live evaluation ended"),
    "payout.proposed": gettext_lazy("A proposal waits for a second person"),
    "payout.approved": gettext_lazy("A proposal was approved"),
    "payment.done": gettext_lazy("A payment was confirmed"),
    "rejection.replied": gettext_lazy("A worker replied to a rejection"),
    "rejection.decided": gettext_lazy("A reply was answered"),
    "export.ready": gettext_lazy("A file is ready"),
}


ACTIVE = CompiledQuery(lambda: Hook.objects.filter(project=Placeholder("project"), active=True))


def emit(*, project: Project, event: str, data: dict[str, Any]) -> int:
    """Queue a delivery of an event to every active webhook that wants it; return how many.

    Part of the caller's transaction, so that what was rolled back is told to nobody. ``data`` is
    JSON with ids and pseudonyms, never with answers' texts. Returns how many deliveries.
    """
    if event not in EVENTS:
        raise ValueError(f"{event!r} is no event; see EVENTS")
    wanting = [
        hook for hook in ACTIVE.all(project=project.pk) if not hook.events or event in hook.events
    ]
    _owe(wanting, project, event, data)
    return len(wanting)


def _owe(hooks: Sequence[Hook], project: Project, event: str, data: dict[str, Any]) -> None:
    if not hooks:
        return
    now, event_id = timezone.now(), uuid.uuid4()
    told = {"type": event, "timestamp": now.isoformat(), "project": project.pk, "data": data}
    HookDelivery.objects.bulk_create(
        HookDelivery(hook=hook, event_id=event_id, event=event, payload=told, next_at=now)
        for hook in hooks
    )
    deliver_soon()


def deliver_soon() -> None:
    """Have deliveries sent once this is committed; a queue that is down only delays them."""
    enqueue("annotation.jobs.deliver_hooks")


@transaction.atomic
def add_hook(
    *, by: User, project: Project, url: str, events: Sequence[str] = ()
) -> tuple[Hook, str]:
    """Add a webhook; return it with its secret, which is shown only now."""
    lock_project(project.pk)
    if project.hooks.count() >= MOST_HOOKS:
        raise Conflict(
            _("A project has %(most_hooks)s addresses at most; remove one first.")
            % {"most_hooks": MOST_HOOKS}
        )
    secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
    hook = Hook.objects.create(
        project=project,
        url=_url(url),
        events=_events(events),
        created_by=by,
        secret_sealed=seal(secret, PURPOSE),
    )
    record(by=by, project=project, action="hook.add", on=hook, url=hook.url, events=hook.events)
    return hook, secret


def _url(url: str) -> str:
    try:
        address = addresses.clean(url, query=True)
    except Invalid as error:
        hint = error.fields["base_url"]
        raise Invalid(
            _("This address cannot be used. %(hint)s") % {"hint": hint}, fields={"url": hint}
        ) from error
    if not addresses.is_secure(address):
        raise Invalid(_("The address must be secure."), fields={"url": _("Begin with https://.")})
    return address


def _events(events: Sequence[str]) -> list[str]:
    unknown = [one for one in events if one not in EVENTS]
    if unknown:
        raise Invalid(
            _("There is no such event."),
            fields={"events": _("%(unknown)s is none.") % {"unknown": unknown[0]}},
        )
    return [] if set(events) == set(EVENTS) else [one for one in EVENTS if one in events]


@transaction.atomic
def change_events(*, by: User, hook: Hook, events: Sequence[str]) -> Hook:
    """Choose the events sent to a webhook from now on; none means all."""
    locked = _locked(hook)
    locked.events = _events(events)
    locked.save(update_fields=["events"])
    record(by=by, project=locked.project, action="hook.change", on=locked, events=locked.events)
    return locked


@transaction.atomic
def pause(*, by: User, hook: Hook) -> Hook:
    """Pause a webhook: new events are not queued, queued ones wait."""
    locked = _locked(hook)
    if locked.active:
        locked.active = False
        locked.save(update_fields=["active"])
        record(by=by, project=locked.project, action="hook.pause", on=locked)
    return locked


@transaction.atomic
def resume(*, by: User, hook: Hook) -> Hook:
    """Resume a paused webhook; what waited is sent at once."""
    locked = _locked(hook)
    if not locked.active:
        locked.active, locked.off_why = True, ""
        locked.save(update_fields=["active", "off_why"])
        locked.deliveries.filter(state=HookDelivery.State.WAITING).update(next_at=timezone.now())
        record(by=by, project=locked.project, action="hook.resume", on=locked)
        deliver_soon()
    return locked


@transaction.atomic
def remove(*, by: User, hook: Hook) -> None:
    """Take the address out, with its log."""
    locked = _locked(hook)
    record(by=by, project=locked.project, action="hook.remove", on=locked, url=locked.url)
    locked.delete()


@transaction.atomic
def ping(*, by: User, hook: Hook) -> HookDelivery:
    """Send it a test, whichever events it wants."""
    locked = _active(hook)
    _owe([locked], locked.project, PING, {})
    record(by=by, project=locked.project, action="hook.ping", on=locked)
    made = locked.deliveries.order_by("-pk").first()
    assert made is not None  # noqa: S101
    return made


@transaction.atomic
def redeliver(*, by: User, delivery: HookDelivery) -> HookDelivery:
    """Send a webhook's delivery again under the same id, with ten new tries."""
    hook = _active(delivery.hook)
    row = HookDelivery.objects.select_for_update().get(pk=delivery.pk)
    row.state, row.attempts, row.next_at = HookDelivery.State.WAITING, 0, timezone.now()
    row.done_at = None
    row.save(update_fields=["state", "attempts", "next_at", "done_at"])
    record(by=by, project=hook.project, action="hook.redeliver", on=hook, event=str(row.event_id))
    deliver_soon()
    return row


def _locked(hook: Hook) -> Hook:
    rows = Hook.objects.select_for_update(of=("self",)).select_related("project")
    return rows.get(pk=hook.pk)


def _active(hook: Hook) -> Hook:
    locked = _locked(hook)
    if not locked.active:
        raise Conflict(_("This address is paused. Resume it first."))
    return locked
