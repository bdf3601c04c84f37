"""The results of a run on turns as tables and findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models import Item, Membership, Task
from annotation.work.snapshots.turns import CHOSEN
from crowdqc.numbers import interval, percent, plural, score
from evaluation.charts.boards import Scale
from evaluation.methods.core.inference import Claim
from evaluation.methods.turns.survival import LEAST_AT_RISK
from evaluation.models import Run, RunState
from evaluation.results.estimates import EstimateRow, drawn
from evaluation.results.findings import Finding
from evaluation.results.tables import ResultTable, plain_table
from evaluation.runs.official.selectors import official_first
from evaluation.turns.columns import AGREEMENT, SHARES, SURVIVAL, SYSTEMS, WORKERS
from evaluation.turns.messages import MESSAGES
from evaluation.turns.run import SLUG

LOW_ALPHA = 0.4
UNIT = Scale(0.0, 1.0)
NAMES = {"krippendorff_nominal": "Krippendorff’s alpha", "percent": "Percent agreement"}
Figures = Mapping[str, Any]


def shown_run(task: Task, number: int | None) -> Run | None:
    """Return the run asked for, or the official or newest finished one."""
    rows = Run.objects.filter(task=task, method=SLUG, state=RunState.DONE)
    rows = rows.select_related("snapshot")
    if number is not None:
        return rows.filter(number=number).first()
    return official_first(rows).first()


def verdict_of(figures: Figures) -> Finding:
    """Say how many units are wrong, with the interval over conversations."""
    whole = next(row for row in figures["shares"] if row["what"] == "all")
    summary = figures["summary"]
    if CHOSEN in summary["options"]:
        return _first_wrong(figures)
    told = {
        "share": percent(whole["estimate"], 1),
        "units": plural(whole["units"], "turn or call", "turns and calls"),
        "good": summary["good"],
    }
    if whole["low"] is None:
        return MESSAGES.find("turns_wrong_without_interval", **told, reason=whole["reason"])
    span = interval(whole["low"] * 100, whole["high"] * 100, 1)
    claim = Claim(
        "turns_wrong", whole["estimate"], whole["low"], whole["high"], n=whole["units"],
        effective=float(whole["conversations"]),
    )  # fmt: skip
    return MESSAGES.find("turns_wrong", claim=claim, **told, span=span)


def _first_wrong(figures: Figures) -> Finding:
    """Say how many conversations go wrong, where people named the first turn that does."""
    known = [row for row in figures["survival"] if row["low"] is not None]
    if not known:
        return MESSAGES.find("turns_few", least=LEAST_AT_RISK)
    last = known[-1]
    claim = Claim(
        "turns_first_wrong", 1 - last["share"], 1 - last["high"], 1 - last["low"],
        n=last["at_risk"], effective=float(last["at_risk"]),
    )  # fmt: skip
    return MESSAGES.find(
        "turns_first_wrong",
        claim=claim,
        share=percent(claim.estimate, 1),
        turns=plural(last["place"], "judged turn"),
        span=interval(claim.low * 100, claim.high * 100, 1),
    )


def warnings_of(task: Task, figures: Figures) -> Iterator[Finding]:
    """Warn where conversations were drawn unevenly, and where workers hardly agree."""
    if task.trace_sources.exists():
        yield MESSAGES.find("turns_drawn")
    alpha = figures["agreement"][0]
    if alpha["high"] is not None and alpha["high"] < LOW_ALPHA:
        span = interval(alpha["low"], alpha["high"], 2)
        yield MESSAGES.find("turns_low_agreement", alpha=score(alpha["value"], 2), span=span)


def tables_of(run: Run, figures: Figures) -> list[ResultTable]:
    """Return the tables of the page in their order."""
    workers = _table(_("Workers"), WORKERS, _workers(run, figures["workers"]))
    return [*result_tables(figures), *([workers] if workers.groups[0].rows else [])]


def result_tables(figures: Figures) -> list[ResultTable]:
    """Return the tables that name nobody, in their order."""
    shares = figures["shares"]
    places = [_share(row) for row in shares if row["what"] == "place"]
    kinds = [_share(row) for row in shares if row["what"] == "kind"]
    alive = [_estimate(str(row["place"]), row, "share", "at_risk") for row in figures["survival"]]
    models = [_estimate(row["system"], row) for row in figures["systems"]]
    agreement = [_estimate(NAMES[row["coefficient"]], row, "value") for row in figures["agreement"]]
    tables = [
        _table(_("Share wrong, by turn"), SHARES, places),
        _table(_("Conversations that have not gone wrong yet"), SURVIVAL, alive),
        _table(_("Share wrong, by tool"), SHARES, kinds),
        _table(_("Models against people"), SYSTEMS, models),
        _table(_("Agreement between workers"), AGREEMENT, agreement),
    ]
    return [table for table in tables if table.groups[0].rows]


def share_rows(figures: Figures) -> list[EstimateRow]:
    """Return the share that is wrong of all units, by turn and by tool."""
    return [_share(row) for row in figures["shares"]]


def _estimate(
    name: str, row: Mapping[str, Any], value: str = "estimate", n: str = "units", url: str = ""
) -> EstimateRow:
    why = row.get("reason") or ""
    if n == "at_risk" and row["low"] is None:
        why = _("%(n)s; an interval needs %(least)s") % {"n": row[n], "least": LEAST_AT_RISK}
    return EstimateRow(name, row[value], row["low"], row["high"], row[n], why=why, url=url)


def _table(title: str, columns: Sequence[Any], rows: Sequence[EstimateRow]) -> ResultTable:
    return plain_table(title, columns, drawn(rows, UNIT), heading=title, axis="")


def name_part(row: Mapping[str, Any]) -> str:
    """Name the turns and calls that a share is of: all, those at a place, or of a tool."""
    if row["what"] == "all":
        return _("All turns and calls")
    if row["what"] == "place":
        return _("Judged turn %(place)s") % {"place": row["which"]}
    return row["which"] or _("other")


def _share(row: Mapping[str, Any]) -> EstimateRow:
    return _estimate(name_part(row), row)


def _workers(run: Run, rows: Sequence[Mapping[str, Any]]) -> list[EstimateRow]:
    members = Membership.objects.filter(pk__in=[row["worker"] for row in rows])
    people = dict(members.values_list("pk", "pseudonym"))
    found = [
        _estimate(
            people[row["worker"]],
            row,
            "competence",
            "n",
            reverse("worker_card", args=[run.project_id, row["worker"]]),
        )
        for row in rows
        if row["worker"] in people
    ]
    return sorted(found, key=lambda row: -(row.estimate if row.estimate is not None else -1))


def unit_rows(figures: Figures) -> list[dict[str, Any]]:
    """Return the label of every unit under the key of its item, for a file."""
    items = Item.objects.filter(pk__in={row["item"] for row in figures["units"]})
    keys = dict(items.values_list("pk", "key"))
    return [
        {
            "item_id": keys.get(row["item"], ""),
            "turn": row["unit"],
            "label": row["label"],
            "certainty": row["posterior"],
            "chance_wrong": row["wrong"],
        }
        for row in figures["units"]
    ]
