"""May a model replace a person: from collected labels and judgments to a verdict on a page."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Answer, ChoiceValue, Item, ItemGroup, Panel, Recruitment, Task
from annotation.work.snapshots import choices
from evaluation.bundles import writing as bundle
from evaluation.bundles.checking import verify
from evaluation.methods.replacement import method
from evaluation.models import Run, RunState
from evaluation.replacement import texts as replacement_texts
from evaluation.replacement.selectors.advice import advice
from evaluation.replacement.selectors.first_step import first_step
from evaluation.replacement.selectors.tables import ModelRow
from evaluation.replacement.selectors.verdicts import facts, model_rows
from evaluation.runs import engine as runs
from evaluation.runs.freezing.snapshots import AnswersDataset
from evaluation.runs.model_answers import count_comparable_people
from evaluation.runs.selectors import lists as reads
from tests.evaluation.corpora import checks as checks_corpus
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora import texts as text_corpus
from tests.evaluation.corpora.pair_study import client_of, text_of
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db
ITEMS, SEEN = 160, 120
FORM = {
    "field": corpus.FIELD,
    "epsilon": "0.15",
    "people_per_item": "2",
    "items_per_person": "30",
    "seed": "1",
}


@pytest.fixture(scope="module")
def judged_task(shared_rows: None) -> Task:
    """Labels of 8 people on SEEN items, and of three models that are good, bad and seldom there."""
    return corpus.make_compared(items=ITEMS, seen=SEEN)


@pytest.fixture
def task(judged_task: Task, db: None) -> Task:
    return Task.objects.select_related("project__owner", "current").get(pk=judged_task.pk)


def finished_run(task: Task, **params: Any) -> Run:
    """A finished run, started as the form does."""
    client = client_of(task)
    address = reverse("run_start", args=[task.project_id, task.pk]) + "?method=replacement"
    assert "Can a model replace your annotators?" in html_of(client.get(address))
    response = client.post(address, FORM | params)
    assert response.status_code == 302
    run = Run.objects.filter(task=task, method="replacement").latest("pk")
    run.params |= {"draws": 100}
    run.save(update_fields=["params"])
    assert runs.execute(run.pk) == RunState.DONE, run.error
    return run


def page(task: Task, query: str = "") -> str:
    address = reverse("replacement", args=[task.project_id, task.pk])
    return text_of(html_of(client_of(task).get(address + query)))


def test_one_model_may_one_may_not_and_of_one_the_answers_cannot_tell(task: Task) -> None:
    untested = page(task)
    assert "Not tested yet" in untested and "Test the models" in untested
    assert "Let a model answer" not in untested
    run = finished_run(task)
    text = page(task)
    assert "Alder can replace one of your annotators on this task." in text
    assert "Birch cannot replace one of your annotators: shown to be clearly worse" in text
    assert "It is not shown whether Cedar can replace one" in text
    assert "8 of 8" in text and "0 of 8" in text
    now = text[text.index("What to do with each model") :]
    assert "Alder Can take the place of one annotator" in now
    assert "Birch Keep all annotators: it is clearly worse than most of them" in now
    more = re.search(
        r"Cedar Do not decide yet. 70 items were compared, about \d+ are needed, and people "
        r"labelled all items that the model labelled. Let the model label more items; if there are "
        r"none, import some. Or leave it undecided and keep all annotators.",
        now,
    )
    assert more is not None
    assert "Cedar replacement" not in text and "No, shown to be worse" in text
    assert "The verdicts on 3 models hold at once." in text
    told = reads.figures_of(run)
    assert [row["items"] for row in told["model"]] == [SEEN, SEEN, 70]
    cedar = page(task, "?model=2")
    assert "Cedar against each annotator" in cedar and "Not shown" in cedar
    assert "would tell: a model as good as your annotators" in cedar


def test_the_verdict_is_at_the_epsilon_of_the_run_and_none_is_offered_to_fish_for(
    task: Task,
) -> None:
    finished_run(task)
    assert page(task, "?epsilon=0&model=2") == page(task, "?epsilon=30&model=2")
    for fishing in ("Would pass if", "Still passes if", "Would not pass even"):
        assert fishing not in page(task, "?model=2")
    drawn = html_of(client_of(task).get(reverse("replacement", args=[task.project_id, task.pk])))
    assert 'type="range"' not in drawn
    # Alder passes already, so more items for it are offered only to who chooses it.
    more = r'class="button" href="[^"]*">Label \d+ more items for Alder<'
    chosen = reverse("replacement", args=[task.project_id, task.pk]) + "?model=0"
    assert not re.search(more, drawn)
    assert re.search(more, html_of(client_of(task).get(chosen)))
    assert "winning rate from" in drawn and "Winning rate of Alder, by ε" in drawn


def test_people_and_a_model_together_say_the_share_of_a_class_more_exactly(task: Task) -> None:
    run = finished_run(task)
    rows = [row for row in reads.figures_of(run)["combined"] if row["model"] == 0]
    assert [row["label"] for row in rows] == [0, 1, 2]
    assert all(row["labelled"] == SEEN and row["rest"] == ITEMS - SEEN for row in rows)
    for row in rows:
        assert row["both_high"] - row["both_low"] < row["people_high"] - row["people_low"]
        assert row["worth"] > SEEN
    text = page(task)
    assert "Labels saved by combining people and Alder" in text
    assert "Share of “" in text and "unbiased" not in text
    assert "Holds if the items that people labelled are a random part of all." in text


def test_with_too_few_items_the_test_is_refused_with_the_reason(task: Task) -> None:
    assert count_comparable_people(task) == 8
    few = Item.objects.filter(task=task).order_by("position")[20:]
    Answer.objects.filter(item__in=few).delete()
    step = first_step(task, "replacement", requester=True)
    assert step.url == reverse("task", args=[task.project_id, task.pk])
    assert step.missing.startswith("0 people") and step.missing in page(task)
    run = finished_run(task)
    text = page(task)
    assert "could not be tested" in text
    assert "The test needs 3 people with 30 items each" in text
    told = reads.figures_of(run)
    [row, *_] = model_rows(told, round(100 * run.params["epsilon"]))
    names = [name for name, _ in facts(run, row)]
    assert f"Of them answered by {row.short}" in names
    assert not {f"Of them tested with {row.short}", "Compared with the model"} & set(names)


def test_before_a_model_answers_the_page_leads_to_what_gives_the_test_its_answers() -> None:
    for task, address, kind in (
        (pair_corpus.make_rated(topics=1), "task_import", "judgments"),
        (pair_corpus.make_task(topics=1, sources=3), "task_ask", "judge_pairs"),
        (corpus.make_labelled(items=5, workers=2, known=0, guessing=0), "task_ask", "answers"),
    ):
        step = first_step(task, "replacement", requester=True)
        assert step.url == reverse(address, args=[task.project_id, task.pk, kind])
        own = reverse("replacement", args=[task.project_id, task.pk])
        assert f'href="{step.url}"' in html_of(client_of(task).get(own))


def test_what_was_frozen_is_what_is_tested_and_a_page_costs_no_more_for_more_people(
    task: Task,
) -> None:
    first, again = finished_run(task), finished_run(task)
    assert first.snapshot_id == again.snapshot_id
    assert reads.figures_of(first)["curve"] == reads.figures_of(again)["curve"]
    client = client_of(task)
    address = reverse("replacement", args=[task.project_id, task.pk])
    with CaptureQueriesContext(connection) as asked:
        client.get(address)
    assert len(asked) <= 20


def test_everything_that_the_page_shows_can_be_downloaded(task: Task) -> None:
    run = finished_run(task)
    answer = client_of(task).get(reverse("run_export", args=[task.project_id, run.number]))
    with zipfile.ZipFile(io.BytesIO(b"".join(answer))) as archive:
        told = json.loads(archive.read("figures.json"))
    assert {"model", "person", "curve", "combined"} <= set(told)


def test_judgments_of_pairs_are_compared_as_they_are_stored_and_ratings_by_their_distance() -> None:
    pairs = pair_corpus.make_judged(workers=6, topics=5)
    rated = pair_corpus.make_rated(topics=12)
    for task, score in ((pairs, "accuracy"), (rated, "rmse")):
        field = choices.fields_of(task)[0]
        corpus.add_copy(task)
        run = runs.start(
            by=task.project.owner, task=task, method="replacement", params={"draws": 100}
        )
        assert runs.execute(run.pk) == RunState.DONE, run.error
        told = reads.figures_of(run)
        assert told["frame"]["score"] == score and told["frame"]["field"][0] == field.name
        assert told["model"][0]["reason"] == "", told["model"][0]
        # Who is copied has the same answers, so that nobody can tell the two apart.
        same = [row for row in told["person"] if row["difference"] == 0 and row["error"] == 0]
        assert len(same) == 1 and same[0]["model_share"] == same[0]["person_share"] == 1
        assert "Mean" in page(task) or score == "accuracy"
        judges = reverse("replacement_judges", args=[task.project_id, task.pk])
        drawn = "people’s mean by model’s number" in html_of(client_of(task).get(judges))
        assert drawn == (score == "rmse")


def test_filled_checklists_are_compared_by_the_share_of_questions_answered_alike() -> None:
    task = checks_corpus.make_study(topics=8, people=5, scored=False)
    corpus.add_copy(task)
    run = runs.start(by=task.project.owner, task=task, method="replacement", params={"draws": 100})
    assert runs.execute(run.pk) == RunState.DONE, run.error
    told = reads.figures_of(run)
    given: dict[tuple[int, int], dict[str, int]] = {}
    rows = ChoiceValue.objects.filter(answer__item__task=task)
    for worker, item, name, yes in rows.values_list(
        "answer__worker", "answer__item", "field", "ordinal"
    ):
        given.setdefault((worker or 0, item), {})[name] = yes
    people, items = sorted({who for who, _ in given if who}), sorted({item for _, item in given})

    def alike(who: int, other: int, item: int) -> float:
        return float(
            np.mean([given[who, item][q] == given[other, item][q] for q in given[who, item]])
        )

    for row in told["person"]:
        own = told["frame"]["people"][row["person"]]
        others = [one for one in people if one != own]
        mean = np.array(
            [
                [np.mean([alike(who, other, item) for other in others]) for item in items]
                for who in (0, own)
            ]
        ).round(9)
        assert row["model_share"] == pytest.approx((mean[0] >= mean[1]).mean())
        assert row["person_share"] == pytest.approx((mean[1] >= mean[0]).mean())
    assert len(told["person"]) == 5 and told["rates"] == []
    assert {row["label"] for row in told["combined"]} == {-1, 0, 1, 2, 3}
    assert "All 4 questions of the list" in page(task)


def test_a_models_errors_are_counted_by_label_and_its_share_is_corrected(task: Task) -> None:
    run = finished_run(task)
    rows = {(row["model"], row["label"]): row for row in reads.figures_of(run)["rates"]}
    shares = np.bincount([corpus.CODES.index(corpus.truth(at)) for at in range(ITEMS)]) / ITEMS
    for label, share in enumerate(shares):
        good = rows[0, label]
        assert good["sensitivity"] > 0.85 and good["specificity"] > 0.9
        assert good["sensitivity_n"] + good["specificity_n"] <= SEEN
        assert good["corrected_low"] < share < good["corrected_high"]
        assert rows[1, label]["corrected"] is None  # as likely wrong as right
        assert "better than a coin" in rows[1, label]["corrected_reason"]
    text = page(task)
    assert "What Alder gets right" in text and "Corrected share, 95% CI" in text


def test_models_that_write_are_compared_by_how_alike_the_texts_are() -> None:
    task = text_corpus.make_answered()
    run = runs.start(
        by=task.project.owner,
        task=task,
        method="replacement_texts",
        params={"encoder": "char-svd", "items_per_person": 30, "draws": 100},
    )
    assert runs.execute(run.pk) == RunState.DONE, run.error
    told = reads.figures_of(run)
    assert told["frame"]["score"] == "cosine" and told["recipe"]["encoder"]
    names = [name for _, name in told["frame"]["models"]]
    assert len(names) == 3 and not told["combined"] and not told["rates"]
    # Few questions: the reason stands where a verdict would.
    assert all(
        "The test needs 3 people with 30 items each" in row["reason"] for row in told["model"]
    )
    assert "could not be tested" in page(task) and "Answers in own words" in page(task)


def test_of_two_models_that_write_the_one_that_says_what_people_say_is_closer() -> None:
    frozen, vectors = written_answers(items=80, people=4)
    data = replacement_texts.beside(frozen, vectors, {1: "near", 2: "far"}).data
    found = method.fit(data, draws=100)
    near, far = found.estimates["model"].rows()
    assert near["advantage"] > 0.5 > far["advantage"]
    assert near["items"] == 80 and far["items"] == 79  # it left a question out
    # A second answer to a question changes nothing: the first one stands.
    assert data.vectors is not None
    assert np.isnan(data.model[1, 5]) and data.model[0, 0] == frozen.system_text[0]


def written_answers(items: int, people: int) -> tuple[AnswersDataset, Any]:
    """People's vectors around one of each question; a model near them, and one far off."""
    rng = np.random.default_rng(4)
    middle = rng.normal(size=(items, 16))
    texts = [middle[item] + rng.normal(size=16) for item in range(items) for _ in range(people)]
    near = [middle[item] + 0.2 * rng.normal(size=16) for item in range(items)]
    far = [rng.normal(size=16) for _ in range(items)]
    again = [rng.normal(size=16)]  # near's second answer to the first question
    n = items * people
    asked = np.repeat(np.arange(items), people)
    system = np.array([0] * (items + 1) + [1] * (items - 1))
    question = np.concatenate([[0, 0], np.arange(1, items), np.delete(np.arange(items), 5)])
    text = np.concatenate(
        [[n, n + 2 * items], n + np.arange(1, items), n + items + np.delete(np.arange(items), 5)]
    )
    frozen = AnswersDataset(
        answer_ids=tuple(range(n)),
        worker=np.tile(np.arange(people), items),
        question=asked,
        text=np.arange(n),
        system_answer_ids=tuple(range(n, n + len(system))),
        system=system,
        system_question=question,
        system_text=text,
        workers=tuple(range(people)),
        systems=(1, 2),
        items=tuple(range(items)),
        texts=tuple(map(str, range(n + 2 * items + 1))),
    )
    return frozen, np.vstack([*texts, *near, *far, *again])


def test_a_run_from_before_is_read_by_the_rule_of_today(task: Task) -> None:
    """It said no where a model as good as people would have passed with a chance of .8."""
    run = finished_run(task)
    people = run.figures.get(name="person")
    for row in people.data:
        row.pop("freedom")
    people.save()
    curve = run.figures.get(name="curve")
    for row in curve.data:
        row["verdict"] = "narrowly" if row["model"] == 0 else "no"
    curve.save()
    text = page(task)
    assert "Alder can replace one of your annotators on this task." in text
    assert "Birch cannot replace one of your annotators" in text
    assert "It is not shown whether Cedar can replace one" in text


def test_epsilon_is_that_of_who_annotates(task: Task) -> None:
    def usual() -> float:
        by = task.project.owner
        run = runs.start(by=by, task=task, method="replacement", params={"draws": 100})
        Run.objects.filter(pk=run.pk).update(state=RunState.DONE)
        return float(run.params["epsilon"])

    assert usual() == 0.10  # workers of the project
    task.panel = Panel.objects.create(project=task.project, name="p", created_by=task.project.owner)
    assert usual() == 0.15
    task.panel = None
    task.assignments.update(source="import")
    assert usual() == 0.15  # nothing is known of whom a file names
    Recruitment.objects.create(
        task=task, kind="prolific", name="p", currency="GBP", created_by=task.project.owner
    )
    assert usual() == 0.10
    Run.objects.filter(task=task).delete()
    address = reverse("run_start", args=[task.project_id, task.pk]) + "?method=replacement"
    assert re.search(r'name="epsilon"[^>]*value="0?\.10?"', html_of(client_of(task).get(address)))


def grouped_task(groups: int) -> Task:
    """Labels of five people on the items of so many groups, and a model."""
    task = corpus.make_task(items=120)
    made = ItemGroup.objects.bulk_create(
        ItemGroup(task=task, key=f"g{at}", since=1, position=at) for at in range(groups)
    )
    for at, item in enumerate(task.items.order_by("position")):
        Item.objects.filter(pk=item.pk).update(group=made[at * groups // 120])
    corpus.make_labelled(task=task, known=0, workers=5, guessing=0)
    corpus.add_model(task, "Alder", right=0.95)
    return task


def test_items_of_one_group_are_one_topic_of_the_test_and_of_its_bundle(tmp_path: Path) -> None:
    run = finished_run(grouped_task(12))
    told = reads.figures_of(run)
    assert all(5 < row["freedom"] < 12 for row in told["person"])
    path = tmp_path / "run.zip"
    path.write_bytes(b"".join(bundle.parts(Run.objects.get(pk=run.pk))))
    assert verify(path).good, verify(path).lines


def test_a_task_of_three_topics_tells_nothing_of_a_model(db: None) -> None:
    task = grouped_task(3)
    finished_run(task)
    assert "Items of one topic are alike: 3 topics; an interval needs 5." in page(task)


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (None, "Let people label about 125 more of the items"),
        (200, "Let people label about 125 more of the items"),
        (20, "Let people label the 20 that only the model labelled, and let the model label more"),
        (0, "people labelled all items that the model labelled. Let the model label more items"),
    ],
)
def test_advice_on_an_undecided_model_can_be_followed(left: int | None, said: str) -> None:
    row = ModelRow("Cedar", None, n=75, verdict="undecided", needed=200)
    told = {"combined": [] if left is None else [{"model": 0, "rest": left}]}
    (one,) = advice([row], told)
    assert said in one["said"] and "eep all annotators" in one["said"]
