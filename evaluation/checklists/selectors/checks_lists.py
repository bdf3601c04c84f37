"""Questions and texts of a checklist run, line by line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.paginator import Page, Paginator

from annotation.models import Candidate, Item, Task
from annotation.work.snapshots.checks import counting_checks
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.checklists.selectors.checks import p_words
from evaluation.models import CandidateScore, Run

PER_PAGE = 25
MAJORITY, ALL, ONE_PERSON = 0, -1, -1
SHOWN_MODELS = 3
EXCERPT = 220  # characters of a text in the list
Row = dict[str, Any]


def models_of(told: Mapping[str, Any]) -> list[Row]:
    """The models that answered, as many as a table has room for."""
    return [row for row in told["answerers"] if row["kind"] == "model"][:SHOWN_MODELS]


def testers(told: Mapping[str, Any]) -> list[Row]:
    """Whose answers a question's signal can be read from."""
    known = {row["answerer"] for row in told["signal"]}
    return [row for row in told["answerers"] if row["component"] in known]


def questions(told: Mapping[str, Any], by: int) -> Row:
    """The list with what people and models make of each question; ``by``: whose signal."""
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
    for number, asked in enumerate(told["asked_list"]):
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
                "p": p_words(found["adjusted"]) if found else "",
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
    """A page of texts: human score, the people's list and each model's, side by side."""
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
    given = _given(run.task, shown, told, models)
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


def _short(text: str) -> str:
    if len(text) <= EXCERPT:
        return text
    return text[:EXCERPT].rsplit(" ", 1)[0] + " …"


def _given(
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
            for asked in told["asked_list"]
        ]
        for pk in shown
    }


def _apart(people: Sequence[bool], models: Sequence[bool | None]) -> bool:
    """Whether a model says the other thing than most people do."""
    if not people or sum(people) * 2 == len(people):
        return False
    most = sum(people) * 2 > len(people)
    return any(said is not None and said != most for said in models)
