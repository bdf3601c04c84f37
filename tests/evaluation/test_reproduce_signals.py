"""How often the signals of writing fire in the published logs."""

from __future__ import annotations

import pytest

from crowdqc.errors import Invalid
from evaluation.reproduce import REPRODUCTIONS
from evaluation.reproduce.data import data_folder


def test_the_published_logs_say_what_each_signal_is_worth() -> None:
    try:
        folder = data_folder()
    except Invalid as reason:
        pytest.skip(f"the published data is not here: {reason.message}")
    said: list[str] = []
    rows = REPRODUCTIONS["crowdrag-signals"].run(folder, say=said.append, seed=0)
    measured = {(row.quantity, row.protocol): row.measured for row in rows}
    assert said[0] == "903 logs, 185,015 snapshots"
    assert measured["responses", "200 characters longer"] == 652
    assert measured["replay equals the last snapshot", "logs"] == 903
    assert measured["text of snapshots over JSON of deltas", "bytes"] > 20
    for slug in ("outside_paste", "even_keys", "before_reading"):
        assert measured[f"{slug}: not recorded", "logs"] == 903
        assert measured[f"{slug}: judged", "logs"] == 0
    assert measured["unexplained_jump: judged", "logs"] == 903
    # Nearly all that comes at once is a passage's: a jump alone tells a reviewer nothing.
    assert measured["jumps by source, %: passage", "200 characters put in"] > 85
    assert measured["jumps by source, %: unexplained", "200 characters put in"] < 4
    assert measured["unexplained_jump: fired", "of those judged"] < 903 / 5
    assert measured["faster_than_own: fired", "of those judged"] < 30
