"""Results of a checklist task: scorers of texts beside human scores, per dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop

from annotation.models import Candidate, Item, Task
from annotation.task_types.scales import name_of
from annotation.work.snapshots import judgments
from annotation.work.snapshots.checks import counting_checks
from crowdqc.numbers import p_value
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.checklists.filled.run import ASKED_LIST, SLUG
from evaluation.checklists.filled.text_scores import (
    AGAINST,
    HUMAN,
    MEASURED,
    OTHERS,
    PROBABILITIES,
    REFERENCES,
    scoring_runs,
)
from evaluation.checklists.filled.texts import condition_of, shown_version
from evaluation.methods.checklists.correlation import POOLED, SAMPLE_LEVEL
from evaluation.methods.checklists.references import MEASURES
from evaluation.models import CandidateScore, LanguageModel, Run, RunFigure, RunState
from evaluation.models.runs import PUBLISHED
from evaluation.results.stored_texts import translate_figures, translate_stored

SETTINGS = {
    "articles": (SAMPLE_LEVEL, gettext_noop("Within sources")),
    "texts": (POOLED, gettext_noop("Over all texts")),
}
VIEWS = {
    "scores": gettext_noop("Scorers and people"),
    "questions": gettext_noop("Questions"),
    "texts": gettext_noop("Texts"),
    "conditions": gettext_noop("Conditions"),
}
OWN_FIGURES = ("correlation", "answerers", "about")  # of a run that filled in a checklist
FIGURES = (*OWN_FIGURES, "steps", "asked", AGAINST, MEASURED)
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
    """The scorers of one dimension with their correlations, best first."""

    name: str
    label: str
    people: str
    axis: SafeString
    lines: list[Line]

    @property
    def mixed(self) -> bool:
        """Whether the board holds scorers of other tasks too, so that own ones are marked."""
        return len({line.own for line in self.lines}) > 1

    @property
    def lacks_rho(self) -> bool:
        """Whether a scorer gave all texts of a source one score, which has no correlation."""
        return any(line.rho["undefined"] for line in self.lines)


def study(task: Task) -> Row:
    """Return what the head of the pages shows: questions, dimension, texts, authors."""
    version = shown_version(task)
    questions = version.settings.get("questions", [])
    return {
        "questions": len(questions),
        "dimension": version.settings.get("dimension", ""),
        "condition": translate_stored(condition_of(task)),
        "draft": task.current is None,
        "texts": Item.objects.filter(task=task, first__isnull=False, expected__isnull=True)
        .in_version(version.number)
        .count(),
        "answers": judgments.counting_rows(task).count() if task.current is not None else 0,
        "models": LanguageModel.objects.usable(task.project_id, LanguageModel.Use.CHAT).exists(),
    }


def boards(task: Task, run: Run | None, setting: str) -> list[Board]:
    """Return the board of each dimension with all its scorers."""
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
    """Return by dimension all who scored the texts: this run's authors, other runs, judges."""
    runs = [
        one for one in scoring_runs(task.project_id) if one.method != SLUG or one.task_id != task.pk
    ]
    runs = ([run] if run is not None else []) + runs
    figures: dict[int, Row] = {one.pk: {} for one in runs}
    rows = RunFigure.objects.filter(run__in=figures, name__in=FIGURES)
    for pk, name, data in rows.values_list("run_id", "name", "data"):
        figures[pk][name] = translate_figures(data)
    later = later_scores(task.project_id)
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
        if one.method == REFERENCES:
            dimension = told[MEASURED]["dimension"]
            found.setdefault(dimension, []).extend(_measures(one, told, later))
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


def own_sources(run: Run, told: Mapping[str, Any], later: Row) -> list[Source]:
    """Return who filled in a checklist in ``run``, each with its correlations with human scores.

    ``told`` are the run's figures by name, ``later`` the project's ``later_scores``.
    """
    return _answerers(run, told, later, own=True)


def later_scores(project_id: int) -> Row:
    """Return correlations of runs with human scores that came after them, and these scores' name.

    ``rows`` by run, component and dimension ("12/0/fluency"); empty without such scores.
    """
    human = (
        Run.objects.filter(
            project=project_id, method=PUBLISHED, state=RunState.DONE, params__role=HUMAN
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
    if run.is_published:
        return str(run.params.get("name", "")), gettext("published judge")
    asked = told.get("asked", {})
    if run.method == PROBABILITIES:
        return str(asked.get("model", "")), str(asked.get("measure", ""))
    way = gettext("by probability") if asked.get("way") == "chance" else gettext("mean of samples")
    return str(asked.get("model", "")), gettext("rating by a form, after G-Eval, %(way)s") % {
        "way": way
    }


def _measures(run: Run, told: Mapping[str, Any], later: Row) -> list[Source]:
    """Return each measure of a run as a source, with its correlations."""
    held, made = told[MEASURED], []
    # Runs before there were others name none: they have the first two.
    for at, who in enumerate(told["answerers"]):
        measure = who.get("measure") or MEASURES[at]
        newer = later["rows"].get(f"{run.pk}/{who['component']}/{held['dimension']}")
        rows = newer or [row for row in held["rows"] if row["measure"] == measure]
        people = later["name"] if newer else held["human"]
        made.append(Source(who["name"], who["detail"], run.number, rows, people))
    return made


def _answerers(run: Run, told: Mapping[str, Any], later: Row, *, own: bool) -> list[Source]:
    about = told.get("about", {})
    which = gettext("this checklist, %(condition)s")
    if not own:
        which = gettext("checklist “%(title)s”, %(condition)s")
    condition = about.get("condition", "")
    condition = which % {"title": about.get("title", ""), "condition": translate_stored(condition)}
    people = about.get("human", "")
    made = []
    rows = told.get("correlation", [])
    for who in told.get("answerers", []):
        if not own and who["kind"] == "person":
            continue
        component, name = who["component"], translate_stored(who["name"])
        detail = f"{condition}, {who['detail']}" if who["detail"] else condition
        if who["kind"] == "person":
            detail = gettext("%(detail)s, one person") % {"detail": detail}
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
            if who["kind"] == "majority":
                name = gettext("Share of people")
            else:
                detail = gettext("%(detail)s, mean probability of yes") % {"detail": detail}
            made.append(Source(name, detail, run.number, chance, people, own))
    return made


# One run ---------------------------------------------------------------------------------------


def conditions(told: Mapping[str, Any]) -> Row:
    """Return the run's comparisons with other scores, as text and numbers."""
    compared = told.get("compare") or {}
    series = compared.get("series", [])
    rows = [
        {**row, "first": series[row["first"]], "second": series[row["second"]]}
        for row in compared.get("rows", [])
    ]
    for row in rows:
        for name in ("adjusted", "independent_p", "dependent_p"):
            row[f"{name}_words"] = p_value(row[name])
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
            name=gettext("%(first)s against %(second)s")
            % {"first": row["first"]["name"], "second": row["second"]["name"]},
        )
    return {"rows": rows, "axis": charts.forest_axis(scale) if known else "", "compared": len(rows)}


PER_PAGE = 25
MAJORITY, ALL, ONE_PERSON = 0, -1, -1
SHOWN_MODELS = 3
EXCERPT = 220  # characters of a text in the list


def models_of(told: Mapping[str, Any]) -> list[Row]:
    """Return the first models that answered, as many as a table can show."""
    return [row for row in told["answerers"] if row["kind"] == "model"][:SHOWN_MODELS]


def testers(told: Mapping[str, Any]) -> list[Row]:
    """List the authors for whose answers the signal of questions was computed."""
    known = {row["answerer"] for row in told["signal"]}
    return [row for row in told["answerers"] if row["component"] in known]


def questions(told: Mapping[str, Any], by: int) -> Row:
    """Return the questions with the answers of people and models; ``by``: whose signal is shown."""
    models = models_of(told)
    alpha = {row["question"]: row for row in told["agreement"]}
    beside = {(row["answerer"], row["question"]): row for row in told["with_people"]}
    shares = {(row["answerer"], row["question"]): row for row in told["share"]}
    signal = {row["question"]: row for row in told["signal"] if row["answerer"] == by}
    scale = Scale.around(
        [row[part] for row in signal.values() for part in ("tau", "low", "high")],
        include=[0.0],
        width=130.0,
    )
    lines = []
    for number, asked in enumerate(told[ASKED_LIST]):
        found = signal.get(number)
        lines.append(
            {
                "number": number + 1,
                "asked": asked,
                "origins": asked.get("attributes", []),
                "people": shares.get((MAJORITY, number)),
                "alpha": alpha.get(number),
                "models": [
                    {
                        "share": shares.get((one["component"], number)),
                        "beside": beside.get((one["component"], number)),
                    }
                    for one in models
                ],
                "signal": found,
                "plot": _plot(scale, found, asked["label"]),
                "p": p_value(found["adjusted"]) if found else "",
                "carries": bool(
                    found and found["adjusted"] is not None and found["adjusted"] <= 0.05
                ),
            }
        )
    return {
        "lines": lines,
        "models": models,
        "axis": charts.forest_axis(scale) if signal else "",
        "every": alpha.get(ALL),
        "person": beside.get((ONE_PERSON, ALL)),
        "models_all": [beside.get((one["component"], ALL)) for one in models],
        "carrying": sum(line["carries"] for line in lines),
        "tested": len(signal),
    }


def _plot(scale: Scale, row: Row | None, name: str) -> Any:
    if row is None or row["tau"] is None:
        return charts.forest_cell(scale, None, reference=0.0, name=name)
    found = Estimate(row["tau"], row["low"], row["high"])
    return charts.forest_cell(scale, found, reference=0.0, name=name)


def texts(run: Run, told: Mapping[str, Any], page: str | None) -> Row:
    """Return a page of texts with human score and the scores of people's and models' lists."""
    models = models_of(told)
    ids = list(
        CandidateScore.objects.filter(run=run)
        .order_by("candidate__topic", "candidate_id")
        .values_list("candidate_id", flat=True)
        .distinct()
    )
    found: Page[Any] = Paginator(list(dict.fromkeys(ids)), PER_PAGE).get_page(page)
    shown = list(found.object_list)
    about = Candidate.objects.in_bulk(shown)
    components = [MAJORITY, *(one["component"] for one in models)]
    rows: Any = CandidateScore.objects.filter(
        run=run, candidate__in=shown, component__in=components
    )
    scores = {(row.candidate_id, row.component): row for row in rows}
    given = _answers_by_text(run.task, shown, told, models)
    human = told["about"]["human_scores"]
    return {
        "page": found,
        "models": models,
        "rows": [
            {
                "text": about[pk],
                "excerpt": _short(about[pk].text),
                "human": human.get(str(pk)),
                "people": scores.get((pk, MAJORITY)),
                "scores": [scores.get((pk, one["component"])) for one in models],
                "lines": given.get(pk, []),
            }
            for pk in shown
        ],
    }


def example_score(told: Mapping[str, Any]) -> Row | None:
    """Return an example row for a file of human scores, with their range; None without scores.

    One query.
    """
    about = told.get("about", {})
    scores = about.get("human_scores") or {}
    text = Candidate.objects.filter(pk__in=scores).order_by("pk").first() if scores else None
    if text is None:
        return None
    return {
        "key": text.key,
        "dimension": about["dimension"],
        "score": scores[str(text.pk)],
        "low": min(scores.values()),
        "high": max(scores.values()),
    }


def _short(text: str) -> str:
    if len(text) <= EXCERPT:
        return text
    return text[:EXCERPT].rsplit(" ", 1)[0] + " …"


def _answers_by_text(
    task: Task, shown: Sequence[int], told: Mapping[str, Any], models: Sequence[Row]
) -> dict[int, list[Row]]:
    """Each question of each text: how many people said yes, and what each model said."""
    items = set(Item.objects.filter(task=task, first__in=shown).values_list("pk", flat=True))
    people: dict[tuple[int, str], list[bool]] = {}
    said: dict[tuple[int, str, int], bool] = {}
    known = {row["pk"] for row in told["answerers"] if row["kind"] == "person"}
    for row in counting_checks(task):
        if row.item_id not in items:
            continue
        if row.worker_id is not None and row.worker_id in known:
            people.setdefault((row.candidate_id, row.name), []).append(row.yes)
        elif row.system_id is not None:
            said.setdefault((row.candidate_id, row.name, row.system_id), row.yes)
    return {
        pk: [
            {
                "asked": asked["label"],
                "yes": sum(people.get((pk, asked["name"]), [])),
                "people": len(people.get((pk, asked["name"]), [])),
                "models": [said.get((pk, asked["name"], one["pk"])) for one in models],
                "apart": _apart(
                    people.get((pk, asked["name"]), []),
                    [said.get((pk, asked["name"], one["pk"])) for one in models],
                ),
            }
            for asked in told[ASKED_LIST]
        ]
        for pk in shown
    }


def _apart(people: Sequence[bool], models: Sequence[bool | None]) -> bool:
    """Whether a model says the other thing than most people do."""
    if not people or sum(people) * 2 == len(people):
        return False
    most = sum(people) * 2 > len(people)
    return any(said is not None and said != most for said in models)
