"""Written responses with cited passages, described: Gienapp et al. (2025), section 4.

``fit`` returns a :class:`WritingResult`. Its ``figures`` are plain JSON (numbers, strings, lists,
None where a figure does not exist), for pages to draw:

- ``groups``, ``styles``: names; ``counts``: responses, topics, citations, unknown (citations of no
  passage), ranks (R, passages of the longest list).
- ``level``, ``resamples``, ``threshold``, ``heavy``, ``min_words``: as given to ``fit``.
- ``left_out``: a row a group {group, responses}: how many have fewer than ``min_words`` words.
  Everything below describes the others.
- ``edges``: {measure: [b + 1 numbers]}, shared by all cells; measures are words, statements,
  citations, documents, bleu, position, readability. Bin k is [edge k, edge k + 1), the last one
  closed; what lies outside (readability only) is counted in the first or the last bin.
- ``general``: a row a cell {group, style, responses, uncited (responses that cite nothing),
  unknown, words, statements, citations, documents: DISTRIBUTION, citations_per_document,
  documents_per_statement, words_per_statement: ESTIMATE}. ``citations`` counts every number,
  ``documents`` different passages.
- ``overlap``: Jaccard of the sets of cited passages, a row a pairing {first, second, style, scope,
  sd, chance, pairs} + ESTIMATE. ``second`` is "" for the whole ranking (then the coefficient is the
  share of passages cited). ``scope`` is "style" (same topic, same style) or "topic" (same topic,
  another style; only with style ""). ``chance`` is what sets of these sizes share if drawn blindly.
- ``ranks``: a row a cell {group, style, responses, probability: [R], low: [R], high: [R], lists:
  [R] (responses whose list has the rank), cited, uncited: ESTIMATE}: how often a rank is cited, and
  the mean over responses of the median rank (from 1) of cited and uncited passages.
- ``order``: Spearman's rho, rows as ``overlap`` {first, second, style, scope "style", sd, pairs,
  undefined} + ESTIMATE; for ``second`` "" between rank and order of first citation in the text,
  else between the orders of the passages that both cite; ``undefined`` pairs have fewer than two.
- ``reuse``: sentence BLEU (0 to 100) of every statement against each passage it cites, a row a
  cell {group, style, pairs, cumulative: [b], low: [b], high: [b] (share below edge k + 1), mean,
  below (share under ``threshold``), heavy (share from ``heavy`` on): ESTIMATE, median}.
- ``position``: where in the text (0 to 1, marks left out) statements end with citations, a row a
  cell {group, style, marks, density: [b] (mean 1), low: [b], high: [b], per_response: [b] (marks a
  response in the bin), first: ESTIMATE (mean position of the first), last: ESTIMATE}.
- ``readability``: Flesch reading ease, a row a cell {group, style, text, source: DISTRIBUTION,
  difference: ESTIMATE (mean of text - source)}; a response's figure is the median over its
  statements, its sources' the median over the passages it cites.

A *cell* is a group and a style, or all its styles (style ""): rows come for every group, first the
styles that have a name, then "". ESTIMATE = {value, low, high, n, topics, reason}: a percentile
interval of the bootstrap over topics; without one low and high are None, and ``reason`` says why.
DISTRIBUTION = {n, mean, mean_low, mean_high, sd, median, median_low, median_high, q1, q3, p5, p95,
min, max, histogram: [b], reason}. Everything of an empty cell is None or 0, with a ``reason``.

``estimates["response"]`` has a row a response: response, group, style, topic (indices), words,
statements, citations, documents, unknown, order (rho), bleu (largest), heavy (share), readability,
source_readability, left_out (whether it is in no figure); NaN where it does not exist or the
response is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import EmptyData, FloatArray, Hooks, Result, Table
from evaluation.methods.core.params import LEVEL, Params, real_number, resamples, whole_number
from evaluation.methods.core.units import RESAMPLED, too_few_units
from evaluation.methods.writing.documents import (
    Pairs,
    edges_of,
    first_citations,
    general_figures,
    measures,
    order,
    overlap,
    position,
    ranks,
    with_ranking,
)
from evaluation.methods.writing.draws import Draws
from evaluation.methods.writing.readability import EDGES as EASE
from evaluation.methods.writing.readability import readability
from evaluation.methods.writing.readability import rows as readable
from evaluation.methods.writing.reuse import EDGES, heavy_share, largest_scores, reuse, scores
from evaluation.methods.writing.statements import Responses, cut

NAME, VERSION = "writing", "1.1"
PARAMS = Params(
    NAME,
    (
        resamples(1000, label="Resamples of the topics"),
        real_number(
            "threshold",
            25.0,
            0,
            100,
            label="BLEU up to which a statement counts as written anew",
            help="The paper looks at 25, which hardly any statement of a model exceeds.",
        ),
        real_number("heavy", 50.0, 0, 100),
        whole_number("order", 8, 1),
        whole_number("bins", 20, 2),
        whole_number(
            "min_words",
            0,
            0,
            10_000,
            label="Fewest words of a response",
            help="Shorter responses are left out of all figures. The paper takes 50; 0 takes all.",
        ),
        LEVEL,
    ),
    version=VERSION,
)
DEFAULTS = PARAMS.defaults
GENERAL, DOCUMENTS, ORDER, REUSE, POSITION, READABILITY = (
    "general",
    "documents",
    "order",
    "reuse",
    "position",
    "readability",
)
ABOUT = ("level", "resamples", "threshold", "heavy", "min_words")  # options that figures repeat
STAGES = (GENERAL, DOCUMENTS, ORDER, REUSE, POSITION, READABILITY)


@dataclass(frozen=True, eq=False)
class WritingResult(Result):
    """A Result whose diagnostics hold ``figures``; see the module for their layout."""

    @property
    def figures(self) -> dict[str, Any]:
        """All figures of the result as plain JSON."""
        figures: dict[str, Any] = self.diagnostics["figures"]
        return figures


def fit(
    data: Responses, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> WritingResult:
    """Describe written responses; the layout of what comes out is in the module's words.

    ``resamples`` of the bootstrap over topics (0: no intervals), ``level`` of the intervals,
    ``order`` of the longest n-gram of BLEU, ``threshold`` and ``heavy`` BLEU scores, ``bins`` of
    the text's length, ``min_words`` of a response that is described. Raises BadParameter,
    EmptyData (no response has so many words), Cancelled.
    """
    settings, hooks = PARAMS.settings(params), hooks or Hooks()
    draws = Draws(
        len(data.topics), resamples=settings["resamples"], level=settings["level"], rng=rng
    )
    hooks.step(GENERAL, 0, len(STAGES))
    everything, statements = data, cut(data)
    every = measures(data, statements)
    kept = every["words"] >= settings["min_words"]
    if not kept.any():
        raise EmptyData(f"no response has {settings['min_words']} words")
    statements = statements.select_rows(kept)
    data, measured = statements.data, {name: values[kept] for name, values in every.items()}
    edges = {
        **edges_of(measured),
        "bleu": EDGES,
        "readability": EASE,
        "position": np.linspace(0.0, 1.0, settings["bins"] + 1),
    }
    figures: dict[str, Any] = {"general": general_figures(statements, measured, edges, draws)}
    hooks.step(DOCUMENTS, 1, len(STAGES))
    pairs = Pairs.of(data)
    figures |= {"overlap": overlap(data, pairs, draws), "ranks": ranks(data, draws)}
    hooks.step(ORDER, 2, len(STAGES))
    place = first_citations(data, statements)
    figures["order"] = order(data, pairs, place, draws)
    hooks.step(REUSE, 3, len(STAGES))
    score = scores(statements, order=settings["order"])
    limits = {name: settings[name] for name in ("threshold", "heavy")}
    figures["reuse"] = reuse(statements, score, draws, **limits)
    hooks.step(POSITION, 4, len(STAGES))
    figures["position"] = position(statements, edges["position"], draws)
    hooks.step(READABILITY, 5, len(STAGES))
    text, source = readability(statements)
    figures["readability"] = readable(data, text, source, draws)
    hooks.step(READABILITY, len(STAGES), len(STAGES))
    own = {
        "order": with_ranking(place),
        "bleu": largest_scores(statements, score),
        "heavy": heavy_share(statements, score, settings["heavy"]),
        "readability": text,
        "source_readability": source,
    }
    table = Table(
        {
            "response": np.arange(len(everything)),
            "group": everything.group,
            "style": everything.style,
            "topic": everything.topic,
            **every,
            "unknown": everything.unknown,
            **{name: _spread(values, kept) for name, values in own.items()},
            "left_out": ~kept,
        }
    )
    figures |= {"left_out": _count_left_out(everything, kept)}
    return _result(data, table, {**_frame(data, settings, edges), **figures}, settings)


def _spread(values: FloatArray, kept: NDArray[np.bool_]) -> FloatArray:
    """Values of the responses that are ``kept``, NaN for the others (n,)."""
    found = np.full(len(kept), np.nan)
    found[kept] = values
    return found


def _count_left_out(data: Responses, kept: NDArray[np.bool_]) -> list[dict[str, Any]]:
    return [
        {"group": name, "responses": int((~kept & (data.group == g)).sum())}
        for g, name in enumerate(data.groups)
    ]


def _frame(
    data: Responses, settings: dict[str, Any], edges: dict[str, FloatArray]
) -> dict[str, Any]:
    return {
        "groups": list(data.groups),
        "styles": list(data.styles),
        "counts": {
            "responses": len(data),
            "topics": len(np.unique(data.topic)),
            "citations": int(data.citations.sum()),
            "unknown": int(data.unknown.sum()),
            "ranks": int(data.lists.max()),
        },
        **{name: settings[name] for name in ABOUT},
        "edges": {name: bins.tolist() for name, bins in edges.items()},
    }


def _result(
    data: Responses, table: Table, figures: dict[str, Any], settings: dict[str, Any]
) -> WritingResult:
    warnings = []
    counts = figures["counts"]
    if counts["unknown"]:
        warnings.append(f"{counts['unknown']} citations have a number that no passage has")
    if not counts["citations"]:
        warnings.append("no response cites a passage")
    if few := too_few_units(counts["topics"], "topics", RESAMPLED):
        warnings.append(few)
    return WritingResult(
        name=NAME,
        version=VERSION,
        estimates={"response": table},
        intervals={},
        diagnostics={"warnings": warnings, "counts": counts, "figures": figures},
        converged=True,
        recipe={"method": NAME, "version": VERSION, "params": settings},
    )


METHOD = PARAMS.as_method("Writing with sources", Responses, fit)
