"""Pages of results and runs: what they say, who may see them, and that they only read rows."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import zipfile
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Project, Task
from crowdqc import numbers
from evaluation.free_text.selectors import findings
from evaluation.free_text.selectors.movement import path_part
from evaluation.free_text.selectors.questions import numbers_and_least
from evaluation.methods.aqer.diagnostics import sea_error
from evaluation.models import Run, RunState
from evaluation.runs import engine as runs
from evaluation.runs.selectors import words as run_words
from evaluation.runs.selectors.lists import figures_of
from tests.evaluation.corpora import texts as corpus
from tests.support import factories
from tests.support.pages import findings_in, html_of

pytestmark = pytest.mark.django_db
QUICK = {"encoder": "char-svd", "resamples": 200}


def scored(task: Task, **params: Any) -> Run:
    run = runs.start(by=task.project.owner, task=task, params={**QUICK, **params})
    runs.execute(run.pk)
    run.refresh_from_db()
    return run


@pytest.fixture(scope="module")
def scored_task(shared_rows: None) -> Task:
    """A task with everybody's answers and a run of them; the first of its project."""
    task = corpus.make_answered(factories.make_project())
    scored(task)
    return task


@pytest.fixture
def task(scored_task: Task, db: None) -> Task:
    return Task.objects.select_related("project__owner", "current").get(pk=scored_task.pk)


@pytest.fixture
def run(task: Task) -> Run:
    return Run.objects.get(task=task)


@pytest.fixture
def project(task: Task) -> Project:
    return task.project


@pytest.fixture
def client(project: Project) -> Client:
    client = Client()
    client.force_login(project.owner)
    return client


def page(client: Client, name: str, *args: object, query: str = "") -> str:
    response = client.get(reverse(name, args=args) + query)
    assert response.status_code == 200, (name, response.status_code)
    return html_of(response)


def test_before_the_first_run_the_page_says_how_many_answers_are_missing(
    client: Client, project: Project
) -> None:
    task = corpus.make_task(project)
    given = dict(list(corpus.people())[:2])
    given["third"] = corpus.answers([corpus.GOOD], some=slice(3))
    factories.make_answers(task, given)
    text = page(client, "task_results", project.pk, task.pk)
    assert "Two more answers and the first run starts automatically" in text
    assert "You have 2 workers with 5 or more, and 1 with 3." in text
    assert "Nothing scored yet" in text


def test_a_crowd_of_two_minds_is_told_before_its_ranking_is_read(
    client: Client, project: Project
) -> None:
    task = factories.make_task(project, n=12)
    keys = list(task.items.order_by("position").values_list("key", flat=True))
    one = "storks nest on high roofs near wet meadows and return in early spring number {}"
    other = "granite bells keep sailors awake while grey ships wait for a storm number {}"
    words = "frog rain june pole ring rock boat dusk corn mill".split()
    factories.make_answers(
        task,
        {
            f"w-{n}": {
                key: f"{(one if n < 7 else other).format(at)} {words[(n + at) % len(words)]}"
                for at, key in enumerate(keys)
            }
            for n in range(11)
        },
    )
    scored(task)
    text = page(client, "task_results", project.pk, task.pk)
    assert "camps_warning" in findings_in(text)
    assert re.search(r"(\S+, ){2}\S+ and \S+ agree with each other", text)
    assert "not with the other 7" in text


def test_the_board_shows_groups_in_words_intervals_and_who_is_not_scored(
    client: Client, task: Task
) -> None:
    text = page(client, "task_results", task.project_id, task.pk)
    assert "cannot be separated" in text
    assert "2 answers; an interval needs 5" in text
    assert "12 workers, 90 answers to 8 questions." in text
    assert "Limits of this score" in text
    assert "seed" in text and "20417" in text
    assert text.count('<svg class="chart" role="img"') >= 12


def test_a_board_of_two_answers_per_question_warns_and_says_what_one_more_would_bring(
    client: Client, project: Project
) -> None:
    task = corpus.make_task(project)
    people = corpus.people()
    given = {
        name: {key: text for at, (key, text) in enumerate(told.items()) if (at - n) % 4 < 2}
        for n, (name, told) in enumerate(list(people)[:4])
    }
    factories.make_answers(task, given)
    run = scored(task, min_answers=2)
    text = page(client, "task_results", project.pk, task.pk)
    assert "few_answers" in findings_in(text)
    assert "Typically 2 answers per question." in text
    (told,) = run.figures.get(name="redundancy").data
    assert (told["answers"], told["few"]) == (2.0, True)
    assert "Expected with 3" in text or told["reason"] in text


def test_a_board_of_many_answers_says_how_many_and_does_not_warn(
    client: Client, task: Task, run: Run
) -> None:
    text = page(client, "task_results", task.project_id, task.pk)
    assert "few_answers" not in findings_in(text) and "Answers per question" in text
    (told,) = run.figures.get(name="redundancy").data
    assert f"Expected with {told['answers'] + 1:g}" in text
    assert told["reliability"] < told["with_one_more"]


def test_a_page_says_how_many_answers_are_short_unless_its_run_is_older(
    client: Client, project: Project
) -> None:
    task = corpus.make_task(project)
    given = {f"good-{n}": corpus.answers([corpus.GOOD], turn=n) for n in range(4)}
    given["brief"] = dict.fromkeys(corpus.keys()[:5], "Rapeseed oil.")
    given["brief"] |= dict.fromkeys(corpus.keys()[5:], "– It was so.")
    factories.make_answers(task, given)
    run = scored(task)
    figure = run.figures.get(name="short_answers")
    said = [text for told in given.values() for text in told.values()]
    short = sum(len(text.replace("–", "").split()) < 3 for text in said)
    assert figure.data == {"short": short, "answers": 40, "words": 3} and short >= 5
    text = page(client, "task_results", project.pk, task.pk)
    assert "short_answers" in findings_in(text)
    assert f"{reverse('task_answers', args=[project.pk, task.pk])}?by=people" in text
    figure.delete()
    assert "short_answers" not in findings_in(page(client, "task_results", project.pk, task.pk))


@pytest.mark.parametrize(
    ("short", "answers", "is_said"),
    [(24, 200, True), (3, 30, True), (1, 10, True), (2, 30, False), (0, 8, False)],
)
def test_short_answers_are_told_from_one_in_ten_on(short: int, answers: int, is_said: bool) -> None:
    told = {"short_answers": {"short": short, "answers": answers, "words": 3}}
    found = findings.warnings_of_run(Run(project_id=1, task_id=2), told, {}, {})
    values = {"n": short, "short": str(short), "answers": f"{answers} answers", "words": 3}
    expected = [("short_answers", values)]
    assert [(one.code, one.values) for one in found] == (expected if is_said else [])


def test_the_ranks_in_a_heading_are_those_that_its_rows_can_have(
    client: Client, task: Task
) -> None:
    for name in ("task_results", "task_results_systems"):
        address = reverse(name, args=[task.project_id, task.pk])
        for board in client.get(address).context["boards"]:
            for group in board.groups:
                told = re.match(r"Ranks? (\d+)(?:–(\d+))?", group.heading)
                ranks = [row for row in group.rows if row.best]
                assert bool(told) == (len(ranks) == 1), group.heading
                if told:
                    ends = int(told[1]), int(told[2] or told[1])
                    held = min(row.best for row in ranks), max(row.worst for row in ranks)
                    assert ends == held, (group.heading, [row.rank for row in group.rows])


def test_columns_sort_and_then_the_groups_are_gone(client: Client, task: Task) -> None:
    text = page(client, "task_results", task.project_id, task.pk, query="?sort=answers&dir=up")
    assert 'aria-sort="ascending"' in text
    assert "cannot be separated</th>" not in text
    by_name = page(client, "task_results", task.project_id, task.pk, query="?sort=worker")
    assert by_name.index("Workers by score") > 0


def test_systems_stand_beside_what_the_workers_reach(client: Client, task: Task) -> None:
    scored(task, leave_one_out=False)
    text = page(client, "task_results_systems", task.project_id, task.pk)
    assert "3 systems, 24 answers." in text
    assert "Mean of the workers" in text
    assert 'Tern-2</b> <span class="dim">plain' in text
    assert "Not quite the same measure." in text
    scored(task)
    text = page(client, "task_results_systems", task.project_id, task.pk)
    assert "Not quite the same measure." not in text


def test_a_task_without_systems_says_how_to_bring_them(client: Client, project: Project) -> None:
    task = corpus.make_answered(project, systems=False)
    scored(task)
    text = page(client, "task_results_systems", project.pk, task.pk)
    assert "Import system answers" in text


def test_questions_are_numbered_and_those_of_least_agreement_named(
    client: Client, task: Task, run: Run
) -> None:
    found = list(run.itemscore_rows.filter(dimension="").order_by("item__position"))
    order = sorted(range(len(found)), key=lambda at: found[at].extra["agreement"])
    text = page(client, "task_results_questions", task.project_id, task.pk, query="?sort=agreement")
    assert numbers_and_least(run)[1] == [at + 1 for at in order[:3]]
    assert re.findall(r'data-label="No."[^>]*>(\d+)<', text) == [str(at + 1) for at in order]


def test_the_item_rest_correlation_is_on_the_page_in_the_file_and_in_the_api(
    client: Client, task: Task, run: Run
) -> None:
    name = "item_rest_correlation"
    found = list(run.itemscore_rows.order_by("item__position"))
    values = [row.extra[name] for row in found]
    assert all(-1 <= value <= 1 for value in values)
    order = sorted(range(len(found)), key=lambda at: values[at])
    text = page(client, "task_results_questions", task.project_id, task.pk, query="?sort=item-rest")
    cells = re.findall(r'data-label="Item-rest"[^>]*>([^<]+)<', text)
    assert cells == [numbers.score(values[at], 2) for at in order]
    assert 'id="help-item-rest"' in text
    url = reverse("task_results_export", args=[task.project_id, task.pk])
    response = client.get(url, {"table": "questions", "format": "csv"})
    lines = b"".join(response.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    header = "item_id,best_worker,dimension,component,estimate,low,high,n,spread,agreement,effect,"
    assert lines[0] == f"{header}declined,{name}"
    assert [float(row[name]) for row in csv.DictReader(lines)] == values
    rows = client.get(f"/api/runs/{run.pk}/scores/items/").json()["results"]
    assert {row["item_id"]: row["extra"][name] for row in rows} == {
        row.item.key: row.extra[name] for row in found
    }


def test_a_run_from_before_a_column_was_added_shows_it_empty(
    client: Client, task: Task, run: Run
) -> None:
    for row in run.itemscore_rows.all():
        del row.extra["item_rest_correlation"]
        row.save()
    for query in ("", "?sort=item-rest"):
        text = page(client, "task_results_questions", task.project_id, task.pk, query=query)
        cells = re.findall(r'data-label="Item-rest"[^>]*>([^<]+)<', text)
        assert cells == ["none"] * run.itemscore_rows.count()
    url = reverse("task_results_export", args=[task.project_id, task.pk])
    response = client.get(url, {"table": "questions", "format": "csv"})
    lines = b"".join(response.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert {row["item_rest_correlation"] for row in csv.DictReader(lines)} == {""}


def test_a_question_shows_its_answers_by_score_with_the_best_and_the_systems(
    client: Client, task: Task
) -> None:
    text = page(client, "task_results_questions", task.project_id, task.pk)
    assert "What did the lamp burn at first?" in text
    item = task.items.get(key="q-002")
    text = page(client, "task_results_question", task.project_id, task.pk, item.pk)
    assert "Best answer" in text
    assert text.count('chip plain">system') == 3
    assert text.index("rapeseed oil") < text.index("coal gas")
    assert "Where people disagree" in text


def test_convergence_has_a_line_and_the_same_as_a_table(client: Client, task: Task) -> None:
    text = page(client, "task_results_convergence", task.project_id, task.pk)
    assert "Change of the weights after" in text
    assert "14 of the resamples" in text


def test_the_bound_is_drawn_by_the_number_of_answers_with_the_run_s_own_marked(
    client: Client, task: Task, run: Run
) -> None:
    bound = run.figures.get(name="bounds").data[0]
    text = page(client, "task_results_convergence", task.project_id, task.pk)
    own = sea_error(bound["quality"], bound["workers"])
    table = text.partition("Error of the exemplary answer")[2]
    row = table.partition(f">{bound['workers']}<")[2].partition("</tr>")[0]
    assert f"{own:.3f}".lstrip("0") in row


def test_the_way_of_an_exemplary_answer_is_drawn_when_asked_for(
    client: Client, task: Task, run: Run
) -> None:
    item = task.items.get(key="q-002")
    args = ("task_results_question", task.project_id, task.pk, item.pk)
    assert "path=1#path" in page(client, *args)
    shown = page(client, *args, query="?path=1")
    assert "Share of the vote" in shown and "round 0" in shown
    told = figures_of(run, "recipe")
    assert "chart" in path_part(run, item, told)
    unknown = {"recipe": {"encoder": "gone@1"}}
    run.params["encoder"] = "path:/gone"
    assert "reason" in path_part(run, item, unknown)


def test_a_run_in_work_asks_for_itself_again_and_a_finished_one_does_not(
    client: Client, task: Task
) -> None:
    run = runs.start(by=task.project.owner, task=task, params=QUICK)
    text = page(client, "run", task.project_id, run.number)
    assert "hx-get" in text and "Cancel the run" in text
    runs.execute(run.pk)
    response = client.get(
        reverse("run_progress", args=[task.project_id, run.number]), headers={"HX-Request": "true"}
    )
    text = response.content.decode()
    assert "hx-get" not in text
    assert "Finished in" in text
    assert "<html" not in text
    assert 'id="running" hx-swap-oob="true"' in text
    assert "HX-Request" in response.headers["Vary"]


def test_a_failed_run_says_why_and_offers_another(client: Client, project: Project) -> None:
    task = corpus.make_answered(project)
    run = scored(task, max_rounds=2)
    text = page(client, "run", task.project_id, run.number)
    assert "Did not converge: after 2 rounds the weights still change by" in text
    assert "Run again" in text
    assert "not yet under the stop line" in text
    assert "The last run failed" in page(client, "task_results", task.project_id, task.pk)


def test_a_page_has_one_primary_button_and_keeps_the_rest_in_a_menu(
    client: Client, task: Task
) -> None:
    def buttons() -> list[str]:
        text = page(client, "task_results", task.project_id, task.pk)
        return re.findall(r'class="[^"]*primary"[^>]*>([^<]*)', text)

    assert len(buttons()) <= 1
    factories.make_answers(task, {"new": corpus.answers([corpus.GOOD])})
    assert buttons() == ["Run again"]
    text = page(client, "task_results", task.project_id, task.pk)
    menu = text[text.index('<summary class="button" role="button">More') :]
    assert "Models" in menu and "Run with options" in menu


def test_run_again_takes_the_last_options_and_says_how_many_answers_are_new(
    client: Client, task: Task
) -> None:
    scored(task, leave_one_out=False)
    factories.make_answers(task, {"new": corpus.answers([corpus.GOOD])})
    text = page(client, "task_results", task.project_id, task.pk)
    assert "answers_since_run" in findings_in(text) and "8 answers came" in text
    url = reverse("run_start", args=[task.project_id, task.pk])
    response = client.post(url, {"again": "1"})
    run = Run.objects.latest("pk")
    assert response.url == run_words.follow_url(run)
    assert run.params["leave_one_out"] is False
    assert run.trigger == "browser"
    # It is waiting already: no second one is started.
    assert client.post(url, {"again": "1"})["Location"] == response.url
    assert Run.objects.latest("pk") == run


def test_a_bad_option_is_shown_beside_its_field(client: Client, task: Task) -> None:
    url = reverse("run_start", args=[task.project_id, task.pk])
    options = {
        "encoder": "char-svd",
        "similarity": "cosine",
        "rank_by": "auto",
        "start": "equal",
        "seed": "1",
    }
    response = client.post(url, {**options, "resamples": "5"})
    assert response.status_code == 422
    assert "it must be 0, or a whole number from 100 to 20,000" in response.content.decode()
    assert Run.objects.count() == 1
    assert client.post(url, {**options, "resamples": "100"}).status_code == 302


def test_cancelling_ends_on_the_runs_page(client: Client, task: Task) -> None:
    run = runs.start(by=task.project.owner, task=task, params=QUICK)
    url = reverse("run_cancel", args=[task.project_id, run.number])
    assert client.get(url).status_code == 405
    response = client.post(url, follow=True)
    assert "Cancelled" in response.content.decode()
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED


def test_the_schedule_is_saved_and_its_errors_stand_beside_the_field(
    client: Client, task: Task
) -> None:
    url = reverse("run_schedule", args=[task.project_id, task.pk])
    assert client.post(url, {"enabled": "on", "every_minutes": "1"}).status_code == 422
    assert client.post(url, {"enabled": "on", "after_answers": "40"}).status_code == 302
    task.refresh_from_db()
    assert task.run_schedule.after_answers == 40
    assert "after every 40 new answers" in page(client, "run_start", task.project_id, task.pk)


def test_scores_are_exported_under_pseudonyms_with_a_manifest(
    client: Client, task: Task, run: Run
) -> None:
    url = reverse("task_results_export", args=[task.project_id, task.pk])
    response = client.get(url, {"table": "workers", "format": "csv"})
    text = b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]
    lines = text.splitlines()
    assert lines[0].startswith("worker,dimension,component,estimate,low,high,n,rank_low")
    assert len(lines) == 13
    assert "good-0" not in text  # the file's own name of a worker
    rows = b"".join(
        client.get(url, {"table": "answers", "format": "jsonl"}).streaming_content  # type: ignore[attr-defined]
    ).splitlines()
    assert len(rows) == 114
    assert json.loads(rows[0])["item_id"] == "q-001"
    bundle = client.get(url, {"format": "csv"}).content
    assert bundle == client.get(url, {"format": "csv"}).content
    with zipfile.ZipFile(io.BytesIO(bundle)) as opened:
        manifest = json.loads(opened.read("manifest.json"))
        assert set(manifest["files"]) == {
            "workers.csv",
            "systems.csv",
            "answers.csv",
            "questions.csv",
            "columns.csv",
        }
    assert manifest["result_hash"] == run.result_hash
    assert (manifest["seed"], manifest["task_versions"]) == (20417, [1])
    assert client.get(url, {"table": "people"}).status_code == 422
    assert client.get(url, {"run": "99"}).status_code == 404


def test_every_file_of_the_export_menu_opens_from_each_page(client: Client, task: Task) -> None:
    number = Run.objects.filter(task=task).latest("pk").number
    tables = reverse("run_export", args=[task.project_id, number])
    joined = reverse("task_items", args=[task.project_id, task.pk])
    for name in ("task_results", "task_results_systems", "task_results_questions"):
        text = page(client, name, task.project_id, task.pk)
        links = re.findall(rf'href="({tables}\?[^"]+|{joined}(?:table|columns)[^"]+)"', text)
        # Four tables, what their columns hold, all of them, and the joined one, in four formats
        # each, and what the columns of that hold.
        assert len(links) == 29, name
        for link in links:
            answer = client.get(html.unescape(link))
            assert answer.status_code == 200 and answer.getvalue(), link


def test_leave_one_out_is_compared_where_both_were_run(client: Client, task: Task) -> None:
    assert "?leave_one_out=0" in page(client, "task_results", task.project_id, task.pk)
    other = scored(task, leave_one_out=False)
    text = page(client, "task_results", task.project_id, task.pk, query="?run=1")
    assert f'?run={other.number}"' in text


def test_workers_of_two_boards_are_not_put_into_one_table(client: Client, project: Project) -> None:
    task = corpus.make_task(project)
    given = {
        name: dict(list(told.items())[slice(4) if name.endswith(("0", "2")) else slice(4, None)])
        for name, told in corpus.people()
    }
    factories.make_answers(task, given)
    scored(task)
    text = page(client, "task_results", project.pk, task.pk)
    assert "separate_boards" in findings_in(text)
    assert text.count("<caption") == 2
    assert "They stand on 2 boards, which do not compare." in text


NAMES = (
    "task_results",
    "task_results_systems",
    "task_results_questions",
    "task_results_question",
    "task_results_convergence",
    "results",
    "run_list",
    "run",
    "run_progress",
    "run_start",
    "run_schedule",
    "task_results_export",
)


def address(name: str, task: Task, run: Run) -> str:
    if name in ("results", "run_list"):
        return reverse(name, args=[task.project_id])
    if name in ("run", "run_progress"):
        return reverse(name, args=[task.project_id, run.number])
    if name == "task_results_question":
        return reverse(name, args=[task.project_id, task.pk, task.items.first().pk])
    return reverse(name, args=[task.project_id, task.pk])


def test_outsiders_find_nothing_workers_are_refused_and_managers_see_all(
    task: Task, run: Run
) -> None:
    people = {
        404: factories.make_user(),
        403: factories.make_worker(task.project).user,
        200: factories.make_member(task.project).user,
    }
    client = Client()
    for name in NAMES:
        assert client.get(address(name, task, run)).status_code == 302  # to the sign-in page
    posted = {
        "run_cancel": reverse("run_cancel", args=[task.project_id, run.number]),
        "run_start": address("run_start", task, run),
        "run_schedule": address("run_schedule", task, run),
    }
    for status, person in people.items():
        client.force_login(person)
        for name in NAMES:
            response = client.get(address(name, task, run), follow=status == 200)
            assert response.status_code == status, name
        for name, url in posted.items():
            if status != 200:
                assert client.post(url, {"again": "1"}).status_code == status, name
    assert Run.objects.count() == 1


def queries(client: Client, url: str) -> int:
    client.get(url)
    with CaptureQueriesContext(
        connection,
    ) as seen:
        assert client.get(url, follow=True).status_code == 200
    return len(seen)


def test_pages_ask_the_database_as_often_for_many_workers_as_for_few(
    client: Client, task: Task
) -> None:
    clustered = {"cluster_share": 0.02}  # so that both runs have clusters to tell
    names = [name for name in NAMES if name != "task_results_export"]
    run = scored(task, **clustered)
    few = {name: queries(client, address(name, task, run)) for name in names}
    more = {
        f"more-{n}": corpus.answers([(corpus.GOOD, corpus.THIN, corpus.WRONG)[n % 3]], turn=n)
        for n in range(8)
    }
    factories.make_answers(task, more)
    factories.make_system_answers(
        task, {f"New-{n}": corpus.answers([n % 3], turn=n) for n in range(2)}
    )
    run = scored(task, **clustered)
    many = {name: queries(client, address(name, task, run)) for name in names}
    # The names of two camps are a query, and so are the vectors of their answers to a question.
    camps = any(part["found"] for part in run.figures.get(name="camps").data)
    for name in ("task_results_question", "task_results_questions"):
        many[name] -= camps
    # Where the first place is not sure, the cost of more answers is a query or two.
    assert -3 <= few.pop("task_results_systems") - many.pop("task_results_systems") <= 1
    assert many == few
    assert max(few.values()) <= 31
