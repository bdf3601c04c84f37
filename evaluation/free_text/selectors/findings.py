"""What to read before the scores of a free-text run are used, from its stored figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.work.snapshots import answers
from crowdqc.numbers import count, general, listed, percent, plural, score, word
from evaluation.free_text.messages import MESSAGES
from evaluation.methods.core.redundancy import FEW
from evaluation.models import ItemScore, Run
from evaluation.results.findings import Action, Finding

SHOWN_CLUSTERS = 3
EXCERPT = 60
SHOWN_NAMES = 4  # of the workers of a group
SHORT_FROM = 10  # where one answer in so many is short, it is said
Figures = Mapping[str, Any]
Names = Mapping[int, str]


def item_numbers(run: Run) -> dict[int, int]:
    """Return the number of each question in the run, by its order in the task."""
    ids = (
        ItemScore.objects.filter(run=run, dimension="")
        .order_by("item__position", "item_id")
        .values_list("item_id", flat=True)
    )
    return {pk: at for at, pk in enumerate(ids, start=1)}


def warnings_of_run(
    run: Run, figures: Figures, names: Names, numbers: Mapping[int, int]
) -> list[Finding]:
    """Return all warnings about a run (two queries)."""
    return [
        *_redundancy(figures),
        *_camps(figures, names),
        *_graph(figures),
        *duplicate_answers(run, figures, numbers),
        *_single_answers(figures),
        *_short_answers(run, figures),
    ]


def public_warnings(figures: Figures, names: Names) -> list[Finding]:
    """What to read before a board is used, without links or texts; ``names`` of its workers."""
    return [
        *_redundancy(figures),
        *_camps(figures, names),
        *_graph(figures),
        *_single_answers(figures),
        *_resamples(figures),
    ]


def computation_notes(figures: Figures, names: Names) -> list[Finding]:
    """Return findings for statisticians: bounds, effects of iterating, resamples."""
    return [*_bounds(figures), *_swaps(figures, names), *_resamples(figures)]


def _redundancy(figures: Figures) -> Iterator[Finding]:
    few = [one["answers"] for one in figures.get("redundancy", []) if one["few"]]
    if few:
        yield MESSAGES.find("few_answers", answers=plural_answers(min(few)), few=FEW)


def plural_answers(answers: float) -> str:
    """A median number of answers: ``1 answer``, ``2.5 answers``."""
    several = 1 if answers == 1 else 2
    return ngettext("%(count)s answer", "%(count)s answers", several) % {"count": general(answers)}


def _graph(figures: Figures) -> Iterator[Finding]:
    parts = figures.get("components", [])
    if len(parts) > 1:
        yield MESSAGES.find("separate_boards", parts=word(len(parts)).capitalize())
    if any(part["ranked_by"] == "adjusted" for part in parts):
        yield MESSAGES.find("adjusted_scores")


def _camps(figures: Figures, names: Names) -> Iterator[Finding]:
    """Two answers that the crowd holds: a disagreement, and no error of either side by itself."""
    for part in figures.get("camps", []):
        if not part["found"]:
            continue
        more, less = sorted(part["groups"], key=lambda one: -one["share_of_weight"])
        yield MESSAGES.find(
            "camps_warning",
            fewer=_listed(less["workers"], names),
            within=score(less["within"], 2),
            others=len(more["workers"]),
            between=score(part["between"], 2),
            share=percent(more["share_of_weight"]),
        )


def _listed(workers: Sequence[int], names: Names) -> str:
    """Names of a group, shortened: ``aspen-16, plover-11 and 3 more``."""
    known = [names.get(pk, _("a worker")) for pk in workers]
    return listed(known, None if len(known) == SHOWN_NAMES + 1 else SHOWN_NAMES)


def duplicate_answers(run: Run, figures: Figures, numbers: Mapping[int, int]) -> Iterator[Finding]:
    """Yield findings on near-identical answers that many workers gave."""
    found = [one for part in figures.get("clusters", []) for one in part.get("listed", [])]
    if not found:
        return
    ids = [one["answer"] for one in found]
    unknown, texts = answers.declined(ids), answers.texts_of(ids)
    misleading = [one for one in found if one["answer"] in unknown or _scores_below(one)]
    shown = misleading[:SHOWN_CLUSTERS]
    for one in shown:
        row = texts.get(one["answer"])
        url = reverse("task_results_question", args=[run.project_id, run.task_id, one["question"]])
        yield MESSAGES.find(
            "misleading_question",
            action=Action(_("Evidence"), url),
            number=numbers.get(one["question"], 0),
            size=one["size"],
            of=one["of"],
            text=_excerpt(row.text if row else ""),
            share=percent(one["share_of_weight"]),
        )
    if rest := len(found) - len(shown):
        yield MESSAGES.find("near_identical", questions=plural(rest, "question"))


def _scores_below(one: Mapping[str, Any]) -> bool:
    others = one["mean_score_of_others"]
    return others is not None and one["mean_score"] < others


def _excerpt(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT].rsplit(' ', 1)[0]} …"


def _bounds(figures: Figures) -> Iterator[Finding]:
    bound = next((one for one in figures.get("bounds", []) if one.get("vacuous")), None)
    if bound is None:
        return
    values = {"worst": score(bound["worst"], 2), "workers": bound["workers"]}
    if enough := bound.get("enough_workers"):
        yield MESSAGES.find("vacuous_bound_until", **values, enough=enough)
    else:
        yield MESSAGES.find("vacuous_bound", **values)


def _swaps(figures: Figures, names: Names) -> Iterator[Finding]:
    for part in figures.get("swaps", []):
        if not part["swapped"]:
            continue
        first = part["listed"][0]
        yield MESSAGES.find(
            "iterating_swaps",
            swapped=part["swapped"],
            pairs=plural(part["pairs"], "pair"),
            up=names.get(first["up"], _("one")),
            down=names.get(first["down"], _("another")),
            sure=count(sum(pair["sure"] for pair in part["listed"])),
        )


def _resamples(figures: Figures) -> Iterator[Finding]:
    parts = figures.get("components", [])
    if any(part["resamples"] and not part["resamples_refitted"] for part in parts):
        yield MESSAGES.find("short_intervals")
    if missed := sum(part["resamples_not_converged"] for part in parts):
        total = sum(part["resamples"] for part in parts)
        yield MESSAGES.find(
            "resamples_not_converged", missed=missed, resamples=plural(total, "resample")
        )


def _single_answers(figures: Figures) -> Iterator[Finding]:
    alone: Sequence[int] = figures.get("left_out", {}).get("questions_with_one_answer", [])
    if alone:
        yield MESSAGES.find("single_answers", n=len(alone))


def _short_answers(run: Run, figures: Figures) -> Iterator[Finding]:
    """Many answers of a word or two, with the list of answers; nothing of a run that is older."""
    told = figures.get("short_answers")
    if not told or SHORT_FROM * told["short"] < told["answers"]:
        return
    page = reverse("task_answers", args=[run.project_id, run.task_id])
    yield MESSAGES.find(
        "short_answers",
        action=Action(_("Read the answers"), f"{page}?by=people&counts=yes"),
        n=told["short"],
        short=count(told["short"]),
        answers=plural(told["answers"], "answer"),
        words=told["words"],
    )
