"""Runs on free text: their options, and all that happens before rows are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from django.utils.translation import gettext, gettext_noop

from annotation.models import Task
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import plural
from evaluation.embeddings import embeddings, folders, vectors
from evaluation.embeddings.entailment import CrossEncoder
from evaluation.free_text import encoding, entailment
from evaluation.free_text.columns import TABLES
from evaluation.free_text.entailment import AskedEntailment
from evaluation.methods.aqer.entailment import Entailment, start_votes
from evaluation.methods.aqer.method import METHOD
from evaluation.methods.aqer.pair_scores import vectors_of_pairs
from evaluation.methods.core.base import Hooks, Result
from evaluation.methods.core.params import TEXT, Param
from evaluation.methods.registry import get_method
from evaluation.models import Run, Snapshot
from evaluation.runs.freezing import options as freezing
from evaluation.runs.freezing import snapshots
from evaluation.runs.progress import (
    BOOTSTRAP,
    CHECKS,
    EMBEDDINGS,
    ITERATING,
    SNAPSHOT,
    TEXT_STEPS,
    UNITERATED,
    Recorder,
)
from evaluation.runs.results import rows as results
from evaluation.runs.run_types import RunType

AQER = METHOD.slug
DEFAULT_ENCODER = "minilm"
ENCODER = Param(
    "encoder",
    DEFAULT_ENCODER,
    TEXT,
    label=gettext_noop("Encoder"),
    help=gettext_noop(
        "What turns an answer into numbers. Vectors are kept, so a text is encoded once."
    ),
)
ENTAILMENT = Param(
    "entailment",
    "",
    TEXT,
    label=gettext_noop("Entailment by"),
    help=gettext_noop(
        "Only for a first round by entailment: a cross-encoder for natural language inference, or "
        "a language model that was asked about the answers."
    ),
)
OR_PAIRS = replace(
    ENCODER,
    help=gettext_noop(
        "What turns an answer into numbers. Vectors are kept, so a text is encoded once. A "
        "cross-encoder reads two answers at once instead, at every run."
    ),
)
# What says of which data a run is; the method knows none of it.
OF_THE_RUN = ("encoder", "entailment", "panel", "also")
# What a requester may choose; the method's other parameters keep their defaults.
STORED = ("encoder", "leave_one_out", "rank_by", "similarity", "start", "resamples")


def clean_encoder(slug: str) -> str:
    """A known encoder, a model within CROWDQC_ENCODER_DIRS (its name, or ``path:<folder>``), or
    ``endpoint:<model id>``; each also with ``+spelling``.

    Raises Invalid for others. Whether a model is of the run's own project shows when it runs.
    """
    if slug.endswith(embeddings.SPELLING):
        return clean_encoder(slug.removesuffix(embeddings.SPELLING)) + embeddings.SPELLING
    if slug not in embeddings.ENCODERS and not slug.startswith(embeddings.ENDPOINT):
        slug = folders.clean_folder(slug, folders.is_sentence_model, "encoder")
    embeddings.get_encoder(slug)  # raises Invalid where there is none; loads nothing
    return slug


def encoder_of(run: Run, steps: Recorder) -> embeddings.Encoder:
    """The encoder, which stays loaded in the worker."""
    slug = run.params["encoder"]
    if slug.startswith("endpoint:"):
        # Not above: the client's libraries take a second, which pages need not wait for.
        from evaluation.llm.encoder import encoder_at

        asked = encoder_at(slug.removesuffix(embeddings.SPELLING)).bound(run, steps)
        return embeddings.SpellingEncoder(asked) if slug.endswith(embeddings.SPELLING) else asked
    return embeddings.local_encoder(slug)


def with_models(settings: dict[str, Any]) -> dict[str, Any]:
    """The options with encoder and cross-encoders as they are stored; raises Invalid."""
    encoder = str(settings["encoder"])
    if encoder.startswith(embeddings.PAIRS):
        found = {**settings, "encoder": _clean_cross_encoder(encoder)}
    else:
        found = with_encoder(settings)
    named = (found.pop(ENTAILMENT.name, "") or "").strip()
    if found.get("start") != "entailment":
        return found
    if named.startswith(entailment.ASKED):
        return {**found, ENTAILMENT.name: named}
    if not named:
        there = ", ".join(folders.model_folders(folders.judges_entailment)) or gettext(
            "none is installed"
        )
        said = gettext(
            "The first round by entailment needs a cross-encoder from a folder named in "
            "CROWDQC_ENCODER_DIRS: %(there)s. Or ask a language model first: “%(title)s”."
        ) % {"there": there, "title": gettext(entailment.ASKING.title)}
        raise Invalid(said, fields={ENTAILMENT.name: said})
    slug = folders.clean_folder(named, folders.judges_entailment, ENTAILMENT.name)
    return {**found, ENTAILMENT.name: slug}


def _clean_cross_encoder(slug: str) -> str:
    """``pairs:<folder>`` of a cross-encoder from its folder or name; raises Invalid."""
    named = slug.removeprefix(embeddings.PAIRS)
    if named in map(str, folders.model_folders(folders.is_classifier).values()):
        return slug
    found = folders.clean_folder(named, folders.is_classifier, ENCODER.name)
    return embeddings.PAIRS + found.removeprefix(folders.PATH)


def with_encoder(settings: dict[str, Any]) -> dict[str, Any]:
    """The options with the encoder as it is stored; raises Invalid where there is none."""
    return {**settings, "encoder": clean_encoder(settings["encoder"] or DEFAULT_ENCODER)}


def compute(
    run: Run, steps: Recorder, take: Callable[[Task], Snapshot] = snapshots.freeze_answers
) -> results.Computed:
    """Freeze (by ``take``), embed, fit."""
    steps.begin(SNAPSHOT)
    snapshot = freezing.freeze(run, take)
    frozen = snapshots.load(snapshot)
    counts = snapshot.counts
    of_systems = f", {counts['system_answers']:,} of systems" if counts["system_answers"] else ""
    steps.set_words(
        sub=snapshot.content_hash[:8], mono=True, count=f"{counts['answers']:,} answers{of_systems}"
    )
    if run.params["encoder"].startswith(embeddings.PAIRS):
        compared, encoded = _pair_scores(run, steps, frozen)
    else:
        steps.begin(EMBEDDINGS, total=len(frozen.texts), sub="opening the encoder")
        encoder = encoder_of(run, steps)
        steps.write()
        compared, encoded = frozen, encoding.rows_of(run, steps, frozen, encoder)
    people = f"{counts['workers']:,} workers"
    if counts["systems"]:
        people += f", {counts['systems']:,} systems"
    steps.begin(UNITERATED)
    steps.set_words(count=people)
    hooks = Hooks(progress=steps.stage, change=steps.change)
    scorer = _scorer(run)
    result = fit(run, compared, encoded.rows, hooks, scorer)
    if steps.current is not steps.steps[CHECKS]:
        steps.begin(CHECKS)
    _say_counts(steps, result, run.params.get("resamples", 0))
    judged_by = scorer.identity if scorer else ""
    return results.Computed(snapshot, frozen, encoded.encoder, result, judged_by)


def _pair_scores(
    run: Run, steps: Recorder, frozen: snapshots.AnswersDataset
) -> tuple[snapshots.AnswersDataset, encoding.Encoded]:
    """The answers by question, with vectors from what a cross-encoder gives pairs of them."""
    vectors.refuse_new_vectors(len(frozen.texts))
    model = CrossEncoder(run.params["encoder"].removeprefix(embeddings.PAIRS), similarity=True)
    split, question = frozen.split_by_question()
    sizes = np.bincount(question)
    pairs = int((sizes * (sizes - 1)).sum())
    steps.begin(EMBEDDINGS, total=pairs, sub=model.folder.name)
    hooks = Hooks(progress=lambda stage, done, total: steps.advance(done))
    found = vectors_of_pairs(split.texts, question, model, hooks=hooks)
    steps.set_words(
        count=plural(pairs, "pair of answers", "pairs of answers"),
        sub=f"scores moved by up to {found.moved:.3f}, so that they are cosines",
    )
    return split, encoding.Encoded(found.vectors, f"pairs+{model.identity}")


def _scorer(run: Run) -> CrossEncoder | AskedEntailment | None:
    """What judges entailment between answers, for a first round by it."""
    named = run.params.get(ENTAILMENT.name)
    if named and named.startswith(entailment.ASKED):
        return AskedEntailment(run.task, named)
    return CrossEncoder(named.removeprefix(folders.PATH)) if named else None


def fit(
    run: Run,
    frozen: snapshots.AnswersDataset,
    matrix: Any,
    hooks: Hooks,
    scorer: Entailment | None = None,
) -> Result:
    """The run's method on frozen answers and their vectors. Reads no database."""
    texts = frozen.with_vectors(matrix)
    votes = {}
    if scorer is not None:
        votes = {"start_votes": start_votes(texts, frozen.texts, scorer, hooks=hooks)}
    options = {name: value for name, value in run.params.items() if name not in OF_THE_RUN}
    rng = np.random.default_rng(run.seed)
    found: Result = get_method(run.method).fit(texts, rng=rng, hooks=hooks, **votes, **options)
    return found


def _say_counts(steps: Recorder, result: Result, resamples: int) -> None:
    """The words beside finished steps."""
    parts = result.diagnostics["components"]
    rounds = max(part["rounds"] for part in parts)
    ended = "converged" if result.converged else "not converged"
    boards = f" on {len(parts)} boards" if len(parts) > 1 else ""
    steps.steps[ITERATING]["count"] = f"{ended}, {rounds} rounds{boards}"
    steps.steps[BOOTSTRAP]["count"] = (
        f"{resamples:,} of {resamples:,}" if resamples else "none asked for"
    )
    tried = steps.steps[CHECKS]["total"]
    steps.steps[CHECKS]["count"] = f"{plural(tried, 'question')} left out in turn" if tried else ""


def write(run: Run, done: results.Computed) -> results.Outcome:
    """The rows and figures of a run."""
    return results.write(run, done)


def fail(run: Run, done: results.Computed) -> str:
    """Keep what shows why it did not converge; returns the reason in words."""
    results.write_failure(run, done.result)
    return results.why_not_converged(done.result)


def model_choices(task: Task) -> dict[str, list[tuple[str, str]]]:
    """The cross-encoders that are installed and models that were asked, for the form of a run.

    Those for ``encoder`` are offered beside the encoders.
    """
    there, asked = folders.model_folders(folders.judges_entailment), entailment.asked_runs(task)
    scorers = folders.model_folders(folders.is_classifier)
    none = (
        gettext("None") if there or asked else gettext("None is installed, and no model was asked")
    )
    scores = gettext("%(model)s, scores pairs of answers")
    return {
        ENCODER.name: [
            (f"{embeddings.PAIRS}{at}", scores % {"model": name}) for name, at in scorers.items()
        ],
        ENTAILMENT.name: [
            ("", none),
            *((f"{folders.PATH}{at}", name) for name, at in there.items()),
            *asked,
        ],
    }


def refuse_unasked(task: Task, params: Mapping[str, Any]) -> None:
    """Raise Invalid, naming the option, where no run asked a model about the task's answers."""
    named = params.get(ENTAILMENT.name, "")
    if named.startswith(entailment.ASKED):
        try:
            AskedEntailment(task, named)
        except Conflict as problem:
            said = problem.message
            raise Invalid(said, fields={ENTAILMENT.name: said}) from problem


RUNS = RunType(
    METHOD,
    ("texts",),
    gettext_noop("free text"),
    TEXT_STEPS,
    compute,
    write,
    fail,
    own=(OR_PAIRS, ENTAILMENT),
    stored=STORED,
    choices=model_choices,
    complete=with_models,
    refuse=refuse_unasked,
    export="task_results_export",
    tables=TABLES,
    figures_exported=False,
    iterates=True,
    chooses=True,
)
