"""Rows and columns of the tables that say how models compare with people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.templatetags.crowdqc import state
from crowdqc.numbers import p_value, score
from crowdqc.web.terms import Words
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.methods.replacement import annotator
from evaluation.models import Run
from evaluation.results.cells import beside, bold, dim, empty_cell
from evaluation.results.columns import (
    PLOT,
    Column,
    Format,
    head_column,
    interval_column,
    reasons_beside_names,
)
from evaluation.results.estimates import DIFFERENCE, EstimateRow, with_interval
from evaluation.results.tables import ResultTable, plain_table


def shares() -> Scale:
    """The scale of rates and of advantages."""
    return Scale(0.0, 1.0, 150.0, (0.0, 0.25, 0.5, 0.75, 1.0))


@dataclass(frozen=True)
class ModelRow(EstimateRow):
    """A model's advantage over its items, and the verdict on it; ``verdict`` "": not tested."""

    place: int = 0
    full_name: str = ""
    people: int = 0
    verdict: str = ""
    mark: str = "draft"
    said: str = ""
    wins: str = ""
    needed: float | None = None  # items, to decide
    next: str = ""
    rate_plot: SafeString | str = ""

    @property
    def short(self) -> str:
        """Return the model's name as text, without its prompt where that is clear."""
        return str(self.name)

    @property
    def advantage(self) -> SafeString:
        """Return the advantage in bold, or an empty cell where there is none."""
        return empty_cell() if self.estimate is None else bold(score(self.estimate, 2))


def model_table(rows: Sequence[ModelRow], run: Run, opened: int | None = None) -> ResultTable:
    """Models with their verdict; the names lead to their annotators, except on a public page."""

    def name(row: ModelRow) -> SafeString | Words:
        if opened is None:
            return row.name
        current = SafeString(' aria-current="true"') if row.place == opened else ""
        address = '<a class="name nowrap" href="?run={}&amp;model={}#people"{}>{}</a>'
        return beside(format_html(address, run.number, row.place, current, row.name), row.detail)

    rate = Column.number(
        "wins", _("Winning rate"), term="winning-rate", html=lambda row: row.wins or _("none")
    )
    advantage = Column.number("estimate", _("Advantage"), term="advantage")
    columns = (
        head_column("name", _("Model"), html=name),
        Column.text(
            "said", _("Can replace one"), html=lambda row: state(row.mark, row.said), classes="l1r"
        ),
        replace(PLOT, key="rate_plot", label=_("Winning rate"), is_public=False),
        rate,
        replace(PLOT, label=_("Advantage, interval")),
        replace(
            advantage,
            html=lambda row: (
                bold(score(row.estimate, 2)) if row.estimate is not None else empty_cell()
            ),
        ),
        interval_column(needs_interval=False),
    )
    return plain_table(
        _("Models with their verdict, winning rate and advantage probability"),
        columns,
        rows,
        axis=charts.forest_axis(shares()),
        classes="data board",
        row_class=lambda row: "chosen" if row.place == opened else "",
    )


@dataclass(frozen=True)
class PersonRow(EstimateRow):
    """An annotator who was left out, and how the model does in their place."""

    model_share: float = 0.0
    person_share: float = 0.0
    p: float = 1.0
    epsilon: float = 0.0

    @property
    def result(self) -> str | SafeString:
        """Say whether the model is as good as this person, less ε, or worse by more, as shown."""
        if self.p <= annotator.LEVEL:
            return _("As good")
        if self.high is not None and self.high < -self.epsilon:
            return _("Worse")
        return dim(_("Not shown"))


PEOPLE = (
    head_column("name", gettext_lazy("Annotator left out"), format=Format.NAME),
    Column.count("n", gettext_lazy("Items")),
    Column.score("model_share", gettext_lazy("Model at least as close"), gettext_lazy("Model")),
    Column.score("person_share", gettext_lazy("Person at least as close"), gettext_lazy("Person")),
    replace(PLOT, label=gettext_lazy("Difference, interval")),
    DIFFERENCE,
    Column.number(
        "p",
        gettext_lazy("p, corrected"),
        "p",
        term="p-value",
        html=lambda row: p_value(row.p),
        classes="dim",
    ),
    Column.text("result", gettext_lazy("Result"), html=lambda row: row.result),
)


@dataclass(frozen=True)
class LabelRates:
    """What a model sees and spares of a label, and its share corrected by that."""

    name: str
    why: str
    sure: bool
    sensitivity: Estimate | None
    specificity: Estimate | None
    corrected: Estimate | None
    corrected_reason: str
    sensitivity_plot: SafeString
    specificity_plot: SafeString

    def written(self, name: str) -> SafeString:
        """A rate with its interval, or the reason for none."""
        known = getattr(self, name)
        if known is not None:
            return with_interval(known)
        reason = {"corrected_reason": self.corrected_reason}
        return dim(_("none: %(corrected_reason)s") % reason)


def _rate(name: str, label: Words, short: Words, *, term: str = "") -> Column:
    return Column.number(name, label, short, term=term, html=lambda row: row.written(name))


RATES = reasons_beside_names(
    head_column("name", gettext_lazy("Label")),
    replace(PLOT, key="sensitivity_plot", label=gettext_lazy("Sensitivity, interval")),
    _rate(
        "sensitivity",
        gettext_lazy("Sensitivity, 95% CI"),
        gettext_lazy("Sensitivity"),
        term="sensitivity",
    ),
    replace(PLOT, key="specificity_plot", label=gettext_lazy("Specificity, interval")),
    _rate("specificity", gettext_lazy("Specificity, 95% CI"), gettext_lazy("Specificity")),
    _rate("corrected", gettext_lazy("Corrected share, 95% CI"), gettext_lazy("Corrected")),
)


@dataclass(frozen=True)
class CombinedRow(EstimateRow):
    """A share by people, by the model or by both."""

    used: str = ""
    note: str = ""


COMBINED = (
    Column.number("used", gettext_lazy("Items used"), gettext_lazy("Items")),
    Column.text("note", gettext_lazy("Note, λ"), term="power-tuning", classes="dim"),
)
