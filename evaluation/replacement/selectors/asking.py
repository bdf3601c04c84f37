"""What the page shows before people are asked about more items: cost, and what to expect."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, gettext_lazy

from annotation.models import Task
from annotation.work.snapshots import choices as collected
from crowdqc.errors import Conflict, DomainError, Invalid
from crowdqc.numbers import count, score
from evaluation.models import Run
from evaluation.replacement import next_items
from evaluation.replacement.selectors.naming import label_words, quantity_title
from evaluation.results.columns import Column, head_column
from evaluation.results.tables import plain_table

Told = Mapping[str, Any]
WAYS = (
    (
        next_items.UNSURE,
        gettext_lazy("Where the model is least sure"),
        gettext_lazy(
            "Narrows the estimate most. The verdict leaves these items out, because they "
            "are harder."
        ),
    ),
    (
        next_items.RANDOM,
        gettext_lazy("At random"),
        gettext_lazy("Helps the verdict and the estimate."),
    ),
)


def unlabelled_items(told: Told, model: int) -> int | None:
    """Count the items that the model labelled and people did not; None if unknown."""
    return min((row["rest"] for row in told["combined"] if row["model"] == model), default=None)


def offer(told: Told, at: int, model: int) -> dict[str, int]:
    """Return how many items people can be asked about beside a model, and its id; or {}."""
    rest = unlabelled_items(told, model)
    if rest is None:
        return {}
    needed = [row["needed"] for row in told["curve"] if row["model"] == model]
    items = next((row["items"] for row in told["model"] if row["model"] == model), 0)
    wanted = next_items.suggested(rest, needed[at] if needed else None, items)
    return {"model": told["frame"]["models"][model][0], "wanted": wanted} if wanted else {}


def chosen_of(
    told: Told, at: int, *, model: int | None, wanted: int | None, way: str, trusted: bool
) -> dict[str, Any]:
    """Return the options of the form as the action takes them; invalid ones become defaults."""
    systems = [pk for pk, _ in told["frame"]["models"]]
    system = model if model in systems else systems[0]
    usual = offer(told, at, systems.index(system)).get("wanted", next_items.USUAL)
    return {
        "system_id": system,
        "wanted": usual if wanted is None else wanted,
        "way": way if way in next_items.WAYS else next_items.UNSURE,
        "trusted": trusted,
    }


@dataclass(frozen=True)
class ExpectedWidth:
    """Half the width of an interval now and after more items, chosen and at random."""

    name: str
    now: str
    then: str
    random: str


def in_words(error: DomainError) -> str:
    """Return an error with the messages on its fields."""
    return " ".join([error.message, *getattr(error, "fields", {}).values()])


def page(task: Task, run: Run, told: Told, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context of the page that asks people about more items."""
    field = collected.field_of(task, told["frame"]["field"][0])
    context: dict[str, Any] = {
        "chosen": chosen,
        "models": told["frame"]["models"],
        "ways": WAYS,
    }
    try:
        found = next_items.candidates(task, field, chosen["system_id"])
        next_items.check_wanted(found, chosen["wanted"], chosen["way"])
    except (Conflict, Invalid) as problem:
        return context | {"why": in_words(problem)}
    may_trust = next_items.may_trust(task, field)
    trusted = chosen["trusted"] and may_trust
    expected = {
        way: dict(found.expected(chosen["wanted"], way, trusted=trusted))
        for way in (chosen["way"], next_items.RANDOM)
    }
    now = _half_widths(run, told, chosen["system_id"])
    words = label_words(run, told)
    rows = [
        ExpectedWidth(
            quantity_title(told, words, label),
            *map(_half, (now.get(label), half, expected[next_items.RANDOM][label])),
        )
        for label, half in expected[chosen["way"]].items()
    ]
    after = gettext("After %(wanted)s items") % {"wanted": count(chosen["wanted"])}
    columns = [
        head_column("name", field.label),
        Column.number("now", gettext("Now"), classes="dim nowrap"),
        Column.number("then", after, gettext("After"), is_main=True, classes="nowrap"),
        Column.number(
            "random",
            gettext("The same number at random"),
            gettext("At random"),
            classes="dim nowrap",
        ),
    ]
    title = gettext("Expected width of the interval of each label’s share")
    shown = columns if chosen["way"] != next_items.RANDOM else columns[:-1]
    return context | {
        "free": found.free,
        "may_trust": may_trust,
        "known": int(found.known.sum()),
        "table": plain_table(title, shown, rows, classes="data"),
        "cost": next_items.cost_of(task, chosen["wanted"]),
    }


def _half_widths(run: Run, told: Told, system: int) -> dict[int, float]:
    """Half the width of the run's intervals of people and the model together, by label."""
    place = [pk for pk, _ in told["frame"]["models"]].index(system)
    return {
        row["label"]: (row["both_high"] - row["both_low"]) / 2
        for row in told["combined"]
        if row["model"] == place and not row["reason"]
    }


def _half(value: float | None) -> str:
    return gettext("none") if value is None or math.isnan(value) else f"± {score(value, 3)}"
