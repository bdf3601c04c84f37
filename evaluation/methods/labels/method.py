"""What a crowd's labels say of its items, workers and classes, by four methods side by side.

Majority vote, Dawid-Skene (1979), MACE (Hovy et al. 2013) and GLAD (Whitehill et al. 2009). The
methods agree on easy items; where they differ, a person should look. Labels have no order unless
``ordered`` says so, and every worker labels an item once.

Tables of estimates. Indices are those of the input ``Labels``; -1 means none, NaN not known.

``worker``, a row a worker:

==================  ===========================================================================
worker              index
n                   labels given
competence          chance to label an item right, averaged over the classes (each class counts
                    the same, so that always giving the most frequent label is no better than
                    guessing); by the model that ``competence_from`` names
low, high           its interval at ``level``
chance              competence of somebody who labels without looking, however often they give
                    each label: 1 / classes given in the worker's component
mace, mace_low,     MACE's competence: chance to know, from 0
mace_high
glad                GLAD's ability: 0 labels by a coin, below 0 wrongly on purpose
known_n             labels on items whose known answer is given (``gold``)
known_right         how many of them are right
known_low,          Wilson's interval of their share; NaN below the least number (units.SHARE)
known_high
mistake_from,       the worker's most frequent confusion: label ``mistake_to`` where
mistake_to          ``mistake_from`` is true; -1 where none stands out (see workers.py) and
                    for who always gives one label
mistake_share       how often an item of ``mistake_from`` gets ``mistake_to`` by the worker
same_label          the label that the worker always or nearly always gives, by the rule of
                    same_label.py; else -1
group               BETTER (0: against_chance is 1), UNKNOWN (1: cannot be told from guessing),
                    ONE_LABEL (2: same_label). The group is Dawid-Skene's whatever
                    ``competence_from`` says, since MACE's interval never holds chance: shown
                    beside MACE's interval it can seem to contradict it, which a warning says
against_chance      1 where competence surely lies above chance, -1 below, else 0: by the
                    interval of Dawid-Skene and for all workers at once (claims.py, Holm)
median_gap,         competence minus the median of the component's workers, with bounds that hold
median_gap_low,     for all of them at once (claims.py, Bonferroni)
median_gap_high
reliable            1.0 where the lower bound for all workers at once is above the threshold
                    ``reliable``, 0.0 where not, NaN without a threshold
component           part of the crowd that is linked by items, from 1; 0: not scored, with NaN
                    (linked to nobody, or to one worker alone: two who differ do not say which of
                    them is right)
==================  ===========================================================================

With ``time`` also early_n, early_agree, late_n, late_agree and change, and the table ``blocks``:
see drift.py. With ``columns`` also ``kind``, ``kind_worker`` and ``kind_shift``: see kinds.py.

``confusion``, a row a scored worker and two labels: worker, true, given, probability, low, high
(Dawid-Skene); of a crowd with more than workers.MOST_CELLS rows, those workers with most votes.

``item``, a row an item: item, n, majority (-1: two labels are level), dawid_skene, mace, glad
(labels), posterior (Dawid-Skene's of its label), mace_posterior, glad_posterior, entropy (of
Dawid-Skene's posterior, nats), difficulty (GLAD's 1 / beta, 1 / e is usual), gold (-1: not known),
differ (bool: two of the methods that have a label differ), component.

Labels and posteriors of Dawid-Skene and MACE are averaged over the draws that intervals come from:
EM alone takes what few votes say of a worker for certain, and on rare classes it is then right less
often than the majority. ``posterior='plug-in'``, or no draws, gives them at the fitted parameters,
as published.

``posterior``, soft labels, a row a method, item and label: method (index into METHODS), item,
label, probability (of majority: share of the votes). Items without votes are left out.

``class``, a row a label: label, prevalence, low, high (Dawid-Skene, over all scored items),
majority_share (share of the items that have a majority).

``agreement``, a row a coefficient and scope: coefficient (agreement.COEFFICIENTS), scope ("all",
"better": votes of workers better than guessing, "class": this label against all others), label (-1
but for "class"), value, low, high, units (items), reason (why there is no value or no interval,
else ""). Below the least number of units there is no interval (ADR 21). Ordinal and interval alpha
are there where ``ordered`` (interval: labels that read as numbers), own where there is a
``distance``; "class" has nominal alpha alone, from three labels on. Taking votes out by how well
they agree raises agreement even in noise: "better" says how those left agree, not that the crowd
does.

``look_alikes``, a row a pair of workers who agree beyond what their quality explains (columns of
workers/copies.py). In a part of the crowd with such pairs, or with a group of which no pair stands
out (workers/groups.py), nobody has an interval of competence, nobody is told apart from guessing or
from the median, and no item has a posterior or an entropy: its label stands alone.

``compare``, a row a method: method (index), right (items labelled right; level labels count as
their share, as drawing one would), n (items with a known answer and votes), low, high (Wilson),
differ (items whose label is not the majority's, of those that have both), brier, calibration
(expected calibration error over ten bins), log_score (minus the mean log of the chance given to the
true label); these three NaN below items.CALIBRATED known answers; held_out (mean log chance of
votes that were left out, held_out.py), held_out_n (how many; 0: none could be).

``reliability``, a row a method and a bin of its confidence: method (index), confidence (mean),
right (share of labels that are right), low, high, n (known answers); see items.reliability_table.

``summary``, one row: workers, better, unknown, one_label (workers in each group; the rest was not
scored), items, known (with a known answer), alpha, alpha_better (nominal; without those who cannot
be told from guessing), differ (items where majority and Dawid-Skene differ), level_items (no
majority), any_differ (items with ``differ``), compared (items with items.COMPARABLE votes or more:
on fewer all methods agree whatever they do), compared_differ (of them, those with ``differ``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.agreement.counts import checked_distance
from evaluation.methods.agreement.pairs import BLOCK
from evaluation.methods.competence import dawid_skene, glad
from evaluation.methods.competence.dawid_skene import Fitted
from evaluation.methods.competence.mace import method as mace
from evaluation.methods.competence.mace import tables as mace_tables
from evaluation.methods.competence.mace.data import Counts, label_parts
from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    FloatArray,
    Hooks,
    IntArray,
    Result,
    Table,
    UnknownIndex,
    of_rows,
)
from evaluation.methods.core.kinds import Column
from evaluation.methods.core.memory import A_DRAW, A_VOTE, PROCESS, Size
from evaluation.methods.core.params import (
    LEVEL,
    Param,
    Params,
    choice,
    flag,
    real_number,
    resamples,
    whole_number,
)
from evaluation.methods.core.votes import Labels
from evaluation.methods.labels import drift
from evaluation.methods.labels import items as label_items
from evaluation.methods.labels import workers as label_workers
from evaluation.methods.labels.agreement import agreement_table
from evaluation.methods.labels.held_out import held_out_log_chance
from evaluation.methods.labels.items import METHODS, NONE, Labelled
from evaluation.methods.labels.kinds import by_kind
from evaluation.methods.labels.same_label import same_label
from evaluation.methods.labels.workers import Skills
from evaluation.methods.workers.claims import MEDIAN_GAP, family_bounds
from evaluation.methods.workers.copies import LookAlikes, look_alikes

NAME, VERSION = "labels", "1.6"
BETTER, UNKNOWN, ONE_LABEL = 0, 1, 2
MACE_SHOWN = (
    "MACE: its intervals lie above guessing for every worker, whoever they are; the groups follow "
    "the intervals of Dawid-Skene"
)
NAMES = {"dawid_skene": "Dawid-Skene", "mace": "MACE", "glad": "GLAD"}
LEAVES_MAJORITY = "leaves-majority"
FEWEST = 3  # workers that share items, from which competence is told
LOOK_ALIKES, DEPENDENT = "look-alikes", "dependent-workers"  # codes of findings
NOT_INDEPENDENT = {
    LOOK_ALIKES: "Some workers give each other's labels (look-alikes), so no competence has an "
    "interval and no label a posterior.",
    DEPENDENT: "Workers agree more than their quality explains, all pairs taken together; no "
    "single pair can be named. No competence has an interval and no label a posterior.",
}
COMPETENCE = ("competence", "low", "high", "reliable", *MEDIAN_GAP)  # of whom is scored
POSTERIORS = ("posterior", "mace_posterior", "glad_posterior", "entropy")
# What workers' rows lack where some of them are look-alikes.
UNSURE_BESIDE = ("low", "high", "mace_low", "mace_high", "reliable", *MEDIAN_GAP)
LEAVES_MAJORITY_SAID = (
    "{name}: labels leave the majority on {differ} of {items} items ({share:.0%}): check some of "
    "them by hand before you use them"
)
# Bytes: a worker's chance of one label where another is true, an item's of a label, a part's of a
# label in all restarts, two votes on one item, two workers who met, and a cell of two who share
# ten items, or of a block of those who met.
A_CELL, A_CHANCE, A_PART, A_MEETING, A_PAIR, A_PAIR_CELL = 220, 1_000, 6_000, 150, 350, 64
TOLERANCE = 1e-7  # of Dawid-Skene: the log-likelihood a vote that a round must gain


def _distance(value: Any) -> None:
    """Raise BadParameter unless this is a square table of numbers; fit checks it on the labels."""
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise BadParameter("distance must be a row of numbers a label, one number a label")


PARAMS = Params(
    NAME,
    (
        choice(
            "competence_from",
            "dawid_skene",
            ("dawid_skene", "mace"),
            label="Competence by",
            help="Dawid-Skene: share labelled right. MACE: share known, needs fewer labels.",
            words=("Dawid-Skene", "MACE"),
        ),
        real_number(
            "reliable",
            None,
            0,
            1,
            label="Threshold",
            help="A worker can be relied on where the whole interval lies above. Empty: none.",
        ),
        flag(
            "ordered",
            False,
            label="Labels are ordered",
            help="Adds agreement by which neighbouring labels differ less.",
        ),
        Param("distance", None, rule=_distance),
        whole_number("iterations", 1000, 1),
        real_number("smoothing", 0.01, 1e-10, 1e6),
        real_number("strength", 10.0, 0.1, 1e3),
        whole_number("restarts", 20, 1),
        choice("posterior", "averaged", ("averaged", "plug-in")),
        flag("held_out", True),
        resamples(1000),
        LEVEL,
    ),
    version=VERSION,
)


@dataclass(frozen=True, eq=False)
class _Fits:
    """The three models' fits on one crowd; ``found`` are the labels in the order of METHODS."""

    counts: Counts
    dawid_skene: Fitted
    skills: Skills
    mace: Result
    glad: Result
    found: Sequence[Labelled]
    held_out: Mapping[str, FloatArray]


def fit(
    data: Labels,
    *,
    rng: np.random.Generator,
    gold: IntArray | None = None,
    time: FloatArray | None = None,
    columns: Mapping[str, Column] | None = None,
    hooks: Hooks | None = None,
    **params: Any,
) -> Result:
    """All tables of the module's docstring.

    Parameters
    ----------
    data
        Votes (n,); labels exclude each other, any number of them.
    gold
        Known answers (items,) as label indices, -1 where not known. They score workers and
        methods, and never change a label or a competence.
    time
        When each vote (n,) was given, in any unit; None: no table of change over time.
    columns
        Kinds of items by name; empty or None: no tables by kind.
    rng, hooks
        Of all random draws; progress and cancellation.
    params
        ``competence_from``; ``reliable``: the competence from which a worker is called reliable
        (none by default); ``ordered``: labels have the order of ``data.labels``, so that ordinal
        and interval alpha are given; ``distance``: one's own (K, K) distances of labels for alpha,
        in the place of squared differences; ``iterations``, ``smoothing`` and ``strength`` of
        Dawid-Skene, ``restarts`` of MACE; ``posterior`` of the labels 'averaged' over the draws or
        'plug-in'; ``held_out``: compare models by votes left out; ``resamples`` (draws; 0: no
        intervals, and then nobody is told from guessing) and ``level`` of the intervals.

    Diagnostics: ``components``, ``workers_not_scored``, ``items_without_votes``, ``warnings`` of
    the models, each beginning with its name, ``findings`` (code LEAVES_MAJORITY: a method whose
    labels leave the majority on more than a tenth of the items; LOOK_ALIKES, DEPENDENT: workers
    are not independent),
    ``look_alikes_tested`` pairs, ``r_hat`` by model, and
    ``held_out``, the mean log chance of a left-out vote by model.

    Raises
    ------
    TooFewWorkers, TooFewLabels, BadShape (gold, or a worker labels an item twice), UnknownIndex
    (gold), BadParameter, Cancelled
    """
    settings = PARAMS.settings(params)
    _check_repeats(data)
    known = _checked_gold(gold, data)
    if settings["distance"] is not None:
        checked_distance(settings["distance"], len(data.labels))
    fits = _fits(data, settings, rng=rng, hooks=hooks or Hooks())
    copies = look_alikes(data.worker, data.item, data.label, workers=len(data.workers))
    estimates = _tables(data, fits, known, copies, settings, rng=rng)
    if time is not None:
        estimates |= _over_time(data, fits, estimates["worker"], time, settings["level"])
    if columns:
        agrees = drift.agrees_with_others(data, fits.counts, fits.dawid_skene)
        estimates |= by_kind(data, agrees, columns, settings, rng=rng.spawn(1)[0])
    converged = fits.dawid_skene.converged and fits.mace.converged and fits.glad.converged
    diagnostics = _diagnostics(data, fits, copies, settings)
    return PARAMS.result(settings, estimates, diagnostics, converged=converged)


def _tables(
    data: Labels,
    fits: _Fits,
    gold: IntArray,
    copies: LookAlikes,
    settings: dict[str, Any],
    *,
    rng: np.random.Generator,
) -> dict[str, Table]:
    skills, level = fits.skills, settings["level"]
    dependent = np.unique(fits.counts.worker_part[copies.together])
    worker = _unsure_beside(
        dependent, _blank_small_parts(_worker_table(data, fits, gold, settings))
    )
    agreement = agreement_table(
        data,
        worker["group"] == BETTER,
        ordered=settings["ordered"],
        distance=settings["distance"],
        rng=rng,
        resamples=settings["resamples"],
        level=level,
    )
    item = label_items.item_table(
        data,
        fits.found,
        gold=gold,
        difficulty=fits.glad.estimates["item"]["difficulty"],
        component=fits.counts.item_part,
    )
    unsure = np.isin(fits.counts.item_part, dependent)
    confusion = label_workers.confusion_table(fits.counts, skills, level)
    scored = worker["component"][confusion["worker"]] > 0
    return {
        "worker": worker,
        "confusion": Table({name: one[scored] for name, one in confusion.columns.items()}),
        "item": _blanked(item, POSTERIORS, unsure),
        "posterior": label_items.posterior_table(fits.found, unsure),
        "class": label_items.class_table(
            fits.found[0], skills.prevalence, skills.class_low, skills.class_high
        ),
        "agreement": agreement,
        "compare": label_items.compare_table(fits.found, gold, level, fits.held_out),
        "reliability": label_items.reliability_table(fits.found, gold, level),
        "summary": _summary(worker, item, agreement),
        "look_alikes": copies.pair,
    }


def _blank_small_parts(worker: Table) -> Table:
    """The workers' table without competence in parts of the crowd below FEWEST."""
    part = worker["component"]
    few = (part > 0) & (np.bincount(part)[part] < FEWEST)
    component = np.where(few, 0, part)
    return Table({**_blanked(worker, COMPETENCE, few).columns, "component": component})


def _unsure_beside(dependent: IntArray, worker: Table) -> Table:
    """The workers' table without certainty in the parts of the crowd whose workers are dependent.

    All models take workers as independent given the truth. Those who copy pull the labels to their
    own, so that intervals of everybody beside them held .20 of the time at a stated .95.
    """
    beside = (worker["component"] > 0) & np.isin(worker["component"], dependent)
    columns = dict(_blanked(worker, UNSURE_BESIDE, beside).columns)
    columns["against_chance"] = np.where(beside, 0, columns["against_chance"])
    better = beside & (worker["group"] == BETTER)
    columns["group"] = np.where(better, UNKNOWN, worker["group"])
    return Table(columns)


def _blanked(table: Table, names: Sequence[str], where: NDArray[np.bool_]) -> Table:
    """The table with NaN in these columns of some rows."""
    blank = {name: np.where(where, np.nan, table[name]) for name in names}
    return Table({**table.columns, **blank})


def _over_time(
    data: Labels, fits: _Fits, worker: Table, time: FloatArray, level: float
) -> dict[str, Table]:
    """The table of blocks, and the table of workers with how they changed."""
    if np.shape(time) != (len(data),):
        raise BadShape(f"time must be {len(data)} numbers, one a vote")
    agrees = drift.agrees_with_others(data, fits.counts, fits.dawid_skene)
    blocks, changed = drift.over_time(
        agrees, data.worker, time, workers=len(data.workers), level=level
    )
    return {"blocks": blocks, "worker": Table({**worker.columns, **changed})}


def _check_repeats(data: Labels) -> None:
    """Raise BadShape where a worker labelled an item more than once."""
    pair = data.worker[data.source] * len(data.items) + data.item[data.source]
    known, n = np.unique(pair, return_counts=True)
    repeated = known[n > 1]
    if repeated.size:
        worker, item = divmod(int(repeated[0]), len(data.items))
        raise BadShape(
            f"worker {data.workers[worker]!r} labelled item {data.items[item]!r} "
            f"{int(n[n > 1][0])} times ({repeated.size} such pairs); keep one label of each"
        )


def _checked_gold(gold: Any, data: Labels) -> IntArray:
    """Known answers (items,), -1 where there is none; raises BadShape, UnknownIndex."""
    if gold is None:
        return np.full(len(data.items), NONE)
    found = np.asarray(gold)
    if found.shape != (len(data.items),) or not np.issubdtype(found.dtype, np.integer):
        raise BadShape(f"gold must be {len(data.items)} whole numbers, one an item")
    wrong = np.flatnonzero((found < NONE) | (found >= len(data.labels)))
    if wrong.size:
        at = int(wrong[0])
        raise UnknownIndex(f"gold[{at}] is {found[at]}, but there are {len(data.labels)} labels")
    return found.astype(np.int64)


def _fits(
    data: Labels, settings: dict[str, Any], *, rng: np.random.Generator, hooks: Hooks
) -> _Fits:
    draws, level = settings["resamples"], settings["level"]
    counts = dawid_skene.prepare(data, *label_parts(data))
    fitted = dawid_skene.em(
        counts,
        smoothing=settings["smoothing"],
        iterations=settings["iterations"],
        tolerance=TOLERANCE,
        hooks=_named(hooks, "Dawid-Skene"),
    )
    skills = label_workers.skills(
        data,
        counts,
        fitted,
        draws=draws,
        strength=settings["strength"],
        level=level,
        rng=rng,
        hooks=_named(hooks, "Dawid-Skene"),
    )
    if settings["posterior"] == "averaged":
        fitted = replace(
            fitted,
            confusion=skills.confusion,
            prior=skills.prior,
            posterior=skills.posterior,
        )
    with_mace = mace.fit(
        data,
        rng=rng,
        hooks=_named(hooks, "MACE"),
        restarts=settings["restarts"],
        resamples=draws,
        level=level,
        beside=False,
        posterior=settings["posterior"],
    )
    with_glad = glad.fit(data, rng=rng, hooks=_named(hooks, "GLAD"), resamples=0, level=level)
    shape = len(data.items), len(data.labels)
    probability = np.where((counts.item_part > 0)[:, None], fitted.posterior, np.nan)
    found = (
        label_items.of_majority(data),
        label_items.labelled(probability),
        label_items.of_posterior(with_mace.estimates["posterior"], *shape),
        label_items.of_posterior(with_glad.estimates["posterior"], *shape),
    )
    unseen: dict[str, FloatArray] = {}
    if draws and settings["held_out"]:
        unseen = held_out_log_chance(data, settings, rng=rng.spawn(1)[0], hooks=hooks)
    return _Fits(counts, fitted, skills, with_mace, with_glad, found, unseen)


def _named(hooks: Hooks, model: str) -> Hooks:
    """Hooks that say whose steps they are told of."""
    told = hooks.progress
    if told is None:
        return hooks
    return Hooks(
        progress=lambda stage, done, total: told(f"{model}: {stage}", done, total),
        cancelled=hooks.cancelled,
    )


def _worker_table(data: Labels, fits: _Fits, gold: IntArray, settings: Mapping[str, Any]) -> Table:
    skills, with_mace = fits.skills, fits.mace.estimates["worker"]
    one_label = same_label(
        data, fits.dawid_skene.posterior, skills.mistakes, low=skills.low, chance=skills.chance
    )
    start, end, share = label_workers.most_frequent_mistakes(
        skills, settings["level"], known=one_label == NONE
    )
    side, gaps = label_workers.comparisons(fits.counts, skills, settings["level"])
    shown = [skills.competence, skills.low, skills.high]
    if settings["competence_from"] == "mace":
        shown = [
            balanced_from_knowing(with_mace[name], skills.chance)
            for name in ("competence", "low", "high")
        ]
        gaps = {name: (1 - skills.chance) * with_mace[name] for name in gaps}
    limit = settings["reliable"]
    reliable = np.full(len(side), np.nan)
    if limit is not None:
        above = family_bounds(*shown, level=settings["level"])[0] > limit
        reliable = np.where(np.isnan(shown[1]), np.nan, above.astype(np.float64))
    return Table(
        {
            "worker": np.arange(len(data.workers)),
            "n": mace_tables.to_integers(fits.counts.total),
            **dict(zip(("competence", "low", "high"), shown, strict=True)),
            "chance": skills.chance,
            "mace": with_mace["competence"],
            "mace_low": with_mace["low"],
            "mace_high": with_mace["high"],
            "glad": fits.glad.estimates["worker"]["ability"],
            **label_workers.on_known_answers(data, gold, settings["level"]),
            "mistake_from": start,
            "mistake_to": end,
            "mistake_share": share,
            "same_label": one_label,
            "group": np.where(one_label != NONE, ONE_LABEL, np.where(side > 0, BETTER, UNKNOWN)),
            "against_chance": side,
            **gaps,
            "reliable": reliable,
            "component": fits.counts.worker_part,
        }
    )


def balanced_from_knowing(knowing: FloatArray, chance: FloatArray) -> FloatArray:
    """Chance to label right, averaged over classes, of who knows with this probability.

    Who does not know draws from a strategy, which is right 1 / classes of the time on average over
    the classes, whatever the strategy.
    """
    found: FloatArray = knowing + (1 - knowing) * chance
    return found


def _summary(worker: Table, item: Table, agreement: Table) -> Table:
    """One row of the figures that a page begins with."""
    scored = worker["component"] > 0
    group = np.where(scored, worker["group"], NONE)
    nominal = agreement["coefficient"] == "krippendorff_nominal"
    alpha = {
        scope: float(agreement["value"][nominal & (agreement["scope"] == scope)][0])
        for scope in ("all", "better")
    }
    both = (item["majority"] != NONE) & (item["dawid_skene"] != NONE)
    voted, several = item["n"] > 0, item["n"] >= label_items.COMPARABLE
    return of_rows(
        [
            {
                "workers": len(worker),
                "better": int((group == BETTER).sum()),
                "unknown": int((group == UNKNOWN).sum()),
                "one_label": int((group == ONE_LABEL).sum()),
                "items": len(item),
                "known": int((item["gold"] != NONE).sum()),
                "alpha": alpha["all"],
                "alpha_better": alpha["better"],
                "differ": int((item["majority"] != item["dawid_skene"])[both].sum()),
                "level_items": int((voted & (item["majority"] == NONE)).sum()),
                "any_differ": int(item["differ"].sum()),
                "compared": int(several.sum()),
                "compared_differ": int((item["differ"] & several).sum()),
            }
        ]
    )


def _diagnostics(
    data: Labels, fits: _Fits, copies: LookAlikes, settings: Mapping[str, Any]
) -> dict[str, Any]:
    counts, scored = fits.counts, fits.counts.worker_part > 0
    r_hat = {"mace": fits.mace.diagnostics.get("r_hat")}
    draws = fits.skills.draws
    r_hat["dawid_skene"] = None if draws is None else float(draws.r_hat[scored].max())
    warnings = [
        f"{name}: {text}"
        for name, one in (("MACE", fits.mace), ("GLAD", fits.glad))
        for text in one.diagnostics["warnings"]
    ]
    if settings["competence_from"] == "mace" and settings["resamples"]:
        warnings.append(MACE_SHOWN)
    if draws is not None:
        warnings += [f"Dawid-Skene: {text}" for text in mace_tables.unsettled(draws, scored)]
    findings = _findings(fits.found)
    warnings += [LEAVES_MAJORITY_SAID.format(**one) for one in findings]
    if len(copies.together):
        code = LOOK_ALIKES if len(copies.pair) else DEPENDENT
        findings.append({"code": code, "pairs": len(copies.pair)})
        warnings.append(NOT_INDEPENDENT[code])
    return {
        "components": mace_tables.components_of(data, counts.worker_part, counts.item_part),
        **mace_tables.unscored_workers(data, counts.worker_part),
        "labels_never_given": fits.mace.diagnostics["labels_never_given"],
        "methods": list(METHODS),
        "rounds": {
            "dawid_skene": len(fits.dawid_skene.likelihood),
            "mace": fits.mace.diagnostics["rounds"],
            "glad": fits.glad.diagnostics["rounds"],
        },
        "r_hat": r_hat,
        "warnings": warnings,
        "findings": findings,
        "look_alikes_tested": copies.tested,
        "held_out": {name: float(log.mean()) for name, log in fits.held_out.items()},
    }


def _findings(found: Sequence[Labelled]) -> list[dict[str, Any]]:
    """Methods whose labels leave the majority on more than ``mace.LEAVES`` of the items."""
    rows = []
    for name, one in zip(METHODS[1:], found[1:], strict=True):
        apart = mace.against_majority(one.label, found[0].label)
        if apart["share"] > mace.LEAVES:
            rows.append({"code": LEAVES_MAJORITY, "method": name, "name": NAMES[name], **apart})
    return rows


def memory(size: Size, settings: Mapping[str, Any]) -> float:
    """Estimate the bytes of a fit and of its rows at their peak.

    Draws of competence are kept of each worker, in chains that may run twice as long.
    """
    cells = float(size.workers) * size.labels**2
    chances = float(size.items) * size.labels
    draws = (settings["resamples"] or 0) * float(size.workers)
    pairs = min(float(size.meetings), size.workers**2 / 2)
    block = pairs * size.labels**2
    return (
        PROCESS
        + A_CELL * cells
        + A_CHANCE * chances
        + A_PART * float(size.most_parts) * size.labels
        + A_VOTE * size.votes
        + A_DRAW * draws
        + A_MEETING * size.meetings
        + A_PAIR * pairs
        + A_PAIR_CELL * (size.labels**2 * min(size.meetings / 10, pairs) + min(BLOCK, block))
    )


METHOD = PARAMS.as_method(
    "Labels: majority, Dawid-Skene, MACE and GLAD", Labels, fit, memory=memory
)
