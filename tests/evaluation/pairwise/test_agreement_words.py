"""What is said of how far judges agree rests on the interval, not on the estimate."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from evaluation.pairwise.selectors.trust import STRENGTHS, agreement_in_words, agrees_enough


def figures(raw: float, low: float | None, high: float | None, **more: Any) -> Any:
    bare = dict.fromkeys(("corrected", "crossfit", "cross_low", "cross_high", "thin"))
    return SimpleNamespace(**{**bare, "raw": raw, "low": low, "high": high, **more})


@pytest.mark.parametrize("raw", [0.9, 0.7, 0.5, 0.3, 0.1])
def test_agreement_without_an_interval_has_no_word_for_its_strength(raw: float) -> None:
    said = agreement_in_words(figures(raw, None, None))
    assert "is not sure" in said
    strong = {str(words) % {"value": f"{raw:.2f}"} for _, words in STRENGTHS}
    assert said not in strong


def test_votes_are_good_enough_only_where_the_interval_says_so() -> None:
    assert agrees_enough(figures(0.8, 0.7, 0.9))
    assert not agrees_enough(figures(0.8, 0.6, 0.9))
    assert not agrees_enough(figures(0.95, None, None))
    assert not agrees_enough(None)
    fit = {"corrected": 0.9, "crossfit": 0.8, "cross_low": 0.5, "cross_high": 0.9}
    assert not agrees_enough(figures(0.8, 0.7, 0.9, **fit))
    assert agrees_enough(figures(0.8, 0.7, 0.9, **fit, thin=0.6))  # too few votes are left
