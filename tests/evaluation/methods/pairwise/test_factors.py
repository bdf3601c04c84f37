"""Factors of texts compared: against a plain second implementation, and what is held equal."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import false_discovery_control, wilcoxon

from evaluation.methods.core.base import BadShape
from evaluation.methods.pairwise.factors import NEVER, Factor, compare_factors
from evaluation.methods.pairwise.tables import EVERY

STYLES, ORIGINS, TOPICS, DIMENSIONS = 3, 2, 25, 2


@pytest.fixture
def texts() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Grade (n, d), topic, style and origin of texts; style 0 is better, by two grades."""
    rng = np.random.default_rng(5)
    topic, style, origin = (
        one.ravel() for one in np.indices((TOPICS, STYLES, ORIGINS), dtype=np.int64)
    )
    grade = rng.normal(0, 1, (len(topic), DIMENSIONS)) + 3.0
    grade[style == 0] += 2.0
    return grade, topic, style, origin


def test_every_two_styles_are_tested_by_topic_over_both_origins(
    texts: tuple[np.ndarray, ...],
) -> None:
    grade, topic, style, origin = texts
    mean, test = compare_factors(grade, topic, [Factor(style, origin), Factor(origin, style)])
    p = []
    for row in test.rows():
        of, one, two = (style, row["value_a"], row["value_b"])
        if row["factor"] == 1:
            of = origin
        gaps = [
            grade[(topic == t) & (of == one), row["dimension"]].mean()
            - grade[(topic == t) & (of == two), row["dimension"]].mean()
            for t in range(TOPICS)
        ]
        assert row["difference"] == pytest.approx(np.mean(gaps))
        p.append(wilcoxon(gaps).pvalue)
        assert row["p"] == pytest.approx(p[-1])
    assert len(p) == (3 + 1) * DIMENSIONS
    # One family over all factors, pairs and dimensions.
    assert test["adjusted"] == pytest.approx(false_discovery_control(p))
    differing = {
        (row["factor"], row["value_a"], row["value_b"]) for row in test.rows() if row["differs"]
    }
    assert differing == {(0, 0, 1), (0, 0, 2)}
    [every] = [r for r in mean.rows() if (r["factor"], r["value"], r["dimension"]) == (0, 1, EVERY)]
    assert every["grade"] == pytest.approx(grade[style == 1].mean())


def test_a_difference_of_origins_never_stands_for_one_of_styles(
    texts: tuple[np.ndarray, ...],
) -> None:
    _, topic, style, origin = texts
    grade = np.where(origin == 1, 5.0, 2.0)[:, None] + 0.01 * topic[:, None]
    here = ~((style == 2) & (origin == 0))  # only one origin wrote style 2: all its texts are good
    _, test = compare_factors(grade[here], topic[here], [Factor(style[here], origin[here])])
    assert test["difference"].tolist() == pytest.approx([0.0, 0.0, 0.0])
    assert not test["differs"].any()


def test_values_that_never_meet_are_not_compared() -> None:
    value = np.array([0, 1, 0, 1])
    mean, test = compare_factors(
        np.array([[1.0], [2.0], [1.0], [2.0]]), np.array([0, 0, 1, 1]), [Factor(value, value)]
    )
    [row] = test.rows()
    assert (row["n"], row["differs"], row["reason"]) == (0, False, NEVER)
    assert len(mean) == 2 * 2
    with pytest.raises(BadShape):
        compare_factors(np.ones((3, 1)), value, [Factor(value, value)])
