"""Order effects, grades, models as judges and published tables, as pages show them."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from scipy.stats import wilcoxon

from annotation.formats.actions.imports import import_rows
from annotation.formats.exports.pairwise import PAIR_EXPORTS
from annotation.models import Answer, ChoiceValue, Task
from crowdqc.numbers import format_signed, score
from evaluation.methods.pairwise.order.effects import NO_ORDER, NO_SIDES
from evaluation.models import CandidateScore, ItemLabel, Run, RunFigure, RunState
from evaluation.pairwise import collecting
from evaluation.pairwise.selectors.workers import sides
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora.pair_checked import (
    careless,
    check,
    core,
    figure,
    judge,
    page,
    signed_in,
)
from tests.evaluation.corpora.pair_study import published as published_labels
from tests.evaluation.corpora.pair_study import scored
from tests.support.pages import findings_in

pytestmark = pytest.mark.django_db
PAGES = (
    "pair_results",
    "pair_live",
    "pair_wins",
    "pair_list",
    "pair",
    "pair_workers",
    "pair_worker",
    "pair_agreement",
    "pair_order",
    "pair_grades",
    "pair_judges",
)


@pytest.fixture(scope="module")
def judged_task(shared_rows: None) -> Task:
    """A study with its core run; the checks are queued."""
    task = pair_corpus.make_judged()
    core(task)
    return task


@pytest.fixture
def task(judged_task: Task, db: None) -> Task:
    return Task.objects.select_related("project__owner", "current").get(pk=judged_task.pk)


@pytest.fixture
def run(task: Task) -> Run:
    return Run.objects.get(task=task, source__isnull=True)


# Order effects, grades -------------------------------------------------------------------------


def test_order_effects_come_with_intervals_and_what_they_mean(task: Task, run: Run) -> None:
    text = page(task, "pair_order")
    [side] = [row for row in figure(run, "side") if row["dimension"] == ""]
    assert f"The right side wins {100 * side['right']:.1f}%" in text
    [drift] = [row for row in figure(run, "drift") if row["dimension"] == ""]
    assert f"to {100 * drift['late']:.1f}% later" in text
    [tau] = [r for r in figure(run, "interdependence") if (r["first"], r["second"]) == (0, 1)]
    assert text.count(score(tau["tau_b"], 2)) >= 2  # above and below the diagonal
    beside = page(task, "pair_agreement")
    folded = beside[beside.index("How dimensions go together") :]
    assert folded.count(score(tau["tau_b"], 2)) >= 2
    assert f"{tau['n']} pairs" in folded
    assert "Share of neutral answers from place 1" in signed_in(task).get(
        reverse("pair_order", args=[task.project_id, task.pk])
    ).content.decode().replace("\u00a0", " ")


def test_a_study_shown_one_way_round_says_that_sides_cannot_be_told_from_texts(task: Task) -> None:
    Answer.objects.filter(item__task=task).update(flipped=False)
    core(task)
    text = page(task, "pair_order")
    assert "No pair was judged both ways round" in text
    assert "Sides cannot be told from texts here" in text


def test_mean_grades_and_their_tests_are_those_of_a_second_implementation(
    task: Task, run: Run
) -> None:
    rows = CandidateScore.objects.filter(run=run, dimension="overall").select_related("candidate")
    grade: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        text = row.candidate
        grade.setdefault((text.style, text.origin), {})[text.topic] = row.extra["grade"]
    text = page(task, "pair_grades", query="?first=model-a&second=people")
    topics = sorted(grade["essay", "people"])
    essay = text[text.index("Essay,") : text.index("List,")]
    for origin in ("model-a", "people"):
        mean = score(np.mean([grade["essay", origin][topic] for topic in topics]), 2)
        line = essay[essay.rindex(origin, 0, essay.index("model-a − people")) :]
        assert line.split()[3] == mean, line  # clarity with its interval stands before
    pooled = [
        np.array([np.mean([grade[style, who][t] for style in ("essay", "list")]) for t in topics])
        for who in ("model-a", "people")
    ]
    apart = pooled[0] - pooled[1]
    assert (
        format_signed(float(apart.mean())).replace("\u00a0", " ")
        in text[text.index("All styles,") :]
    )
    tests = {
        row["dimension"]: row
        for row in figure(run, "group_test")
        if {row["group_a"], row["group_b"]} == {"model-a", "people"}
    }
    assert tests["overall"]["p"] == pytest.approx(wilcoxon(apart[apart != 0]).pvalue)
    assert tests["overall"]["difference"] == pytest.approx(apart.mean())


def test_styles_are_compared_whatever_the_origin(task: Task, run: Run) -> None:
    rows = CandidateScore.objects.filter(run=run, dimension="overall").select_related("candidate")
    grade: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        key = row.candidate.topic, row.candidate.style
        grade.setdefault(key, []).append(row.extra["grade"])
    topics = sorted({topic for topic, _ in grade})
    apart = np.array([np.mean(grade[t, "essay"]) - np.mean(grade[t, "list"]) for t in topics])
    text = page(task, "pair_grades")
    section = text[text.index("By style, whatever the origin") :]
    assert format_signed(float(apart.mean())).replace("\u00a0", " ") in section
    answer = signed_in(task).get(
        reverse("pair_export", args=[task.project_id, task.pk]), {"table": "factors"}
    )
    lines = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
    wanted = {"factor": "style", "first": "Essay", "second": "List", "dimension": "overall"}
    [line] = [one for one in lines if wanted.items() <= one.items()]
    assert float(line["grade_or_difference"]) == pytest.approx(apart.mean())


def test_equal_merits_share_a_range_of_grades(task: Task, run: Run) -> None:
    one = CandidateScore.objects.filter(run=run, dimension="overall").first()
    assert one is not None
    one.extra |= {"grade": 3.5, "grade_low": 2, "grade_high": 5}
    one.save()
    assert "2–5" in page(task, "pair_grades")


def test_similarity_waits_for_the_checks_and_then_stands_there(task: Task, run: Run) -> None:
    assert "In progress with the checks, 0%" in page(task, "pair_grades")
    check(run)
    text = page(task, "pair_grades")
    assert "ROUGE-L F1, stemmed" in text and "In progress" not in text


# Judges and published tables -------------------------------------------------------------------


def test_without_a_models_labels_the_page_says_how_to_bring_them(task: Task) -> None:
    text = page(task, "pair_judges")
    assert "No model has judged" in text and "Import judgments" in text


def test_a_model_stands_beside_one_person_with_its_labels_turned_the_right_way(task: Task) -> None:
    judge(task)
    run = core(task)
    text = page(task, "pair_judges")
    given: dict[int, list[str]] = {}
    for item, code in ChoiceValue.objects.filter(
        answer__system__isnull=False, field="overall"
    ).values_list("answer__item", "code"):
        given.setdefault(item, []).append(code)
    same = np.mean([one == two for one, two in given.values()])
    gold = dict(ItemLabel.objects.filter(run=run, dimension="overall").values_list("item", "label"))
    pairs = [(code, gold[item]) for item, codes in given.items() for code in codes]
    decisive = np.mean([one == two for one, two in pairs if two != "neutral"])
    line = text[text.index("Overall", text.index("With estimated labels")) :]
    assert line.startswith(f"Overall {100 * same:.0f}%")
    assert f" {100 * decisive:.0f}%" in line[:60]
    assert decisive > 0.7  # upside down it would be below .3
    assert "4 topics; an interval needs 15." in text


def published(task: Task, rows: list[dict[str, Any]]) -> Run:
    now = timezone.now()
    run = Run.objects.create(
        project=task.project,
        task=task,
        number=900,
        method="published",
        version="Tea-25",
        state=RunState.DONE,
        trigger="import",
        started_at=now,
        finished_at=now,
    )
    RunFigure.objects.create(run=run, name="tables", data=rows)
    return run


def test_printed_figures_stand_beside_measured_ones_with_the_reason_where_they_differ(
    task: Task, run: Run
) -> None:
    url = reverse("pair_published", args=[task.project_id, task.pk])
    assert signed_in(task).get(url).status_code == 404
    assert "Tables as printed" not in page(task, "pair_agreement")
    [raw] = [row["alpha"] for row in figure(run, "agreement") if row["dimension"] == ""]
    rows = [
        {
            "table": "Table 4",
            "quantity": "alpha, all pairs, C, mean",
            "protocol": "all votes",
            "published": 0.4,
            "measured": 0.4012,
            "difference": 0.0012,
            "note": "",
        },
        {
            "table": "Table 4",
            "quantity": "alpha, all pairs, C, overall quality",
            "protocol": "all votes",
            "published": 0.31,
            "measured": 0.38,
            "difference": 0.07,
            "note": "half of the labels are upside down",
        },
    ]
    other = published(task, rows)
    text = page(task, "pair_published")
    assert "1 of 2 printed figures come out of the database as printed" in text
    assert "Printed .31 .40 From the database .38 .40" in text
    assert f"Our run {run.number} {score(raw, 2)}" in text
    assert "overall quality: half of the labels are upside down." in text.lower()
    assert "Tables as printed and as measured" in page(task, "pair_agreement")
    assert "See the published tables" in page(task, "pair_agreement", query=f"?run={other.number}")


# Speed -----------------------------------------------------------------------------------------


def test_pages_cost_the_same_number_of_queries_at_two_sizes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Its three queries are made where the first two are not separated, whatever the size.
    monkeypatch.setattr(collecting, "offer", lambda *_: None)
    counted: dict[str, set[int]] = {name: set() for name in PAGES}
    for topics, sources, workers in ((2, 4, 6), (3, 6, 9)):
        study = pair_corpus.make_task(topics=topics, sources=sources, varied=True)
        task = pair_corpus.make_judged(workers=workers, task=study)
        judge(task)
        run = core(task)
        check(run)
        published_labels(task, run)
        client = signed_in(task)
        item = task.items.order_by("pk").first()
        assert item is not None
        of = {"pair": item.pk, "pair_worker": careless(task).pk}
        for name, seen in counted.items():
            args = [task.project_id, task.pk, *([of[name]] if name in of else [])]
            client.get(reverse(name, args=args))
            with CaptureQueriesContext(connection) as queries:
                assert client.get(reverse(name, args=args)).status_code == 200
            seen.add(len(queries))
    # Who or what decides the top is named by a query, where somebody does.
    boards = counted.pop("pair_results")
    assert max(boards) - min(boards) <= 1 and max(boards) <= 35, boards
    # Two queries price what to do next, where somebody's votes are to be read.
    people = counted.pop("pair_workers")
    assert max(people) - min(people) <= 2 and max(people) <= 30, people
    assert all(len(seen) == 1 for seen in counted.values()), counted
    assert max(max(seen) for seen in counted.values()) <= 40, counted


def imported_without_sides(**study: Any) -> Task:
    """Three votes a pair that say only which text won."""
    study = {"sources": 2, "topics": 12, "redundancy": 3, **study}
    task = pair_corpus.make_task(**study)
    draw = np.random.default_rng(5)
    rows = [
        {
            "pair": item.key,
            "judge": f"j{number}",
            "clarity": draw.choice(["first", "neutral", "second"]),
            "overall": draw.choice(["first", "second"]),
        }
        for number in range(3)
        for item in task.items.order_by("pk")
    ]
    import_rows(by=task.project.owner, task=task, kind="judgments", rows=rows)
    return task


def test_nothing_is_said_of_sides_and_order_that_were_not_recorded() -> None:
    task = imported_without_sides(sources=3)
    stored = Answer.objects.filter(item__task=task)
    assert set(stored.values_list("sides_known", "order_shown")) == {(False, None)}
    made = scored(task)
    assert {row["name"] for row in figure(made, "shared")} == {"tie"}
    for name, reason in (("side", NO_SIDES), ("drift", NO_ORDER), ("within_item", NO_SIDES)):
        assert {row["reason"] for row in figure(made, name)} == {reason}, name
    assert {row["reason"] for row in figure(made, "across_item")} == {NO_ORDER}
    assert not figure(made, "position")
    url = reverse("pair_results", args=[task.project_id, task.pk])
    html = signed_in(task).get(url).content.decode()
    codes = set(findings_in(html))
    assert "sides_unknown" in codes and not {"side_kept", "side_estimated"} & codes
    assert "Left side wins" not in html
    text = page(task, "pair_order")
    assert "in the first" not in text and "Sides were not recorded" in text
    table = "".join(PAIR_EXPORTS["judgments"].lines(task, "csv", ""))
    for row in csv.DictReader(io.StringIO(table)):
        assert not (row["left"] or row["right"] or row["flipped"] or row["position"])
    worker = stored.first().worker_id
    answers = signed_in(task).get(reverse("pair_worker", args=[task.project_id, task.pk, worker]))
    assert answers.status_code == 200 and "vote-strip" not in answers.content.decode()
    assert sides(task, [worker])[worker].left == sides(task, [worker])[worker].right == 0


def test_recorded_sides_count_beside_those_that_were_not() -> None:
    """A vote without sides leaves the side effect of the others as it is."""
    task = imported_without_sides(redundancy=9)
    first = scored(task)
    rows = [
        {"pair": key, "judge": f"k{number}", "flipped": (number + at) % 2 == 0, "overall": "left"}
        for number in range(6)
        for at, key in enumerate(task.items.values_list("key", flat=True))
    ]
    import_rows(by=task.project.owner, task=task, kind="judgments", rows=rows)
    assert not [row for row in figure(first, "shared") if row["name"] == "side"]
    found = figure(scored(task), "shared")
    assert [row["estimate"] > 1 for row in found if row["name"] == "side"]
    assert not [one for one in found if (one["dimension"], one["name"]) == ("clarity", "side")]
