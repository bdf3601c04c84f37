"""Erasing a worker leaves no word of theirs anywhere, every amount, and runs that say so."""

from __future__ import annotations

import datetime as dt
import uuid

import pytest
from allauth.account.models import EmailAddress
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.accounts.projects import actions as people
from annotation.conversations import actions as conversations
from annotation.lists import actions as views
from annotation.models import (
    Answer,
    Assignment,
    AuditEntry,
    Candidate,
    ChoiceValue,
    Item,
    LedgerEntry,
    Membership,
    Message,
    Payment,
    Project,
    Recruitment,
    Rejection,
    TextValue,
    User,
    Visit,
)
from annotation.notifications.actions.notices import notify
from annotation.pairs.actions import candidates
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions import rejections
from annotation.privacy.actions import erasure as collected
from annotation.work.actions import assignments
from crowdqc.errors import Conflict, NotAllowed
from evaluation.embeddings.embeddings import text_hash
from evaluation.models import (
    ChecklistVersion,
    Embedding,
    LLMAttempt,
    LLMCall,
    Run,
)
from evaluation.people import erasure
from evaluation.runs import engine as runs
from tests.evaluation.corpora.erasing import (
    ANSWER,
    COMMON,
    EXPLAINED,
    MARK,
    Erased,
    answer,
    call,
    found,
    judged_pair,
    platform,
    run_on,
    thought,
)
from tests.support import factories
from tests.support.factories import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def erased() -> Erased:
    """A worker who wrote everywhere a worker can write, and whose work is decided."""
    world = factories.make_world(3, redundancy=3)
    user = factories.make_user(f"{MARK}-person", email="zqx@example.org", display_name=f"{MARK} P")
    worker = factories.make_worker(world.project, user)
    lease = factories.claim(world.task, worker)
    entry = lease.entries.first()
    assert entry is not None
    assignments.save_draft(
        by=user, assignment=lease, item_id=entry.item_id, draft={"text": f"{MARK} first try"}, seq=1
    )
    factories.make_log(
        lease,
        [
            {"method": "open", "time": 0},
            {
                "method": "input",
                "time": 5,
                "name": "run",
                "delta": [5, 0, 0, f"{MARK} typed"],
                "ms": [9] * 9,
                "keys": 9,
            },
        ],
    )
    keys = [one.item.key for one in lease.entries.select_related("item")]
    factories.submit(lease, {keys[0]: ANSWER, keys[1]: COMMON, keys[2]: f"{MARK} again, at length"})
    other = factories.claim_and_submit(world.task, texts=COMMON)
    refused = factories.claim_and_submit(factories.make_task(world.project, 1), worker, ANSWER)
    settle(world, lease, refused)
    half = factories.claim(factories.make_task(world.project, 1), worker)
    assignments.save_draft(
        by=user,
        assignment=half,
        item_id=half.entries.get().item_id,
        draft={"text": f"{MARK} half written"},
        seq=1,
    )
    candidates.candidates_from_answers(
        by=world.requester, project=world.project, source_task=world.task
    )
    item = judged_pair(world)
    judged = answer(lease, item, justification=EXPLAINED, quote=f"{MARK} quotes this")
    form = answer(lease, item, "entry", age=f"{MARK} years")
    thought(world, user)
    platform(world, worker, lease)
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    told = {"worker": worker, "task": world.task, "key": uuid.uuid4()}
    conversations.write_as_worker(by=user, text=f"{MARK} asks what a stork is", **told)
    views.save_view(by=user, project=world.project, list="people", name=f"{MARK} own", query="")
    notify(to=[user], kind="x", text=f"{MARK}, you were paid", key="paid", project=world.project)
    written = list(Answer.objects.filter(assignment=lease, stage="main").exclude(pk=judged.pk))
    runs = {
        "texts": run_on(world.task, "aqer", written),
        "others": run_on(world.task, "aqer", list(other.answers.all())),
        "choices": run_on(item.task, "pairwise", [judged, form]),
        "asked": run_on(item.task, "judge_pairs", []),
    }
    calls = {
        "own": call(runs["asked"], f"pair:{item.pk}/1", ANSWER),
        "explained": call(runs["asked"], f"answer:{judged.pk}", EXPLAINED),
        "beside": call(
            runs["asked"],
            f"answer:{other.answers.all()[0].pk}/answer:{judged.pk}",
            f"{MARK} beside another one",
        ),
        "others": call(runs["others"], f"answer:{other.answers.all()[0].pk}", COMMON),
    }
    for text in (ANSWER, COMMON):
        Embedding.objects.create(encoder="e", text_hash=text_hash(text), vector=b"1234")
    return Erased(world, worker, user, [*written, judged], runs, item, calls)


def settle(world: World, paid: Assignment, refused: Assignment) -> None:
    """One assignment is paid, another rejected, replied to and answered."""
    said = "The answers say nothing of the questions that were asked, as far as we can tell. "
    reason = {"reason_code": "other", "reason": said * 2}
    for one, line in (
        (paid, payouts.ProposedLine(paid.pk)),
        (refused, payouts.ProposedLine(refused.pk, decision="reject", **reason)),
    ):
        batch = payouts.propose_payout(
            by=world.requester, task=one.task, key=uuid.uuid4(), lines=[line]
        )
        payouts.approve_payout(
            by=world.manager,
            batch=batch,
            expected_total=payouts.total(batch),
            rejections=payouts.count_rejections(batch),
        )
    rejection = Rejection.objects.get()
    rejections.reply_to_rejection(
        by=refused.worker.user,
        rejection=rejection,
        text=f"{MARK} replies to that",  # type: ignore[arg-type]
    )
    rejections.decide_reply(
        by=world.manager, rejection=rejection, overturn=False, note="It stays so; we read it twice."
    )
    Payment.objects.update(state=Payment.State.DONE)


def test_no_word_and_no_name_of_the_worker_is_left_and_every_amount_is(erased: Erased) -> None:
    places = found()
    for table in (
        "textvalue",
        "assignmentitem",
        "eventbatch",
        "candidate",
        "rejection",
        "visit",
        "platformevent",
        "statement",
        "notice",
    ):
        assert f"annotation_{table}" in places, table
    for table in ("llmcall", "llmattempt", "checkliststage", "checklistversion", "setcomparison"):
        assert f"evaluation_{table}" in places, table
    booked = list(LedgerEntry.objects.order_by("pk").values())
    choices = ChoiceValue.objects.filter(answer__worker=erased.worker, answer__stage="main").count()

    erasure.request_erasure(by=erased.world.manager, worker=erased.worker)
    assert erasure.waiting_erasures() == [erased.worker.pk]
    assert erasure.carry_out(erased.worker.pk) == "done"
    assert erasure.carry_out(erased.worker.pk) == "not mine"
    assert erasure.waiting_erasures() == []

    # The account is the person's, not the project's.
    own = {"annotation_user", "account_emailaddress", "annotation_savedview"}
    assert set(found()) == own
    assert list(LedgerEntry.objects.order_by("pk").values()) == booked
    worker = Membership.objects.get(pk=erased.worker.pk)
    assert worker.user is None
    assert worker.erased_at
    assert (worker.pseudonym, worker.external_id) == (
        erased.worker.pseudonym,
        f"erased-{worker.pk}",
    )
    kept = ChoiceValue.objects.filter(answer__worker=worker, answer__stage="main").count()
    assert kept == choices
    assert not ChoiceValue.objects.filter(answer__worker=worker, answer__stage="entry").exists()
    done = AuditEntry.objects.get(action="worker.erase")
    assert (done.actor, done.object_id) == (None, worker.pk)
    people_left = [erased.world.requester, erased.world.manager]
    assert AuditEntry.objects.get(action="worker.erase_ask").actor in people_left

    collected.forget_account(by=erased.user)
    assert found() == {}
    erased.user.refresh_from_db()
    assert not erased.user.is_active


def test_runs_that_read_the_texts_say_that_they_cannot_be_run_again(erased: Erased) -> None:
    erasure.request_erasure(by=erased.world.manager, worker=erased.worker)
    erasure.carry_out(erased.worker.pk)
    said = {name: Run.objects.get(pk=run.pk).spoiled for name, run in erased.runs.items()}
    assert "erased on request" in said["texts"]
    assert "erased on request" in said["asked"]
    assert said["others"] == said["choices"] == ""
    calls = {name: LLMCall.objects.get(pk=one.pk) for name, one in erased.calls.items()}
    for name in ("own", "explained", "beside"):
        assert (calls[name].messages, calls[name].text) == ([], "")
        assert calls[name].key == erased.calls[name].key
        assert str(calls[name].cost) == "0.01000000"
        assert calls[name].value["score"] == 70
    assert COMMON in calls["others"].text
    assert Embedding.objects.get().text_hash == text_hash(COMMON)  # somebody else wrote it too


def test_what_others_judge_keeps_its_key_and_is_asked_no_more(erased: Erased) -> None:
    lease = erased.answers[0].assignment
    assert lease is not None
    held = Item.objects.get(pk=lease.entries.all()[0].item_id).held
    erasure.request_erasure(by=erased.world.manager, worker=erased.worker)
    erasure.carry_out(erased.worker.pk)
    own = Candidate.objects.filter(author=erased.worker)
    assert set(own.values_list("text", flat=True)) == {""}
    assert all(own.values_list("key", flat=True))
    pair = Item.objects.get(pk=erased.pair.pk)
    assert pair.redundancy == pair.held
    answers = Answer.objects.filter(assignment=lease, stage="main", item__task=erased.world.task)
    assert set(answers.values_list("counts", "uncounted_reason")) == {
        (False, "Erased on the worker’s request.")
    }
    # The slot stays taken: nobody is paid again for what was taken back.
    assert Item.objects.get(pk=lease.entries.all()[0].item_id).held == held


def test_nothing_undecided_or_on_its_way_is_erased_unless_the_worker_says_so() -> None:
    world = factories.make_world(1)
    waiting = factories.claim_and_submit(world.task)
    worker = waiting.worker
    with pytest.raises(Conflict, match="Not decided yet: 1 submitted assignment"):
        erasure.request_erasure(by=world.manager, worker=worker)
    with pytest.raises(Conflict, match="Not decided"):
        erasure.request_erasure(by=worker.user, worker=worker)  # type: ignore[arg-type]
    with pytest.raises(NotAllowed):
        erasure.request_erasure(by=world.worker.user, worker=worker)  # type: ignore[arg-type]
    lease = factories.claim(factories.make_task(world.project, 1), worker)
    asked = erasure.request_erasure(by=worker.user, worker=worker, although_undecided=True)  # type: ignore[arg-type]
    assert asked.removed_at
    assert Assignment.objects.get(pk=lease.pk).state == "returned"
    assert people.current_consent(worker) is None
    run = run_on(world.task, "aqer", [])
    Run.objects.filter(pk=run.pk).update(state="running")
    assert erasure.carry_out(worker.pk) == "waits"
    assert TextValue.objects.filter(answer__worker=worker).exists()
    Run.objects.filter(pk=run.pk).update(state="done")
    assert erasure.carry_out(worker.pk) == "done"
    assert not TextValue.objects.filter(answer__worker=worker).exists()


def test_no_run_begins_while_somebody_is_to_be_erased_and_pay_goes_first() -> None:
    world = factories.make_world(1)
    paid = factories.claim_and_submit(world.task)
    batch = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=[payouts.ProposedLine(paid.pk)]
    )
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=payouts.total(batch))
    with pytest.raises(Conflict, match="1 payment is on the way"):  # to be paid by hand
        erasure.request_erasure(by=world.manager, worker=paid.worker)
    Payment.objects.update(state="done")
    run = runs.start(by=world.requester, task=world.task)
    erasure.request_erasure(by=world.manager, worker=paid.worker)
    assert runs.execute(run.pk) == "not mine"
    assert Run.objects.get(pk=run.pk).state == "queued"
    assert erasure.carry_out(paid.worker_id) == "done"
    assert runs.execute(run.pk) != "not mine"


def test_messages_go_after_the_days_kept() -> None:
    world = factories.make_world(1)
    factories.claim(world.task, world.worker)
    told = {"worker": world.worker, "task": world.task, "key": uuid.uuid4()}
    conversations.write_as_worker(by=world.worker.user, text="Is it?", **told)
    now, later = timezone.now(), timezone.now() + dt.timedelta(days=31)
    for days, at, left in ((None, later, 1), (30, now, 1), (30, later, 0)):
        Project.objects.update(answer_days_kept=days)
        collected.sweep(at)
        assert Message.objects.count() == left


def test_texts_go_after_the_days_kept_and_only_of_decided_work() -> None:
    world = factories.make_world(1, redundancy=9)
    old, fresh, open_still = (factories.claim_and_submit(world.task) for _ in range(3))
    then = timezone.now() - dt.timedelta(days=91)
    rows = Assignment.objects.filter(pk__in=[old.pk, open_still.pk])
    rows.update(submitted_at=then, settled_at=then)
    Assignment.objects.filter(pk=open_still.pk).update(settled_at=None)
    run = run_on(world.task, "aqer", list(old.answers.all()))
    assert erasure.erase_due() == 0  # the project keeps them for good
    world.project.answer_days_kept = 90
    world.project.save()
    assert erasure.erase_due() == 1
    assert erasure.erase_due() == 0
    left = TextValue.objects.values_list("answer__assignment", flat=True)
    assert set(left) == {fresh.pk, open_still.pk}
    assert "days that the project keeps" in Run.objects.get(pk=run.pk).spoiled
    assert AuditEntry.objects.get(action="answers.erase").object_id == old.pk


def test_frozen_texts_change_under_the_erasing_switch_alone(erased: Erased) -> None:
    text = Candidate.objects.filter(author=erased.worker, text=ANSWER)
    with pytest.raises(IntegrityError, match="part of a pair"), transaction.atomic():
        text.update(text="")
    with (
        pytest.raises(IntegrityError, match="part of a pair"),
        transaction.atomic(),
        collected.erasing(),
    ):
        text.update(text="Something else.")
    with pytest.raises(IntegrityError, match="is settled"), transaction.atomic():
        LLMAttempt.objects.update(text="")
    with pytest.raises(IntegrityError, match="is frozen"), transaction.atomic():
        ChecklistVersion.objects.update(questions=[])


def test_nobody_stops_an_erasure_by_the_name_that_it_would_leave() -> None:
    world = factories.make_world(1)
    worker, other = world.worker, factories.make_worker(world.project)
    way = Recruitment.objects.create(
        task=world.task, kind="panel", name="A", currency="EUR", created_by=world.requester
    )
    visit = Visit.objects.create(recruitment=way, participant="0", session="1", worker=worker)
    taken = f"erased-{visit.pk}"
    theirs = Visit.objects.create(recruitment=way, participant=taken, session=taken, worker=other)
    Membership.objects.filter(pk=other.pk).update(external_id=f"erased-{worker.pk}")
    user = worker.user
    assert user is not None
    factories.make_user(f"erased-{user.pk}")
    erasure.request_erasure(by=user, worker=worker)
    assert erasure.carry_out(worker.pk) == "done"
    visit.refresh_from_db()
    assert visit.participant.startswith(f"{taken}-") and visit.session.startswith(f"{taken}-")
    theirs.refresh_from_db()
    assert theirs.participant == taken
    assert Membership.objects.get(pk=worker.pk).external_id.startswith(f"erased-{worker.pk}-")
    collected.forget_account(by=user)
    assert User.objects.get(pk=user.pk).username.startswith(f"erased-{user.pk}-")
