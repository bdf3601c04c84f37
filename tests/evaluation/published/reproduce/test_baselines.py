"""The word baselines on the real answers, against what was measured before this project."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crowdqc.errors import Invalid
from evaluation.published.reproduce.aqer import baselines as aqer_cs_baselines
from evaluation.published.reproduce.aqer.crowd import Bench
from evaluation.published.reproduce.data import data_folder, mohler

pytestmark = pytest.mark.data

TARGETS = {  # top20, bot20, rand20
    "bleu1": (0.683, 0.910, 0.926),
    "bleu4": (0.786, 0.911, 0.924),
    "f1": (0.744, 0.940, 0.953),
    "roy": (0.911, 0.959, 0.952),
}


@pytest.fixture(scope="module")
def folder() -> Path:
    try:
        return data_folder()
    except Invalid as reason:
        pytest.skip(f"the published data is not here: {reason.message}")


@pytest.mark.long
def test_word_baselines_come_within_two_hundredths(folder: Path) -> None:
    answers = mohler(folder)
    bench = Bench(answers, {}, repetitions=25, seed=0)
    words = aqer_cs_baselines.Words(answers, np.empty((len(answers.texts), 0)))
    scorers = {name: score for name, score in words.scores().items() if name in TARGETS}
    rows = aqer_cs_baselines.worker_rows(bench, scorers, say=lambda line: None)
    for slug, target in TARGETS.items():
        wanted = f"{aqer_cs_baselines.ENTRIES[slug].name}, Pearson"
        measured = [row.measured for row in rows if row.quantity == wanted]
        assert measured == pytest.approx(target, abs=0.02), slug
