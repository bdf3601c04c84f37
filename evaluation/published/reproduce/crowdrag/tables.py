"""CrowdRAG's judging study (Tables 1, 4 to 9) measured again, and what they should have said.

Gienapp et al., "The Viability of Crowdsourcing for RAG Evaluation" (SIGIR 2025). Rows of a table
follow the published recipe, errors included; rows of "Table n, corrected" mend them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from evaluation.published.reproduce.crowdrag.agreement import (
    agreement_rows,
    hidden_rows,
    interdependence_rows,
    order_rows,
)
from evaluation.published.reproduce.crowdrag.data import CrowdRag, load
from evaluation.published.reproduce.crowdrag.grades import grade_rows
from evaluation.published.reproduce.crowdrag.judges import judge_rows
from evaluation.published.reproduce.crowdrag.mace import corrected_rows, refit_rows
from evaluation.published.reproduce.crowdrag.overlap import overlap_rows
from evaluation.published.reproduce.crowdrag.size import pointwise_rows, size_rows
from evaluation.published.reproduce.rows import Row

RESTARTS = 20
TITLE = "CrowdRAG (Gienapp et al. 2025): agreement, order effects, grades, similarity, LLM judges"
LEFT_OUT = (
    "Not measured: the writing study (see crowdrag-writing); Table 2, which holds questions; Table "
    "8's BERTScore with the published model. The published MACE run has no seed: its spam "
    "probabilities and gold labels are taken as published for the tables, and a refit is compared "
    "with them."
)
DECIMALS = {"Table 4": 2, "Table 5": 2, "Table 6": 2, "Table 7": 1, "Table 8": 3, "Table 9": 2}
Say = Callable[[str], None]


def reproduce(folder: Path, *, say: Say, seed: int = 0, repetitions: int = RESTARTS) -> list[Row]:
    """Compute all rows of the reproduction; ``repetitions`` are MACE's restarts."""
    data = load(folder)
    rows = [*size_rows(data, folder), *pointwise_rows(folder), *table_rows(data, seed=seed)]
    say(f"MACE, {repetitions} restarts a fit")
    rng = np.random.default_rng([seed, 1])
    rows += refit_rows(data, rng, restarts=repetitions)
    rows += corrected_rows(data, rng, restarts=repetitions)
    rows += overlap_rows(data, folder, say=say)
    return sorted(rows, key=lambda row: row.table)


def table_rows(data: CrowdRag, *, seed: int = 0) -> list[Row]:
    """The rows that need neither a MACE fit nor the texts."""
    rng = np.random.default_rng([seed, 0])
    rows = [*agreement_rows(data), *order_rows(data, rng), *interdependence_rows(data, rng)]
    return rows + hidden_rows(data) + grade_rows(data) + judge_rows(data)
