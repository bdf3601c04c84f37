"""Labels of a table: the page and the command say the same."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from django.core.management import call_command
from django.test import Client

from evaluation.models import ItemLabel, Run, WorkerScore
from evaluation.runs import engine
from tests.evaluation.score_table.test_pages import drop, score
from tests.support import factories

pytestmark = pytest.mark.django_db


def table(seed: int, codes: tuple[str, ...], *, alone: bool) -> str:
    """Eight workers on 24 items, with names that sort otherwise by size than by characters.

    ``alone``: two more workers share items with nobody else.
    """
    rng = np.random.default_rng(seed)
    lines = ["worker,item,label,gold"]
    truth = rng.integers(0, len(codes), 24)
    for item in rng.permutation(24):
        for worker in rng.permutation(8):
            right = rng.random() < 0.5 + 0.06 * worker
            said = truth[item] if right else rng.integers(0, len(codes))
            known = codes[truth[item]] if item < 8 else ""
            lines.append(f"{worker + 5},{item + 3},{codes[said]},{known}")
    if alone:
        lines += [f"{who},x{item},{codes[item % 2]}," for who in ("p", "q") for item in range(12)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        table(1, ("no", "yes"), alone=False),
        table(2, ("10", "9", "2"), alone=False),
        table(3, ("BB", "Aa"), alone=True),
    ],
    ids=["two labels", "numbers", "a crowd of two"],
)
def test_the_page_and_the_command_give_the_same_labels_and_competences(
    text: str, tmp_path: Path
) -> None:
    client = Client()
    client.force_login(factories.make_user())
    score(client, drop(client, text, "labels.csv"))
    run = Run.objects.get()
    assert engine.execute(run.pk) == "done", Run.objects.get(pk=run.pk).error
    (tmp_path / "labels.csv").write_text(text, encoding="utf-8")
    out, said = tmp_path / "out", io.StringIO()
    call_command(
        "crowdqc_score",
        str(tmp_path / "labels.csv"),
        *("--out", str(out)),
        stdout=said,
        stderr=io.StringIO(),
    )

    def rows(name: str) -> dict[str, dict[str, str]]:
        with (out / f"{name}.csv").open(encoding="utf-8", newline="") as handle:
            return {row[name]: row for row in csv.DictReader(handle)}

    workers, items = rows("worker"), rows("item")
    ours = WorkerScore.objects.filter(run=run).select_related("worker")
    assert {one.worker.external_id for one in ours} == workers.keys()
    for one in ours:
        row = workers[one.worker.external_id]
        columns = {"competence": one.estimate, "low": one.low, "high": one.high}
        for name, value in columns.items():
            found = float(row[name]) if row[name] else None
            assert found == (None if value is None else pytest.approx(value, abs=1e-8)), name
        assert (row["component"] == "0") == (one.extra["standing"] == "not_scored")
        assert (row["group"] == "0") == (one.extra["standing"] == "better") or row[
            "component"
        ] == "0"
    scored = {name for name, row in workers.items() if row["competence"]}
    assert scored == {str(number) for number in range(5, 13)}
    labels = ItemLabel.objects.filter(run=run).select_related("item")
    assert {one.item.key for one in labels} == items.keys()
    for label in labels:
        row = items[label.item.key]
        for name in ("dawid_skene", "mace", "glad", "majority"):
            assert row[name] == label.extra[name]
        for name in ("posterior", "mace_posterior", "difficulty"):
            value = label.extra[name]
            found = float(row[name]) if row[name] else None
            assert found == (None if value is None else pytest.approx(value, abs=1e-8)), name
