"""Two sets of attributes, compared without knowing whose they are."""

from __future__ import annotations

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Role, Task, User
from crowdqc.errors import Conflict, Invalid, NotAllowed
from evaluation.checklists.making import actions, comparison
from evaluation.checklists.selectors import comparison as checklists_comparison
from evaluation.models import ChecklistVersion, RunFigure, SetComparison
from tests.evaluation.checklists.test_checks_runs import done, model_of
from tests.evaluation.corpora import checks as checks_corpus
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
    assert told == [("cohesive", 2, 3)]


def test_words_of_most_persons_stand_apart_with_how_often_they_use_them(task: Task) -> None:
    said = ("Cohesive, cohesive and short.", "More cohesive than short.", "Cohesive. Dry.", "Dry.")
    for text in said:
        by = factories.make_member(task.project, Role.MANAGER).user
        given = {**SAID, "fit": text}
        comparison.answer(by=by, comparison=begin(task, by), given=given, finish=True)
    (group,) = checklists_comparison.page(task, task.project.owner)["groups"]
    fit = group["questions"][list(comparison.QUESTIONS).index("fit")]
    assert fit["majority"] == [("cohesive", 3, 4)]
    assert fit["shared"] == [("dry", 2, 2), ("short", 2, 2)]
    # Which answers hold a word of the majority.
    assert [one["keywords"] for one in fit["answers"]] == [["cohesive"]] * 3 + [[]]


def test_checklists_are_drawn_by_diversity_of_attributes_and_correlation() -> None:
    filled = checks_corpus.make_study()
    with checks_corpus.answering() as stub:
        model = model_of(filled.project, stub.base_url)
        done(filled, "checklist_answers", model=model.pk)
    run = done(filled, "checklist", resamples=200)
    task = corpus.make_thought(filled.project)
    owner, item = task.project.owner, corpus.item_of(task)
    assert checklists_comparison.diversity_charts(task) == []
    made = actions.create(by=owner, task=task, item=item, name="Order", whose="people")
    version = ChecklistVersion.objects.create(
        checklist=made,
        number=1,
        content_hash="c",
        frozen_by=owner,
        questions=[],
        made_of={"condition": "several people"},
    )
    version.tasks.add(filled)
    (chart,) = checklists_comparison.diversity_charts(task)
    rows = chart["table"].groups[0].rows
    known = {
        row["answerer"]: row["estimate"]
        for row in RunFigure.objects.get(run=run, name="correlation").data
        if (row["kind"], row["setting"], row["score"]) == ("spearman", "sample-level", "share")
    }
    names = {
        row["name"]: row["component"]
        for row in RunFigure.objects.get(run=run, name="answerers").data
        if row["kind"] != "person"
    }
    assert {row.answerer: row.rho for row in rows} == {
        name: known[component] for name, component in names.items()
    }
    texts = [text.lower().split() for text in (*corpus.OWL, *corpus.REED)]
    pairs = [(a, b) for k, a in enumerate(texts) for b in texts[:k]]
    assert {row.n for row in rows} == {len(texts)}
    alike = np.mean([rouge_l(a, b) for a, b in pairs])
    assert rows[0].rouge == pytest.approx(alike, abs=0.02)
    client = Client()
    client.force_login(owner)
    page = client.get(reverse("think_aloud_results", args=[task.project_id, task.pk]))
    assert page.status_code == 200 and "diversity and correlation" in page.content.decode()


def rouge_l(a: list[str], b: list[str]) -> float:
    """F1 of the longest common subsequence, by its table."""
    table = np.zeros((len(a) + 1, len(b) + 1))
    for i, one in enumerate(a):
        for j, other in enumerate(b):
            table[i + 1, j + 1] = (
                table[i, j] + 1 if one == other else max(table[i, j + 1], table[i + 1, j])
            )
    return float(2 * table[-1, -1] / (len(a) + len(b)))


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
