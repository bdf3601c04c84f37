"""What a task can be exported as: one line a way out in PAIR_EXPORTS.

Every export is streamed, names people by pseudonym, and has a fixed order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.files.writing import tables as files
from annotation.files.writing.tables import Table
from annotation.formats.exports import (
    answered,
    free_text,
    labels,
    speech,
    training,
    work,
    writing,
)
from annotation.formats.exports.tools import corpora, crowdrag, frames, label_studio
from annotation.formats.exports.tools.frames import in_chunks
from annotation.formats.imports.judgments import HEAD, TAIL, column_of
from annotation.models import Answer, Candidate, Task
from annotation.task_types import get_type
from annotation.task_types.pairwise.sides import left_right, replicate_of
from annotation.work.snapshots import judgments
from annotation.work.snapshots.judgments import AskedDimension
from crowdqc.errors import Invalid
from crowdqc.web.terms import Words

CHUNK = 2000
# Column of the texts -> where it is stored.
CANDIDATES = {
    **{name: name for name in ("key", "topic", "query", "text", "style", "origin")},
    "system": "system__name",
    "prompt_strategy": "system__prompt_strategy",
    "author": "author__pseudonym",
}
NOTHING = dict[str, int]()
EVERY = files.EVERY
LINES = ("jsonl", "csv", "parquet")  # where a line is what it comes from
MEDIA = {**files.FORMATS, "json": "application/json", corpora.ZIP: "application/zip"}


@dataclass(frozen=True)
class PairExport:
    """One way out: its title, its formats, its table, and what it leaves out beside.

    ``table(task, form, dimension)`` are the rows; ``dimension`` is read where ``per_dimension``
    (empty: the only one, or overall quality).
    """

    title: Words
    table: Callable[[Task, str, str], Table]
    note: Words = ""  # what it holds, where the title does not say it
    formats: tuple[str, ...] = EVERY
    per_dimension: bool = False
    left_out: Callable[[Task, str], dict[str, int]] = lambda task, dimension: NOTHING
    is_of_work: bool = False  # of how people worked and what was decided: not for viewers
    commands: tuple[tuple[str, str], ...] = ()  # FORMAT and --what of ``crowdqc_export``

    @property
    def offered(self) -> tuple[str, ...]:
        """Formats that pages offer, first the one that Excel opens with every letter right."""
        return tuple(sorted(self.formats, key=lambda form: form != "xlsx"))

    def lines(self, task: Task, form: str, dimension: str = "") -> Iterator[Any]:
        """Yield the pieces of the file."""
        return self.table(task, form, dimension).parts(form)


def _free_text(what: str) -> Callable[[Task, str, str], Table]:
    return lambda task, form, dimension: Table(free_text.COLUMNS[what], free_text.rows(task, what))


def judgment_table(task: Task, form: str, dimension: str = "") -> Table:
    """Every judgment of people and models, counting or not, with a column a dimension.

    A pair's values are as stored (first, neutral, second); ``flipped`` says how it was shown, and
    a model's replicates are numbered within each order. ``meta`` are further columns of the file
    that a judgment came in, as JSON. The importer of judgments reads it.
    """
    asked = judgments.version_items(task.current) if task.current else []
    names = [column_of(one.name) for one in asked]
    return Table((*HEAD, *names, *TAIL), _judgments(task, asked))


def candidate_table(task: Task, form: str, dimension: str = "") -> Table:
    """The texts that the task puts to judgment, under the columns that the importer reads."""
    ids = [row.candidate_id for row in judgments.texts(task)]
    texts = Candidate.objects.filter(pk__in=ids).order_by("topic", "key")
    rows = texts.values_list(*CANDIDATES.values()).iterator(CHUNK)
    named = (dict(zip(CANDIDATES, values, strict=True)) for values in rows)
    return Table(tuple(CANDIDATES), ({**row, "author": row["author"] or ""} for row in named))


PAIR_EXPORTS: dict[str, PairExport] = {
    "items": PairExport(
        gettext_lazy("Questions"), _free_text("items"), gettext_lazy("with their texts")
    ),
    "answers": PairExport(
        gettext_lazy("Answers"), _free_text("answers"), gettext_lazy("of people, that count")
    ),
    "system_answers": PairExport(gettext_lazy("Answers of systems"), _free_text("system_answers")),
    "crowdkit-texts": PairExport(
        gettext_lazy("crowd-kit, texts"),
        frames.texts,
        gettext_lazy("task, worker, text"),
        commands=(("crowdkit", "texts"),),
    ),
    "judgments": PairExport(
        gettext_lazy("All judgments"), judgment_table, commands=(("judgments", "all"),)
    ),
    "candidates": PairExport(
        gettext_lazy("The texts"),
        candidate_table,
        commands=(("candidates", "all"), ("checklist", "candidates")),
    ),
    "ratings": PairExport(
        gettext_lazy("Ratings with explanations"),
        answered.rating_table,
        gettext_lazy("with sentence numbers and words to the requester"),
        commands=(("ratings", "ratings"),),
    ),
    "documents": PairExport(
        gettext_lazy("Documents with answers"),
        answered.document_table,
        gettext_lazy("questions, the sentences they arose from, and the answers under judgment"),
        commands=(("ratings", "documents"),),
    ),
    "arena": PairExport(
        gettext_lazy("Arena battles"),
        frames.battles,
        formats=("jsonl",),
        per_dimension=True,
        left_out=frames.one_source,
        commands=(("arena", "battles"),),
    ),
    "crowdkit-pairwise": PairExport(
        gettext_lazy("crowd-kit, comparisons"),
        frames.comparisons,
        per_dimension=True,
        left_out=frames.ties,
        commands=(("crowdkit", "pairwise"),),
    ),
    "crowdkit-labels": PairExport(
        gettext_lazy("crowd-kit, labels"),
        frames.labels,
        per_dimension=True,
        commands=(("crowdkit", "labels"),),
    ),
    "reliability": PairExport(
        gettext_lazy("Krippendorff’s reliability matrix"),
        frames.matrix,
        per_dimension=True,
        left_out=frames.count_repeats,
        commands=(("reliability", "matrix"),),
    ),
    "crowdrag-raw": PairExport(
        gettext_lazy("CrowdRAG-25, raw judgments"),
        crowdrag.raw_judgments,
        formats=LINES,
        commands=(("crowdrag", "raw"),),
    ),
    "crowdrag-llm": PairExport(
        gettext_lazy("CrowdRAG-25, judgments of models"),
        crowdrag.models,
        commands=(("crowdrag", "llm"),),
    ),
    "responses": PairExport(
        gettext_lazy("Responses"),
        writing.response_table,
        gettext_lazy("texts of people and systems, and the passages that they cite"),
        commands=(("writing", "responses"),),
    ),
    "surveys": PairExport(
        gettext_lazy("Questionnaires"),
        writing.survey_table,
        gettext_lazy("what people said before and after writing"),
        commands=(("writing", "surveys"),),
    ),
    "topics": PairExport(
        gettext_lazy("Topics"),
        writing.topic_table,
        gettext_lazy("queries with their ranked passages"),
        commands=(("writing", "topics"),),
    ),
    "writing-logs": PairExport(
        gettext_lazy("Writing logs"),
        writing.log_table,
        gettext_lazy("how each text came about, as changes that give it exactly"),
        ("jsonl",),
        commands=(("writing", "writing-logs"),),
    ),
    "attributes": PairExport(
        gettext_lazy("Attributes"),
        answered.attribute_table,
        gettext_lazy("of people and models, with the stretches of transcripts they were marked in"),
        commands=(("thinking", "attributes"),),
    ),
    "recordings": PairExport(
        gettext_lazy("Recordings"),
        speech.recording_archive,
        gettext_lazy("what people said, as sound files: a voice can tell who somebody is"),
        speech.FORMATS,
        commands=(("thinking", "recordings"),),
    ),
    "samples": PairExport(
        gettext_lazy("Samples"),
        answered.sample_table,
        gettext_lazy("rubrics and scored samples"),
        commands=(("thinking", "samples"),),
    ),
    "checks": PairExport(
        gettext_lazy("Checklists"),
        answered.check_table,
        gettext_lazy("yes or no, a row a question, of people and models"),
        commands=(("checklist", "checks"),),
    ),
    "label-studio": PairExport(
        gettext_lazy("Label Studio"),
        label_studio.table,
        gettext_lazy("tasks with annotations of people and predictions of systems"),
        ("json", "csv"),
        commands=(("label-studio", "tasks"),),
    ),
    "labels": PairExport(
        gettext_lazy("Labels"),
        labels.label_table,
        gettext_lazy("of people and models, a row a value, with spans as character offsets"),
        commands=(("labels", "all"),),
    ),
    "label_items": PairExport(
        gettext_lazy("Items"),
        labels.item_table,
        gettext_lazy("with known answers and the columns that came with them"),
        commands=(("labels", "items"),),
    ),
    "conll": PairExport(
        gettext_lazy("CoNLL and spaCy"),
        corpora.span_archive,
        gettext_lazy("marked spans as BIO tags; spans that these cannot hold are listed"),
        (corpora.ZIP,),
        left_out=corpora.not_expressed,
        commands=(("conll", "spans"),),
    ),
    "huggingface": PairExport(
        gettext_lazy("Hugging Face data set"),
        corpora.hub_archive,
        gettext_lazy("parquet with a data set card: items, labels and shares of votes"),
        (corpora.ZIP,),
        commands=(("huggingface", "dataset"),),
    ),
    "preferences": PairExport(
        gettext_lazy("Preferences for training"),
        training.preference_table,
        gettext_lazy("prompt, chosen, rejected and margin, as TRL reads them"),
        ("jsonl", "parquet"),
        per_dimension=True,
        left_out=training.count_undecided,
        commands=(("training", "preferences"),),
    ),
    "openai-preferences": PairExport(
        gettext_lazy("Preferences, OpenAI’s form"),
        training.openai_table,
        formats=("jsonl",),
        per_dimension=True,
        left_out=training.count_undecided,
        commands=(("training", "openai"),),
    ),
    "kto": PairExport(
        gettext_lazy("Completions for KTO"),
        training.kto_table,
        gettext_lazy("each text of a decided pair, with whether it is the better one"),
        ("jsonl", "parquet"),
        per_dimension=True,
        left_out=training.count_undecided,
        commands=(("training", "kto"),),
    ),
    "steps": PairExport(
        gettext_lazy("Labels of turns as steps"),
        training.step_table,
        gettext_lazy("prompt, completions and labels, as TRL reads them"),
        ("jsonl", "parquet"),
        commands=(("training", "steps"),),
    ),
    "corrections": PairExport(
        gettext_lazy("Corrected conversations"),
        training.correction_table,
        gettext_lazy("messages up to a turn, and the better answer that a person wrote"),
        ("jsonl", "parquet"),
        commands=(("training", "corrections"),),
    ),
    "assignments": PairExport(
        gettext_lazy("Assignments, as of MTurk"),
        work.assignment_table,
        gettext_lazy("AssignmentId, WorkerId, HITId, AssignmentStatus"),
        is_of_work=True,
        commands=(("mturk", "assignments"),),
    ),
    "events": PairExport(
        gettext_lazy("Events"),
        work.event_table,
        gettext_lazy("all that was recorded of how people worked"),
        LINES,
        is_of_work=True,
        commands=(("events", "all"), ("writing", "events")),
    ),
}


def exports_of(task: Task) -> dict[str, PairExport]:
    """The exports that a task's type gives, as it is set."""
    found = get_type(task.type).exports_of(task.version_or_draft().settings)
    return {slug: PAIR_EXPORTS[slug] for slug in found}


def get_export(task: Task, slug: str, form: str) -> PairExport:
    """The export of this name in this format; Invalid names the field."""
    known = exports_of(task)
    if slug not in known:
        raise Invalid(
            _("There is no export %(export)s.") % {"export": repr(slug)},
            fields={"what": ", ".join(known)},
        )
    if form not in known[slug].formats:
        formats = ", ".join(known[slug].formats)
        raise Invalid(
            _("%(export)s is not written as %(format)s.") % {"export": slug, "format": form},
            fields={"format": formats},
        )
    return known[slug]


def count_left_out(task: Task, slug: str, dimension: str = "") -> dict[str, int]:
    """Count judgments that the export omits, by reason."""
    one = PAIR_EXPORTS[slug]
    found = judgments.count_left_out(task) if one.per_dimension else {}
    return {**found, **one.left_out(task, dimension)}


def _judgments(task: Task, asked: Sequence[AskedDimension]) -> Iterator[tuple[Any, ...]]:
    written = [(one.name, one.written_codes) for one in asked]
    whose = answered.authors_of(task)
    answers = Answer.objects.filter(
        item__task=task, item__expected__isnull=True, stage=Answer.Stage.MAIN
    ).order_by("pk")
    stored = answers.values_list(
        "pk",
        "item__key",
        "item__group__key",
        "item__first__key",
        "item__second__key",
        "flipped",
        "sides_known",
        "order_shown",
        "meta",
        *answered.HEADER,
    ).iterator(CHUNK)
    for part in in_chunks(stored):
        said = judgments.codes_of([row[0] for row in part])
        for pk, item, topic, first, second, flipped, known, place, meta, *header in part:
            (worker, system, strategy, replicate), whether = whose(header)
            by_worker = bool(worker)
            yield (
                item,
                topic,
                first,
                second,
                *(left_right(first, second, flipped=flipped) if known else (None, None)),
                flipped if known else None,
                worker if by_worker else None,
                None if by_worker else system,
                None if by_worker else strategy,
                replicate_of(replicate),
                None if place is None else place + 1,
                *(codes.get(said[pk].get(name), said[pk].get(name)) for name, codes in written),
                *whether,
                json.dumps(meta, ensure_ascii=False) if meta else None,
            )
