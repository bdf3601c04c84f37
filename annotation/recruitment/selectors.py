"""What pages and files show of the ways in to a task and of the keys of platforms."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from annotation.models import KeySet, Membership, PlatformEvent, Recruitment, Task, User, Visit
from annotation.recruitment.platforms.entry_params import LEAVING, LINK, entry_token
from crowdqc.errors import Missing

MOST_IDS = 10  # of one worker, of all platforms


def of_task(task: Task) -> QuerySet[Recruitment]:
    """Return the task's recruitments, with how many people came and handed in."""
    done = Q(visits__assignment__state="submitted")
    return task.recruitments.annotate(
        came=Count("visits"), handed_in=Count("visits", filter=done)
    ).order_by("-active", "pk")


def get_recruitment(task: Task, pk: int) -> Recruitment:
    """One way in, or Missing."""
    found = task.recruitments.filter(pk=pk).first()
    if found is None:
        raise Missing(_("There is no such recruitment in this task."))
    found.task = task
    return found


def entry_path(recruitment: Recruitment) -> str:
    """Return the address for participants, with the platform's placeholders to paste there."""
    path = reverse("entry", args=[entry_token(recruitment)])
    if recruitment.entry == Recruitment.Entry.SIGNED:
        return path
    names = [recruitment.parameters.get(word) for word in ("participant", "study", "session")]
    if recruitment.kind == Recruitment.Kind.PROLIFIC:
        return path + "?" + "&".join(f"{name}={{{{%{name}%}}}}" for name in names)
    return path + "?" + urlencode({name: "" for name in names if name})


def signed_path(recruitment: Recruitment, link: str) -> str:
    """Return the address of a participant's signed link."""
    return f"{entry_path(recruitment)}?{urlencode({LINK: link})}"


@dataclass(frozen=True)
class State:
    """How many visits are in one state."""

    label: str
    mark: str
    number: int


def counts(recruitment: Recruitment) -> list[State]:
    """Count a recruitment's visits by state, waiting ones first."""
    state = Q(assignment__state="submitted")
    leased = Q(assignment__state="leased")
    ended = Q(outcome__in=LEAVING)
    n = recruitment.visits.aggregate(
        all=Count("pk"),
        submitted=Count("pk", filter=state),
        leased=Count("pk", filter=leased),
        left=Count("pk", filter=ended),
        returned=Count("pk", filter=Q(status="RETURNED")),
        timed_out=Count("pk", filter=Q(status__in=["TIMED-OUT", "TIMED_OUT"])),
        approved=Count("pk", filter=Q(status="APPROVED")),
    )
    rows = [
        (_("came"), "open", n["all"]),
        (_("in progress"), "running", n["leased"]),
        (_("handed in"), "done", n["submitted"]),
        (_("left before"), "draft", n["left"]),
        (_("returned there"), "draft", n["returned"]),
        (_("out of time there"), "draft", n["timed_out"]),
        (_("approved there"), "closed", n["approved"]),
    ]
    return [State(*row) for row in rows]


def last_events(recruitment: Recruitment, most: int = 20) -> list[PlatformEvent]:
    """Return the newest events that the platform sent about this recruitment."""
    return list(recruitment.events.order_by("-pk")[:most])


def visit_of(user: User, visit_id: int | None = None) -> Visit | None:
    """Return the platform visit of a person: by id, or the newest; None if there is none."""
    rows = Visit.objects.filter(worker__user_id=user.pk).select_related(
        "recruitment__task__project", "recruitment__task__current", "worker", "assignment"
    )
    if visit_id is not None:
        rows = rows.filter(pk=visit_id)
    return rows.order_by("-pk").first()


def visit_to(assignment_id: int) -> Visit | None:
    """The visit that an assignment was for."""
    return Visit.objects.filter(assignment=assignment_id).select_related("recruitment").first()


def platform_ids(worker: Membership) -> list[tuple[str, str]]:
    """Return the ids by which platforms know a worker, each behind its kind of platform."""
    if worker.erased_at:
        return []
    rows = worker.visits.order_by("recruitment__kind", "participant").distinct()
    found = rows.values_list("recruitment__kind", "participant")[:MOST_IDS]
    return [(str(Recruitment.Kind(kind).label), participant) for kind, participant in found]


def is_staff_of(access_user: object, project_id: int) -> bool:
    """Whether the person is requester or manager of the project."""
    pk = getattr(access_user, "pk", None)
    if pk is None:
        return False
    rows = Membership.objects.filter(project_id=project_id, user_id=pk, removed_at=None)
    return rows.filter(role__in=("requester", "manager")).exists()


# A key that the platform took back is believed for so long at most.
TRUSTED = dt.timedelta(days=1)


def key_set_of(url: str) -> KeySet | None:
    """Return the stored signing keys of an address; None if they were never requested."""
    return KeySet.objects.filter(url=url).first()


def is_fresh(row: KeySet | None) -> bool:
    """Whether keys were read recently enough to be trusted."""
    return (
        row is not None and row.fetched_at is not None and timezone.now() - row.fetched_at < TRUSTED
    )


def key_addresses() -> QuerySet[Recruitment, str]:
    """The addresses of key sets that active ways in check their entries by."""
    signed = Recruitment.objects.filter(Q(active=True), entry=Recruitment.Entry.JWT)
    return signed.order_by("jwks_url").values_list("jwks_url", flat=True).distinct()
