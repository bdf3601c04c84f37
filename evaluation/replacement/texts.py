"""The same test where people and models write: texts agree by the cosine of their vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from django.utils.translation import gettext_noop

from annotation.models import System
from annotation.work.snapshots.choices import ChoiceField
from crowdqc.errors import Conflict
from crowdqc.numbers import plural
from evaluation.free_text import encoding
from evaluation.free_text import run as text_runs
from evaluation.methods.core.base import FloatArray, Hooks, VectorRows
from evaluation.methods.registry import METHODS
from evaluation.methods.replacement.data import COSINE, Beside
from evaluation.models import Run
from evaluation.replacement import run as choice_runs
from evaluation.replacement.dataset import ChoicesDataset, topic_arrays, topics_of
from evaluation.replacement.run import TESTS, Computed
from evaluation.runs.freezing import options as freezing
from evaluation.runs.freezing import snapshots
from evaluation.runs.freezing.snapshots import AnswersDataset
from evaluation.runs.progress import EMBEDDINGS, SNAPSHOT, Recorder
from evaluation.runs.run_types import OWN_ROWS, RunType

METHOD = METHODS["replacement_texts"]
SLUG = METHOD.slug
FIELD = ChoiceField("text", "Answers in own words")


def compute(run: Run, steps: Recorder) -> Computed:
    """Freeze the answers (or take the snapshot's), encode them, and test every model."""
    steps.begin(SNAPSHOT)
    snapshot = freezing.freeze(run, snapshots.freeze_answers)
    frozen = snapshots.load(snapshot)
    if not frozen.system_answer_ids:
        raise Conflict("No model has answered yet, so there is nothing to test.")
    steps.set_words(
        sub=snapshot.content_hash[:8],
        mono=True,
        count=f"{plural(snapshot.counts['answers'], 'answer')} of people, "
        f"{snapshot.counts['system_answers']} of models",
    )
    steps.begin(EMBEDDINGS, total=len(frozen.texts), sub="opening the encoder")
    encoder = text_runs.encoder_of(run, steps)
    steps.write()
    encoded = encoding.rows_of(run, steps, frozen, encoder)
    steps.begin(TESTS)
    hooks = Hooks(progress=lambda stage, done, total: steps.advance(done, total))
    data = beside(frozen, encoded.rows, names_of(frozen), topics_of(run.task))
    return fit(run, data, hooks, encoder=encoded.encoder)


def names_of(frozen: AnswersDataset) -> dict[int, str]:
    """Return the names of the dataset's systems, by id (one query)."""
    return {one.pk: str(one) for one in System.objects.filter(pk__in=frozen.systems)}


def beside(
    frozen: AnswersDataset,
    vectors: VectorRows,
    names: dict[int, str],
    topics: Mapping[int, Sequence[Any]] | None = None,
) -> ChoicesDataset:
    """Frozen answers with the vectors (texts, d) of their texts, as the method takes them.

    ``topics`` as of ``dataset.Frozen``. Of a system that answered a question several times, its
    first answer stands.
    """
    model: FloatArray = np.full((len(frozen.systems), len(frozen.items)), np.nan)
    order = np.arange(len(frozen.system))[::-1]  # the first of several is written last
    model[frozen.system[order], frozen.system_question[order]] = frozen.system_text[order]
    data = Beside(
        person=frozen.worker,
        item=frozen.question,
        value=frozen.text.astype(np.float64),
        model=model,
        people=tuple(map(str, frozen.workers)),
        models=tuple(names[pk] for pk in frozen.systems),
        score=COSINE,
        vectors=np.asarray(vectors, dtype=np.float64),
        topic=topic_arrays(frozen.items, topics or {})[0],
    )
    return ChoicesDataset(data, frozen.workers, frozen.systems, FIELD)


def fit(run: Run, data: ChoicesDataset, hooks: Hooks, *, encoder: str) -> Computed:
    """Run the test on frozen answers without the database; the result records the encoder."""
    return replace(choice_runs.fit(run, data, hooks), encoder=encoder)


RUNS = RunType(
    METHOD,
    ("texts",),
    gettext_noop("free text"),
    (SNAPSHOT, EMBEDDINGS, TESTS),
    compute,
    choice_runs.write,
    own=(text_runs.ENCODER,),
    initial=choice_runs.usual_epsilon,
    complete=text_runs.with_encoder,
    page="replacement",
    export=OWN_ROWS,
)
