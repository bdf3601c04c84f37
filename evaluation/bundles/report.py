"""A run as a report for a paper's appendix: methods, figures, recipe, limits in one HTML file.

It is made of a bundle's files alone, and every number of its tables says where it stands in them,
so that ``manage.py verify_bundle BUNDLE --report REPORT`` can hold one against the other. No
database.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.html import format_html
from django.utils.safestring import SafeString

from crowdqc.tally import reason_words
from evaluation.bundles.kinds.base import Broken, read_jsonl, read_value
from evaluation.bundles.manifest import ENVIRONMENT, FIGURES, RECIPE, results_file
from evaluation.bundles.page import ReportPage
from evaluation.bundles.study import (
    asked_lines,
    collection_lines,
    exclusion_lines,
    import_lines,
    is_known,
    people_lines,
    unfinished,
)
from evaluation.bundles.tables import Bundled, Row, Table, number, scores, written
from evaluation.bundles.verdicts import first_ranked
from evaluation.bundles.words import ABOUT, MethodWords
from evaluation.models import CandidateScore, ItemLabel, ItemScore, SystemScore, WorkerScore
from evaluation.runs.results import everybody
from evaluation.runs.run_types import title_of

COUNTS = (
    ("Answers of people", "answers"),
    ("Workers", "workers"),
    ("Items", "questions"),
    ("Answers of models", "system_answers"),
    ("Ratings with an explanation", "explained"),
    ("Responses with a log", "logs"),
)
MORE = (
    ("scores of texts", CandidateScore),
    ("scores of items", ItemScore),
    ("estimated labels", ItemLabel),
)
OF_CALLS = ("model", "prompt", "variant", "digest")  # of a recipe whose scores a model gave


def write(files: Mapping[str, bytes], manifest: Row, page: ReportPage | None = None) -> str:
    """The report of a bundle's files. Raises Broken where the method has none.

    ``page``: what the result page says of the run.
    In English whoever asks for it: the reasons and names of a bundle's files are.
    """
    with translation.override(settings.LANGUAGE_CODE):
        return render_to_string(
            "evaluation/bundles/report.html", _context(files, manifest, page or ReportPage())
        )


def _context(files: Mapping[str, bytes], manifest: Row, page: ReportPage) -> dict[str, Any]:
    """Return the context of the report's template."""
    about, found = ABOUT.get(manifest["method"]), Bundled(files, manifest)
    if about is None:
        raise Broken(f"There is no report of {manifest['method']!r}.")
    return {
        "about": about,
        "manifest": manifest,
        "method": about.title or title_of(manifest["method"]),
        "version": _version_of(found, manifest),
        "is_asked": is_known(manifest, "is_asked"),
        "unfinished": unfinished(manifest),
        "collection": list(collection_lines(manifest)),
        "people": list(people_lines(manifest)),
        "with_all": list(_with_all(found)),
        "by_hand": list(exclusion_lines(manifest, found.names["workers"])),
        "asked": list(asked_lines(found.version["settings"], manifest)),
        "verdict": _verdict(about, found, page),
        "facts": [*about.facts(found), *page.facts],
        "findings": page.limits,
        "imports": list(import_lines(manifest)),
        "tables": [*_tables(found, about)],
        "more": [
            (label, len(found.rows(one))) for label, one in MORE if results_file(one) in files
        ],
        "params": [
            (name, value)
            for name, value in sorted(found.recipe["params"].items())
            if value not in ("", None)
        ],
        "recipe": found.recipe,
        "environment": json.loads(files[ENVIRONMENT]),
        **_data(found.recipe["counts"]),
        "inputs": _inputs(found.recipe),
        "level": round(100 * found.recipe["params"].get("level", 0.95)),
    }


def _version_of(found: Bundled, manifest: Row) -> Row:
    """Return the version in force when the run took its answers.

    Of a bundle of before that was kept, the newest that workers answered here.
    """
    if kept := (manifest.get("study") or {}).get("version"):
        return dict(kept)
    number = (manifest.get("study") or {}).get("asked_version")
    asked = [one for one in manifest["task_versions"] if one["number"] == number]
    return asked[0] if asked else found.version


def _verdict(about: MethodWords, found: Bundled, page: ReportPage) -> str:
    """Return the method's own sentence, or that of the page, which bundles alone do not have."""
    if about.verdict is not None:
        return about.verdict(found)
    verdict = page.screen.verdict
    return verdict.text if verdict else first_ranked(found)


def _tables(found: Bundled, about: MethodWords) -> Iterator[Table]:
    yield from scores(found, SystemScore, about.estimate)
    yield from scores(found, WorkerScore, about.workers, about.withhold)
    for tables in about.tables:
        yield from tables(found)


def _data(counts: Row) -> dict[str, list[tuple[str, SafeString]]]:
    """List how many answers there were, and how many were left out, by reason."""
    return {
        "counts": [
            (name, number(counts[key], f"{RECIPE}:counts.{key}"))
            for name, key in COUNTS
            if key in counts and (counts[key] or key != "system_answers")
        ],
        "left_out": [
            (reason_words(name), number(n, f"{RECIPE}:counts.left_out.{name}"))
            for name, n in (counts.get("left_out") or {}).items()
            if n
        ],
    }


def _with_all(found: Bundled) -> Iterator[tuple[str, SafeString]]:
    """Label and figures of agreement if workers who were left out by hand count too."""
    rows = (found.figures.get(everybody.FIGURE) or {}).get("agreement") or ()
    for at, row in enumerate(rows):
        place = f"{FIGURES}:{everybody.FIGURE}.agreement.{at}"
        alpha, *ends = (number(row[key], f"{place}.{key}") for key in ("alpha", "low", "high"))
        of = f", {found.label(row['dimension'])}" if len(rows) > 1 else ""
        span = "no interval" if row["low"] is None else format_html("95% CI {} to {}", *ends)
        yield (
            f"Agreement with the workers left out by hand{of}",
            format_html("α {} ({})", alpha, span),
        )


def _inputs(recipe: Row) -> list[tuple[str, str]]:
    """List the inputs beside the answers: the encoder, or the calls of the model that scored."""
    calls = recipe.get("calls") or {}
    return [
        *((name, recipe[name]) for name in ("encoder",) if recipe.get(name)),
        *((f"scores, {name}", calls[name]) for name in OF_CALLS if calls.get(name)),
    ]


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
    """Compare the report with the bundle: how many numbers it has, and each that differs."""
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
            there = _value_at(files, parsed, place)
        except (Broken, KeyError, IndexError, ValueError, TypeError):
            wrong.append(f"{place} is not in the bundle")
            continue
        if json.dumps(there) != value or written(there) != text:
            wrong.append(f"{place}: {text} in the report, {written(there)} in the bundle")
    if not read.found:
        wrong.append("it holds no number of a bundle")
    return len(read.found), wrong


def _value_at(files: Mapping[str, bytes], parsed: dict[str, Any], place: str) -> Any:
    """The value at ``results/X.jsonl:12.estimate`` (lines from 1) or ``x.json:a.0.b``."""
    name, _, path = place.partition(":")
    if name not in parsed:
        lines = name.endswith(".jsonl")
        parsed[name] = [None, *read_jsonl(files[name])] if lines else read_value(files[name])
    value = parsed[name]
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value
