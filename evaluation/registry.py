"""Types of runs, that fit answers or ask models, and what is known of each shape of answers."""

from __future__ import annotations

from collections.abc import Mapping

from evaluation.checklists.adapter import Attributes, Checks
from evaluation.checklists.filled import ask as checks_ask
from evaluation.checklists.filled import g_eval, probability_scores
from evaluation.checklists.filled import references as reference_runs
from evaluation.checklists.filled import run as checks
from evaluation.checklists.making import diversity as attribute_diversity
from evaluation.checklists.making import runs as checklist_runs
from evaluation.free_text import entailment as entailment_runs
from evaluation.free_text import run as text_runs
from evaluation.free_text.adapter import Texts
from evaluation.free_text.joint import run as joint_runs
from evaluation.free_text.selectors import questions
from evaluation.free_text.selectors import shared as text_shared
from evaluation.grading import study_run as study_runs
from evaluation.grading.compare import run as compare_runs
from evaluation.labels import outside as outside_labels
from evaluation.labels import run as label_runs
from evaluation.labels.adapter import ItemLabels
from evaluation.labels.selectors import shared as label_shared
from evaluation.llm_runs import transcribing, trial
from evaluation.llm_runs.answering import run as answering
from evaluation.llm_runs.judging import pairs as judging_runs
from evaluation.llm_runs.judging import points as judging_runs_points
from evaluation.pairwise import run as pair_runs
from evaluation.pairwise.adapter import Pairs, Ratings
from evaluation.pairwise.selectors import pages as pair_pages
from evaluation.pairwise.selectors import shared as pair_shared
from evaluation.panels import run as panel_runs
from evaluation.panels import watch as panel_watch
from evaluation.published.studies import crowdrag_checks as published_checks
from evaluation.replacement import run as replacement_runs
from evaluation.replacement import texts as replacement_texts
from evaluation.replacement.selectors import shared as replacement_shared
from evaluation.rescaling import run as rescaling
from evaluation.rescaling import scorer
from evaluation.rescaling.selectors import rated_texts, rating_boards
from evaluation.runs.run_types import RunType, SharedPage
from evaluation.traces import alerts as trace_alerts
from evaluation.traces import run as trace_runs
from evaluation.traces import shared as trace_shared
from evaluation.turns import run as turn_runs
from evaluation.turns import shared as turn_shared
from evaluation.writing import run as writing_runs
from evaluation.writing.adapter import Responses

# Ways of asking models are offered in this order.
RUN_TYPES = {
    kind.slug: kind
    for kind in (
        text_runs.RUNS,
        joint_runs.RUNS,
        study_runs.RUNS,
        compare_runs.RUNS,
        pair_runs.PAIRS,
        pair_runs.PAIR_CHECKS,
        pair_runs.RATINGS,
        label_runs.RUNS,
        turn_runs.RUNS,
        trace_runs.RUNS,
        replacement_runs.RUNS,
        replacement_texts.RUNS,
        writing_runs.RUNS,
        panel_runs.RUNS,
        rescaling.RUNS,
        scorer.RUNS,
        attribute_diversity.RUNS,
        transcribing.RUNS,
        checklist_runs.THOUGHTS,
        checklist_runs.STAGES,
        answering.RUNS,
        entailment_runs.RUNS,
        judging_runs.RUNS,
        judging_runs_points.RUNS,
        checks.RUNS,
        reference_runs.RUNS,
        checks_ask.RUNS,
        g_eval.RUNS,
        probability_scores.RUNS,
        trial.RUNS,
    )
}
# What belongs to an imported result and is never started by hand.
IMPORTED = {kind.slug: kind for kind in (pair_runs.PUBLISHED_RUNS, published_checks.RUNS)}
# What the evaluation app knows of answers of a shape.
ADAPTERS = (Texts(), Pairs(), Ratings(), ItemLabels(), Responses(), Attributes(), Checks())
# Called with a run that finished or became official.
AFTER = (panel_watch.note_run, trace_alerts.note_run)
# The public page of a run, by method.
REPLACEMENT = SharedPage("evaluation/replacement/shared/page.html", replacement_shared.parts)
SHARED = {
    text_runs.RUNS.slug: SharedPage(
        "evaluation/free_text/shared.html", text_shared.parts, questions.shared_items
    ),
    pair_runs.PAIRS.slug: SharedPage(
        "evaluation/runs/sharing/board.html", pair_shared.parts, pair_pages.shared_items
    ),
    pair_runs.RATINGS.slug: SharedPage(
        "evaluation/rescaling/shared.html", rating_boards.parts, rated_texts.shared_items
    ),
    label_runs.RUNS.slug: SharedPage(
        "evaluation/labels/shared/page.html", label_shared.parts, label_shared.shared_items
    ),
    replacement_runs.RUNS.slug: REPLACEMENT,
    turn_runs.RUNS.slug: SharedPage("evaluation/runs/sharing/tables.html", turn_shared.parts),
    trace_runs.RUNS.slug: SharedPage("evaluation/traces/shared.html", trace_shared.parts),
    replacement_texts.RUNS.slug: REPLACEMENT,
}


def outside_run_types() -> Mapping[str, RunType]:
    """Return the types of runs of plug-ins that are loaded, by full name."""
    return outside_labels.run_types()
