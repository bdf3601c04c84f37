"""Which known texts are most like a text, for examples in a prompt: in words or in meaning.

In words by the cosine of tf-idf, in meaning by that of vectors which are given.

Salton and Buckley (1988), "Term-weighting approaches in automatic text retrieval": a word counts
1 + log(times in the text), and log(1 + texts / texts with it); vectors have length 1.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
import scipy

from evaluation.methods.core.base import BadParameter, FloatArray

WORD = re.compile(r"\w+")
NEAREST, MEANING, RANDOM = "nearest", "meaning", "random"
WAYS = (NEAREST, MEANING, RANDOM)


def draw_examples(
    wanted: Sequence[str],
    known: Sequence[str],
    *,
    most: int,
    by: str,
    seeds: Sequence[int],
    same: Sequence[Hashable] = (),
    own: Sequence[Hashable] = (),
    vectors: tuple[FloatArray, FloatArray] | None = None,
) -> list[list[int]]:
    """Places in ``known`` (m,) of up to ``most`` examples for each text ``wanted`` (n,).

    ``by`` 'nearest' (the most similar in words first; of equals the first known), 'meaning' (the
    same by unit ``vectors`` (n, d) and (m, d)) or 'random', drawn by the text's own number in
    ``seeds`` (n,). Never one that has the same words in the same order as the text or as another
    example, nor one whose name in ``same`` (m,) is that in ``own`` (n,), where these are given.
    Raises BadParameter.
    """
    if by not in WAYS:
        raise BadParameter(f"by is {by!r}; it must be one of {', '.join(WAYS)}")
    plain, pool = [_plain(text) for text in wanted], [_plain(text) for text in known]
    near = _cosines(plain, pool) if by == NEAREST and most and pool else None
    sides = vectors if by == MEANING else None
    if by == MEANING and (sides is None or [*map(len, sides)] != [len(plain), len(pool)]):
        raise BadParameter(f"by {MEANING!r} needs a vector of each text")
    found = []
    for at, text in enumerate(plain):
        if sides is not None:
            order = np.argsort(-(sides[1] @ sides[0][at]), kind="stable")
        elif near is None:
            order = np.random.default_rng(seeds[at]).permutation(len(pool))
        else:
            order = np.argsort(-near[at].toarray().ravel(), kind="stable")
        taken: list[int] = []
        shown = {text}
        for place in order.tolist():
            if len(taken) == most:
                break
            if pool[place] in shown or (same and same[place] == own[at]):
                continue
            shown.add(pool[place])
            taken.append(place)
        found.append(taken)
    return found


def _plain(text: str) -> str:
    """The words alone, so that spaces, signs and capitals make no two texts of one."""
    return " ".join(WORD.findall(text.casefold()))


def _cosines(wanted: Sequence[str], known: Sequence[str]) -> scipy.sparse.csr_array:
    """Cosine (n, m) of tf-idf of words, weighted by how few of all these texts have them."""
    place: dict[str, int] = {}
    cells = [
        (row, place.setdefault(word, len(place)), 1.0 + np.log(times))
        for row, text in enumerate((*wanted, *known))
        for word, times in Counter(text.split()).items()
    ]
    size = len(wanted) + len(known)
    if not cells:
        return scipy.sparse.csr_array((len(wanted), len(known)))
    row, column, value = (np.array(part) for part in zip(*cells, strict=True))
    value = value * np.log1p(size / np.bincount(column))[column]
    norm = np.sqrt(np.bincount(row, weights=value**2, minlength=size))[row]
    table = scipy.sparse.csr_array((value / norm, (row, column)), shape=(size, len(place)))
    return scipy.sparse.csr_array(table[: len(wanted)] @ table[len(wanted) :].T)
