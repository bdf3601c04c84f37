"""Bradley-Terry: merits and ranks of candidates from comparisons two by two.

Bradley and Terry (1952), Biometrika 39:324-345; ties after Davidson (1970) or Rao and Kupper
(1967); a side term, what being shown on the left adds, as in Davidson and Beaver (1977),
Biometrics 33:693-702. Intervals of merits from the sandwich or a weighted bootstrap; ranges of
ranks from paired, simultaneous intervals of all differences. Candidates that no chain of
comparisons connects are never ranked against each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from evaluation.methods.bradley_terry import intervals
from evaluation.methods.bradley_terry import ties as bt_ties
from evaluation.methods.bradley_terry.cells import CLUSTERS, Cells, cells_of, units_of
from evaluation.methods.bradley_terry.covariates import Covariates
from evaluation.methods.bradley_terry.fit import (
    Model,
    Point,
    Solution,
    derivatives,
    inverse_times,
    log_likelihood_terms,
    maximise,
    rough_point,
)
from evaluation.methods.bradley_terry.intervals import Spread, bootstrapped, from_sandwich
from evaluation.methods.core.base import BadParameter, DataError, Hooks, IntArray, Result, Table
from evaluation.methods.core.inference import LEAST_EFFECTIVE, too_few_clusters
from evaluation.methods.core.params import (
    ANY_LEVEL,
    PART_OF_STUDY,
    Params,
    choice,
    flag,
    real_number,
    resamples,
)
from evaluation.methods.core.units import LEAST, MEAN
from evaluation.methods.core.votes import Pairs

NAME, VERSION = "bradley-terry", "1.2"


def _check_resamples(settings: Mapping[str, Any]) -> None:
    if settings["interval"] == "bootstrap" and not settings["resamples"]:
        raise BadParameter("resamples is 0, but the bootstrap needs 100 or more")


PARAMS = Params(
    NAME,
    (
        choice("ties", "davidson", bt_ties.TIES),
        real_number("regularisation", 0.2, 0),
        flag("side", False),
        choice("interval", "sandwich", ("sandwich", "bootstrap")),
        choice("cluster", "none", CLUSTERS),
        ANY_LEVEL,
        resamples(2000),
    ),
    together=_check_resamples,
    version=VERSION,
)
DEFAULTS = PARAMS.defaults
FEWEST_JUDGES = LEAST[MEAN]  # or pairs, from which intervals between them hold
LEAST_OWN = 0.01  # of what a covariate says: less, and merits and coefficients trade freely
NAMED = 20  # names that a diagnostic lists in full


class AllTied(DataError):
    """Not one comparison was decided, so merits and ties cannot be told apart."""


class Unbounded(DataError):
    """Without regularisation a candidate that never lost (or won) has no finite merit."""


class TooFewJudges(DataError):
    """Intervals were to be clustered by judge, of whom there are too few to say how they differ."""


class TooFewPairs(DataError):
    """Intervals were to be clustered by pair, of which there are too few."""


class TooManyPlayers(DataError):
    """A bootstrap was asked for on a board that is too large to be fitted again and again."""


class NoSides(DataError):
    """A side term was asked for, but the data cannot tell it."""


class Confounded(DataError):
    """A covariate always depended on who was compared, so the two cannot be told apart.

    ``name`` is the covariate without which the others may be.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} nearly always depended on who was compared, or on the others")
        self.name = name


def fit(
    data: Pairs,
    *,
    rng: np.random.Generator,
    hooks: Hooks | None = None,
    covariates: Covariates | None = None,
    **params: Any,
) -> Result:
    """Rank the candidates of ``data``; weights count as that many votes (competence: parts of one).

    Parameters (defaults in DEFAULTS): ``ties`` 'davidson', 'rao_kupper' or 'none' (a tie is half a
    win); ``regularisation`` r (each candidate has won and lost r comparisons against a dummy of the
    mean's merit; 0: plain maximum likelihood); ``side``: estimate what being on the left adds;
    ``interval`` 'sandwich' or 'bootstrap'; ``cluster`` 'none', 'judge' or 'pair': what is
    independent; ``level``; ``resamples`` for ranks and the bootstrap (0: neither).

    Estimates: ``player``, a row a name: ``player`` (index), ``estimate`` (natural log-merit, mean 0
    in its component), ``se``, ``low``, ``high``, ``rank`` (1 best; equal merits share the better
    one), ``rank_low`` and ``rank_high`` (best and worst possible; 0 without resamples), ``group``
    (ranks that cannot be separated), ``compare_low`` and ``compare_high`` (intervals of two overlap
    exactly where they cannot be separated; none where no such intervals exist), ``n`` (votes, by
    weight, rounded up), ``component`` (0: never compared, not scored). ``shared``: rows 'side'
    (log-odds that the left adds) and 'tie'
    (Davidson's log nu or Rao and Kupper's log theta) with ``estimate``, ``se``, ``low``, ``high``.
    ``covariates`` (of rows that stand for themselves: StyledPairs) have a row each in ``shared``,
    the log-odds that one standard deviation of difference adds; merits then hold at equal columns.
    ``units`` (clusters, or votes) on the player, how many ``effective`` ones these are, and the
    degrees of ``freedom`` of its interval: from effectively fewer than 3 clusters there is none,
    and ranks are open.
    ``converged`` is False if Newton's method ran out of rounds.

    Boards of more than 4,000 connected players (``cells.DENSE``) are solved sparsely: their
    merits are as exact, their standard errors are sampled, and there are no ranges of ranks.

    The comparisons with the dummy are a prior: they are no votes in ``n`` and form no cluster, but
    both intervals count them as unsure (``bt_sandwich``, ``bt_units.redrawn_games``). Six
    candidates with merits of up to 2, at 2, 4 and 10 votes a pair: the bootstrap covers .89, .88
    and .91 (with the prior held fixed .81, .88, .92), the sandwich .99, .98 and .96. So the
    sandwich is the default; more cases are in ``tests/studies/ranking_coverage``.

    Raises AllTied, Unbounded, NoSides, Confounded, TooFewJudges, TooFewPairs, TooManyPlayers,
    NotSolved, BadParameter, Cancelled.
    """
    settings = PARAMS.settings(params)
    if settings["cluster"] == "judge":
        _refuse_few(data)
    if settings["cluster"] == "pair":
        _refuse_few_pairs(data)
    result = fit_units(data, settings, rng=rng, hooks=hooks or Hooks(), covariates=covariates)
    table = result.estimates["player"]
    notes: list[str] = result.diagnostics["notes"]
    notes += few_notes(data.players, table, f"{settings['cluster']}s")
    return result


def fit_units(
    data: Pairs,
    settings: dict[str, Any],
    *,
    rng: np.random.Generator,
    hooks: Hooks,
    covariates: Covariates | None = None,
) -> Result:
    """``fit`` where judges stand for any units (topics, pairs) and the caller answers for their
    number; ``settings`` are complete. Raises as ``fit``, but TooFewJudges.
    """
    try:
        # Separation shows first as an overflow, then as a matrix without an inverse.
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            return _fit(data, settings, covariates, rng=rng, hooks=hooks)
    except (np.linalg.LinAlgError, FloatingPointError) as problem:
        raise Unbounded(_advice(settings)) from problem


def _advice(settings: dict[str, Any]) -> str:
    """Why there is no finite fit, and what to do."""
    said = "a merit, the side or the ties have no finite best value on these comparisons, since "
    said += "they all point one way: "
    if settings["regularisation"] < DEFAULTS["regularisation"]:
        return f"{said}set regularisation to {DEFAULTS['regularisation']} or more"
    return f"{said}leave the side term out, count ties as half wins, or collect more votes"


def _refuse_few(data: Pairs) -> None:
    """Votes without a judge stand for themselves, so they are units too."""
    named = len(np.unique(data.judge[data.judge >= 0]))
    alone = float(data.weight[data.judge < 0].sum())
    if named and named + alone < FEWEST_JUDGES:
        raise TooFewJudges(
            f"there are {named} judges; intervals clustered by judge need {FEWEST_JUDGES} or more. "
            "Use cluster 'none', which takes these judges as they are"
        )


def _refuse_few_pairs(data: Pairs) -> None:
    size = len(data.players)
    pairs = len(np.unique(data.first * size + data.second))
    if pairs < FEWEST_JUDGES:
        raise TooFewPairs(
            f"votes are on {pairs} pairs; intervals clustered by pair need {FEWEST_JUDGES} or "
            "more. Use cluster 'none', which takes these pairs as they are"
        )


def few_notes(names: Sequence[str], table: Table, noun: str) -> list[str]:
    """Why players of a table (``player``) have no interval, in words; ``noun``: what clusters."""
    few = np.flatnonzero((table["component"] > 0) & np.isnan(table["low"]))
    if not len(few):
        return []
    at = few[np.argmin(table["effective"][few])]
    units, effective = int(table["units"][at]), float(table["effective"][at])
    reason = too_few_clusters(units, effective, noun, LEAST_EFFECTIVE)
    if len(few) == int((table["component"] > 0).sum()):
        return [f"no intervals and no ranges of ranks: {reason}"]
    listed = ", ".join(_first_names([names[int(table["player"][k])] for k in few]))
    return [f"no interval for {listed}: {reason}"]


def _fit(
    data: Pairs,
    settings: dict[str, Any],
    covariates: Covariates | None,
    *,
    rng: np.random.Generator,
    hooks: Hooks,
) -> Result:
    columns = None if covariates is None else covariates.values
    cells = cells_of(data, side=settings["side"], columns=columns)
    model = _model(data, cells, settings)
    if covariates is not None:
        model = replace(model, covariates=covariates.names)
    hooks.step("merits", 0, 1)
    start = rough_point(cells, model)
    if model.linear:
        _refuse_confounded(cells, model, start)
    found = maximise(cells, model, start)
    hooks.step("merits", 1, 1)
    units = units_of(data, cells, settings["cluster"])
    if settings["interval"] == "bootstrap":
        if not cells.layout.dense:
            raise TooManyPlayers(
                f"{len(cells.layout):,} players are too many to fit {settings['resamples']} times; "
                "take interval 'sandwich'"
            )
        spread = bootstrapped(cells, model, found, units, settings, rng=rng, hooks=hooks)
    else:
        spread = from_sandwich(cells, model, found, units, settings, rng=rng, hooks=hooks)
    return PARAMS.result(
        settings,
        {
            "player": _players(data, cells, found, spread),
            "shared": _shared(model, found, spread),
        },
        _diagnostics(data, cells, model, found, settings),
        converged=found.converged,
    )


def _model(data: Pairs, cells: Cells, settings: dict[str, Any]) -> Model:
    """Return the model that can be fitted to these comparisons."""
    ties, tied = settings["ties"], float(cells.tie.sum())
    decided = float(cells.win.sum() + cells.loss.sum())
    if not decided:
        raise AllTied(f"all {tied:g} comparisons are ties: there is nothing to rank")
    if settings["side"] and not data.left.any():
        raise NoSides("a side term was asked for, but no comparison says who was on the left")
    if not settings["regularisation"]:
        _refuse_unbounded(data, cells)
    return Model(ties if tied else "none", float(settings["regularisation"]), settings["side"])


def _refuse_unbounded(data: Pairs, cells: Cells) -> None:
    """Ford (1957): merits are finite where wins and ties lead from everybody to everybody."""
    beats = cells.win + cells.tie > 0, cells.loss + cells.tie > 0
    from_, to = (
        np.concatenate([cells.first[beats[0]], cells.second[beats[1]]]),
        np.concatenate([cells.second[beats[0]], cells.first[beats[1]]]),
    )
    k = len(cells.layout)
    graph = scipy.sparse.coo_array((np.ones(len(from_), dtype=np.int8), (from_, to)), shape=(k, k))
    strong, label = scipy.sparse.csgraph.connected_components(
        graph, directed=True, connection="strong"
    )
    if strong == cells.layout.component[-1]:
        return
    size = np.bincount(label)[label]
    whole = np.bincount(cells.layout.component)[cells.layout.component]
    at = int(np.argmin(np.where(size < whole, size, k + 1)))
    group = np.flatnonzero(label == label[at])
    raise Unbounded(
        f"without regularisation there is no finite merit: {_listed(data, cells, group)} only won, "
        "or only lost, against the others of the same component"
    )


def _listed(data: Pairs, cells: Cells, nodes: IntArray) -> str:
    return ", ".join(_names(data, cells.layout.player[nodes]))


def _refuse_confounded(cells: Cells, model: Model, point: Point) -> None:
    plain = replace(model, regularisation=0.0)
    part, _ = log_likelihood_terms(cells, plain, point)
    _, curvature = derivatives(cells, plain, point, part)
    q = len(model.linear)
    border, whole = curvature.border[:, :q], curvature.corner[:q, :q]
    left = whole - border.T @ inverse_times(cells, curvature, border)
    size = np.sqrt(np.diag(whole))
    if model.side and left[0, 0] < 1e-8 * whole[0, 0]:
        raise NoSides("who was on the left always depended on who it was: sides need changing")
    if model.covariates and np.linalg.eigvalsh(left / np.outer(size, size))[0] < LEAST_OWN:
        share = (np.diag(left) / size**2)[-len(model.covariates) :]
        # The one that who was compared says best; of those that only say each other, the last.
        worst = int(np.argmin(share)) if share.min() < LEAST_OWN else len(share) - 1
        raise Confounded(model.covariates[worst])


def _players(data: Pairs, cells: Cells, found: Solution, spread: Spread) -> Table:
    layout, size = cells.layout, len(data.players)
    votes = np.bincount(data.first, data.weight, size) + np.bincount(data.second, data.weight, size)
    columns: dict[str, Any] = {"player": np.arange(size)}
    merit = np.round(layout.centred(found.point.merit), 9)
    for name, values in (
        ("estimate", merit),
        ("se", spread.se),
        ("low", spread.low),
        ("high", spread.high),
        ("compare_low", spread.compare_low),
        ("compare_high", spread.compare_high),
        ("effective", spread.nodes.effective),
        ("freedom", spread.nodes.freedom),
    ):
        columns[name] = np.full(size, np.nan)
        columns[name][layout.player] = values
    for name, numbers in (
        ("rank", spread.rank),
        ("rank_low", spread.rank_low),
        ("rank_high", spread.rank_high),
        ("group", spread.group),
        ("component", layout.component),
        ("units", spread.nodes.units),
    ):
        columns[name] = np.zeros(size, dtype=np.int64)
        columns[name][layout.player] = numbers
    return Table({**columns, "n": np.ceil(votes - 1e-9).astype(np.int64)})


def _shared(model: Model, found: Solution, spread: Spread) -> Table:
    return Table(
        {
            "name": np.array(model.shared, dtype=object),
            "estimate": found.point.shared,
            "se": spread.shared_se,
            "low": spread.shared_low,
            "high": spread.shared_high,
        }
    )


def _diagnostics(
    data: Pairs, cells: Cells, model: Model, found: Solution, settings: dict[str, Any]
) -> dict[str, Any]:
    layout = cells.layout
    sizes = np.bincount(layout.component)[1:]
    missing = np.setdiff1d(np.arange(len(data.players)), layout.player)
    named = [
        _names(data, layout.player[layout.component == c + 1])
        for c in range(min(len(sizes), NAMED))
    ]
    notes = []
    if len(sizes) > 1:
        notes.append(
            f"{len(sizes)} groups of players were never compared with each other; "
            "each has a board of its own"
        )
    if len(missing):
        notes.append(f"{len(missing)} players were never compared and are not scored")
    if not layout.dense:
        notes.append(
            f"{len(layout):,} players are too many to compare every two of them: there are no "
            f"ranges of ranks, and standard errors are known to {intervals.SAMPLED:.0%}"
        )
    if settings["ties"] != model.ties:
        notes.append("no comparison was tied, so no tie parameter was estimated")
    return {
        "votes": float(data.weight.sum()),
        "ties": float(cells.tie.sum()),
        "components": [int(size) for size in sizes],
        "component_players": named,
        "not_scored": _names(data, missing),
        "ties_model": model.ties,
        "log_likelihood": found.log_likelihood,
        "objective": found.value,
        "rounds": found.rounds,
        "notes": notes,
    }


def _names(data: Pairs, players: IntArray) -> list[str]:
    return _first_names([data.players[int(player)] for player in players])


def _first_names(names: Sequence[str]) -> list[str]:
    found = list(names[:NAMED])
    return [*found, f"and {len(names) - NAMED} more"] if len(names) > NAMED else found


METHOD = PARAMS.as_method("Bradley-Terry", Pairs, fit, internal=PART_OF_STUDY)
