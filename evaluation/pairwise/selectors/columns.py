"""Columns that several pages of a pairwise study share."""

from __future__ import annotations

from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _

from annotation.models import Item
from evaluation.results.cells import link, note_below
from evaluation.results.columns import Column, head_column


def pair_link(url: str, texts: tuple[str, str], question: str, length: int) -> SafeString:
    """A pair by the sources of its texts, with its question below."""
    name = _("%(first)s and %(second)s") % dict(zip(("first", "second"), texts, strict=True))
    return note_below(link(url, name), Truncator(question).chars(length))


def pair_columns(length: int) -> tuple[Column, Column]:
    """A pair and its question, cut to a length, of rows with ``item``, None where it is gone."""
    return (
        head_column("item", _("Pair"), html=lambda row: _name(row.item), classes="nowrap"),
        Column.text(
            "question",
            _("Question"),
            html=lambda row: Truncator(row.item.question).chars(length) if row.item else "",
            classes="question-text full",
        ),
    )


def _name(item: Item | None) -> SafeString | str:
    if item is None:
        return ""
    url = reverse("pair", args=[item.task.project_id, item.task_id, item.pk])
    systems = (str(text.system) if text else "" for text in (item.first, item.second))
    return link(url, " / ".join(systems), "")
