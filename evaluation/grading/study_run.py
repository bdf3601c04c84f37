"""Runs of the study of section 6.2: every method, and a judge, against the experts' grades."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.models import System
from crowdqc.errors import Conflict
from crowdqc.numbers import plural
from evaluation.embeddings import embeddings, vectors
from evaluation.embeddings.token_vectors import token_vectors
from evaluation.free_text import run as text_runs
from evaluation.grading.actions import marks_of
from evaluation.methods.aqer_study import method as aqer_study
from evaluation.methods.aqer_study.method import Study
from evaluation.methods.core.base import FloatArray, Hooks, Result, Texts
from evaluation.methods.core.params import whole_number
from evaluation.methods.registry import get_method
from evaluation.methods.text.corpus import Responses
from evaluation.models import AnswerScore, Grading, Run, RunState
from evaluation.runs.freezing import snapshots
from evaluation.runs.freezing.options import freeze
from evaluation.runs.freezing.snapshots import AnswersDataset
from evaluation.runs.progress import EMBEDDINGS, SNAPSHOT, Recorder
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import RunType

SLUG = aqer_study.NAME
DRAWS = gettext_noop("Draws of workers")
JUDGE = "judge_points"  # the method of a run in which a model graded the answers
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Computed:
    """What a run has found before anything is written."""

    frozen: AnswersDataset
    study: Study
    result: Result
    told: Row


def compute(run: Run, steps: Recorder) -> Computed:
    """Freeze the answers and the grades, make vectors, draw workers, score, correlate."""
    steps.begin(SNAPSHOT)
    snapshot = freeze(run, snapshots.freeze_answers)
    frozen = snapshots.load(snapshot)
    grade, graded = grades(run, frozen)
    judge, judged = judge_scores(run, frozen)
    steps.set_words(
        sub=snapshot.content_hash[:8],
        mono=True,
        count=f"{plural(len(frozen.answer_ids), 'answer')}, {plural(graded['n'], 'grade')}",
    )
    steps.begin(EMBEDDINGS, total=len(frozen.texts))
    encoder = embeddings.get_encoder(run.params["encoder"])
    found = vectors.vectors_of(
        frozen.texts, encoder, advance=lambda done, cached: steps.advance(done)
    )
    texts = frozen.with_vectors(found.matrix)
    bert = "bert_score" in run.params["methods"]
    study = Study(texts, responses_of(frozen, run.params["encoder"], bert=bert), grade, judge)
    steps.begin(DRAWS)
    options = {name: run.params[name] for name in aqer_study.DEFAULTS}
    result = get_method(SLUG).fit(
        study,
        rng=np.random.default_rng(run.seed),
        hooks=Hooks(progress=lambda stage, done, total: steps.advance(done, total)),
        **options,
    )
    steps.set_words(count=f"{options['repetitions']} draws of each size")
    return Computed(
        frozen, study, result, {"grades": graded, "judge": judged, "encoder": encoder.identity}
    )


def grades(run: Run, frozen: AnswersDataset) -> tuple[FloatArray, Row]:
    """Return experts' grades (s,) of systems' answers, NaN if ungraded, with their source."""
    grading = Grading.objects.filter(pk=run.params["grading"], task=run.task_id).first()
    if grading is None:
        raise Conflict(_("The grading of this run is gone."))
    final = {pk: both.final(grading.gap) for pk, both in marks_of(grading).items()}
    found = np.array(
        [np.nan if (mark := final.get(pk)) is None else mark for pk in frozen.system_answer_ids]
    )
    known = sorted((pk, mark) for pk, mark in final.items() if mark is not None)
    digest = hashlib.sha256(json.dumps(known).encode()).hexdigest()
    return found, {"grading": grading.pk, "n": int(np.isfinite(found).sum()), "hash": digest}


def judge_scores(run: Run, frozen: AnswersDataset) -> tuple[FloatArray | None, Row]:
    """Return a judge model's scores (s,) of the systems' answers, from the chosen run."""
    if not run.params["judge"]:
        return None, {}
    source = Run.objects.filter(
        pk=run.params["judge"], task=run.task_id, method=JUDGE, state=RunState.DONE
    ).first()
    if source is None:
        raise Conflict(_("The judge's run that was chosen is gone or not finished."))
    given = dict(
        AnswerScore.objects.filter(
            run=source, answer__in=frozen.system_answer_ids, estimate__isnull=False
        ).values_list("answer_id", "estimate")
    )
    scores = np.array([given.get(pk, np.nan) for pk in frozen.system_answer_ids], dtype=float)
    if not np.isfinite(scores).any():
        raise Conflict(_("The judge's run scored none of the systems' answers."))
    return scores, {
        "run": source.number,
        "model": source.params.get("model_name", ""),
        "hash": source.result_hash,
        "n": int(np.isfinite(scores).sum()),
    }


def responses_of(frozen: AnswersDataset, encoder: str, *, bert: bool) -> Responses:
    """Build the answers as words, with token vectors if BERTScore is asked for."""
    tokens = None
    if bert and encoder == text_runs.DEFAULT_ENCODER:
        tokens = token_vectors(frozen.texts)
    questions = [str(item) for item in frozen.items]
    outside = Responses.build(
        frozen.system,
        frozen.system_question,
        frozen.texts,
        text=frozen.system_text,
        workers=[str(pk) for pk in frozen.systems],
        questions=questions,
        vectors=tokens,
        repeats=True,
    )
    return Responses.build(
        frozen.worker,
        frozen.question,
        frozen.texts,
        text=frozen.text,
        workers=[str(pk) for pk in frozen.workers],
        questions=questions,
        vectors=tokens,
        outside=outside,
    )


def write(run: Run, done: Computed) -> Outcome:
    """The study's tables as figures."""
    names = {one.pk: one for one in System.objects.filter(pk__in=done.frozen.systems)}
    systems = [
        {
            "id": pk,
            "name": names[pk].name,
            "strategy": names[pk].prompt_strategy,
            **_means(done.study, at),
        }
        for at, pk in enumerate(done.frozen.systems)
    ]
    told: Row = {
        "study": done.result.estimates["system"].rows(),
        "against": done.result.estimates["against"].rows(),
        "measures": done.result.estimates["measures"].rows(),
        "frame": {**done.result.diagnostics, "systems": systems},
        "recipe": {
            "method": SLUG,
            "version": done.result.version,
            "seed": run.seed,
            "params": dict(run.params),
            **done.told,
            "snapshot": run.snapshot.content_hash if run.snapshot else "",
            "counts": dict(run.snapshot.counts) if run.snapshot else {},
        },
    }
    return Outcome({}, told)


def _means(study: Study, system: int) -> Row:
    """Mean grade of one system's answers, with its standard error over answers."""
    outside = study.texts.outside
    if not isinstance(outside, Texts):
        return {"grade": None, "error": None, "n": 0}
    theirs = study.grade[outside.source[outside.worker == system]]
    known = theirs[np.isfinite(theirs)]
    error = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else None
    return {"grade": float(known.mean()) if len(known) else None, "error": error, "n": len(known)}


RUNS = RunType(
    aqer_study.METHOD,
    ("texts",),
    gettext_noop("free text"),
    (SNAPSHOT, EMBEDDINGS, DRAWS),
    compute,
    write,
    own=(
        whole_number(
            "grading",
            None,
            1,
            required=True,
            help=gettext_noop("The grades that every method is held against."),
        ),
        whole_number(
            "judge",
            0,
            0,
            help=gettext_noop("The run of a model as a judge to compare with; 0 for none."),
        ),
        text_runs.ENCODER,
    ),
    complete=text_runs.with_encoder,
    page="study",
)
