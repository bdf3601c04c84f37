"""Labels that people of the project decide by hand: who may, what counts, and where it shows."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, AuditEntry, Item, Task, User
from annotation.work.snapshots import labels as collected
from crowdqc.errors import Conflict, Invalid
from evaluation.labels import actions, dataset
from evaluation.labels.selectors.items import DecisionCounts, labelled_rows
from evaluation.models import ItemLabel, LabelDecision, Run
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.corpora.pair_study import client_of, page, text_of
from tests.evaluation.labels.test_runs import scored
from tests.support import factories
from tests.support.pages import findings_in, html_of

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def labelled_task(shared_rows: None) -> Task:
    return corpus.make_labelled(items=30, known=4, workers=8, guessing=3)


@pytest.fixture
def task(labelled_task: Task, db: None) -> Task:
    return Task.objects.select_related("project__owner", "current").get(pk=labelled_task.pk)


def item_of(task: Task, run: Run | None = None) -> Item:
    """The first item; of a run, the first on which its methods differ."""
    if run is None:
        return task.items.order_by("position")[0]
    rows = ItemLabel.objects.filter(run=run, extra__differ=True).order_by("item__position")
    return rows[0].item


def decide(task: Task, item: Item, label: str = "supported", **more: Any) -> LabelDecision:
    sent = {"by": task.project.owner, "field": corpus.FIELD, "label": label, **more}
    return actions.decide_label(task=task, item=item, **sent)


def address(task: Task, item: Item, name: str = "label_decide") -> str:
    return reverse(name, args=[task.project_id, task.pk, item.pk])


def manager_of(task: Task) -> User:
    user = factories.make_member(task.project).user
    assert user is not None
    return user


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_the_newest_decision_counts_and_a_revoked_one_leaves_none(task: Task) -> None:
    item = item_of(task)
    first = decide(task, item, reason="  The source says so.  ")
    assert first.reason == "The source says so."
    assert decide(task, item, reason="The source says so.") == first  # a double click
    other = manager_of(task)
    second = decide(task, item, "contradicted", by=other)
    first.refresh_from_db()
    assert first.ended_at is not None and first.ended_by == other
    assert [one.decider for one in (first, second)] == [1, 2]
    assert decide(task, item_of(task, None), "not_in_source").decider == 1
    actions.revoke_decision(by=other, task=task, item=item, field=corpus.FIELD)
    assert not LabelDecision.objects.filter(ended_at=None).exists()
    with pytest.raises(Conflict):
        actions.revoke_decision(by=other, task=task, item=item, field=corpus.FIELD)
    said = list(AuditEntry.objects.filter(object_id=item.pk).values_list("action", flat=True))
    assert said.count("label.decide") == 3 and said.count("label.revoke") == 1


@pytest.mark.parametrize(
    ("field", "label", "wrong"),
    [
        ("nothing", "supported", "field"),
        (corpus.FIELD, "unsure", "label"),
        (corpus.FIELD, "", "label"),
        ("tone", "supported", "label"),
    ],
)
def test_a_decision_names_a_field_and_one_of_its_options(
    task: Task, field: str, label: str, wrong: str
) -> None:
    with pytest.raises(Invalid) as refused:
        decide(task, item_of(task), label, field=field)
    assert wrong in refused.value.fields
    with pytest.raises(Invalid) as refused:
        decide(task, item_of(task), reason="x" * 501)
    assert "reason" in refused.value.fields


def test_no_method_answer_or_known_answer_ever_sees_a_decision(task: Task) -> None:
    field = collected.field_of(task, corpus.FIELD)
    frozen = dataset.freeze_labels(task, field=field)
    before = scored(task)
    answers = Answer.objects.count()
    for item in task.items.all():
        decide(task, item, "not_in_source")
    assert dataset.freeze_labels(task, field=field) == frozen
    after = scored(task)
    assert before.result_hash == after.result_hash
    assert Answer.objects.count() == answers
    assert task.items.filter(expected__isnull=False).count() == 4


def test_a_label_is_decided_in_the_list_and_revoked_on_the_page_of_the_item(task: Task) -> None:
    run = scored(task)
    item, owner = item_of(task, run), str(task.project.owner)
    listed = page(task, "label_items", query="?show=open")
    assert f'action="{address(task, item)}"' in listed
    client = client_of(task)
    sent = {"field": corpus.FIELD, "label": "not_in_source", "reason": "It says nothing of it."}
    done = client.post(address(task, item), sent, headers={"HX-Request": "true"})
    assert done.status_code == 200
    assert f"Decided by {owner}" in text_of(html_of(done)) and "<html" not in html_of(done)
    text = text_of(page(task, "label_items", query="?show=decided"))
    assert "Decided 1" in text and f"Decided by {owner}" in text and item.key in text
    whole = text_of(html_of(client.get(reverse("task_item", args=[*here(task), item.pk]))))
    assert "Verdict" in whole and f"Not in source Decided by {owner}" in whole
    assert "It says nothing of it." in whole
    assert "decided a label by hand" in whole  # in its history
    gone = client.post(address(task, item, "label_revoke"), {"field": corpus.FIELD}, follow=True)
    assert gone.status_code == 200 and gone.redirect_chain[-1][0].endswith(f"/items/{item.pk}/")
    assert f"Decided by {owner}" not in text_of(html_of(gone))


def here(task: Task) -> list[int]:
    return [task.project_id, task.pk]


def test_what_is_wrong_stands_in_the_form_and_the_page_keeps_what_was_written(task: Task) -> None:
    scored(task)
    item = item_of(task)
    sent = {"field": corpus.FIELD, "label": "", "reason": "kept"}
    done = client_of(task).post(address(task, item), sent, headers={"HX-Request": "true"})
    assert done.status_code == 422
    assert "Choose a label." in text_of(html_of(done)) and 'value="kept"' in html_of(done)
    assert client_of(task).post(address(task, item), sent).status_code == 422


def test_the_verdict_counts_what_is_decided_and_asks_for_the_rest(task: Task) -> None:
    run = scored(task)
    rows = list(labelled_rows(run).filter(is_open=True).select_related("item"))
    assert len(rows) > 1
    decide(task, rows[0].item)
    html = page(task, "label_items")
    left = len(rows) - 1
    assert "label_decided" in findings_in(html)
    assert html.count('<td class="votes"') == left == html.count("mark-undecided")
    for row in rows[1:]:
        decide(task, row.item)
    assert DecisionCounts.of(run) == DecisionCounts(open=0, certain=0, decided=len(rows))
    codes = findings_in(page(task, "label_items"))
    assert "label_decided" in codes


def test_files_and_programs_get_decisions_in_columns_of_their_own(task: Task) -> None:
    run = scored(task)
    item = item_of(task, run)
    decide(task, item, "contradicted", reason="never in a file")
    query = f"?run={run.number}&table=labels&format=csv"
    response = client_of(task).get(reverse("label_export", args=here(task)) + query)
    content = b"".join(response.streaming_content).decode()
    rows = {row["item_id"]: row for row in csv.DictReader(io.StringIO(content))}
    own = rows.pop(item.key)
    assert (own["decided_label"], own["decided_by"]) == ("contradicted", "decider-1")
    assert all(row["decided_label"] == row["decided_by"] == "" for row in rows.values())
    assert "never in a file" not in content and str(task.project.owner) not in content
    told = client_of(task).get(reverse("api_task_scores_labels", args=[task.pk]))
    [given] = [row for row in told.json()["results"] if row["decided_label"]]
    assert (given["item_id"], given["decided_by"]) == (item.key, "decider-1")


def test_staff_of_the_project_decide_and_nobody_else(task: Task) -> None:
    item, project = item_of(task), task.project
    staff = [project.owner, manager_of(task)]
    worker = project.memberships.filter(role="worker", user__isnull=False)[0].user
    sent = {"field": corpus.FIELD, "label": "supported"}
    for name in ("label_decide", "label_revoke"):
        where = address(task, item, name)
        assert signed_in(factories.make_user()).post(where, sent).status_code == 404
        assert worker is not None and signed_in(worker).post(where, sent).status_code == 403
        assert signed_in(staff[0]).get(where).status_code == 405
    for user in staff:
        assert signed_in(user).post(address(task, item), sent).status_code == 302
    elsewhere = factories.make_world(1)
    foreign = elsewhere.task.items.first()
    assert foreign is not None
    assert signed_in(staff[0]).post(address(task, foreign), sent).status_code == 404
