"""Plain helpers that put a test into a state, by the same actions the application uses.

Every helper returns the row it made. Names are made unique by a running number, so that a test
may call a helper as often as it likes.
"""

from __future__ import annotations

import datetime as dt
import itertools
import secrets
import string
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings as django_settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.utils import timezone

from annotation.accounts.projects import actions as people
from annotation.accounts.security.stepup import SIGNED_IN_AT
from annotation.accounts.tokens import actions as tokens
from annotation.authoring.actions import tasks
from annotation.authoring.actions.items import STEP, clean_question
from annotation.formats.actions import answers as answer_imports
from annotation.models import (
    Answer,
    Assignment,
    Consent,
    EventStream,
    Item,
    Membership,
    Project,
    Role,
    Task,
    User,
)
from annotation.work.actions import answers, assignments, events
from tests.support.kept import kept

_numbers = itertools.count(1)
# Two processes may fill one database; letters, as tests look for numbers on pages.
_RUN = "".join(secrets.choice(string.ascii_lowercase) for _ in range(6))
PASSWORD = "a-long-test-password-7"
# A reason for a rejection, long enough for every platform.
REJECTION = (
    "Every answer repeats the question word by word. The instructions ask for an answer in your "
    "own words, from the text."
)
PASSAGE = (
    "Storks build their nests on chimneys and poles. They come back to the same nest in spring.\n\n"
    "Both parents feed the young with frogs, mice and beetles."
)


def make_user(name: str = "", *, password: str = "", **fields: Any) -> User:
    """A user; without ``password`` nobody can sign in by form (use ``client.force_login``)."""
    name = name or f"user{next(_numbers)}-{_RUN}"
    user = User(username=name, **fields)
    if password:
        user.set_password(password)
    else:
        user.set_unusable_password()
    user.save()
    return user


def api_token(user: User, scopes: Collection[str] = tokens.OF_EVERYBODY, **fields: Any) -> str:
    """A token of the person's; ``fields``: project, per_minute, days..."""
    return tokens.create_token(by=user, name="test", scopes=scopes, **{"days": 1, **fields})[1]


def session_of(user: User) -> str:
    """The key of a session in which the person is signed in."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = django_settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session[SIGNED_IN_AT] = time.time()
    session.save()
    return session.session_key or ""


@kept
def make_project(
    *, owner: User | None = None, name: str = "Birds", also_manager: bool = False, **fields: Any
) -> Project:
    """A project with its consent text; ``fields`` (budget, single_approval...) are set on it."""
    project = people.create_project(
        by=owner or make_user(),
        name=name,
        also_manager=also_manager,
        currency=fields.pop("currency", "EUR"),
    )
    for key, value in fields.items():
        setattr(project, key, value)
    if fields:
        project.save(update_fields=list(fields))
    return project


def make_member(project: Project, role: str = Role.MANAGER, user: User | None = None) -> Membership:
    """A person in a role of the project (a worker: use ``make_worker``)."""
    return people.add_member(project=project, user=user or make_user(), role=role)


def make_worker(
    project: Project, user: User | None = None, *, consent: bool = True, pseudonym: str = ""
) -> Membership:
    """A worker who has joined and, unless told otherwise, agreed to the text in force."""
    worker = people.add_worker(project=project, user=user or make_user(), pseudonym=pseudonym)
    if consent:
        make_consent(worker)
    return worker


def make_consent(worker: Membership) -> Consent:
    """The worker's agreement to the version in force."""
    text = people.current_consent_text(worker.project)
    return people.give_consent(by=worker.user, member=worker, text=text, agreed=True)


@kept
def make_task(
    project: Project | None = None,
    n: int = 4,
    *,
    publish: bool = True,
    title: str = "What storks do",
    passage: str = PASSAGE,
    look_back: bool = True,
    groups: int = 1,
    questions: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Task:
    """A free-text task of ``n`` questions, spread evenly over ``groups`` texts, published.

    ``fields`` are those of a version: redundancy, items_per_assignment, pay, order, min_seconds,
    lease_minutes, instructions... By default: 2 answers a question, all questions in one
    assignment, fixed order, 1.80 of pay.
    """
    project = project or make_project()
    by = project.owner
    task = tasks.create_task(by=by, project=project, type="free_text", title=title)
    rules = {
        "redundancy": 2,
        "items_per_assignment": max(1, min(n, 500)),
        "order": "fixed",
        "pay": "1.80",
        **fields,
    }
    tasks.edit_draft(by=by, task=task, fields={**rules, "settings": settings or {}})
    texts = [
        tasks.save_group(
            by=by, task=task, title=f"Text {i + 1}", passage=passage, look_back=look_back
        )
        for i in range(groups)
    ]
    rows = [
        (
            texts[number * groups // n],
            f"q-{number + 1:03d}",
            questions[number] if questions else f"What is question {number + 1} about?",
        )
        for number in range(n)
    ]
    if rows:
        first = tasks.save_item(
            by=by, task=task, group=rows[0][0], key=rows[0][1], question=rows[0][2]
        )
        # The rest as the same action leaves them: one by one they took a third of this function.
        Item.objects.bulk_create(
            Item(
                task=task,
                group=group,
                key=key,
                question=clean_question(question),
                position=first.position + STEP * number,
                since=first.since,
            )
            for number, (group, key, question) in enumerate(rows[1:], 1)
        )
    if publish:
        tasks.publish(by=by, task=task)
    task.refresh_from_db()
    return task


def claim(task: Task, worker: Membership, *, opened: bool = True) -> Assignment:
    """A lease of the worker, opened as the page does."""
    assignment = assignments.claim_assignment(by=worker.user, task=task, worker=worker)
    if opened:
        assignment = assignments.open_assignment(by=worker.user, assignment=assignment)
    return assignment


def submit(
    assignment: Assignment, texts: Mapping[str, str] | str = "They build nests on chimneys."
) -> Assignment:
    """Submit an assignment; ``texts`` by item key, or one for all; "" means "I don't know"."""
    drafts = {}
    for entry in assignment.entries.select_related("item"):
        text = texts if isinstance(texts, str) else texts.get(entry.item.key, "")
        drafts[entry.item_id] = {"text": text, "declined": not text}
    return answers.submit_assignment(
        by=assignment.worker.user, assignment=assignment, key=uuid.uuid4(), drafts=drafts
    )


def claim_and_submit(
    task: Task,
    worker: Membership | None = None,
    texts: Mapping[str, str] | str = "They build nests on chimneys.",
) -> Assignment:
    """One worker's submitted assignment (a new consented worker unless one is given)."""
    return submit(claim(task, worker or make_worker(task.project)), texts)


def took(done: Assignment, minutes: float = 10) -> Assignment:
    """As if the submitted work had taken so long: what a test does in no time is flagged."""
    end = done.submitted_at or timezone.now()
    done.opened_at, done.submitted_at = end - dt.timedelta(minutes=minutes), end
    Assignment.objects.filter(pk=done.pk).update(
        opened_at=done.opened_at, submitted_at=done.submitted_at
    )
    return done


def make_answers(task: Task, by_worker: Mapping[str, Mapping[str, str]]) -> list[Answer]:
    """Answers as imported: external worker id -> item key -> text. Returns all of the task."""
    rows = [
        {"worker_id": worker, "item_id": key, "answer": text}
        for worker, given in by_worker.items()
        for key, text in given.items()
    ]
    answer_imports.import_answers(by=task.project.owner, task=task, rows=rows)
    return list(Answer.objects.filter(item__task=task, worker__isnull=False).order_by("pk"))


def make_system_answers(
    task: Task, by_system: Mapping[str | tuple[str, str], Mapping[str, str]]
) -> list[Answer]:
    """Answers of systems: name, or (name, prompt strategy) -> item key -> text."""
    rows = []
    for system, given in by_system.items():
        name, strategy = (system, "") if isinstance(system, str) else system
        rows += [
            {"system": name, "prompt_strategy": strategy, "item_id": key, "answer": text}
            for key, text in given.items()
        ]
    answer_imports.import_system_answers(by=task.project.owner, task=task, rows=rows)
    return list(Answer.objects.filter(item__task=task, system__isnull=False).order_by("pk"))


def make_log(assignment: Assignment, log: Sequence[Mapping[str, Any]]) -> EventStream:
    """One stream of interaction events of the assignment, stored in one batch."""
    user, key = assignment.worker.user, uuid.uuid4()
    stream = events.open_stream(by=user, assignment=assignment, key=key)
    if log:
        events.append_events(
            by=user, assignment=assignment, stream_key=key, first_seq=0, events=[*log]
        )
    stream.refresh_from_db()
    return stream


@dataclass(frozen=True)
class World:
    """A project with one person of each kind and an open task."""

    project: Project
    requester: User
    manager: User
    worker: Membership
    outsider: User
    task: Task


@kept
def make_world(n: int = 4, **fields: Any) -> World:
    """The usual start of a test: everybody is there, nothing is answered yet."""
    project = make_project()
    manager = make_member(project, Role.MANAGER)
    return World(
        project=project,
        requester=project.owner,
        manager=manager.user,
        worker=make_worker(project),
        outsider=make_user(),
        task=make_task(project, n, **fields),
    )
