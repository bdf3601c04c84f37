"""Pearson's r and Spearman's rho of each method with the experts, as a table of its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crowdqc.numbers import format_signed, interval, p_value, score
from evaluation.results.cells import beside, bold
from evaluation.results.columns import Column, head_column
from evaluation.results.tables import ResultTable, plain_table

DIGITS = 2
NAMES = {"pearson": gettext_lazy("Pearson’s r"), "spearman": gettext_lazy("Spearman’s ρ")}


@dataclass(frozen=True)
class Measured:
    """One correlation of a method, and how it differs from AQER's: texts of cells."""

    value: SafeString
    difference: SafeString | str
    p: str


@dataclass(frozen=True)
class MethodRow:
    """A method by both measures."""

    name: str
    pearson: Measured
    spearman: Measured


def _columns(heading: str) -> tuple[Column, ...]:
    made: list[Column] = [head_column("name", heading)]
    for key, group in NAMES.items():
        term = "rho" if key == "spearman" else "pearson"
        gap = _("%(measure)s less AQER’s") % {"measure": group}
        p = _("p of %(measure)s") % {"measure": group}
        made += [
            Column.number(f"{key}.value", _("Value, 95% CI"), group, group=group, term=term),
            Column.number(f"{key}.difference", _("Less AQER’s"), gap, group=group),
            Column.number(f"{key}.p", _("p, corrected"), p, group=group, term="p-value"),
        ]
    return tuple(made)


def measures_table(
    rows: Sequence[Mapping[str, Any]],
    titles: Mapping[str, str],
    base: str,
    *,
    heading: str = "",
) -> ResultTable | None:
    """Make the table of methods by both measures; None for runs without these figures."""
    if not rows:
        return None
    found = {(row["measure"], row["method"]): row for row in rows}
    order = sorted(
        (slug for slug in titles if ("pearson", slug) in found),
        key=lambda slug: -(found["pearson", slug]["r"] or -2.0),
    )
    made = [
        MethodRow(
            titles[slug], *(_measured(found[key, slug], is_base=slug == base) for key in NAMES)
        )
        for slug in order
    ]
    return plain_table(
        _("Both correlations with the experts by method"),
        _columns(heading or _("Method")),
        made,
        classes="data two-line",
    )


def _measured(row: Mapping[str, Any], *, is_base: bool) -> Measured:
    span = interval(row["low"], row["high"], DIGITS) if row["low"] is not None else row["reason"]
    value = beside(bold(score(row["r"], DIGITS)), span)
    if is_base:
        return Measured(value, "", "")
    if row["difference"] is None:
        return Measured(value, row["difference_reason"] or _("none"), "")
    gap = format_signed(row["difference"], DIGITS)
    if row["difference_low"] is None:
        return Measured(value, beside(gap, row["difference_reason"]), "")
    ends = interval(row["difference_low"], row["difference_high"], DIGITS)
    p = row["adjusted"]
    return Measured(value, beside(gap, ends), p_value(p))
