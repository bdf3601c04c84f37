"""What a task of pairs, ratings or responses can be exported as: one line a format in PAIR_EXPORTS.

Every export is streamed, names people by pseudonym, and has a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from annotation.imports.judgments import HEAD, TAIL, column_of
from annotation.models import Answer, Candidate, Task
from annotation.selectors import judgments
from annotation.sides import left_right, replicate_of
from annotation.task_types import get_type
from annotation.task_types.rating import DOCUMENT, asks_beside
from crowdqc.errors import Invalid

from . import arena, attributes, checks, crowdkit, crowdrag, files, ratings, reliability, writing

CHUNK = 2000
CANDIDATES = (
    "key", "topic", "query", "text", "style", "origin", "system", "prompt_strategy", "author",
)  # fmt: skip
NOTHING = dict[str, int]()
WRITTEN = ("responses",)
THOUGHT = ("attributes",)
Lines = Iterator[str] | Iterator[str | bytes]
MEDIA = {**files.FORMATS, "parquet": crowdkit.PARQUET}


@dataclass(frozen=True)
class PairExport:
    """One way out: its title, its formats, its lines, and what they leave out beside.

    ``lines(task, form, dimension)`` are the parts of the file; ``dimension`` is read where
    ``per_dimension`` (empty: the only one, or overall quality). ``shapes`` are the tasks it fits.
    """

    title: str
    formats: tuple[str, ...]
    lines: Callable[[Task, str, str], Lines]
    per_dimension: bool = False
    left_out: Callable[[Task, str], dict[str, int]] = lambda task, dimension: NOTHING
    shapes: tuple[str, ...] = ("pairs",)
    note: str = ""  # what it holds, where the title does not say it

    @property
    def offered(self) -> tuple[str, ...]:
        """The formats that this installation can write."""
        return tuple(f for f in self.formats if f != "parquet" or crowdkit.can_parquet())


def judgment_lines(task: Task, form: str, dimension: str = "") -> Iterator[str]:
    """Every judgment of people and models, counting or not, with a column a dimension.

    A pair's values are as stored (first, neutral, second); ``flipped`` says how it was shown, and
    a model's replicates are numbered within each order. The importer of judgments reads it.
    """
    names = [one.name for one in judgments.asked(task.current)] if task.current else []
    columns = (*HEAD, *map(column_of, names), *TAIL)
    return files.lines(columns, _judgments(task, names), form)


def candidate_lines(task: Task, form: str, dimension: str = "") -> Iterator[str]:
    """The texts that the task puts to judgment, under the columns that the importer reads."""
    ids = [row.candidate_id for row in judgments.texts(task)]
    texts = Candidate.objects.filter(pk__in=ids).order_by("topic", "key").values_list(
        "key", "topic", "query", "text", "style", "origin", "system__name",
        "system__prompt_strategy", "author__pseudonym",
    )  # fmt: skip
    rows = (dict(zip(CANDIDATES, values, strict=True)) for values in texts.iterator(CHUNK))
    return files.lines(CANDIDATES, ({**row, "author": row["author"] or ""} for row in rows), form)


PAIR_EXPORTS: dict[str, PairExport] = {
    "judgments": PairExport(
        "All judgments", ("csv", "jsonl"), judgment_lines, shapes=("pairs", "ratings")
    ),
    "candidates": PairExport(
        "The texts", ("csv", "jsonl"), candidate_lines, shapes=("pairs", "ratings", "checks")
    ),
    "ratings": PairExport(
        "Ratings with explanations", ("csv", "jsonl"), ratings.rating_lines, shapes=("ratings",),
        note="with sentence numbers and words to the requester",
    ),
    "documents": PairExport(
        "Documents with answers", ("csv", "jsonl"), ratings.document_lines, shapes=("ratings",),
        note="questions, the sentences they arose from, and the answers under judgment",
    ),
    "arena": PairExport(
        "Arena battles", ("jsonl",), arena.lines, per_dimension=True, left_out=arena.left_out
    ),
    "crowdkit-pairwise": PairExport(
        "crowd-kit, comparisons", ("csv", "parquet"), crowdkit.comparisons, per_dimension=True,
        left_out=crowdkit.ties,
    ),
    "crowdkit-labels": PairExport(
        "crowd-kit, labels", ("csv", "parquet"), crowdkit.labels, per_dimension=True,
        shapes=("pairs", "ratings"),
    ),
    "reliability": PairExport(
        "Krippendorff’s reliability matrix", ("csv",), reliability.lines, per_dimension=True,
        left_out=reliability.repeated, shapes=("pairs", "ratings"),
    ),
    "crowdrag-raw": PairExport("CrowdRAG-25, raw judgments", ("jsonl",), crowdrag.raw),
    "crowdrag-llm": PairExport("CrowdRAG-25, judgments of models", ("csv",), crowdrag.models),
    "responses": PairExport(
        "Responses", ("csv", "jsonl"), writing.response_lines, shapes=WRITTEN,
        note="texts of people and systems, and the passages that they cite",
    ),
    "surveys": PairExport(
        "Questionnaires", ("csv", "jsonl"), writing.survey_lines, shapes=WRITTEN,
        note="what people said before and after writing",
    ),
    "topics": PairExport(
        "Topics", ("csv", "jsonl"), writing.topic_lines, shapes=WRITTEN,
        note="queries with their ranked passages",
    ),
    "writing-logs": PairExport(
        "Writing logs", ("jsonl",), writing.log_lines, shapes=WRITTEN,
        note="how each text came about, as changes that give it exactly",
    ),
    "attributes": PairExport(
        "Attributes", ("csv", "jsonl"), attributes.attribute_lines, shapes=THOUGHT,
        note="of people and models, with the stretches of transcripts they were marked in",
    ),
    "samples": PairExport(
        "Samples", ("csv", "jsonl"), attributes.sample_lines, shapes=THOUGHT,
        note="rubrics and scored samples",
    ),
    "checks": PairExport(
        "Checklists", ("csv", "jsonl"), checks.check_lines, shapes=("checks",),
        note="yes or no, a row a question, of people and models",
    ),
    "events": PairExport(
        "Events", ("jsonl",), writing.event_lines, shapes=(*WRITTEN, *THOUGHT),
        note="all that was recorded",
    ),
}  # fmt: skip


def exports_of(task: Task) -> dict[str, PairExport]:
    """The exports that fit a task's type."""
    shape = get_type(task.type).shape
    found = {slug: one for slug, one in PAIR_EXPORTS.items() if shape in one.shapes}
    if shape == "ratings":  # texts by themselves have no document, and perhaps no explanation
        settings = (task.current or task.versions.latest("number")).settings
        if settings.get("layout") != DOCUMENT:
            found.pop("documents", None)
        if not asks_beside(settings):
            found.pop("ratings", None)
    return found


def get_export(task: Task, slug: str, form: str) -> PairExport:
    """The export of this name in this format; Invalid names the field."""
    known = exports_of(task)
    if slug not in known:
        raise Invalid(f"There is no export {slug!r}.", fields={"what": ", ".join(known)})
    if form not in known[slug].formats:
        formats = ", ".join(known[slug].formats)
        raise Invalid(f"{slug} is not written as {form}.", fields={"format": formats})
    return known[slug]


def left_out(task: Task, slug: str, dimension: str = "") -> dict[str, int]:
    """How many judgments an export does not hold, by reason."""
    one = PAIR_EXPORTS[slug]
    found = judgments.left_out(task) if one.per_dimension else {}
    return {**found, **one.left_out(task, dimension)}


def _judgments(task: Task, names: list[str]) -> Iterator[dict[str, Any]]:
    said = judgments.codes(task)
    excluded = set(task.exclusions.in_force().values_list("worker_id", flat=True))
    answers = Answer.objects.filter(
        item__task=task, item__expected__isnull=True, stage=Answer.Stage.MAIN
    ).order_by("pk")
    for row in answers.values(
        "pk", "item__key", "item__group__key", "item__first__key", "item__second__key", "flipped",
        "worker_id", "worker__pseudonym", "system__name", "system__prompt_strategy", "replicate",
        "order_shown", "answered_at", "counts", "uncounted_reason", "version__number",
    ).iterator(CHUNK):  # fmt: skip
        first, second = row["item__first__key"], row["item__second__key"]
        left, right = left_right(first, second, flipped=row["flipped"])
        place = row["order_shown"]
        yield {
            "item_id": row["item__key"], "topic": row["item__group__key"], "first": first,
            "second": second, "left": left, "right": right, "flipped": row["flipped"],
            "worker": row["worker__pseudonym"], "system": row["system__name"],
            "prompt_strategy": row["system__prompt_strategy"],
            "replicate": replicate_of(row["replicate"]),
            "position": None if place is None else place + 1,
            **{column_of(name): said.get(row["pk"], {}).get(name) for name in names},
            "answered_at": row["answered_at"].isoformat(), "counts": row["counts"],
            "reason": row["uncounted_reason"], "excluded": row["worker_id"] in excluded,
            "version": row["version__number"],
        }  # fmt: skip
