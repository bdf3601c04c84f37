"""What every page of a labels task says of its run: the field, the verdict, the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.models import Answer, Membership, Task
from annotation.work.snapshots import labels as collected
from annotation.work.snapshots.labels import LabelField
from crowdqc.numbers import count, interval, plural
from crowdqc.web.terms import Words
from evaluation.models import ItemLabel, Run, RunState
from evaluation.results.cells import empty_cell
from evaluation.runs.results import everybody
from evaluation.runs.selectors import lists as reads
from evaluation.runs.selectors import shell

Told = Mapping[str, Any]
FIGURES = (
    "field",
    "summary",
    "certainty",
    "recipe",
    "votes",
    "diagnostics",
    "agreement",
    "compare",
    everybody.FIGURE,
)
NAMES: dict[str, Words] = {
    "majority": gettext_lazy("Majority vote"),
    "dawid_skene": "Dawid-Skene",
    "mace": "MACE",
    "glad": "GLAD",
}


@dataclass(frozen=True)
class ShownField:
    """The field of a run as it was when the run was made."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, told: Told) -> ShownField:
        """Make the field from a run's figures."""
        own = told["field"]
        return cls(
            own["name"], own["label"], tuple((code, label) for code, label in own["options"])
        )

    @property
    def labels(self) -> dict[str, str]:
        """Map each code to what it is called."""
        return dict(self.options)

    @property
    def collected(self) -> LabelField:
        """The field as the snapshot of labels describes it."""
        return LabelField(self.name, self.label, self.options)

    def word(self, code: str) -> str:
        """Return the label of a code; an unknown code is returned as it is."""
        return self.labels.get(code, code)


def fraction(right: float, n: int) -> str:
    """Format a count of right answers like ``17.5 of 20``; a tie counts in part."""
    written = count(right) if float(right).is_integer() else f"{right:.1f}"
    return _("%(right)s of %(n)s") % {"right": written, "n": count(n)}


def known_right(right: int, n: int, low: float | None, high: float | None) -> SafeString:
    """Format the share of known answers that are right, with its interval."""
    if not n:
        return empty_cell()
    if low is None:
        return format_html("{}", fraction(right, n))
    written = fraction(right, n)
    return format_html('{} <small class="dim">{}</small>', written, interval(low, high, 2))


def alpha_of(told: Told) -> Told | None:
    """Return the row of Krippendorff's nominal alpha over all workers; None if there is none."""
    rows = (row for row in told["agreement"] if row["scope"] == "all")
    return next((row for row in rows if row["coefficient"] == "krippendorff_nominal"), None)


def methods_agree(run: Run) -> bool:
    """Whether all methods give every item of a run the same label; a tie is no label."""
    apart = Q(extra__differ=True) | Q(extra__majority="")
    return not ItemLabel.objects.filter(apart, run=run).exists()


def basis(run: Run, told: Told) -> str:
    """Describe the data of a run, like ``1,996 labels of 400 items by 24 workers.``"""
    counts = run.snapshot.counts if run.snapshot else {}
    return _("%(labels)s of %(items)s by %(workers)s.") % {
        "labels": plural(counts.get("answers", 0), "label"),
        "items": plural(counts.get("questions", 0), "item"),
        "workers": plural(counts.get("workers", 0), "worker"),
    }


def since_words(run: Run) -> str:
    """Say what changed around a run whose labels are the same; in two queries."""
    frozen = run.started_at or run.created_at  # a snapshot may be older: the same content is one
    newer = run.task.versions.filter(published_at__gt=frozen).order_by("-number").first()
    if newer is not None:
        return _("Version %(number)s was published since.") % {"number": newer.number}
    labels = Answer.objects.filter(worker=OuterRef("pk"), item__task=run.task_id)
    removed = Membership.objects.filter(
        Exists(labels), project=run.project_id, removed_at__gt=frozen
    ).count()
    if removed:
        return ngettext(
            "%(n)s worker was removed since; their labels still count.",
            "%(n)s workers were removed since; their labels still count.",
            removed,
        ) % {"n": count(removed)}
    return _("Nothing has changed since.")


def state(run: Run | None, active: Run | None, last: Run | None) -> dict[str, str]:
    """Return the header's mark and sentence for a run in work or a failed one; {} otherwise.

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
