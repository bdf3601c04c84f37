"""Fixtures of the evaluation tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import fits
from tests.support.encoders import word_vectors  # noqa: F401  (a fixture of these tests)


@pytest.fixture(scope="session", autouse=True)
def _fits_are_kept() -> Iterator[None]:
    """The pages of many tests are those of runs that fit the same (see ``fits_anew``)."""
    with fits.keep_fits():
        yield


@pytest.fixture(autouse=True)
def _or_not(request: pytest.FixtureRequest) -> Iterator[None]:
    fits.kept.on = request.node.get_closest_marker("fits_anew") is None
    yield
    fits.kept.on = True
