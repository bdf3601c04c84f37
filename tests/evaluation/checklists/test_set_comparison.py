"""Two sets of attributes, compared without knowing whose they are."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Role, Task, User
from crowdqc.errors import Conflict, Invalid, NotAllowed
from evaluation.checklists.making import comparison
from evaluation.checklists.selectors import comparison as checklists_comparison
from evaluation.models import SetComparison
from tests.evaluation.corpora import thinking as corpus
from tests.support import factories

pytestmark = pytest.mark.django_db
FIRST, SECOND = "author:owl-01", "author:reed-02"
SAID = dict.fromkeys(comparison.QUESTIONS, "A speaks of cohesion and of pronouns.")


@pytest.fixture
def task() -> Task:
    return corpus.make_thought()


def begin(task: Task, by: User | None = None) -> SetComparison:
    return comparison.begin(
        by=by or task.project.owner,
        task=task,
        item=corpus.item_of(task),
        first=FIRST,
        second=SECOND,
    )


def test_a_and_b_are_drawn_and_their_names_are_put_back_after(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = {}
    for turned in (0, 1):
        monkeypatch.setattr(comparison.secrets, "randbelow", lambda n, turned=turned: turned)
        one = begin(task)
        shown[turned] = comparison.attribute_sets(one)
        assert sorted(shown[turned]["B" if turned else "A"]) == sorted(corpus.OWL)
        assert comparison.names(one)["B" if turned else "A"] == "owl-01"
        comparison.answer(by=task.project.owner, comparison=one, given=SAID, finish=True)
    assert shown[0]["A"] == shown[1]["B"]


def test_the_page_names_nobody_and_keeps_a_draft(task: Task) -> None:
    client = Client()
    client.force_login(task.project.owner)
    sent = client.post(
        reverse("set_comparison_new", args=[task.project_id, task.pk]),
        {"item": corpus.item_of(task).pk, "first": FIRST, "second": SECOND},
    )
    page = client.get(sent.headers["Location"]).content.decode()
    assert corpus.OWL[0] in page and corpus.REED[0] in page
    assert "owl-01" not in page and "reed-02" not in page
    kept = client.post(
        sent.headers["Location"],
        {"fit": "A is drier.", "prefers": "B"},
        headers={"HX-Request": "true"},
    )
    assert "Kept" in kept.content.decode()
    # What htmx keeps while one types ends nothing, though the button has the focus by then.
    focused = {**SAID, "prefers": "A", "do": "finish"}
    kept = client.post(sent.headers["Location"], focused, headers={"HX-Request": "true"})
    assert "Kept" in kept.content.decode()
    assert SetComparison.objects.get().finished_at is None
    client.post(sent.headers["Location"], {"fit": "A is drier.", "prefers": "B"})
    assert "A is drier." in client.get(sent.headers["Location"]).content.decode()
    refused = client.post(sent.headers["Location"], {"fit": "A is drier.", "do": "finish"})
    assert refused.status_code == 422 and "A is drier." in refused.content.decode()
    results = reverse("set_comparisons", args=[task.project_id, task.pk])
    assert "owl-01" not in client.get(results).content.decode()
    done = client.post(
        sent.headers["Location"], {**SAID, "prefers": "A", "do": "finish"}, follow=True
    )
    assert done.redirect_chain[-1][0] == results and "owl-01" in done.content.decode()


def test_results_stay_hidden_from_whoever_is_still_comparing(task: Task) -> None:
    other = factories.make_member(task.project, Role.MANAGER).user
    done = begin(task)
    comparison.answer(by=task.project.owner, comparison=done, given=SAID, finish=True)
    begin(task, other)
    assert checklists_comparison.page(task, other)["groups"] == []
    assert checklists_comparison.page(task, task.project.owner)["finished"] == 1


def test_words_of_several_persons_are_counted_by_stem_once_a_person() -> None:
    told = checklists_comparison.shared_words(
        [
            (1, "Cohesive texts, cohesive endings."),
            (2, "B is more cohesive."),
            (3, "Nothing."),
        ]
    )
    assert told == [("cohesive", 2)]


def test_finished_answers_stay_and_belong_to_their_author(task: Task) -> None:
    other = factories.make_member(task.project, Role.MANAGER).user
    one = begin(task)
    assert begin(task) == one  # an unfinished one is gone on with
    with pytest.raises(NotAllowed):
        comparison.answer(by=other, comparison=one, given=SAID, finish=False)
    with pytest.raises(Invalid) as refused:
        comparison.answer(by=task.project.owner, comparison=one, given={"fit": "x"}, finish=True)
    assert "diversity" in refused.value.fields and "fit" not in refused.value.fields
    comparison.answer(by=task.project.owner, comparison=one, given=SAID, finish=True)
    with pytest.raises(Conflict):
        comparison.answer(by=task.project.owner, comparison=one, given=SAID, finish=False)
    with pytest.raises(Invalid):
        comparison.begin(by=other, task=task, item=corpus.item_of(task), first=FIRST, second=FIRST)
    with pytest.raises(Conflict):
        comparison.begin(
            by=other, task=task, item=corpus.item_of(task), first=FIRST, second="models"
        )
