"""Leaving a worker out of any method's results: the preview, the next run, and taking it back."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from annotation.formats.actions.imports import import_content
from annotation.models import Answer, Exclusion, Membership, Recruitment, Task
from annotation.payouts.actions import proposals as payouts
from annotation.work.actions import exclusions
from crowdqc.errors import Conflict
from evaluation.embeddings.vectors import stored_vectors_only, vectors_of
from evaluation.models import Run, Snapshot, SystemScore, WorkerScore
from evaluation.panels.forms import ExclusionForm
from evaluation.runs import engine as runs
from evaluation.runs import exclusion_preview, schedules
from tests.evaluation.corpora import checks as checks_corpus
from tests.evaluation.corpora import labels as labels_corpus
from tests.evaluation.corpora import rescaling as rescaling_corpus
from tests.evaluation.corpora import texts as corpus
from tests.evaluation.corpora import thinking as think_corpus
from tests.evaluation.corpora import writing as writing_corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.support import factories
from tests.support.pages import html_of
from tests.support.studies.labels import make_labels

pytestmark = pytest.mark.django_db
QUICK = {"encoder": "char-svd", "resamples": 0}
MAKE: dict[str, Callable[[], Task]] = {
    "texts": corpus.make_answered,
    "ratings": rescaling_corpus.make_rated,
    "responses": lambda: writing_corpus.make_written(
        task=writing_corpus.make_task(topics=2), models=False
    ),
    "labels": lambda: labels_corpus.make_labelled(items=16, known=2, workers=5, guessing=1),
    "checks": lambda: checks_corpus.make_study(topics=2, people=3),
}


def some_worker(task: Task) -> Membership:
    found = Membership.objects.filter(answers__item__task=task, answers__counts=True)
    return found.order_by("pk").first()  # type: ignore[return-value]


def held() -> list[int]:
    return [model.objects.count() for model in (Answer, Run, Exclusion, Snapshot, WorkerScore)]


def counted(task: Task, worker: Membership) -> set[int]:
    """The worker's answers in the snapshot that a run takes now."""
    params = QUICK if task.type == "free_text" else {"resamples": 100}
    if task.type == "labels":
        params = {**params, "restarts": 2}
    run = runs.start(by=task.project.owner, task=task, params=params)
    assert runs.execute(run.pk) == "done", Run.objects.get(pk=run.pk).error
    run.refresh_from_db()
    make_official(run)
    assert run.snapshot is not None
    mine = set(Answer.objects.filter(worker=worker).values_list("pk", flat=True))
    return mine & set(run.snapshot.answer_ids)


@pytest.mark.parametrize("shape", list(MAKE))
def test_every_kind_of_task_foresees_it_honours_it_and_takes_it_back(shape: str) -> None:
    task = MAKE[shape]()
    worker, owner = some_worker(task), task.project.owner
    assert counted(task, worker)
    before = held()
    effect = exclusion_preview.effect(task, worker)
    assert held() == before  # nothing of it is kept
    assert effect.answers > 0 and "recipe of run" in effect.recipe
    assert effect.sentence.endswith("would change.")
    made = exclusions.exclude(by=owner, task=task, worker=worker, reason="a test")
    last = schedules.last_run(task)
    assert schedules.count_new_answers(task, last).changed > 0  # a run is due
    assert not counted(task, worker)
    exclusions.undo(by=owner, exclusion=made)
    assert counted(task, worker)


def test_the_preview_is_what_the_next_run_finds() -> None:
    task = corpus.make_answered()
    out = Membership.objects.get(project=task.project, external_id="good-0")
    counted(task, out)
    effect = exclusion_preview.effect(task, out)
    exclusions.exclude(by=task.project.owner, task=task, worker=out, reason="a test")
    counted(task, out)
    run = Run.objects.latest("pk")
    assert run.snapshot is not None and run.snapshot.counts["left_out"]["excluded"] == 8
    workers, systems = effect.tables[:2]
    found: dict[str, Any] = dict(
        WorkerScore.objects.filter(run=run).values_list("worker__pseudonym", "estimate")
    )
    assert workers.rows and out.pseudonym not in {row.name for row in workers.rows}
    for row in workers.rows:
        assert row.after is not None and row.after.estimate == found[row.name]
    assert systems.rows[0].after is not None
    assert systems.rows[0].after.estimate in set(
        SystemScore.objects.filter(run=run).values_list("estimate", flat=True)
    )
    with pytest.raises(Conflict, match="nothing changes"):
        exclusion_preview.effect(task, out)


def test_a_think_aloud_leaves_them_out_too_and_no_model_is_asked_for_a_preview() -> None:
    from evaluation.checklists.making import diversity

    task = think_corpus.make_thought()
    worker = some_worker(task)
    mine = set(Answer.objects.filter(worker=worker).values_list("pk", flat=True))
    assert mine & set(diversity.freeze_attributes(task).answer_ids)
    with pytest.raises(Conflict, match="no vectors yet"):
        exclusion_preview.effect(task, worker)
    exclusions.exclude(by=task.project.owner, task=task, worker=worker, reason="a test")
    assert not mine & set(diversity.freeze_attributes(task).answer_ids)
    with stored_vectors_only(), pytest.raises(Conflict):
        vectors_of(["a text"], _Never())


class _Never:
    """An encoder that must not be asked."""

    cacheable, identity, dim = True, "never", 2

    def encode(self, texts: Any, *, progress: Any = None) -> Any:
        raise AssertionError("asked")


def test_the_pages_show_preview_reason_list_and_undo() -> None:
    task = corpus.make_answered()
    worker = Membership.objects.get(project=task.project, external_id="wrong-0")
    counted(task, worker)
    client = Client()
    client.force_login(task.project.owner)
    url = reverse("task_exclude", args=[task.project_id, task.pk, worker.pk])
    assert "Nothing changes until you confirm" in html_of(client.get(url))
    text = html_of(client.get(url, {"part": "effect"}, headers={"HX-Request": "true"}))
    assert "Answers that count" in text and "8 answers" in text and "<html" not in text
    refused = client.post(url, {"reason": " "})
    assert refused.status_code == 422 and "Write a reason" in html_of(refused)
    listed = html_of(client.post(url, {"reason": "Asked for it."}, follow=True))
    assert "Left out of results" in listed and "Asked for it." in listed
    undo = reverse("task_exclusion_undo", args=[task.project_id, task.pk, task.exclusions.get().pk])
    assert "is in again from the next run on" in html_of(client.post(undo, follow=True))
    assert "taken in again" in html_of(client.get(url))


def test_a_removed_workers_slots_open_for_others_and_undo_takes_back_those_still_free() -> None:
    task = factories.make_task(n=4, redundancy=1)
    out, other = (factories.make_worker(task.project) for _ in range(2))
    factories.claim_and_submit(task, out)
    assert task.items.filter(held=1).count() == 4
    client = Client()
    client.force_login(task.project.owner)
    url = reverse("task_exclude", args=[task.project_id, task.pk, out.pk])
    assert re.search(r'<input[^>]*name="collect_again"[^>]*checked', html_of(client.get(url)))
    told = {"reason": "Copied.", "collect_again": "on", "stop_work": "on"}
    assert client.post(url, told).status_code == 302
    assert not Answer.objects.filter(worker=out, counts=True).exists()
    assert task.items.filter(held=0).count() == 4
    with pytest.raises(Conflict, match="no more work in this task"):
        factories.claim(task, out)
    assert factories.claim(task, other).entries.count() == 4
    exclusion = task.exclusions.get()
    assert (exclusion.collects_again, exclusion.stops_work) == (True, True)
    exclusions.undo(by=task.project.owner, exclusion=exclusion)
    assert not Answer.objects.filter(worker=out, counts=True).exists()  # all slots are taken
    assert set(task.items.values_list("held", flat=True)) == {1}


def test_undo_counts_answers_again_whose_slots_nobody_took() -> None:
    task = factories.make_task(n=3, redundancy=1)
    out = factories.make_worker(task.project)
    factories.claim_and_submit(task, out)
    by = task.project.owner
    made = exclusions.exclude(by=by, task=task, worker=out, reason="No.", collect_again=True)
    assert task.items.filter(held=0).count() == 3
    exclusions.undo(by=by, exclusion=made)
    assert Answer.objects.filter(worker=out, counts=True).count() == 3
    assert task.items.filter(held=1).count() == 3


def test_a_quick_run_is_previewed_with_all_its_resamples() -> None:
    task = MAKE["labels"]()
    worker, by = some_worker(task), task.project.owner
    params = {"resamples": 400, "restarts": 2}
    run = runs.start(by=by, task=task, params=params)
    assert runs.execute(run.pk) == "done"
    run.refresh_from_db()
    make_official(run)
    began = run.finished_at
    assert began is not None
    for seconds, said in ((1, ""), (9, ", with 200 resamples instead of 400")):
        Run.objects.filter(pk=run.pk).update(started_at=began - timedelta(seconds=seconds))
        assert exclusion_preview.effect(task, worker).recipe == f"the recipe of run 1{said}"


def test_a_table_has_ranks_and_dimensions_where_a_row_has_them() -> None:
    plain = exclusion_preview.Score(0.5, 0.4, 0.6, None, None)
    ranked = exclusion_preview.Score(0.5, 0.4, 0.6, 1, 2)
    for before, after in ((ranked, plain), (plain, ranked), (plain, plain), (plain, None)):
        row = exclusion_preview.ScoreChange("elm-01", "coverage", before, after)
        table = exclusion_preview.Table("Other workers", [row], 1, 1, 0)
        assert table.is_ranked is (ranked in (before, after)) and table.by_dimension


def test_collecting_again_is_priced_with_the_fee_of_the_platform() -> None:
    task = factories.make_task(n=4, redundancy=1, items_per_assignment=2, pay="2.00")
    out = factories.make_worker(task.project)
    factories.claim_and_submit(task, out)
    Recruitment.objects.create(
        task=task, name="Study", fee_percent=25, currency="EUR", created_by=task.project.owner
    )
    form = ExclusionForm(task=task, workers=[out])
    assert "€2.50" in str(form.fields["collect_again"].help_text)


def test_items_with_too_few_labels_leave_out_those_of_excluded_workers_and_other_stages() -> None:
    task = MAKE["labels"]()
    out, worker = Membership.objects.filter(answers__item__task=task).distinct().order_by("pk")[:2]
    counted(task, worker)
    exclusions.exclude(by=task.project.owner, task=task, worker=out, reason="a test")
    items = task.items.filter(expected__isnull=True)
    exit_answer = Answer.objects.filter(item__in=items).exclude(worker__in=[out, worker]).last()
    assert exit_answer is not None
    Answer.objects.filter(pk=exit_answer.pk).update(stage=Answer.Stage.EXIT)
    items.update(redundancy=3)
    main = Answer.objects.filter(stage=Answer.Stage.MAIN).exclude(worker=out)

    def few(rows: Any) -> int:
        return sum(rows.filter(item=item).count() < 3 for item in items)

    row = exclusion_preview.effect(task, worker).named[3]
    assert few(main) > few(Answer.objects.all())
    assert (row.before, row.after) == (str(few(main)), str(few(main.exclude(worker=worker))))


def test_the_preview_names_five_effects_in_words() -> None:
    task = MAKE["labels"]()
    worker = some_worker(task)
    counted(task, worker)
    effect = exclusion_preview.effect(task, worker)
    named = effect.named
    assert [one.label for one in named] == [
        "Labels that count",
        "Agreement, α",
        "Items whose label changes",
        "Items with fewer labels than planned",
        "Workers with a score",
    ]
    before, after = (int(value) for value in (named[0].before, named[0].after))
    assert before - after == effect.answers > 0
    client = Client()
    client.force_login(task.project.owner)
    url = reverse("task_exclude", args=[task.project_id, task.pk, worker.pk])
    text = html_of(client.get(url, {"part": "effect"}, headers={"HX-Request": "true"}))
    assert "Other workers" in text
    assert "Rank now" not in text and "Dimension" not in text  # labels have neither


def test_answers_beyond_the_plan_are_neither_missed_nor_collected_again() -> None:
    task = make_labels(factories.make_project(), redundancy=3)
    rows = [
        f"{worker},leaf-{leaf},{'spots' if (leaf + len(worker)) % 3 else 'holes'}"
        for worker, leaves in (("ann", 3), ("bob", 3), ("cid", 3), ("dora", 2))
        for leaf in range(1, leaves + 1)
    ]
    content = "\n".join(["worker,item,label", *rows]).encode()
    by = task.project.owner
    import_content(by=by, task=task, kind="labels", content=content, name="labels.csv")
    worker = Membership.objects.get(project=task.project, external_id="ann")
    given = list(task.items.order_by("key").values_list("held", "redundancy"))
    assert given[:3] == [(4, 4), (4, 4), (3, 3)]
    effect = exclusion_preview.effect(task, worker)
    (few,) = [(row.before, row.after) for row in effect.named if row.label.endswith("than planned")]
    assert few == (str(len(given) - 3), str(len(given) - 2))
    assert exclusions.answers_to_collect(task, worker).count() == 1
    exclusions.exclude(by=by, task=task, worker=worker, reason="a test", collect_again=True)
    held = task.items.order_by("key").values_list("held", flat=True)
    assert list(held)[:3] == [4, 4, 2]  # one slot is open, where 2 of 3 are left


def test_giving_no_more_work_is_ticked_whether_or_not_answers_are_missing() -> None:
    task = factories.make_task(n=2, redundancy=1, pay="1.00")
    factories.make_answers(task, {name: {"q-001": "a", "q-002": "b"} for name in ("w1", "w2")})
    worker = Membership.objects.filter(answers__item__task=task).distinct().first()
    assert worker is not None
    form = ExclusionForm(task=task, workers=[worker])
    assert "collect_again" not in form.fields and form.fields["stop_work"].initial is True


def test_rejected_answers_leave_the_official_runs_votes_until_an_appeal_is_won() -> None:
    world = factories.make_world(redundancy=3)
    done = [factories.claim_and_submit(world.task) for _ in range(3)]
    worker = done[0].worker
    assert len(counted(world.task, worker)) == 4
    line = payouts.ProposedLine(
        done[0].pk,
        "reject",
        reason_code="not_own",
        reason=factories.REJECTION,
        leave_out=True,
        collect_again=True,
    )
    batch = payouts.propose_payout(by=world.requester, task=world.task, key=uuid4(), lines=[line])
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=Decimal(0), rejections=1)
    assert schedules.count_new_answers(world.task, schedules.last_run(world.task)).changed == 4
    assert not counted(world.task, worker)
    payouts.decide_reply(
        by=world.manager, rejection=done[0].rejection, overturn=True, note="You did."
    )
    assert len(counted(world.task, worker)) == 4


def test_several_workers_are_removed_at_once_from_the_list_of_people() -> None:
    task = MAKE["labels"]()
    one, two, bystander = (
        Membership.objects.filter(answers__item__task=task).distinct().order_by("pk")[:3]
    )
    stranger = factories.make_worker(factories.make_project())
    counted(task, one)
    client = Client()
    client.force_login(task.project.owner)
    people = reverse("people", args=[task.project_id])
    told = {"do": "remove_from_task", "pick": [one.pk, two.pk], "confirmed": "1", "task": task.pk}
    dialog = client.post(people, told)["Location"]
    assert dialog.startswith(
        reverse("task_exclude", args=[task.project_id, task.pk, min(one.pk, two.pk)])
    ) or dialog.startswith(reverse("task_exclude", args=[task.project_id, task.pk, two.pk]))
    dialog += f"&also={stranger.pk}"  # of another project: passed over
    shown = client.get(f"{dialog}&part=effect", headers={"HX-Request": "true"}).context
    assert {row.pk for row in shown["workers"]} == {one.pk, two.pk}
    assert len(shown["effect"].named) == 5 and shown["effect"].answers > 0
    for _ in range(2):  # a second click meets nobody left to remove
        client.post(dialog, {"reason": "Copied from one another."})
    assert set(task.exclusions.values_list("worker", flat=True)) == {one.pk, two.pk}
    assert counted(task, bystander) and not counted(task, one)
