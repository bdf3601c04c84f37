"""What changes when a run becomes official, as tables."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from crowdqc.numbers import interval, money, score
from evaluation.models import Run
from evaluation.official.effect import BoardPlace, Move, OfficialEffect, PanelEffect, Pending
from evaluation.results.cells import beside, bold, dim, link
from evaluation.results.columns import Column
from evaluation.results.tables import ResultTable, plain_table


def rank_tables(effect: OfficialEffect) -> list[tuple[Any, ResultTable | None]]:
    """The boards with the ranks that change, if any do."""
    columns = _rank_columns(effect.now, effect.run)
    return [
        (
            one,
            plain_table(_("%(title)s whose rank changes") % {"title": one.title}, columns, one.rows)
            if one.rows
            else None,
        )
        for one in effect.tables
    ]


def _rank_columns(now: Run | None, run: Run) -> list[Column]:
    columns = [
        Column.text("name", _("Name"), classes="l1 nowrap"),
        Column.text(
            *("dimension", _("Dimension"), _("Dimension")),
            value=lambda row: row.dimension or _("all"),
            classes="dim",
        ),
        *_place_columns("before", now, _("Rank now"), _("Score now")),
        *_place_columns("after", run, _("Rank then"), _("Score then")),
    ]
    if now is None:
        return columns
    _name, _dimension, rank_now, score_now, rank_then, score_then = columns
    change = Column.number("steps", _("Change"), html=_steps, classes="nowrap")
    return [_name, _dimension, rank_now, rank_then, change, score_now, score_then]


def _place_columns(side: str, run: Run | None, rank: str, value: str) -> list[Column]:
    """Rank and score in a run; none without a run."""
    if run is None:
        return []
    number = {"number": run.number}

    def place(row: Move) -> BoardPlace | None:
        found: BoardPlace | None = getattr(row, side)
        return found

    return [
        Column.number(
            *(f"{side}.rank", _("Rank in run %(number)s") % number, rank),
            value=lambda row: (one.rank if (one := place(row)) else None) or _("none"),
            classes="l1r" if side == "after" else "",
        ),
        Column.number(
            *(f"{side}.estimate", _("Score in run %(number)s") % number, value),
            html=lambda row: _score(place(row)),
            classes="nowrap",
        ),
    ]


def _score(place: BoardPlace | None) -> SafeString:
    if place is None:
        return beside(score(None), "")
    span = "" if place.low is None else interval(place.low, place.high)
    return beside(score(place.estimate), span)


def _steps(row: Move) -> SafeString:
    steps = row.steps
    if steps is None:
        return dim(_("new") if row.after and row.after.rank else _("gone"))
    if steps > 0:
        return bold(_("up %(steps)s") % {"steps": steps})
    return bold(_("down %(steps)s") % {"steps": -steps})


def panel_table(effect: OfficialEffect) -> ResultTable | None:
    """Table of panel rules whose outcome changes; None if none does."""

    def name(row: PanelEffect) -> SafeString:
        return link(reverse("panel", args=[effect.run.project_id, row.panel_id]), row.panel)

    columns = [
        Column.text("panel", _("Panel"), html=name, classes="l1"),
        Column.text("rule", _("Rule"), _("Rule")),
        Column.text(
            *("more", _("Would be admitted"), _("Would be admitted")),
            value=lambda row: ", ".join(row.more) or _("nobody"),
        ),
        Column.text(
            *("fewer", _("Would leave"), _("No longer")),
            value=lambda row: ", ".join(row.fewer) or _("nobody"),
        ),
    ]
    title = _("Panel rules with another outcome")
    return plain_table(title, columns, effect.panels) if effect.panels else None


def pending_table(effect: OfficialEffect) -> ResultTable | None:
    """Proposals that await approval, and what the rule would give anew."""
    project = effect.run.project

    def name(row: Pending) -> SafeString:
        label = _("Proposal %(number)s") % {"number": row.number}
        return link(reverse("payout", args=[project.pk, row.number]), label)

    def gives(row: Pending) -> SafeString | str:
        return dim(_("no rule")) if row.gives is None else money(row.gives, project.currency)

    columns = [
        Column.text("number", _("Proposal"), html=name, classes="l1"),
        Column.text(
            *("run", _("Made from"), _("Made from")),
            value=lambda row: _("run %(run)s") % {"run": row.run} if row.run else _("no run"),
        ),
        Column.number(
            *("bonus", _("Bonus proposed")),
            value=lambda row: money(row.bonus, project.currency),
            classes="l1r",
        ),
        Column.number("gives", _("Rule by run %(run)s") % {"run": effect.run.number}, html=gives),
    ]
    title = _("Proposals awaiting approval")
    return plain_table(title, columns, effect.pending) if effect.pending else None


def bonus_table(effect: OfficialEffect) -> ResultTable | None:
    """Table of workers whose next bonus changes; None if nobody's does."""

    def amount(value: Decimal) -> str:
        return money(value, effect.run.project.currency)

    columns = [
        Column.text("worker", _("Worker"), classes="l1 nowrap"),
        Column.number(
            *("before", _("Bonus by rule now"), _("Now")), value=lambda row: amount(row.before)
        ),
        Column.number(
            *("after", _("By run %(run)s") % {"run": effect.run.number}, _("Then")),
            html=lambda row: bold(amount(row.after)),
            classes="l1r",
        ),
    ]
    rows = effect.bonuses.rows if effect.bonuses else []
    return plain_table(_("Workers whose next bonus changes"), columns, rows) if rows else None
