"""Types of runs, that fit answers or ask models, and what is known of each shape of answers."""

from __future__ import annotations

from evaluation.checklists.adapter import Attributes, Checks
from evaluation.checklists.filled import ask as checks_ask
from evaluation.checklists.filled import g_eval
from evaluation.checklists.filled import run as checks
from evaluation.checklists.making import diversity as attribute_diversity
from evaluation.checklists.making import runs as checklist_runs
from evaluation.free_text import run as text_runs
from evaluation.free_text.adapter import Texts
from evaluation.grading import study_run as study_runs
from evaluation.llm_runs.answering import run as answering
from evaluation.llm_runs.judging import pairs as judging_runs
from evaluation.llm_runs.judging import points as judging_runs_points
from evaluation.pairwise import run as pair_runs
from evaluation.pairwise.adapter import Pairs, Ratings
from evaluation.panels import run as panel_runs
from evaluation.panels import watch as panel_watch
from evaluation.published.studies import crowdrag_checks as published_checks
from evaluation.rescaling import run as rescaling
from evaluation.runs.run_types import RunType
from evaluation.writing import run as writing_runs
from evaluation.writing.adapter import Responses

_TEXTS = RunType(
    ("texts",), "free text", text_runs, {"aqer": text_runs.STEPS}, own=(text_runs.ENCODER,)
)
_STUDY = RunType(("texts",), "free text", study_runs, study_runs.STEPS, own=study_runs.OWN)
_PAIRS = RunType(("pairs",), "pairwise judgments", pair_runs, pair_runs.STEPS)
_RATINGS = RunType(("ratings",), "ratings", pair_runs, pair_runs.STEPS)
_RESPONSES = RunType(("responses",), "writing with sources", writing_runs, writing_runs.STEPS)
RUN_TYPES: dict[str, RunType] = {
    "aqer": _TEXTS,
    "aqer_study": _STUDY,
    "pairwise": _PAIRS,
    "pairwise_checks": _PAIRS,
    "ratings": _RATINGS,
    "writing": _RESPONSES,
}
RUN_TYPES[panel_runs.SLUG] = RunType(
    ("texts",), "free text", panel_runs, panel_runs.STEPS, own=panel_runs.OWN
)
RUN_TYPES[rescaling.SLUG] = RunType(
    ("ratings",),
    "ratings with explanations",
    rescaling,
    rescaling.STEPS,
    {rescaling.SLUG: rescaling.ASKING},
)
RUN_TYPES[attribute_diversity.SLUG] = RunType(
    ("attributes",), "think-alouds", attribute_diversity, attribute_diversity.STEPS
)
_THOUGHTS = RunType(
    ("attributes",),
    "think-alouds",
    checklist_runs,
    checklist_runs.STEPS,
    {one.slug: one for one in (checklist_runs.THINKING, checklist_runs.MAKING)},
)
RUN_TYPES.update({slug: _THOUGHTS for slug in checklist_runs.STEPS})
RUN_TYPES[answering.SLUG] = RunType(
    ("texts", "responses"),
    "free text and writing with sources",
    answering,
    answering.STEPS,
    {answering.SLUG: answering.ANSWERS},
)
RUN_TYPES[judging_runs.SLUG] = RunType(
    ("pairs",),
    "pairwise judgments",
    judging_runs,
    judging_runs.STEPS,
    {judging_runs.SLUG: judging_runs.JUDGE_PAIRS},
)
RUN_TYPES[judging_runs_points.SLUG] = RunType(
    ("texts", "pairs", "ratings"),
    "answers and texts",
    judging_runs_points,
    judging_runs_points.STEPS,
    {judging_runs_points.SLUG: judging_runs_points.JUDGE_POINTS},
)
_CHECKS = ("checks",), "filled checklists"
RUN_TYPES[checks.SLUG] = RunType(*_CHECKS, checks, checks.STEPS)
RUN_TYPES[checks_ask.SLUG] = RunType(
    *_CHECKS, checks_ask, checks_ask.STEPS, {checks_ask.SLUG: checks_ask.ASKING}
)
RUN_TYPES[g_eval.SLUG] = RunType(*_CHECKS, g_eval, g_eval.STEPS, {g_eval.SLUG: g_eval.ASKING})
# What belongs to an imported result and is never started by hand.
IMPORTED = {
    published_checks.METHOD: RunType(
        ("pairs",), "pairwise judgments", published_checks, published_checks.STEPS
    )
}
# What the judging side knows of answers of a shape.
ADAPTERS = (Texts(), Pairs(), Ratings(), Responses(), Attributes(), Checks())
# What is told of a run that is done, or that became official.
AFTER = (panel_watch.note_run,)
# What follows a finished run.
FOLLOWS = {"pairwise": "pairwise_checks"}
