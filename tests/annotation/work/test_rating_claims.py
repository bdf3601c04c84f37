"""Who gets which answers to rate: one document at a time, in batches, after a decided round."""

from __future__ import annotations

import datetime as dt

import pytest

from annotation.authoring.actions import tasks
from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.cost import cost_of
from annotation.authoring.selectors.tasks import task_row
from annotation.models import Assignment, Panel, Qualification, Task, TaskVersion
from annotation.pairs.actions import rating_documents
from annotation.panels.actions import panels, qualification
from annotation.work.actions import assignments, leases
from annotation.work.selectors import work
from crowdqc.errors import Conflict, Invalid, NotAllowed
from tests.annotation.work.test_claims import run_out
from tests.annotation.work.test_concurrency import at_once, books_are_right
from tests.support import factories
from tests.support.studies import ratings

PEOPLE = 12


def keys(held: Assignment) -> list[str]:
    return list(held.entries.order_by("position").values_list("item__key", flat=True))


@pytest.mark.django_db
def test_an_assignment_holds_answers_of_one_document_in_their_order() -> None:
    project = factories.make_project()
    task = ratings.make_documents(project, 2, 3, items_per_assignment=2, order="random")
    worker = factories.make_worker(project)
    given = []
    for _ in range(4):
        held = factories.claim(task, worker)
        given.append(keys(held))
        ratings.submit(held)
    documents = [[key[:5] for key in bundle] for bundle in given]
    assert [len(set(bundle)) for bundle in documents] == [1, 1, 1, 1]
    # A document that was begun is finished before the next one.
    assert [len(bundle) for bundle in given] == [2, 1, 2, 1]
    assert given[0] + given[1] == sorted(given[0] + given[1])
    with pytest.raises(Conflict, match="nothing left"):
        factories.claim(task, worker)


@pytest.mark.django_db
def test_answers_to_one_question_follow_each_other_wherever_they_were_added() -> None:
    project = factories.make_project()
    task = ratings.make_documents(project, 1, 2)
    group = task.groups.get()
    for question in ("Who was hurt?", ratings.QUESTION):
        rating_documents.add_answer(
            by=project.owner,
            task=task,
            group=group,
            question=question,
            anchor=0,
            answer="Nobody at all.",
            system="model 9",
        )
    tasks.publish(by=project.owner, task=task)
    task.refresh_from_db()
    held = factories.claim(task, factories.make_worker(project))
    asked = list(held.entries.order_by("position").values_list("item__question", flat=True))
    assert asked == [ratings.QUESTION] * 3 + ["Who was hurt?"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.db
def test_of_many_who_claim_at_once_only_as_many_as_a_batch_holds_get_one() -> None:
    project = factories.make_project()
    task = ratings.make_documents(
        project, 4, 2, redundancy=6, settings={"release": {"assignments": 5, "hours": 24}}
    )
    people = [factories.make_worker(project) for _ in range(PEOPLE)]

    def act(index: int) -> str:
        try:
            assignments.claim_assignment(by=people[index].user, task=task, worker=people[index])
        except Conflict as error:
            return error.code
        return "got"

    said = at_once(act, PEOPLE)
    assert sorted(said) == ["got"] * 5 + ["not-released"] * 7
    assert Assignment.objects.filter(task=task).count() == 5
    books_are_right()


@pytest.mark.django_db
def test_a_batch_opens_again_for_what_was_given_back_and_in_the_next_hours() -> None:
    project = factories.make_project()
    task = ratings.make_documents(
        project, 3, 2, redundancy=9, settings={"release": {"assignments": 2, "hours": 12}}
    )
    first, second, third, fourth = (factories.make_worker(project) for _ in range(4))
    held = factories.claim(task, first)
    out = factories.claim(task, second)
    with pytest.raises(Conflict, match="2 assignments are given out at a time"):
        factories.claim(task, third)
    offer = work.list_offers(work.memberships_with_consent(third.user))[0]
    assert offer.waits
    published = TaskVersion.objects.get(task=task).published_at
    assert offer.release is not None
    assert published is not None
    assert offer.release.next_at == published + dt.timedelta(hours=12)
    leases.return_assignment(by=first.user, assignment=held)
    factories.claim(task, third)
    run_out(out)
    leases.release_expired(task=task)
    factories.claim(task, fourth)
    with pytest.raises(Conflict):
        factories.claim(task, first)
    Assignment.objects.filter(task=task).update(leased_at=published - dt.timedelta(hours=1))
    factories.claim(task, first)  # as if those had been taken in the window before


def qualifying(redundancy: int = 9) -> Task:
    project = factories.make_project()
    task = ratings.make_documents(project, 3, 1, redundancy=redundancy)
    task.state = "paused"
    task.save()
    panels.set_panels(by=project.owner, task=task, qualifies="Trained", asks_for="")
    tasks.move(by=project.owner, task=task, to="resume")
    task.refresh_from_db()
    return task


@pytest.mark.django_db
def test_a_round_is_read_before_another_and_passing_opens_the_panels_tasks() -> None:
    task = qualifying()
    project, owner = task.project, task.project.owner
    worker = factories.make_worker(project)
    main = ratings.make_documents(project, 1, 1, settings={})
    Task.objects.filter(pk=main.pk).update(panel=Panel.objects.get(name="Trained"))
    main.refresh_from_db()
    first = ratings.submit(factories.claim(task, worker))
    with pytest.raises(Conflict, match="reading your last round"):
        factories.claim(task, worker)
    assert work.list_offers(work.memberships_with_consent(worker.user)) == []
    with pytest.raises(NotAllowed):
        factories.claim(main, worker)

    with pytest.raises(Invalid):
        qualification.decide(by=owner, assignment=first, verdict="again", feedback="  ")
    qualification.decide(by=owner, assignment=first, verdict="again", feedback="Name sentences.")
    with pytest.raises(Conflict, match="decided already"):
        qualification.decide(by=owner, assignment=first, verdict="admitted", feedback="Good.")
    second = ratings.submit(factories.claim(task, worker))
    made = qualification.decide(by=owner, assignment=second, verdict="admitted", feedback="Good.")
    assert made.round == 2
    with pytest.raises(Conflict, match="You have passed"):
        factories.claim(task, worker)
    factories.claim(main, worker)
    told = work.load_home(worker.user).rounds
    assert [(row.round, row.verdict) for row in told] == [(2, "admitted"), (1, "again")]


@pytest.mark.django_db
def test_who_is_declined_gets_no_further_round_and_no_panel() -> None:
    task = qualifying()
    worker = factories.make_worker(task.project)
    held = ratings.submit(factories.claim(task, worker))
    qualification.decide(
        by=task.project.owner, assignment=held, verdict="declined", feedback="Thank you."
    )
    with pytest.raises(Conflict, match="not this time"):
        factories.claim(task, worker)
    assert not Panel.objects.get(name="Trained").members.exists()
    assert Qualification.objects.count() == 1


@pytest.mark.django_db
def test_sizes_costs_and_what_is_left_count_by_document() -> None:
    project = factories.make_project()
    task = ratings.make_documents(project, 3, 2, redundancy=2, items_per_assignment=4)
    worker = factories.make_worker(project)
    offer = work.list_offers(work.memberships_with_consent(worker.user))[0]
    assert (offer.fewest, offer.questions, offer.left, offer.noun) == (2, 2, 3, "answer")
    built = Build(task)
    cost = cost_of(task, built.version, built.items, built.groups)
    assert (cost.answers, cost.assignments) == (12, 6)  # not 12 / 4
    row = task_row(task)
    assert (row.progress.needed, row.noun) == (6, "answer")
    held = factories.claim(task, worker)
    leases.return_assignment(by=worker.user, assignment=held)
    key = task.items.order_by("pk").values_list("key", flat=True)[0]
    rating_documents.remove_answer(by=project.owner, task=task, item=task.items.get(key=key))
    tasks.publish(by=project.owner, task=task)
    offer = work.list_offers(work.memberships_with_consent(worker.user))[0]
    assert (offer.fewest, offer.questions, offer.left) == (1, 2, 3)


@pytest.mark.django_db
def test_the_estimate_holds_reading_the_document_and_writing_why() -> None:
    project = factories.make_project()

    def minutes(**settings: object) -> float:
        built = Build(ratings.make_documents(project, 1, 2, settings=settings))
        return cost_of(built.task, built.version, built.items, built.groups).minutes

    plain = minutes(explanation={"wanted": "none"})
    assert minutes(explanation={"wanted": "required", "min_words": 25}) == pytest.approx(plain + 2)
