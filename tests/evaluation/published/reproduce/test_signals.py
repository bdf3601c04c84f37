"""How often the signals of writing fire in the published logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from crowdqc.errors import Invalid
from evaluation.methods.writing.origins import Sources
from evaluation.methods.writing.process import read
from evaluation.published.reproduce import REPRODUCTIONS
from evaluation.published.reproduce.crowdrag import signals as crowdrag_signals
from evaluation.published.reproduce.crowdrag.signals import WritingLog
from evaluation.published.reproduce.data import data_folder
from tests.evaluation.methods.writing.written import units

pytestmark = [pytest.mark.data, pytest.mark.slow, pytest.mark.long]
Study = tuple[dict[str, WritingLog], dict[str, Sources]]


@pytest.fixture(scope="module")
def study() -> Study:
    """The logs and passages, read once: the files hold 210 MB of snapshots."""
    try:
        return crowdrag_signals.load(data_folder())
    except Invalid as reason:
        pytest.skip(f"the published data is not here: {reason.message}")


def test_the_published_logs_say_what_each_signal_is_worth(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crowdrag_signals, "load", lambda folder: study)
    said: list[str] = []
    rows = REPRODUCTIONS["crowdrag-signals"].run(Path(), say=said.append, seed=0)
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


def test_every_character_of_a_published_text_comes_from_somewhere(study: Study) -> None:
    logs, passages = study
    for name, log in list(logs.items())[::12]:
        process = read(crowdrag_signals.as_events(log), passages[log.topic])
        assert sum(p.end - p.start for p in process.origins()) == units(process.text), name
