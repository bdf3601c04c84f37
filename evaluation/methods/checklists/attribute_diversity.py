"""How different the attributes of each think-aloud condition are (InteractEval, 4.2, 4.3.3, 5.3.1).

For every dimension and condition (one person, one model, several people, several models, all
combined): mean similarity of all pairs of attributes, lexical (ROUGE-L, Jaccard over words) and
semantic (cosine of vectors), and how evenly the attributes fall on topics that are fitted to the
combined condition of that dimension. Low similarity and an even spread are diverse.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.methods.checklists.diversity import (
    MeanSimilarity,
    Topics,
    fit_topics,
    self_cosine,
    self_jaccard,
    self_rouge_l,
    topic_spread,
    word_counts,
)
from evaluation.methods.core.base import (
    BadShape,
    EmptyData,
    FloatArray,
    Hooks,
    IntArray,
    Result,
    Table,
    index_array,
)
from evaluation.methods.core.params import LEVEL, Params, whole_number
from evaluation.methods.core.units import SIMILARITY, too_few_units
from evaluation.methods.text.corpus import stems, token_ids, words

NAME, VERSION = "attribute_diversity", "1.1"
PARAMS = Params(NAME, (whole_number("topics", 5, 2), LEVEL), version=VERSION)
ONE_PERSON, ONE_MODEL = "one person", "one model"
PEOPLE, MODELS, COMBINED = "several people", "several models", "people and models"
MEASURES = ("rouge", "jaccard", "cosine")
FEWEST = 10  # attributes of a dimension under which no topics are fitted
TOP = 6  # words that stand for a topic
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Attributes:
    """Attributes (n,) as texts with whose they are; ``vectors`` (n, d) are their embeddings.

    ``dimension`` and ``author`` (n,) index ``dimensions`` and ``authors``; ``model`` (authors,)
    says which authors are models.
    """

    texts: tuple[str, ...]
    vectors: FloatArray
    dimension: IntArray
    author: IntArray
    dimensions: tuple[str, ...]
    authors: tuple[str, ...]
    model: tuple[bool, ...]

    @classmethod
    def build(
        cls,
        texts: Sequence[str],
        vectors: FloatArray,
        dimension: Sequence[int],
        author: Sequence[int],
        *,
        dimensions: Sequence[str],
        authors: Sequence[str],
        model: Sequence[bool],
    ) -> Attributes:
        """Check the arrays. Raises EmptyData, BadShape, UnknownIndex."""
        if not len(texts):
            raise EmptyData("there are no attributes")
        at = index_array("dimension", dimension, len(dimensions))
        by = index_array("author", author, len(authors))
        if not len(texts) == len(at) == len(by) == len(vectors) or len(model) != len(authors):
            raise BadShape("texts, vectors, dimension and author must have one length")
        return cls(
            tuple(texts),
            np.asarray(vectors, dtype=np.float64),
            at,
            by,
            tuple(dimensions),
            tuple(authors),
            tuple(model),
        )


def fit(
    data: Attributes, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Compare conditions within each dimension.

    ``diagnostics["dimensions"]`` is a list of {dimension, n, conditions, differences, topics,
    no_topics}: ``conditions`` a row a condition {condition, author, n, rouge, jaccard, cosine,
    spread}, a measure {estimate, low, high, reason}; ``differences`` people less models by measure;
    ``topics`` the words of each. ``topics`` of the fit and the ``level`` of intervals are
    parameters. Raises BadParameter, Cancelled.
    """
    settings, hooks = PARAMS.settings(params), hooks or Hooks()
    found = []
    for number, name in enumerate(data.dimensions):
        hooks.step("dimensions", number, len(data.dimensions))
        rows = np.flatnonzero(data.dimension == number)
        if rows.size:
            found.append({"dimension": name, **_dimension(data, rows, settings, rng)})
    count = np.array([len(part["conditions"]) for part in found])
    return Result(
        NAME,
        VERSION,
        {"dimension": Table({"conditions": count})},
        {},
        {"dimensions": found},
        converged=True,
        recipe={"params": settings},
    )


def conditions(data: Attributes, rows: IntArray) -> list[tuple[str, str, IntArray]]:
    """List the conditions that the data allows, as (condition, author or "", rows)."""
    is_model = np.array(data.model)[data.author[rows]]
    found = []
    for author in np.unique(data.author[rows]).tolist():
        kind = ONE_MODEL if data.model[author] else ONE_PERSON
        found.append((kind, data.authors[author], rows[data.author[rows] == author]))
    found.sort(key=lambda one: one[0] == ONE_MODEL)
    for kind, chosen in ((PEOPLE, rows[~is_model]), (MODELS, rows[is_model])):
        if len(np.unique(data.author[chosen])) > 1:
            found.append((kind, "", chosen))
    if is_model.any() and not is_model.all():
        found.append((COMBINED, "", rows))
    return found


def _dimension(data: Attributes, rows: IntArray, settings: Row, rng: np.random.Generator) -> Row:
    topics, counts, names = _topics(data, rows, settings["topics"], rng)
    place = {row: at for at, row in enumerate(rows.tolist())}
    told = []
    for kind, author, own in conditions(data, rows):
        at = [place[row] for row in own.tolist()]
        told.append(
            {
                "condition": kind,
                "author": author,
                "n": len(own),
                **_similarity(data, own, settings["level"]),
                "spread": _spread(topics, counts, at, settings["topics"]),
            }
        )
    return {
        "n": len(rows),
        "conditions": told,
        "topics": names,
        "differences": _differences(data, rows, settings["level"]),
        "no_topics": "" if topics is not None else _missing_reason(len(rows)),
    }


def _missing_reason(n: int) -> str:
    if n < FEWEST:
        return f"{n} attributes; topics need {FEWEST}"
    return "the topics did not settle"


def _similarity(data: Attributes, rows: IntArray, level: float) -> Row:
    if len(rows) < 2:
        none = {"estimate": None, "low": None, "high": None, "reason": "1 attribute has no pair"}
        return dict.fromkeys(MEASURES, none)
    return {name: _similarity_row(one) for name, one in _measured(data, rows, level).items()}


def _measured(data: Attributes, rows: IntArray, level: float) -> dict[str, MeanSimilarity]:
    tokens = token_ids([words(data.texts[row]) for row in rows])
    return {
        "rouge": self_rouge_l(tokens, level=level),
        "jaccard": self_jaccard(tokens, level=level),
        "cosine": self_cosine(data.vectors[rows], level=level),
    }


def _similarity_row(one: MeanSimilarity) -> Row:
    sure = not one.reason
    return {
        "estimate": one.estimate,
        "low": one.low if sure else None,
        "high": one.high if sure else None,
        "reason": one.reason,
    }


def _differences(data: Attributes, rows: IntArray, level: float) -> Row:
    """People less models, by measure; the two sets share no attribute, so their errors add up.

    Without a measure where one of the sides has no interval of it; empty where it has too few.
    """
    is_model = np.array(data.model)[data.author[rows]]
    people, models = rows[~is_model], rows[is_model]
    if too_few_units(min(len(people), len(models)), "attributes", SIMILARITY):
        return {}
    own, other = _measured(data, people, level), _measured(data, models, level)
    told = {}
    for name in MEASURES:
        if own[name].reason or other[name].reason:
            continue
        value = own[name].estimate - other[name].estimate
        reach = math.hypot(
            own[name].high - own[name].estimate, other[name].high - other[name].estimate
        )
        told[name] = {"estimate": value, "low": value - reach, "high": value + reach, "reason": ""}
    return told


def _topics(
    data: Attributes, rows: IntArray, k: int, rng: np.random.Generator
) -> tuple[Topics | None, FloatArray, list[list[str]]]:
    """Topics of all attributes of a dimension, their word counts, and the words of each topic."""
    lists = [stems(data.texts[row]) for row in rows]
    if len(rows) < FEWEST or not any(lists):
        return None, np.zeros((0, 0)), []
    tokens = token_ids(lists)
    names = _usual_words([data.texts[row] for row in rows])
    counts = word_counts(tokens)
    fitted = fit_topics(counts, k, rng=rng)
    if not fitted.converged:
        return None, counts, []
    best = [np.argsort(-row, kind="stable")[:TOP].tolist() for row in fitted.words]
    return fitted, counts, [[names[at] for at in row] for row in best]


def _usual_words(texts: Sequence[str]) -> list[str]:
    """The most frequent word of each stem, in the order in which stems come."""
    forms: dict[str, Counter[str]] = {}
    for text in texts:
        for word in words(text):
            for own in stems(word):  # none of a function word
                forms.setdefault(own, Counter())[word] += 1
    return [found.most_common(1)[0][0] for found in forms.values()]


def _spread(topics: Topics | None, counts: FloatArray, at: list[int], k: int) -> Row | None:
    if topics is None:
        return None
    found = topic_spread(topics.assign(counts[at]), k)
    return {
        "share": found.share.tolist(),
        "sd": found.sd,
        "evenness": found.evenness,
        "empty": found.empty,
        "n": found.n,
        "chance_sd": found.chance_sd,
    }


METHOD = PARAMS.as_method("Diversity of attributes", Attributes, fit)
