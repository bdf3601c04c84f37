"""What a link shows of a label study to people without an account: no names or answers.

Items with their labels are shown where the requester allowed it for this link.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crowdqc.numbers import count, probability, score
from evaluation.labels.columns import LABEL
from evaluation.labels.results import SURE
from evaluation.labels.selectors import decisions, findings, study, tables
from evaluation.labels.selectors import workers as worker_reads
from evaluation.labels.selectors.study import ShownField
from evaluation.models import ItemLabel, LabelDecision, Run
from evaluation.results.cells import empty_cell
from evaluation.results.columns import Column, head_column
from evaluation.results.findings import arrange
from evaluation.results.shared_items import FEWEST, NOT_SHOWN, SharedItems, can_show_votes
from evaluation.results.tables import plain_table
from evaluation.runs.results import votes_used
from evaluation.runs.selectors import lists as reads

PER_PAGE = 50
METHOD = gettext_lazy(
    "People chose one label per item. %(model)s estimates the items’ labels together with how "
    "often each worker is right. The interval shows how sure that is."
)


def parts(run: Run, page: Any) -> dict[str, Any]:
    """Return what a shared link shows: verdict, agreement, methods, board of numbered workers."""
    rows = worker_reads.grouped(worker_reads.rows_of(run))
    for place, row in enumerate(rows, 1):
        row.id, row.name = 0, _("Worker %(place)s") % {"place": place}
    names = (*study.FIGURES, *worker_reads.FIGURES, *tables.COMPARE)
    told = reads.figures_of(run, *names)
    found = worker_reads.worker_list(run, rows, ShownField.of(told), page=page)
    if len(rows) < FEWEST:
        for row in rows:
            row.n = None
    return {
        **found,
        "tables": [found["table"]],
        "rows": rows,
        "screen": arrange(
            [
                findings.verdict_of(run, told, worker_reads.count_reliable(run, rows)),
                *findings.public_warnings(told, rows),
            ]
        ),
        "method": METHOD % {"model": "MACE" if found["by_mace"] else "Dawid-Skene"},
        "measure": _("Competence"),
        "units": "label,labels",
        "notes": [],
        "basis": study.basis(run, told),
        "agreement": tables.rail_agreement(told),
        "methods": tables.compare(told, worker_reads.single_labels(rows)),
        "tally": votes_used.tally_of(told),
        "recipe": reads.recipe_pairs(run, told.get("recipe")),
    }


@dataclass(frozen=True)
class SharedLabel:
    """An item as a link shows it: its text, the label, and how many workers gave each.

    Where votes would tell what one worker answered, there are none, and ``certainty`` says only
    whether it is at least SURE.
    """

    text: str
    votes: str
    label: str
    by_hand: bool
    certainty: float | None


def _certainty(row: SharedLabel) -> SafeString | str:
    if row.by_hand:
        return _("by hand")
    if row.certainty is None:
        return empty_cell()
    if row.votes:
        return probability(row.certainty)
    return f"{'≥' if row.certainty >= SURE else '<'}\N{NO-BREAK SPACE}{score(SURE, 2)}"


ITEMS = (
    head_column(
        "text",
        gettext_lazy("Item"),
        html=lambda row: format_html('<span dir="auto">{}</span>', row.text),
        classes="grow",
    ),
    Column.text(
        "votes",
        gettext_lazy("Votes"),
        gettext_lazy("Votes"),
        html=lambda row: format_html("<bdi>{}</bdi>", row.votes or NOT_SHOWN),
        classes="full",
    ),
    Column.text(
        "label",
        gettext_lazy("Label"),
        gettext_lazy("Label"),
        html=lambda row: format_html("<bdi>{}</bdi>", row.label),
        classes="l1r",
    ),
    Column.number("certainty", gettext_lazy("Certainty"), html=_certainty),
)


def shared_items(run: Run, query: Mapping[str, str]) -> SharedItems:
    """Return the items for a link, in their order, without those of known answers."""
    labels = ItemLabel.objects.filter(run=run, item__expected__isnull=True)
    rows = labels.annotate(**LABEL).select_related("item")
    page = Paginator(rows.order_by("item__position", "item_id"), PER_PAGE).get_page(
        query.get(SharedItems.PAGE)
    )
    field = ShownField.of(reads.figures_of(run, *study.FIGURES))
    found = list(page.object_list)
    by_hand = decisions.standing(field.name, [row.item_id for row in found])
    listed = [_shared_label(row, field, by_hand.get(row.item_id)) for row in found]
    return SharedItems(page, plain_table(_("Items with their labels"), ITEMS, listed))


def _shared_label(row: Any, field: ShownField, decision: LabelDecision | None) -> SharedLabel:
    votes = row.extra.get("votes", {})
    shows = can_show_votes(votes.values())
    given = [f"{label} {count(votes[code])}" for code, label in field.options if votes.get(code)]
    label = decision.label if decision else row.item_label
    return SharedLabel(
        text=row.item.question or row.item.key,
        votes=", ".join(given) if shows else "",
        label=field.word(label) if label else "",
        by_hand=decision is not None,
        certainty=None if decision else row.extra.get("posterior"),
    )
