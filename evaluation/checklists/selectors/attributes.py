"""The attributes of a think-aloud task: whose they are, how different, and on which topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext as _

from annotation.models import Item, Task
from annotation.work.snapshots.attributes import AttributeRow, counting_attributes
from crowdqc.numbers import count, interval, percent, plural, score
from evaluation.charts.svg import image, line, px
from evaluation.checklists.making import pipeline
from evaluation.checklists.making.diversity import FIGURE
from evaluation.checklists.messages import MESSAGES
from evaluation.methods.checklists import attribute_diversity as method
from evaluation.methods.core.inference import normal_quantile
from evaluation.models import Run
from evaluation.results.findings import Action, Screen, arrange
from evaluation.runs import schedules
from evaluation.runs.selectors import lists as runs
from evaluation.runs.selectors.verdicts import Verdict, sides_of_zero

MEASURES = (("rouge", "ROUGE-L"), ("jaccard", "Jaccard"), ("cosine", gettext_noop("Cosine")))
CONDITIONS = {
    method.ONE_PERSON: gettext_noop("One person"),
    method.ONE_MODEL: gettext_noop("One model"),
    method.PEOPLE: gettext_noop("Several people"),
    method.MODELS: gettext_noop("Several models"),
    method.COMBINED: gettext_noop("People and models combined"),
}


@dataclass(frozen=True)
class Dimension:
    """One dimension: its attributes by author, and what the newest run says of them."""

    title: str
    authors: list[tuple[str, str, list[str]]]  # author, kind, attributes
    lines: list[dict[str, Any]]
    sentences: list[str]
    topics: list[list[str]]
    no_topics: str

    @property
    def n(self) -> int:
        return sum(len(texts) for _, _, texts in self.authors)


@dataclass(frozen=True)
class Page:
    """Everything that was thought aloud in a task."""

    dimensions: list[Dimension]
    people: int
    models: int
    attributes: int
    run: Run | None
    active: Run | None
    fresh: Any
    recipe: list[tuple[str, str]]
    screen: Screen

    @property
    def sentence(self) -> str:
        """Sentence on the number of attributes, people, models and dimensions."""
        if self.people and self.models:
            said = gettext("%(attributes)s of %(people)s and %(models)s on %(dimensions)s.")
        elif self.models:
            said = gettext("%(attributes)s of %(models)s on %(dimensions)s.")
        else:
            said = gettext("%(attributes)s of %(people)s on %(dimensions)s.")
        return said % {
            "attributes": plural(self.attributes, "attribute"),
            "people": plural(self.people, "person", "people"),
            "models": plural(self.models, "model"),
            "dimensions": plural(sum(one.n > 0 for one in self.dimensions), "dimension"),
        }


def page(task: Task, number: int | None = None) -> Page:
    """Return the page of attributes by dimension and author, with the run's figures."""
    excluded = set(task.exclusions.in_force().values_list("worker_id", flat=True))
    rows = [row for row in counting_attributes(task) if row.worker_id not in excluded]
    names = pipeline.author_names(rows)
    items = Item.objects.filter(pk__in={row.item_id for row in rows}).select_related("group")
    run = runs.shown_run(task, number)
    told = runs.figures_of(run, FIGURE, "recipe") if run is not None else {}
    found = {one["dimension"]: one for one in told.get(FIGURE, {}).get("dimensions", [])}
    made = []
    for item in sorted(items, key=lambda item: (item.position, item.pk)):
        title = pipeline.subject_of(item).dimension
        made.append(
            _dimension(
                title, [row for row in rows if row.item_id == item.pk], names, found.get(title)
            )
        )
    active = task.runs.filter(method=method.NAME, state__in=runs.ACTIVE).first()
    return Page(
        made,
        len({row.worker_id for row in rows} - {None}),
        len({row.system_id for row in rows} - {None}),
        len(rows),
        run,
        active,
        schedules.count_new_answers(task, run) if task.current is not None else None,
        runs.recipe_pairs(run, told.get("recipe")) if run is not None else [],
        _screen(task, more_diverse([one["differences"] for one in found.values()]))
        if rows
        else Screen(),
    )


def _screen(task: Task, verdict: Verdict) -> Screen:
    url = reverse("checklist_new", args=[task.project_id, task.pk])
    action = Action(_("New checklist"), url, requester=True)
    return arrange([verdict.finding("diversity"), MESSAGES.find("make_checklist", action=action)])


def more_diverse(dimensions: Sequence[Mapping[str, Any]]) -> Verdict:
    """Count the dimensions on which every measure shows one side's attributes to be more diverse.

    ``dimensions`` are differences of similarity, people minus models, by measure. Their intervals
    are widened to hold over all dimensions at once (Bonferroni).
    """
    compared = [list(one.values()) for one in dimensions if one]
    if not compared:
        return Verdict(
            _("People’s and models’ attributes are too few to compare."),
            _("Each side needs ten on a dimension, not all equally alike."),
        )
    wider = normal_quantile(0.95, len(compared)) / normal_quantile(0.95)
    sides = [sides_of_zero([_widened(row, wider) for row in one]) for one in compared]
    models = sum(up == len(one) for (up, _down), one in zip(sides, compared, strict=True))
    people = sum(down == len(one) for (_up, down), one in zip(sides, compared, strict=True))
    told = {"people": count(people), "models": count(models), "of": count(len(compared))}
    if not people and not models:
        return Verdict(_("Attributes of people and of models cannot be separated by diversity."))
    if not models:
        said = _("Attributes of people are more diverse on %(people)s of %(of)s dimensions.")
    elif not people:
        said = _("Attributes of models are more diverse on %(models)s of %(of)s dimensions.")
    else:
        said = _(
            "Attributes of people are more diverse on %(people)s of %(of)s dimensions, those of "
            "models on %(models)s."
        )
    return Verdict(said % told, _("A dimension counts where every measure says so."))


def _widened(row: Mapping[str, Any], factor: float) -> tuple[float, float]:
    middle, reach = (row["high"] + row["low"]) / 2, (row["high"] - row["low"]) / 2 * factor
    return middle - reach, middle + reach


def _dimension(
    title: str, rows: list[AttributeRow], names: Mapping[Any, str], told: Mapping[str, Any] | None
) -> Dimension:
    held: dict[tuple[bool, str], list[str]] = {}
    for row in rows:
        key = (row.system_id is not None, names[row.worker_id, row.system_id])
        held.setdefault(key, []).append(row.text)
    authors = [
        (name, gettext("model") if model else gettext("person"), texts)
        for (model, name), texts in sorted(held.items())
    ]
    if told is None:
        return Dimension(title, authors, [], [], [], "")
    lines = [_line(one) for one in told["conditions"]]
    return Dimension(title, authors, lines, sentences(told), told["topics"], told["no_topics"])


def _line(one: Mapping[str, Any]) -> dict[str, Any]:
    cells = [(gettext(label), _cell(one[name])) for name, label in MEASURES]
    spread = one["spread"]
    words = ""
    if spread is not None:
        words = gettext("spread %(spread)s, by chance %(chance)s") % {
            "spread": score(spread["sd"], 2),
            "chance": score(spread["chance_sd"], 2),
        }
    # One condition of a dimension.
    return {
        "condition": gettext(CONDITIONS[one["condition"]]),
        "author": one["author"],
        "n": one["n"],
        "cells": cells,
        "spread": spread,
        "bars": bars(spread["share"]) if spread is not None else "",
        "spread_words": words,
    }


def _cell(told: Mapping[str, Any]) -> dict[str, Any]:
    if told["estimate"] is None:
        return {"value": gettext("none"), "interval": "", "reason": told["reason"]}
    inside = interval(told["low"], told["high"], 2) if told["low"] is not None else ""
    # A figure with its interval, or why there is none.
    return {"value": score(told["estimate"], 2), "interval": inside, "reason": told["reason"]}


WIDTH, HEIGHT, GAP = 18.0, 28.0, 4.0


def bars(share: list[float]) -> SafeString:
    """Draw one bar per topic, as high as its share of the attributes."""
    total = len(share) * (WIDTH + GAP) - GAP
    columns = [
        f'<rect class="c1 shape" x="{px(at * (WIDTH + GAP))}" y="{px(HEIGHT - HEIGHT * one)}" '
        f'width="{px(WIDTH)}" height="{px(HEIGHT * one)}"/>'
        for at, one in enumerate(share)
    ]
    base = line("0", HEIGHT, px(total), HEIGHT, "base")
    said = ", ".join(
        gettext("topic %(topic)s: %(share)s") % {"topic": at, "share": percent(one)}
        for at, one in enumerate(share, 1)
    )
    return image("".join(columns) + base, sentence=said, width=total, height=HEIGHT + 1)


def sentences(told: Mapping[str, Any]) -> list[str]:
    """Describe the differences in diversity on a dimension, as sentences."""
    made = []
    for name, label in MEASURES:
        one = told["differences"].get(name)
        if one is None:
            continue
        inside = interval(one["low"], one["high"], 2)
        by = score(one["estimate"], 2)
        made.append(
            gettext("%(label)s, people less models: %(by)s (%(inside)s).")
            % {"label": label, "by": by, "inside": inside}
        )
    if not told["differences"] and told["conditions"]:
        made.append(
            gettext(
                "People and models are compared once each side has ten attributes, not all "
                "equally alike."
            )
        )
    spread = [
        one
        for one in told["conditions"]
        if one["spread"] and one["condition"] in (method.PEOPLE, method.MODELS, method.COMBINED)
    ]
    if spread:
        even = min(spread, key=lambda one: one["spread"]["sd"] / one["spread"]["chance_sd"])
        told_of = even["spread"]
        made.append(
            gettext(
                "Held against chance for sets of their size, the attributes of “%(condition)s” "
                "are spread the most evenly over the topics (%(spread)s against %(chance)s). This "
                "describes the sets; it has no interval."
            )
            % {
                "condition": gettext(CONDITIONS[even["condition"]]).lower(),
                "spread": score(told_of["sd"], 2),
                "chance": score(told_of["chance_sd"], 2),
            }
        )
    return made
