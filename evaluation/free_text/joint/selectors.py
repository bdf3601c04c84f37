"""The board on which people and language models vote, from the rows and figures of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import OuterRef, Subquery
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.access import Access
from annotation.models import Answer, Task, TextValue
from annotation.work.snapshots.answers import ANSWER
from crowdqc.numbers import plural
from evaluation.free_text.columns import AUTHORS
from evaluation.free_text.joint.run import SLUG
from evaluation.free_text.selectors import leaderboard
from evaluation.models import Run, RunState
from evaluation.results import boards as board
from evaluation.runs.selectors.verdicts import first_place

SHOWN = 200  # best answers listed
ALIKE = {
    "workers": gettext_lazy("Two workers"),
    "systems": gettext_lazy("Two language models"),
    "between": gettext_lazy("A worker and a model"),
}


def shown_run(task: Task, number: int | None = None) -> Run | None:
    """The newest finished joint run of the task, or the one of this number."""
    found = task.runs.filter(method=SLUG, state=RunState.DONE).select_related("snapshot")
    found = found.defer("snapshot__answer_ids")
    return (found.filter(number=number) if number else found).order_by("-id").first()


def page(access: Access, run: Run, told: Mapping[str, Any], number: Any) -> dict[str, Any]:
    """One board of everybody who voted, and how alike their answers are."""
    rows = [*leaderboard.worker_rows(run, {}), *leaderboard.system_rows(run)]
    leaderboard.link_workers(rows, access)
    for row in rows:
        if row.model:
            row.beside = ", ".join(filter(None, (_("model"), row.detail)))
    shown = board.page_of(board.sorted_rows(rows, "score", ascending=False), number)
    joint = told["joint"]
    made = board.boards(
        rows,
        list(shown.object_list),
        groups=[],
        references={},
        adjusted={part["number"]: part["ranked_by"] == "adjusted" for part in joint["boards"]},
        grouped=False,
        noun="author",
    )
    place = first_place(rows, noun="author", by=_("their answers"))
    models = sum(row.model for row in rows)
    alone = joint["mode"] == "systems"
    voters = {
        "workers": plural(len(rows) - models, "worker"),
        "models": plural(models, "language model"),
    }
    said = _("%(models)s vote.") if alone else _("%(workers)s and %(models)s vote.")
    return {
        "place": place,
        "tables": [
            one.table(
                leaderboard.columns_of(one, AUTHORS),
                title=_("Workers and language models by score, with 95% CIs"),
                note=_("Compare nobody here with another board."),
            )
            for one in made
        ],
        "page": shown,
        "alone": alone,
        "merged": merged(told.get("merged") or []),
        "moves": moves(told.get("without_models") or {}, rows),
        "basis": said % voters,
        "alike": [
            (name, joint["alike"][slug])
            for slug, name in ALIKE.items()
            if joint["alike"][slug] is not None
        ],
    }


def moves(told: Mapping[str, Any], rows: Sequence[board.Row]) -> dict[str, Any]:
    """Compare who is closest with and without the models' votes; {} for older runs."""
    if not told:
        return {}
    names = {(row.model, row.id): row for row in rows}
    lines = [
        {
            **one,
            "row": names[key],
            "moved": one["place_with"] - one["place"],
            "down": one["place"] - one["place_with"],
        }
        for one in told["rows"]
        if (key := (one["system"] is not None, one["system"] or one["worker"])) in names
    ]
    lines.sort(key=lambda one: (one["place"], one["place_with"]))
    return {
        "reason": told["reason"],
        "by": _("adjusted score") if told["by"] == "adjusted" else _("score"),
        "lines": lines[:SHOWN],
        "hidden": max(0, len(lines) - SHOWN),
        "sentence": _moved(lines),
    }


def _moved(lines: Sequence[Mapping[str, Any]]) -> str:
    """Who comes first either way, and how many change their place; "" without lines."""
    if not lines:
        return ""
    without, joint = (
        next(one["row"].name for one in lines if one[key] == 1) for key in ("place", "place_with")
    )
    first = (
        _("%(joint)s is closest to the shared answer, with and without the models’ votes.")
        % {"joint": joint}
        if joint == without
        else _(
            "With the models’ votes %(joint)s is closest to the shared answer, without "
            "them %(without)s."
        )
        % {"joint": joint, "without": without}
    )
    other = sum(bool(one["moved"]) for one in lines)
    said = _("Nobody changes places.")
    if other:
        said = _("%(n)s of %(authors)s change places.") % {
            "n": other,
            "authors": plural(len(lines), "author"),
        }
    return f"{first} {said}"


def merged(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the best answers with their authors; {} for older runs (one query)."""
    if not rows:
        return {}
    shown = {row["answer"]: row for row in rows[:SHOWN]}
    found = (
        Answer.objects.filter(pk__in=shown)
        .select_related("item", "worker", "system")
        .annotate(text=_text())
        .order_by("item__position", "item_id")
    )
    models = sum(bool(row["model"]) for row in rows)
    return {
        "rows": [{"answer": one, "score": shown[one.pk]["score"]} for one in found],
        "hidden": max(0, len(rows) - SHOWN),
        "models": models,
        "people": len(rows) - models,
    }


def _text() -> Subquery:
    texts = TextValue.objects.filter(answer=OuterRef("pk"), field=ANSWER, index=0)
    return Subquery(texts.values("text")[:1])
