"""A study of side-by-side judgments, scored: the fast core.

CrowdRAG (Gienapp et al., SIGIR 2025), section 5: gold labels and competence (MACE), agreement,
order effects, interdependence, systems, grades, and language models as judges, each in the form
that its published errors leave standing. Everything about people is in canonical pairs and from a
worker's first vote on a pair, except order effects and repeats, which need them all. What takes
refits or many shuffles (nulls, cross-fitting) is ``pairwise.checks``. Beside the scores stand what
holds the study together (the parts of the worker-pair graph) and which judgments each board uses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Result, Table
from evaluation.methods.core.components import components
from evaluation.methods.core.memory import board_of_systems
from evaluation.methods.core.params import (
    LEVEL,
    Params,
    choice,
    flag,
    real_number,
    resamples,
    whole_number,
)
from evaluation.methods.pairwise.agreement import agreement_table
from evaluation.methods.pairwise.boards import STAGE as SYSTEMS
from evaluation.methods.pairwise.boards import Boards, boards
from evaluation.methods.pairwise.gold import STAGE as GOLD
from evaluation.methods.pairwise.gold import Gold, gold_labels
from evaluation.methods.pairwise.grades import Grades, graded
from evaluation.methods.pairwise.judges import judge_tables
from evaluation.methods.pairwise.judgments import MISSING, NEUTRAL, Judgments, ShownVotes
from evaluation.methods.pairwise.order.study import interdependence_table, order_tables, repeats
from evaluation.methods.pairwise.resistance import STAGE as RESISTANCE
from evaluation.methods.pairwise.resistance import resistance
from evaluation.methods.pairwise.strata import STAGE as STRATA
from evaluation.methods.pairwise.strata import strata
from evaluation.methods.pairwise.tables import EVERY, votes_behind

NAME, VERSION = "pairwise", "1.8"
PARAMS = Params(
    NAME,
    (
        flag(
            "pooled",
            False,
            label="One competence for all dimensions",
            help="Steadier where people judged few pairs. Else each dimension has its own fit.",
        ),
        choice(
            "rank_by",
            "votes",
            ("votes", "competence"),
            label="Votes count in the ranking",
            words=("Every vote alike", "By the competence of its worker"),
            help="By competence, what workers share weighs more; so does what they share wrongly.",
        ),
        choice(
            "prevalence",
            "uniform",
            ("uniform", "mirrored"),
            label="How often each label is true (MACE)",
            words=(
                "All equally often, as in the paper",
                "Estimated; first and second equally often",
            ),
            help="Where workers guess much, an estimate can run off to one label.",
        ),
        choice(
            "algorithm",
            "vb",
            ("vb", "em"),
            label="Fit of competence (MACE)",
            words=("Variational Bayes, as in the paper", "Expectation maximisation"),
        ),
        whole_number(
            "restarts", 20, 1, 200, label="Random starts", help="The best of so many fits."
        ),
        whole_number(
            "draws",
            2000,
            100,
            20_000,
            or_zero=True,
            label="Draws for the intervals of competence",
            help="0 leaves them out; else 100 or more.",
        ),
        resamples(
            1000,
            or_zero=False,
            label="Resamples for ranks and agreement",
            help="How often the judgments are drawn anew.",
        ),
        real_number(
            "regularisation",
            0.2,
            0.01,
            100,
            label="Regularisation",
            help="So many wins and losses against an average system are added to each one, so "
            "that one that never lost has a merit.",
        ),
        whole_number(
            "early",
            7,
            1,
            500,
            label="Pairs that count as early",
            help="The drift of neutral votes is measured before and after so many pairs.",
        ),
        LEVEL,
    ),
    version=VERSION,
)
DEFAULTS = PARAMS.defaults
GRADES, ORDER, JUDGES = "grades", "agreement and order", "language models"
STAGES = (
    GOLD,
    SYSTEMS,
    GRADES,
    ORDER,
    JUDGES,
    RESISTANCE,
    STRATA,
)  # in the order in which hooks report them
FEW = 3  # votes that a gold label should have
STREAMS, BOARDS = 7, 1  # generators that a fit takes, and which one of them ranks systems


def _scores(gold: Gold, board: Boards, grades: Grades) -> dict[str, Table]:
    """The tables of labels, workers, systems and texts."""
    return {
        "worker": gold.worker,
        "label": gold.label,
        "system": board.system,
        "shared": board.shared,
        "win": board.win,
        "head": board.head,
        "candidate": grades.candidate,
        "grade_mean": grades.mean,
        "grade_test": grades.test,
        "group_mean": grades.group_mean,
        "group_test": grades.group_test,
    }


def fit(
    data: Judgments, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Score a study.

    Parameters (defaults in DEFAULTS): ``algorithm``, ``restarts``, ``draws`` (for the intervals of
    competence; 0: none) of MACE; ``prevalence`` of the labels, 'uniform' as published or 'mirrored'
    (estimated; first and second share one: see pairwise_gold); ``pooled``: one fit over all
    dimensions; ``rank_by`` 'votes', or 'competence' to let votes weigh as much as their worker's;
    ``regularisation`` of Bradley-Terry; ``early``, the last position that counts as early;
    ``level`` of intervals, ``resamples``.

    Tables (indices into the names of ``data``; dimension -1: all together; NaN: not known):
    ``worker`` dimension, component (0: not scored), worker, competence, low, high, spam, n,
    guess_left, guess_neutral, guess_right (what is answered when guessing, as displayed),
    with_others (share of decisive votes that go with the majority of the others' on the pair),
    n_others. ``label`` dimension, pair, label (canonical: 0 first, 1 neutral, 2 second, -1 none),
    p_first, p_neutral, p_second, entropy (nats), n, component, and beside it the labels of the
    ``majority`` (-1: two are level) and of ``dawid_skene`` with its posterior ``dawid_skene_p``.
    ``system`` and ``shared`` (side and tie): as of ``bradley_terry``. ``win`` votes between
    system_a < system_b; ``head``, where there are just two systems, the share of decided votes that
    a won. ``candidate`` merit,
    rank, grade (mean of grade_low and grade_high, which equal merits share) among ``of`` texts,
    pairs, n (votes). ``grade_mean``, ``grade_test`` (Wilcoxon by topic, corrected over its rows);
    ``group_mean``, ``group_test``: the same of ``data.groups``. ``agreement``, ``drift``,
    ``side``, ``within_item``, ``across_item``, ``straight``, ``straight_worker``, ``repeat``,
    ``repeat_worker``, ``interdependence``, ``judge``, ``judge_pair``, ``person``, and what
    ``resistance`` finds (``controlled``, ``style``, ``length``, ``top``, ``change``,
    ``change_vote``, ``split``) and ``strata`` (``stratum``, ``stratum_system``, ``shift``): as
    said where they are made.

    Raises BadParameter, Cancelled.
    """
    settings, hooks = PARAMS.settings(params), hooks or Hooks()
    people = data.votes.first_votes()
    rngs = rng.spawn(STREAMS)
    gold = gold_labels(data, people, settings, rng=rngs[0], hooks=hooks)
    competence = gold.competence if settings["rank_by"] == "competence" else None
    board = boards(data, people, competence, settings, rng=rngs[BOARDS], hooks=hooks)
    hooks.step(GRADES, 0, 1)
    grades = graded(data, gold.gold, votes_behind(people), level=settings["level"])
    hooks.step(GRADES, 1, 1)
    tables = {
        **_scores(gold, board, grades),
        **_reliability(data, people, gold.gold, settings, rngs=rngs[2:4], hooks=hooks),
        **_machines(data, people, gold.gold, settings, rng=rngs[4], hooks=hooks),
    }
    asked = (data, people, competence, settings)
    held, notes = resistance(*asked, board=board, rng=rngs[5], hooks=hooks)
    tables |= held | strata(*asked, board=board, rng=rngs[6], hooks=hooks)
    return PARAMS.result(
        settings,
        tables,
        {
            **_diagnostics(data, people, gold, board, grades),
            "style_notes": notes,
            "used": judgments_used(data, people, competence, board.system, gold.label),
        },
        converged=gold.converged and board.converged,
    )


def rank_systems(
    data: Judgments, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Boards:
    """The boards of systems alone, with the same numbers as ``fit`` by the same ``rng``.

    ``rank_by`` is 'votes' here. Raises BadParameter, Cancelled.
    """
    settings, own = PARAMS.settings(params), rng.spawn(STREAMS)[BOARDS]
    return boards(data, data.votes.first_votes(), None, settings, rng=own, hooks=hooks or Hooks())


def _reliability(
    data: Judgments,
    people: ShownVotes,
    gold: IntArray,
    settings: dict[str, Any],
    *,
    rngs: list[np.random.Generator],
    hooks: Hooks,
) -> dict[str, Table]:
    """Agreement, order effects, repeats and interdependence."""
    hooks.step(ORDER, 0, 3)
    agreement = agreement_table(
        people,
        rng=rngs[0],
        resamples=settings["resamples"],
        level=settings["level"],
        units=data.units,
    )
    hooks.step(ORDER, 1, 3)
    order = order_tables(data, settings, rng=rngs[1])
    hooks.step(ORDER, 2, 3)
    repeat, by_worker = repeats(data, settings["level"])
    tau = interdependence_table(data, gold, settings, rng=rngs[0])
    hooks.step(ORDER, 3, 3)
    return {
        "agreement": agreement,
        **order,
        "repeat": repeat,
        "repeat_worker": by_worker,
        "interdependence": tau,
    }


def _machines(
    data: Judgments,
    people: ShownVotes,
    gold: IntArray,
    settings: dict[str, Any],
    *,
    rng: np.random.Generator,
    hooks: Hooks,
) -> dict[str, Table]:
    hooks.step(JUDGES, 0, 1)
    found = judge_tables(
        data.machine,
        gold,
        people,
        rng=rng,
        resamples=settings["resamples"],
        level=settings["level"],
        units=data.units,
    )
    hooks.step(JUDGES, 1, 1)
    return found


def _diagnostics(
    data: Judgments, people: ShownVotes, gold: Gold, board: Boards, grades: Grades
) -> dict[str, Any]:
    parts = parts_of(people)
    return {
        "counts": {
            "judgments": len(data.votes),
            "first_judgments": len(people),
            "repeats": len(data.votes) - len(people),
            "workers": int((np.bincount(people.worker) > 0).sum()),
            "pairs": int((np.bincount(people.pair) > 0).sum()),
            "machine_judgments": 0 if data.machine is None else len(data.machine),
        },
        "components": parts,
        "gold": gold.fits,
        "clusters": board.clusters,
        "warnings": [
            *_warnings(data, people, parts),
            *gold.warnings,
            *board.notes,
            *(f"{note[0].upper()}{note[1:]}." for note in grades.notes),
        ],
    }


def _warnings(data: Judgments, people: ShownVotes, parts: Sequence[Mapping[str, Any]]) -> list[str]:
    said = []
    if len(parts) > 1:
        sizes = ", ".join(str(part["workers"]) for part in parts[:10])
        more = f" and {len(parts) - 10} more" if len(parts) > 10 else ""
        said.append(
            f"The workers fall into {len(parts)} parts that share no pair (of {sizes}{more} "
            "workers): competence does not compare across them."
        )
    n = np.bincount(people.pair, minlength=len(people.pairs))
    thin = int((n < FEW).sum())
    if thin:
        said.append(f"{thin} of {len(n)} pairs have fewer than {FEW} votes.")
    if data.machine is not None:
        neutral = int((data.machine.vote[:, data.forced] == NEUTRAL).sum())
        if neutral:
            said.append(f"Language models were neutral {neutral} times where that was not offered.")
    return said


METHOD = PARAMS.as_method("Pairwise study", Judgments, fit, memory=board_of_systems)


def parts_of(people: ShownVotes) -> list[dict[str, int | None]]:
    """The parts of the graph that share nothing, the one with most workers first.

    ``number``, ``workers``, ``pairs``, ``judgments``; and the thinnest link: ``link`` is the
    largest number of shared pairs such that chains of workers, each sharing as many with the
    next, still reach everybody; one pair more is asked and ``side`` workers (the smaller side)
    stand apart. Both None for a part of one worker.
    """
    worker, pair = components(people.worker, people.pair, len(people.workers), len(people.pairs))
    count = int(worker.max(initial=0)) + 1
    workers, pairs = (np.bincount(number, minlength=count) for number in (worker, pair))
    n = np.bincount(worker[people.worker], minlength=count)
    tree = _widest_tree(people)
    found: list[dict[str, int | None]] = []
    for k in range(1, count):
        link, side = least_tree_edge(tree, np.flatnonzero(worker == k))
        found.append(
            {
                "number": k,
                "workers": int(workers[k]),
                "pairs": int(pairs[k]),
                "judgments": int(n[k]),
                "link": link,
                "side": side,
            }
        )
    return found


def _widest_tree(people: ShownVotes) -> scipy.sparse.csr_array:
    """A spanning forest of the workers (w, w) whose edges, shared pairs, are as many as can be."""
    known = np.unique(people.worker * len(people.pairs) + people.pair)
    met = scipy.sparse.coo_array(
        (np.ones(len(known)), (known // len(people.pairs), known % len(people.pairs))),
        shape=(len(people.workers), len(people.pairs)),
    ).tocsr()
    shared = scipy.sparse.coo_array(met @ met.T)
    apart = shared.row != shared.col
    most = float(shared.data.max(initial=0.0)) + 1
    # The tree of least cost is the one of most shared pairs; a cost of 0 would be no edge.
    cost = scipy.sparse.coo_array(
        (most - shared.data[apart], (shared.row[apart], shared.col[apart])), shape=shared.shape
    )
    tree = scipy.sparse.coo_array(scipy.sparse.csgraph.minimum_spanning_tree(cost.tocsr()))
    return scipy.sparse.coo_array(
        (most - tree.data, (tree.row, tree.col)), shape=tree.shape
    ).tocsr()


def least_tree_edge(
    tree: scipy.sparse.csr_array, members: IntArray
) -> tuple[int | None, int | None]:
    """The least edge of a tree (w, w) among ``members``, and how many it parts from the rest."""
    own = scipy.sparse.coo_array(tree[members][:, members])
    if not own.nnz:
        return None, None
    least = int(own.data.argmin())
    rest = np.arange(own.nnz) != least
    _, label = scipy.sparse.csgraph.connected_components(
        scipy.sparse.coo_array((own.data[rest], (own.row[rest], own.col[rest])), shape=own.shape),
        directed=False,
    )
    size = int((label == label[own.row[least]]).sum())
    return int(own.data[least]), min(size, len(members) - size)


Use = dict[str, Any]


def judgments_used(
    data: Judgments, people: ShownVotes, competence: FloatArray | None, system: Table, label: Table
) -> list[Use]:
    """Count the judgments that each board uses and leaves out, by reason.

    ``people`` are the first judgments of each worker on a pair of texts; the others are repeats.
    The board "study" is what the methods see; "ranking" is Bradley-Terry with its win matrix,
    "labels" the estimated labels, by dimension ("" for all together, of which a judgment is used
    where any dimension uses it). ``competence`` (workers, d) as for the boards; ``system`` and
    ``label`` are the tables that were found, which say where there is a board or a label.

    ``used`` + the sum of ``left_out`` is the number of judgments in ``data`` in every entry.
    """
    repeats = len(data.votes) - len(people)
    answered = people.canonical() != MISSING
    apart = (data.system[data.first] != data.system[data.second])[people.pair]
    known = np.ones(answered.shape, dtype=bool)
    if competence is not None:
        known = np.nan_to_num(competence[people.worker]) > 0
    ranked = set(system["dimension"].tolist())
    found = [_use("study", "", repeats, [], np.ones(len(people), dtype=bool))]
    for k in range(EVERY, len(data.dimensions)):
        given, trusted = _select_dimension(answered, k), _select_dimension(answered & known, k)
        steps = [("not_answered", given), ("one_source", apart), ("no_weight", trusted)]
        if k not in ranked:
            steps.append(("no_board", np.zeros(len(people), dtype=bool)))
        used = trusted & apart & (k in ranked)
        found.append(_use("ranking", _name(data, k), repeats, steps, used))
    labelled = np.zeros(answered.shape[::-1], dtype=bool)
    has = np.zeros((len(data.dimensions), len(people.pairs)), dtype=bool)
    rows = label["label"] >= 0
    has[label["dimension"][rows], label["pair"][rows]] = True
    for k in range(len(data.dimensions)):
        labelled[k] = answered[:, k] & has[k][people.pair]
        steps = [("not_answered", answered[:, k]), ("no_label", has[k][people.pair])]
        found.append(_use("labels", data.dimensions[k], repeats, steps, labelled[k]))
    return found


def _select_dimension(rows: NDArray[np.bool_], dimension: int) -> NDArray[np.bool_]:
    """Return one dimension of (n, d); over all dimensions, whether any holds."""
    found: NDArray[np.bool_] = np.any(rows, axis=1) if dimension == EVERY else rows[:, dimension]
    return found


def _name(data: Judgments, dimension: int) -> str:
    return "" if dimension == EVERY else data.dimensions[dimension]


def _use(
    board: str,
    dimension: str,
    repeats: int,
    steps: list[tuple[str, NDArray[np.bool_]]],
    used: NDArray[np.bool_],
) -> Use:
    """Count each unused judgment under the first step that it does not pass."""
    left_out, here = {"repeat": repeats}, np.ones(len(used), dtype=bool)
    for reason, passes in steps:
        left_out[reason] = int((here & ~passes).sum())
        here &= passes
    return {
        "board": board,
        "dimension": dimension,
        "used": int(used.sum()),
        "left_out": {reason: n for reason, n in left_out.items() if n},
    }
