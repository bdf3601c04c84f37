"""What is shown of the boards of a run on free text, and its rows as files."""

from __future__ import annotations

from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _

from evaluation.models import AnswerScore, ItemScore, SystemScore, WorkerScore
from evaluation.results.cells import dim, link, note_below
from evaluation.results.columns import (
    PLOT,
    RANK,
    Column,
    Format,
    interval_column,
    name_column,
    score_column,
)
from evaluation.results.files import BASE, PLACE, SYSTEM_NAME, StoredTable, stored
from evaluation.runs.exports.tables import ANSWER
from evaluation.runs.results.figures import PASTED_SHARE

FIRST_ROUND = Column.score(
    "uniterated",
    _("First-round score"),
    _("First round"),
    digits=3,
    term="first-round",
    sort="uniterated",
    needs_interval=True,
    is_public=False,
    exports={"uniterated": "extra.uniterated"},
)
ANSWERS = Column.count("n", _("Answers"), sort="answers", exports={"n": "n"})
SCORED = (PLOT, *PLACE, score_column(digits=3, term="aqer", sort="score"), interval_column(3))
WORKERS = (
    RANK,
    name_column(_("Worker"), sort="worker", exports={"worker": "worker__pseudonym"}),
    *SCORED,
    *stored("raw", "adjusted", inside="extra"),
    FIRST_ROUND,
    ANSWERS,
    *stored("normalised", "weight", "no_interval", inside="extra"),
    Column.share(
        "pasted",
        _("Pasted"),
        sort="pasted",
        missing=_("no log"),
        is_marked=lambda share: share >= PASTED_SHARE,
        is_public=False,
    ),
    Column("flags", _("Flag"), Format.FLAGS, is_public=False),
)
SYSTEMS = (
    RANK,
    name_column(_("System"), exports=SYSTEM_NAME),
    *SCORED,
    *stored("raw", "adjusted", inside="extra"),
    FIRST_ROUND,
    ANSWERS,
    *stored("no_interval", inside="extra"),
    Column.signed(
        "difference",
        _("To the workers’ mean"),
        _("To the mean"),
        digits=3,
        is_public=False,
    ),
)
AUTHORS = (
    RANK,
    name_column(_("Author")),
    *SCORED,
    ANSWERS,
)
ASKED, EXCERPT = 110, 140  # characters shown of a question and of its best answer


def _question(row: Any) -> SafeString:
    title = link(row.url, Truncator(row.question).chars(ASKED), "title")
    return note_below(title, row.group)


def _best(row: Any) -> SafeString:
    if not row.best:
        return dim(_("nothing to compare"))
    quoted = format_html('<span class="serif">{}</span>', Truncator(row.best).chars(EXCERPT))
    return note_below(quoted, row.best_author)


# A page shows a ``ShownQuestion``; figures in ``extra`` are read by their path in ``exports``.
QUESTIONS = (
    Column.number("number", _("No."), classes="dim"),
    Column.text(
        "question",
        _("Question"),
        sort="order",
        html=_question,
        classes="l1 question-cell",
        exports={"item_id": "item__key"},
    ),
    Column.text(
        "best",
        _("Best answer"),
        html=_best,
        is_public=False,
        classes="full best-cell",
        exports={"best_worker": "best_answer__worker__pseudonym"},
    ),
    *PLACE,
    *stored("spread", inside="extra"),
    Column.score(
        "score.agreement",
        _("Agreement"),
        sort="agreement",
        is_main=True,
        exports={"agreement": "extra.agreement"},
    ),
    Column.score("score.estimate", _("Mean score"), sort="score", exports={"estimate": "estimate"}),
    *stored("low", "high"),
    Column.count("score.n", _("Answers"), sort="answers", exports={"n": "n"}),
    *stored("effect", inside="extra"),
    Column.count(
        "score.unknown",
        _("“I don’t know”"),
        sort="unknown",
        fades_zero=True,
        exports={"declined": "extra.declined"},
    ),
    Column.score(
        "score.item_rest_correlation",
        _("Item-rest correlation"),
        _("Item-rest"),
        term="item-rest",
        sort="item-rest",
        missing=_("none"),
        exports={"item_rest_correlation": "extra.item_rest_correlation"},
    ),
)
TABLES: dict[str, StoredTable] = {
    "workers": StoredTable(WorkerScore, WORKERS),
    "systems": StoredTable(SystemScore, SYSTEMS),
    "answers": StoredTable(
        AnswerScore,
        (*ANSWER, *BASE, *stored("uniterated", "best", "best_trusted", inside="extra")),
    ),
    "questions": StoredTable(ItemScore, QUESTIONS),
}
