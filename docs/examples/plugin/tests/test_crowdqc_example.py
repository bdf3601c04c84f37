"""The example plug-in by itself: no server, no database."""

from __future__ import annotations

import numpy as np
import pytest
from crowdqc_example import check_orcid, convert_survey, fit_shrunken_shares, register

from crowdqc.api import Additions, LabelVotes


def test_shares_of_votes_are_shrunk_to_the_overall_shares() -> None:
    # Item 0: yes, yes, no; item 1: no. Overall: 2 of 4 each.
    votes = LabelVotes(
        worker=np.array([0, 1, 2, 0]),
        item=np.array([0, 0, 0, 1]),
        label=np.array([0, 0, 1, 1]),
        workers=3,
        items=2,
        labels=("yes", "no"),
        known=np.array([-1, -1]),
    )
    found = fit_shrunken_shares(votes, rng=np.random.default_rng(0), prior=1.0)
    assert found.probability == pytest.approx(np.array([[2.5 / 4, 1.5 / 4], [0.25, 0.75]]))
    assert found.quality == pytest.approx([0.5, 1.0, 0.0])


def test_an_orcid_id_is_stored_in_one_form_and_a_wrong_one_is_refused() -> None:
    assert check_orcid(" https://orcid.org/0000-0002-1825-0097") == "0000-0002-1825-0097"
    assert check_orcid("000000021694233x") == "0000-0002-1694-233X"
    for wrong in ("0000-0002-1825-0098", "12", ""):
        with pytest.raises(ValueError):
            check_orcid(wrong)


def test_a_response_becomes_an_item_and_an_empty_one_none() -> None:
    row = {"response": "7", "comment": " Too slow. "}
    assert convert_survey(row) == {"item_id": "response-7", "text": "Too slow."}
    with pytest.raises(ValueError):
        convert_survey({"response": "8", "comment": " "})


def test_registering_adds_one_of_each() -> None:
    additions = Additions()
    register.register(additions)
    assert [row.slug for row in additions.all()] == [
        "shrunken_shares", "orcid", "survey", "authors",
    ]  # fmt: skip
