"""The result of a live evaluation as a file that computes its numbers again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from annotation.models import Task
from annotation.work.snapshots.judgments import LiveVote
from crowdqc.errors import Conflict, Missing
from evaluation.bundles import writing
from evaluation.bundles.kinds.base import (
    ANSWERS,
    SOURCES,
    Recomputed,
    json_bytes,
    jsonl,
    names_of,
    read_jsonl,
    read_value,
)
from evaluation.bundles.manifest import (
    ENVIRONMENT,
    FIGURES,
    NAMES,
    README,
    RECIPE,
    environment,
    manifest_of,
    zipped,
)
from evaluation.live import dataset
from evaluation.live.dataset import CONFIDENCE, LiveDataset
from evaluation.methods.adaptive.anytime import VERSION
from evaluation.methods.core.base import Hooks
from evaluation.models import LiveEvaluation
from evaluation.runs.results.rows import result_hash

METHOD = "live"
TITLE = "Live evaluation"
BOARD = "board"
WORDS = """This is the result of a live evaluation with the votes that give its numbers again.

    python manage.py verify_bundle THIS.zip

in a checkout of crowdqc needs no database. It checks the SHA-256 of every file and the hash of the
votes, and computes every win rate and interval again. Workers appear under pseudonyms (names.json).
"""
Row = dict[str, Any]


class OfVotes:
    """Votes of people and models in the order of their answers, and what is compared."""

    def recompute(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Recomputed:
        """Compute the board from the bundle's votes; it is quick, so ``hooks`` is not called."""
        told = read_value(files[SOURCES])
        votes = [LiveVote(**row) for row in read_jsonl(files[ANSWERS])]
        data = LiveDataset(
            systems=tuple((pk, name) for pk, name in told["systems"]),
            judges=tuple((name, pk) for name, pk in told["judges"]),
            dimension=recipe["params"]["dimension"],
            half_width=recipe["params"]["half_width"],
            decided_by=recipe["params"]["decided_by"],
            people=tuple(one for one in votes if one.worker_id is not None),
            models=tuple(one for one in votes if one.worker_id is None),
        )
        return Recomputed({}, {BOARD: dataset.board(data)}, dataset.content_hash(data))


def ended_evaluation(task: Task) -> LiveEvaluation:
    """The task's live evaluation. Raises Missing, and Conflict while it is open."""
    found = LiveEvaluation.objects.filter(task=task).first()
    if found is None:
        raise Missing(_("This task has no live evaluation."))
    if found.result is None:
        raise Conflict(_("This live evaluation is still open. Its result can be had once it ends."))
    return found


def contents(evaluation: LiveEvaluation, task: Task) -> tuple[dict[str, bytes], Row]:
    """Return the bundle's files, and its manifest without their hashes.

    Raises Conflict where the votes are not what they were at the end, or give other numbers (as
    another version of the method may).
    """
    data, snapshot = dataset.reload(evaluation, task)
    told = dataset.board(data)
    result = evaluation.result or {}
    if {name: result.get(name) for name in told} != told:
        made = result.get("method_version", "1.0")
        if made != VERSION:
            raise Conflict(
                _(
                    "This result has the intervals of version %(made)s of the method; version "
                    "%(here)s here gives others, so no bundle of it is written."
                )
                % {"made": made, "here": VERSION}
            )
        raise Conflict(_("The votes of this live evaluation do not give its result any more."))
    recipe = {
        "method": METHOD,
        "version": VERSION,
        "seed": 0,
        "params": {
            "confidence": CONFIDENCE,
            "decided_by": data.decided_by,
            "dimension": data.dimension,
            "half_width": data.half_width,
        },
        "snapshot": snapshot.content_hash,
        "counts": {name: n for name, n in snapshot.counts.items() if name != "judges"},
    }
    files = {
        README: WORDS.encode(),
        ANSWERS: jsonl(one._asdict() for one in (*data.people, *data.models)),
        SOURCES: json_bytes({"systems": data.systems, "judges": data.judges}),
        RECIPE: json_bytes(recipe),
        ENVIRONMENT: json_bytes(environment()),
        NAMES: names_of(task),
        FIGURES: json_bytes({BOARD: told}),
    }
    manifest = manifest_of(
        recipe,
        task_type=task.type,
        result_hash=result_hash({}, {BOARD: told}),
        project=task.project_id,
        task=task.pk,
        task_versions=writing.versions_of(snapshot.answer_ids),
        run=None,
        finished_at=evaluation.ended_at.isoformat() if evaluation.ended_at else None,
        ended={"reason": evaluation.reason, "money": result.get("money")},
        counts=recipe["counts"],
    )
    return files, manifest


def parts(evaluation: LiveEvaluation, task: Task, told: Row) -> tuple[Iterator[bytes], int]:
    """The bundle as a ZIP file, piece by piece, and how many answers are in it.

    ``told`` is given the manifest at the end.
    """
    files, manifest = contents(evaluation, task)
    counts = manifest["counts"]
    return zipped(files.items(), manifest, told), counts["answers"] + counts["system_answers"]
