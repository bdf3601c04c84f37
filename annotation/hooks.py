"""What the evaluation app adds to packages of this one (see ``evaluation/extensions.py``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crowdqc.hooks import Hook

# Makers of export files (``formats.exports.makers.Maker``), by kind of file.
export_makers: Hook[[], Mapping[str, Any]] = Hook("export_makers")
# Of a task: what it takes to compute the scores of its finished runs again.
run_recipes: Hook[[Any], list[dict[str, Any]]] = Hook("run_recipes")
# Of a task: what its results say first, and where; None before the first run that says something.
task_verdict: Hook[[Any], dict[str, str] | None] = Hook("task_verdict")
# Of a task's row, for somebody of its staff: what waits, its pace, and its plan (``TaskOutlook`` of
# ``evaluation.overview.task_outlook``).
task_outlook: Hook[[Any, Any], Any] = Hook("task_outlook")
# Of a task: the address of its plan; "" where nothing can be simulated.
plan_url: Hook[[Any], str] = Hook("plan_url")
# Of a project: what is known of its workers beyond their work and pay (``WorkerEvidence`` of
# ``evaluation.people.selectors.evidence``).
worker_evidence: Hook[[Any], Any] = Hook("worker_evidence")
# Of tasks: the state of the results of each, by the task's id.
run_states: Hook[[Any], dict[int, str]] = Hook("run_states")
# Of a public board's address: its title and its pages; None where there is no such board.
public_board: Hook[[str], dict[str, str] | None] = Hook("public_board")
# Make a task of an uploaded table, start its run and return the import's report.
write_table: Hook[..., Any] = Hook("write_table")
