"""A checklist as it stands: the newest row of every stage, and which of them are out of date."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotation.models import Item, Membership, System, Task
from annotation.work.snapshots.attributes import AttributeRow, counting_attributes
from crowdqc.errors import Conflict, Missing
from evaluation.checklists.making import stages
from evaluation.checklists.making.asks import Subject
from evaluation.checklists.making.stages import Entries
from evaluation.models import Checklist, ChecklistStage

HERE = "written here"  # the author of an attribute that somebody added on the stage's page
# Whose attributes enter; "author:NAME" is one person or one model.
EVERYBODY, PEOPLE, MODELS, NOBODY, AUTHOR = "all", "people", "models", "none", "author:"


@dataclass(frozen=True)
class Standing:
    """One stage: its newest row (None: not made yet), and why it is out of date ("": it is not)."""

    kind: str
    row: ChecklistStage | None
    stale: str = ""

    @property
    def data(self) -> Entries:
        """Return the stage's entries; none where it was not made yet."""
        found: Entries = self.row.data if self.row is not None else []
        return found


def stage_states(checklist: Checklist) -> dict[str, Standing]:
    """Return every stage in order, with why it is out of date (one query)."""
    rows = checklist.stages.select_related("run", "by").order_by("kind", "-number").distinct("kind")
    newest = {row.kind: row for row in rows}
    found: dict[str, Standing] = {}
    for kind in stages.ORDER:
        row, previous = newest.get(kind), found.get(stages.previous_stage(kind))
        stale = ""
        if row is not None and previous is not None:
            if previous.row is None or row.made_from_id != previous.row.pk:
                stale = previous.kind
            elif previous.stale:
                stale = previous.stale
        found[kind] = Standing(kind, row, stale)
    return found


def at_row(
    found: Mapping[str, Standing], checklist: Checklist, kind: str, number: str
) -> tuple[dict[str, Standing], ChecklistStage | None]:
    """Replace one stage by an earlier row of it; return all stages and that row.

    An empty ``number``, or that of the newest row, leaves all as it is; Missing for an unknown one.
    """
    newest = found[kind].row
    if not number or (newest is not None and number == str(newest.number)):
        return dict(found), None
    row = None
    if number.isdecimal() and len(number) < 5:
        row = checklist.stages.filter(kind=kind, number=int(number)).first()
    if row is None:
        raise Missing(_("This stage was never saved under this number."))
    return {**found, kind: Standing(kind, row, found[kind].stale)}, row


def data_of(found: Mapping[str, Standing]) -> dict[str, Entries]:
    """Return the entries of every stage that exists."""
    return {kind: one.data for kind, one in found.items() if one.row is not None}


def next_stage(found: Mapping[str, Standing]) -> str:
    """The first stage that is missing or out of date; "" where the list can be frozen."""
    return next((kind for kind, one in found.items() if one.row is None or one.stale), "")


def needed(found: Mapping[str, Standing], kind: str) -> None:
    """Raise Conflict unless the stage before is there and up to date."""
    previous = found.get(stages.previous_stage(kind))
    if previous is None:
        return
    if previous.row is None:
        raise Conflict(_("The stage before this one was not made yet."))
    if previous.stale:
        raise Conflict(_("The stage before this one is out of date; bring it up to date first."))


def subject_of(item: Item) -> Subject:
    """The dimension that an item of a think-aloud task asks about."""
    group = item.group
    return Subject(group.title or item.question, group.passage or item.question, group.passages)


def get_checklist(task_project: int, pk: int) -> Checklist:
    """A checklist of the project; Missing where there is none."""
    found = (
        Checklist.objects.filter(project=task_project, pk=pk)
        .select_related("project", "task__current", "item__group", "created_by")
        .first()
    )
    if found is None:
        raise Missing(_("There is no such checklist in this project."))
    return found


# Whose attributes -------------------------------------------------------------------------------


def attributes_of(task: Task, item: Item) -> Entries:
    """Return the counting attributes on a dimension as new entries, with pseudonyms as authors."""
    excluded = set(task.exclusions.in_force().values_list("worker_id", flat=True))
    rows = [
        row
        for row in counting_attributes(task)
        if row.item_id == item.pk and row.worker_id not in excluded
    ]
    names = author_names(rows)
    return [
        {
            "text": row.text,
            "from": row.answer_id,
            "author": names[row.worker_id, row.system_id],
            "kind": row.kind,
        }
        for row in rows
    ]


def author_names(rows: list[AttributeRow]) -> dict[tuple[int | None, int | None], str]:
    """(worker, system) -> pseudonym, or the model's name."""
    workers = Membership.objects.in_bulk({row.worker_id for row in rows if row.worker_id})
    systems = System.objects.in_bulk({row.system_id for row in rows if row.system_id})
    return {
        (row.worker_id, row.system_id): workers[row.worker_id].pseudonym
        if row.worker_id is not None
        else systems[row.system_id or 0].name
        for row in rows
    }


def authors(entries: Entries) -> list[tuple[str, str, int]]:
    """Count attributes by author: (author, kind, number), people first."""
    counted: dict[tuple[str, str], int] = {}
    for one in entries:
        key = (one["author"], one["kind"])
        counted[key] = counted.get(key, 0) + 1
    ordered = sorted(counted.items(), key=lambda row: (row[0][1] == stages.MODEL, row[0][0]))
    return [(author, kind, n) for (author, kind), n in ordered]


def entries_of(entries: Entries, whose: str) -> Entries:
    """Return the attributes of the chosen authors; Conflict if there are none."""
    if whose == NOBODY:
        return []
    wanted = {
        EVERYBODY: lambda one: True,
        PEOPLE: lambda one: one["kind"] == stages.PERSON,
        MODELS: lambda one: one["kind"] == stages.MODEL,
    }.get(whose, lambda one: f"{AUTHOR}{one['author']}" == whose)
    found = [one for one in entries if wanted(one)]
    if not found:
        raise Conflict(_("There are no attributes of these authors."))
    return found
