"""The semi-synthetic protocol of AQER's Table 2: workers of planted quality from graded answers.

Per question, 20 answers are sorted by grade and dealt to 10 groups of 2 workers, best answers to
the best group, at random within a group. Which 20 of 24 to 31 answers is where variants differ:

- ``top20``: the 20 highest graded, as Table 2 reads literally;
- ``bot20``: the 20 lowest graded;
- ``rand20``: a random 20.

Equal grades are ordered at random. None of them gives the published figure; so each measured
value names its variant.
"""

from __future__ import annotations

import numpy as np

from evaluation.methods.core.base import BadParameter, BadShape, FloatArray, IntArray

VARIANTS = ("top20", "bot20", "rand20")
GROUPS, PER_GROUP = 10, 2


def deal(
    question: IntArray,
    grades: FloatArray,
    variant: str,
    rng: np.random.Generator,
    *,
    random_share: float = 0.0,
) -> IntArray:
    """Who gives which answer: (q, 20) positions in the answers, columns from best group to worst.

    ``question`` and ``grades`` are (n,). With ``random_share`` each answer has that chance of
    being dealt at random among the workers so chosen (App. N). Raises BadParameter for an unknown
    variant, BadShape where a question has fewer than 20 answers.
    """
    if variant not in VARIANTS:
        raise BadParameter(f"variant is {variant!r}; it must be one of {', '.join(VARIANTS)}")
    workers = GROUPS * PER_GROUP
    dealt = np.empty((int(question.max()) + 1, workers), dtype=np.int64)
    for j in range(len(dealt)):
        answers = rng.permutation(np.flatnonzero(question == j))
        if len(answers) < workers:
            raise BadShape(f"question {j} has {len(answers)} answers; {workers} are needed")
        if variant == "rand20":
            answers = answers[:workers]
        answers = answers[np.argsort(-grades[answers], kind="stable")]
        answers = answers[-workers:] if variant == "bot20" else answers[:workers]
        within = rng.permuted(np.arange(workers).reshape(GROUPS, PER_GROUP), axis=1).ravel()
        answers = answers[within]
        if random_share:
            free = np.flatnonzero(rng.random(workers) < random_share)
            answers[free] = answers[rng.permutation(free)]
        dealt[j] = answers
    return dealt
