"""What every page of a labels task says of its run: the field, the verdict, the state."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy

from annotation.models import Task
from annotation.work.snapshots import labels as collected
from annotation.work.snapshots.labels import LabelField
from crowdqc.numbers import count, interval, listed, plural, score
from crowdqc.web.terms import Words
from evaluation.models import Run, RunState
from evaluation.results.cells import none
from evaluation.runs.selectors import lists as reads
from evaluation.runs.selectors import more_work, next_steps, shell
from evaluation.runs.selectors.more_work import StillOut
from evaluation.runs.selectors.verdicts import NextStep, Verdict

Told = Mapping[str, Any]
SINGLE_ENOUGH = 0.667  # the alpha below which one worker's labels should not be used alone
FEW_DIFFER = 0.1  # a share of items on which counting differs that people can decide by hand
FIGURES = ("field", "summary", "recipe", "votes", "diagnostics", "agreement")
NAMES: dict[str, Words] = {
    "majority": gettext_lazy("Majority vote"),
    "dawid_skene": "Dawid-Skene",
    "mace": "MACE",
    "glad": "GLAD",
}

# From which alpha on, by Krippendorff's limits.
EXTENTS = (
    (0.8, gettext_lazy("People agree strongly"), gettext_lazy("People agree strongly at best")),
    (SINGLE_ENOUGH, gettext_lazy("People agree well"), gettext_lazy("People agree well at best")),
    (0.2, gettext_lazy("People agree weakly"), gettext_lazy("People agree weakly at best")),
    (-math.inf, gettext_lazy("People hardly agree"), gettext_lazy("People hardly agree at best")),
)


@dataclass(frozen=True)
class ShownField:
    """The field of a run as it was when the run was made."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, told: Told) -> ShownField:
        """From the run's figures."""
        own = told["field"]
        return cls(
            own["name"], own["label"], tuple((code, label) for code, label in own["options"])
        )

    @property
    def labels(self) -> dict[str, str]:
        """What each code is called."""
        return dict(self.options)

    @property
    def collected(self) -> LabelField:
        """The same as collected labels know it."""
        return LabelField(self.name, self.label, self.options)

    def word(self, code: str) -> str:
        """What a code is called; a code that is none as it stands."""
        return self.labels.get(code, code)


def of(right: float, n: int) -> str:
    """``17.5 of 20``: how many are right, where a tie is shared."""
    written = count(right) if float(right).is_integer() else f"{right:.1f}"
    return _("%(right)s of %(n)s") % {"right": written, "n": count(n)}


def known_right(right: int, n: int, low: float | None, high: float | None) -> SafeString:
    """Known answers right of those seen, with the interval of the share."""
    if not n:
        return none()
    if low is None:
        return format_html("{}", of(right, n))
    return format_html('{} <small class="dim">{}</small>', of(right, n), interval(low, high, 2))


def verdict(run: Run, told: Told, reliable: int | None, decided: int = 0) -> Verdict:
    """Never more than the intervals say; ``reliable`` workers reach the requester's threshold.

    ``decided``: on how many of the items on which the methods differ people decided.
    """
    summary = told["summary"]
    n = summary["workers"]
    note = _note(told, summary)
    if decided:
        note = f"{note} {_decided(summary['any_differ'], decided)}"
    return Verdict(_sentence(run, told, summary, n, reliable), note)


def _decided(uncertain: int, decided: int) -> str:
    if decided < uncertain:
        said = ngettext(
            "%(decided)s of %(n)s uncertain items is decided by hand.",
            "%(decided)s of %(n)s uncertain items are decided by hand.",
            decided,
        )
    else:
        said = ngettext(
            "The one uncertain item is decided by hand.",
            "All %(n)s uncertain items are decided by hand.",
            uncertain,
        )
    return said % {"decided": count(decided), "n": count(uncertain)}


def what_now(run: Run, told: Told, decided: int = 0) -> Iterator[NextStep | None]:
    """Who or what to look at before the labels are used; ``decided`` as in ``verdict``."""
    summary = told["summary"]
    task, doubtful = run.task, summary["unknown"] + summary["one_label"] + summary["worse"]
    workers, items = (
        reverse(name, args=[run.project_id, run.task_id])
        for name in ("label_results", "label_items")
    )
    if summary["not_scored"] == summary["workers"]:
        yield next_steps.plan(task, _("Let more workers label the same items."))
    if summary["worse"] or summary["one_label"]:
        yield NextStep(
            _("Look at the workers at the end of the list first: their labels may be of no use."),
            _("Lowest first"),
            f"{workers}?run={run.number}&sort=competence&dir=up",
        )
    if doubtful:
        yield next_steps.plan(
            task, _("Collect more labels: some workers gave too few to be told from guessing.")
        )
    yield next_steps.review(task)
    if (n := summary["any_differ"] - decided) > 0:
        said = ngettext(
            "Decide this item by hand, which costs nothing: our ways of counting disagree on it. "
            "Use the other labels as they are.",
            "Decide these %(n)s items by hand, which costs nothing: our ways of counting disagree "
            "on them. Use the other labels as they are.",
            n,
        )
        yield NextStep(
            said % {"n": count(n)},
            _("Show these items"),
            f"{items}?run={run.number}&show=differ",
        )
    if decided:
        yield NextStep(_("Nothing to do: export the labels; what you decided is in a column."))
    yield NextStep(_("Nothing to do: use the labels as they are."))


def wait_for(out: StillOut | None, told: Told) -> str:
    """Whether to wait for labels still to come: not where few items are left to decide by hand.

    Where every way of counting gives an item one label, that label is used as it is; the few
    others are decided faster by hand than by more labels on every item. Items with too few labels
    for that, or none, still have to be labeled.
    """
    summary = told["summary"]
    items, differ = comparable(summary)
    doubtful = any(summary[one] for one in ("unknown", "one_label", "worse", "not_scored"))
    doubtful |= items < summary["items"] or differ > FEW_DIFFER * items
    if out is None or not out.coming or out.bare or doubtful:
        return more_work.worth_waiting(out)
    told_items = {
        "n": plural(out.n, "label"),
        "same": count(items - differ),
        "items": plural(items, "item"),
        "cost": out.price.words(out.free),
    }
    said = _("No: all ways of counting agree on every item without %(n)s still to come.")
    if differ:
        said = _(
            "No: all ways of counting agree on %(same)s of %(items)s without %(n)s still to come, "
            "and you decide the others by hand."
        )
    said %= told_items
    if out.in_work or not out.price.pay:
        return f"{said} {more_work.when(out)}"
    return f"{said} {_('Close the task and keep %(cost)s.') % told_items}"


def _sentence(run: Run, told: Told, summary: Told, n: int, reliable: int | None) -> str:
    better, unknown = summary["better"], summary["unknown"]
    people = {"people": plural(n, "worker")}
    if summary["not_scored"] == n:
        return _("Competence needs 3 workers who share items; %(people)s gave labels.") % people
    resamples = (told.get("recipe") or {}).get("params", {}).get("resamples", 1)
    if not resamples:
        return _("This run has no intervals, so it does not say who does better than guessing.")
    rest = []
    if reliable is not None:
        limit = {"n": count(reliable), "limit": score(run.params["reliable"], 2)}
        head = _("%(n)s of %(people)s can be relied on, by the threshold of %(limit)s")
        head %= {**people, **limit}
        if better > reliable:
            more = ngettext(
                "%(n)s more does better than guessing",
                "%(n)s more do better than guessing",
                better - reliable,
            )
            rest.append(more % {"n": count(better - reliable)})
    elif better == n:
        return _("All %(people)s do better than guessing.") % people
    elif not better and unknown == n:
        return _("None of the %(people)s can be told from guessing.") % people
    else:
        head = ngettext(
            "%(n)s of %(people)s does better than guessing",
            "%(n)s of %(people)s do better than guessing",
            better,
        ) % {**people, "n": count(better)}
    if unknown:
        rest.append(_("%(n)s cannot be told from guessing") % {"n": count(unknown)})
    rest += _others(summary)
    told_rest = {"head": head, "rest": listed(rest)}
    return _("%(head)s; %(rest)s.") % told_rest if rest else f"{head}."


def _others(summary: Told) -> list[str]:
    """Workers whose labels say little, each kind as a part of a sentence."""
    kinds = (
        (
            summary["one_label"],
            ngettext_lazy(
                "%(n)s always gives the same label", "%(n)s always give the same label", "count"
            ),
        ),
        (
            summary["worse"],
            ngettext_lazy(
                "%(n)s does worse than guessing", "%(n)s do worse than guessing", "count"
            ),
        ),
        (
            summary["not_scored"],
            ngettext_lazy("%(n)s is not scored", "%(n)s are not scored", "count"),
        ),
    )
    return [said % {"count": n, "n": count(n)} for n, said in kinds if n]


def alpha_of(told: Told) -> Told | None:
    """Nominal alpha of all workers."""
    rows = (row for row in told["agreement"] if row["scope"] == "all")
    return next((row for row in rows if row["coefficient"] == "krippendorff_nominal"), None)


def _agreement_in_words(row: Told | None) -> str:
    """A word for it only where the whole interval lies within that word's limits."""
    if row is None or row["low"] is None:
        return _("How far people agree is not sure")
    low, high = (next(one for one in EXTENTS if row[end] >= one[0]) for end in ("low", "high"))
    return str(low[1] if low == high else high[2])


def _note(told: Told, summary: Told) -> str:
    said = []
    alpha, without = summary.get("alpha"), summary.get("alpha_better")
    others = summary["workers"] - summary["better"] if summary["better"] else 0
    if alpha is None:
        said.append(_("Agreement cannot be computed from these labels."))
    else:
        known = {"extent": _agreement_in_words(alpha_of(told)), "alpha": score(alpha, 2)}
        if others and without is not None:
            form = ngettext(
                "%(extent)s (α %(alpha)s, where 0 is chance and 1 is full agreement; %(without)s "
                "at most without the other %(n)s worker).",
                "%(extent)s (α %(alpha)s, where 0 is chance and 1 is full agreement; %(without)s "
                "at most without the other %(n)s workers).",
                others,
            )
            known |= {"without": score(without, 2), "n": count(others)}
        else:
            form = _("%(extent)s (α %(alpha)s, where 0 is chance and 1 is full agreement).")
        said.append(form % known)
        if alpha < SINGLE_ENOUGH:
            said.append(_("Single workers err: that is why items have several labels."))
    said.append(_methods_agree(summary))
    return " ".join(said)


def comparable(summary: Told) -> tuple[int, int]:
    """Items with enough votes for methods to differ, and those on which they do.

    A run of an earlier version counts all items.
    """
    if "compared" in summary:
        return summary["compared"], summary["compared_differ"]
    return summary["items"], summary["any_differ"]


def _methods_agree(summary: Told) -> str:
    """On how many items with enough votes all methods agree; the other items are named."""
    items, differ = comparable(summary)
    few = summary["items"] - items
    if not items:
        return _("No item has the 3 votes from which methods of counting can be compared.")
    if not differ and not few:
        return _("All methods agree on every label.")
    told = {"same": count(items - differ), "items": plural(items, "item"), "few": count(few)}
    if not few:
        return _("All methods agree on %(same)s of %(items)s.") % told
    return (
        ngettext(
            "All methods agree on %(same)s of %(items)s with 3 votes or more; %(few)s has fewer.",
            "All methods agree on %(same)s of %(items)s with 3 votes or more; %(few)s have fewer.",
            few,
        )
        % told
    )


def basis(run: Run, told: Told) -> str:
    """``1,996 labels of 400 items by 24 workers.``"""
    counts = run.snapshot.counts if run.snapshot else {}
    return _("%(labels)s of %(items)s by %(workers)s.") % {
        "labels": plural(counts.get("answers", 0), "label"),
        "items": plural(counts.get("questions", 0), "item"),
        "workers": plural(counts.get("workers", 0), "worker"),
    }


def state(run: Run | None, active: Run | None, last: Run | None) -> dict[str, str]:
    """Mark, word and sentence of the header while a run is in work or the last one failed.

    Empty while neither is so: then the page says what its own run is made of.
    """
    if active is not None:
        return {
            "mark": "running",
            "word": _("Run %(number)s in progress, %(percent)s%%")
            % {"number": active.number, "percent": shell.percent(active)},
            "sentence": _("Run %(number)s is shown until it has finished.") % {"number": run.number}
            if run
            else "",
        }
    if last is not None and last.state == RunState.FAILED:
        shown = " " + _("Run %(number)s is shown.") % {"number": run.number} if run else ""
        return {
            "mark": "bad",
            "word": _("Run %(number)s failed") % {"number": last.number},
            "sentence": f"{last.error}{shown}",
        }
    return {}


def run_choices(task: Task) -> list[dict[str, Any]]:
    """The finished runs to choose among; each with its field where the task has several."""
    fields = {one.name: one.label for one in collected.fields_of(task.current)}
    first = next(iter(fields.values()), "")
    return [
        {
            "run": run,
            "field": fields.get(run.params.get("field") or "", first) if len(fields) > 1 else "",
        }
        for run in reads.finished_runs(task)
    ]
