"""Whose a name is, and which rows name a person: by reference and within its recruitment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.db.models.fields.json import KeyTextTransform

from annotation.models import (
    Membership,
    Payment,
    PlatformEvent,
    Recruitment,
    Statement,
    Visit,
)
from annotation.privacy.name_places import Holds, Names, erased_at, named_in, places_in
from annotation.recruitment.platforms.entry_params import external_id


@dataclass(frozen=True)
class Person:
    """A worker whose names are to go, with their names in each recruitment of the project."""

    worker: Membership
    by_recruitment: dict[int, Names]


def person_of(worker: Membership) -> Person:
    """What platforms call a worker: by their visits, and by the id that the project knows."""
    participants: dict[int, set[str]] = defaultdict(set)
    sessions: dict[int, set[str]] = defaultdict(set)
    for way, participant, session in Visit.objects.filter(worker=worker).values_list(
        "recruitment_id", "participant", "session"
    ):
        participants[way].add(participant)
        sessions[way] |= {session} - {""}
    # A platform may tell of the person in a study of the project that they never opened.
    for recruitment in Recruitment.objects.filter(task__project=worker.project_id):
        prefix = external_id(recruitment, "")
        name = worker.external_id.removeprefix(prefix)
        others = Visit.objects.filter(recruitment=recruitment, participant=name)
        if (
            worker.external_id.startswith(prefix)
            and name
            and not others.exclude(worker=worker).exists()
        ):
            participants[recruitment.pk].add(name)
    return Person(
        worker,
        {
            way: Names(frozenset(participants[way]), frozenset(sessions[way]))
            for way in {*participants, *sessions}
        },
    )


# Webhooks ---------------------------------------------------------------------------------------


def events_naming(person: Person) -> Iterator[tuple[int, Any]]:
    """(event, its payload without the person) for each webhook that names them.

    A webhook about their submission is theirs and goes whole; one about somebody else's that
    gives their id keeps everything else.
    """
    places = places_in("PlatformEvent", "payload")
    for way, names in person.by_recruitment.items():
        rows = PlatformEvent.objects.filter(recruitment=way).annotate(
            said_participant=KeyTextTransform("participant_id", "payload"),
            said_session=KeyTextTransform("resource_id", "payload"),
        )
        found = rows.filter(
            Q(said_participant__in=names.participants) | Q(said_session__in=names.sessions)
        )
        for row in found.order_by("pk"):
            own = any(
                named_in(row.payload, place.path, names.sessions)
                for place in places
                if place.holds is Holds.SESSION
            )
            others = Visit.objects.filter(recruitment=way, session=row.said_session or "")
            if own or not others.exclude(session="").exclude(worker=person.worker).exists():
                yield row.pk, {}
                continue
            payload = row.payload
            for place in places:
                payload = erased_at(payload, place.path, names.of(place.holds))
            yield row.pk, payload


# Statements -------------------------------------------------------------------------------------


def statements_naming(person: Person) -> Iterator[tuple[int, list[Any]]]:
    """(statement, its rows with the person's names erased) for each that names them.

    A row that was matched with a payment is about whom that payment is to, whatever it says.
    """
    own = set(Payment.objects.filter(worker=person.worker).values_list("pk", flat=True))
    places = places_in("Statement", "rows")
    statements = Statement.objects.filter(task__project=person.worker.project_id)
    for statement in statements.order_by("pk").iterator(chunk_size=20):
        names = _names_in(statement, person)
        if not names:
            continue
        fresh = []
        for row in statement.rows:
            changed = row
            if row.get("payment") is None or row["payment"] in own:
                for place in places:
                    changed = erased_at(changed, place.path[1:], names.of(place.holds))
            fresh.append(changed)
        if fresh != statement.rows:
            yield statement.pk, fresh


def _names_in(statement: Statement, person: Person) -> Names:
    """The person's names in a statement: of its recruitment; of a task paid by hand, all of them.

    A name that another worker has as well, elsewhere in the project, says nobody there.
    """
    if statement.recruitment_id is not None:
        return person.by_recruitment.get(statement.recruitment_id, Names())
    ways = Recruitment.objects.filter(task=statement.task_id).values_list("pk", flat=True)
    found = [person.by_recruitment[way] for way in ways if way in person.by_recruitment]
    participants = {person.worker.external_id} - {""}
    participants |= {name for names in found for name in names.participants}
    sessions = {name for names in found for name in names.sessions}
    others = Membership.objects.filter(project=person.worker.project_id).exclude(
        pk=person.worker.pk
    )
    taken: set[str] = set()
    for column in ("external_id", "pseudonym"):
        rows = others.filter(**{f"{column}__in": participants})
        taken |= set(rows.values_list(column, flat=True))
    visits = Visit.objects.filter(recruitment__task=statement.task_id).exclude(worker=person.worker)
    taken |= set(visits.filter(participant__in=participants).values_list("participant", flat=True))
    # By hand a submission is called by the number of its assignment, which is no name.
    ambiguous = set(visits.filter(session__in=sessions).values_list("session", flat=True))
    sessions = {name for name in sessions - ambiguous if not name.isdecimal()}
    return Names(frozenset(participants - taken), frozenset(sessions))
