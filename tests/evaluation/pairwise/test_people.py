"""Pairs and workers of a study: labels, votes, competence, and what their pages say of them."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.access import Access
from annotation.models import Answer, ChoiceValue, Item, Membership, Role, System, Task
from annotation.work.actions import exclusions
from evaluation.models import Run, RunState, WorkerScore
from evaluation.pairwise.selectors import votes as pair_votes
from evaluation.pairwise.selectors import workers as pair_workers
from evaluation.runs.selectors import lists as reads
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora.pair_study import checked, client_of, page, published, scored, text_of
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
def core(task: Task) -> Run:
    return Run.objects.get(task=task, source__isnull=True)


# Pairs -----------------------------------------------------------------------------------------


def test_pairs_stand_least_certain_first_and_are_filtered(task: Task, core: Run) -> None:
    checks = checked(core)
    entropy = list(
        core.labels.filter(dimension="overall").order_by("-entropy").values_list("item", flat=True)
    )
    html = page(task, "pair_list")
    linked = [int(pk) for pk in re.findall(r"/study/pairs/(\d+)/", html)]
    assert linked[:5] == entropy[:5]
    assert "60 pairs." in html
    assert html.count('aria-sort="descending"') == 1
    rows = checks.figures.get(name="pair").data
    hard = {row["pair"] for row in rows if not row["differentiable"]}
    assert hard and len(hard) < 60
    same = page(task, "pair_list", query="?show=same")
    assert {int(pk) for pk in re.findall(r"/study/pairs/(\d+)/", same)} == hard
    option = re.compile(r'<option value="same"([^>]*)>\s*Hardly told apart, (\d+)</option>')
    assert option.findall(html) == [("", str(len(hard)))]
    assert option.findall(same) == [(" selected", str(len(hard)))]
    assert f"The texts of {len(hard)} of 60 pairs cannot be separated" in html
    topic = page(task, "pair_list", query="?topic=tea-1&sort=topic")
    inside = {int(pk) for pk in re.findall(r"/study/pairs/(\d+)/", topic)}
    assert inside == set(task.items.filter(group__key="tea-1").values_list("pk", flat=True))


def test_votes_beside_a_label_are_those_the_run_saw(task: Task, core: Run) -> None:
    Answer.objects.filter(worker=Answer.objects.first().worker).update(
        counts=False, uncounted_reason="since"
    )
    pairs = {(item.first_id, item.second_id): item.pk for item in task.items.all()}
    found = pair_votes.tallies(task, core, set(pairs), "overall")
    labels = {row.item_id: row for row in core.labels.filter(dimension="overall")}
    for pair, item in pairs.items():
        assert found[pair].n == labels[item].n == 5
    codes = ChoiceValue.objects.filter(answer__item__task=task, field="overall")
    assert sum(one.first for one in found.values()) == codes.filter(code="first").count()


def test_a_pairs_page_has_both_texts_every_vote_and_the_published_label(
    task: Task, core: Run
) -> None:
    published(task, core)
    item = task.items.get(key="t1-s0_t1-s5")
    machine = System.objects.create(project=task.project, name="judge-x")
    answer = Answer.objects.create(
        version=task.current, item=item, system=machine, flipped=True, answered_at=timezone.now()
    )
    ChoiceValue.objects.create(answer=answer, field="overall", code="second", ordinal=1)
    votes = Answer.objects.filter(item=item, worker__isnull=False).select_related("worker")
    out = votes[0].worker
    exclusions.exclude(by=task.project.owner, task=task, worker=out, reason="Always the same.")
    html = page(task, "pair", item.pk)
    text = text_of(html)
    assert item.first.text.strip() in text and item.second.text.strip() in text
    assert "A source on tea-1." in text
    for vote in votes:
        score = WorkerScore.objects.get(run=core, worker=vote.worker, dimension="")
        competence = f"{score.estimate:.2f}"
        assert f"{vote.worker.pseudonym} {competence.removeprefix('0')}" in text
    assert "judge-x" in text
    assert "left out" in text
    assert text.count("differs") == 2  # on both dimensions the published label is another one
    label = core.labels.get(item=item, dimension="overall")
    assert f"{label.posterior[label.label]:.2f}".removeprefix("0") in text
    shown = Answer.objects.filter(item=item, worker__isnull=False, flipped=True).count()
    assert html.count('data-label="Left was">B</td>') == shown + 1
    assert page(task, "pair", item.pk + 10_000, status=404)


def test_a_repeat_stands_on_the_page_of_its_pair_but_its_second_vote_is_not_counted(
    task: Task,
) -> None:
    first = task.items.get(key="t0-s0_t0-s1")
    again = Item.objects.create(
        task=task,
        group=first.group,
        key="again",
        position=9000,
        question=first.question,
        since=1,
        first=first.first,
        second=first.second,
        repeat=True,
        redundancy=1,
        held=1,
    )
    worker = Answer.objects.filter(item=first).latest("answered_at").worker
    pair_corpus.judge(task, worker, [again], "left", pair_corpus.np.random.default_rng(3))
    core = scored(task)
    text = text_of(page(task, "pair", again.pk))
    assert "Put to people 2 times" in text and "6 judgments" in text
    assert core.labels.get(item=first, dimension="overall").n == 5
    pair = (first.first_id, first.second_id)
    assert pair_votes.tallies(task, core, {pair}, "overall")[pair].n == 5


# Workers ---------------------------------------------------------------------------------------


def test_workers_stand_by_competence_with_what_their_votes_look_like(task: Task, core: Run) -> None:
    told = reads.figures_of(core, *pair_workers.FIGURES)
    access = Access(task.project, task.project.owner, frozenset({Role.REQUESTER}))
    found = pair_workers.worker_list(
        access, core, told, "", by="competence", ascending=False, page=None
    )
    rows = [row for part in found["parts"] for row in part["rows"]]
    assert len(rows) == 12
    assert [r.estimate for r in rows] == sorted((r.estimate for r in rows), reverse=True)
    left = max(rows, key=lambda row: row.sides.left_share or 0)
    assert left.sides.left_share == 1.0 and left.straight == 1.0
    assert left in rows[-2:]
    for row in rows:
        mine = ChoiceValue.objects.filter(answer__worker=row.id)
        assert row.sides.n == mine.count()
        assert row.sides.neutral == mine.filter(code="neutral").count()
        assert row.low is not None and row.low <= row.estimate <= row.high
    text = text_of(page(task, "pair_workers"))
    assert "12 workers, 12 with a competence." in text
    assert f"{left.name}" in text and "Remove from task" in text
    for query in ("", "?page=2"):  # whatever page is shown
        html = page(task, "pair_workers", query=query)
        assert "always_left" in findings_in(html)
        assert f"All votes of {left.name} are for the left text." in html


def test_competence_is_not_shown_where_too_few_pairs_are_shared() -> None:
    task = pair_corpus.make_task(redundancy=1)
    items, rng = list(task.items.order_by("position")), pair_corpus.np.random.default_rng(3)
    people = [pair_corpus.factories.make_worker(project=task.project) for _ in range(4)]
    for at, worker in enumerate(people):
        pair_corpus.judge(task, worker, [items[0], *items[1 + at :: 4]], "careful", rng)
    run = scored(task)
    stored = WorkerScore.objects.filter(run=run, dimension="")
    assert all(row.high - row.low >= 0.9 for row in stored)
    rows = pair_workers.rows_of(run, {}, "")
    assert [(row.estimate, row.low, row.why) for row in rows] == 4 * [
        (None, None, "the interval covers nearly the whole scale")
    ]
    finding = pair_workers.few_shared_finding(run, rows, "")
    assert finding is not None and finding.code == "few_shared_pairs"
    html = page(task, "pair_workers")
    assert "few_shared_pairs" in findings_in(html) and "59 of 60" in text_of(html)
    own = text_of(page(task, "pair_worker", people[0].pk))
    assert "Not scored" in own


def test_attention_pairs_are_right_where_every_expected_answer_is_given(task: Task) -> None:
    item = task.items.first()
    gold = Item.objects.create(
        task=task,
        group=item.group,
        key="gold",
        position=9000,
        question=item.question,
        since=1,
        first=item.first,
        second=item.second,
        expected={"clarity": "first", "overall": "first"},
    )
    people = list(Membership.objects.filter(answers__item__task=task).distinct()[:2])
    for person, second in zip(people, ("first", "second"), strict=True):
        pair_corpus.judge(task, person, [gold], "left", pair_corpus.np.random.default_rng(3))
        answer = Answer.objects.get(item=gold, worker=person)
        Answer.objects.filter(pk=answer.pk).update(counts=False, uncounted_reason="attention")
        answer.choices.filter(field="clarity").update(code="first")
        answer.choices.filter(field="overall").update(code=second)
    found = pair_workers.attention(task, [one.pk for one in people])
    assert found[people[0].pk] == pair_workers.KnownCount(1, 1)
    assert found[people[1].pk] == pair_workers.KnownCount(0, 1)
    scored(task)
    assert "1 of 1" in page(task, "pair_workers")
    assert "Attention pair" in page(task, "pair", gold.pk)


def test_other_pages_send_first_to_whoever_is_surely_below_the_median(
    task: Task, core: Run
) -> None:
    scores = WorkerScore.objects.filter(run=core, dimension="")
    scores.update(component=1, estimate=0.6, low=0.4, high=0.8, extra={})
    assert "low_workers" not in findings_in(page(task, "pair_results"))
    low = scores.select_related("worker").first()
    scores.filter(pk=low.pk).update(estimate=0.1, low=0.0, high=0.2)
    # A run of before compared nobody with the median of all at once.
    assert "low_workers" not in findings_in(page(task, "pair_results"))
    gap = {"median_gap": -0.5, "median_gap_low": -0.7, "median_gap_high": -0.1}
    scores.filter(pk=low.pk).update(extra=gap)
    for view in ("pair_results", "pair_agreement", "pair_list"):
        assert "low_workers" in findings_in(page(task, view)), view
    assert f"{low.worker.pseudonym} judged worse" in page(task, "pair_results")
    exclusions.exclude(by=task.project.owner, task=task, worker=low.worker, reason="no reading")
    assert "low_workers" not in findings_in(page(task, "pair_results"))


def test_who_is_left_out_stands_apart_with_the_way_back(task: Task, core: Run) -> None:
    worker = WorkerScore.objects.filter(run=core, dimension="").order_by("estimate")[0].worker
    gone = exclusions.exclude(by=task.project.owner, task=task, worker=worker, reason="All left.")
    undo = reverse("task_exclusion_undo", args=[task.project_id, task.pk, gone.pk])
    assert undo in page(task, "pair_workers")
    Run.objects.filter(state=RunState.QUEUED).delete()
    scored(task)
    html = page(task, "pair_workers")
    assert "Left out of this run" in html and "“All left.”" in html and undo in html
    assert "11 workers" in html
    assert "Include again" in page(task, "pair_worker", worker.pk)


def test_a_workers_page_is_evidence_and_says_what_it_cannot_say(task: Task, core: Run) -> None:
    worker = WorkerScore.objects.filter(run=core, dimension="").order_by("estimate")[0].worker
    html = page(task, "pair_worker", worker.pk)
    text = text_of(html)
    votes = Answer.objects.filter(worker=worker)
    differing = {
        value.answer_id
        for value in ChoiceValue.objects.filter(answer__worker=worker).select_related("answer")
        if core.labels.get(item=value.answer.item_id, dimension=value.field).label != value.code
    }
    assert f"{len(differing)} of {votes.count()} judgments" in text
    n = votes.filter(counts=True).count()
    assert f"{worker.pseudonym} chose the left text every time, in {n} judgments." in text
    assert "See the results without these votes; nothing is deleted and pay stays." in text
    assert "Cannot be concluded: that the texts were not read." in text
    assert "Remove from task" in text
    assert f"{votes.count()} pairs in the order judged" in html
    assert (
        html.count('class="vote-left"')
        + html.count('class="vote-right"')
        + html.count('class="vote-neutral"')
        == 2 * votes.count()
    )


def test_the_card_of_a_worker_who_judged_pairs_shows_competence_without_an_uniterated_score(
    task: Task, core: Run
) -> None:
    score = WorkerScore.objects.filter(run=core, dimension="", estimate__isnull=False).first()
    assert score is not None
    client = client_of(task)
    card = client.get(reverse("worker_card", args=[task.project_id, score.worker_id]))
    assert card.status_code == 200
    assert f"run {core.number}" in text_of(card.content.decode())
