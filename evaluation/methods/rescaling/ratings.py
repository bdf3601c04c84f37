"""Texts rated one by one on ordinal scales: agreement, means by source, how workers use the scale.

The point-wise pilot beside a pairwise study (Gienapp et al. 2025, section 3.3.1). A mean treats the
points of a scale as equally far apart; alpha does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.agreement.coefficients import (
    alpha_interval,
    kappa_interval,
    krippendorff_alpha,
)
from evaluation.methods.core.base import (
    BadShape,
    DataError,
    EmptyData,
    FloatArray,
    Hooks,
    IntArray,
    Result,
    Table,
    index_array,
    indices,
    of_rows,
)
from evaluation.methods.core.inference import (
    family_level,
    mean_spread,
    scale_interval,
    two_way_spread,
)
from evaluation.methods.core.kinds import FEWEST as KIND_FEWEST
from evaluation.methods.core.kinds import Column, checked_column, not_split, too_small
from evaluation.methods.core.memory import board_of_systems
from evaluation.methods.core.params import DRAWN, LEVEL, Params, flag, resamples, whole_number
from evaluation.methods.core.units import (
    CORRELATION,
    LEAST,
    MEAN,
    count_in_words,
    fisher,
    too_few_units,
)
from evaluation.methods.core.votes import Labels
from evaluation.methods.rescaling import competence
from evaluation.methods.rescaling.data import Annotations, shared_pairs
from evaluation.methods.rescaling.method import mean_tau

NAME, VERSION = "ratings", "1.7"
SAME_RATINGS = "all ratings are the same"
PARAMS = Params(
    NAME,
    (
        resamples(1000, or_zero=False, label="Resamples", help=DRAWN),
        LEVEL,
        flag(
            "competence",
            False,
            label="Correct by the competence of raters",
            help="Means without raters whom MACE takes for guessing, beside those of all ratings.",
        ),
        whole_number(
            *("top_points", None, 1, 100),
            label="Points that count as the top class",
            help="For agreement on two classes: how many of the highest points. Empty: one.",
        ),
    ),
    version=VERSION,
)
DEFAULTS = PARAMS.defaults
AGREEMENT, MEANS = "agreement", "means"
STAGES = (AGREEMENT, MEANS)
FEWEST = 3  # shared texts below which there is no correlation
ALL_ONE_CLASS = "all ratings are in one class; kappa is not defined"
SAME_RATING = "every rating is the same, so no interval"
ORDINAL, INTERVAL = "ordinal", "interval"
ORDINAL_AGREED = (
    *("dimension", "measurement", "alpha", "low", "high", "n", "texts", "unit", "reason"),
)
INTERVAL_AGREED = ("interval_alpha", "interval_low", "interval_high")
AGREED = (*ORDINAL_AGREED, *INTERVAL_AGREED)
SYSTEM = (
    "dimension",
    "component",
    "system",
    "estimate",
    "se",
    "low",
    "high",
    "n",
    "no_interval",
)
STRATUM = ("dimension", "column", "stratum", "texts", "votes", "level", "reason")
TEXT = ("dimension", "component", "candidate", "merit", "low", "high", "n")
CORRECTED_TEXT = (*TEXT, "corrected", "kept")
TWO_CLASSES = (
    *("dimension", "top", "share", "kappa", "low", "high", "reason"),
    *("tau", "tau_low", "tau_high", "tau_all", "tau_all_low", "tau_all_high", "tau_reason"),
    *("pairs", "pairs_all", "n"),
)
MOST_ROWS = 5_000_000  # pairs of ratings of one text; some 2 GB above
WORKER = (
    "dimension",
    "component",
    "worker",
    "agreement",
    "low",
    "high",
    "mean",
    "spread",
    "n",
    "shared",
    "no_interval",
)


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings (n,) of texts on s scales, as they came.

    ``worker`` and ``text`` (n,) index names; ``value`` (n, s) are points, NaN for none. ``system``
    and ``topic`` (texts,) say whose text it is and on what. ``columns`` are kinds of texts by name.
    ``points`` are all points of each scale, ascending; where they are not known, all ratings on it.
    """

    worker: IntArray
    text: IntArray
    value: FloatArray
    system: IntArray
    topic: IntArray
    workers: tuple[str, ...]
    texts: tuple[str, ...]
    systems: tuple[str, ...]
    scales: tuple[str, ...]
    columns: Mapping[str, Column] = field(default_factory=dict)
    points: tuple[tuple[float, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.worker)

    @property
    def units(self) -> tuple[IntArray, str]:
        """The unit of each text (texts,) and its name: topics, or texts where all are of one."""
        if len(np.unique(self.topic)) > 1:
            return self.topic, "topics"
        return np.arange(len(self.texts)), "texts"

    @classmethod
    def build(
        cls,
        worker: Sequence[int] | IntArray,
        text: Sequence[int] | IntArray,
        value: Any,
        *,
        system: Sequence[int] | IntArray,
        topic: Sequence[int] | IntArray,
        workers: Sequence[str],
        texts: Sequence[str],
        systems: Sequence[str],
        scales: Sequence[str],
        columns: Mapping[str, Column] | None = None,
        points: Sequence[Sequence[float]] | None = None,
    ) -> Ratings:
        """Check the arrays; ``points`` are those of each scale.

        Raises EmptyData, UnknownIndex, BadShape.
        """
        w, t = indices(worker=(worker, workers), text=(text, texts))
        given = np.asarray(value, dtype=np.float64)
        if given.shape != (len(w), len(scales)) or len(t) != len(w):
            raise BadShape(f"value is {given.shape}; it must be ({len(w)}, {len(scales)})")
        if not np.isfinite(given).any():
            raise EmptyData("there is no rating")
        s, about = index_array("system", system, len(systems)), np.asarray(topic, dtype=np.int64)
        if len(s) != len(texts) or len(about) != len(texts):
            raise BadShape(f"system and topic must have an entry for each of {len(texts)} texts")
        kinds = {
            name: checked_column(name, one, len(texts), "texts")
            for name, one in (columns or {}).items()
        }
        every = _points(given, points or [()] * len(scales))
        return cls(
            *(w, t, given, s, about),
            *(tuple(workers), tuple(texts), tuple(systems), tuple(scales)),
            *(kinds, every),
        )


def _points(value: FloatArray, points: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    """All points of each scale and ratings (n, s) on it, ascending."""
    return tuple(
        tuple(sorted({*known, *column[np.isfinite(column)].tolist()}))
        for known, column in zip(points, value.T, strict=True)
    )


def fit(
    data: Ratings, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Describe a rating study.

    Tables (``dimension`` is the scale's number): ``agreement`` (alpha of the level of
    ``measurement``, ordinal, of these raters; bootstrap over topics, over texts where all are of
    one; ``unit``; ``interval_alpha`` takes points for equal steps),
    ``system`` (mean; interval clustered by worker and by topic, within the scale),
    ``candidate`` (mean of a text), ``worker`` (``agreement``: correlation with the mean of the
    others on the same texts, which is no competence, NaN below 3 texts, with Fisher's interval;
    ``shared``: these texts; own ``mean`` and ``spread``). ``reason`` and
    ``no_interval`` say why there is no figure or no interval.

    ``stratum``, a row a scale, column and kind of texts: dimension, column, stratum (its name; ""
    of a column that is not split), texts, votes, level of its intervals, reason (why there is no
    board). ``stratum_system``: as ``system``, with column and stratum. Intervals of all kinds of a
    column hold at once, clustered as those of the whole board (by text within one topic).

    ``two_classes``: agreement on whether a rating is among the ``top_points`` highest of its scale
    (from ``top`` on, which a ``share`` is): Fleiss' ``kappa`` over items with unequal numbers of
    raters, with bootstrap bounds; ``tau``, mean tau-b over ``pairs`` of workers on these two
    classes, and ``tau_all`` on all points, with jackknife bounds (Wadhwa et al. 2024, 4.3).

    With ``competence`` also ``corrected`` and ``rater`` (as of ``competence.correct``: agreement
    with and without raters whom MACE takes for guessing, and who these are), ``corrected_system``
    (as ``system``, of the ratings kept; competence is taken as known), and of each text the
    ``corrected`` mean of its ``kept`` ratings (NaN without one). Raises BadParameter, Cancelled.
    """
    settings, hooks = PARAMS.settings(params), hooks or Hooks()
    rows: dict[str, list[dict[str, Any]]] = {
        "agreement": [],
        "system": [],
        "candidate": [],
        "worker": [],
        "stratum": [],
        "stratum_system": [],
    }
    for k in range(len(data.scales)):
        hooks.step(AGREEMENT, k, len(data.scales))
        rows["agreement"].append(agreement_row(data, k, rng, settings))
    for k in range(len(data.scales)):
        hooks.step(MEANS, k, len(data.scales))
        rows["system"] += _systems(data, k, settings["level"])
        rows["candidate"] += _texts(data, k)
        rows["worker"] += _workers(data, k, settings["level"])
        for name, found in _kinds(data, k, settings["level"]).items():
            rows[name] += found
    columns = {"agreement": AGREED, "system": SYSTEM, "candidate": TEXT, "worker": WORKER}
    columns |= {"stratum": STRATUM, "stratum_system": ("column", "stratum", *SYSTEM)}
    columns["two_classes"] = TWO_CLASSES
    ours, theirs, steps = rng.spawn(3)  # what was drawn before stays as it was
    for k, agreed in enumerate(rows["agreement"]):
        figures = _alpha(data, k, INTERVAL, steps, settings)[:3]  # ``reason`` says why of both
        agreed.update(zip(INTERVAL_AGREED, figures, strict=True))
    rows["two_classes"] = [_two_classes(data, k, theirs, settings) for k in range(len(data.scales))]
    if settings["competence"]:
        columns |= {
            "corrected": competence.AGREED,
            "rater": competence.RATER,
            "corrected_system": SYSTEM,
            "candidate": CORRECTED_TEXT,
        }
        rows |= _corrected(data, rows["candidate"], settings, rng=ours, hooks=hooks)
    hooks.step(MEANS, len(data.scales), len(data.scales))
    tables: dict[str, Table] = {name: of_rows(rows[name], columns[name]) for name in columns}
    return PARAMS.result(
        settings, tables, {"warnings": [], "counts": {"ratings": len(data)}, "used": _used(data)}
    )


def _corrected(
    data: Ratings,
    texts: list[dict[str, Any]],
    settings: dict[str, Any],
    *,
    rng: np.random.Generator,
    hooks: Hooks,
) -> dict[str, list[dict[str, Any]]]:
    """The tables of ratings kept by competence; ``texts`` are the rows of all ratings."""
    agreed, raters, systems, candidates = [], [], [], []
    for k in range(len(data.scales)):
        hooks.step(MEANS, k, len(data.scales))
        of_scale = [row for row in texts if row["dimension"] == k]
        if not of_scale:
            none = dict.fromkeys(competence.FIGURES, np.nan)
            agreed.append({"dimension": k, "n": 0, **none, "reason": "there is no rating"})
            continue
        found = competence.correct(
            labels(data, k),
            units=data.units,
            rng=rng,
            resamples=settings["resamples"],
            level=settings["level"],
            hooks=hooks,
        )
        agreed.append({"dimension": k, **found.agreement})
        raters += [{"dimension": k, **row} for row in found.raters]
        mean: dict[int, dict[str, Any]] = {}
        if found.kept is not None:
            value = np.where(found.kept[data.worker][:, None], data.value, np.nan)
            kept = replace(data, value=value)
            systems += _systems(kept, k, settings["level"])
            mean = {row["candidate"]: row for row in _texts(kept, k)}
        for row in of_scale:
            own = mean.get(row["candidate"], {"merit": np.nan, "n": 0})
            candidates.append({**row, "corrected": own["merit"], "kept": own["n"]})
    return {
        "corrected": agreed,
        "rater": raters,
        "corrected_system": systems,
        "candidate": candidates,
    }


def _used(data: Ratings) -> list[dict[str, Any]]:
    """Count the ratings that each board uses, as ``pairwise_used`` does for judgments."""
    given = np.isfinite(data.value)
    found = [{"board": "study", "dimension": "", "used": len(data), "left_out": {}}]
    for scale, name in enumerate(data.scales):
        missing = int((~given[:, scale]).sum())
        found.append(
            {
                "board": "ranking",
                "dimension": name,
                "used": int(given[:, scale].sum()),
                "left_out": {"not_answered": missing} if missing else {},
            }
        )
    return found


def labels(data: Ratings, scale: int) -> Labels:
    """Return one scale of ratings as Labels with the points as names. Raises EmptyData."""
    given = np.isfinite(data.value[:, scale])
    known, label = np.unique(data.value[given, scale], return_inverse=True)
    return Labels.build(
        data.worker[given],
        data.text[given],
        label,
        workers=data.workers,
        items=data.texts,
        labels=[str(int(point)) if point == int(point) else str(point) for point in known.tolist()],
    )


def agreement_row(
    data: Ratings, scale: int, rng: np.random.Generator, settings: dict[str, Any]
) -> dict[str, Any]:
    """Return a row of ``agreement``: ordinal alpha on a scale, with its interval."""
    given = np.isfinite(data.value[:, scale])
    alpha, low, high, reason = _alpha(data, scale, ORDINAL, rng, settings)
    return {
        "dimension": scale,
        "measurement": ORDINAL,
        "alpha": alpha,
        "low": low,
        "high": high,
        "n": int(given.sum()),
        "reason": reason,
        "texts": len(set(data.text[given].tolist())),
        "unit": data.units[1],
    }


def _alpha(
    data: Ratings, scale: int, level: str, rng: np.random.Generator, settings: dict[str, Any]
) -> tuple[float, float, float, str]:
    """Alpha at a ``level`` of measurement, its bootstrap bounds, and why any is NaN."""
    unit, noun = data.units
    alpha = np.nan
    try:
        votes = labels(data, scale)
        alpha = krippendorff_alpha(votes, level)
        found = alpha_interval(
            votes,
            level,
            rng=rng,
            resamples=settings["resamples"],
            confidence=settings["level"],
            group=unit,
            noun=noun,
        )
    except DataError as problem:
        return alpha, np.nan, np.nan, str(problem)
    return alpha, found.low, found.high, found.reason


def _two_classes(
    data: Ratings, scale: int, rng: np.random.Generator, settings: dict[str, Any]
) -> dict[str, Any]:
    """Agreement on being among the highest points, beside that on all points."""
    given = np.isfinite(data.value[:, scale])
    points = data.points[scale] if data.points else ()
    row: dict[str, Any] = dict.fromkeys(TWO_CLASSES, np.nan)
    row |= {"dimension": scale, "n": int(given.sum()), "pairs": 0, "pairs_all": 0}
    row |= {"reason": "", "tau_reason": ""}
    if not given.any():
        return row | {"reason": "there is no rating", "tau_reason": "there is no rating"}
    row["top"] = points[-min(settings["top_points"] or 1, len(points))]
    value, text = data.value[given, scale], data.text[given]
    is_top = (value >= row["top"]).astype(np.int64)
    row["share"] = float(is_top.mean())
    unit, noun = data.units
    votes = Labels.build(
        *(data.worker[given], text, is_top),
        workers=data.workers,
        items=data.texts,
        labels=("below", "top"),
    )
    try:
        found = kappa_interval(
            votes,
            rng=rng,
            resamples=settings["resamples"],
            confidence=settings["level"],
            group=unit,
            noun=noun,
        )
        row |= {"kappa": found.estimate, "low": found.low, "high": found.high}
        row["reason"] = ALL_ONE_CLASS if np.isnan(found.estimate) else found.reason
    except DataError as problem:
        row["reason"] = str(problem)
    return row | _taus(data, scale, is_top, settings["level"])


def _taus(data: Ratings, scale: int, is_top: IntArray, level: float) -> dict[str, Any]:
    """Mean tau-b over pairs of workers, of two classes (n,) and of all points."""
    unit, noun = data.units
    given = np.isfinite(data.value[:, scale])
    text, point = data.text[given], np.unique(data.value[given, scale], return_inverse=True)[1]
    if int(np.square(np.bincount(text)).sum()) > MOST_ROWS:
        return {"tau_reason": "too many ratings of one text for pairs of workers"}
    given_as = Annotations.build(
        *(data.worker[given], text, is_top, np.full(len(text), np.nan)),
        workers=data.workers,
        items=data.texts,
        labels=("below", "top"),
    )
    try:
        joined = shared_pairs(given_as)
    except DataError as problem:
        return {"tau_reason": str(problem)}
    two, every = (
        mean_tau(score.astype(np.float64), joined, unit[text], level=level, noun=noun)
        for score in (is_top, point)
    )
    row: dict[str, Any] = {"pairs": two.pairs, "pairs_all": every.pairs}
    row["tau_reason"] = two.reason or every.reason
    for name, mean in (("tau", two), ("tau_all", every)):
        low, high = np.clip((mean.low, mean.high), -1.0, 1.0).tolist()
        row |= {name: mean.after, f"{name}_low": low, f"{name}_high": high}
    return row


def _systems(data: Ratings, scale: int, level: float) -> list[dict[str, Any]]:
    value, points, found = data.value[:, scale], data.points[scale], []
    known, of = np.isfinite(value), data.system[data.text]
    for system in np.unique(of[known]).tolist():
        mine = (known & (of == system)).astype(np.float64)
        n = int(mine.sum())
        mean = float(value[mine > 0].mean())
        spread = two_way_spread(
            np.where(mine > 0, value - mean, 0.0) / n,
            mine,
            data.worker,
            data.units[0][data.text],
            nouns=("workers", data.units[1]),
        )
        low = high = se = np.nan
        why = spread.why_no_interval(LEAST[MEAN])
        if not why:
            low, high = scale_interval(mean, spread, level, (points[0], points[-1]))
            se, why = spread.se, "" if np.isfinite(low) else SAME_RATING
        found.append(
            {
                "dimension": scale,
                "component": 1,
                "system": system,
                "estimate": mean,
                "se": se,
                "low": low,
                "high": high,
                "n": n,
                "no_interval": why,
            }
        )
    return found


def _kinds(data: Ratings, scale: int, level: float) -> dict[str, list[dict[str, Any]]]:
    """The boards by kind of text on one scale."""
    rated = np.unique(data.text[np.isfinite(data.value[:, scale])])
    told: list[dict[str, Any]] = []
    systems: list[dict[str, Any]] = []
    for name, column in data.columns.items():
        sizes = [int((column.of[rated] == at).sum()) for at in range(len(column.names))]
        row = {"dimension": scale, "column": name}
        if why := not_split(sizes, "texts"):
            blank = {"stratum": "", "texts": 0, "votes": 0, "level": np.nan, "reason": why}
            told.append({**row, **blank})
            continue
        own = family_level(level, sum(size >= KIND_FEWEST for size in sizes))
        for at, (kind, size) in enumerate(zip(column.names, sizes, strict=True)):
            if not size:
                continue
            part = _of_kind(data, column.of == at)
            why, votes = too_small(size, "texts"), int(np.isfinite(part.value[:, scale]).sum())
            counts = {"stratum": kind, "texts": size, "votes": votes}
            told.append({**row, **counts, "level": np.nan if why else own, "reason": why})
            if not why:
                found = _systems(part, scale, own)
                systems += [{"column": name, "stratum": kind, **one} for one in found]
    return {"stratum": told, "stratum_system": systems}


def _of_kind(data: Ratings, mine: NDArray[np.bool_]) -> Ratings:
    """The ratings of these texts (texts,) alone; the topics of others part nothing any more."""
    topic = np.where(mine, data.topic, data.topic[mine][0])
    return replace(data, value=np.where(mine[data.text][:, None], data.value, np.nan), topic=topic)


def _by_text(data: Ratings, scale: int) -> tuple[IntArray, FloatArray]:
    """Count every text's ratings (texts,) on a scale, and return their sum."""
    value = data.value[:, scale]
    known, size = np.isfinite(value), len(data.texts)
    n = np.bincount(data.text[known], minlength=size)
    total = np.bincount(data.text[known], weights=value[known], minlength=size)
    return n.astype(np.int64), total.astype(np.float64)


def _texts(data: Ratings, scale: int) -> list[dict[str, Any]]:
    n, total = _by_text(data, scale)
    return [
        {
            "dimension": scale,
            "component": 1,
            "candidate": k,
            "merit": total[k] / n[k],
            "low": np.nan,
            "high": np.nan,
            "n": int(n[k]),
        }
        for k in np.flatnonzero(n).tolist()
    ]


def text_interval(
    values: FloatArray, points: Sequence[float], level: float
) -> tuple[float | None, float | None, str]:
    """Bounds of a text's mean from its ratings (r,), or why there are none."""
    spread = mean_spread(values, "ratings")
    if why := spread.why_no_interval(LEAST[MEAN]):
        return None, None, why
    if values.min() == values.max():
        return None, None, SAME_RATINGS
    low, high = scale_interval(float(values.mean()), spread, level, (min(points), max(points)))
    return low, high, ""


def _workers(data: Ratings, scale: int, level: float) -> list[dict[str, Any]]:
    value = data.value[:, scale]
    known = np.isfinite(value)
    n, total = _by_text(data, scale)
    found = []
    for worker in np.unique(data.worker[known]).tolist():
        rows = np.flatnonzero(known & (data.worker == worker))
        text, own = data.text[rows], value[rows]
        shared = n[text] > 1
        others = (total[text] - own)[shared] / (n[text] - 1)[shared]
        found.append(
            {
                "dimension": scale,
                "component": 1,
                "worker": worker,
                **_agreed(own[shared], others, level),
                "mean": float(own.mean()),
                "spread": float(own.std()),
                "n": len(rows),
                "shared": int(shared.sum()),
            }
        )
    return found


def _agreed(own: FloatArray, others: FloatArray, level: float) -> dict[str, Any]:
    """Pearson's r of a worker's ratings (t,) with the mean of the others', and its interval."""
    none = {"agreement": np.nan, "low": np.nan, "high": np.nan}
    if len(own) < FEWEST:
        return {
            **none,
            "no_interval": f"{count_in_words(len(own), 'texts')} shared; it takes {FEWEST}",
        }
    if own.std() == 0 or others.std() == 0:
        return {**none, "no_interval": "one side is the same throughout"}
    r = float(np.corrcoef(own, others)[0, 1])
    if why := too_few_units(len(own), "shared texts", CORRELATION):
        return {**none, "agreement": r, "no_interval": why}
    low, high = fisher(r, len(own), level)
    return {"agreement": r, "low": low, "high": high, "no_interval": ""}


METHOD = PARAMS.as_method("Ratings", Ratings, fit, memory=board_of_systems)
