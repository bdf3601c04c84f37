"""Options are declared once: what they refuse, and that every method says how it is started."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.methods.core.base import BadParameter
from evaluation.methods.core.params import (
    Param,
    Params,
    choice,
    flag,
    real_number,
    resamples,
    whole_number,
)
from evaluation.methods.registry import METHODS
from evaluation.registry import RUN_TYPES

OPTIONS = Params(
    "trial",
    (
        whole_number("rounds", 5, 1, 9),
        whole_number("agreeing", None, 1),
        real_number("share", 0.5, above=0, high=1),
        flag("pooled", False),
        choice("start", "equal", ("equal", "noisy")),
        resamples(2000),
        Param("name", "", "text", high=8),
    ),
)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"rounds": 0}, "rounds is 0; it must be a whole number from 1 to 9"),
        ({"rounds": True}, "rounds is True"),
        ({"rounds": 2.0}, "rounds is 2.0"),
        ({"agreeing": 0}, "agreeing is 0; it must be a whole number from 1 on"),
        ({"share": 0}, "share is 0; it must be a number between 0 and 1"),
        ({"share": float("nan")}, "share is nan"),
        ({"pooled": 1}, "pooled is 1; it must be True or False"),
        ({"start": "loud"}, "start is 'loud'; it must be one of equal, noisy"),
        ({"resamples": 99}, "resamples is 99; it must be 0, or a whole number from 100"),
        ({"name": "a" * 9}, "name is 'aaaaaaaaa'; it must be a text of at most 8 characters"),
        ({"colour": 1}, "colour is no parameter of trial"),
    ],
)
def test_a_refusal_names_the_option_and_what_it_takes(given: dict[str, Any], says: str) -> None:
    with pytest.raises(BadParameter) as refused:
        OPTIONS.settings(given)
    assert str(refused.value).startswith(says)


def test_what_is_not_given_stays_at_its_default() -> None:
    assert OPTIONS.settings({"resamples": 0, "agreeing": None, "share": 1}) == {
        **OPTIONS.defaults,
        "resamples": 0,
        "share": 1,
    }


def test_every_method_takes_its_own_defaults_and_can_be_started_or_says_where_it_is_used() -> None:
    for slug, method in METHODS.items():
        method.check(**method.params)
        assert (slug in RUN_TYPES) != bool(method.internal), slug
