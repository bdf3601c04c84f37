"""The list of a project's tasks, and pausing, closing or resuming many of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext

from annotation.access import Access
from annotation.authoring.actions import tasks as actions
from annotation.authoring.selectors.tasks import rows_of, with_work
from annotation.lists.definition import Bulk, Choice, Column, Filter, Listing, apply_to_each
from annotation.models import Task
from annotation.models.tasks import TaskState
from annotation.payouts.selectors.next_steps import next_steps
from annotation.task_types import TYPES

OF_STAFF = ("paid", "at_most", "next")  # columns that viewers do not see


def _columns() -> tuple[Column, ...]:
    return (
        Column("task", gettext("Task"), sort=("title",), fixed=True),
        Column("state", gettext("State"), sort=("state",)),
        Column("answers", gettext("Answers")),
        Column("paid", gettext("Paid"), number=True),
        Column("at_most", gettext("At most"), number=True),
        Column("last", gettext("Last submitted"), sort=("last_submit",), down=True),
        Column("created", gettext("Created"), sort=("pk",), down=True, shown=False),
        Column("domain", gettext("About"), sort=("domain",), shown=False),
        Column("next", gettext("Next")),
    )


def _states() -> tuple[Choice, ...]:
    return (
        Choice("open", gettext("Open"), Q(state=TaskState.OPEN)),
        Choice("waiting", gettext("To review"), Q(waits=True)),
        Choice("draft", gettext("Draft"), Q(state=TaskState.DRAFT)),
        Choice("closed", gettext("Closed"), Q(state=TaskState.CLOSED)),
    )


def _moves() -> dict[str, tuple[str, str, str]]:
    """Return what can be done with many rows: its name, what it did and what happens."""
    return {
        "pause": (
            gettext("Pause"),
            gettext("Paused"),
            gettext("Nothing more is handed out. Work in hand may be finished."),
        ),
        "resume": (
            gettext("Resume"),
            gettext("Resumed"),
            gettext("Assignments are handed out again."),
        ),
        "close": (
            gettext("Close"),
            gettext("Closed"),
            gettext("Nothing more is handed out. Work in hand is still paid."),
        ),
    }


def _move(access: Access, to: str) -> Bulk:
    label, done, sentence = _moves()[to]
    sources, _ = actions.MOVES[to]

    def why_not(rows: Sequence[Any]) -> dict[int, str]:
        return {
            row.pk: gettext("It is %(state)s.") % {"state": row.get_state_display().lower()}
            for row in rows
            if row.state not in sources
        }

    act = apply_to_each(lambda task: actions.move(by=access.user, task=task, to=to))
    return Bulk(to, label, done, act, sentence=sentence, why_not=why_not)


def task_listing(access: Access) -> Listing:
    """The tasks of a project, the newest first."""
    there = set(access.project.tasks.order_by().values_list("type", flat=True).distinct())
    types = [
        Choice(slug, str(one.label), Q(type=slug)) for slug, one in TYPES.items() if slug in there
    ]

    def read(found: list[Task]) -> list[Any]:
        rows = rows_of(found)
        steps = next_steps(access, rows) if access.is_staff else {}
        return [(row, steps.get(row.task.pk)) for row in rows]

    return Listing(
        slug="tasks",
        nouns="task,tasks",
        caption=gettext("Tasks of the project"),
        rows=with_work(access.project.tasks.select_related("current")),
        columns=[one for one in _columns() if access.is_staff or one.name not in OF_STAFF],
        template="annotation/authoring/_task_row.html",
        order="-created",
        search=("title", "domain"),
        search_label=gettext("Search by title or domain"),
        filters=(
            Filter("view", gettext("Which"), _states(), tabs=True),
            Filter("type", gettext("Type"), types if len(types) > 1 else ()),
        ),
        bulk=[_move(access, to) for to in _moves()] if access.is_requester else [],
        read=read,
        name_of=lambda task: task.title,
    )
