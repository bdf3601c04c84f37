"""The labels of models beside those of people: rows of their own, which never vote.

A model is held against the labels that a run estimates from people's, and against known answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.models import Task
from annotation.work.snapshots import labels as collected
from annotation.work.snapshots.labels import SystemLabel
from crowdqc.numbers import count, plural
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.labels.selectors.study import ShownField, known_right
from evaluation.methods.core import units
from evaluation.models import ItemLabel, Run
from evaluation.results.cells import link, note_below
from evaluation.results.tables import Group

LEVEL = 0.95
STANDS_OUT = 3  # items from which a difference is named
NO_INTERVAL = (None, None)
Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class Share:
    """``right`` of ``n`` with Wilson's interval; none below the least number of items."""

    right: int
    n: int

    @property
    def value(self) -> float | None:
        """Return the share right, 0 to 1; None without an item."""
        return self.right / self.n if self.n else None

    @property
    def bounds(self) -> Bounds:
        """Lower and upper end of the Wilson interval; none for too few items."""
        if self.value is None or units.too_few_units(self.n, "items", units.SHARE):
            return NO_INTERVAL
        return units.wilson(self.value, self.n, LEVEL)

    @property
    def low(self) -> float | None:
        return self.bounds[0]

    @property
    def high(self) -> float | None:
        return self.bounds[1]


@dataclass(frozen=True)
class ModelRow:
    """A model under one prompt: ``same`` as the estimated labels, ``known`` answers right."""

    name: str
    strategy: str
    n: int
    estimate: float | None
    low: float | None
    high: float | None
    known: Share
    mistake: str
    plot: SafeString

    @property
    def known_right(self) -> SafeString:
        """Cell with the share of known answers that the model got right."""
        return known_right(self.known.right, self.known.n, *self.known.bounds)

    @property
    def label(self) -> SafeString:
        """Cell with the model's name and its prompt strategy below."""
        return note_below(self.name, self.strategy)


@dataclass
class _Held:
    """What one model's labels come to."""

    labels: list[SystemLabel] = field(default_factory=list)
    same: int = 0
    compared: int = 0
    differs: Counter[tuple[str, str]] = field(default_factory=Counter)
    of_class: Counter[str] = field(default_factory=Counter)


def model_rows(run: Run, shown: ShownField, scale: Scale) -> list[ModelRow]:
    """Make a row per model, those that agree most with the run first (3 queries)."""
    given = collected.system_labels(run.task, shown.collected)
    if not given:
        return []
    rows = ItemLabel.objects.filter(run=run).exclude(label="").values_list("item_id", "label")
    estimated = dict(rows)
    held: dict[int, _Held] = {}
    for one in given:
        own = held.setdefault(one.system_id, _Held())
        own.labels.append(one)
        label = estimated.get(one.item_id)
        if label is None:
            continue
        own.compared += 1
        own.of_class[label] += 1
        if label == one.code:
            own.same += 1
        else:
            own.differs[label, one.code] += 1
    made = [_row(own, shown, scale) for own in held.values()]
    return sorted(made, key=lambda row: (-(row.estimate or 0), row.name, row.strategy))


def _row(own: _Held, shown: ShownField, scale: Scale) -> ModelRow:
    first, same = own.labels[0], Share(own.same, own.compared)
    known = [one for one in own.labels if one.known]
    estimate = None if same.value is None else Estimate(same.value, *same.bounds)
    return ModelRow(
        name=first.system,
        strategy=first.strategy,
        n=len(own.labels),
        estimate=same.value,
        low=same.low,
        high=same.high,
        known=Share(sum(one.known == one.code for one in known), len(known)),
        mistake=_mistake(own, shown),
        plot=charts.forest_cell(scale, estimate, name=first.system, height=charts.TWO_LINES),
    )


def _mistake(own: _Held, shown: ShownField) -> str:
    """The most frequent difference from the estimated labels, in items."""
    if not own.differs:
        return _("no pattern")
    (label, code), n = max(own.differs.items(), key=lambda one: (one[1], one[0]))
    if n < STANDS_OUT:
        return _("no pattern")
    return _("%(label)s as %(code)s, %(n)s of %(of_class)s") % {
        "label": shown.word(label),
        "code": shown.word(code),
        "n": count(n),
        "of_class": count(own.of_class[label]),
    }


def group(task: Task, rows: Sequence[ModelRow]) -> list[Group]:
    """Return the models as a group below the workers; [] without models."""
    heading = _("%(models)s: share labelled as estimated from people; they never vote") % {
        "models": plural(len(rows), "model")
    }
    ask = link(
        reverse("replacement", args=[task.project_id, task.pk]),
        _("Can one replace an annotator?"),
        "",
    )
    return [Group(format_html("{}. {}", heading, ask), rows)] if rows else []


def labels_of_items(
    task: Task, shown: ShownField, item_ids: Collection[int]
) -> tuple[int, dict[int, list[dict[str, Any]]]]:
    """Count the models that labelled, and the labels they gave these items (two queries).

    Item -> each label with the number of models that give it, the most first.
    """
    given = collected.system_labels(task, shown.collected)
    wanted = set(item_ids)
    votes: dict[int, Counter[str]] = {}
    for one in given:
        if one.item_id in wanted:
            votes.setdefault(one.item_id, Counter())[one.code] += 1
    told = {
        item: [{"code": code, "label": shown.word(code), "n": n} for code, n in own.most_common()]
        for item, own in votes.items()
    }
    return len({one.system_id for one in given}), told
