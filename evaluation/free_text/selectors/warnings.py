"""What a reader should know before trusting a board: figures of a run turned into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from annotation.work.snapshots import answers
from crowdqc.numbers import percent, plural, score, word
from evaluation.methods.core.redundancy import FEW
from evaluation.models import ItemScore, Run

SHOWN_CLUSTERS = 3
EXCERPT = 60
SHOWN_NAMES = 4  # of the workers of a group


@dataclass(frozen=True)
class Warning:
    """One note of the rail; ``level`` is warn, bad, accent or "" (see rail_warnings.html)."""

    level: str
    head: str
    text: str
    url: str = ""
    link: str = "Evidence"


def item_numbers(run: Run) -> dict[int, int]:
    """The numbers under which the questions of a run are shown: their order in the task."""
    ids = (
        ItemScore.objects.filter(run=run, dimension="")
        .order_by("item__position", "item_id")
        .values_list("item_id", flat=True)
    )
    return {pk: at for at, pk in enumerate(ids, start=1)}


def warnings(
    run: Run, told: Mapping[str, Any], names: Mapping[int, str], numbers: Mapping[int, int]
) -> list[Warning]:
    """Everything to read first, the gravest first; two queries whatever the run's size."""
    found = [
        *_redundancy(told),
        *_camps(told, names),
        *_graph(told),
        *_clusters(run, told, names, numbers),
        *_left_out(told),
    ]
    return sorted(found, key=lambda warning: warning.level != "warn")


def of_the_computation(told: Mapping[str, Any], names: Mapping[int, str]) -> list[Warning]:
    """What only statisticians need: bounds, what iterating changed, and resamples."""
    return [*_bounds(told), *_swaps(told, names), *_resamples(told)]


def of_questions(
    run: Run, told: Mapping[str, Any], names: Mapping[int, str], numbers: Mapping[int, int]
) -> list[Warning]:
    """What the list of questions warns of: near-identical answers; two queries where any are."""
    return _clusters(run, told, names, numbers)


def _redundancy(told: Mapping[str, Any]) -> list[Warning]:
    few = [one for one in told.get("redundancy", []) if one["few"]]
    if not few:
        return []
    answers = min(one["answers"] for one in few)
    return [
        Warning(
            "warn",
            f"Only {plural_answers(answers)} per question.",
            f"Below {FEW}, a score depends mostly on whose answers it was compared with. "
            "Do not use it for decisions about single workers. Collect one more answer per "
            "question first.",
        )
    ]


def plural_answers(answers: float) -> str:
    """A median number of answers: ``1 answer``, ``2.5 answers``."""
    return f"{answers:g} answer{'' if answers == 1 else 's'}"


def _graph(told: Mapping[str, Any]) -> list[Warning]:
    parts = told.get("components", [])
    found = []
    if len(parts) > 1:
        found.append(
            Warning(
                "warn",
                f"{word(len(parts)).capitalize()} boards.",
                "Workers of different boards share no question, not even through others, so "
                "nothing can be said about who of them is better.",
            )
        )
    if any(part["ranked_by"] == "adjusted" for part in parts):
        found.append(
            Warning(
                "",
                "Different questions.",
                "Workers answered different questions, so the score is adjusted for how hard "
                "theirs were. A plain mean would mix luck with quality.",
            )
        )
    return found


def _camps(told: Mapping[str, Any], names: Mapping[int, str]) -> list[Warning]:
    """Two answers that the crowd holds: a disagreement, and no error of either side by itself."""
    found = []
    for part in told.get("camps", []):
        if not part["found"]:
            continue
        more, less = sorted(part["groups"], key=lambda one: -one["share_of_weight"])
        found.append(
            Warning(
                "warn",
                "Two groups that answer differently.",
                f"{_listed(less['workers'], names)} agree with each other "
                f"({score(less['within'], 2)}), and so do the other "
                f"{len(more['workers'])} ({score(more['within'], 2)}), but not with them "
                f"({score(part['between'], 2)}). The larger group holds "
                f"{percent(more['share_of_weight'])} of the weight, so the ranking follows it. If "
                "it is wrong, the ranking is upside down. Read some questions on which they "
                "differ before you use it.",
            )
        )
    return found


def _listed(workers: Sequence[int], names: Mapping[int, str]) -> str:
    """Names of a group, shortened: ``aspen-16, plover-11 and 3 more``."""
    told = [names.get(pk, "a worker") for pk in workers]
    if len(told) <= SHOWN_NAMES + 1:
        return f"{', '.join(told[:-1])} and {told[-1]}"
    return f"{', '.join(told[:SHOWN_NAMES])} and {len(told) - SHOWN_NAMES} more"


def _clusters(
    run: Run, told: Mapping[str, Any], names: Mapping[int, str], numbers: Mapping[int, int]
) -> list[Warning]:
    listed = [one for part in told.get("clusters", []) for one in part.get("listed", [])]
    if not listed:
        return []
    ids = [one["answer"] for one in listed]
    unknown, texts = answers.declined(ids), answers.texts_of(ids)
    misleading = [one for one in listed if one["answer"] in unknown or _scores_below(one)]
    found = []
    for one in misleading[:SHOWN_CLUSTERS]:
        number = numbers.get(one["question"], 0)
        row = texts.get(one["answer"])
        url = reverse("task_results_question", args=[run.project_id, run.task_id, one["question"]])
        found.append(
            Warning(
                "warn",
                f"Question {number} may mislead.",
                f"{one['size']} of {one['of']} answers are nearly the same and say "
                f"“{_excerpt(row.text if row else '')}”; together they hold "
                f"{percent(one['share_of_weight'])} of the weight. {_without(one, names)}",
                url,
            )
        )
    rest = len(listed) - len(found)
    if rest:
        found.append(
            Warning(
                "",
                f"Near-identical answers to {plural(rest, 'question')}.",
                "They score as high as the others or higher; they may simply be right.",
            )
        )
    return found


def _scores_below(one: Mapping[str, Any]) -> bool:
    others = one["mean_score_of_others"]
    return others is not None and one["mean_score"] < others


def _excerpt(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT].rsplit(' ', 1)[0]} …"


def _without(one: Mapping[str, Any], names: Mapping[int, str]) -> str:
    moves = one["without"]
    if not moves["moved"]:
        return "Without this question no rank would change."
    first = moves["listed"][0]
    name = names.get(first["worker"], "a worker")
    others = moves["moved"] - 1
    also = f", and {plural(others, 'other')} move" if others else ""
    if others == 1:
        also = ", and one other moves"
    return (
        f"Without this question {name} moves from rank {first['rank']} to {first['without']}{also}."
    )


def _bounds(told: Mapping[str, Any]) -> list[Warning]:
    found = []
    for bound in told.get("bounds", []):
        if not bound.get("vacuous"):
            continue
        enough = bound.get("enough_workers")
        until = f" From {enough} workers on it falls under 1." if enough else ""
        found.append(
            Warning(
                "warn",
                "The bound is vacuous.",
                f"Eq. (8) gives {score(bound['worst'], 2)} for {bound['workers']} workers "
                f"a question at this agreement; it says nothing here.{until}",
            )
        )
    return found[:1]


def _swaps(told: Mapping[str, Any], names: Mapping[int, str]) -> list[Warning]:
    found = []
    for part in told.get("swaps", []):
        if not part["swapped"]:
            continue
        first = part["listed"][0]
        up, down = names.get(first["up"], "one"), names.get(first["down"], "another")
        unsure = not any(pair["sure"] for pair in part["listed"])
        if part["swapped"] == 1:
            sure = "Neither order is certain." if unsure else "The order as iterated is certain."
            found.append(
                Warning(
                    "",
                    "Iterating changed two places.",
                    f"{down} and {up} swap when the score is not iterated. {sure}",
                )
            )
            continue
        sure = (
            "None of these orders is certain."
            if unsure
            else "Some of these orders are certain as iterated."
        )
        found.append(
            Warning(
                "",
                f"Iterating turned {part['swapped']} of {plural(part['pairs'], 'pair')} round.",
                f"Most clearly {up} now stands above {down}. {sure}",
            )
        )
    return found


def _resamples(told: Mapping[str, Any]) -> list[Warning]:
    parts = told.get("components", [])
    found = []
    if any(part["resamples"] and not part["resamples_refitted"] for part in parts):
        found.append(
            Warning(
                "",
                "Intervals are a little short.",
                "There are too many answers to fit every resample again, so the exemplary "
                "answers stay as fitted.",
            )
        )
    missed = sum(part["resamples_not_converged"] for part in parts)
    if missed:
        total = sum(part["resamples"] for part in parts)
        found.append(
            Warning(
                "",
                f"{missed} of {plural(total, 'resample')} did not converge.",
                "They enter the intervals as they stood after the last round.",
            )
        )
    return found


def _left_out(told: Mapping[str, Any]) -> list[Warning]:
    left = told.get("left_out", {})
    alone: Sequence[int] = left.get("questions_with_one_answer", [])
    if not alone:
        return []
    noun = "question has" if len(alone) == 1 else "questions have"
    return [
        Warning(
            "",
            f"{len(alone)} {noun} one answer only.",
            "There is nothing to compare it with, so it enters no score.",
        )
    ]
