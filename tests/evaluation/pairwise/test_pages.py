"""Pages of a pairwise study: what they say, that they only read rows, and who may see them."""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.test import Client
from django.urls import reverse

from annotation.authoring.actions import tasks
from annotation.models import Answer, ChoiceValue, Item, Membership, System, Task
from annotation.work.actions import exclusions
from annotation.work.actions.answers import set_counts
from annotation.work.snapshots import judgments
from annotation.work.snapshots.judgments import AskedDimension
from evaluation.models import CandidateScore, Run, RunFigure, RunState, SystemScore
from evaluation.overview import results as overview_results
from evaluation.pairwise.selectors import boards as pair_boards
from evaluation.pairwise.selectors import live as pair_live
from evaluation.runs import engine as runs
from evaluation.runs.results import votes_used
from evaluation.runs.selectors import lists as reads
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.evaluation.corpora.pair_study import QUICK, client_of, page, published, scored, text_of
from tests.support import factories
from tests.support.pages import findings_in

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def judged_task(shared_rows: None) -> Task:
    """A study with a finished run, the official one."""
    task = pair_corpus.make_judged()
    scored(task)
    return task


@pytest.fixture
def task(judged_task: Task, db: None) -> Task:
    return Task.objects.select_related("project__owner", "current").get(pk=judged_task.pk)


@pytest.fixture
def run(task: Task) -> Run:
    return Run.objects.get(task=task, source__isnull=True)


# The board and the matrix ----------------------------------------------------------------------


def test_before_the_first_run_the_page_says_how_many_judgments_are_missing() -> None:
    task = pair_corpus.make_task()
    text = text_of(page(task, "pair_results"))
    assert "more judgments and the first run starts automatically" in text
    assert "Nobody has judged yet." in text
    assert "Judgments 0 of 300" in text
    assert "Nothing ranked yet" in text


def test_a_study_that_is_still_a_draft_leads_back_to_building_it() -> None:
    project = factories.make_project()
    task = tasks.create_task(by=project.owner, project=project, type="pairwise", title="A draft")
    text = text_of(page(task, "pair_results"))
    assert "Publish the study, and judgments come in here" in text
    for name in ("pair_wins", "pair_list", "pair_workers"):
        assert "Nothing ranked yet" in text_of(page(task, name))


def test_the_board_says_merits_intervals_ranks_and_wins_against_the_average(
    task: Task, run: Run
) -> None:
    rows = {str(row.system): row for row in run.systemscore_rows.filter(dimension="overall")}
    text = text_of(page(task, "pair_results"))
    assert "Systems: Overall" in text
    assert "300 judgments of 60 pairs by 12 workers." in text
    best = rows["model-a, essay"]
    # What the first wins is no sign of its lead where others may be the first as well.
    leads = sum(row.rank_low == 1 for row in rows.values()) == 1
    wins = f"model-a, essay wins {1 / (1 + math.exp(-best.estimate)):.2f}".replace("0.", ".")
    assert (wins in text) == leads
    assert text.index("model-a essay") < text.index("people list") < text.index("model-b list")
    assert "cannot be separated" in text
    assert f"{best.rank_low}–{best.rank_high}" in text or f" {best.rank_low} " in text
    grades = {
        (r["dimension"], r["system"]): r["grade"] for r in reads.figures_of(run)["grade_mean"]
    }
    assert f"{grades['overall', best.system_id]:.2f}" in text
    assert "Limits of this score" in text
    other = text_of(page(task, "pair_results", query="?dimension="))
    assert "all dimensions together" in other and other != text
    assert page(task, "pair_results", query="?dimension=clarity").count("<tbody") >= 2


@pytest.mark.parametrize(("second", "said"), [(1, False), (2, True)])
def test_what_the_first_wins_is_given_of_a_sure_lead_alone(second: int, said: bool) -> None:
    rows = [
        SimpleNamespace(sure=True, wins=0.8, low=0.5, high=2.0, best=best, label="owl")
        for best in (1, second)
    ]
    assert bool(pair_boards.first_words(cast("Any", rows))) == said


def test_the_table_of_ranks_agrees_with_the_rows_of_every_dimension(task: Task, run: Run) -> None:
    told = reads.figures_of(run, *pair_boards.FIGURES)
    asked = judgments.version_items(task.current)
    found = pair_boards.board(run, told, asked, "overall")
    heads = [head["name"] for head in found["columns"]]
    assert heads == ["clarity", "overall", ""]
    for row, cells in found["ranks"]:
        for name, cell in zip(heads, cells, strict=True):
            score = SystemScore.objects.get(run=run, system=row.id, dimension=name)
            low, high = score.rank_low, score.rank_high
            assert cell["text"] == (str(low) if low == high else f"{low}–{high}")


def test_systems_that_no_pair_connects_stand_on_two_boards() -> None:
    task = pair_corpus.make_task(topics=6)
    upper = [f"-s{k}" for k in range(3)]
    for item in task.items.select_related("first", "second"):
        sides = [any(text.key.endswith(end) for end in upper) for text in (item.first, item.second)]
        if sides[0] != sides[1]:
            item.delete()
    pair_corpus.make_judged(task=task)
    scored(task)
    text = text_of(page(task, "pair_results"))
    assert "They stand on 2 boards, which do not compare." in text
    assert "Board 1: 3 systems" in text and "Board 2: 3 systems" in text
    assert "never compared" in text or "no chain of pairs leads from one to the other" in text


def test_the_win_matrix_is_what_counting_the_votes_gives(task: Task, run: Run) -> None:
    counted: dict[tuple[int, int], list[int]] = {}
    rows = ChoiceValue.objects.filter(answer__item__task=task, field="clarity").values_list(
        "answer__item__first__system", "answer__item__second__system", "code"
    )
    for first, second, code in rows:
        for a, b, won, lost in (
            (first, second, "first", "second"),
            (second, first, "second", "first"),
        ):
            cell = counted.setdefault((a, b), [0, 0, 0])
            cell[("neutral", won, lost).index(code)] += 1
    found = pair_boards.win_matrix(reads.figures_of(run, "win", "grade_mean"), run, "clarity")
    systems = {str(one): one.pk for one in System.objects.filter(project=task.project)}
    for line in found["lines"]:
        for head, cell in zip(found["heads"], line["cells"], strict=True):
            if cell is None:
                assert head == line["label"]
                continue
            ties, wins, losses = counted[systems[line["label"]], systems[head]]
            assert (cell.wins, cell.ties, cell.losses) == (wins, ties, losses)
    assert found["votes"] == len(rows)
    assert f"{len(rows)} votes between 6 systems" in page(
        task, "pair_wins", query="?dimension=clarity"
    )


# Live ------------------------------------------------------------------------------------------


def live(task: Task, shown: int, query: str = "") -> str:
    response = client_of(task).get(
        reverse("pair_live", args=[task.project_id, task.pk]) + f"?shown={shown}{query}",
        headers={"HX-Request": "true"},
    )
    assert response.status_code == 200
    return response.content.decode().replace("\u00a0", " ")


def test_the_strip_asks_again_until_the_study_is_complete_or_closed(task: Task, run: Run) -> None:
    Run.objects.exclude(pk=run.pk).update(state=RunState.CANCELLED)
    said = live(task, run.pk)
    assert "300</b> of 300" in said and "60</b> of 60" in said
    assert "Run 1 has every judgment that counts" in said
    assert "hx-get" not in said  # complete, and nothing is to come
    Item.objects.filter(task=task).update(redundancy=6)
    assert 'hx-trigger="every 5s"' in live(task, run.pk)
    tasks.move(by=task.project.owner, task=task, to="close")
    assert "hx-get" not in live(task, run.pk)


def test_the_strip_follows_a_run_and_fetches_the_page_of_a_newer_one(task: Task, run: Run) -> None:
    assert "The extra checks of run 1 wait for" in live(task, run.pk)
    item = task.items.get(key="t0-s0_t0-s1")
    newcomer = factories.make_worker(project=task.project)
    Item.objects.filter(pk=item.pk).update(redundancy=6, held=6)
    pair_corpus.judge(task, newcomer, [item], "left", pair_corpus.np.random.default_rng(3))
    assert "1 new judgment since run 1" in live(task, run.pk)
    second = runs.start(by=task.project.owner, task=task, params=QUICK)
    assert f"Run {second.number} waits for a free worker" in live(task, run.pk)
    Run.objects.filter(pk=second.pk).update(
        state=RunState.RUNNING,
        progress=[
            {"name": "Snapshot", "state": "done", "done": 0, "total": 0},
            {"name": "Estimated labels", "state": "running", "done": 1, "total": 2},
        ],
    )
    said = live(task, run.pk)
    assert f"Run {second.number} in progress, 75%: estimated labels" in said
    assert 'hx-trigger="every 2s"' in said and 'hx-target="#main"' not in said
    Run.objects.filter(pk=second.pk).update(state=RunState.QUEUED)
    runs.execute(second.pk)
    said = live(task, run.pk)
    assert 'hx-trigger="load" hx-select="#main"' in said  # once, in place of the polling
    assert 'hx-trigger="every' not in said
    assert f"The extra checks of run {second.number} follow those of run 1, 0% done" in said
    pinned = live(task, run.pk, "&run=1")
    assert f"Run {second.number} is finished." in pinned and "hx-select" not in pinned


def test_counts_and_cost_are_those_of_the_judgments_that_count(task: Task) -> None:
    answer = Answer.objects.filter(item__task=task)[0]
    set_counts(by=task.project.owner, answer=answer, counts=False, reason="was late")
    came = pair_live.collected_counts(task)
    assert (came.items, came.wanted, came.given, came.complete) == (60, 300, 299, 59)
    spent = task.assignments.count() * 1.2
    figures = pair_live.figures(task, came)
    assert figures[2]["value"] == f"€{spent:.2f}"


def test_repeats_are_counted_among_all_pairs_not_among_the_complete_ones(task: Task) -> None:
    came = pair_live.CollectedCounts(8, 2, 24, 6, 18, 2, (8, 6))
    pairs = pair_live.figures(task, came)[1]
    assert (pairs["value"], pairs["of"]) == ("2", "of 8")
    assert pairs["note"] == "2 of the 8 are repeats"


def test_a_board_opens_at_the_overall_dimension_else_at_the_first() -> None:
    clear, helps = (AskedDimension(name, name, True) for name in ("clarity", "helpfulness"))
    overall = AskedDimension("quality_overall", "Overall", True)
    assert pair_boards.default_dimension([helps, clear]) == "helpfulness"
    assert pair_boards.default_dimension([helps, overall, clear]) == "quality_overall"


# Published, exports, runs ----------------------------------------------------------------------


def test_a_published_result_stands_beside_ours_and_can_be_shown(task: Task, run: Run) -> None:
    other = published(task, run)
    assert f"?run={other.number}" in page(task, "pair_results")
    assert "published_beside" in findings_in(page(task, "pair_results"))
    shown = page(task, "pair_results", query=f"?run={other.number}")
    assert "published_shown" in findings_in(shown)
    assert "The published result has no board of systems" in shown
    for name in ("pair_list", "pair_workers", "pair_wins"):
        assert "Published" in page(task, name, query=f"?run={other.number}")
    page(task, "pair_results", query="?run=77", status=404)


def test_rows_of_a_run_are_exported_with_names_and_a_manifest(task: Task, run: Run) -> None:
    client = client_of(task)
    url = reverse("pair_export", args=[task.project_id, task.pk])
    lines = b"".join(client.get(url, {"table": "labels"}).streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert lines[0].startswith("item_id,first_candidate,second_candidate,dimension,component,label")
    assert len(lines) == 1 + run.labels.count()
    texts = b"".join(
        client.get(url, {"table": "texts", "format": "jsonl"}).streaming_content  # type: ignore[attr-defined]
    ).splitlines()
    assert len(texts) == CandidateScore.objects.filter(run=run).count()
    assert json.loads(texts[0])["grade"] is not None
    bundle = client.get(url).content
    assert bundle == client.get(url).content
    with zipfile.ZipFile(io.BytesIO(bundle)) as opened:
        manifest = json.loads(opened.read("manifest.json"))
        told = json.loads(opened.read("figures.json"))
    assert set(manifest["files"]) == {
        "workers.csv",
        "systems.csv",
        "texts.csv",
        "labels.csv",
        "columns.csv",
        "figures.json",
    }
    assert manifest["task_versions"] == [1] and manifest["result_hash"] == run.result_hash
    assert {row["system_a"] for row in told["win"]} <= {
        str(one) for one in System.objects.filter(project=task.project)
    }
    assert {row["worker"] for row in told["straight_worker"]} <= set(
        Membership.objects.values_list("pseudonym", flat=True)
    )
    assert client.get(url, {"table": "answers"}).status_code == 422
    battles = client.get(url, {"what": "arena", "format": "jsonl", "dimension": "clarity"})
    assert len(b"".join(battles.streaming_content).splitlines()) == 300  # type: ignore[attr-defined]
    assert client.get(url, {"what": "arena", "format": "csv"}).status_code == 422


def test_beside_each_label_stand_those_of_dawid_skene_and_of_the_majority(
    task: Task, run: Run
) -> None:
    label = run.labels.filter(dimension="clarity")[0]
    rows = ChoiceValue.objects.filter(answer__item=label.item_id, field="clarity")
    counted = Counter(rows.values_list("code", flat=True)).most_common()
    level = len(counted) > 1 and counted[0][1] == counted[1][1]
    assert label.extra["majority"] == ("" if level else counted[0][0])
    assert label.extra["dawid_skene"] in {"first", "neutral", "second"}
    for other in ("dawid_skene", "majority"):
        label.extra[other] = "second" if label.label != "second" else "first"
    label.save()
    for html in (
        page(task, "pair_list", query="?dimension=clarity"),
        page(task, "pair", label.item_id),
    ):
        assert re.search(r'<th scope="col"[^>]*>Dawid-Skene', html)
        assert re.search(r'<th scope="col"[^>]*>Majority', html)
        assert html.count("differs</span>") >= 2
        assert "hold if the model holds" in html


def test_options_of_a_run_are_those_of_the_pairwise_method() -> None:
    task = pair_corpus.make_judged(topics=2, workers=8)
    client = client_of(task)
    url = reverse("run_start", args=[task.project_id, task.pk])
    assert "One competence for all dimensions" in page(task, "run_start")
    options = {
        "rank_by": "competence",
        "prevalence": "uniform",
        "algorithm": "vb",
        "restarts": "2",
        "draws": "50",
        "resamples": "100",
        "regularisation": "0.2",
        "early": "7",
        "seed": "3",
        "pooled": "on",
    }
    response = client.post(url, options)
    assert response.status_code == 422
    assert "it must be 0, or a whole number from 100 to 20,000" in response.content.decode()
    assert client.post(url, {**options, "draws": "100"}).status_code == 302
    run = Run.objects.latest("pk")
    assert (run.method, run.seed) == ("pairwise", 3)
    assert run.params["pooled"] is True and run.params["rank_by"] == "competence"
    assert runs.execute(run.pk) == RunState.DONE
    Run.objects.filter(state=RunState.QUEUED).delete()
    assert client.post(url, {"again": "1"}).status_code == 302
    assert Run.objects.latest("pk").params == run.params


def test_results_runs_and_overview_lead_to_the_pages_of_the_study(task: Task, run: Run) -> None:
    client = client_of(task)
    board = reverse("pair_results", args=[task.project_id, task.pk])
    response = client.get(reverse("task_results", args=[task.project_id, task.pk]) + "?run=1")
    assert response.url == f"{board}?run=1"
    assert (
        client.get(reverse("results", args=[task.project_id]), follow=True).redirect_chain[-1][0]
        == board
    )
    factories.make_task(task.project)
    listed = client.get(reverse("results", args=[task.project_id])).content.decode()
    assert "run 1," in listed and "Scored" in listed
    told = client.get(reverse("run", args=[task.project_id, run.number])).content.decode()
    assert "Run 1: pairwise study" in told and "AQER" not in told
    assert "300 judgments of 60 pairs by 12 workers." in told
    assert f"{board}?run=1" in told
    history = client.get(reverse("run_list", args=[task.project_id])).content.decode()
    assert f"{board}?run=1" in history and "by dimension" in history
    overview = client.get(reverse("project", args=[task.project_id])).content.decode()
    assert "Distinguishable systems" in overview and "60 pairs" in overview
    for name in ("task_results_systems", "task_results_questions", "task_results_convergence"):
        assert client.get(reverse(name, args=[task.project_id, task.pk])).status_code == 404


def test_leaving_somebody_out_is_new_to_the_next_run_only(task: Task, run: Run) -> None:
    from evaluation.runs import schedules

    assert schedules.count_new_answers(task, run).any == 0
    worker = Answer.objects.first().worker
    exclusions.exclude(by=task.project.owner, task=task, worker=worker, reason="A test.")
    assert (
        schedules.count_new_answers(task, run).changed
        == Answer.objects.filter(worker=worker).count()
    )
    [listed] = overview_results.tasks(task.project)  # as the page of the run says
    assert listed.new == schedules.count_new_answers(task, run).changed
    Run.objects.filter(state=RunState.QUEUED).delete()
    again = scored(task)
    assert schedules.count_new_answers(task, again).any == 0
    make_official(again)
    [listed] = overview_results.tasks(task.project)
    assert (listed.used, listed.new) == (again.snapshot.counts["answers"], 0)
    figure = RunFigure.objects.get(run=again, name=votes_used.FIGURE)
    figure.data["left_out"]["repeat"] = 7
    figure.data["used"] -= 7
    figure.save()
    [less] = overview_results.tasks(task.project)
    assert less.used == listed.used - 7


# Everybody and every size ----------------------------------------------------------------------

NAMES = (
    "pair_results",
    "pair_live",
    "pair_wins",
    "pair_list",
    "pair",
    "pair_workers",
    "pair_worker",
    "pair_export",
)


def address(name: str, task: Task) -> str:
    more = {
        "pair": [task.items.order_by("pk").first().pk],
        "pair_worker": [Answer.objects.filter(item__task=task).first().worker_id],
    }.get(name, [])
    return reverse(name, args=[task.project_id, task.pk, *more])


def test_outsiders_find_nothing_workers_are_refused_and_managers_see_all(task: Task) -> None:
    people = {
        404: factories.make_user(),
        403: factories.make_worker(task.project).user,
        200: factories.make_member(task.project).user,
    }
    client = Client()
    for name in NAMES:
        assert client.get(address(name, task)).status_code == 302  # to the sign-in page
        assert client.post(address(name, task)).status_code in (302, 405)
    for status, person in people.items():
        client.force_login(person)
        for name in NAMES:
            assert client.get(address(name, task)).status_code == status, name
    other = factories.make_task(task.project)
    assert client.get(reverse("pair_results", args=[task.project_id, other.pk])).status_code == 404
