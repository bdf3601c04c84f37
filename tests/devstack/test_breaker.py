"""A breaker before the database: one try, refusals at once, and on again when it answers."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any

import psycopg
import pytest
from django.db import OperationalError

from crowdqc.database import breaker
from crowdqc.database.breaker import Breaker, DatabaseDown, OmitTraceback
from tests.support.processes import until


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the database answers: what stands last."""
    found = [True]
    monkeypatch.setattr(breaker, "_answers", lambda params: found[-1])
    monkeypatch.setattr(breaker, "RETRY_SECONDS", 0.02)
    return found


def test_requests_are_refused_until_the_database_answers_and_the_pool_is_renewed_then(
    answers: list[bool],
) -> None:
    one, renewed = Breaker(), []
    one.refuse_while_down()
    answers.append(False)
    assert not one.check({}, lambda: renewed.append(1))
    with pytest.raises(psycopg.OperationalError):
        one.refuse_while_down()
    assert not one.check({}, lambda: renewed.append(2))  # it is being watched already
    answers.append(True)
    until(lambda: renewed == [1], 10, "the pool to be renewed")
    until(lambda: one.check({}, lambda: None), 10, "an answer")
    one.refuse_while_down()


def test_a_database_that_says_nothing_counts_as_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request waits for its verdict for a moment, not for the whole time of a connection."""
    monkeypatch.setattr(breaker, "_answers", lambda params: bool(time.sleep(1)) or True)
    one = Breaker()
    assert not one.check({}, lambda: None)
    with pytest.raises(DatabaseDown):
        one.refuse_while_down()
    until(lambda: not one._away, 10, "the database to answer")


def test_a_refused_request_is_logged_in_one_line() -> None:
    def record() -> Any:
        return logging.LogRecord("x", logging.ERROR, "", 1, "said", (), sys.exc_info())

    try:
        raise OperationalError from DatabaseDown()
    except OperationalError:
        refused = record()
    try:
        raise OperationalError
    except OperationalError:
        other = record()
    assert all(OmitTraceback().filter(one) for one in (refused, other))
    assert refused.exc_info is None and other.exc_info is not None
