"""The quiz before the first assignment: two tries, explanations, and nobody rejected by it."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from annotation.access import Access
from annotation.accounts.projects.list_views import worker_list
from annotation.authoring.actions import tasks
from annotation.authoring.actions.known import set_known
from annotation.models import (
    Answer,
    Assignment,
    AuditEntry,
    Membership,
    Notice,
    Role,
    Task,
    Visit,
)
from annotation.work.actions import answers, assignments, leases, visits
from annotation.work.actions import quiz as actions
from annotation.work.actions.drafts import DraftChanged, Version
from annotation.work.selectors import quiz as quizzes
from annotation.work.selectors import work
from annotation.work.snapshots import answers as snapshots
from crowdqc.errors import Conflict, Invalid, NotAllowed
from tests.annotation.recruitment.test_entry import come
from tests.support import factories
from tests.support.pages import html_of
from tests.support.servers import prolific
from tests.support.studies import labels

pytestmark = pytest.mark.django_db
SECRET = "heron-on-the-roof"
WHY = "The second paragraph says so."


def make_quiz(n: int = 4, known: int = 2, redundancy: int = 2, **settings: Any) -> Task:
    """A task of ``n`` questions, the first ``known`` of which have a known answer; published."""
    project = factories.make_project()
    task = factories.make_task(project, n, publish=False, redundancy=redundancy)
    by = project.owner
    for number in range(1, known + 1):
        set_known(by=by, task=task, key=f"q-{number:03d}", given={"answer": SECRET}, why=WHY)
    rules = {
        "quiz_items": known,
        "quiz_pass": settings.get("quiz_items", known) or 1,
        "quiz_minutes": 3,
        **settings,
    }
    tasks.edit_draft(by=by, task=task, fields={"settings": rules})
    tasks.publish(by=by, task=task)
    task.refresh_from_db()
    return task


def take(task: Task, worker: Membership, answer: str) -> Assignment:
    """A submitted try."""
    held = factories.claim(task, worker)
    assert held.quiz
    done = factories.submit(held, answer)
    done.refresh_from_db()
    return done


def page(worker: Membership, name: str, *args: Any) -> str:
    client = Client()
    client.force_login(worker.user)
    return html_of(client.get(reverse(name, args=args)))


def test_who_fails_twice_is_told_cannot_claim_and_is_not_rejected() -> None:
    task = make_quiz()
    worker = factories.make_worker(task.project)
    home = page(worker, "work_home")
    assert "Quiz of 2 questions, 2 right to pass, two tries, unpaid, about 3 min" in home
    first = take(task, worker, "I would say a nest")
    assert (first.quiz, first.quiz_right, first.quiz_passed) == (1, 0, False)
    told = page(worker, "work_done", first.pk)
    assert "Quiz not passed" in told and "You have one more try" in told and WHY in told
    assert "Try the quiz again" in told and SECRET not in told
    second = take(task, worker, "No idea at all")
    assert (second.quiz, second.quiz_passed) == (2, False)
    told = page(worker, "work_done", second.pk)
    assert "You have used both tries, so you cannot start this task" in told
    assert "Try the quiz again" not in told
    with pytest.raises(Conflict, match="have not passed the quiz") as error:
        factories.claim(task, worker)
    assert error.value.code == "quiz-failed"
    assert work.list_offers(work.memberships_with_consent(worker.user)) == []
    assert "you cannot start this task unless the requester lets you in" in page(
        worker, "work_home"
    )
    assert not Assignment.objects.filter(worker=worker, rejection__isnull=False).exists()
    # Unpaid: nothing waits for a decision about money.
    assert not task.assignments.filter(settled_at__isnull=True).exists()


def test_who_fails_once_and_passes_can_claim_and_quiz_answers_enter_no_results() -> None:
    task = make_quiz()
    worker = factories.make_worker(task.project)
    take(task, worker, "a nest")
    passed = take(task, worker, SECRET.upper())
    assert passed.quiz_passed and passed.quiz_right == 2
    assert "Quiz passed" in page(worker, "work_done", passed.pk)
    held = factories.claim(task, worker)
    assert held.quiz is None and held.pay == task.current.pay  # type: ignore[union-attr]
    assert set(held.entries.values_list("item__key", flat=True)) == {"q-003", "q-004"}
    factories.submit(held)
    quiz = Answer.objects.filter(assignment__quiz__isnull=False)
    assert quiz.count() == 4 and not quiz.filter(counts=True).exists()
    assert set(snapshots.counting_rows(task).values_list("assignment", flat=True)) == {held.pk}
    told = Answer.objects.filter(assignment__quiz__isnull=False)
    assert set(told.values_list("uncounted_reason", flat=True)) == {"an answer of the quiz"}


def test_the_time_of_a_worker_leaves_out_the_quiz() -> None:
    task = make_quiz(redundancy=9)
    worker = factories.make_worker(task.project)
    for who, minutes in ((worker, 4), *((None, 8) for _ in range(5))):
        other = who or factories.make_worker(task.project)
        factories.took(take(task, other, SECRET), minutes=40)
        factories.took(factories.claim_and_submit(task, other), minutes=minutes)
    access = Access(task.project, task.project.owner, frozenset({Role.REQUESTER}))
    assert worker_list(access).rows.get(pk=worker.pk).pace == pytest.approx(0.5)


def test_the_second_try_asks_other_questions_where_there_are_enough() -> None:
    task = make_quiz(6, 4, quiz_items=2, quiz_pass=1)
    worker = factories.make_worker(task.project)
    tries = [take(task, worker, "a nest") for _ in range(2)]
    asked = [set(one.entries.values_list("item_id", flat=True)) for one in tries]
    assert not asked[0] & asked[1]


def test_a_quiz_given_back_or_out_of_time_is_the_same_try_with_the_same_questions() -> None:
    task = make_quiz(6, 4, quiz_items=2)
    worker = factories.make_worker(task.project)
    held = factories.claim(task, worker)
    leases.return_assignment(by=worker.user, assignment=held)
    again = factories.claim(task, worker)
    assert (again.pk, again.quiz, again.state) == (held.pk, 1, "leased")
    Assignment.objects.filter(pk=held.pk).update(expires_at=timezone.now())
    assert factories.claim(task, worker).pk == held.pk
    assert Assignment.objects.filter(worker=worker).count() == 1


def test_a_paid_quiz_waits_for_its_pay_passed_or_not() -> None:
    task = make_quiz(quiz_pay="0.50")
    worker = factories.make_worker(task.project)
    assert "€0.50 a try" in page(worker, "work_home")
    failed = take(task, worker, "a nest")
    assert failed.pay == 1 / 2 and failed.settled_at is None


def test_consent_comes_before_the_quiz() -> None:
    task = make_quiz()
    worker = factories.make_worker(task.project, consent=False)
    with pytest.raises(NotAllowed, match="question about recording"):
        factories.claim(task, worker)


def test_a_requester_lets_in_who_failed_and_the_worker_is_told() -> None:
    task = make_quiz()
    worker = factories.make_worker(task.project)
    client = Client()
    client.force_login(task.project.owner)
    url = reverse("task_quiz", args=[task.project_id, task.pk])
    assert "Nobody has taken the quiz yet" in html_of(client.get(url))
    for _ in range(2):
        take(task, worker, "a nest")
    shown = html_of(client.get(url))
    assert "0 of 2" in shown and shown.count("Let in<span") == 1
    assert client.post(url, {"worker": worker.pk}).status_code == 302
    assert "let in" in html_of(client.get(url))
    assert AuditEntry.objects.filter(action="quiz.let_in").count() == 1
    assert Notice.objects.filter(user=worker.user, kind="quiz.let_in").count() == 1
    assert factories.claim(task, worker).quiz is None
    other = factories.make_worker(task.project)
    with pytest.raises(Conflict, match="has not taken the quiz"):
        actions.admit_worker(by=task.project.owner, task=task, worker=other)


def test_a_quiz_of_more_questions_than_answers_are_known_is_not_published() -> None:
    with pytest.raises(Invalid, match="The quiz asks 3 known answers, there are 2"):
        make_quiz(known=2, quiz_items=3)
    with pytest.raises(Invalid, match="passed from 3 right, and asks 2"):
        make_quiz(known=2, quiz_pass=3)


def test_nothing_that_a_worker_reads_before_answering_holds_a_known_answer() -> None:
    task = make_quiz(gold_per_assignment=1, known_feedback="1")
    worker = factories.make_worker(task.project)
    client = APIClient(HTTP_AUTHORIZATION=f"Token {factories.api_token(worker.user)}")
    claimed = client.post(reverse("api_claim", args=[task.pk]))
    assert claimed.status_code == 200
    held = Assignment.objects.get(worker=worker)
    web = Client()
    web.force_login(worker.user)
    seen = [
        claimed,
        client.get(reverse("api_assignment", args=[held.pk])),
        client.get(reverse("api_open_tasks")),
        web.get(reverse("work_home")),
        web.get(reverse("work_assignment", args=[held.pk])),
        web.get(reverse("work_item", args=[held.pk, 1])),
        web.get(reverse("work_record_assignment", args=[held.pk])),
        web.get(reverse("work_record")),
    ]
    for response in seen:
        body = response.content.decode()
        assert response.status_code == 200
        assert SECRET not in body and WHY not in body and "expected" not in body


def test_columns_of_a_file_that_no_field_reads_are_not_told_to_workers() -> None:
    """They may hold what experts or models said of the item."""
    project = factories.make_project()
    task = labels.make_labels(project, publish=False)
    task.items.update(settings={"meta": {"expert": SECRET}})
    tasks.publish(by=project.owner, task=task)
    worker = factories.make_worker(project)
    client = APIClient(HTTP_AUTHORIZATION=f"Token {factories.api_token(worker.user)}")
    claimed = client.post(reverse("api_claim", args=[task.pk]))
    assert claimed.status_code == 200 and SECRET not in claimed.content.decode()


def test_feedback_comes_after_the_answer_which_then_stands() -> None:
    task = make_quiz(quiz_items=0, gold_per_assignment=1, known_feedback="1")
    worker = factories.make_worker(task.project)
    held = factories.claim(task, worker)
    entry = held.entries.get(item__expected__isnull=False)
    client = Client()
    client.force_login(worker.user)
    url = reverse("work_item", args=[held.pk, entry.position + 1])
    told = html_of(client.post(url, {"text": SECRET, "go": "next"}, follow=True))
    assert "Your answer matches" in told and WHY in told
    told = html_of(client.post(url, {"text": "another one", "go": "next"}, follow=True))
    entry.refresh_from_db()
    assert entry.draft["text"] == SECRET
    with pytest.raises(Conflict, match="It stands as it is"):
        assignments.save_draft(
            by=worker.user, assignment=held, item_id=entry.item_id, draft={"text": "x"}, seq=10**15
        )
    done = factories.submit(held, "Frogs, mice and beetles")
    answer = Answer.objects.get(assignment=done, item=entry.item)
    assert answer.texts.get().text == SECRET and not answer.counts
    # The page after it names no item, and nothing as late.
    assert "came after the time was over" not in page(worker, "work_done", done.pk)


def test_what_was_told_stands_against_saves_of_other_tabs_and_their_numbers() -> None:
    task = make_quiz(quiz_items=0, gold_per_assignment=1, known_feedback="1")
    worker = factories.make_worker(task.project)
    held = factories.claim(task, worker)
    entry = held.entries.get(item__expected__isnull=False)
    whose = {"by": worker.user, "assignment": held, "item_id": entry.item_id}
    first, apart = Version(1000, "a"), Version(3, "b")
    assignments.save_draft(**whose, draft={"text": "a nest"}, version=first)
    with pytest.raises(DraftChanged):  # it waits beside the first
        assignments.save_draft(**whose, draft={"text": "a roof"}, version=apart)
    assert assignments.reveal_known_answer(by=worker.user, assignment=held, position=entry.position)
    for version in (Version(5, "b", {"a": 1000}), Version(6, "c", {}, True), Version(7, "d")):
        with pytest.raises(Conflict, match="It stands as it is"):
            assignments.save_draft(**whose, draft={"text": SECRET}, version=version)
    assignments.save_draft(**whose, draft={"text": "a nest"}, version=first)  # it came twice
    for other in held.entries.exclude(pk=entry.pk):
        assignments.save_draft(
            by=worker.user, assignment=held, item_id=other.item_id, draft={"text": "frogs"}, seq=1
        )
    key, sent = uuid4(), {entry.public_id: {"text": SECRET}}
    done = answers.submit_assignment(
        by=worker.user, assignment=held, key=key, drafts=sent, on_page=True, public=True
    )
    assert Answer.objects.get(assignment=done, item=entry.item).texts.get().text == "a nest"


def test_what_was_told_of_a_known_answer_cannot_be_used_by_returning_the_work() -> None:
    task = make_quiz(6, 2, quiz_items=0, gold_per_assignment=2, known_feedback="1")
    worker = factories.make_worker(task.project)
    held = factories.claim(task, worker)
    entry = held.entries.filter(item__expected__isnull=False).first()
    assert entry is not None
    client = Client()
    client.force_login(worker.user)
    url = reverse("work_item", args=[held.pk, entry.position + 1])
    client.post(url, {"text": "a nest", "go": "next"})
    leases.return_assignment(by=worker.user, assignment=held)
    again = factories.claim(task, worker)
    assert again.pk != held.pk
    stands = again.entries.get(item=entry.item_id)
    assert stands.told_at and stands.draft["text"] == "a nest"
    with pytest.raises(Conflict):
        assignments.save_draft(
            by=worker.user, assignment=again, item_id=entry.item_id, draft={"text": "x"}, seq=1
        )
    others = again.entries.exclude(item=entry.item_id)
    assert not others.filter(told_at__isnull=False) and not others.exclude(draft={})


def test_without_feedback_a_known_item_goes_on_like_any_other() -> None:
    task = make_quiz(quiz_items=0, gold_per_assignment=1)
    worker = factories.make_worker(task.project)
    held = factories.claim(task, worker)
    entry = held.entries.get(item__expected__isnull=False)
    assert not entry.holds and held.entries.count() == 3
    client = Client()
    client.force_login(worker.user)
    url = reverse("work_item", args=[held.pk, entry.position + 1])
    after = html_of(client.post(url, {"text": "a nest", "go": "next"}, follow=True))
    assert "does not match" not in after and WHY not in after


def test_no_third_try_can_be_stored() -> None:
    task = make_quiz()
    worker = factories.make_worker(task.project)
    held = factories.claim(task, worker)
    for number in (1, 3):
        with pytest.raises(IntegrityError), transaction.atomic():
            Assignment.objects.create(
                task=task, version=held.version, worker=worker, state="returned", pay=0,
                leased_at=timezone.now(), expires_at=timezone.now(), quiz=number,
            )  # fmt: skip
    assert quizzes.list_tries(task).count() == 0


def test_who_comes_from_a_platform_passes_the_quiz_before_the_assignment_of_the_visit() -> None:
    task = make_quiz(quiz_pay="0.50")
    study = prolific.make_recruitment(task)
    client = Client()
    come(study, client)
    visit = Visit.objects.select_related("worker__user").get()
    factories.make_consent(visit.worker)
    at = come(study, client)["Location"]
    tried = Assignment.objects.get()
    assert at == reverse("work_assignment", args=[tried.pk]) and tried.quiz == 1
    visits.leave_visit(by=visit.worker.user, visit=visit, outcome="other")
    tried.refresh_from_db()
    assert tried.state == "returned"  # and is gone on with by whoever comes again
    assert come(study, client)["Location"] == at
    factories.submit(factories.claim(task, visit.worker), SECRET)
    done = html_of(client.get(reverse("work_done", args=[tried.pk])))
    assert "Quiz passed" in done and "Start with" in done and "DONE1" not in done
    visit.refresh_from_db()
    assert visit.assignment is None  # the quiz is no assignment of the study
    come(study, client)
    visit.refresh_from_db()
    assert visit.assignment is not None and visit.assignment.quiz is None
    factories.submit(visit.assignment)
    assert "cc=DONE1" in html_of(client.get(reverse("work_done", args=[visit.assignment_id])))


def test_who_comes_from_a_platform_and_fails_is_told_to_return_it_there() -> None:
    task = make_quiz()
    study = prolific.make_recruitment(task)
    client = Client()
    come(study, client)
    visit = Visit.objects.get()
    factories.make_consent(visit.worker)
    for _ in range(2):
        take(task, visit.worker, "a nest")
    answer = come(study, client)
    assert answer.status_code == 409 and "have not passed the quiz" in answer.content.decode()
    assert "Return the submission on the platform" in answer.content.decode()


def test_the_cost_line_tells_what_the_quiz_may_take() -> None:
    task = make_quiz(quiz_pay="0.50")
    client = Client()
    client.force_login(task.project.owner)
    shown = html_of(client.get(reverse("task_build", args=[task.project_id, task.pk])))
    assert "plus quiz: €0.50 a try" in shown


def test_programs_read_feedback_by_question_too() -> None:
    task = make_quiz(quiz_items=0, gold_per_assignment=1, known_feedback="1")
    worker = factories.make_worker(task.project)
    client = APIClient(HTTP_AUTHORIZATION=f"Token {factories.api_token(worker.user)}")
    held = client.post(reverse("api_claim", args=[task.pk])).json()
    entry = Assignment.objects.get().entries.get(item__expected__isnull=False)
    told = {}
    for one in held["entries"]:
        at = reverse("api_feedback", args=[held["id"], one["position"]])
        assert client.post(at).json()["told"] is False  # nothing is answered yet
        draft = {"draft": {"text": SECRET}, "seq": 1}
        kept = reverse("api_draft", args=[held["id"], one["item"]])
        assert client.put(kept, draft, format="json").status_code == 200
        told[one["position"]] = client.post(at).json()
    assert told.pop(entry.position) == {"told": True, "right": True, "said": SECRET, "why": WHY}
    assert not any(one["told"] or one["why"] for one in told.values())
    again = {"draft": {"text": "another one"}, "seq": 2}
    kept = reverse("api_draft", args=[held["id"], entry.position + 1])
    assert client.put(kept, again, format="json").status_code == 409
