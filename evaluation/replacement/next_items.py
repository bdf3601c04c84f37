"""Which items people should see next: who may be drawn, with which chance, and what to expect."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import System, Task
from annotation.models.tasks import TaskState
from annotation.work.snapshots import choices as collected
from annotation.work.snapshots.choices import ChoiceField
from crowdqc.errors import Conflict, Invalid
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.replacement import active
from evaluation.methods.replacement.active import BoolArray
from evaluation.methods.replacement.combined import LABELS
from evaluation.methods.replacement.data import ACCURACY, Beside
from evaluation.models import AdaptivePlan
from evaluation.replacement import dataset
from evaluation.replacement.dataset import ChoicesDataset
from evaluation.runs.adapters import adapter_of
from evaluation.runs.planning.price import Answers, price_of

UNSURE, RANDOM = "unsure", "random"
WAYS = {UNSURE: active.MIX, RANDOM: 1.0}  # the share of the equal chance in each
USUAL, MOST = 100, 5000  # items to ask about, if nobody says
OF_TEXTS = gettext_lazy(
    "Items cannot be chosen for answers in own words. A choice pays off where a model’s answers "
    "stand in for a share or a mean, weighted by each item’s chance; texts have neither. Let "
    "people answer more items in random order instead; they all count in the test."
)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Items beside a model: (n,) which people labelled, which not, and how like each other.

    ``at``: the model's index in the data. ``items`` are ids, ``place`` indices of the data.
    """

    frozen: ChoicesDataset
    at: int
    items: tuple[int, ...]
    place: IntArray
    known: BoolArray
    group: IntArray
    doubt: FloatArray
    redundancy: int

    @property
    def free(self) -> int:
        """Number of items that can be drawn."""
        return int((~self.known).sum())

    def people_labels(self, label: int) -> tuple[FloatArray, FloatArray]:
        """Return people's mean of a quantity on each item (n,), 0 without any; and the model's.

        And the model's.
        """
        data, size = self.frozen.data, self.frozen.data.model.shape[1]
        people, models = data.quantity(label)
        given = np.bincount(data.item, minlength=size).clip(1)
        mean = np.bincount(data.item, people, minlength=size) / given
        return mean[self.place], models[self.at][self.place]

    def errors(self) -> FloatArray:
        """Return the model's expected squared error on each item (n,)."""
        data, size = self.frozen.data, self.frozen.data.model.shape[1]
        own = data.model[self.at][data.item]
        if data.score == ACCURACY:
            off = (data.value != own).astype(float)
        elif data.lines:
            yes, there = data.said_yes(), ~np.isnan(own)
            lists = (data.value, np.where(there, own, data.value))
            people, model = (yes[one.astype(np.int64)] for one in lists)
            off = (people != model).mean(axis=1)
        else:
            difference = np.nan_to_num(data.value - own)
            off = (difference - difference[~np.isnan(own)].mean()) ** 2
        given = np.bincount(data.item, minlength=size).clip(1)
        squares = (np.bincount(data.item, off, minlength=size) / given)[self.place]
        return active.expected_errors(self.group, self.known, squares, self.doubt)

    def chances(self, wanted: int, way: str) -> FloatArray:
        """The probability (n,) of each item, 1 where people labelled it already."""
        found = np.ones(len(self.items))
        errors = self.errors()[~self.known]
        found[~self.known] = active.chances(errors, wanted, mix=WAYS[way])
        return found

    def expected(self, wanted: int, way: str, *, trusted: bool) -> list[tuple[int, float]]:
        """Half the width of the interval to expect, by label (-1 for a mean)."""
        chance = self.chances(wanted, way)
        found = []
        for label in self.frozen.data.quantities:
            people, judge = self.people_labels(label)
            half = active.expected_half(
                people, judge, self.known, self._squares, chance, trusted=trusted
            )
            found.append((label, half))
        return found

    def _squares(self, squares: FloatArray) -> FloatArray:
        return active.expected_errors(self.group, self.known, squares, self.doubt)


def candidates(task: Task, field: ChoiceField, system_id: int) -> Candidates:
    """The items that the model labelled, as they stand now.

    Raises Conflict where the task is closed or spends its answers by a plan, Invalid where the
    model labelled nothing.
    """
    if task.current is None or task.state not in (TaskState.OPEN, TaskState.PAUSED):
        raise Conflict(_("Open the task first; nobody can answer its items now."))
    if AdaptivePlan.objects.filter(task=task, enabled=True).exists():
        raise Conflict(_("Adaptive collection decides where answers go. Switch it off first."))
    rows = collected.choices_of(task, field, adapter_of(task).counting_rows(task))
    names = dataset.names_of(rows)
    if system_id not in names:
        raise Invalid(
            _("This model labelled nothing here."), fields={"model": _("Choose another.")}
        )
    frozen = dataset.to_arrays(rows, field, names)
    shown = task.items.in_version(task.current.number).filter(expected__isnull=True, repeat=False)
    live = set(shown.values_list("pk", flat=True))
    at = frozen.systems.index(system_id)
    own, size = frozen.data.model[at], frozen.data.model.shape[1]
    given = np.bincount(frozen.data.item, minlength=size) > 0
    usable = ~np.isnan(own) & (given | np.array([pk in live for pk in frozen.items]))
    place = np.flatnonzero(usable)
    others = np.delete(frozen.data.model, at, axis=0)[:, place]
    group, doubt = _groups(frozen.data, own[place], others)
    return Candidates(
        frozen=frozen,
        at=at,
        items=tuple(frozen.items[one] for one in place),
        place=place,
        known=given[place],
        group=group,
        doubt=doubt,
        redundancy=task.current.redundancy,
    )


def _groups(data: Beside, own: FloatArray, others: FloatArray) -> tuple[IntArray, FloatArray]:
    if not data.lines:
        return active.group_items(own, others)
    yes = data.said_yes()
    lists = np.where(np.isnan(others), 0, others).astype(np.int64)
    known = np.where(np.isnan(others)[:, :, None], np.nan, yes[lists])
    return active.group_lists(yes[own.astype(np.int64)], known)


def system_named(task: Task, name: str) -> int:
    """The id of the project's system of this name, with or without its prompt strategy.

    Raises Invalid where there is none, or several.
    """
    systems = list(System.objects.filter(project=task.project_id))
    named = [one.pk for one in systems if str(one) == name]
    named = named or [one.pk for one in systems if one.name == name]
    if len(named) != 1:
        said = (
            _("Several are called “%(name)s”: add the prompt strategy.")
            if named
            else _("The project has none called “%(name)s”.")
        )
        raise Invalid(_("Name one model."), fields={"model": said % {"name": name}})
    return named[0]


def check_wanted(found: Candidates, wanted: int, way: str) -> None:
    """Raise Invalid, which names the field, where so many cannot be drawn this way."""
    most = min(found.free, MOST)
    if most < LABELS:
        raise Invalid(
            _(
                "Only %(free)s items are left that the model labelled and nobody else; an "
                "interval needs %(least)s."
            )
            % {"free": found.free, "least": LABELS},
            fields={"wanted": _("Let the model label more items first.")},
        )
    if not LABELS <= wanted <= most:
        said = _("From %(least)s to %(most)s.") % {"least": LABELS, "most": most}
        raise Invalid(_("The number of items is out of range."), fields={"wanted": said})
    if way not in WAYS:
        raise Invalid(_("There is no such way to choose."), fields={"way": ", ".join(WAYS)})


def suggested(free: int, needed: float | None, items: int) -> int:
    """Suggest how many items to ask about: enough to decide the test; 0 if too few are free."""
    wanted = math.ceil(needed - items) if needed and needed > items else USUAL
    return min(max(wanted, LABELS), free, MOST) if free >= LABELS else 0


def may_trust(task: Task, field: ChoiceField) -> bool:
    """Whether what people labelled can be a random part: not where items were chosen as hard."""
    return not any(one.recipe.get("mix", 1.0) < 1 for one in dataset.draws_of(task, field))


def cost_of(task: Task, wanted: int) -> dict[str, Any]:
    """Answers, and at most the assignments, pay and cost of so many items, by the version in force.

    The cost holds the platform's fee; bonuses are in none of them.
    """
    version = task.current
    assert version is not None  # noqa: S101 (candidates refuses others)
    price, more = price_of(task, version), Answers.fill_items(version.redundancy, wanted)
    assignments = price.assignments(more)
    return {
        "answers": more.n,
        "assignments": assignments,
        "pay": price.pay * assignments,
        "cost": price.cost(more),
        "redundancy": version.redundancy,
    }
