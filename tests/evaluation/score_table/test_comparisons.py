"""Comparisons of a table: the page and the command say the same, and no more than items allow."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from evaluation.bundles.makers import report_of
from evaluation.management.commands.crowdqc_score import open_file
from evaluation.models import Run, RunFigure, SystemScore
from evaluation.overview import results
from evaluation.pairwise.selectors import boards, shared
from evaluation.runs import engine
from evaluation.runs.selectors import lists
from evaluation.score_table.reports.comparisons import report
from evaluation.score_table.reports.text import Options
from tests.evaluation.corpora.official_runs import make_official
from tests.evaluation.score_table.test_pages import drop, score
from tests.support import factories
from tests.support.pages import html_of

NAMES = ("aurora", "basalt", "cedar", "dune", "elm")
SCORES = ("component", "estimate", "low", "high", "n", "rank_low", "rank_high", "group")


def table(
    seed: int, *, systems: int, items: int, judges: int, each: int, agree: float, lead: float = 0.0
) -> str:
    """``each`` judges on every item, who follow its own winner with chance ``agree``."""
    rng = np.random.default_rng(seed)
    lines = ["judge,item,left,right,winner"]
    for item in range(items):
        left, right = rng.choice(systems, 2, replace=False)
        chance = 1 / (1 + np.exp(lead * (int(left) - int(right))))
        better = "left" if rng.random() < chance else "right"
        for judge in rng.choice(judges, each, replace=False):
            other = "right" if better == "left" else "left"
            said = better if rng.random() < agree else "tie" if rng.random() < 0.3 else other
            lines.append(f"j{judge},i{item},{NAMES[left]},{NAMES[right]},{said}")
    return "\n".join(lines) + "\n"


def in_german(text: str) -> str:
    """The same table with the headers and words of a German file."""
    words = {"left": "links", "right": "rechts", "tie": "unentschieden"}
    rows = [line.split(",") for line in text.splitlines()]
    named = [[*row[:-1], words.get(row[-1], row[-1])] for row in rows[1:]]
    return "\n".join(
        ";".join(row) for row in [["Jury", "Objekt", "links", "rechts", "Gewinner"], *named]
    )


@pytest.mark.django_db
@pytest.mark.parametrize(
    "text",
    [
        table(1, systems=4, items=60, judges=14, each=3, agree=0.8, lead=0.4),
        table(2, systems=3, items=90, judges=6, each=2, agree=0.7, lead=0.8),
        table(3, systems=2, items=8, judges=12, each=6, agree=0.7, lead=0.8),
        in_german(table(3, systems=2, items=8, judges=12, each=6, agree=0.7, lead=0.8)),
    ],
    ids=["items and judges", "few judges", "few items", "in German"],
)
def test_the_page_and_the_command_give_the_same_numbers(text: str, tmp_path: Path) -> None:
    user = factories.make_user()
    client = Client()
    client.force_login(user)
    score(client, drop(client, text, "pairs.csv"))
    run = Run.objects.get()
    run.params |= {"restarts": 1, "draws": 0}  # of competence, which the command does not print
    run.save(update_fields=["params"])
    assert engine.execute(run.pk) == "done", Run.objects.get(pk=run.pk).error
    (tmp_path / "pairs.csv").write_text(text, encoding="utf-8")
    out = tmp_path / "out"
    call_command(
        "crowdqc_score", str(tmp_path / "pairs.csv"), "--out", str(out), stdout=io.StringIO()
    )
    with (out / "player.csv").open(encoding="utf-8", newline="") as handle:
        theirs = {row["player"]: row for row in csv.DictReader(handle)}
    found = SystemScore.objects.filter(run=run, dimension="preference").select_related("system")
    assert len(found) == len(theirs) >= 2
    run.refresh_from_db()
    make_official(run)
    [listed] = results.tasks(run.project)
    assert listed.systems == len(found)
    told = lists.figures_of(run)
    shown = boards.board(run, told, [], "preference")
    # Every item has texts of two systems: no two grades are of the same topics.
    has_grade = any(column.key == "grade" for table in shown["tables"] for column in table.columns)
    assert has_grade == (len(found) == 2)
    for ours in found:
        for name in SCORES:
            value = theirs[ours.system.name][name]
            expected = pytest.approx(getattr(ours, name) or 0, abs=1e-8)
            assert (float(value) if value else 0) == expected, name
    with (out / "win.csv").open(encoding="utf-8", newline="") as handle:
        counted = [int(row[name]) for row in csv.DictReader(handle) for name in ("wins", "losses")]
    rows = RunFigure.objects.get(run=run, name="win").data
    own = [row for row in rows if row["dimension"] == "preference"]
    assert sorted(counted) == sorted(row[name] for row in own for name in ("wins", "losses"))


@pytest.mark.django_db
def test_of_two_systems_page_report_link_and_command_say_how_many_preferred_the_better(
    tmp_path: Path,
) -> None:
    rows = ["judge,item,left,right,winner"]
    for k in range(45):
        said = "tie" if k % 6 == 5 else "left" if k % 10 else "right"
        rows.append(f"j{k % 12},i{k % 15},aurora,basalt,{said}")
    text = "\n".join(rows) + "\n"
    user = factories.make_user()
    client = Client()
    client.force_login(user)
    score(client, drop(client, text, "pairs.csv"))
    run = Run.objects.get()
    run.params |= {"restarts": 1, "draws": 0}
    run.save(update_fields=["params"])
    assert engine.execute(run.pk) == "done", Run.objects.get(pk=run.pk).error
    run.refresh_from_db()
    (head,) = [
        row
        for row in RunFigure.objects.get(run=run, name="head").data
        if row["dimension"] == "preference"
    ]
    assert (head["decided"], head["ties"]) == (38, 7) and head["low"] < 33 / 38 < head["high"]
    said = "aurora is preferred in 87% of 38 decided votes (95% CI "
    task = run.task
    page = html_of(client.get(reverse("pair_results", args=[run.project_id, task.pk])))
    assert said in page and "against the average system (95%" not in page
    assert said in shared.parts(run, None)["screen"].verdict.text
    assert said in report_of(run)[0]
    (tmp_path / "pairs.csv").write_text(text, encoding="utf-8")
    out = io.StringIO()
    call_command("crowdqc_score", str(tmp_path / "pairs.csv"), stdout=out)
    assert said in out.getvalue()


def test_votes_on_one_item_that_agree_do_not_separate_equal_systems(tmp_path: Path) -> None:
    """Clustered by judge alone, a third of such tables told equal systems apart."""
    apart, path = 0, tmp_path / "pairs.csv"
    for seed in range(20):
        path.write_text(table(seed, systems=5, items=300, judges=30, each=3, agree=0.95))
        found = report(open_file(path)[1].checked, Options(seed=seed)).tables["player"]
        apart += bool((found["rank_low"] > 1).any() or (found["rank_high"] < 5).any())
    assert apart <= 2
