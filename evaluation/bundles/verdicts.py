"""The sentence on top of a report: what the intervals of a method's run allow to conclude."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import format_html

from crowdqc.numbers import plural, score
from evaluation.bundles.manifest import FIGURES
from evaluation.bundles.tables import Bundled, Row, number
from evaluation.checklists.selectors.verdicts import follows_human, no_human_scores, surest
from evaluation.methods.checklists.correlation import SAMPLE_LEVEL
from evaluation.methods.replacement.method import YES
from evaluation.models import SystemScore, WorkerScore
from evaluation.pairwise.head import head_words, with_head
from evaluation.replacement.selectors.verdicts import verdict_of
from evaluation.rescaling.selectors.boards import raised_words
from evaluation.runs.selectors.verdicts import Place, first_place
from evaluation.traces.selectors import read_rates
from evaluation.writing.selectors.facts import length_verdict, too_few_topics

BY_VOTES = " by the votes; at equal length and style this is not shown"


def nothing(found: Bundled) -> str:
    """Return no sentence, for reports without a verdict."""
    return ""


@dataclass(frozen=True)
class _Ranked:
    """A row of the bundle as ``first_place`` reads it."""

    in_sentence: str
    component: int
    best: int | None
    worst: int | None


def first_ranked(found: Bundled) -> str:
    """Say who is first by the possible ranks; "" if nothing is ranked."""
    for model, who in ((SystemScore, "system"), (WorkerScore, "worker")):
        rows = [row for row in found.rows(model) if not row["dimension"]]
        if any(row["rank_low"] for row in rows):
            place = _place(found, rows, who)
            sure = len(place.first) != 1 or _at_equal_length(found, place.first)
            said = place.sentence if sure else f"{place.sentence.partition('.')[0]}{BY_VOTES}."
            names = {int(pk): name for pk, name in found.names[f"{who}s"].items()}
            return with_head(said, head_words(found.figures, names, "")) if place.first else said
    return ""


def _place(found: Bundled, rows: Sequence[Row], who: str) -> Place:
    named = found.names[f"{who}s"]
    ranked = [
        _Ranked(
            named[str(row["system" if "system" in row else f"{who}_id"])],
            row["component"],
            row["rank_low"],
            row["rank_high"],
        )
        for row in rows
    ]
    return first_place(ranked, noun=who, by=_evidence(found, rows))


def _evidence(found: Bundled, rows: Sequence[Row]) -> str:
    """What the ranks rest on: the votes between the systems, or the answers that have scores."""
    for row in found.figures.get("top") or ():
        if not row["dimension"]:
            return plural(row["votes"], "vote")
    return plural(sum(row["n"] for row in rows), "answer")


def _at_equal_length(found: Bundled, first: tuple[str, ...]) -> bool:
    """Whether the controlled score, if the run has one, puts the same system alone first."""
    told = found.figures.get("controlled") or ()
    rows = [row for row in told if not row["dimension"]]
    return not rows or _place(found, rows, "system").first == first


def better_than_guessing(found: Bundled) -> str:
    """Say how many labels are not sure, and how many workers do better than guessing."""
    summary, certainty = found.figures["summary"], found.figures["certainty"]
    if summary["not_scored"] == summary["workers"]:
        return "No competence yet: it needs 3 workers who labelled the same items."
    better, workers = (
        number(summary[key], f"{FIGURES}:summary.{key}") for key in ("better", "workers")
    )
    if not summary["better"]:
        return format_html("None of {} workers is shown to do better than guessing.", workers)
    low, items = (number(certainty[key], f"{FIGURES}:certainty.{key}") for key in ("low", "items"))
    return format_html(
        "{} of {} labels are less than 90% certain. {} of {} workers do better than guessing.",
        *(low, items, better, workers),
    )


def as_good_as_people(found: Bundled) -> str:
    """Say which models pass the test at the run's epsilon."""
    told, epsilon = found.figures, found.recipe["params"]["epsilon"]
    if not told.get("curve"):
        return first_ranked(found)
    tested = list(dict.fromkeys(one["model"] for one in told["curve"]))
    at = round(100 * epsilon)
    passed = [
        told["frame"]["models"][model][1]
        for model in tested
        if verdict_of(told, model, at, family=len(tested)) == YES
    ]
    told_of = ", ".join(passed) or "No model"
    return f"Shown to be as good as half of the people, at ε = {score(epsilon, 2)}: {told_of}."


def share_that_fails(found: Bundled) -> str:
    """Say how many traces fail, with the interval."""
    figures = found.figures
    name = "both" if read_rates(figures).uses_judge else "people"
    return _share_words("traces that fail", figures["rates"][name], f"rates.{name}")


def _share_words(what: str, row: Row, place: str) -> str:
    """Say how large a share is, with its interval; ``place``: its path in the figures."""
    share, low, high = (
        number(row[key], f"{FIGURES}:{place}.{key}") for key in ("estimate", "low", "high")
    )
    if row["low"] is None:
        return format_html("Share of {}: {}, without an interval.", what, share)
    return format_html("Share of {}: {} (95% CI {} to {}).", what, share, low, high)


def share_of_turns_wrong(found: Bundled) -> str:
    """Say how many turns are wrong, with the interval over conversations."""
    rows = found.figures["shares"]
    at = next(at for at, row in enumerate(rows) if row["what"] == "all")
    return _share_words("turns that are wrong", rows[at], f"shares.{at}")


def people_agree_more(found: Bundled) -> str:
    """Say whether people agree more after rescaling."""
    return raised_words(found.figures.get("aggregate") or ())


def follows_human_scores(found: Bundled) -> str:
    """Say whether scores of the checklist follow human scores."""
    rows = [
        row
        for row in found.figures["correlation"]
        if (row["kind"], row["setting"]) == ("spearman", SAMPLE_LEVEL)
        and row["estimate"] is not None
    ]
    if not rows:
        return no_human_scores()[0].text
    at, claim = surest(rows)
    names = {one["component"]: one["name"] for one in found.figures["answerers"]}
    return follows_human(names[rows[at]["answerer"]], rows[at], claim).text


def who_writes_longer(found: Bundled) -> str:
    """Say whether people and models write texts of different length."""
    topics = found.recipe["counts"].get("questions")
    found_verdict = length_verdict(found.figures["general"], too_few_topics(topics))
    return found_verdict.text if found_verdict else ""
