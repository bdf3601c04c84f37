"""Think-aloud and checklist tasks: samples, attributes and checklists as tables."""

from __future__ import annotations

from evaluation.published.formats.crowdrag_writing import WritingRows

SAMPLES = WritingRows(
    "samples", "rubrics with scored samples, into the draft of a think-aloud task"
)
ATTRIBUTES = WritingRows("attributes", "attributes of people and models, into a think-aloud task")
CHECKS = WritingRows("checks", "checklists of people and models, into a checklist task")
