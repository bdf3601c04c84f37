"""Runs that score texts without a checklist, against references: METEOR, embeddings, models.

They stand beside checklists, models and people, and are held against the same human scores.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.models import Candidate, Item, Task
from annotation.pairs.actions.candidates import HUMAN
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import plural
from evaluation.checklists.filled import model_scores
from evaluation.checklists.filled.g_eval import DIMENSION, dimension_of
from evaluation.checklists.filled.model_scores import ComparedTexts
from evaluation.checklists.filled.text_scores import (
    MEASURED,
    Human,
    dimension_name,
    human_scores,
    plain,
)
from evaluation.checklists.filled.texts import texts_of
from evaluation.embeddings import vectors
from evaluation.free_text import run as text_runs
from evaluation.methods.checklists import references
from evaluation.methods.checklists.references import COSINE, METEOR, METHOD, Referenced
from evaluation.methods.core.base import FloatArray, Hooks, Result
from evaluation.methods.core.params import choice
from evaluation.models import CandidateScore, Run
from evaluation.runs.progress import EMBEDDINGS, Recorder
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import OWN_ROWS, RunType

TEXTS, SCORES = gettext_noop("Texts and references"), gettext_noop("Scores")
SOURCE, PEOPLE, OTHERS = "source", "people", "others"
AGAINST = {
    SOURCE: gettext_noop("the source of each text"),
    PEOPLE: gettext_noop("texts by people on the same topic (origin “human”)"),
    OTHERS: gettext_noop("all other texts on the same topic"),
}
NAMES = {
    METEOR: "METEOR, without synonyms",
    COSINE: "Embedding, cosine",
    **model_scores.NAMES,
}
PARAM_AGAINST = choice(
    "against",
    SOURCE,
    tuple(AGAINST),
    label=gettext_noop("References"),
    words=tuple(AGAINST.values()),
    help=gettext_noop("Of several references the nearest counts."),
)
NO_INTERVAL = "one text and its references; nothing is sampled"
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class TextsDataset:
    """The texts of a task and the strings that each is compared with."""

    candidates: tuple[int, ...]
    strings: tuple[str, ...]
    text: tuple[int, ...]
    references: tuple[tuple[int, ...], ...]
    topics: tuple[str, ...]
    hash: str

    @property
    def compared(self) -> ComparedTexts:
        """The texts and the references of each."""
        return ComparedTexts(
            [self.strings[at] for at in self.text],
            [[self.strings[at] for at in told] for told in self.references],
        )

    def with_vectors(
        self, matrix: Any, human: Human, given: Mapping[str, FloatArray] | None = None
    ) -> Referenced:
        """The method's arrays; ``given`` are scores of further measures."""
        names = sorted(set(self.topics))
        return Referenced.build(
            self.strings,
            matrix,
            self.text,
            self.references,
            article=[names.index(topic) for topic in self.topics],
            human=[human.scores.get(pk, np.nan) for pk in self.candidates],
            given=given,
        )


@dataclass(frozen=True, eq=False)
class Computed:
    """What a run has found before anything is written."""

    frozen: TextsDataset
    result: Result
    human: Human
    encoder: str
    models: Mapping[str, str]  # measure -> the model that gave its scores

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the computed measures, in the order of their components."""
        return (*references.MEASURES, *(one for one in model_scores.NAMES if one in self.scored))

    @property
    def scored(self) -> set[str]:
        return set(self.result.estimates["text"].columns)


def load(task: Task, against: str) -> TextsDataset:
    """The texts with their references as they are now; Conflict where no text has one."""
    items = [item for item in texts_of(task) if item.first is not None and item.first.text.strip()]
    found = [[one.text for one in told] for told in references_of(task, items, against)]
    if not any(found):
        raise Conflict(
            _("No text can be compared with %(against)s: there is none. Choose other references.")
            % {"against": _(AGAINST[against])}
        )
    texts = [item.first.text for item in items if item.first is not None]
    strings = list(dict.fromkeys([*texts, *(one for told in found for one in told)]))
    at = {string: k for k, string in enumerate(strings)}
    told = [
        [item.first_id, text, refs] for item, text, refs in zip(items, texts, found, strict=True)
    ]
    return TextsDataset(
        tuple(item.first_id or 0 for item in items),
        tuple(strings),
        tuple(at[text] for text in texts),
        tuple(tuple(at[one] for one in told) for told in found),
        tuple(item.first.topic for item in items if item.first is not None),
        hashlib.sha256(json.dumps(told).encode()).hexdigest(),
    )


class Reference(NamedTuple):
    """A string that a text is compared with, and the text of the project that it is, if one."""

    text: str
    candidate: int | None = None


def references_of(task: Task, items: Sequence[Item], against: str) -> list[list[Reference]]:
    """What the text of each item is compared with; blank strings are left out."""
    if against == SOURCE:
        return [
            [Reference(item.group.passage)] * bool(item.group.passage.strip()) for item in items
        ]
    topics = {item.first.topic for item in items if item.first is not None}
    rows = Candidate.objects.filter(project=task.project_id, topic__in=topics)
    rows = (
        rows.filter(origin=HUMAN)
        if against == PEOPLE
        else rows.filter(pk__in=[item.first_id for item in items])
    )
    by_topic: dict[str, list[Reference]] = {}
    for pk, topic, text in rows.order_by("pk").values_list("pk", "topic", "text"):
        if text.strip():
            by_topic.setdefault(topic, []).append(Reference(text, pk))
    return [
        [one for one in by_topic.get(item.first.topic, []) if one.candidate != item.first_id]
        for item in items
        if item.first is not None
    ]


def compute(run: Run, steps: Recorder) -> Computed:
    """Read texts and references, make vectors, score."""
    steps.begin(TEXTS)
    frozen = load(run.task, run.params["against"])
    human = human_scores(
        run.project_id, dimension_name(dimension_of(run.task, run.params)), frozen.candidates
    )
    steps.set_words(
        sub=frozen.hash[:8],
        mono=True,
        count=f"{plural(len(frozen.candidates), 'text')}, "
        f"{plural(sum(map(len, frozen.references)), 'reference')}",
    )
    steps.begin(EMBEDDINGS, total=len(frozen.strings), sub="opening the encoder")
    encoder = text_runs.encoder_of(run, steps)
    found = vectors.vectors_of(
        frozen.strings, encoder, advance=lambda done, cached: steps.advance(done)
    )
    steps.begin(SCORES)
    dimension = dimension_name(dimension_of(run.task, run.params))
    given, models = model_scores.model_scores(
        run.params,
        frozen.compared,
        dimension,
        progress=steps.advance,
    )
    result = METHOD.fit(
        frozen.with_vectors(found.matrix, human, given),
        rng=np.random.default_rng(run.seed),
        hooks=Hooks(progress=lambda stage, done, total: steps.advance(done, total)),
        **{name: run.params[name] for name in METHOD.params},
    )
    return Computed(frozen, result, human, encoder.identity, models)


def write(run: Run, done: Computed) -> Outcome:
    """A row a text and measure, and how well each measure follows human scores."""
    estimates, frozen = done.result.estimates, done.frozen
    dimension = dimension_name(dimension_of(run.task, run.params))
    rows = [
        {
            "candidate_id": frozen.candidates[row["text"]],
            "dimension": dimension,
            "component": component,
            "estimate": row[measure],
            "n": row["references"],
            "extra": {"kind": "measure", "measure": measure, "no_interval": NO_INTERVAL},
        }
        for row in estimates["text"].rows()
        for component, measure in enumerate(done.measures)
        if row[measure] is not None
    ]
    detail = f"against {AGAINST[run.params['against']]}"
    told: Row = {
        "answerers": [
            {
                **{"component": k, "kind": "measure", "measure": one, "pk": None},
                "name": NAMES[one],
                "detail": f"{detail}, {done.models[one]}" if one in done.models else detail,
            }
            for k, one in enumerate(done.measures)
        ],
        MEASURED: {
            "dimension": dimension,
            "human": done.human.name,
            "rows": [plain(row) for row in estimates["correlation"].rows()],
        },
        "frame": dict(done.result.diagnostics),
        "recipe": {
            "method": METHOD.slug,
            "version": done.result.version,
            "params": dict(run.params),
            "seed": run.seed,
            "encoder": done.encoder,
            **({"models": dict(done.models)} if done.models else {}),
            "texts": done.frozen.hash,
            "human": done.human.run.result_hash if done.human.run else "",
        },
    }
    return Outcome({CandidateScore: rows}, told)


def refuse(task: Task, params: Mapping[str, Any]) -> None:
    """Raise Invalid, naming the option, if dimension or references are missing."""
    try:
        dimension_of(task, params)
    except Conflict as problem:
        raise Invalid(problem.message, fields={DIMENSION.name: problem.message}) from problem
    try:
        load(task, params["against"])
    except Conflict as problem:
        raise Invalid(problem.message, fields={PARAM_AGAINST.name: problem.message}) from problem
    model_scores.refuse_unasked(
        params,
        dimension_name(dimension_of(task, params)),
        of_source=params["against"] == SOURCE,
    )


def _complete(settings: dict[str, Any]) -> dict[str, Any]:
    return model_scores.with_folders(text_runs.with_encoder(settings))


RUNS = RunType(
    METHOD,
    ("checks",),
    gettext_noop("texts of a checklist task"),
    (TEXTS, EMBEDDINGS, SCORES),
    compute,
    write,
    own=(DIMENSION, PARAM_AGAINST, text_runs.ENCODER, *model_scores.PARAMS),
    complete=_complete,
    choices=lambda task: model_scores.model_choices(),
    refuse=refuse,
    export=OWN_ROWS,
    made_of=gettext_noop("Texts of the task and their references; no answers."),
)
