"""What the board says of how far it holds: who decides the top, and what length and style do."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db.models import F
from django.urls import reverse

from annotation.models import AuditEntry, Item, Membership, Task
from annotation.models.tasks import TaskState
from annotation.work.snapshots.judgments import AskedDimension
from evaluation.bundles import public
from evaluation.bundles import writing as bundle
from evaluation.bundles.checking import verify
from evaluation.bundles.kinds.registry import KINDS
from evaluation.models import AdaptivePlan, Run, RunFigure
from evaluation.pairwise import collecting
from evaluation.pairwise.selectors import shared
from evaluation.pairwise.selectors.facts import of_run
from evaluation.pairwise.selectors.names import is_named_by_prompt, pair_name
from evaluation.pairwise.selectors.resistance import top as pair_top
from evaluation.pairwise.selectors.resistance.advice import before_use
from evaluation.pairwise.selectors.resistance.top import public_findings
from evaluation.runs.selectors import lists as reads
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora.pair_study import client_of, page, scored, text_of
from tests.support.pages import findings_in

pytestmark = pytest.mark.django_db
FIGURES = ("controlled", "style", "length", "top", "change", "change_vote", "split")


@pytest.fixture(scope="module")
def fragile_study(shared_rows: None) -> tuple[Task, Membership, Run]:
    task, worker = pair_corpus.make_fragile()
    return task, worker, scored(task)


@pytest.fixture
def fragile(fragile_study: tuple[Task, Membership, Run], db: None) -> tuple[Task, Membership, Run]:
    task, worker, run = fragile_study
    found = Task.objects.select_related("project__owner", "current").get(pk=task.pk)
    return found, worker, Run.objects.get(pk=run.pk)


def test_the_page_of_a_fragile_study_names_the_worker(
    fragile: tuple[Task, Membership, Run],
) -> None:
    task, worker, run = fragile
    html = page(task, "pair_results")
    text = text_of(html)
    assert "top_fragile" in findings_in(html)
    assert f"Removing 3 of 132 votes or worker {worker.pseudonym} would change it." in text
    assert "What would change who leads without 3 votes, model-a (essay) is first" in text
    assert f"{worker.pseudonym} , one worker 12 9.1% model-a (essay)" in text
    assert f"all by worker {worker.pseudonym}" in text
    url = reverse("pair_worker", args=[task.project_id, task.pk, worker.pk])
    assert f'href="{url}?dimension=overall&amp;run={run.number}"' in html
    assert text.count("Show the votes") == 2 and ", one pair" not in text
    assert "model-b (essay) may all be the best: 132 votes are too" in text
    assert "model-b (essay) is third." not in text  # not over all dimensions at once
    assert "Rank 3: below the two above" not in text
    assert "Controlled for words, lists" in text


def test_of_one_judge_nothing_is_said_about_single_workers(
    fragile: tuple[Task, Membership, Run],
) -> None:
    """All votes are theirs: that they decide is no finding, and intervals hold for them alone."""
    task, _worker, run = fragile
    told = reads.figures_of(run)
    recipe = {**told["recipe"], "counts": {**told["recipe"]["counts"], "workers": 1}}
    RunFigure.objects.filter(run=run, name="recipe").update(data=recipe)
    html = page(task, "pair_results")
    assert "one_judge" in findings_in(html)
    assert "all by worker" not in text_of(html) and ", one worker" not in text_of(html)
    found = [one.code for one in shared.parts(run, 1)["screen"].findings]
    assert "one_judge" in found and "top_steady" not in found
    steady = public_findings({**told, "recipe": recipe, "change": []}, "overall", is_open=False)
    assert [one.code for one in steady] == ["one_judge", "top_steady_of_one_judge"]


def test_a_pair_whose_id_an_import_made_is_called_by_its_prompt() -> None:
    named, made = Item(key="q-17", question="Why?"), Item(key="battle-704cd2ff0a1b2c3d")
    assert pair_name(named) == "Pair q-17" and not is_named_by_prompt(named)
    made.question = "Why is the sky blue? " * 9
    assert "sky" in pair_name(made) and made.key not in pair_name(made)
    made.question, made.position = "", 11
    assert "12" in pair_name(made) and made.key not in pair_name(made)


@pytest.mark.parametrize(("names", "code"), [(("a", "b"), "pair_note"), (("a",), None)])
def test_a_note_is_its_own_title_and_never_called_by_dimensions_alone(
    names: tuple[str, ...], code: str | None
) -> None:
    asked = [AskedDimension(name, name.upper()) for name in "ab"]
    warnings = [f"{name}: texts are not all connected by gold labels" for name in names]
    [found] = of_run({"diagnostics": {"warnings": warnings}}, asked)
    assert found.code == (code or "pair_dimension_note") and not found.detail
    assert "connected by estimated labels" in found.text
    assert ("A" in found.text) == (code is None)


def test_people_without_an_account_read_that_one_person_decides_but_not_who(
    fragile: tuple[Task, Membership, Run],
) -> None:
    _, worker, run = fragile
    shown = shared.parts(run, None)
    [fragile] = [one for one in shown["screen"].folded if one.code == "top_fragile"]
    assert fragile.detail == "Removing 3 of 132 votes or one person would change it."
    assert worker.pseudonym not in str(shown)
    assert shown["screen"].verdict.text.startswith("model-a (list), model-a (essay) and model-b")


def test_without_the_worker_another_is_first(fragile: tuple[Task, Membership, Run]) -> None:
    _, worker, run = fragile
    told = reads.figures_of(run, *FIGURES)
    for dimension in ("", "clarity", "overall"):
        rows = [row for row in told["change"] if row["dimension"] == dimension]
        assert {row["worker"] for row in rows if row["kind"] == "person"} == {worker.pk}
        fewest = [row["votes"] for row in rows if row["kind"] == "votes"]
        assert fewest == [3 if dimension else 5]
        listed = [row for row in told["change_vote"] if row["dimension"] == dimension]
        assert {row["worker"] for row in listed} == {worker.pk}


def test_the_controlled_score_stands_beside_the_raw_one_and_in_its_place(
    fragile: tuple[Task, Membership, Run],
) -> None:
    task, _, run = fragile
    text = text_of(page(task, "pair_results"))
    assert "Raw score Controlled for length and style" in text
    assert "Controlled Median words Votes" in text
    told = reads.figures_of(run, *FIGURES)
    equal = {r["system"]: r for r in told["controlled"] if r["dimension"] == "overall"}
    raw = {r.system_id: r for r in run.systemscore_rows.filter(dimension="overall")}
    best = max(equal.values(), key=lambda row: row["estimate"])
    assert f"{best['estimate']:.2f}".replace("0.", ".") in text
    controlled = page(task, "pair_results", query="?score=controlled&dimension=overall")
    text = text_of(controlled)
    assert "Raw Median words Votes" in text
    assert f"{raw[best['system']].estimate:.2f}".replace("0.", ".") in text
    assert 'aria-current="page">Controlled for length and style' in controlled


def test_who_is_first_by_votes_alone_is_not_called_sure(
    fragile: tuple[Task, Membership, Run],
) -> None:
    task, _, run = fragile
    rows = run.systemscore_rows.filter(dimension="overall")
    rows.update(rank_low=2, rank_high=4)
    top = rows.order_by("-estimate").first()
    assert top is not None
    rows.filter(pk=top.pk).update(rank_low=1, rank_high=1)
    for query in ("?dimension=overall", "?dimension=overall&score=controlled"):
        html = page(task, "pair_results", query=query)
        assert "rank_at_equal_length" in findings_in(html)
        assert "At equal length and style its lead is not sure: " in text_of(html)
    before = before_use(task, "overall")  # what the page of a live evaluation says to do
    assert before is not None and before.code == "rank_at_equal_length"
    assert before.action is not None and "score=controlled" in before.action.url
    shown = shared.parts(run, None)
    assert "At equal length and style its lead is not sure" in shown["screen"].verdict.text


def test_a_study_whose_texts_do_not_differ_says_why_there_is_no_control() -> None:
    task = pair_corpus.make_judged(workers=8, topics=2)
    scored(task)
    html = page(task, "pair_results")
    assert "the two texts of each pair do not differ in words" in text_of(html)
    assert "Raw score" not in text_of(html) and "Mean grade" in text_of(html)


def test_a_board_by_kind_of_pair_is_on_the_page_in_csv_and_in_a_bundle_that_verifies(
    tmp_path: Path,
) -> None:
    task = pair_corpus.make_task(topics=8, sources=3, redundancy=6)
    for item in task.items.select_related("first"):
        assert item.first is not None
        kind = "code" if int(item.first.topic[-1]) % 2 else "prose"
        Item.objects.filter(pk=item.pk).update(
            settings={"meta": {"category": kind, "id": item.key}}
        )
    run = scored(pair_corpus.make_judged(workers=8, task=task))
    told = reads.figures_of(run, "stratum", "stratum_system", "shift")
    assert {row["column"] for row in told["stratum"]} == {"difficulty", "topic", "category"}
    html = page(task, "pair_results")
    text = text_of(html)
    assert "By kind of pair" in text and "Hard: the others are split" in text
    assert "Category" in text and "prose. 12 pairs" in text
    assert "no system is shown to do better on one kind than on another" in text
    assert "Topic Not split: fewer than two kinds have 10 pairs." in text
    where = reverse("pair_export", args=[task.project_id, task.pk])
    sent = client_of(task).get(f"{where}?run={run.number}&table=kinds").content.decode()
    rows = list(csv.DictReader(io.StringIO(sent)))
    mine = [row for row in rows if row["column"] == "category" and row["dimension"] == "overall"]
    assert {row["kind"] for row in mine} == {"code", "prose"} and len(mine) == 6
    assert float(mine[0]["low"]) < float(mine[0]["score"]) < float(mine[0]["high"])
    path = tmp_path / "run.zip"
    path.write_bytes(b"".join(bundle.parts(run, {})))
    assert verify(path).good
    public_text = b"".join(public.Renamed(dict(KINDS["pairwise"].pack(run))).data().values())
    assert b"category" not in public_text and b'"column 1": "kind' in public_text


def test_a_run_that_is_older_shows_its_board_without_them(
    fragile: tuple[Task, Membership, Run],
) -> None:
    task, _, run = fragile
    RunFigure.objects.filter(run=run, name__in=FIGURES).delete()
    text = text_of(page(task, "pair_results"))
    assert "may all be the best" in text and "Mean grade" in text
    assert "What would change who leads" not in text and "fragile" not in text


def test_a_bundle_gives_the_controlled_board_and_the_changes_again(
    fragile: tuple[Task, Membership, Run], tmp_path: Path
) -> None:
    run = fragile[2]
    path = tmp_path / "bundle.zip"
    path.write_bytes(b"".join(bundle.parts(run, {})))
    with zipfile.ZipFile(path) as archive:
        texts = archive.read("data/texts.jsonl").decode()
    assert '"counts": [' in texts and "poured slowly" not in texts
    report = verify(path)
    assert report.good, report.lines
    assert any("byte for byte the same" in line for _, line in report.lines), report.lines


def test_a_requester_collects_the_votes_that_would_separate_the_first_two() -> None:
    task = pair_corpus.make_judged(topics=3, varied=True)
    run = scored(task)
    rows = task.items.filter(expected__isnull=True, repeat=False, second__isnull=False)
    rows.update(redundancy=F("held"))
    [top] = [
        row
        for row in RunFigure.objects.get(run=run, name="top").data
        if row["dimension"] == "overall"
    ]
    html = page(task, "pair_results")
    assert "collect_votes" in findings_in(html)
    found = re.search(r"Collect ([\d,]+) judgments,", text_of(html))
    assert found is not None
    votes = int(found[1].replace(",", ""))
    held = sum(rows.values_list("held", flat=True))
    assert top["needed"] <= held + votes <= 1.1 * top["needed"] + rows.count()
    client = client_of(task)
    where = reverse("pair_collect", args=[task.project_id, task.pk])
    kept = RunFigure.objects.get(run=run, name="top").data
    few = [{**row, "few_topics": 3} for row in kept]
    RunFigure.objects.filter(run=run, name="top").update(data=few)
    html = page(task, "pair_results")
    assert "add_pair_topics" in findings_in(html) and "collect_votes" not in findings_in(html)
    assert "3 topics are too few" in text_of(html)
    refused = client.post(where, {"run": run.number, "dimension": "overall"})
    assert refused.status_code == 409
    RunFigure.objects.filter(run=run, name="top").update(data=kept)
    answer = client.post(where, {"run": run.number, "dimension": "overall"}, follow=True)
    assert f"{votes:,} more judgments requested" in answer.content.decode()
    assert sum(rows.values_list("redundancy", flat=True)) == held + votes
    assert AuditEntry.objects.filter(action="items.wanted").count() == 1
    Task.objects.filter(pk=task.pk).update(state=TaskState.CLOSED)
    closed = page(task, "pair_results")
    assert 'id="collect"' not in closed and "closed_answers" in findings_in(closed)
    assert client.post(where, {"run": run.number, "dimension": "overall"}).status_code == 409


def test_nothing_is_offered_where_a_live_evaluation_or_adaptive_collection_decides(
    fragile: tuple[Task, Membership, Run],
) -> None:
    task, _, run = fragile
    assert run.snapshot is not None
    used = run.snapshot.counts["answers"]
    assert collecting.offer(task, 2 * used) is not None
    assert collecting.offer(task, 0) is None
    AdaptivePlan.objects.create(task=task, dimension="overall", floor=2, ceiling=9, enabled=True)
    assert collecting.offer(task, 2 * used) is None
    AdaptivePlan.objects.all().delete()
    task.most_answers = 10
    assert collecting.offer(task, 2 * used) is None


def test_two_that_score_the_same_are_a_choice_by_cost() -> None:
    rows: Any = [SimpleNamespace(id=pk, group=1) for pk in (1, 2)]
    top = {"system_a": 1, "system_b": 2, "gap": 0.0, "error": 0.4, "votes": 36, "needed": None}
    needed = pair_top._votes_needed(rows, top)
    assert pair_top._many(needed, needed / 36) == "more than 20 times as many"
    assert pair_top._votes_needed(rows, {**top, "error": None}) == 0.0
