"""Results of a checklist task: scorers of texts beside human scores, per dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from annotation.models import Item, Task
from annotation.task_types.scales import name_of
from annotation.work.snapshots import judgments
from crowdqc.numbers import score
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.checklists.filled.run import SLUG, answerers_of
from evaluation.checklists.filled.text_scores import AGAINST, HUMAN, METHOD, OTHERS, scoring_runs
from evaluation.checklists.filled.texts import condition_of, shown_version
from evaluation.methods.checklists.correlation import POOLED, SAMPLE_LEVEL
from evaluation.models import LanguageModel, Run, RunFigure, RunState

SETTINGS = {
    "articles": (SAMPLE_LEVEL, "Within sources"),
    "texts": (POOLED, "Over all texts"),
}
VIEWS = {
    "scores": "Scorers and people",
    "questions": "Questions",
    "texts": "Texts",
    "conditions": "Conditions",
}
FIGURES = ("correlation", "answerers", "about", "steps", "asked", AGAINST)
Row = dict[str, Any]


@dataclass(frozen=True)
class Source:
    """Who scored texts, by what means, and the correlations with human scores: rows of figures."""

    name: str
    how: str
    number: int  # of the run
    rows: Sequence[Row]
    people: str  # whose scores they are held against
    own: bool = False


@dataclass(frozen=True)
class Line:
    """A scorer on one dimension in one setting."""

    name: str
    how: str
    number: int
    own: bool
    rho: Row
    tau: Row
    plot: SafeString


@dataclass(frozen=True)
class Board:
    """One dimension: scorers with their correlations, the best first."""

    name: str
    label: str
    people: str
    axis: SafeString
    lines: list[Line]

    @property
    def mixed(self) -> bool:
        """Whether the task's own scorers stand beside others, so that a mark tells them apart."""
        return len({line.own for line in self.lines}) > 1


def study(task: Task) -> Row:
    """What stands at the head of the pages whether or not there is a run."""
    version = shown_version(task)
    questions = version.settings.get("questions", [])
    return {
        "questions": len(questions),
        "dimension": version.settings.get("dimension", ""),
        "condition": condition_of(task),
        "draft": task.current is None,
        "texts": Item.objects.filter(task=task, first__isnull=False, expected__isnull=True)
        .in_version(version.number)
        .count(),
        "answers": judgments.counting_rows(task).count() if task.current is not None else 0,
        "models": LanguageModel.objects.filter(
            endpoint__project=task.project_id,
            endpoint__archived_at__isnull=True,
            archived_at__isnull=True,
            use=LanguageModel.Use.CHAT,
        ).exists(),
    }


def boards(task: Task, run: Run | None, setting: str) -> list[Board]:
    """A board a dimension; the number of queries does not grow with the scorers."""
    found = sources(task, run)
    wanted = SETTINGS[setting][0]
    made = []
    for name in sorted(found):
        pairs = [(one, _by_kind(one.rows, wanted)) for one in found[name]]
        pairs = [(one, by) for one, by in pairs if by]
        known = [by["spearman"] for _, by in pairs]
        scale = Scale.around(
            [row[part] for row in known for part in ("estimate", "low", "high")],
            include=[0.0],
            width=220.0,
        )
        lines = [
            Line(
                one.name,
                one.how,
                one.number,
                one.own,
                by["spearman"],
                by["kendall"],
                charts.forest_cell(scale, _estimate(by["spearman"]), reference=0.0, name=one.name),
            )
            for one, by in pairs
        ]
        lines.sort(key=lambda line: (line.rho["estimate"] is None, -(line.rho["estimate"] or 0.0)))
        label = name.replace("_", " ").capitalize()
        people = next((one.people for one, _ in pairs if one.people), "")
        made.append(Board(name, label, people, charts.forest_axis(scale), lines))
    return [board for board in made if board.lines]


def _by_kind(rows: Sequence[Row], setting: str) -> dict[str, Row]:
    return {row["kind"]: row for row in rows if row["setting"] == setting}


def _estimate(row: Row) -> Estimate | None:
    if row["estimate"] is None:
        return None
    return Estimate(row["estimate"], row["low"], row["high"])


def sources(task: Task, run: Run | None) -> dict[str, list[Source]]:
    """By dimension, everybody who scored the texts: this run's answerers, other runs, judges."""
    runs = [
        one for one in scoring_runs(task.project_id) if one.method != SLUG or one.task_id != task.pk
    ]
    runs = ([run] if run is not None else []) + runs
    figures: dict[int, Row] = {one.pk: {} for one in runs}
    rows = RunFigure.objects.filter(run__in=figures, name__in=FIGURES)
    for pk, name, data in rows.values_list("run_id", "name", "data"):
        figures[pk][name] = data
    later = _later(task)
    own = name_of(str(shown_version(task).settings.get("dimension") or "x"), [])
    found: dict[str, list[Source]] = {}
    for one in runs:
        told = figures[one.pk]
        if one.method == SLUG:
            mine = one is run
            dimension = told.get("about", {}).get("name", "")
            if mine or dimension == own:
                found.setdefault(dimension, []).extend(_answerers(one, told, later, own=mine))
            continue
        by_dimension = told.get(AGAINST) or {}
        for dimension in {*by_dimension, *_dimensions(later, one.pk)}:
            newer = later["rows"].get(f"{one.pk}/0/{dimension}")
            held = by_dimension.get(dimension, {"rows": [], "human": ""})
            name, how = _judge(one, told)
            found.setdefault(dimension, []).append(
                Source(
                    name,
                    how,
                    one.number,
                    newer or held["rows"],
                    later["name"] if newer else held["human"],
                )
            )
    return found


def _later(task: Task) -> Row:
    """What newer human scores said of runs that were there before them."""
    human = (
        Run.objects.filter(
            project=task.project_id, method=METHOD, state=RunState.DONE, params__role=HUMAN
        )
        .order_by("-id")
        .first()
    )
    if human is None:
        return {"rows": {}, "name": ""}
    figure = RunFigure.objects.filter(run=human, name=OTHERS).first()
    return {"rows": figure.data if figure else {}, "name": human.params.get("name", "")}


def _dimensions(later: Row, run: int) -> list[str]:
    return [key.split("/")[2] for key in later["rows"] if key.startswith(f"{run}/0/")]


def _judge(run: Run, told: Mapping[str, Any]) -> tuple[str, str]:
    if run.method == METHOD:
        return str(run.params.get("name", "")), "published judge"
    asked = told.get("asked", {})
    way = "by probability" if asked.get("way") == "chance" else "mean of samples"
    return str(asked.get("model", "")), f"rating by a form, after G-Eval, {way}"


def _answerers(run: Run, told: Mapping[str, Any], later: Row, *, own: bool) -> list[Source]:
    about = told.get("about", {})
    which = "this checklist" if own else f"checklist “{about.get('title', '')}”"
    condition, people = f"{which}, {about.get('condition', '')}", about.get("human", "")
    made = []
    rows = told.get("correlation", [])
    for who in told.get("answerers", []):
        if not own and who["kind"] == "person":
            continue
        component, name = who["component"], who["name"]
        detail = f"{condition}, {who['detail']}" if who["detail"] else condition
        detail += ", one person" if who["kind"] == "person" else ""
        mine = [row for row in rows if row["answerer"] == component]
        # Human scores that came after the run are the newest ones.
        newer = later["rows"].get(f"{run.pk}/{component}/{about.get('name', '')}")
        if newer:
            made.append(Source(name, detail, run.number, newer, later["name"], own))
            continue
        share = [row for row in mine if row["score"] == "share"]
        made.append(Source(name, detail, run.number, share, people, own))
        chance = [row for row in mine if row["score"] == "chance"]
        if chance:
            words = "share of people" if who["kind"] == "majority" else "probability of yes"
            made.append(Source(name, f"{detail}, mean {words}", run.number, chance, people, own))
    return made


def p_words(p: float | None) -> str:
    """``.034``, or ``< .001``."""
    return "< .001" if p is not None and p < 0.001 else score(p)


# One run ---------------------------------------------------------------------------------------


def names_of(run: Run) -> dict[int, Row]:
    """The answerers of a run by component."""
    return answerers_of(run)


def conditions(told: Mapping[str, Any]) -> Row:
    """The comparisons of a run with other scores, in words and numbers."""
    compared = told.get("compare") or {}
    series = compared.get("series", [])
    rows = [
        {**row, "first": series[row["first"]], "second": series[row["second"]]}
        for row in compared.get("rows", [])
    ]
    for row in rows:
        for name in ("adjusted", "independent_p", "dependent_p"):
            row[f"{name}_words"] = p_words(row[name])
    known = [row for row in rows if row["difference"] is not None]
    scale = Scale.around(
        [row[part] for row in known for part in ("difference", "low", "high")],
        include=[0.0],
        width=200.0,
    )
    for row in known:
        row["plot"] = charts.forest_cell(
            scale,
            Estimate(row["difference"], row["low"], row["high"]),
            reference=0.0,
            name=f"{row['first']['name']} against {row['second']['name']}",
        )
    return {"rows": rows, "axis": charts.forest_axis(scale) if known else "", "compared": len(rows)}
