"""Sources of traces: created with a token shown once, changed, and ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.tokens.actions import digest_token
from annotation.models import Project, TraceSource, User
from annotation.records.actions.audit import record
from annotation.records.cleaning import clean_text
from annotation.traces.settings import clean_settings, read_settings
from annotation.traces.tokens import new_token
from crowdqc.errors import Conflict, Invalid
from crowdqc.outbound import addresses
from crowdqc.sealing.sealed import seal

PURPOSE = "trace sources"  # of what is sealed
MOST_SOURCES = 50  # of a project
Kind = TraceSource.Kind
PUBLIC = {
    Kind.LANGFUSE: "https://cloud.langfuse.com",
    Kind.LANGSMITH: "https://api.smith.langchain.com",
}


@transaction.atomic
def create_source(
    *,
    by: User,
    project: Project,
    name: str,
    kind: str = Kind.OTLP,
    api_url: str = "",
    api_project: str = "",
    key: str = "",
    sends_scores: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> tuple[TraceSource, str]:
    """Create a source; return it with the token that its application sends, "" for one to read.

    The token is not stored. ``key`` of another system is sealed. Invalid names the field.
    """
    name = clean_text(name, "name", 80)
    live = TraceSource.objects.filter(project=project, ended_at=None)
    if not name or live.filter(name=name).exists():
        raise Invalid(
            _("A source needs a name of its own."), fields={"name": _("Use another name.")}
        )
    if live.count() >= MOST_SOURCES:
        raise Conflict(_("There are %(most)s sources. End one first.") % {"most": MOST_SOURCES})
    if kind not in Kind.values:
        raise Invalid(_("There is no such kind."), fields={"kind": ", ".join(Kind.values)})
    if sends_scores and kind == Kind.OTLP:
        raise Invalid(
            _("Scores can be sent to systems that are read."),
            fields={"sends_scores": _("Choose Langfuse, LangSmith or Phoenix, or leave it out.")},
        )
    source = TraceSource(
        project=project,
        kind=kind,
        name=name,
        created_by=by,
        settings=clean_settings(dict(settings or {})),
        sends_scores=sends_scores,
    )
    token = ""
    if kind == Kind.OTLP:
        token = new_token()
        source.prefix, source.digest = token[:8], digest_token(token)
    else:
        source.api_url = _address(api_url or PUBLIC.get(Kind(kind), ""))
        source.api_project = clean_text(api_project, "api_project", 200)
        source.key_sealed = seal(key.strip(), PURPOSE) if key.strip() else b""
        source.next_at = timezone.now()
    source.save()
    record(by=by, project=project, action="traces.source", on=source, kind=str(kind))
    return source, token


def _address(url: str) -> str:
    url = url.strip().rstrip("/")
    if not url:
        raise Invalid(_("Where are the traces?"), fields={"api_url": _("Enter the address.")})
    addresses.check(url)
    return url[:300]


@transaction.atomic
def change_settings(*, by: User, source: TraceSource, settings: Mapping[str, Any]) -> TraceSource:
    """Change settings of a source; what is not named stays. Invalid names the field.

    Rules and masks hold for what is received, and settled, from now on.
    """
    row = TraceSource.objects.select_for_update(of=("self",)).get(pk=source.pk)
    before = read_settings(row.settings).model_dump(mode="json")
    row.settings = clean_settings({**before, **settings})
    row.save(update_fields=["settings"])
    changed = sorted(name for name, value in row.settings.items() if before.get(name) != value)
    record(by=by, project=source.project, action="traces.settings", on=row, changed=changed)
    return row


@transaction.atomic
def renew_token(*, by: User, source: TraceSource) -> str:
    """Make another token, and end the one before."""
    row = TraceSource.objects.select_for_update(of=("self",)).get(pk=source.pk)
    if row.kind != Kind.OTLP or row.ended_at is not None:
        raise Conflict(_("This source has no token."))
    token = new_token()
    row.prefix, row.digest = token[:8], digest_token(token)
    row.save(update_fields=["prefix", "digest"])
    record(by=by, project=source.project, action="traces.token", on=row)
    return token


@transaction.atomic
def end_source(*, by: User, source: TraceSource) -> None:
    """End a source: its token opens nothing more. Its traces stay for their days."""
    row = TraceSource.objects.select_for_update(of=("self",)).get(pk=source.pk)
    if row.ended_at is None:
        row.ended_at, row.digest, row.key_sealed = timezone.now(), None, b""
        row.save(update_fields=["ended_at", "digest", "key_sealed"])
        record(by=by, project=source.project, action="traces.end", on=row)
