"""What a reader should know before trusting a board: figures of a run turned into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.work.snapshots import answers
from crowdqc.numbers import count, listed, percent, plural, score, word
from crowdqc.web.terms import Words
from evaluation.methods.core.redundancy import FEW
from evaluation.models import ItemScore, Run

SHOWN_CLUSTERS = 3
EXCERPT = 60
SHOWN_NAMES = 4  # of the workers of a group
EVIDENCE = gettext_lazy("Evidence")


@dataclass(frozen=True)
class Warning:
    """One note of the rail; ``level`` is warn, bad, accent or "" (see rail_warnings.html)."""

    level: str
    head: str
    text: str
    url: str = ""
    link: Words = EVIDENCE


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
            _("Only %(answers)s per question.") % {"answers": plural_answers(answers)},
            _(
                "Below %(few)s, a score depends mostly on whose answers it was compared "
                "with. Do not use it for decisions about single workers. Collect one more "
                "answer per question first."
            )
            % {"few": FEW},
        )
    ]


def plural_answers(answers: float) -> str:
    """A median number of answers: ``1 answer``, ``2.5 answers``."""
    several = 1 if answers == 1 else 2
    return ngettext("%(count)s answer", "%(count)s answers", several) % {"count": f"{answers:g}"}


def _graph(told: Mapping[str, Any]) -> list[Warning]:
    parts = told.get("components", [])
    found = []
    if len(parts) > 1:
        found.append(
            Warning(
                "warn",
                _("%(parts)s boards.") % {"parts": word(len(parts)).capitalize()},
                _(
                    "Workers of different boards share no question, not even through others, so "
                    "nothing can be said about who of them is better."
                ),
            )
        )
    if any(part["ranked_by"] == "adjusted" for part in parts):
        found.append(
            Warning(
                "",
                _("Different questions."),
                _(
                    "Workers answered different questions, so the score is adjusted for how hard "
                    "theirs were. A plain mean would mix luck with quality."
                ),
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
                _("Two groups that answer differently."),
                _(
                    "%(fewer)s agree with each other (%(within)s), and so do the other "
                    "%(others)s (%(within_others)s), but not with them (%(between)s). The larger "
                    "group holds %(share)s of the weight, so the ranking follows it. "
                    "If it is wrong, the ranking is upside down. Read some questions on which "
                    "they differ before you use it."
                )
                % {
                    "fewer": _listed(less["workers"], names),
                    "within": score(less["within"], 2),
                    "others": len(more["workers"]),
                    "within_others": score(more["within"], 2),
                    "between": score(part["between"], 2),
                    "share": percent(more["share_of_weight"]),
                },
            )
        )
    return found


def _listed(workers: Sequence[int], names: Mapping[int, str]) -> str:
    """Names of a group, shortened: ``aspen-16, plover-11 and 3 more``."""
    told = [names.get(pk, _("a worker")) for pk in workers]
    return listed(told, None if len(told) == SHOWN_NAMES + 1 else SHOWN_NAMES)


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
                _("Question %(number)s may mislead.") % {"number": number},
                f"{_say_the_same(one, row.text if row else '')} {_without(one, names)} "
                + _("Read it before you use its best answer."),
                url,
            )
        )
    rest = len(listed) - len(found)
    if rest:
        found.append(
            Warning(
                "",
                _("Near-identical answers to %(questions)s.")
                % {"questions": plural(rest, "question")},
                _("They score as high as the others or higher; they may simply be right."),
            )
        )
    return found


def _scores_below(one: Mapping[str, Any]) -> bool:
    others = one["mean_score_of_others"]
    return others is not None and one["mean_score"] < others


def _excerpt(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT].rsplit(' ', 1)[0]} …"


def _say_the_same(one: Mapping[str, Any], text: str) -> str:
    """How many answers to a question are nearly the same, and what they say."""
    return _(
        "%(size)s of %(of)s answers are nearly the same and say “%(text)s”; together they hold "
        "%(share)s of the weight."
    ) % {
        "size": one["size"],
        "of": one["of"],
        "text": _excerpt(text),
        "share": percent(one["share_of_weight"]),
    }


def _without(one: Mapping[str, Any], names: Mapping[int, str]) -> str:
    moves = one["without"]
    if not moves["moved"]:
        return _("Without this question no rank would change.")
    first = moves["listed"][0]
    name = names.get(first["worker"], _("a worker"))
    others = moves["moved"] - 1
    said = {"name": name, "rank": first["rank"], "without": first["without"]}
    if not others:
        return _("Without this question %(name)s moves from rank %(rank)s to %(without)s.") % said
    return ngettext(
        "Without this question %(name)s moves from rank %(rank)s to %(without)s, and one other "
        "moves.",
        "Without this question %(name)s moves from rank %(rank)s to %(without)s, and %(others)s "
        "others move.",
        others,
    ) % {**said, "others": count(others)}


def _bounds(told: Mapping[str, Any]) -> list[Warning]:
    found = []
    for bound in told.get("bounds", []):
        if not bound.get("vacuous"):
            continue
        enough = bound.get("enough_workers")
        said = _(
            "Eq. (8) gives %(worst)s for %(workers)s workers a question at this agreement; it says "
            "nothing here."
        ) % {"worst": score(bound["worst"], 2), "workers": bound["workers"]}
        if enough:
            falls = _("From %(enough)s workers on it falls under 1.") % {"enough": enough}
            said = f"{said} {falls}"
        found.append(Warning("warn", _("The bound is vacuous."), said))
    return found[:1]


def _swaps(told: Mapping[str, Any], names: Mapping[int, str]) -> list[Warning]:
    found = []
    for part in told.get("swaps", []):
        if not part["swapped"]:
            continue
        first = part["listed"][0]
        up, down = names.get(first["up"], _("one")), names.get(first["down"], _("another"))
        unsure = not any(pair["sure"] for pair in part["listed"])
        if part["swapped"] == 1:
            sure = (
                _("Neither order is certain.") if unsure else _("The order as iterated is certain.")
            )
            found.append(
                Warning(
                    "",
                    _("Iterating changed two places."),
                    _("%(down)s and %(up)s swap when the score is not iterated.")
                    % {"down": down, "up": up}
                    + f" {sure}",
                )
            )
            continue
        sure = (
            _("None of these orders is certain.")
            if unsure
            else _("Some of these orders are certain as iterated.")
        )
        found.append(
            Warning(
                "",
                _("Iterating turned %(swapped)s of %(pairs)s round.")
                % {"swapped": part["swapped"], "pairs": plural(part["pairs"], "pair")},
                _("Most clearly %(up)s now stands above %(down)s.") % {"up": up, "down": down}
                + f" {sure}",
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
                _("Intervals are a little short."),
                _(
                    "There are too many answers to fit every resample again, so the exemplary "
                    "answers stay as fitted."
                ),
            )
        )
    missed = sum(part["resamples_not_converged"] for part in parts)
    if missed:
        total = sum(part["resamples"] for part in parts)
        found.append(
            Warning(
                "",
                _("%(missed)s of %(resamples)s did not converge.")
                % {"missed": missed, "resamples": plural(total, "resample")},
                _("They enter the intervals as they stood after the last round."),
            )
        )
    return found


def _left_out(told: Mapping[str, Any]) -> list[Warning]:
    left = told.get("left_out", {})
    alone: Sequence[int] = left.get("questions_with_one_answer", [])
    if not alone:
        return []
    return [
        Warning(
            "",
            ngettext(
                "%(n)s question has one answer only.",
                "%(n)s questions have one answer only.",
                len(alone),
            )
            % {"n": count(len(alone))},
            _("There is nothing to compare it with, so it enters no score."),
        )
    ]
