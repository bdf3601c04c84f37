"""People are asked about more items: drawn by a model's doubt, handed out first, weighed after."""

from __future__ import annotations

import json
import zipfile
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, AuditEntry, Item, Membership, System, Task
from annotation.work.actions import assignments
from crowdqc.errors import Conflict, Invalid
from evaluation.bundles import writing as bundle
from evaluation.bundles.checking import verify
from evaluation.models import ItemDraw, Run, RunState
from evaluation.replacement import actions
from evaluation.runs import engine as runs
from evaluation.runs.selectors import lists as reads
from tests.evaluation.corpora import checks, texts
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.corpora.pair_study import client_of, text_of
from tests.support import factories
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def tested_task(shared_rows: None) -> Task:
    """Labels of 5 people on the first 60 of 200 items, and of two models on all."""
    found = corpus.make_labelled(items=200, known=0, workers=5, guessing=0)
    late = Item.objects.filter(task=found).order_by("position")[60:]
    Answer.objects.filter(item__in=late).delete()
    Item.objects.filter(pk__in=late).update(held=0)
    corpus.add_model(found, "Alder", right=0.85, seed=1)
    corpus.add_model(found, "Birch", right=0.8, seed=2)
    run_of(found, draws=400)  # the number that is asked for rests on them
    return found


@pytest.fixture
def task(tested_task: Task, db: None) -> Task:
    return Task.objects.select_related("project__owner", "current").get(pk=tested_task.pk)


def run_of(task: Task, draws: int = 100) -> Run:
    params = {"draws": draws, "epsilon": 0.15}
    run = runs.start(by=task.project.owner, task=task, method="replacement", params=params)
    assert runs.execute(run.pk) == RunState.DONE, run.error
    run.refresh_from_db()
    return run


def ask(task: Task, *, wanted: int = 60, way: str = "unsure", seed: int = 3) -> ItemDraw:
    return actions.ask_about_items(
        by=task.project.owner,
        task=task,
        field=corpus.FIELD,
        system_id=System.objects.get(name="Alder").pk,
        wanted=wanted,
        way=way,
        trusted=True,
        seed=seed,
    )


def test_a_program_and_a_command_draw_the_same_items_as_the_page_would(task: Task) -> None:
    token = factories.api_token(task.project.owner, ["read", "write"])
    client = Client(headers={"Authorization": f"Token {token}"})
    url = f"/api/tasks/{task.pk}/draws/"
    body = {"model": "Alder", "items": 60, "seed": 3, "trusted": True}
    told = client.post(url, body, "application/json")
    assert told.status_code == 201 and told.json()["way"] == "unsure"
    drawn = ItemDraw.objects.get()
    keys = Item.objects.filter(pk__in=drawn.drawn).values_list("key", flat=True)
    assert sorted(told.json()["items"]) == sorted(keys) and len(keys) == len(drawn.drawn)
    assert set(Item.objects.filter(pk__in=drawn.drawn).values_list("priority", flat=True)) == {1}
    assert client.get(url).json() == [told.json()]
    for wrong, field in (({"model": "Oak"}, "model"), ({"items": 5000}, "wanted")):
        refused = client.post(url, body | wrong, "application/json")
        assert refused.status_code == 422 and field in str(refused.json())
    out = StringIO()
    named = {"by": task.project.owner.username, "model": "Alder", "items": 60, "seed": 3}
    call_command("crowdqc_draw", task.pk, json=True, stdout=out, **named)
    again = json.loads(out.getvalue())
    assert (
        again["items"] == told.json()["items"]
        and AuditEntry.objects.filter(action="items.draw").count() == 2
    )
    with pytest.raises(CommandError, match="a requester of its project"):
        call_command("crowdqc_draw", task.pk, **(named | {"by": "nobody"}))


def answer(task: Task, items: list[int]) -> None:
    """Two people label these items as they deserve, four times in five."""
    for number, person in enumerate(
        Membership.objects.filter(project=task.project, role="worker").order_by("pk")[:2]
    ):
        given = [
            (
                item,
                corpus.CODES[
                    (corpus.CODES.index(corpus.truth(item.position)) + (at % 5 == number)) % 3
                ],
            )
            for at, item in enumerate(Item.objects.filter(pk__in=items).order_by("position"))
        ]
        corpus.add_labels(task, person, given)


def test_a_button_leads_to_what_it_costs_and_shows_and_one_press_hands_the_items_out_first(
    task: Task,
) -> None:
    client = client_of(task)
    page = html_of(client.get(reverse("replacement", args=[task.project_id, task.pk])))
    assert "Label 140 more items for Birch" in page
    address = reverse("replacement_ask", args=[task.project_id, task.pk])
    model = System.objects.get(name="Alder").pk
    shown = text_of(html_of(client.get(f"{address}?model={model}&wanted=60")))
    assert "After 60 items" in shown and "The same number at random" in shown
    assert "Share of “Supported” ± ." in shown and "Ask people about 60 items" in shown
    assert "140 items can be chosen" in shown
    assert not ItemDraw.objects.exists()
    form = {"model": model, "wanted": 60, "way": "unsure", "trusted": "on"}
    done = client.post(address, form, follow=True)
    assert "60 items will be handed out first" in html_of(done)
    made = ItemDraw.objects.get()
    assert set(task.items.filter(priority=1).values_list("pk", flat=True)) == set(made.drawn)
    assert sum(made.chances.values()) == pytest.approx(60) and len(made.chances) == 140
    assert len(made.known) == 60 and made.recipe["model"].startswith("Alder")
    said = set(AuditEntry.objects.filter(project=task.project).values_list("action", flat=True))
    assert {"items.draw", "items.priority"} <= said
    worker = factories.make_worker(project=task.project)
    held = assignments.claim_assignment(by=worker.user, task=task, worker=worker)
    assert set(held.entries.values_list("item", flat=True)) <= set(made.drawn)


def test_drawn_items_give_an_estimate_once_all_are_answered_and_not_before(
    task: Task, tmp_path: Path
) -> None:
    tested = Run.objects.get(task=task)
    before = [row for row in reads.figures_of(tested)["combined"] if row["model"] == 0]
    made = ask(task)
    answer(task, made.drawn[:50])
    waiting = reads.figures_of(run_of(task))["combined"][0]
    assert waiting["reason"] == (
        "people have not answered 10 of the 60 items yet that were drawn for them"
    )
    answer(task, made.drawn[50:])
    others = [pk for pk in map(int, made.chances) if pk not in made.drawn]
    answer(task, others[:7])  # as they came: they are not used
    run = run_of(task)
    told = reads.figures_of(run)
    rows = [row for row in told["combined"] if row["model"] == 0]
    truth = [sum(corpus.truth(at) == code for at in range(200)) / 200 for code in corpus.CODES]
    for row, old, share in zip(rows, before, truth, strict=True):
        assert (row["drawn"], row["earlier"], row["rest"]) == (60, 60, 80)
        assert row["both_low"] < share + 0.1 and row["both_high"] > share - 0.1
        assert row["both_high"] - row["both_low"] < old["both_high"] - old["both_low"]
    # Chosen items are harder, and those left over easier: the verdict is that of the others.
    assert told["model"][0]["items"] == 60
    page = text_of(
        html_of(client_of(task).get(reverse("replacement", args=[task.project_id, task.pk])))
    )
    assert "60 items were drawn where a model was least sure" in page
    # How each item was drawn travels with the numbers, and is checked.
    path = tmp_path / "run.zip"
    path.write_bytes(b"".join(bundle.parts(run)))
    assert verify(path).good, verify(path).lines
    with zipfile.ZipFile(path) as archive:
        draw = json.loads(archive.read("data/draw.json"))
    assert draw["chances"] == made.chances and draw["drawn"] == made.drawn


def test_items_drawn_at_random_help_the_verdict_as_well(task: Task) -> None:
    made = ask(task, way="random")
    assert set(made.chances.values()) == {60 / 140}
    answer(task, made.drawn)
    told = reads.figures_of(run_of(task))
    assert told["model"][0]["items"] == 120 and not told["combined"][0]["reason"]


def test_a_later_draw_takes_the_place_of_an_earlier_one(task: Task) -> None:
    first = ask(task)
    answer(task, first.drawn[:20])
    second = ask(task, wanted=40, seed=4)
    # What was chosen as hard is no random part any more.
    assert (first.recipe["trusted"], second.recipe["trusted"]) == (True, False)
    assert set(first.drawn[:20]) <= set(second.known) and len(second.chances) == 120
    assert set(task.items.filter(priority=1).values_list("pk", flat=True)) == set(second.drawn)


def test_more_than_there_are_a_closed_task_and_an_unknown_model_are_refused(task: Task) -> None:
    with pytest.raises(Invalid, match="out of range"):
        ask(task, wanted=141)
    with pytest.raises(Invalid, match="out of range"):
        ask(task, wanted=29)
    address = reverse("replacement_ask", args=[task.project_id, task.pk])
    refused = client_of(task).post(address, {"model": 1, "wanted": 141, "way": "unsure"})
    assert refused.status_code == 422 and "From 30 to 140." in html_of(refused)
    Task.objects.filter(pk=task.pk).update(state="closed")
    task.refresh_from_db()
    with pytest.raises(Conflict, match="Open the task first"):
        ask(task)
    assert not ItemDraw.objects.exists()


def test_texts_of_checklists_are_drawn_too_and_every_question_is_weighed(tmp_path: Path) -> None:
    task = checks.make_study(topics=30, people=3, scored=False)
    corpus.add_copy(task)
    items = list(Item.objects.filter(task=task).order_by("pk"))
    late = [item.pk for item in items[40:]]
    Answer.objects.filter(item__in=late, worker__isnull=False).delete()
    Item.objects.filter(pk__in=late).update(held=0)
    run_of(task)
    client, system = client_of(task), System.objects.get(name="Copy").pk
    address = reverse("replacement_ask", args=[task.project_id, task.pk])
    form = {"model": system, "wanted": 60, "way": "unsure"}
    shown = text_of(html_of(client.get(address, form)))
    assert "All questions: share of yes" in shown and "“Does the note name the leaf?”" in shown
    assert client.post(address, form).status_code == 302
    made = ItemDraw.objects.get()
    people = Membership.objects.filter(project=task.project, role="worker").order_by("pk")
    checks.fill(task, people[:2], only=made.drawn)
    run = run_of(task)
    rows = reads.figures_of(run)["combined"]
    assert [row["label"] for row in rows] == [-1, 0, 1, 2, 3]
    assert {(row["drawn"], row["reason"]) for row in rows} == {(60, "")}
    said = [
        [checks.truth(item.first.text, name) == "yes" for name in checks.WORDS] for item in items
    ]
    true = np.mean(said, axis=0)
    for row, share in zip(rows, [true.mean(), *true], strict=True):
        # People slip once in seven: what they would say of all items is off by that.
        assert row["both_low"] <= share + (1 - 2 * share) / 7 <= row["both_high"], row
    page = text_of(html_of(client.get(reverse("replacement", args=[task.project_id, task.pk]))))
    assert "“Is the note free of jokes?”: share of yes" in page
    file = tmp_path / "bundle.zip"
    file.write_bytes(b"".join(bundle.parts(run)))
    assert verify(file).good


def test_of_texts_the_page_and_the_api_say_why_no_items_are_drawn() -> None:
    task = texts.make_answered()
    start = {"by": task.project.owner, "task": task, "method": "replacement_texts"}
    run = runs.start(**start, params={"encoder": "char-svd", "draws": 100})
    assert runs.execute(run.pk) == RunState.DONE
    why = "Items cannot be chosen for answers in own words."
    client = client_of(task)
    assert why in html_of(client.get(reverse("replacement", args=[task.project_id, task.pk])))
    token = factories.api_token(task.project.owner, ["read", "write"])
    api = Client(headers={"Authorization": f"Token {token}"})
    model = System.objects.filter(answers__item__task=task).distinct()[0]
    body = {"model": str(model), "items": 60}
    told = api.post(f"/api/tasks/{task.pk}/draws/", body, "application/json")
    assert told.status_code == 409 and why in told.content.decode()
