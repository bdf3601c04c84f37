"""A run as a report for a paper's appendix: methods, figures, recipe, limits in one HTML file.

It is made of a bundle's files alone, and every number of its tables says where it stands in them,
so that ``manage.py verify_bundle BUNDLE --report REPORT`` can hold one against the other. No
database.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.html import format_html
from django.utils.safestring import SafeString

from crowdqc.numbers import NONE, count, score
from crowdqc.tally import reason_words
from evaluation.bundles.kinds import Broken, read_jsonl
from evaluation.bundles.words import ABOUT, About
from evaluation.bundles.writing import ENVIRONMENT, FIGURES, NAMES, RECIPE, results_file
from evaluation.charts.boards import Estimate, Scale, forest_axis, forest_cell
from evaluation.labels.selectors.tables import COEFFICIENTS
from evaluation.models import CandidateScore, ItemLabel, ItemScore, SystemScore, WorkerScore
from evaluation.runs.run_types import title_of

MOST = 400  # rows of a table; the bundle has them all
ALL = "all together"
BY_VOTES = " by the votes; at equal length and style this is not shown"
ESTIMATE = {"key": "estimate", "low": "low", "high": "high"}
Row = Mapping[str, Any]


@dataclass
class Table:
    """One table with its chart: ``rows`` are a name, a number and its interval, counts beside."""

    title: str
    measure: str
    counts: tuple[tuple[str, str], ...]
    axis: SafeString
    left: int
    rows: list[dict[str, Any]] = field(default_factory=list)


def written(value: Any) -> str:
    """How the report writes a number: counts whole, everything else with three decimals."""
    if value is None:
        return NONE
    return count(value) if isinstance(value, int) else score(value, 3)


def number(value: Any, place: str) -> SafeString:
    """A number of the bundle that says where it stands there."""
    if value is None:
        return format_html('<span class="dim">{}</span>', NONE)
    return format_html(
        '<data value="{}" data-at="{}">{}</data>', json.dumps(value), place, written(value)
    )


# Tables ----------------------------------------------------------------------------------------


def _table(
    title: str, measure: str, counts: tuple[tuple[str, str], ...], rows: Sequence[Row]
) -> Table:
    """``rows``: name, place of the row in the bundle, its data, and the key of the estimate."""
    values = [
        row["data"].get(key) for row in rows[:MOST] for key in (row["key"], row["low"], row["high"])
    ]
    scale = Scale.around(values, width=200.0)
    table = Table(title, measure, counts, forest_axis(scale), max(0, len(rows) - MOST))
    for row in rows[:MOST]:
        data, place = row["data"], row["place"]
        value, low, high = (data.get(row[name]) for name in ("key", "low", "high"))
        estimate = None if value is None else Estimate(value, low, high)
        table.rows.append(
            {
                "name": row["name"],
                "plot": forest_cell(scale, estimate, name=row["name"], height=22.0),
                "value": number(value, f"{place}.{row['key']}"),
                "low": None if low is None else number(low, f"{place}.{row['low']}"),
                "high": None if high is None else number(high, f"{place}.{row['high']}"),
                "why": data.get("reason") or (data.get("extra") or {}).get("no_interval") or "",
                "counts": [number(data.get(key), f"{place}.{key}") for _, key in counts],
            }
        )
    return table


def _scores(
    files: Mapping[str, bytes],
    model: type,
    names: Mapping[str, str],
    about: About,
    labels: Mapping[str, str],
) -> Iterator[Table]:
    """A table a dimension of the scores of workers or systems, the highest first."""
    path = results_file(model)
    if path not in files:
        return
    who = "worker" if model is WorkerScore else "system"
    found = list(enumerate(read_jsonl(files[path]), 1))
    ranked = any(row["rank_low"] is not None for _, row in found)
    counts = (("n", "n"), *((("Rank from", "rank_low"), ("to", "rank_high")) if ranked else ()))
    dimensions = list(dict.fromkeys(row["dimension"] for _, row in found))
    for dimension in dimensions:
        rows = [
            {
                "name": names.get(str(row[f"{who}_id"]), f"{who} {row[f'{who}_id']}"),
                "place": f"{path}:{at}",
                "data": row,
                **ESTIMATE,
            }
            for at, row in found
            if row["dimension"] == dimension
        ]
        rows.sort(key=lambda one: -(one["data"]["estimate"] or 0.0))
        measure = about.workers if who == "worker" else about.estimate
        of = labels.get(dimension, dimension or ALL)
        title = f"{who.capitalize()}s, {of}" if len(dimensions) > 1 else f"{who.capitalize()}s"
        yield _table(title, str(measure), counts, rows)


def _figures(told: Row, dimensions: Mapping[str, str]) -> Iterator[Table]:
    """Agreement, prevalence, and what is known of models beside people, where the run has it."""

    def rows(name: str, names: Any, key: str, low: str = "low", high: str = "high") -> list[Row]:
        keys = {"key": key, "low": low, "high": high}
        return [
            {"name": names(one), "place": f"{FIGURES}:{name}.{at}", "data": one, **keys}
            for at, one in enumerate(told.get(name) or ())
            if one.get(key) is not None and one.get("scope", "all") in ("all", "class")
        ]

    models: list[str] = [name for _, name in (told.get("frame") or {}).get("models", ())]
    labels = (told.get("frame") or {}).get("labels", ())

    def of_model(one: Row) -> str:
        return models[one["model"]]

    def of_label(one: Row) -> str:
        at = one.get("label")
        label = labels[at] if labels and at is not None and at >= 0 else ""
        return f"{of_model(one)}, {label}" if label else of_model(one)

    def of_dimension(one: Row) -> str:
        return str(dimensions.get(one["dimension"], one["dimension"] or ALL))

    def of_coefficient(one: Row) -> str:
        name = one["coefficient"]
        label = str(COEFFICIENTS.get(name, (name, ""))[0])
        return f"{label}, {one['label']}" if one.get("label") else label

    yield _table(
        "Agreement", "Value", (("Units", "units"),), rows("agreement", of_coefficient, "value")
    )
    yield _table(
        "Agreement, Krippendorff’s alpha",
        "Alpha",
        (("Units", "units"),),
        rows("agreement", of_dimension, "alpha"),
    )
    yield _table(
        "Prevalence of labels", "Share", (), rows("class", lambda one: one["label"], "prevalence")
    )
    counts = (("Items", "items"), ("People", "people"))
    yield _table("Models beside people", "Advantage", counts, rows("model", of_model, "advantage"))
    both = rows("combined", of_label, "both", "both_low", "both_high")
    yield _table(
        "Combined estimates of people and model", "Share", (("Labelled", "labelled"),), both
    )


def _win_rates(told: Row) -> Iterator[Table]:
    """Of a live evaluation: whoever decided, then each model by itself."""
    board = told.get("board") or {}
    judges = enumerate(board.get("judges") or ())
    boards = [("Win rates", "board", board)] if board else []
    boards += [
        (f"Win rates, {one['model']} alone", f"board.judges.{at}", one) for at, one in judges
    ]
    for title, where, one in boards:
        rows = [
            {
                "name": row["system"],
                "place": f"{FIGURES}:{where}.systems.{at}",
                "data": row,
                **ESTIMATE,
                "key": "share",
            }
            for at, row in enumerate(one["systems"])
        ]
        rows.sort(key=lambda row: -(row["data"]["share"] or 0.0))
        yield _table(title, "Win rate", (("Votes", "votes"),), rows)


# The report ------------------------------------------------------------------------------------


def write(files: Mapping[str, bytes], manifest: Row) -> str:
    """The report of a bundle's files. Raises Broken where the method has none.

    In English whoever asks for it: the reasons and names of a bundle's files are.
    """
    with translation.override(settings.LANGUAGE_CODE):
        return render_to_string("evaluation/bundles/report.html", _context(files, manifest))


def _context(files: Mapping[str, bytes], manifest: Row) -> dict[str, Any]:
    """What the report's template shows."""
    about = ABOUT.get(manifest["method"])
    if about is None:
        raise Broken(f"There is no report of {manifest['method']!r}.")
    recipe, told = json.loads(files[RECIPE]), json.loads(files[FIGURES])
    names = json.loads(files[NAMES])
    version = manifest["task_versions"][-1] if manifest["task_versions"] else {"settings": {}}
    asked = version["settings"].get("dimensions") or version["settings"].get("scales") or ()
    labels = {one["name"]: one["label"] for one in asked}
    tables = [
        *_scores(files, SystemScore, names["systems"], about, labels),
        *_scores(files, WorkerScore, names["workers"], about, labels),
        *(table for table in _figures(told, labels) if table.rows),
        *_win_rates(told),
    ]
    counts = recipe["counts"]
    return {
        "about": about,
        "manifest": manifest,
        "method": about.title or title_of(manifest["method"]),
        "version": version,
        "verdict": _verdict(files, told, recipe, names),
        "counts": [
            (name, number(counts[key], f"{RECIPE}:counts.{key}"))
            for name, key in (
                ("Answers of people", "answers"),
                ("Workers", "workers"),
                ("Items", "questions"),
                ("Answers of models", "system_answers"),
            )
            if key in counts
        ],
        "left_out": [
            (reason_words(name), number(n, f"{RECIPE}:counts.left_out.{name}"))
            for name, n in (counts.get("left_out") or {}).items()
            if n
        ],
        "tables": tables,
        "more": [
            (label, len(read_jsonl(files[results_file(model)])))
            for label, model in (
                ("scores of texts", CandidateScore),
                ("scores of items", ItemScore),
                ("estimated labels", ItemLabel),
            )
            if results_file(model) in files
        ],
        "params": [
            (name, value)
            for name, value in sorted(recipe["params"].items())
            if value not in ("", None)
        ],
        "recipe": recipe,
        "environment": json.loads(files[ENVIRONMENT]),
    }


def _verdict(
    files: Mapping[str, bytes], told: Row, recipe: Row, names: Mapping[str, Mapping[str, str]]
) -> str:
    """What the intervals allow to conclude, in one sentence; empty where they say nothing."""
    if recipe["method"] == "labels":
        numbers = (
            number(told["summary"][key], f"{FIGURES}:summary.{key}")
            for key in ("better", "workers")
        )
        return format_html("{} of {} workers do better than guessing.", *numbers)
    if told.get("curve"):
        epsilon, models = recipe["params"]["epsilon"], told["frame"]["models"]
        points = [one for one in told["curve"] if abs(one["epsilon"] - epsilon) < 1e-9]
        passed = [
            models[one["model"]][1] for one in points if one["verdict"] in ("yes", "narrowly")
        ]
        told_of = ", ".join(passed) or "No model"
        return f"Shown to be as good as half of the people, at ε = {score(epsilon, 2)}: {told_of}."
    for model, who in ((SystemScore, "system"), (WorkerScore, "worker")):
        rows = read_jsonl(files[results_file(model)]) if results_file(model) in files else []
        first = [row for row in rows if not row["dimension"] and row["rank_low"] == 1]
        if len(first) == 1:
            top = first[0][f"{who}_id"]
            said = f"{names[f'{who}s'][str(top)]} is first among {who}s"
            return f"{said}{'' if _at_equal_length(told, top) else BY_VOTES}."
        if first:
            return f"{len(first)} {who}s may be first; the data cannot tell them apart."
    return ""


def _at_equal_length(told: Row, top: int) -> bool:
    """Whether the controlled score, if the run has one, puts the same system alone first."""
    rows = [row for row in told.get("controlled") or () if not row["dimension"]]
    return not rows or [row["system"] for row in rows if row["rank_low"] == 1] == [top]


# Holding a report against a bundle -------------------------------------------------------------


class _Numbers(HTMLParser):
    """Every number with its place, and the hash of the result that the report is of."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str]] = []
        self.result_hash = ""
        self._open: tuple[str, str] | None = None
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag == "html":
            self.result_hash = told.get("data-result") or ""
        elif tag == "data" and told.get("data-at"):
            self._open, self._text = (str(told["data-at"]), told.get("value") or ""), ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "data" and self._open:
            self.found.append((*self._open, self._text))
            self._open = None


def differences(html: str, files: Mapping[str, bytes], manifest: Row) -> tuple[int, list[str]]:
    """How many numbers the report has, and each that is not the bundle's, in words."""
    with translation.override(settings.LANGUAGE_CODE):  # in which the report writes its numbers
        return _differences(html, files, manifest)


def _differences(html: str, files: Mapping[str, bytes], manifest: Row) -> tuple[int, list[str]]:
    read = _Numbers()
    read.feed(html)
    wrong = []
    if read.result_hash != manifest["result_hash"]:
        wrong.append("it is of another result")
    parsed: dict[str, Any] = {}
    for place, value, text in read.found:
        try:
            there = _at(files, parsed, place)
        except (KeyError, IndexError, ValueError, TypeError):
            wrong.append(f"{place} is not in the bundle")
            continue
        if json.dumps(there) != value or written(there) != text:
            wrong.append(f"{place}: {text} in the report, {written(there)} in the bundle")
    if not read.found:
        wrong.append("it holds no number of a bundle")
    return len(read.found), wrong


def _at(files: Mapping[str, bytes], parsed: dict[str, Any], place: str) -> Any:
    """The value at ``results/X.jsonl:12.estimate`` (lines from 1) or ``x.json:a.0.b``."""
    name, _, path = place.partition(":")
    if name not in parsed:
        lines = name.endswith(".jsonl")
        parsed[name] = [None, *read_jsonl(files[name])] if lines else json.loads(files[name])
    value = parsed[name]
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value
