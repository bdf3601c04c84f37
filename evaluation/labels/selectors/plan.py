"""The Plan page of a labels task: share of right labels by workers per item."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.authoring.selectors.cost import count_taken
from annotation.models import Task
from annotation.work.snapshots import labels as collected
from crowdqc.numbers import count, decimal, interval, money, percent, plural, score
from evaluation.charts.labels import Reached, reached_curves
from evaluation.labels import planning
from evaluation.labels.planning import BOUND, REPLICATES, Plan, Row
from evaluation.methods.core.base import BadParameter
from evaluation.methods.core.params import Param, real_number, whole_number
from evaluation.models import Run
from evaluation.runs.planning.precision import Planner, PlanPage
from evaluation.runs.planning.price import Answers, Price, price_of
from evaluation.runs.selectors import lists
from evaluation.runs.study_state import read_slots

ITEMS, MOST_ITEMS = 100, 10_000_000  # where the task has none yet; that are priced
TARGET = real_number(
    "target",
    95,
    50,
    99.9,
    label=gettext_noop("Wanted"),
    help=gettext_noop("Share of labels that should be right."),
)


class LabelPlanner(Planner):
    """Plan for labels: workers per item needed, with a run's workers or an assumed accuracy."""

    lead = gettext_lazy("How many workers per item, for which share of right labels.")
    limits = gettext_lazy(
        "Items are taken to be equally hard, and workers’ mistakes to be independent. Real items "
        "differ, so real shares are often lower."
    )
    units = {"target": "%", "accuracy": "%"}

    def can_plan(self, task: Task) -> bool:
        return bool(collected.fields_of(task.version_or_draft()))

    def options(self, task: Task, run: Run | None) -> tuple[Param, ...]:
        usual = None if run is not None else round(100 * planning.USUAL)
        said = (
            _("Empty: as in the run.")
            if run is not None
            else _("A guess until a run has estimated it.")
        )
        accuracy = real_number("accuracy", usual, 1, 99, label=_("Single labels right"), help=said)
        there = count_items(task)
        items = whole_number("items", there or ITEMS, 1, MOST_ITEMS, label=_("Items"))
        per_worker = whole_number(
            "per_worker",
            max(2, min(planning.PER_WORKER, there or ITEMS)),
            2,
            1000,
            label=_("Labels per worker"),
            help=_("More labels tell more of a worker."),
        )
        price = price_of(task, task.version_or_draft()).options(_("Pay per label"))
        return items, TARGET, accuracy, per_worker, *price

    def page(self, task: Task, run: Run | None, values: Mapping[str, Any]) -> PlanPage:
        target = values["target"] / 100
        price = price_of(task, task.version_or_draft()).given(values)
        found = _plan(task, run, values)
        there = labels_of(task, values["items"])
        cost = Cost(price, values["items"], values["per_worker"], *there)
        verdict, note = verdict_of(found, target, cost)
        majority = [
            Reached(row.votes, row.majority, row.majority_low, row.majority_high)
            for row in found.rows
        ]
        modelled = [
            Reached(row.votes, row.dawid_skene, row.low, row.high)
            for row in found.rows
            if row.dawid_skene is not None and row.low is not None and row.high is not None
        ]
        last = modelled[-1]
        sentence = _(
            "Share of right labels by workers per item; with %(votes)s: %(modelled)s by "
            "Dawid-Skene, %(majority)s by majority vote"
        ) % {
            "votes": last.votes,
            "modelled": percent(last.share),
            "majority": percent(majority[-1].share),
        }
        studies = _("%(inner)s of %(studies)s simulated studies") % {
            "inner": round(0.95 * REPLICATES),
            "studies": REPLICATES,
        }
        return PlanPage(
            verdict,
            note,
            _("Share of right labels"),
            found.crowd,
            reached_curves(
                modelled, majority, target=target, axis=_("workers per item"), sentence=sentence
            ),
            (
                ("interval", _("Dawid-Skene, with %(studies)s") % {"studies": studies}),
                ("diamond", _("majority vote")),
                ("reference", _("wanted, %(target)s") % {"target": percent(target)}),
            ),
            (
                *(_("Workers per item"), "Dawid-Skene", studies, _("Majority vote"), studies),
                *(_("Labels"), _("Cost"), _("Workers")),
                *([_("Days")] if price.a_day else []),
            ),
            [[*_cells(row), *cost.cells(row.votes)] for row in found.rows],
            found.recipe,
        )


@dataclass(frozen=True)
class Cost:
    """What a number of workers per item costs, and what it takes."""

    price: Price
    items: int
    per_worker: int
    given: int = 0  # labels that the items have together
    taken: int = 0  # assignments of these labels, and those in progress

    def missing(self, votes: int) -> Answers:
        """Return the labels that are missing until every item has so many."""
        return Answers(votes * self.items - self.given, self.items, votes, self.taken)

    def people(self, votes: int) -> int:
        """Number of people needed for so many votes per item."""
        return max(votes, math.ceil(votes * self.items / self.per_worker))

    def total(self, votes: int) -> str:
        """With the platform's fee, by whole assignments."""
        return money(self.price.cost(Answers.fill_items(votes, self.items)), self.price.currency)

    def cells(self, votes: int) -> list[tuple[str, str]]:
        """Cells of the plan's table: labels, cost, people and, where a pace is given, days."""
        labels = Answers.fill_items(votes, self.items)
        days = [(count(self.price.days(labels)), "")] if self.price.a_day else []
        return [
            (count(labels.n), ""),
            (self.total(votes), "l1r"),
            (count(self.people(votes)), ""),
            *days,
        ]


def _with_error(row: Row) -> str:
    """The share with the error of the simulation, by which the verdict is decided."""
    told = score(row.dawid_skene, 3)
    return told if row.error is None else f"{told} ±{score(BOUND * row.error, 3)}"


def _cells(row: Row) -> list[tuple[str, str]]:
    none = row.dawid_skene is None
    return [
        (str(row.votes), ""),
        (_("needs 2"), "dim") if none else (_with_error(row), "l1r"),
        ("" if row.low is None else interval(row.low, row.high, 2), "dim"),
        (score(row.majority, 2), ""),
        (interval(row.majority_low, row.majority_high, 2), "dim"),
    ]


def _plan(task: Task, run: Run | None, values: Mapping[str, Any]) -> Plan:
    """Plan by the stated accuracy, else the run's, else the usual accuracy. Raises BadParameter."""
    sizes = {"items": values["items"], "per_worker": values["per_worker"]}
    accuracy = values["accuracy"]
    if run is not None and accuracy is None:
        prevalence = [one["prevalence"] for one in lists.figures_of(run, "class")["class"]]
        pool = planning.pool_of(run, prevalence)
        if pool is not None:
            people = plural(len(pool.size), "worker")
            crowd = _("%(people)s of run %(run)s, by their confusion matrices") % {
                "people": people,
                "run": run.number,
            }
            return planning.plan(pool, crowd, f"run:{run.pk}:{run.result_hash}", **sizes)
    fields = collected.fields_of(task.version_or_draft())
    wanted = run.params.get("field") if run is not None else ""
    field = next((one for one in fields if wanted in ("", None, one.name)), None)
    if field is None:
        raise BadParameter(_("the task has no field in which one option is chosen"))
    share = planning.USUAL if accuracy is None else accuracy / 100
    return planning.stated(share, len(field.options), **sizes)


def count_items(task: Task) -> int:
    """Count the items that workers label, those with known answers aside."""
    version = task.version_or_draft()
    return task.items.in_version(version.number).filter(expected__isnull=True).count()


def labels_of(task: Task, items: int) -> tuple[int, int]:
    """Return how many labels the items have, and in how many assignments; 0 of other items."""
    version = task.version_or_draft()
    slots = read_slots(task, version)
    return (slots.given, count_taken(task, version)) if slots.items == items else (0, 0)


def verdict_of(found: Plan, target: float, cost: Cost) -> tuple[str, str]:
    """Say how many labels items have, how many they need, and what the missing ones cost.

    On average and in 95 % of studies.
    """
    mean, sure = found.least(target), found.least(target, sure=True)
    most = found.rows[-1].votes
    wanted = percent(target)
    if mean is None:
        last = found.rows[-1]
        return (
            _("%(most)s workers per item do not reach %(wanted)s right labels.")
            % {"most": most, "wanted": wanted},
            _(
                "They reach about %(reached)s by Dawid-Skene. More reliable workers bring more "
                "than more labels."
            )
            % {"reached": percent(last.dawid_skene or last.majority)},
        )
    given, missing = cost.given, cost.missing(mean)
    values = {
        "needed": plural(mean, "label"),
        "number": count(mean),
        "wanted": wanted,
        "given": _labels_each(given / cost.items),
    }
    if missing.n <= 0:
        verdict = _(
            "Items have %(given)s each. %(number)s are enough for %(wanted)s right labels on "
            "average."
        )
        return verdict % values, ""
    verdict = _(
        "Items need %(needed)s each for %(wanted)s right labels on average. That costs %(cost)s."
    )
    if given:
        verdict = _(
            "Items have %(given)s each and need %(number)s for %(wanted)s right labels on average. "
            "%(missing)s cost %(cost)s."
        )
    known = {**values, "missing": plural(missing.n, "more label")}
    verdict %= {**known, "cost": cost.price.limit(missing)}
    close = _nearly(found, target, mean)
    if sure is None:
        note = _("No number up to %(most)s reaches that in nearly all simulated studies.")
        return verdict, close + note % {"most": most}
    if sure == mean:
        return verdict, close + _("Nearly all simulated studies reach that.")
    note = _("With %(labels)s each nearly all simulated studies reach that, for %(cost)s.")
    values = {
        "labels": plural(sure, "label"),
        "cost": cost.price.limit(cost.missing(sure)),
    }
    return verdict, close + note % values


def _labels_each(mean: float) -> str:
    """The labels of an item on average, with a decimal where items differ."""
    whole = round(mean, 1)
    if whole == int(whole):
        return plural(int(whole), "label")
    return _("%(mean)s labels") % {"mean": decimal(whole, 1)}


def _nearly(found: Plan, target: float, mean: int) -> str:
    """Name the fewer labels whose simulated share is above the target but within its error."""
    above = [
        row.votes
        for row in found.rows
        if row.votes < mean and row.dawid_skene is not None and row.dawid_skene >= target
    ]
    if not above:
        return ""
    labels = plural(min(above), "label")
    return _("%(labels)s may be enough; the simulation cannot tell.") % {"labels": labels} + " "
