"""What a study's authors published, beside our own runs, measured from the database's rows."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import json
import time
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command

from annotation.models import Answer, Candidate, ChoiceValue, Item, Membership, Task
from annotation.work.actions import answers, exclusions
from crowdqc.errors import Conflict, Invalid, Missing
from evaluation.methods.bradley_terry.arena import arena_ratings
from evaluation.methods.bradley_terry.method import fit
from evaluation.methods.core.votes import Pairs
from evaluation.models import CandidateScore, ItemLabel, Run, RunFigure, SystemScore, WorkerScore
from evaluation.pairwise import arena_board
from evaluation.published.formats import crowdrag as published
from evaluation.published.reproduce.crowdrag import tables as crowdrag
from evaluation.published.reproduce.crowdrag.data import DIMENSIONS, load
from evaluation.published.reproduce.data import data_folder
from evaluation.published.studies.crowdrag_checks import METHOD, TABLES
from evaluation.published.studies.data import as_crowdrag
from evaluation.runs import engine as runs
from tests.evaluation.corpora.official_runs import make_official
from tests.support import factories as make
from tests.support.studies.crowdrag_study import make_folder
from tests.support.studies.judging import make_pairs

pytestmark = pytest.mark.django_db


def take_in(folder: Path, *more: str) -> tuple[Task, Run, str]:
    """The task, its published run and what the command said."""
    user, out = make.make_user(), StringIO()
    call_command(
        "crowdqc_import",
        "crowdrag",
        str(folder),
        "--new-project",
        "Storks",
        "--by",
        user.username,
        *more,
        stdout=out,
        stderr=StringIO(),
    )
    run = Run.objects.select_related("task__project").get(method="published")
    return run.task, run, out.getvalue()


def same(ours: Any, theirs: Any) -> bool:
    """Whether two studies hold the same arrays, of the same types, and the same names."""
    if dataclasses.is_dataclass(ours):
        return all(
            same(getattr(ours, field.name), getattr(theirs, field.name))
            for field in dataclasses.fields(ours)
        )
    if isinstance(ours, dict):
        return list(ours) == list(theirs) and all(same(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, np.ndarray):
        kept = ours.dtype == theirs.dtype
        return kept and np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f")
    return bool(ours == theirs)


def keyed(rows: list[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(row["table"], row["quantity"], row["protocol"]): row for row in rows}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path)


def test_the_database_gives_the_study_and_its_tables_as_the_files_do(folder: Path) -> None:
    task, run, _ = take_in(folder, "--no-runs")
    study = load(folder)
    assert same(as_crowdrag(task, run), study)
    tables = RunFigure.objects.get(run=run, name=TABLES).data
    assert tables == published.as_json(crowdrag.table_rows(study, seed=published.SEED))
    assert {row["table"] for row in tables} >= {f"Table {k}" for k in (4, 5, 6, 7, 9)}
    assert (run.state, run.version, run.snapshot, run.source) == ("done", "CrowdRAG-25", None, None)
    assert len(run.result_hash) == 64
    labels_are_turned_to_the_pair_as_it_is_stored(folder, run)


def labels_are_turned_to_the_pair_as_it_is_stored(folder: Path, run: Run) -> None:
    with gzip.open(folder / "pairwise_gold_published.csv.gz", "rt", newline="") as handle:
        gold = {
            (r["response_a"], r["response_b"], r["dimension"]): r for r in csv.DictReader(handle)
        }
    labels = ItemLabel.objects.filter(run=run).select_related("item__first", "item__second")
    assert len(labels) == len(gold) == 60 * 7
    for row in labels:
        first, second, p = row.item.first.key, row.item.second.key, row.posterior
        left, right = (first, second) if row.item.side > 0 else (second, first)
        told = gold[left, right, row.dimension]
        better = {"a": left, "b": right, "n": None}[told["gold"]]
        assert {"first": first, "second": second, "neutral": None}[row.label] == better
        assert p["first" if left == first else "second"] == float(told["p_a"])
        assert p["neutral"] == float(told["p_n"])
        assert max(p.values()) == p[row.label] and row.n in (5, 10)
    assert {row.item.side for row in labels} == {-1, 1}
    scores = WorkerScore.objects.filter(run=run)
    assert len(scores) == 14 * 7
    assert all(row.estimate == 1 - row.extra["spam"] for row in scores)
    assert CandidateScore.objects.filter(run=run).count() == 18 * 7
    grades = CandidateScore.objects.filter(run=run, dimension=DIMENSIONS[0])
    assert Counter(row.extra["grade"] for row in grades) == dict.fromkeys(range(1, 7), 3)


def test_later_decisions_of_the_team_do_not_change_what_was_published(folder: Path) -> None:
    task, run, _ = take_in(folder, "--no-runs")
    before, by = as_crowdrag(task, run), task.project.owner
    some = Answer.objects.filter(item__task=task, worker__isnull=False, counts=True).first()
    assert some is not None and some.worker is not None
    answers.set_counts(by=by, answer=some, counts=False, reason="looked odd")
    exclusions.exclude(by=by, task=task, worker=some.worker, reason="looked odd")
    left_out = Task.objects.get(source=task).exclusions.get()
    exclusions.undo(by=by, exclusion=left_out)
    assert same(as_crowdrag(task, run), before)


@pytest.mark.slow
@pytest.mark.long
def test_the_checks_that_follow_give_the_rest_of_the_reproduction(folder: Path) -> None:
    task, run, said = take_in(folder)
    assert "Queued: run 2 (ours), run 3 (the experts), run 4 (Table 8" in said
    checks = Run.objects.get(method=METHOD)
    assert checks.source == run and published.queue_checks(by=None, published=run) == checks
    Run.objects.filter(pk=checks.pk).update(params={"restarts": 2})
    assert runs.execute(checks.pk) == "done"
    checks.refresh_from_db()
    assert [(step["state"], step["done"] == step["total"]) for step in checks.progress] == [
        ("done", True)
    ] * 3
    rows = [
        *RunFigure.objects.get(run=run, name=TABLES).data,
        *RunFigure.objects.get(run=checks, name=TABLES).data,
    ]
    wanted = crowdrag.reproduce(folder, say=lambda line: None, repetitions=2)
    assert keyed(rows) == keyed(published.as_json(wanted))
    _, again = published.import_published(by=task.project.owner, task=task, study=None)  # type: ignore[arg-type]
    assert not again and Run.objects.filter(task=task).count() == 3


def test_nobody_starts_the_checks_by_hand_or_takes_another_task_for_the_study(
    folder: Path,
) -> None:
    task, run, _ = take_in(folder, "--no-runs")
    other = make_pairs(make.make_project())
    with pytest.raises(Conflict, match="does not ask for the dimensions"):
        as_crowdrag(other, run)
    with pytest.raises(Invalid, match="is not a method"):
        runs.start(by=None, task=task, method=METHOD)
    core = Run.objects.create(
        project=task.project, task=task, number=9, method="pairwise", version="1"
    )
    with pytest.raises(Conflict, match="Only a published result"):
        published.queue_checks(by=None, published=core)


def test_the_leaderboard_has_the_arenas_ratings_beside_the_merits_of_the_run() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 2, 90), rng.integers(2, 4, 90)
    outcome = np.where(rng.random(90) < 0.2 + 0.2 * first, 0, rng.integers(1, 3, 90))
    data = Pairs.build(first, second, outcome, players=list("abcd"))
    result = fit(data, rng=rng)
    task = make_pairs(make.make_project(), n=2)
    run = Run.objects.create(
        project=task.project, task=task, number=1, method="pairwise", version="1", state="done"
    )
    systems = list({c.system for c in Candidate.objects.select_related("system")})
    table = result.estimates["player"]
    for row in table.rows():
        SystemScore.objects.create(
            run=run,
            system=systems[row["player"]],
            dimension="quality_overall",
            component=1,
            estimate=row["estimate"],
            low=row["low"],
            high=row["high"],
            n=9,
        )
    cells: dict[tuple[int, int], list[int]] = {}
    for a, b, outcome_, weight in zip(
        data.first, data.second, data.outcome, data.weight, strict=True
    ):
        cells.setdefault((int(a), int(b)), [0, 0, 0])[outcome_] += int(weight)
    RunFigure.objects.create(
        run=run,
        name="win",
        data=[
            {
                "dimension": "quality_overall",
                "system_a": systems[a].pk,
                "system_b": systems[b].pk,
                **dict(zip(("wins", "ties", "losses"), counts, strict=True)),
            }
            for (a, b), counts in cells.items()
        ],
    )
    with pytest.raises(Missing, match="no official run"):
        arena_board.core_run(task)
    make_official(run)
    found = arena_board.board(arena_board.core_run(task), "quality_overall")
    wanted, names = arena_ratings(data), [str(system) for system in systems]
    order = sorted(range(4), key=lambda k: -wanted["ratings"][k])
    assert found["competitors"] == [names[k] for k in order]
    for name in ("ratings", "rating_lower", "rating_upper", "variances"):
        assert found[name] == pytest.approx([wanted[name][k] for k in order], rel=1e-6), name
    assert found["merits"] == pytest.approx([table["estimate"][k] for k in order])
    assert "a tie is half a win" in found["convention"]["ratings"]
    assert "Davidson" in found["convention"]["merits"] and found["convention"]["scale"] == 400
    assert json.loads("".join(arena_board.lines(run, "quality_overall"))) == found
    with pytest.raises(Invalid, match="no board 2 on quality_overall"):
        arena_board.board(run, "quality_overall", 2)


@pytest.mark.data
@pytest.mark.long
def test_the_published_study_is_taken_in_within_a_minute_with_its_tables() -> None:
    try:
        folder = data_folder()
    except Invalid as reason:
        pytest.skip(f"the published data is not here: {reason.message}")
    began = time.process_time()  # of this process: others share the machine
    task, run, said = take_in(folder / "crowdrag", "--no-runs")
    assert time.process_time() - began < 60
    people = Answer.objects.filter(item__task=task, worker__isnull=False)
    assert (Candidate.objects.count(), people.count()) == (1806, 6920)
    values = ChoiceValue.objects.filter(answer__item__task=task, answer__worker__isnull=False)
    assert values.count() == 6920 * 7
    assert people.values("worker").distinct().count() == 420
    assert people.filter(counts=True).count() == 6760
    items = Item.objects.filter(task=task)
    assert items.count() == 1352 and items.values("first", "second").distinct().count() == 975
    assert Answer.objects.filter(item__task=task, system__isnull=False).count() == 2359
    study = load(folder)
    assert same(as_crowdrag(task, run), study)
    ours = keyed(RunFigure.objects.get(run=run, name=TABLES).data)
    theirs = keyed(published.as_json(crowdrag.table_rows(study)))
    assert ours.keys() == theirs.keys() and len(ours) == 362
    for key, row in theirs.items():
        assert abs(ours[key]["measured"] - row["measured"]) <= 1e-12, key
    before = [model.objects.count() for model in (Answer, ChoiceValue, Item, Membership, Run)]
    call_command(
        "crowdqc_import",
        "crowdrag",
        str(folder / "crowdrag"),
        "--project",
        str(task.project_id),
        "--by",
        task.project.owner.username,
        "--no-runs",
        stdout=StringIO(),
        stderr=StringIO(),
    )
    assert before == [
        model.objects.count() for model in (Answer, ChoiceValue, Item, Membership, Run)
    ]
    assert "nothing was added" not in said
