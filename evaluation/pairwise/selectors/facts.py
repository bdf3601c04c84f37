"""What stands around the board of a pairwise study: the verdict, warnings, and small facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.work.snapshots.judgments import AskedDimension
from crowdqc.numbers import count, interval, listed, plural, score, short_date
from crowdqc.tally import Tally, reason_words
from evaluation.methods.pairwise.boards import SIDES_UNKNOWN
from evaluation.models import Run
from evaluation.models.runs import PUBLISHED
from evaluation.pairwise.messages import MESSAGES
from evaluation.pairwise.results import POOLED
from evaluation.pairwise.selectors.boards import SystemRow, against_average
from evaluation.pairwise.selectors.runs import ShownRun
from evaluation.results.findings import Action, Finding
from evaluation.results.stored_texts import translate_stored
from evaluation.runs.selectors.verdicts import Place, first_place

Told = Mapping[str, Any]
EVERY = "all dimensions"  # as the method names what is pooled
APART = "parts that share no pair"  # in what the method says
UNLIKE_MOST = "labels leave the majority"
SIDES = "no side effect is taken out"
LEFT_OUT = (
    ("uncounted", gettext_noop("Do not count")),
    ("excluded", gettext_noop("Of workers left out")),
    ("other_fields", gettext_noop("Asked something else")),
)

NOT_USED = {
    "repeat": gettext_noop("second judgments of a worker on the same pair"),
    "gold": gettext_noop("on attention pairs, which only test whether people read"),
}


def counted(run: Run | None, tally: Tally | None, asked: Sequence[AskedDimension]) -> str:
    """Explain the numbers of judgments on the page and why they differ; "" if unknown."""
    if run is None or tally is None:
        return ""
    again = tally.left_out.get("repeat", 0)
    told = {
        "dimensions": plural(len(asked), "dimension"),
        "used": count(tally.used),
        "came": count(tally.came),
        "all": count(tally.used + again),
        "others": listed(
            [
                f"{count(n)} {_(NOT_USED.get(reason, reason_words(reason)))}"
                for reason, n in sorted(tally.left_out.items(), key=lambda one: -one[1])
            ]
        ),
    }
    said = [_("A judgment is what one worker says of one pair: a vote on each of %(dimensions)s.")]
    if tally.left_out:
        said.append(_("%(came)s were given and %(used)s are used here. Not used: %(others)s."))
    else:
        said.append(_("All %(came)s that were given are used here."))
    if again:
        said.append(
            _("Progress, order effects and a worker’s page use the second ones, too: %(all)s.")
        )
    return " ".join(one % told for one in said)


def verdict(rows: Sequence[SystemRow], votes: int, *, topics: int = 0) -> Place:
    """Say who can be first on the largest board; ``topics``: so few of them leave it open."""
    by = plural(topics, "topic") if topics else plural(votes, "vote")
    return first_place(rows, noun="system", by=by)


def apart_finding(parts: Sequence[Told]) -> Finding:
    """Warn that groups of workers share no pair."""
    if all(part["workers"] == 1 for part in parts):
        return MESSAGES.find("workers_share_no_pair")
    return MESSAGES.find("worker_groups_apart", parts=count(len(parts)))


def warnings(runs: ShownRun, figures: Told, asked: Sequence[AskedDimension]) -> list[Finding]:
    """Return all warnings of a run."""
    run = runs.core
    page = reverse("pair_list", args=[run.project_id, run.task_id]) if run else ""
    return [*published(runs), *of_run(figures, asked, page)]


def of_run(figures: Told, asked: Sequence[AskedDimension], pairs: str = "") -> list[Finding]:
    """Return findings on a run's diagnostics, each once with its dimensions.

    A text begins with the name of its dimension, if it is about one. ``pairs`` is the address of
    the list of pairs, where the page may link to it.
    """
    labels = {one.name: one.label for one in asked}
    if len(labels) != 1:
        labels[EVERY] = _("All together")
    texts: dict[str, list[str]] = {}
    unlike: list[str] = []
    kept: list[str] = []
    unrecorded: list[str] = []
    found = []
    diagnostics = figures.get("diagnostics", {})
    for text in diagnostics.get("warnings", []):
        name, colon, rest = text.partition(": ")
        if APART in text:  # numbers of parts help nobody: what they mean does
            found.append(apart_finding(diagnostics.get("components", [])))
        elif UNLIKE_MOST in text:  # each dimension with its own numbers
            unlike.append(labels.get(name, name))
        elif SIDES_UNKNOWN in text:
            unrecorded.append(labels.get(name, name))
        elif SIDES in text:
            kept.append(labels.get(name, name))
        elif colon and name in labels:
            texts.setdefault(rest, []).append(labels[name])
        else:
            texts.setdefault(text, [])
    every = {one.label for one in asked}
    found += [
        _run_note(text, names, len(labels), covers_all=every <= set(names))
        for text, names in texts.items()
    ]
    if unrecorded:
        found.append(MESSAGES.find("sides_unknown", dimensions=_listed(unrecorded, len(labels))))
    if kept:
        found.append(MESSAGES.find("side_kept", dimensions=_listed(kept, len(labels))))
    if any(row["name"] == "side" for row in figures.get("shared") or ()):
        found.append(MESSAGES.find("side_estimated"))
    if unlike:
        action = Action(_("Show them"), pairs) if pairs else None
        dimensions = _listed(unlike, len(labels))
        found.append(MESSAGES.find("labels_unlike_votes", action=action, dimensions=dimensions))
    return found


def _run_note(text: str, names: Sequence[str], every: int, *, covers_all: bool) -> Finding:
    """A text of the run's diagnostics with the dimensions it holds for."""
    grave = "no board" in text or "never compared" in text
    # Runs keep what the method said; what a crowd estimated is called so on pages.
    text = translate_stored(text.replace("gold labels", "estimated labels"))
    text = f"{text[:1].upper()}{text[1:]}".removesuffix(".")
    if not names or covers_all:
        return MESSAGES.find("pair_warning" if grave else "pair_note", text=f"{text}.")
    code = "pair_dimension_warning" if grave else "pair_dimension_note"
    return MESSAGES.find(code, dimensions=_listed(names, every), text=text)


def _listed(names: Sequence[str], every: int) -> str:
    if len(names) >= every:
        return _("On every dimension")
    if len(names) == every - 1 and every > 2:
        return _("On nearly every dimension")
    return ", ".join(names)


def published(runs: ShownRun) -> list[Finding]:
    """Note that a published result exists, or is the one shown."""
    other = runs.published
    if other is None or runs.core is None:
        return []
    url = reverse("pair_results", args=[other.project_id, other.task_id])
    if runs.core.method == PUBLISHED:
        return [MESSAGES.find("published_shown", action=Action(_("See ours"), url))]
    action = Action(_("See it"), f"{url}?run={other.number}")
    imported = short_date(other.finished_at)
    return [MESSAGES.find("published_beside", action=action, run=other.number, imported=imported)]


def facts(run: Run, told: Told, dimension: str, keyed: str) -> list[tuple[str, str]]:
    """Small facts: name and value; ``keyed`` is the name of the dimension as the method has it."""
    diagnostics = told.get("diagnostics", {})
    parts = diagnostics.get("components", [])
    found = []
    if parts:
        whole = _("all") if len(parts) == 1 else _("%(n)s groups") % {"n": count(len(parts))}
        found.append((_("Workers connected by pairs"), whole))
    found += _side(told.get("shared", []), dimension)
    by = diagnostics.get("clusters", {}).get(keyed)
    if by:
        found.append((_("Intervals by"), translate_stored(by)))
    left = (run.snapshot.counts if run.snapshot else {}).get("left_out", {})
    found += [(_(label), count(left[name])) for name, label in LEFT_OUT if left.get(name)]
    if not any(left.values()):
        found.append((_("Left out"), _("none")))
    return found


def _side(shared: Iterable[Told], dimension: str) -> list[tuple[str, str]]:
    row = next((r for r in shared if r["dimension"] == dimension and r["name"] == "side"), None)
    if row is None:
        return []
    value = score(against_average(row["estimate"]), 2)
    name = _("Left side wins, equal texts")
    if row["low"] is None or row["high"] is None:
        return [(name, value)]
    span = interval(against_average(row["low"]), against_average(row["high"]), 2)
    return [(name, f"{value}, {span}")]


def dimension_key(dimension: str) -> str:
    """Return a dimension's key in the diagnostics: EVERY for all together, else its own name."""
    return EVERY if dimension == POOLED else dimension
