"""What writers answered before and after writing (section 3.1.3 to 3.1.5)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evaluation.methods.agreement.rank_correlation import pearson, spearman
from evaluation.methods.core.base import FloatArray
from evaluation.published.reproduce.crowdrag.writing.data import Writing
from evaluation.published.reproduce.rows import Row

SECTION = "section 3.1"


def survey_rows(found: Writing) -> list[Row]:
    """Compare numbers of writers, times and questionnaires."""
    asked, workers = found.surveys, len(set(found.writers))
    answered = np.isfinite(asked["references_quality"])
    some = f"{int((~answered).sum())} responses of the release have no questionnaire"
    minutes = found.active / 60
    time = (
        "the release has no session times: writing time from the snapshots, pauses cut at a "
        f"minute; the mean is {minutes.mean():.1f}"
    )
    return [
        Row(SECTION, "human responses", "all", 903, len(found.writers)),
        Row(SECTION, "writers", "all", 34, workers),
        Row(
            SECTION,
            "responses per writer",
            "mean",
            26,
            len(found.writers) / workers,
            "printed cut off, not rounded",
        ),
        Row(
            SECTION,
            "minutes per response",
            "median",
            10 + 22 / 60,
            float(np.median(minutes)),
            time,
            decimals=2,
        ),
        Row("Table 1", "minutes per response", "median", 11, float(np.median(minutes)), time),
        *_correlations(found, some),
        _middle("knowledge", 2, asked["worker_knowledge"], some),
        _middle("expertise", 1, asked["worker_expertise"], some),
        _middle(
            "quality of passages",
            4,
            asked["references_quality"],
            f"{some}; more than half of the rest give 5",
        ),
        _share("own knowledge used least (1)", 0.66, asked["references_extra"], some),
        _share("some passages omitted", 0.60, asked["references_omission"], some),
        _share("satisfied with the response", 0.87, asked["worker_satisfaction"], some),
        *_omissions(asked["references_quality"], asked["references_omission"]),
    ]


def _correlations(found: Writing, some: str) -> list[Row]:
    asked, rows = found.surveys, []
    for name, first, second, target in (
        ("knowledge and expertise", "worker_knowledge", "worker_expertise", 0.88),
        ("quality of passages and own knowledge", "references_quality", "references_extra", -0.04),
    ):
        known = np.isfinite(asked[first]) & np.isfinite(asked[second])
        x, y = asked[first][known], asked[second][known]
        straight = float(pearson(x, y).value[0])
        rows.append(
            Row(
                SECTION,
                f"correlation of {name}",
                "Spearman",
                target,
                float(spearman(x, y).value[0]),
                f"Pearson's r is {straight:.3f}; {some}",
            )
        )
    return rows


def _middle(name: str, target: float, values: FloatArray, note: str) -> Row:
    measured = float(np.nanmedian(values))
    return Row(
        SECTION,
        f"median {name}",
        "answers given",
        target,
        measured,
        "" if measured == target else note,
    )


def _share(name: str, target: float, values: FloatArray, note: str) -> Row:
    given = values[np.isfinite(values)]
    share = float((given == 1).mean())
    return Row(SECTION, name, "share of answers given", target, share, note, decimals=2)


def _omissions(quality: FloatArray, omitted: FloatArray) -> Iterator[Row]:
    """Said to be about the same at every quality."""
    for point in np.unique(quality[np.isfinite(quality)]).tolist():
        given = omitted[(quality == point) & np.isfinite(omitted)]
        yield Row(
            SECTION,
            f"some passages omitted, quality {point:.0f}",
            "share of answers given",
            None,
            float((given == 1).mean()) if len(given) else float("nan"),
            f"{len(given)} answers; said to be about the same at every quality",
        )
