"""Nothing that was acknowledged is lost or doubled by any fault; a few people, a short time."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator

import pytest

from tests.devstack.faults.matrix import FAULTS
from tests.devstack.faults.rig import Site, site
from tests.support.processes import ROOT

PEOPLE = int(os.environ.get("CROWDQC_FAULT_PEOPLE") or 10)
SECONDS = float(os.environ.get("CROWDQC_FAULT_SECONDS") or 10)


@pytest.fixture(scope="module")
def made() -> Iterator[Site]:
    with site() as one:
        yield one


@pytest.mark.long
@pytest.mark.parametrize("key", FAULTS)
def test_a_fault_loses_and_doubles_nothing_and_probes_answer(made: Site, key: str) -> None:
    if key == "clock_ahead" and shutil.which("cc") is None:
        pytest.skip("no C compiler is installed")
    if key == "database_disk_full" and not made.own_disk:
        pytest.skip("only root can mount a small disk")
    found = FAULTS[key].measure(made, PEOPLE, SECONDS)
    assert (found.lost, found.doubled) == (0, 0)
    assert found.submits > PEOPLE
    assert found.healthz < 2 and found.readyz < 6  # generous: a stall, not a time


def test_the_page_of_faults_shows_each_with_nothing_lost_or_doubled() -> None:
    faults = json.loads((ROOT / "docs" / "admin" / "faults.json").read_text())["faults"]
    assert list(faults) == list(FAULTS)
    assert {(one["lost"], one["doubled"]) for one in faults.values()} == {(0, 0)}
