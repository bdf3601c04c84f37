"""What the page says of a test whether models may replace people, from the figures of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from annotation.models import Membership, Task
from crowdqc.numbers import count, format_signed, plural, score
from evaluation.charts import boards as charts
from evaluation.charts.agreement import known_estimate
from evaluation.charts.boards import Estimate, Scale
from evaluation.charts.replacement import winning_curve
from evaluation.methods.core.base import FloatArray
from evaluation.methods.replacement import annotator
from evaluation.methods.replacement.method import NO, UNDECIDED, YES, decide
from evaluation.methods.replacement.power import SIZES
from evaluation.models import Run, RunState
from evaluation.replacement import next_items, texts
from evaluation.replacement.run import SLUG
from evaluation.replacement.selectors import asking
from evaluation.replacement.selectors.advice import advice
from evaluation.replacement.selectors.naming import label_words, listed, quantity_title
from evaluation.runs.selectors.verdicts import NextStep, Verdict

SAID = {
    YES: ("done", _lazy("Yes")),
    NO: ("bad", _lazy("No, shown to be worse")),
    UNDECIDED: ("undecided", _lazy("Not shown")),
}
SENTENCES = {
    YES: _lazy("%(names)s can replace one of your annotators on this task."),
    NO: _lazy("%(names)s cannot replace one of your annotators: shown to be worse by more than ε."),
    UNDECIDED: _lazy("It is not shown whether %(names)s can replace one."),
}
Told = Mapping[str, Any]


def method_of(task: Task) -> str:
    """The method of the tests that the task's answers can be put to."""
    return texts.SLUG if texts.RUNS.fits(task) else SLUG


def shown_run(task: Task, number: int | None = None) -> Run | None:
    """The newest finished test of the task, or the one of this number."""
    found = task.runs.filter(method=method_of(task), state=RunState.DONE).select_related("snapshot")
    found = found.defer("snapshot__answer_ids")
    return (found.filter(number=number) if number else found).order_by("-id").first()


def page(run: Run, told: Told, *, model: int | None) -> dict[str, Any]:
    """All of the page, with one model (its place) opened; 2 queries."""
    found = models_page(run, told)
    rows, at = found["models"], found["epsilon"]
    found["verdict"] = found["verdict"].then(*what_now(run, rows, told, at))
    opened = model if model is not None and 0 <= model < len(rows) else rows[0]["place"]
    chosen = next(row for row in rows if row["place"] == opened)
    return found | {
        "chosen": chosen,
        "facts": facts(run, chosen),
        "curve": curve_of(told, opened, at, chosen["short"]),
        "people": person_rows(run, told, opened, at / 100),
        "combined": (combined := combined_rows(run, told, opened)),
        "has_combined": "combined" if any(one["lines"] for one in combined) else "",
        "advice": advice(rows, told),
        "untested": _untested(rows),
        "no_choice": next_items.OF_TEXTS if run.method == texts.SLUG else "",
        "offer": _offered(rows, told, at, model),
        "draw": told["frame"].get("drawn"),
        "rates": rate_rows(run, told, opened),
    }


def models_page(run: Run, told: Told) -> dict[str, Any]:
    """The part of the page that names no person: the verdict, and a row a model."""
    at = round(100 * run.params["epsilon"])
    rows = model_rows(told, at)
    return {
        "verdict": verdict(rows),
        "basis": _basis(run, told),
        "epsilon": at,
        "epsilon_said": score(at / 100, 2),
        "models": rows,
        "rate_axis": charts.forest_axis(_shares()),
        "advantage_axis": charts.forest_axis(_shares()),
    }


def _shares() -> Scale:
    return Scale(0.0, 1.0, 150.0, (0.0, 0.25, 0.5, 0.75, 1.0))


def _basis(run: Run, told: Told) -> str:
    counts = run.snapshot.counts if run.snapshot else {}
    return _("%(models)s, %(people)s, %(items)s; “%(field)s”.") % {
        "models": plural(len(told["frame"]["models"]), "model"),
        "people": plural(counts.get("workers", 0), "person", "people"),
        "items": plural(counts.get("questions", 0), "item"),
        "field": told["frame"]["field"][1],
    }


def curve_of(told: Told, model: int, at: int, name: str) -> str:
    """The chart of a model's winning rate at every epsilon; "" where it was not tested."""
    points = [row for row in told["curve"] if row["model"] == model]
    if not points:
        return ""
    rates = [row["winning_rate"] for row in points]
    return winning_curve(
        [row["epsilon"] for row in points], rates, at, half=annotator.HALF, name=name
    )


def facts(run: Run, chosen: Told) -> list[tuple[str, str]]:
    """What the test rests on, for the rail."""
    counts = run.snapshot.counts if run.snapshot else {}
    return [
        (_("Annotators"), count(counts.get("workers", 0))),
        (_("Compared with the model"), count(chosen["people"])),
        (_("Items that people answered"), count(counts.get("questions", 0))),
        (_("Of them tested with %(name)s") % {"name": chosen["short"]}, count(chosen["items"])),
        (_("Answers of people"), count(counts.get("answers", 0))),
        (_("Answers of models"), count(counts.get("system_answers", 0))),
    ]


def model_rows(told: Told, at: int) -> list[dict[str, Any]]:
    """A row a model with its verdict at the ``at``-th epsilon; those that pass stand first.

    The verdict is decided here from each person's figures, by the same rule for runs from before.
    """
    names = [name for _, name in told["frame"]["models"]]
    short = [name.partition(",")[0] for name in names]
    curves: dict[int, list[Told]] = {}
    for point in told["curve"]:
        curves.setdefault(point["model"], []).append(point)
    rows = []
    for one in told["model"]:
        at_place = one["model"]
        verdict = verdict_of(told, at_place, at, family=len(curves)) if at_place in curves else ""
        row = _model_row(one, names[at_place], curves.get(at_place), at, verdict)
        name, _, detail = names[at_place].partition(", ")
        unique = short.count(name) == 1
        rows.append(row | {"short": name if unique else names[at_place]})
        rows[-1]["detail"] = detail if unique else ""
    order = [YES, UNDECIDED, NO, ""]
    return sorted(rows, key=lambda row: (order.index(row["verdict"]), -(row["advantage"] or 0)))


def verdict_of(told: Told, model: int, at: int, *, family: int) -> str:
    """The verdict on a model at the ``at``-th epsilon, among ``family`` models that were tested."""
    items, worse, error, freedom = _moments(
        [row for row in told["person"] if row["model"] == model]
    )
    point = [row for row in told["curve"] if row["model"] == model][at]
    claim = annotator.claim_half(items, worse, error, freedom, point["epsilon"], family=family)
    return decide(claim, point["winning_rate"])


def _moments(rows: Sequence[Told]) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Items, difference, its error and degrees of freedom of each person."""
    items, worse, error = (
        np.array([row[name] for row in rows], dtype=np.float64)
        for name in ("items", "worse", "error")
    )
    freedom = np.array([row.get("freedom", row["items"] - 1) for row in rows], dtype=np.float64)
    return items, worse, error, freedom


def _model_row(
    one: Told, name: str, curve: Sequence[Told] | None, at: int, verdict: str
) -> dict[str, Any]:
    row = {**one, "place": one["model"], "name": name, "verdict": "", "mark": "draft"}
    row["needed"] = None
    if curve is None:
        return row | {"said": _("Not tested"), "wins": "", "plot": "", "rate_plot": "", "next": ""}
    point, advantage = curve[at], Estimate(one["advantage"], one["low"], one["high"])
    mark, said = SAID[verdict]
    wins = round(point["winning_rate"] * one["people"])
    return row | {
        "verdict": verdict,
        "mark": mark,
        "said": str(said),
        "wins": _("%(wins)s of %(people)s") % {"wins": count(wins), "people": count(one["people"])},
        "rate_plot": charts.forest_cell(
            _shares(), Estimate(point["winning_rate"]), reference=annotator.HALF, name=name
        ),
        "plot": charts.forest_cell(_shares(), advantage, reference=annotator.HALF, name=name),
        "next": _next(point, verdict),
        "needed": point["needed"],
    }


def _next(point: Told, verdict: str) -> str:
    """What would decide where nothing can be decided."""
    if verdict != UNDECIDED:
        return ""
    if point["needed"] is None:
        return _("More than %(n)s items would be needed.") % {"n": count(SIZES[-1])}
    return _(
        "About %(n)s items would tell: a model as good as your annotators would then pass with a "
        "chance of 80%%."
    ) % {"n": count(point["needed"])}


def _untested(rows: Sequence[Told]) -> list[tuple[str, str]]:
    """Models that were not tested, by the reason."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row["reason"]:
            found.setdefault(row["reason"], []).append(row["short"])
    return [(listed(names), reason) for reason, names in found.items()]


def verdict(rows: Sequence[Told]) -> Verdict:
    """One sentence a kind of verdict, those that pass first; models that were not tested last."""
    said = []
    for kind, sentence in SENTENCES.items():
        names = [row["short"] for row in rows if row["verdict"] == kind]
        if names:
            said.append(sentence % {"names": listed(names)})
    untested = [row["short"] for row in rows if not row["verdict"]]
    if untested:
        said.append(_("%(names)s could not be tested.") % {"names": listed(untested)})
    note = _(
        "A model passes when it is as good as at least half of the people it is compared with. "
        "It may be worse by ε: what you accept, because a model costs less."
    )
    tested = sum(bool(row["verdict"]) for row in rows)
    if tested > 1:
        note += " " + _("The verdicts on %(n)s models hold at once.") % {"n": count(tested)}
    return Verdict(" ".join(said), note)


def what_now(run: Run, rows: Sequence[Told], told: Told, at: int) -> Iterator[NextStep | None]:
    """What may be replaced; else more items where they would decide about a model."""
    passed = [row["short"] for row in rows if row["verdict"] == YES]
    if passed:
        said = _(
            "%(names)s can take the place of one annotator on items like these. Keep the others."
        )
        yield NextStep(said % {"names": listed(passed)})
    for row in rows:
        wanted = asking.offer(told, at, row["place"])
        if row["verdict"] == UNDECIDED and wanted and run.method != texts.SLUG:
            page = reverse("replacement_ask", args=[run.project_id, run.task_id])
            known = {"items": plural(wanted["wanted"], "item"), "name": row["short"]}
            yield NextStep(
                _("Let people label %(items)s more, to come nearer to a decision about %(name)s.")
                % known,
                _("Choose the items"),
                f"{page}?model={wanted['model']}&wanted={wanted['wanted']}",
                requester=True,
            )
    stuck = [
        row["short"]
        for row in rows
        if row["verdict"] == UNDECIDED and row["needed"] and asking.left(told, row["place"]) == 0
    ]
    if stuck:
        yield NextStep(
            _(
                "Let %(names)s label more items, or import items if there are no more. Or leave it "
                "undecided and keep all annotators."
            )
            % {"names": listed(stuck)},
            _("Models on this task"),
            reverse("task_models", args=[run.project_id, run.task_id]),
        )
    yield NextStep(_("Keep all annotators: no model is shown to be good enough."))


def _offered(
    rows: Sequence[Told], told: Told, at: int, model: int | None
) -> dict[str, int | str | bool]:
    """More items for the chosen model, else for one that they would decide about; or {}.

    ``main``: no model passes yet, so this is what to do.
    """
    undecided = [row for row in rows if row["verdict"] == UNDECIDED]
    chosen = [row for row in rows if row["place"] == model]
    for row in chosen or [*undecided, *rows[:1]]:
        if found := asking.offer(told, at, row["place"]):
            passes = any(one["verdict"] == YES for one in rows)
            return {**found, "name": row["short"], "main": not passes}
    return {}


def person_rows(run: Run, told: Told, model: int, epsilon: float) -> dict[str, Any]:
    """Everybody whom the model was compared with, where it does best first (1 query)."""
    rows = [row for row in told["person"] if row["model"] == model]
    if not rows:
        return {"rows": []}
    worse, error, freedom = _moments(rows)[1:]
    p = annotator.correct(annotator.p_values(freedom, worse, error, epsilon))
    ids = told["frame"]["people"]
    people = dict(
        Membership.objects.filter(pk__in=[ids[row["person"]] for row in rows]).values_list(
            "pk", "pseudonym"
        )
    )
    ends = [row[name] for row in rows for name in ("low", "high")]
    scale = Scale.around(ends, width=220.0, include=[0.0, -epsilon])
    made = [
        {
            **row,
            "id": ids[row["person"]],
            "name": people.get(ids[row["person"]], _("a removed person")),
            "difference_said": format_signed(row["difference"]),
            "p": float(p[at]),
            "wins": bool(p[at] <= annotator.LEVEL),
            "plot": charts.forest_cell(
                scale,
                Estimate(row["difference"], row["low"], row["high"]),
                reference=-epsilon,
                name=people.get(ids[row["person"]], ""),
            ),
        }
        for at, row in enumerate(rows)
    ]
    return {
        "rows": sorted(made, key=lambda row: -row["difference"]),
        "axis": charts.forest_axis(scale),
    }


def combined_rows(run: Run, told: Told, model: int) -> list[dict[str, Any]]:
    """Of each label: its share by people, by the model, and by both, or why there is none."""
    words = label_words(run, told)
    found = []
    for row in told["combined"]:
        if row["model"] != model:
            continue
        title = quantity_title(told, words, row["label"])
        one: dict[str, Any] = {**row, "title": title, "lines": []}
        if not row["reason"]:
            one |= _lines(row)
        found.append(one)
    reasons = {one["reason"] for one in found}
    if len(found) > 1 and len(reasons) == 1 and "" not in reasons:
        return [found[0] | {"title": _("The shares of all labels")}]
    return found


def rate_rows(run: Run, told: Told, model: int) -> dict[str, Any]:
    """Of each label: what the model sees and spares of it, and its share corrected by that."""
    words = label_words(run, told)
    rows = [row for row in told.get("rates", []) if row["model"] == model]
    scale = _shares()
    return {
        "axis": charts.forest_axis(scale),
        "rows": [
            {
                **row,
                "title": words[row["label"]],
                **{
                    f"{name}_plot": charts.forest_cell(
                        scale,
                        known_estimate(row[name], row[f"{name}_low"], row[f"{name}_high"]),
                        name=f"{words[row['label']]}, {name}",
                    )
                    for name in ("sensitivity", "specificity")
                },
            }
            for row in rows
        ],
    }


def _lines(row: Told) -> dict[str, Any]:
    kinds = ("people", "judge", "both")
    ends = [row[f"{kind}{end}"] for kind in kinds for end in ("_low", "_high")]
    scale = Scale.around(ends, width=220.0)
    used = {
        "people": count(row["labelled"]),
        "judge": count(row["labelled"] + row["rest"]),
        "both": f"{count(row['labelled'])} + {count(row['rest'])}",
    }
    notes = {
        "people": "",
        "judge": _("leaves out that the model is off by %(bias)s (%(low)s to %(high)s)")
        % {
            "bias": format_signed(row["bias"]),
            "low": score(row["bias_low"], 2),
            "high": score(row["bias_high"], 2),
        },
        "both": _("λ = %(tuning)s") % {"tuning": score(row["tuning"], 2)},
    }
    titles = {"people": _("People only"), "judge": _("Model only"), "both": _("Combined")}
    lines = [
        {
            "title": titles[kind],
            "value": row[kind],
            "low": row[f"{kind}_low"],
            "high": row[f"{kind}_high"],
            "used": used[kind],
            "note": notes[kind],
            "plot": charts.forest_cell(
                scale,
                Estimate(row[kind], row[f"{kind}_low"], row[f"{kind}_high"]),
                name=titles[kind],
            ),
        }
        for kind in kinds
    ]
    saved = round(row["worth"] - row["labelled"])
    return {
        "lines": lines,
        "axis": charts.forest_axis(scale),
        "saved": saved,
        "worth": round(row["worth"]),
    }
