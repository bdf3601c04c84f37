"""Every page that workers see, in a made-up language and with texts from right to left."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings as site
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils.translation import trans_real

from annotation.accounts.tokens import actions as tokens
from annotation.authoring.actions import tasks
from annotation.authoring.actions.known import set_known
from annotation.conversations import actions as conversations
from annotation.models import (
    AgreedText,
    Assignment,
    Candidate,
    ConsentText,
    Conversation,
    Item,
    ItemGroup,
    Membership,
    Message,
    Panel,
    Payment,
    Project,
    Rejection,
    Task,
    TaskVersion,
    User,
)
from annotation.panels.actions import panels
from annotation.payouts.actions import ledger, payments
from annotation.payouts.actions import proposals as payouts
from annotation.work.actions import answers, assignments, exclusions
from evaluation.models import Run, WorkerScore
from evaluation.runs.recipe import main_method
from tests.evaluation.corpora.official_runs import make_official
from tests.evaluation.corpora.replay import Session
from tests.support import factories
from tests.support.made_up import ARABIC, LOG, MADE_UP, Page, in_arabic, made_up
from tests.support.studies import judging, labels, ratings, thinking, writing

pytestmark = pytest.mark.django_db
OWN = f"{ARABIC} قلم دفتر ورقة حبر مكتبة"
RESPONSE = f"{OWN} [1]."
OPTIONS = [{"value": "a", "label": "Place"}, {"value": "b", "label": "Date"}]
MORE = [
    {**labels.DAMAGE, "required": False},
    labels.MORE,
    {"name": "n", "label": "N", "question": "How many?", "kind": "number", "low": 1, "high": 9},
    {"name": "s", "label": "S", "question": "How bad?", "kind": "scale", "low": 1, "high": 5},
    {"name": "w", "label": "W", "question": "Why?", "kind": "short_text", "min": 1, "max": 5},
    {"name": "r", "label": "R", "question": "Order?", "kind": "rank", "options": OPTIONS},
    {**labels.PLACES, "options": OPTIONS, "required": False},
]


def speak(user: User | None) -> User:
    assert user is not None
    user.language = MADE_UP
    user.save(update_fields=["language"])
    return user


def write_in_arabic() -> None:
    """Whatever people wrote, in letters that run from right to left."""
    with connection.cursor() as cursor:  # published versions and texts never change elsewhere
        cursor.execute("SET LOCAL session_replication_role = replica")
    Project.objects.update(name=ARABIC)
    User.objects.update(display_name=ARABIC)
    TaskVersion.objects.update(title=ARABIC, instructions=ARABIC, bonus_note=ARABIC)
    ItemGroup.objects.exclude(title="").update(title=ARABIC)
    ItemGroup.objects.exclude(passage="").exclude(passage__startswith="[1]").update(passage=ARABIC)
    ItemGroup.objects.filter(passage__startswith="[1]").update(passage=f"[1] {ARABIC}")
    Item.objects.update(question=ARABIC)
    for number, item in enumerate(Item.objects.filter(media__isnull=False)):
        Item.objects.filter(pk=item.pk).update(key=f"leaf-{number}")
    Item.objects.exclude(known_why="").update(known_why=ARABIC)
    Candidate.objects.update(text=ARABIC, query=ARABIC)
    ConsentText.objects.update(text=ARABIC)
    AgreedText.objects.update(words=ARABIC)
    Message.objects.exclude(text="").update(text=ARABIC)
    Panel.objects.update(name=ARABIC)
    Membership.objects.filter(user__language=MADE_UP).update(pseudonym=ARABIC)
    for group in ItemGroup.objects.exclude(passages=[]):
        ItemGroup.objects.filter(pk=group.pk).update(passages=in_arabic(group.passages))
    for version in TaskVersion.objects.all():
        TaskVersion.objects.filter(pk=version.pk).update(settings=in_arabic(version.settings))
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = origin")


def studies(project: Project) -> list[tuple[Task, dict[str, Any]]]:
    """A task of each type, and of their layouts, with a complete draft of an item."""
    rated = {"scales": [{"name": "depth", "label": "Depth", "question": "How deep?"}]}
    points = [{"value": 1, "label": "poor"}, {"value": 2, "label": "good"}]
    rated["scales"][0]["points"] = points  # type: ignore[index]
    explained = {"explanation": {"wanted": "required", "min_words": 1}}
    chosen = {"quality_overall": "left"}
    full = {
        "l-damage": "spots",
        "l-more.yellow": "on",
        "l-n": "3",
        "l-s": "2",
        "l-w": ARABIC,
        "l-r.a": "1",
        "l-r.b": "2",
        "l-places": "",
    }
    return [
        (factories.make_task(project, 2, instructions="Write."), {"text": OWN}),
        (judging.make_pairs(project, 2), {f"d-{k}": v for k, v in chosen.items()}),
        (
            judging.make_ratings(project, 2, settings={**rated, **explained}),
            {"r-depth": "2", "explanation": OWN},
        ),
        (ratings.make_documents(project, per_document=2), ratings.draft(explanation=OWN)),
        (labels.make_labels(project, fields=MORE), full),
        (labels.make_images(project), {"l-damage": "none"}),
        (
            thinking.make_think(project, ("A", "B"), settings={"recording": "offered"}),
            dict(thinking.thought((f"{OWN} ب", f"{OWN} ت"))),
        ),
        (thinking.make_checklist(project), thinking.YES),
        (
            writing.make_writing(project),
            {"text": RESPONSE, **writing.ENTRY, **writing.EXIT},
        ),
    ]


def typed(held: Assignment) -> list[dict[str, Any]]:
    """The log of a response that was typed."""
    session = Session(f"item-{held.entries.get().item_id}").types(RESPONSE)
    return session.events


def make_quiz(project: Project) -> Task:
    """Four questions: a quiz of two, and known answers that are told of."""
    task = factories.make_task(project, 4, publish=False, questions=[ARABIC] * 4)
    for key in ("q-001", "q-002"):
        set_known(by=project.owner, task=task, key=key, given={"answer": OWN}, why=ARABIC)
    rules = {"quiz_items": 2, "quiz_pass": 2, "quiz_minutes": 3, "gold_per_assignment": 1}
    settings = {**rules, "known_feedback": "1"}
    tasks.edit_draft(by=project.owner, task=task, fields={"settings": settings})
    tasks.publish(by=project.owner, task=task)
    return task


class Walk:
    """What a worker's browser is shown, page by page."""

    def __init__(self, user: User) -> None:
        self.client, self.pages = Client(), dict[str, str]()
        self.client.cookies[site.SESSION_COOKIE_NAME] = factories.session_of(user)

    def get(self, name: str, *args: Any, **query: Any) -> str:
        url = reverse(name, args=args)
        response = self.client.get(url, query, follow=True)
        told = f"{response.status_code} {url}"
        assert response["Content-Type"].startswith("text/html"), told
        key = response.request["PATH_INFO"] + "".join(f"?{k}={v}" for k, v in query.items())
        while key in self.pages:
            key += "'"
        self.pages[key] = response.content.decode()
        return self.pages[key]

    def work(self, held: Assignment, full: dict[str, Any]) -> None:
        """An assignment from its instructions to what is kept of it."""
        user, many = held.worker.user, held.entries.count()
        assert user is not None
        self.get("work_assignment", held.pk)
        self.get("work_item", held.pk, 1)
        self.get("work_item", held.pk, many, check=1)
        self.get("work_assignment", held.pk)
        for entry in held.entries.order_by("position"):
            assignments.save_draft(
                by=user, assignment=held, item_id=entry.item_id, draft=full, seq=9
            )
        for part in ("before", "after")[: 2 if held.task.type == "writing" else 1]:
            self.get("work_item", held.pk, 1, part=part)
        self.get("work_item", held.pk, many, check=1)
        self.get("work_assignment", held.pk)
        factories.make_log(held, LOG if held.task.type != "writing" else typed(held))

    def after(self, done: Assignment) -> None:
        self.get("work_done", done.pk)
        self.get("work_record_assignment", done.pk)
        if done.task.type in ("free_text", "writing"):
            self.get("work_replay", done.answers.earliest("pk").pk)

    def quiz(self, task: Task, worker: Membership) -> None:
        """A try that fails, one that passes, and answers that are told of."""
        for text in (ARABIC, OWN):
            held = factories.claim(task, worker, opened=False)
            self.work(held, {"text": text})
            factories.submit(held, text)
            self.get("work_done", held.pk)
            self.get("work_home")
        held = factories.claim(task, worker)
        for position in range(1, held.entries.count() + 1):
            url = reverse("work_item", args=[held.pk, position])
            self.client.post(url, {"text": ARABIC, "go": "next", "seq": position})
            self.get("work_item", held.pk, position)

    def left(self) -> tuple[dict[str, str], dict[str, str]]:
        """What is left in English and what has no direction, and the first page that has it."""
        english: dict[str, str] = {}
        undirected: dict[str, str] = {}
        for key, html in self.pages.items():
            page = Page(html)
            for one in page.english:
                english.setdefault(one, key)
            for one in page.undirected:
                undirected.setdefault(one, key)
        return english, undirected


def tell(project: Project, worker: Membership, done: list[Assignment]) -> None:
    """Something of each kind that workers are told: pay, panels, results, messages, agreements."""
    by, user = project.owner, worker.user
    manager = factories.make_member(project).user
    assert user is not None and manager is not None
    for work, decision in zip(done[:3], ("approve", "reject", "reject"), strict=True):
        reason = {} if decision == "approve" else {"reason_code": "other", "reason": OWN * 5}
        line = payouts.ProposedLine(
            work.pk, decision=decision, bonus=Decimal(1), bonus_note=OWN, **reason
        )
        if decision == "reject":
            line = payouts.ProposedLine(work.pk, decision=decision, **reason)
        batch = payouts.propose_payout(by=by, task=work.task, key=uuid.uuid4(), lines=[line])
        payouts.approve_payout(
            by=manager,
            batch=batch,
            expected_total=payouts.total(batch),
            rejections=payouts.count_rejections(batch),
        )
    second = Rejection.objects.latest("pk")
    payouts.reply_to_rejection(by=user, rejection=second, text=OWN)
    payouts.decide_reply(by=manager, rejection=second, overturn=False, note=OWN)
    panel = panels.create(by=by, project=project, name=ARABIC)
    [joined] = panels.admit(by=by, panel=panel, workers=[worker])
    panels.end(by=by, member=joined, why=ARABIC)
    left_out = exclusions.exclude(by=by, task=done[0].task, worker=worker, reason=ARABIC)
    exclusions.undo(by=by, exclusion=left_out)
    exclusions.exclude(by=by, task=done[0].task, worker=worker, reason=ARABIC)
    answers.set_counts(by=by, answer=done[0].answers.earliest("pk"), counts=False, reason=ARABIC)
    told = {"task": done[0].task, "text": OWN, "key": uuid.uuid4()}
    conversations.write_as_worker(by=user, worker=worker, **told)
    conversations.write_as_staff(by=by, worker=worker, **{**told, "key": uuid.uuid4()})
    conversations.announce(by=by, **{**told, "key": uuid.uuid4()})
    other = {"task": done[1].task, "text": OWN, "key": uuid.uuid4()}
    conversations.write_as_worker(by=user, worker=worker, **other)
    for row in Conversation.objects.filter(task=done[1].task):
        conversations.set_closed(by=by, conversation=row, closed=True)
    ledger.book_correction(
        by=manager,
        task=done[0].task,
        debit=ledger.work(done[0].task_id),
        credit=ledger.payable_account(worker.pk),
        amount=Decimal(1),
        memo=OWN,
        key=uuid.uuid4(),
    )
    payments.mark_sent(by=manager, payments=Payment.objects.all()[:1])


def score(project: Project, worker: Membership, tasks_of: list[Task]) -> None:
    """Runs that count, with a score of the worker; one of each way scores are made."""
    for number, task in enumerate(tasks_of, 1):
        run = Run.objects.create(
            project=project,
            task=task,
            number=number,
            method=main_method(task),
            version="1",
            state="done",
        )
        make_official(run)
        lines = {"pairwise": ("", "quality_overall"), "labels": ("", "damage")}
        for dimension in lines.get(task.type, ("",)):
            WorkerScore.objects.create(
                run=run,
                worker=worker,
                n=2,
                component=1,
                dimension=dimension,
                estimate=0.7,
                low=0.5,
                high=0.8,
                rank_low=1,
                rank_high=2,
            )


PERSONAL = (
    *("work_home", "work_earnings", "work_messages", "notice_list", "work_record", "entry_leave"),
    *("account", "account_log", "account_name"),
    *("account_email", "password_change", "account_reauthenticate", "mfa_activate_totp"),
    *("mfa_add_webauthn", "mfa_view_recovery_codes", "mfa_generate_recovery_codes"),
    *("socialaccount_connections",),
)


@pytest.fixture
def walked(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Walk:
    settings.LANGUAGES = [*site.LANGUAGES, (MADE_UP, "Esperanto")]
    monkeypatch.setitem(trans_real._translations, MADE_UP, made_up(MADE_UP))
    project = factories.make_project(also_manager=True, show_scores=True)
    worker = factories.make_worker(project)
    user = speak(worker.user)
    made, quiz = studies(project), make_quiz(project)
    write_in_arabic()
    walk = Walk(user)
    walk.get("work_home")
    done = []
    for task, full in made:
        task.refresh_from_db()
        held = factories.claim(task, worker, opened=False)
        walk.work(held, full)
        drafts = {entry.item_id: full for entry in held.entries.all()}
        done.append(
            answers.submit_assignment(by=user, assignment=held, key=uuid.uuid4(), drafts=drafts)
        )
        walk.after(factories.took(done[-1]))
    walk.quiz(quiz, worker)
    tell(project, worker, done)
    score(project, worker, [done[0].task, done[1].task, done[4].task])
    tokens.create_token(by=user, name=ARABIC, scopes=["read", "work"], days=1, project=project)
    for name in PERSONAL:
        walk.get(name)
    walk.get("work_card", project.pk)
    walk.get("payment_details", project.pk)
    walk.get("project_list")
    walk.get("own_data_erase", project.pk)
    for row in Conversation.objects.all():
        walk.get("work_conversation", row.pk)
    walk.get("work_ask", done[2].pk)
    walk.get("work_record_assignment", done[0].pk)
    withdraw(walk, project)
    return walk


def withdraw(walk: Walk, project: Project) -> None:
    """The agreement, its withdrawal, and what has no pages."""
    walk.get("work_consent", project.pk)
    walk.client.post(reverse("work_withdraw", args=[project.pk]))
    walk.get("work_consent", project.pk, declined=1)
    walk.get("work_home")
    walk.get("work_item", 0, 1)
    walk.get("work_card", 0)


def test_the_start_page_without_an_account_keeps_no_english(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LANGUAGES = [*site.LANGUAGES, (MADE_UP, "Esperanto")]
    monkeypatch.setitem(trans_real._translations, MADE_UP, made_up(MADE_UP))
    client = Client(headers={"accept-language": MADE_UP})
    page = Page(client.get(reverse("home")).content.decode())
    assert page.english == []


def test_no_page_of_a_worker_keeps_english_and_what_people_wrote_turns_by_itself(
    walked: Walk,
) -> None:
    assert walked.left() == ({}, {})
