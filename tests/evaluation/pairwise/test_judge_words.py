"""A model's share with the majority stands beside one person's, and is not compared with it."""

from __future__ import annotations

import pytest

from evaluation.charts import agreement as drawn
from evaluation.pairwise.selectors.judges import _judge


@pytest.mark.parametrize("ends", [(0.5, 0.9), (0.91, 0.99), (0.1, 0.2)])
def test_intervals_of_a_model_and_of_a_person_are_no_comparison(
    ends: tuple[float, float],
) -> None:
    low, high = ends
    row = {
        "dimension": "",
        "machine": 1,
        "majority": (low + high) / 2,
        "majority_low": low,
        "majority_high": high,
        "majority_n": 90,
        "same": 0.9,
        "pairs_both": 40,
    }
    bare = ("alpha", "decisive", "consistency")
    row |= {f"{name}{end}": None for name in bare for end in ("", "_low", "_high", "_n")}
    row |= {"n": 90, "neutral": 0.1, "rho": None, "reason": ""}
    person = {"majority": 0.7, "majority_low": 0.6, "majority_high": 0.8, "majority_n": 90}
    scale = drawn.Scale.around([low, high], width=drawn.WIDE, count=4, include=[0.5])
    clear = row | {"dimension": "clarity", "same": 0.5, "pairs_both": 12}
    labels = {"clarity": "Clarity"}
    for dimension, shown in {
        "": ("All together", "90%", "40"),
        "clarity": ("Clarity", "50%", "12"),
    }.items():
        told = _judge(
            "Tern", [row, clear], {"": person}, labels, scale=scale, board=None, dimension=dimension
        )
        assert all(part in told.sentence for part in shown) and told.dimension == shown[0]


def test_a_missing_interval_names_its_figure_beside_one_that_is_drawn() -> None:
    row = {"dimension": "", "machine": 1, "same": None, "pairs_both": 0, "n": 90, "neutral": 0.1}
    row |= {"majority": 0.7, "majority_low": 0.6, "majority_high": 0.8, "majority_n": 90}
    row |= {"alpha": 0.4, "alpha_low": None, "alpha_high": None, "rho": None}
    row |= {f"{name}{end}": None for name in ("decisive", "consistency") for end in ("", "_low")}
    row |= {"reason": "5 topics; an interval needs 15"}
    scale = drawn.Scale.around([0.6, 0.8], width=drawn.WIDE, count=4, include=[0.5])
    told = _judge("Tern", [row], {}, {}, scale=scale, board=None)
    assert told.reason == (
        "No interval for α with estimated labels: 5 topics; an interval needs 15."
    )
    row |= {"alpha_low": 0.2, "alpha_high": 0.6}
    assert _judge("Tern", [row], {}, {}, scale=scale, board=None).reason == ""
