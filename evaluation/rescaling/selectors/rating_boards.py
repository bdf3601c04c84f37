"""Results of a rating task: agreement a scale, mean of every source, how workers use the scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.task_types import get_type
from annotation.work.snapshots.judgments import AskedDimension
from crowdqc.numbers import listed, plural, word
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.models import CandidateScore, Run, RunFigure, SystemScore, WorkerScore
from evaluation.pairwise.selectors.runs import dimensions
from evaluation.runs.results import votes_used
from evaluation.runs.selectors import lists as reads
from evaluation.runs.selectors.verdicts import Place, Verdict, highest

SHOWN_WORKERS = 200
SEVERAL = 3  # sources from which on the last is not just the other one of two
MOVED = 10  # texts listed whose mean the correction moves most


def boards(run: Run, asked: Sequence[AskedDimension]) -> list[dict[str, Any]]:
    """A board a scale; two queries."""
    told = {row["dimension"]: row for row in RunFigure.objects.get(run=run, name="agreement").data}
    scores: dict[str, list[Any]] = {}
    rows = (
        SystemScore.objects.filter(run=run)
        .order_by("-estimate", "system_id")
        .values_list(
            "dimension",
            "system__name",
            "system__prompt_strategy",
            "estimate",
            "low",
            "high",
            "n",
            "extra",
        )
    )
    for dimension, *rest in rows:
        scores.setdefault(dimension, []).append(rest)
    made = []
    for one in asked:
        found = scores.get(one.name, [])
        scale = Scale.around([value for row in found for value in (row[3], row[4], row[2])])
        # A source of texts on one scale.
        # One scale: its agreement, and the sources by their mean.
        made.append(
            {
                "asked": one,
                "alpha": told.get(one.name, {}),
                "axis": charts.forest_axis(scale),
                "rows": [
                    {
                        "name": name,
                        "detail": detail,
                        "estimate": estimate,
                        "low": low,
                        "high": high,
                        "n": n,
                        "no_interval": extra.get("no_interval") or "",
                        "plot": charts.forest_cell(scale, Estimate(estimate, low, high), name=name),
                    }
                    for name, detail, estimate, low, high, n, extra in found
                ],
            }
        )
    return made


KINDS = ("stratum", "stratum_system")


def kinds(run: Run, told: Mapping[str, Any], dimension: str) -> list[dict[str, Any]]:
    """The board of a scale by every column of its texts, or why a column does not split it."""
    rows = [row for row in told.get("stratum") or () if row["dimension"] == dimension]
    if not rows:
        return []
    known = SystemScore.objects.filter(run=run, dimension=dimension)
    names = {
        pk: (name, detail)
        for pk, name, detail in known.values_list(
            "system_id", "system__name", "system__prompt_strategy"
        )
    }
    return [
        _by_kind(told, dimension, column, rows, names)
        for column in dict.fromkeys(row["column"] for row in rows)
    ]


def _by_kind(
    told: Mapping[str, Any],
    dimension: str,
    column: str,
    rows: Sequence[Mapping[str, Any]],
    names: Mapping[int, tuple[str, str]],
) -> dict[str, Any]:
    own = [row for row in rows if row["column"] == column]
    label = column.replace("_", " ").capitalize()
    if not own[0]["stratum"]:
        return {"label": label, "reason": own[0]["reason"]}
    key = (dimension, column)
    means = [r for r in told["stratum_system"] if (r["dimension"], r["column"]) == key]
    scale = Scale.around([row[end] for row in means for end in ("low", "high", "estimate")])
    boards = sum(not row["reason"] for row in own)
    found = []
    for kind in own:
        mine = [row for row in means if row["stratum"] == kind["stratum"]]
        mine.sort(key=lambda row: (-row["estimate"], row["system"]))
        found.append(
            {
                "label": kind["stratum"],
                "basis": f"{plural(kind['texts'], 'text')}, {plural(kind['votes'], 'rating')}",
                "reason": kind["reason"],
                "rows": [_of_kind(row, names, scale) for row in mine],
            }
        )
    return {
        "label": label,
        "reason": "",
        "axis": charts.forest_axis(scale),
        "kinds": found,
        "note": _(
            "Intervals hold for these %(boards)s boards at once (95%%). A whole kind can "
            "be rated lower because it is harder: compare sources within one kind."
        )
        % {"boards": word(boards)},
    }


def _of_kind(
    row: Mapping[str, Any], names: Mapping[int, tuple[str, str]], scale: Scale
) -> dict[str, Any]:
    name, detail = names.get(row["system"], (_("a removed source"), ""))
    estimate = Estimate(row["estimate"], row["low"], row["high"])
    plot = charts.forest_cell(scale, estimate, name=name)
    return {**row, "name": name, "detail": detail, "plot": plot}


METHOD = gettext_noop(
    "People rated single texts on a scale. A score is the mean rating of a source’s "
    "texts. The interval shows how sure that is. A mean treats the points of the scale "
    "as equally far apart."
)


def best_of(scale: dict[str, Any], others: Sequence[dict[str, Any]] = ()) -> Place:
    """Whether one source has surely the highest mean on a scale, and on which others none has."""
    place = highest(scale["rows"], _("mean on %(scale)s") % {"scale": scale["asked"].label})
    unsure = [
        one["asked"].label for one in others if one is not scale and highest(one["rows"], "").open
    ]
    said = [place.note]
    if place.sentence and unsure:
        told = {"scales": listed(unsure)}
        said.append(_("No source is shown to be above all others on %(scales)s.") % told)
    last: dict[str, list[str]] = {}
    for one in others or [scale]:
        last.setdefault(lowest(one["rows"]), []).append(one["asked"].label)
    for name, scales in last.items():
        if name:
            told = {"name": name, "scales": listed(scales)}
            said.append(_("%(name)s is below all others on %(scales)s.") % told)
    return replace(place, note=" ".join(one for one in said if one))


def lowest(rows: Sequence[dict[str, Any]]) -> str:
    """Whose interval lies below those of all others, if anybody's."""
    known = sorted((row for row in rows if row["low"] is not None), key=lambda row: row["estimate"])
    if len(known) < SEVERAL or len(known) < len(rows):
        return ""
    last, *others = known
    return str(last["name"]) if last["high"] < min(row["low"] for row in others) else ""


def parts(run: Run, page: Any) -> dict[str, Any]:
    """What a link shows to people without an account: the mean of every source on every scale."""
    told = reads.figures_of(run, "recipe", votes_used.FIGURE)
    found = boards(run, dimensions(run.task))
    rows = [
        SimpleNamespace(**row, dimension=one["asked"].name) for one in found for row in one["rows"]
    ]
    counts = run.snapshot.counts if run.snapshot else {}
    noun = get_type(run.task.type).noun_in(run.task.current.settings if run.task.current else {})
    first = found[0] if found and found[0]["rows"] else None
    return {
        "scales": found,
        "boards": [
            {
                "heading": one["asked"].label,
                "axis": one["axis"],
                "groups": [
                    {
                        "heading": "",
                        "rows": [row for row in rows if row.dimension == one["asked"].name],
                    }
                ],
            }
            for one in found
        ],
        "rows": rows,
        "verdict": best_of(first) if first else Verdict(_("No source has ratings yet.")),
        "basis": _("%(ratings)s of %(items)s by %(workers)s.")
        % {
            "ratings": plural(counts.get("answers", 0), "rating"),
            "items": plural(counts.get("questions", 0), noun),
            "workers": plural(counts.get("workers", 0), "worker"),
        },
        "method": _(METHOD),
        "measure": _("Mean rating"),
        "units": "rating,ratings",
        "notes": [],
        "tally": votes_used.tally_of(told),
        "recipe": reads.recipe_pairs(run, told.get("recipe")),
    }


def workers(run: Run, dimension: str) -> list[dict[str, Any]]:
    """How each worker uses one scale, the least like the others first."""
    rows = WorkerScore.objects.filter(run=run, dimension=dimension).values_list(
        "worker_id", "worker__pseudonym", "estimate", "low", "high", "n", "extra"
    )
    found = [
        {
            "id": pk,
            "name": name,
            "agrees": estimate,
            "low": low,
            "high": high,
            "n": n,
            "mean": extra.get("mean"),
            "spread": extra.get("spread"),
            "why": extra.get("no_interval") or "",
        }
        for pk, name, estimate, low, high, n, extra in rows
    ]
    found.sort(key=lambda row: (row["agrees"] is None, row["agrees"] or 0.0, row["name"]))
    return found[:SHOWN_WORKERS]


def corrected(
    run: Run, asked: Sequence[AskedDimension], chosen: str, people: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """What correcting by the competence of raters changes; {} where a run was without it.

    Agreement of every scale, and of the ``chosen`` one the sources, the raters (of ``people``, as
    ``workers`` gives them) and the texts whose mean moves most.
    """
    names = ("corrected", "corrected_system", "rater")
    told = dict(RunFigure.objects.filter(run=run, name__in=names).values_list("name", "data"))
    if not told:
        return {}
    label = {one.name: one.label for one in asked}
    raters = {row["worker"]: row for row in told["rater"] if row["dimension"] == chosen}
    named = [{**raters[one["id"]], "name": one["name"]} for one in people if one["id"] in raters]
    return {
        "lines": [{**row, "label": label[row["dimension"]]} for row in told["corrected"]],
        "raters": sorted(
            named, key=lambda row: (row["competence"] is None, row["competence"] or 0)
        ),
        "rated_by": len(raters),
        "dropped": sum(not row["kept"] for row in raters.values()),
        **_moved(run, told["corrected_system"], chosen),
    }


def _moved(run: Run, sources: Sequence[dict[str, Any]], chosen: str) -> dict[str, Any]:
    """Means before and after, of sources and of the texts that move most."""
    after = {row["system"]: row for row in sources if row["dimension"] == chosen}
    rows = SystemScore.objects.filter(run=run, dimension=chosen)
    before = rows.order_by("-estimate", "system_id").values_list(
        "system_id", "system__name", "system__prompt_strategy", "estimate", "low", "high"
    )
    texts = CandidateScore.objects.filter(run=run, dimension=chosen).values_list(
        "candidate__key", "estimate", "n", "extra"
    )
    moved = [
        {
            "key": key,
            "mean": mean,
            "n": n,
            "corrected": extra["corrected"],
            "kept": extra["kept"],
        }
        for key, mean, n, extra in texts
        if extra["kept"] < n
    ]
    known = [row for row in moved if row["corrected"] is not None]
    known.sort(key=lambda row: (-abs(row["corrected"] - row["mean"]), row["key"]))
    return {
        "sources": [
            {
                "name": name,
                "detail": detail,
                "mean": mean,
                "low": low,
                "high": high,
                "after": after.get(pk),
            }
            for pk, name, detail, mean, low, high in before
        ],
        "texts": known[:MOVED],
        "touched": len(moved),
        "emptied": len(moved) - len(known),
    }
