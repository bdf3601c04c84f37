"""What the page says of a test whether models may replace people, from the figures of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Membership, Task
from crowdqc.numbers import count, format_signed, plural, score
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.charts.replacement import winning_curve
from evaluation.methods.core.base import FloatArray
from evaluation.methods.replacement import annotator
from evaluation.methods.replacement.method import NO, UNDECIDED, YES, decide
from evaluation.methods.replacement.power import SIZES
from evaluation.models import Run, RunState
from evaluation.replacement import next_items, texts
from evaluation.replacement.messages import MESSAGES
from evaluation.replacement.run import SLUG
from evaluation.replacement.selectors import asking
from evaluation.replacement.selectors.advice import advice
from evaluation.replacement.selectors.naming import label_words, listed, quantity_title
from evaluation.replacement.selectors.tables import (
    COMBINED,
    PEOPLE,
    RATES,
    CombinedRow,
    LabelRates,
    ModelRow,
    PersonRow,
    model_table,
    shares,
)
from evaluation.results.estimates import drawn, estimate_columns, known_estimates
from evaluation.results.findings import Action, Finding
from evaluation.results.tables import ResultTable, plain_table
from evaluation.runs.selectors.verdicts import Verdict

SAID = {
    YES: ("done", gettext_lazy("Yes")),
    NO: ("bad", gettext_lazy("No, shown to be worse")),
    UNDECIDED: ("undecided", gettext_lazy("Not shown")),
}
SENTENCES = {
    YES: gettext_lazy("%(names)s can replace one of your annotators on this task."),
    NO: gettext_lazy("%(names)s cannot replace one of your annotators: shown to be clearly worse."),
    UNDECIDED: gettext_lazy("It is not shown whether %(names)s can replace one."),
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
    """Return the context of the page with one model's details open (two queries)."""
    found = models_page(run, told)
    rows, at = found["models"], found["epsilon"]
    found["findings"] = [
        found["verdict"].finding("replacement"),
        *replacement_findings(run, rows, told, at),
    ]
    opened = model if model is not None and 0 <= model < len(rows) else rows[0].place
    chosen = next(row for row in rows if row.place == opened)
    return found | {
        "chosen": chosen,
        "table": model_table(rows, run, opened),
        "facts": facts(run, chosen),
        "curve": curve_of(told, opened, at, chosen.short),
        "people": person_table(run, told, chosen, at / 100),
        "combined": (combined := combined_rows(run, told, opened)),
        "has_combined": "combined" if any(not one["reason"] for one in combined) else "",
        "advice": advice(rows, told),
        "untested": _untested(rows),
        "no_choice": next_items.OF_TEXTS if run.method == texts.SLUG else "",
        "offer": _offered(rows, told, at, model),
        "draw": told["frame"].get("drawn"),
        "rates": rate_table(run, told, chosen),
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
    }


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


def facts(run: Run, chosen: ModelRow) -> list[tuple[str, str]]:
    """List the facts that the test is based on, as (name, value)."""
    counts = run.snapshot.counts if run.snapshot else {}
    people = [(_("Compared with the model"), count(chosen.people))] if chosen.verdict else []
    shared = (
        _("Of them tested with %(name)s") if chosen.verdict else _("Of them answered by %(name)s")
    )
    return [
        (_("Annotators"), count(counts.get("workers", 0))),
        *people,
        (_("Items that people answered"), count(counts.get("questions", 0))),
        (shared % {"name": chosen.short}, count(chosen.n)),
        (_("Answers of people"), count(counts.get("answers", 0))),
        (_("Answers of models"), count(counts.get("system_answers", 0))),
    ]


def model_rows(told: Told, at: int) -> list[ModelRow]:
    """Return a row per model with its verdict at an epsilon, passing models first.

    The verdict is decided here from each person's figures, by the same rule for runs from before.
    """
    names = [name for _, name in told["frame"]["models"]]
    short = [name.partition(",")[0] for name in names]
    curves: dict[int, list[Told]] = {}
    for point in told["curve"]:
        curves.setdefault(point["model"], []).append(point)
    rows = []
    for one in told["model"]:
        place = one["model"]
        verdict = verdict_of(told, place, at, family=len(curves)) if place in curves else ""
        name, _, detail = names[place].partition(", ")
        shown = (name, detail) if short.count(name) == 1 else (names[place], "")
        point = curves[place][at] if place in curves else None
        rows.append(_model_row(one, names[place], shown, point, verdict))
    order = [YES, UNDECIDED, NO, ""]
    return sorted(rows, key=lambda row: (order.index(row.verdict), -(row.estimate or 0)))


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
    one: Told, full_name: str, shown: tuple[str, str], point: Told | None, verdict: str
) -> ModelRow:
    name, detail = shown
    row = ModelRow(
        *(name, one["advantage"], one["low"], one["high"], one["items"]),
        detail=detail,
        why=one["reason"],
        place=one["model"],
        full_name=full_name,
        people=one["people"],
        said=_("Not tested"),
    )
    if point is None:
        return row
    mark, said = SAID[verdict]
    wins, people = round(point["winning_rate"] * row.people), row.people
    rate = charts.forest_cell(
        shares(), Estimate(point["winning_rate"]), reference=annotator.HALF, name=full_name
    )
    advantage = charts.forest_cell(
        shares(), Estimate(one["advantage"], row.low, row.high), name=full_name
    )
    return replace(
        row,
        verdict=verdict,
        mark=mark,
        said=str(said),
        wins=_("%(wins)s of %(people)s") % {"wins": count(wins), "people": count(people)},
        rate_plot=rate,
        plot=advantage,
        next=_next(point, verdict),
        needed=point["needed"],
    )


def _next(point: Told, verdict: str) -> str:
    """Say what would decide where nothing can be decided."""
    if verdict != UNDECIDED:
        return ""
    if point["needed"] is None:
        return _("More than %(n)s items would be needed.") % {"n": count(SIZES[-1])}
    return _(
        "About %(n)s items would tell: a model as good as your annotators would then pass with a "
        "chance of 80%%."
    ) % {"n": count(point["needed"])}


def _untested(rows: Sequence[ModelRow]) -> list[tuple[str, str]]:
    """Models that were not tested, by the reason."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.why:
            found.setdefault(str(row.why), []).append(row.short)
    return [(listed(names), reason) for reason, names in found.items()]


def verdict(rows: Sequence[ModelRow]) -> Verdict:
    """Summarise the verdicts: a sentence per kind, passing models first."""
    said = []
    for kind, sentence in SENTENCES.items():
        names = [row.short for row in rows if row.verdict == kind]
        if names:
            said.append(sentence % {"names": listed(names)})
    untested = [row.short for row in rows if not row.verdict]
    if untested:
        said.append(_("%(names)s could not be tested.") % {"names": listed(untested)})
    tested = sum(bool(row.verdict) for row in rows)
    at_once = _("The verdicts on %(n)s models hold at once.") % {"n": count(tested)}
    return Verdict(" ".join(said), at_once if tested > 1 else "")


def replacement_findings(
    run: Run, rows: Sequence[ModelRow], told: Told, at: int
) -> Iterator[Finding]:
    """Yield which models may replace a worker, and which need more labelled items."""
    passed = [row.short for row in rows if row.verdict == YES]
    if passed:
        yield MESSAGES.find("replace_one", names=listed(passed))
    for row in rows:
        wanted = asking.offer(told, at, row.place)
        if row.verdict == UNDECIDED and wanted and run.method != texts.SLUG:
            page = reverse("replacement_ask", args=[run.project_id, run.task_id])
            url = f"{page}?model={wanted['model']}&wanted={wanted['wanted']}"
            items = plural(wanted["wanted"], "item")
            label = _("Label %(items)s more") % {"items": items}
            action = Action(label, url, requester=True)
            yield MESSAGES.find("label_more_items", action=action, items=items, name=row.short)
    stuck = [
        row.short
        for row in rows
        if row.verdict == UNDECIDED and row.needed and asking.unlabelled_items(told, row.place) == 0
    ]
    if stuck:
        url = reverse("task_models", args=[run.project_id, run.task_id])
        action = Action(_("Label more items with a model"), url)
        yield MESSAGES.find("models_need_items", action=action, names=listed(stuck))


def _offered(
    rows: Sequence[ModelRow], told: Told, at: int, model: int | None
) -> dict[str, int | str | bool]:
    """More items for the chosen model, else for an undecided one; or {}.

    ``main``: no model passes yet, so this is what to do.
    """
    undecided = [row for row in rows if row.verdict == UNDECIDED]
    chosen = [row for row in rows if row.place == model]
    for row in chosen or undecided:
        if found := asking.offer(told, at, row.place):
            passes = any(one.verdict == YES for one in rows)
            return {**found, "name": row.short, "main": not passes}
    return {}


def person_table(run: Run, told: Told, chosen: ModelRow, epsilon: float) -> ResultTable | None:
    """Everybody whom the model was compared with, where it does best first (1 query)."""
    rows = [row for row in told["person"] if row["model"] == chosen.place]
    if not rows:
        return None
    worse, error, freedom = _moments(rows)[1:]
    p = annotator.correct(annotator.p_values(freedom, worse, error, epsilon))
    ids = [told["frame"]["people"][row["person"]] for row in rows]
    names = dict(Membership.objects.filter(pk__in=ids).values_list("pk", "pseudonym"))
    ends = [row[name] for row in rows for name in ("low", "high")]
    scale = Scale.around(ends, width=220.0, include=[0.0, -epsilon])
    made = [
        PersonRow(
            names.get(pk, _("a removed person")),
            *(row["difference"], row["low"], row["high"], row["items"]),
            url=reverse("worker_card", args=[run.project_id, pk]),
            model_share=row["model_share"],
            person_share=row["person_share"],
            p=float(value),
            epsilon=epsilon,
        )
        for pk, row, value in zip(ids, rows, p, strict=True)
    ]
    made.sort(key=lambda row: -(row.estimate or 0.0))
    title = _("%(name)s against each annotator, with 95%% CIs") % {"name": chosen.full_name}
    lines, axis = drawn(made, scale, reference=-epsilon), charts.forest_axis(scale)
    return plain_table(title, PEOPLE, lines, axis=axis, classes="data board")


def combined_rows(run: Run, told: Told, model: int) -> list[dict[str, Any]]:
    """Return for each label its share by people, by the model and by both combined."""
    words = label_words(run, told)
    found = []
    for row in told["combined"]:
        if row["model"] != model:
            continue
        title = quantity_title(told, words, row["label"])
        one: dict[str, Any] = {**row, "title": title}
        if not row["reason"]:
            one |= _lines(row, title)
        found.append(one)
    reasons = {one["reason"] for one in found}
    if len(found) > 1 and len(reasons) == 1 and "" not in reasons:
        return [found[0] | {"title": _("The shares of all labels")}]
    return found


def rate_table(run: Run, told: Told, chosen: ModelRow) -> ResultTable | None:
    """Table of the model's sensitivity and specificity by label; None without any."""
    words, scale = label_words(run, told), shares()
    rows = [
        _label_rates(row, words[row["label"]], scale)
        for row in told.get("rates", [])
        if row["model"] == chosen.place
    ]
    title = _("Sensitivity and specificity of %(short)s by label, with 95%% CIs") % {
        "short": chosen.short
    }
    axis = charts.forest_axis(scale)
    return plain_table(title, RATES, rows, axis=axis, classes="data") if rows else None


def _label_rates(row: Told, name: str, scale: Scale) -> LabelRates:
    seen, spared, corrected = known_estimates(row, "sensitivity", "specificity", "corrected")
    return LabelRates(
        name,
        _("No rates, because %(reason)s.") % {"reason": row["reason"]},
        not row["reason"],
        sensitivity=seen,
        specificity=spared,
        corrected=corrected,
        corrected_reason=row.get("corrected_reason") or "",
        sensitivity_plot=charts.forest_cell(scale, seen, name=f"{name}, sensitivity"),
        specificity_plot=charts.forest_cell(scale, spared, name=f"{name}, specificity"),
    )


def _lines(row: Told, title: str) -> dict[str, Any]:
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
        CombinedRow(
            *(titles[kind], row[kind], row[f"{kind}_low"], row[f"{kind}_high"]),
            used=used[kind],
            note=notes[kind],
        )
        for kind in kinds
    ]
    saved = round(row["worth"] - row["labelled"])
    return {
        "table": plain_table(
            _("%(title)s by people, by the model and by both") % {"title": title},
            (*estimate_columns(title, _("Estimate"), digits=3), *COMBINED),
            drawn(lines, scale),
            axis=charts.forest_axis(scale),
            classes="data",
        ),
        "saved": saved,
        "worth": round(row["worth"]),
    }
