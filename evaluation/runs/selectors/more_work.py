"""What more answers of a task cost, whom to ask, and whether to wait for those still to come."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Count, Max, Q, Sum
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from annotation.authoring.selectors.cost import cost_of
from annotation.models import (
    AssignmentItem,
    Membership,
    PanelMember,
    Role,
    Task,
    TaskVersion,
)
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState
from annotation.task_types import get_type
from annotation.templatetags.crowdqc import moment
from crowdqc.numbers import count, percent, plural
from evaluation.runs.adapters import adapter_of
from evaluation.runs.planning.price import Price, price_of

WORTH = 0.1  # a share by which intervals narrow that is worth waiting for


@dataclass(frozen=True)
class Amount:
    """So many answers to so many items of groups, and what they cost at the task's pay."""

    groups: int
    items: int
    answers: int
    each: int  # an item
    price: Price

    @property
    def cost(self) -> str:
        return self.price.words(self.answers)


def narrower(given: int, more: int) -> float:
    """By which share intervals narrow with so many more: they go with the root of the number."""
    return 1 - math.sqrt(given / (given + more)) if more else 0.0


def _asked(task: Task, version: TaskVersion) -> int:
    """How many items are asked for: no known answers, no repeats."""
    rows = task.items.in_version(version.number)
    return rows.filter(expected__isnull=True, repeat=False).count()


def answers_in_words(task: Task, n: int) -> str:
    """``12 judgments``"""
    return plural(n, adapter_of(task).answer_noun)


def items_in_words(task: Task, n: int) -> str:
    """``12 pairs``"""
    settings = task.current.settings if task.current else {}
    return plural(n, get_type(task.type).noun_in(settings))


def one_more_each(task: Task, *, worth: bool = False) -> str:
    """How many answers one more on each item is, what they cost and what they bring; "" for none.

    ``worth``: as what to do only where the choice is worth that price.
    """
    version = task.current
    if version is None:
        return ""
    items = _asked(task, version)
    if not items:
        return ""
    price = price_of(task, version)
    told = {
        "items": items_in_words(task, items),
        "answers": answers_in_words(task, items),
        "cost": price.words(items),
        "share": percent(narrower(version.redundancy, 1)),
    }
    said = _(
        "One more on each of %(items)s is %(answers)s, for %(cost)s at most. Ranges get about "
        "%(share)s narrower at most; whether that is enough is not known."
    )
    if worth and price.pay:
        said = _(
            "If the choice is worth more than %(cost)s to you: collect one more on each of "
            "%(items)s (%(answers)s). Ranges get about %(share)s narrower at most, which may "
            "still not be enough."
        )
    return said % told


def like_these(task: Task, groups: int) -> Amount | None:
    """What so many more groups (topics, sources) take, each with as many items as those there."""
    version = task.current
    now = task.groups.in_version(version.number).count() if version else 0
    if version is None or not now:
        return None
    items = groups * math.ceil(_asked(task, version) / now)
    each = version.redundancy
    return Amount(groups, items, items * each, each, price_of(task, version))


def pace(price: Price, answers: int) -> str:
    """How long so many answers take to come."""
    if not price.a_day:
        return _("How long that takes is not known: none came last week.")
    told = {"days": plural(price.days(answers), "day")}
    return _("At last week’s rate that takes about %(days)s.") % told


def whom(task: Task, each: int) -> str:
    """Who can give ``each`` answers to every item, or how many people are missing for that."""
    if task.panel_id:
        people = PanelMember.objects.filter(panel=task.panel_id, until__isnull=True).count()
    else:
        people = Membership.objects.filter(
            project=task.project_id,
            role=Role.WORKER,
            user__isnull=False,
            removed_at__isnull=True,
        ).count()
    told = {
        "workers": plural(people, "worker"),
        "each": plural(each, "worker"),
        "more": plural(max(0, each - people), "person", "people"),
    }
    said = _("%(workers)s of this project can take this task.")
    if people < each:
        said = _(
            "Every item then needs %(each)s, and %(workers)s can take this task: invite %(more)s "
            "first."
        )
    if task.state == TaskState.CLOSED:
        return f"{_('The task is closed: reopen it first.')} {said % told}"
    return said % told


def whom_for_one_more(task: Task) -> dict[str, Any]:
    """Who can give one more on each item, and where to ask for it, for a ``NextStep``."""
    version = task.current
    if version is None:
        return {}
    kind = get_type(task.type)
    told = {
        "noun": pgettext("noun", kind.noun_in(version.settings)),
        "now": count(version.redundancy),
        "then": count(version.redundancy + 1),
    }
    how = _(
        "To ask for one more, raise the number per %(noun)s from %(now)s to %(then)s and publish "
        "the change."
    )
    build = reverse("task_build", args=[task.project_id, task.pk])
    return {
        "whom": f"{whom(task, version.redundancy + 1)} {how % told}",
        "ask_label": _("Edit the number per %(noun)s") % told,
        "ask_url": f"{build}?part={kind.redundancy_part}",
    }


# Still to come ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class StillOut:
    """Answers that a task asks for and does not have: free ones, and those in work."""

    task: Task
    wanted: int
    given: int
    free: int
    in_work: int  # assignments
    working: int  # answers that these hold
    due: dt.datetime | None  # when the last of them runs out
    items: int = 0  # that are asked for
    bare: int = 0  # of these, to which nobody has answered or is answering

    @cached_property
    def price(self) -> Price:
        """Of the version in force; two queries, where it is needed."""
        assert self.task.current is not None  # noqa: S101 (nothing is asked for before it)
        return price_of(self.task, self.task.current)

    @property
    def n(self) -> int:
        return self.free + self.working

    @property
    def gain(self) -> float:
        """By which share intervals narrow once all of it is there."""
        return narrower(self.given, self.n)

    @property
    def moves(self) -> bool:
        """Whether somebody works on it, or did in the last week."""
        return bool(self.in_work or self.price.a_day)

    @property
    def coming(self) -> bool:
        """Whether any of it can still come."""
        return self.n > 0 and self.task.state != TaskState.CLOSED


def still_out(task: Task) -> StillOut | None:
    """What is still to come, in a fixed number of queries; None before the first version."""
    version = task.current
    if version is None:
        return None
    rows = task.items.in_version(version.number).filter(expected__isnull=True)
    slots = rows.aggregate(
        wanted=Sum("redundancy", default=0),
        taken=Sum("held", default=0),
        items=Count("pk"),
        bare=Count("pk", filter=Q(held=0)),
    )
    leased = AssignmentItem.objects.filter(
        assignment__task=task,
        assignment__state=AssignmentState.LEASED,
        assignment__quiz__isnull=True,
        item__expected__isnull=True,
        holds=True,
    ).aggregate(
        n=Count("pk"),
        assignments=Count("assignment", distinct=True),
        due=Max("assignment__expires_at"),
    )
    return StillOut(
        task=task,
        wanted=slots["wanted"],
        given=slots["taken"] - leased["n"],
        free=slots["wanted"] - slots["taken"],
        in_work=leased["assignments"],
        working=leased["n"],
        due=leased["due"],
        items=slots["items"],
        bare=slots["bare"],
    )


def worth_waiting(out: StillOut | None) -> str:
    """Whether to wait for what is still to come, by how much more exact it makes a result."""
    if out is None:
        return ""
    if not out.coming:
        return none_come(out)
    if not out.moves:
        return unmoved(out)
    told = {
        "n": answers_in_words(out.task, out.n),
        "wanted": count(out.wanted),
        "share": percent(max(out.gain, 0.01)),
        "bare": count(out.bare),
        "items": items_in_words(out.task, out.items),
    }
    if out.bare and out.given:
        said = _("Yes, if you need all: %(bare)s of %(items)s have no answer yet; %(n)s may come.")
    elif out.gain < WORTH:
        said = _(
            "No: with %(n)s still to come, these results get about %(share)s more exact at most."
        )
    else:
        said = _("Yes: %(n)s of the %(wanted)s asked for can still change these results.")
    return f"{said % told} {when(out)}"


def none_come(out: StillOut) -> str:
    """Why there is nothing to wait for; "" where nothing was asked for."""
    if not out.wanted:
        return ""
    told = {"n": answers_in_words(out.task, out.wanted)}
    if out.n:
        return _("No: the task is closed, so nothing more comes in.")
    return _("No: all %(n)s that were asked for are in.") % told


def unmoved(out: StillOut) -> str:
    """That nothing comes by itself, and what is free to take."""
    told = {
        "n": answers_in_words(out.task, out.n),
        "wanted": count(out.wanted),
        "cost": out.price.words(out.n),
        "bare": count(out.bare),
        "items": items_in_words(out.task, out.items),
    }
    if not out.price.pay:
        said = _(
            "No: nobody works on it now and none came last week. Free to take: %(n)s of the "
            "%(wanted)s asked for; they are not paid."
        )
    elif out.bare:
        told["hours"] = plural(_hours(out), "hour")
        said = _(
            "Nothing comes by itself: nobody works on it now and none came last week, and %(bare)s "
            "of %(items)s have no answer yet. If you do not need these, close the task and keep "
            "%(cost)s. If you do, tell workers that it waits: the %(n)s still missing cost that "
            "much at most and take about %(hours)s of work. How soon workers come is not known."
        )
    else:
        said = _(
            "No: nobody works on it now and none came last week. Free to take: %(n)s of the "
            "%(wanted)s asked for, for %(cost)s at most. If you need no more, close the task to "
            "save that."
        )
    if out.bare and out.task.current:
        return f"{said % told} {whom(out.task, out.task.current.redundancy)}"
    return said % told


def _hours(out: StillOut) -> int:
    """Hours of work that all of it takes, by the times of the work so far."""
    assert out.task.current is not None  # noqa: S101 (nothing is asked for before it)
    number = out.task.current.number
    rows = out.task.items.in_version(number).filter(expected__isnull=True)
    spent = cost_of(out.task, out.task.current, rows, out.task.groups.in_version(number))
    return max(1, round(out.price.assignments(out.n) * spent.minutes / 60))


def when(out: StillOut) -> str:
    """How far what is still to come is, when it is there, and what it costs."""
    price = out.price
    told = {
        "working": answers_in_words(out.task, out.working),
        "assignments": plural(out.in_work, "assignment"),
        "due": moment(out.due),
        "free": answers_in_words(out.task, out.free),
        "cost": price.words(out.in_work * price.per_assignment + out.free),
        "saved": price.words(out.free),
    }
    said = []
    if out.in_work:
        said.append(_("In progress now: %(working)s in %(assignments)s, due by %(due)s."))
    if out.free and out.task.state == TaskState.PAUSED:
        said.append(_("The task is paused: open it again for %(free)s that nobody has taken."))
    elif out.free:
        said.append(_("Workers can still take %(free)s, which nobody works on now."))
        said.append(pace(price, out.free))
    if not price.pay:
        said.append(_("They are not paid."))
    elif not out.free:
        said.append(_("In all they cost %(cost)s at most: work in progress is paid."))
    elif out.in_work:
        said.append(
            _(
                "In all they cost %(cost)s at most, not spent yet. If you need no more, close the "
                "task to save %(saved)s of that: work in progress is paid."
            )
        )
    else:
        said.append(
            _(
                "In all they cost %(cost)s at most, not spent yet. If you need no more, close the "
                "task to save that."
            )
        )
    return " ".join(one % told for one in said)
