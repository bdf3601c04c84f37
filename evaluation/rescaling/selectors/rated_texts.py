"""The texts of a rating task one by one: mean on a scale, its interval, and how many rated it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.core.paginator import Page, Paginator
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Candidate, ChoiceValue, Item
from annotation.work.snapshots.judgments import AskedDimension
from evaluation.charts import boards as charts
from evaluation.charts.boards import Scale
from evaluation.methods.rescaling.ratings import DEFAULTS, text_interval
from evaluation.models import CandidateScore, Run
from evaluation.pairwise.selectors.names import is_generated_id
from evaluation.pairwise.selectors.runs import dimensions
from evaluation.results.cells import link
from evaluation.results.columns import PLOT, Column, head_column, interval_column
from evaluation.results.estimates import EstimateRow, drawn
from evaluation.results.shared_items import NOT_SHOWN, SharedItems, can_show_votes
from evaluation.results.stored_texts import translate_stored
from evaluation.results.tables import ResultTable, plain_table

PER_PAGE = 50
BEGINNING = 80  # characters of a text


def _beginning(row: EstimateRow) -> SafeString:
    """The beginning of a text, which may take several lines, with the way to its item."""
    return link(row.url, row.name, "")


COLUMNS = (
    head_column("name", gettext_lazy("Text"), html=_beginning, note="detail"),
    PLOT,
    Column.score("estimate", gettext_lazy("Mean"), is_main=True),
    interval_column(needs_interval=False, reason="why"),
    Column.count("n", gettext_lazy("Ratings"), missing=NOT_SHOWN),
)


def texts(
    run: Run, scale: AskedDimension, page: Any, *, public: bool = False
) -> tuple[Page[Any], ResultTable]:
    """Return a page of a run's texts, the highest mean on the scale first (four queries).

    ``public``: of texts that workers wrote it has the id alone, and the mean alone where more
    would tell what one worker answered.
    """
    scores = CandidateScore.objects.filter(run=run, dimension=scale.name)
    ordered = scores.order_by("-estimate", "candidate_id").values_list(
        "candidate_id", "estimate", "n"
    )
    shown = Paginator(ordered, PER_PAGE).get_page(page)
    ids = [pk for pk, _mean, _n in shown.object_list]
    said = _ratings(run, scale.name, ids)
    known = Candidate.objects.in_bulk(ids)
    places = {pk: min(ratings) for pk, ratings in said.items()}
    items = dict(Item.objects.filter(pk__in=places.values()).values_list("pk", "key"))
    level = {**DEFAULTS, **run.params}["level"]
    rows = []
    for pk, mean, given in shown.object_list:
        n: int | None = given
        ratings, text = said.get(pk, {}), known[pk]
        values = np.array([one for own in ratings.values() for one in own]) / scale.factor
        points = [point / scale.factor for point in scale.points]
        low, high, why = text_interval(values, points, level)
        why = translate_stored(why)
        place = places.get(pk, 0)
        url = reverse("task_item", args=[run.project_id, run.task_id, place]) if place else ""
        by_worker = text.author_id is not None or text.source_answer_id is not None
        words = "" if public and by_worker else text.text
        name, detail = name_text(words, text.key, items.get(place, ""))
        if public and not can_show_votes(Counter(values.tolist()).values()):
            low, high, why, n = None, None, str(NOT_SHOWN), None
        rows.append(EstimateRow(name, mean, low, high, n, detail=detail, why=why, url=url))
    axis = Scale.around([value for row in rows for value in (row.low, row.high, row.estimate)])
    title = _("Mean of every text on %(scale)s, with 95%% CIs over raters") % {"scale": scale.label}
    table = plain_table(
        title,
        COLUMNS,
        drawn(rows, axis, height=charts.TWO_LINES),
        axis=charts.forest_axis(axis),
        classes="data two-line coefficients",
    )
    return shown, table


def shared_items(run: Run, query: Mapping[str, str]) -> SharedItems:
    """Return the texts for a link with their means on one scale, the highest first."""
    scales = dimensions(run.task)
    wanted = query.get(SharedItems.DIMENSION)
    scale = next((one for one in scales if one.name == wanted), scales[0])
    page, table = texts(run, scale, query.get(SharedItems.PAGE), public=True)
    return SharedItems(page, table, [(one.name, one.label) for one in scales], scale.name)


def name_text(text: str, key: str, item: str) -> tuple[str, str]:
    """Return what to call a text and its id beside that: its own, else that of its ``item``.

    A table without texts has ids alone.
    """
    own = item if is_generated_id(key) else key
    if text in ("", key):
        return own, ""
    return Truncator(text).chars(BEGINNING), "" if is_generated_id(own) else own


def _ratings(run: Run, scale: str, ids: Sequence[int]) -> Mapping[int, dict[int, list[int]]]:
    """Candidate -> item -> the ratings that the run saw."""
    seen = set(run.snapshot.answer_ids) if run.snapshot else set()
    values = ChoiceValue.objects.filter(
        field=scale,
        answer__item__task=run.task_id,
        answer__item__first__in=ids,
        answer__worker__isnull=False,
    )
    found: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for answer, item, text, value in values.values_list(
        "answer_id", "answer__item_id", "answer__item__first_id", "ordinal"
    ):
        if answer in seen and value is not None:
            found[text or 0][item].append(value)
    return found
