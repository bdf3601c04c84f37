"""Find or create the people and systems that a file names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext, ngettext

from annotation.accounts import pseudonyms
from annotation.models import Membership, Project, Role, System
from crowdqc.errors import Conflict, NotAllowed
from crowdqc.numbers import listed

BATCH = 2000
NAMED = 5  # of more, the number is told


def systems_by_name(
    project: Project, rows: Iterable[Mapping[str, Any]]
) -> dict[tuple[str, str], System]:
    """Return the project's systems for the names in ``rows``, creating new ones."""
    wanted = {(row["system"], row.get("prompt_strategy", "")) for row in rows}
    return {
        (name, strategy): System.objects.get_or_create(
            project=project, name=name, prompt_strategy=strategy
        )[0]
        for name, strategy in sorted(wanted)
    }


def workers_by_id(project: Project, external_ids: Collection[str]) -> dict[str, Membership]:
    """Return workers by a file's ids, creating new ones under free pseudonyms."""
    for _ in range(5):
        found = {
            worker.external_id: worker
            for worker in project.memberships.filter(role=Role.WORKER, external_id__in=external_ids)
        }
        _refuse_removed(found)
        new = sorted(set(external_ids) - found.keys())
        if not new:
            return found
        try:
            with transaction.atomic():
                Membership.objects.bulk_create(_unnamed(project, new), batch_size=BATCH)
        except IntegrityError:
            continue  # somebody joined under one of these pseudonyms meanwhile
    raise Conflict(gettext("No free pseudonyms were found; try again."))


def workers_named(project: Project, names: Collection[str]) -> dict[str, Membership]:
    """Return workers by a file's ids, or by pseudonyms as in our exports.

    An id comes before a pseudonym. Who is new and named as one of our pseudonyms keeps it, where
    it is free.
    """
    if not names:
        return {}
    workers = project.memberships.filter(role=Role.WORKER)
    known = set(workers.filter(external_id__in=names).values_list("external_id", flat=True))
    found = {
        worker.pseudonym: worker for worker in workers.filter(pseudonym__in=set(names) - known)
    }
    _refuse_removed(found)
    return {**workers_by_id(project, set(names) - found.keys()), **found}


def _refuse_removed(found: Mapping[str, Membership]) -> None:
    gone = sorted(key for key, worker in found.items() if worker.removed_at)
    if gone:
        raise NotAllowed(
            ngettext(
                "Worker %(gone)s was removed from the project. Take them back on the People page, "
                "or leave their rows out; nothing was imported.",
                "Workers %(gone)s were removed from the project. Take them back on the People "
                "page, or leave their rows out; nothing was imported.",
                len(gone),
            )
            % {"gone": listed(gone, NAMED)}
        )


def _unnamed(project: Project, external_ids: Sequence[str]) -> list[Membership]:
    taken = set(project.memberships.values_list("pseudonym", flat=True))
    # Our own exports name people by pseudonym, which they keep; a foreign id must not become one.
    kept = {name for name in external_ids if pseudonyms.is_pseudonym(name)} - taken
    taken |= kept
    made = []
    for external_id in external_ids:
        if external_id in kept:
            made.append(_unknown(project, external_id, external_id))
            continue
        name, tries = pseudonyms.propose_pseudonym(), 0
        while name in taken:
            # The plain names run out at some thousands: then a longer number.
            name, tries = pseudonyms.propose_pseudonym(), tries + 1
            name = name if tries < 20 else f"{name}{len(taken)}"
        taken.add(name)
        made.append(_unknown(project, external_id, name))
    return made


def _unknown(project: Project, external_id: str, pseudonym: str) -> Membership:
    return Membership(
        project=project, role=Role.WORKER, external_id=external_id, pseudonym=pseudonym
    )
