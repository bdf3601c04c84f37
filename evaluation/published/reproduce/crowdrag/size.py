"""CrowdRAG's key figures of the judging study: Table 1, section 3.2 and Table 4's pointwise pilot.

Fees and hourly wages are not in the data: rows "from printed figures" check the paper's arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from evaluation.methods.core.base import IntArray
from evaluation.published.reproduce.columns import numbers
from evaluation.published.reproduce.crowdrag import published
from evaluation.published.reproduce.crowdrag.agreement import label_alpha
from evaluation.published.reproduce.crowdrag.data import DIMENSIONS, CrowdRag, records
from evaluation.published.reproduce.rows import Row

SESSIONS, POINTWISE = "sessions_time_taken.csv", "pointwise_judgments.csv"
STUDY = "pairwise-utility"
SECTION = "section 3.2"
FEE, PAIRS, MINUTES = 5.50, 15, 25.0  # of a questionnaire, as printed
WRITING_FEE, WRITING_MINUTES = 2.50, 10 + 22 / 60
ARITHMETIC = "from printed figures"
CUT_OFF = "printed cut off, not rounded"


def size_rows(data: CrowdRag, folder: Path) -> list[Row]:
    """Sizes, time and cost of the judging study."""
    votes, size = data.artifact, len(DIMENSIONS)
    each = np.bincount(votes.worker, minlength=len(votes.workers))
    calls = sum(len(found.pair) * size for found in data.llm.values())
    judged = len(np.unique(2 * votes.pair + votes.flipped))
    rows = [
        Row("Table 1", "topics judged", "all", 65, len(data.graded.topics)),
        Row("Table 1", "quality criteria", "all", 7, size),
        Row("Table 1", "response pairs", "ordered pairs", 1352, judged),
        Row("Table 1", "pairwise judgments of people", "labels", 47320, len(votes) * size),
        Row("Table 1", "pairwise judgments of the LLM", "first calls", 10556, calls),
        Row("Table 1", "crowd judges", "all", 420, int((each > 0).sum())),
        Row("Table 1", "judgments per judge", "mean", 112, float(each.mean()) * size, CUT_OFF),
        Row(SECTION, "judgments per dimension", "all", 6760, len(votes)),
        Row(SECTION, "unique pairs", "either direction", 975, len(np.unique(votes.pair))),
        Row(SECTION, "pairs per worker", "mean", 16, float(each.mean())),
        Row(SECTION, "pairs per worker", "fewest", 11, int(each.min())),
        Row(SECTION, "pairs per worker", "most", 46, int(each.max())),
    ]
    return [*rows, *_time_rows(folder), *_cost_rows(len(votes) * size)]


def _time_rows(folder: Path) -> Iterator[Row]:
    """Minutes of the sessions on Prolific."""
    found = records(folder, SESSIONS, ("study", "time_taken"))
    seconds = numbers(
        SESSIONS, "time_taken", [row["time_taken"] for row in found if row["study"] == STUDY]
    )
    minutes, sessions = seconds / 60, f"{len(seconds)} sessions of the release"
    yield Row(
        SECTION,
        "minutes per questionnaire",
        f"median of {sessions}",
        MINUTES,
        float(np.median(minutes)),
        f"printed as the average; the mean is {minutes.mean():.1f}",
        decimals=0,
    )
    yield Row(
        "Table 1",
        "minutes per judgment",
        f"median of {sessions}, a label of {PAIRS} pairs",
        0.6,
        float(np.median(minutes)) / (PAIRS * len(DIMENSIONS)),
        "25 printed minutes over 105 labels are .24, over 15 pairs 1.67: neither is .6",
    )


def _cost_rows(labels: int) -> list[Row]:
    """Wages and costs from the printed fees, times and totals."""
    judged, written = FEE / (PAIRS * len(DIMENSIONS)), "total over responses"
    total = 3672.54 / labels
    cut = f"the fee alone is ${judged:.3f}; all costs with pilots, fees and tax"
    return [
        Row("Table 1", "hourly rate, judging, $", ARITHMETIC, 13.20, 60 * FEE / MINUTES, "", 2),
        Row(
            "Table 1",
            "hourly rate, writing, $",
            ARITHMETIC,
            14.40,
            60 * WRITING_FEE / WRITING_MINUTES,
            "$2.50 for the printed 10:22 minutes; 14.40 would be 10:25",
            2,
        ),
        Row("Table 1", "cost per response, $", f"{ARITHMETIC}, {written}", 2.89, 2610.32 / 903),
        Row("Table 1", "cost per judgment, $", ARITHMETIC, 0.06, total, cut),
        Row("Table 1", "cost per gold judgment, $", f"{ARITHMETIC}, five votes", 0.30, 5 * total,
            cut, 2),
    ]  # fmt: skip


def pointwise_rows(folder: Path) -> Iterator[Row]:
    """Table 4's pointwise column: alpha of the pilot's votes, each submission once."""
    rows = records(folder, POINTWISE, ("item", "worker", "resubmission", *DIMENSIONS))
    once = [row for row in rows if row["resubmission"] == "0"]
    note = (
        "published after the circular filter, on 410 rows of which 175 are exact re-posts; the "
        "items are known from the order of the rows alone"
    )
    yield Row("Table 4", "items, pointwise", "rows of the file", 410, len(rows))
    for protocol, kept, is_variant in (
        (f"{len(once)} votes, no filter", once, False),
        (f"{len(rows)} rows, re-posts as votes, no filter", rows, True),
    ):
        item = np.unique([row["item"] for row in kept], return_inverse=True)[1]
        values = [_alpha(item, [row[name] for row in kept]) for name in DIMENSIONS]
        for name, printed, value in zip(
            (*published.SHORT, "mean"),
            published.TABLE4_POINTWISE,
            (*values, float(np.mean(values))),
            strict=True,
        ):
            quantity = f"alpha, pointwise, {name}"
            yield Row("Table 4", quantity, protocol, printed, value, note, is_variant=is_variant)


def _alpha(item: IntArray, points: Sequence[str]) -> float:
    """Ordinal alpha of points on items (n,), each by somebody else."""
    scale = sorted(set(points), key=int)
    return label_alpha(item, np.array([scale.index(point) for point in points]), scale)
