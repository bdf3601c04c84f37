"""Pages of a labels task: what they say of workers, items, agreement, classes and methods."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import pyarrow.parquet
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from python_calamine import CalamineWorkbook

from annotation.accounts.projects.actions import remove_member
from annotation.authoring.actions import tasks
from annotation.authoring.actions.items import save_item
from annotation.models import Answer, ChoiceValue, Membership, SpanValue, Task
from evaluation.labels.results import SURE
from evaluation.labels.selectors import findings, study, tables
from evaluation.labels.selectors.items import DecisionCounts
from evaluation.labels.selectors.shared import shared_items
from evaluation.models import ItemLabel, Run, RunState, WorkerScore
from evaluation.runs import engine as runs
from evaluation.runs.selectors import lists as reads
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.corpora.pair_study import client_of, page, text_of
from tests.evaluation.labels.test_runs import QUICK, scored
from tests.support import factories
from tests.support.pages import findings_in, html_of

pytestmark = pytest.mark.django_db
PAGES = ("label_results", "label_items", "label_agreement", "label_classes", "label_compare")


@pytest.fixture(scope="module")
def labelled_task(shared_rows: None) -> Task:
    """Labels of ten workers, and a run on them."""
    task = corpus.make_labelled(items=60, known=12, workers=10, guessing=2)
    scored(task)
    return task


@pytest.fixture
def task(labelled_task: Task, db: None) -> Task:
    return Task.objects.select_related("project__owner", "current").get(pk=labelled_task.pk)


@pytest.fixture
def run(task: Task) -> Run:
    return Run.objects.get(task=task)


def test_before_the_first_run_the_page_says_what_is_missing() -> None:
    task = corpus.make_task(items=4)
    text = text_of(page(task, "label_results"))
    assert "labels and the first run starts automatically" in text
    assert "Agreement needs 2 workers on the same item; competence needs 3." in text
    assert "Nothing scored yet" in text
    assert "Nothing scored yet" in text_of(page(task, "label_items"))
    corpus.add_model(task, "Owl", right=0.8)
    text = text_of(page(task, "label_results"))
    assert re.search(r"4 labels of models are here; \d+ labels of people are needed", text)


def test_a_removed_worker_and_a_new_version_are_no_lack_of_change() -> None:
    task = corpus.make_labelled(items=12, known=0, workers=4, guessing=0)
    run = scored(task)
    assert study.since_words(run) in text_of(page(task, "label_results"))
    owner = task.project.owner
    worker = Membership.objects.filter(answers__item__task=task).first()
    assert worker is not None
    remove_member(by=owner, member=worker)
    assert "1 worker was removed since" in text_of(page(task, "label_results"))
    save_item(by=owner, task=task, question="One claim more.")
    tasks.publish(by=owner, task=task)
    assert "Version 2 was published since" in text_of(page(task, "label_results"))


def test_a_task_of_another_type_has_no_such_page() -> None:
    task = factories.make_task()
    assert "does not ask for labels" in page(task, "label_results", status=404)


def test_sorted_workers_stand_in_one_order_over_all_groups(task: Task, run: Run) -> None:
    html = page(task, "label_results")
    (lowest,) = re.findall(r'href="([^"]*sort=competence&amp;dir=up[^"]*)"[^>]*>\s*Show', html)
    up = client_of(task).get(lowest.replace("&amp;", "&")).content.decode()
    stored = {row.worker_id: row.estimate for row in WorkerScore.objects.filter(run=run)}
    shown = [stored[int(pk)] for pk in re.findall(r'id="open-(\d+)"', up)]
    known = [value for value in shown if value is not None]
    assert len(shown) == len(stored) and known == sorted(known) == shown[: len(known)]
    groups = [stored[int(pk)] for pk in re.findall(r'id="open-(\d+)"', html)]
    assert groups != sorted(known, reverse=True) or "group-head" in html
    assert "lies above chance" not in up


def test_the_verdict_counts_sure_labels_and_then_workers_by_their_intervals(
    task: Task, run: Run
) -> None:
    rows = WorkerScore.objects.filter(run=run)
    better = rows.filter(extra__standing="better").count()
    unknown = rows.filter(extra__standing="unknown").count()
    assert (better, unknown) == (7, 2)
    html = page(task, "label_results")
    text = text_of(html)
    assert findings_in(html)[:2] == ["label_certain", "label_weak_workers"]
    labels = ItemLabel.objects.filter(run=run)
    sure = sum(one.extra["posterior"] >= 0.9 for one in labels)
    assert f"{sure} of {labels.count()} labels are at least 90% certain." in text
    assert "7 of 10 workers do better than guessing." in text
    assert "7 workers do better than guessing: the interval lies above chance" in text
    assert "cannot be told from guessing, with all workers compared at once" in text
    assert "1 worker always or nearly always gives the same label" in text
    assert "Supported in 45 of 45" in text
    for row in rows.filter(extra__standing="better"):
        assert row.low > row.extra["chance"]


def test_the_task_page_begins_with_the_verdict_and_has_its_files_in_a_menu(
    task: Task, run: Run
) -> None:
    html = page(task, "task")
    text = text_of(html)
    assert "labels are at least 90% certain." in text
    assert reverse("label_items", args=[task.project_id, task.pk]) in html
    assert reverse("task_export", args=[task.project_id, task.pk, "labels", "csv"]) in html
    answer = client_of(task).get(reverse("api_run", args=[run.pk])).json()
    told, findings = answer["verdict"], {one["code"]: one for one in answer["findings"]}
    assert findings["label_noise"]["severity"] == "warning"
    assert findings["label_noise"]["values"]["n"] == 3
    assert told["code"] == "label_certain" and "450 labels" in told["basis"]
    assert told["text"] in text and set(told["values"]) >= {"sure", "labels"}
    other = corpus.make_task(items=4)
    assert "All results" not in text_of(page(other, "task"))


def test_only_a_threshold_of_the_requester_lets_workers_be_relied_on(task: Task) -> None:
    run = scored(task, reliable=0.4)
    rows = WorkerScore.objects.filter(run=run)
    n = sum(row.extra["standing"] == "better" and row.low > 0.4 for row in rows)
    assert n
    for name in PAGES:
        html = page(task, name, query=f"?run={run.number}")
        assert f"{n} of 10 workers reach the threshold of .40" in text_of(html)
    text = text_of(page(task, "label_results", query=f"?run={run.number}"))
    assert "can be relied on: the interval lies above the threshold of .40" in text


def test_a_worker_opens_with_the_confusion_matrix_and_closes_again(task: Task, run: Run) -> None:
    row = WorkerScore.objects.filter(run=run, extra__standing="better").latest("estimate")
    url = reverse("label_worker", args=[task.project_id, task.pk, row.worker_id])
    client = client_of(task)
    html = html_of(client.get(url, headers={"HX-Request": "true"}))
    assert html.count("<tbody id=") == 1 and "<html" not in html
    text = text_of(html)
    assert f"Confusion matrix of {row.worker.pseudonym}" in text
    diagonal = row.extra["confusion"]["probability"][0][0]
    assert f"{diagonal:.2f}".removeprefix("0") in text
    assert f"{row.extra['known_right']} of {row.extra['known_n']}" in text
    closed = html_of(client.get(f"{url}?closed=1", headers={"HX-Request": "true"}))
    assert "Confusion matrix" not in closed and row.worker.pseudonym in closed
    plain = client.get(url)
    assert plain.status_code == 302 and f"open={row.worker_id}" in plain.url
    assert "Confusion matrix of" in html_of(client.get(plain.url))


def test_a_worker_opened_in_place_has_the_columns_of_the_table() -> None:
    task = corpus.make_labelled(items=20, known=0, workers=5, guessing=1)
    run = scored(task)
    row = WorkerScore.objects.filter(run=run)[0]
    url = reverse("label_worker", args=[task.project_id, task.pk, row.worker_id])
    alone = client_of(task).get(url, headers={"HX-Request": "true"}).context["table"]
    whole = client_of(task).get(reverse("label_results", args=[task.project_id, task.pk]))
    assert alone.width == whole.context["table"].width


def test_an_opened_worker_shows_agreement_over_time_and_what_can_be_said_of_it() -> None:
    task = corpus.make_labelled(items=80, known=0, workers=8, guessing=0)
    turned = task.assignments.order_by("pk").first()
    assert turned is not None
    late = Answer.objects.filter(assignment=turned, item__position__gte=40)
    for answer in late.select_related("item"):
        wrong = corpus.CODES[corpus.CODES.index(corpus.truth(answer.item.position)) - 1]
        answer.choices.update(code=wrong)
    run = scored(task)
    rows = {row.worker_id: row.extra["over_time"] for row in run.workerscore_rows.all()}
    told = rows[turned.worker_id]
    assert told["change"] == "fell"
    assert told["early_n"] + told["late_n"] == sum(one["n"] for one in told["blocks"]) == 60
    text = text_of(page(task, "label_results", query=f"?open={turned.worker_id}"))
    assert "Agreement over time" in text
    assert "Agreement differs between early and late items: " in text
    assert "Agreement fell" not in text and "rose" not in text
    other = next(pk for pk, one in rows.items() if one["change"] == "same")
    text = text_of(page(task, "label_results", query=f"?open={other}"))
    assert "of the first 30 labels agree with the others’ and" in text
    assert "no change can be told." in text


def test_items_stand_with_their_votes_label_and_certainty_open_ones_first(
    task: Task, run: Run
) -> None:
    labels = list(ItemLabel.objects.filter(run=run))
    uncertain = [
        one
        for one in labels
        if one.extra["differ"] or not one.extra["majority"] or one.extra["posterior"] < SURE
    ]
    n = len(uncertain)
    assert 1 < n < 50
    opened = page(task, "label_items")
    shown = text_of(opened)
    assert shown.count("Claim number") == n == opened.count("mark-undecided")
    assert f'Open <span class="n">{n}' in opened
    for one in uncertain:
        assert one.item.key in shown
        assert reverse("task_item", args=[task.project_id, task.pk, one.item_id]) in opened
    split = [one for one in labels if sum(n > 0 for n in one.extra["votes"].values()) > 1]
    html = page(task, "label_items", query="?show=all")
    text = text_of(html)
    assert "All 60" in text and "Known answers 12" in text and f"Split votes {len(split)}" in text
    assert "All methods agree" not in text
    counts, told = DecisionCounts.of(run), reads.figures_of(run)
    *_, decide = findings.actions_of(run, told, counts)
    assert decide.code == "decide_items_and_ties" and decide.action is not None
    assert counts.open == n and 0 < counts.certain < n
    # Together with the verdict: 60 items are the certain ones and those under .90.
    certainty = told["certainty"]
    sure = certainty["middle"] + certainty["high"]
    assert counts.open - counts.certain == certainty["items"] - sure
    assert str(decide.action.label) == f"Decide {n} items" and f"{n} items" in decide.text
    assert decide.action.url.endswith(f"?run={run.number}&show=open")
    done = findings.actions_of(run, told, replace(counts, open=0))
    assert not [one.code for one in done if one.code.startswith("decide_items")]
    known = page(task, "label_items", query="?show=known")
    assert text_of(known).count("Claim number") == 12
    assert all(sum(one.extra["votes"].values()) == one.n for one in uncertain)


def test_all_methods_agree_only_where_no_item_is_a_tie(task: Task, run: Run) -> None:
    """Nothing is said where no item has 3 votes."""
    figures = reads.figures_of(run)

    def detail(**summary: int) -> str:
        changed = {**figures, "summary": {**figures["summary"], **summary}}
        return findings.verdict_of(run, changed, None).detail

    rows = ItemLabel.objects.filter(run=run)
    for row in rows:
        row.extra |= {"differ": False, "majority": row.label}
        row.save(update_fields=["extra"])
    assert study.methods_agree(run) and "All methods agree" in detail(compared=50)
    assert "All methods agree" not in detail(compared=0)
    row = rows[0]
    row.extra["majority"] = ""
    row.save(update_fields=["extra"])
    assert not study.methods_agree(run) and "All methods agree" not in detail(compared=50)


def test_brier_and_log_score_and_left_out_votes_stand_beside_accuracy(task: Task, run: Run) -> None:
    text = text_of(page(task, "label_compare"))
    assert "Brier score" in text or "Calibration needs 20 known answers" in text
    assert "Left-out votes" in text
    response = client_of(task).get(
        reverse("label_export", args=[task.project_id, task.pk]) + "?table=compare&format=csv"
    )
    body = (
        b"".join(response.streaming_content).decode()
        if response.streaming
        else (response.content.decode())
    )
    rows = {row["method"]: row for row in csv.DictReader(io.StringIO(body))}
    assert set(rows) == {"majority", "dawid_skene", "mace", "glad"}
    assert float(rows["dawid_skene"]["held_out"]) > float(rows["majority"]["held_out"])
    assert {"brier", "log_score"} <= set(rows["mace"])


def test_agreement_says_that_leaving_guessers_out_is_an_upper_limit(task: Task) -> None:
    text = text_of(page(task, "label_agreement"))
    for name in ("Krippendorff’s alpha", "Fleiss’ kappa", "Gwet’s AC1", "Alpha of each class"):
        assert name in text
    assert "they were chosen on the same labels, so this is an upper limit" in text
    assert "People can agree on a wrong label." in text


def test_classes_show_prevalence_and_what_is_confused(task: Task, run: Run) -> None:
    told = reads.figures_of(run, "class", "pooled")
    text = text_of(page(task, "label_classes"))
    for row, (_, label) in zip(told["class"], corpus.OPTIONS, strict=True):
        assert f"{label} " in text and f"{row['prevalence']:.0%}" in text
    assert sum(row["known"] for row in told["class"]) == 12
    for line in told["pooled"]["probability"]:
        assert sum(line) == pytest.approx(1)
    assert sum(told["pooled"]["votes"]) == pytest.approx(run.snapshot.counts["answers"])  # type: ignore[union-attr]
    assert "is taken for" in text and "is the rarest" in text


def unlinked(*, sharing: int) -> tuple[Task, Run]:
    """Workers who share 7 items, and one who shares none and always gives the last label."""
    task = corpus.make_task(items=7 + sharing + 8)
    items = list(task.items.order_by("position"))
    for number in range(sharing):
        own = [*items[:7], items[7 + number]]
        labels = [corpus.CODES[(at + (at == number)) % 2] for at in range(8)]
        person = factories.make_worker(project=task.project)
        corpus.add_labels(task, person, list(zip(own, labels, strict=True)))
    alone = factories.make_worker(project=task.project)
    corpus.add_labels(task, alone, [(item, corpus.CODES[2]) for item in items[7 + sharing :]])
    return task, scored(task)


def test_classes_have_no_estimated_share_where_nobody_can_be_scored() -> None:
    task, run = unlinked(sharing=2)
    context = client_of(task).get(reverse("label_classes", args=[task.project_id, task.pk])).context
    [group] = context["table"].groups
    assert [row.estimate for row in group.rows] == [None, None, None]
    assert "estimate" not in [column.key for column in context["table"].columns]
    tied = ItemLabel.objects.filter(run=run, extra__majority="").count()
    assert group.rows[2].majority_share == pytest.approx(8 / (17 - tied))
    assert (context["matrix"], context["in_words"]) == ([], [])
    assert (context["estimated"], context["with_majority"]) == (0, 17 - tied)
    workers = client_of(task).get(reverse("label_results", args=[task.project_id, task.pk]))
    assert workers.context["prevalence"] == []


def test_classes_count_the_items_that_each_share_is_of() -> None:
    task, _run = unlinked(sharing=4)
    context = client_of(task).get(reverse("label_classes", args=[task.project_id, task.pk])).context
    assert context["estimated"] == 11 and context["certainty"]["items"] == 19
    assert all(row.estimate is not None for row in context["table"].groups[0].rows)


def test_an_item_that_only_votes_label_has_one_label_on_pages_and_in_files() -> None:
    task, run = unlinked(sharing=4)
    client = client_of(task)
    shown = client.get(reverse("label_items", args=[task.project_id, task.pk]), {"show": "all"})
    alone = [row for row in shown.context["rows"] if row["posterior"] is None]
    assert len(alone) == 8
    for row in alone:
        assert (row["label"], row["tie"], row["others"]) == ("Not in source", False, [])
    url = reverse("label_export", args=[task.project_id, task.pk])
    keys = {row["item"].key for row in alone}
    for table, label in (("items", "Not in source"), ("labels", "not_in_source")):
        answer = client.get(url, {"table": table, "format": "csv"})
        content = b"".join(answer.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
        rows = [row for row in csv.DictReader(io.StringIO(content)) if row["item_id"] in keys]
        assert {row["label"] for row in rows} == {label}, table
    labels = shared_items(run, {}).table.groups[0].rows
    assert sum(row.label == "Not in source" for row in labels) == 8


@pytest.mark.parametrize(
    ("shares", "grid", "codes"),
    [
        ((0.4, 0.4, 0.2), [[0.8, 0.1, 0.1], [0.2, 0.8, 0], [0, 0.1, 0.9]], [True, True]),
        ((0.6, 0.2, 0.2), [[0.8, 0.2, 0], [0.2, 0.8, 0], [0, 0, 1]], [False, False]),
    ],
)
def test_only_one_class_alone_is_rarest_and_one_confusion_alone_largest(
    shares: tuple[float, ...], grid: list[list[float]], codes: list[bool]
) -> None:
    field = study.ShownField("verdict", "Verdict", corpus.OPTIONS)
    rows = [{"prevalence": share} for share in shares]
    pooled = {"probability": grid, "votes": [20.0, 20.0, 20.0]}
    heads = " ".join(head for head, _ in tables.confusion_words(pooled, rows, field))
    assert ["is taken for" in heads, "“Not in source” is the rarest" in heads] == codes
    assert codes[1] or "rarest" not in heads


def test_methods_are_compared_on_known_answers_and_none_is_preferred_without_proof(
    task: Task, run: Run
) -> None:
    rows = {row["method"]: row for row in reads.figures_of(run, "compare")["compare"]}
    text = text_of(page(task, "label_compare"))
    right = rows["dawid_skene"]["right"]
    assert "Dawid-Skene a confusion matrix per worker" in text and f"{right:.0f} of 12" in text
    assert "On 12 known answers the methods cannot be told apart." in text
    single = WorkerScore.objects.filter(run=run)
    n = sum(row.extra["known_n"] for row in single)
    assert f"{sum(row.extra['known_right'] for row in single)} of {n}" in text


def test_without_known_answers_the_pages_say_so() -> None:
    task = corpus.make_labelled(items=20, known=0, workers=5, guessing=1)
    scored(task)
    assert "label_no_known_answers" in findings_in(page(task, "label_results"))
    text = text_of(page(task, "label_compare"))
    assert "Without known answers nothing here says which method is right more often" in text
    assert 'class="plot"' not in page(task, "label_compare")  # no axis without a point
    assert "No known answers yet." in text_of(page(task, "label_items", query="?show=known"))


def test_a_run_in_progress_and_a_failed_one_leave_the_last_result_on_the_page(
    task: Task, run: Run
) -> None:
    active = runs.start(by=task.project.owner, task=task, params=QUICK)
    html = page(task, "label_results")
    assert findings_in(html)[:2] == ["label_certain", "run_in_progress"]
    assert f"Run {active.number} in progress, 0% Run {run.number} is shown" in text_of(html)
    Run.objects.filter(pk=active.pk).update(state=RunState.FAILED, error="It did not converge.")
    text = text_of(page(task, "label_agreement"))
    assert f"Run {active.number} failed It did not converge. Run {run.number} is shown." in text
    assert "Run again" in text


def test_a_page_takes_as_many_queries_for_many_as_for_few() -> None:
    counts: dict[str, list[int]] = {name: [] for name in PAGES}
    for items, workers in ((12, 4), (36, 9)):
        task = corpus.make_labelled(items=items, known=3, workers=workers, guessing=1)
        scored(task)
        client = client_of(task)
        for name, counted in counts.items():
            url = reverse(name, args=[task.project_id, task.pk])
            client.get(url)
            with CaptureQueriesContext(connection) as seen:
                assert client.get(url).status_code == 200
            counted.append(len(seen))
    assert all(few == many for few, many in counts.values()), counts


def test_agreement_shows_pairs_of_workers_and_the_fields_that_no_model_labels() -> None:
    several = {
        "name": "why",
        "label": "Reasons",
        "kind": "choose_several",
        "options": [{"value": code, "label": code} for code in ("date", "name", "number")],
    }
    spans = {
        "name": "part",
        "label": "Words",
        "kind": "spans",
        "options": [{"value": "wrong", "label": "Wrong"}],
    }
    task = corpus.make_task(items=36, further=(several, spans))
    corpus.make_labelled(items=36, known=0, workers=5, guessing=1, task=task)
    answers = Answer.objects.filter(item__task=task).select_related("item")
    people = sorted({answer.worker_id or 0 for answer in answers})
    seat = {pk: at for at, pk in enumerate(people)}
    # One item in three has an option and a character less; on some of all items somebody differs.
    for answer in answers:
        place = answer.item.position
        odd = (place % 3 == 0) != ((seat[answer.worker_id or 0] + place) % 7 == 0)
        for code in ("date", "name", "number"):
            ticked = code == "date" or (code == "name" and not odd)
            ChoiceValue.objects.create(
                answer=answer, field=f"why.{code}", code="yes" if ticked else "no"
            )
        SpanValue.objects.create(
            answer=answer, field="part", target="wrong", start=0, end=5 if odd else 6
        )
    run = scored(task)
    told = reads.figures_of(run, "pairs", "other_fields")
    rows = {row["coefficient"]: row for one in told["other_fields"] for row in one["rows"]}
    assert set(rows) == {"masi", "spans_exact", "spans_overlap", "spans_characters"}
    assert rows["spans_overlap"]["value"] == 1 and rows["spans_overlap"]["low"] is None
    assert rows["spans_exact"]["value"] < rows["spans_characters"]["value"] < 1
    assert rows["masi"]["low"] < rows["masi"]["value"] < rows["masi"]["high"]
    text = text_of(page(task, "label_agreement"))
    assert "Agreement in “Reasons”" in text and "Agreement in “Words”" in text
    assert "Krippendorff’s alpha, MASI" in text and "F1, exact spans" in text
    lowest = told["pairs"]["rows"][0]
    assert lowest["low"] < lowest["kappa"] < lowest["high"] and lowest["n"] >= 15
    one, two = (Membership.objects.get(pk=pk).pseudonym for pk in lowest["workers"])
    assert f"{one} and {two}" in text


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "xlsx"])
def test_the_table_of_items_has_text_votes_label_and_certainty_and_keeps_the_filter(
    task: Task, run: Run, form: str
) -> None:
    url = reverse("label_export", args=[task.project_id, task.pk])

    def read(show: str) -> list[dict[str, object]]:
        answer = client_of(task).get(url, {"table": "items", "format": form, "show": show})
        assert answer.status_code == 200
        content = io.BytesIO(b"".join(answer.streaming_content))  # type: ignore[attr-defined]
        if form == "jsonl":
            return [json.loads(line) for line in content.getvalue().splitlines()]
        if form == "csv":
            return list(csv.DictReader(io.StringIO(content.getvalue().decode("utf-8-sig"))))
        if form == "parquet":
            return pyarrow.parquet.read_table(content).to_pylist()
        rows = CalamineWorkbook.from_filelike(content).get_sheet_by_index(0).to_python()
        return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]

    rows = read("all")
    stored = {row.item.key: row for row in ItemLabel.objects.filter(run=run).select_related("item")}
    assert [row["item_id"] for row in rows] == [
        row.item.key for row in sorted(stored.values(), key=lambda row: row.item.position)
    ]
    words = {
        "supported": "Supported",
        "contradicted": "Contradicted",
        "not_in_source": "Not in source",
    }
    for row in rows:
        own = stored[str(row["item_id"])]
        assert row["text"] == own.item.question and row["label"] == words[own.label]
        assert float(str(row["certainty"])) == pytest.approx(own.extra["posterior"])
        given = {code: int(float(str(row[f"votes {word}"]))) for code, word in words.items()}
        assert {code: n for code, n in given.items() if n} == own.extra["votes"]
        assert int(float(str(row["votes"]))) == own.n == sum(given.values())
    split = read("split")
    assert {row["item_id"] for row in split} == {
        key for key, own in stored.items() if len(own.extra["votes"]) > 1
    }
    assert 0 < len(split) < len(rows)
