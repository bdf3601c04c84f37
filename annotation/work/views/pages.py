"""Pages of people who work: home, agreement, an assignment from its claim to its end."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation.access import TASK, find_worker, get_access, get_own_assignment
from annotation.accounts.projects import actions as people
from annotation.accounts.projects.consent_words import (
    SPEAKING,
    depends_on_type,
    fill_consent,
)
from annotation.accounts.projects.selectors import published_types
from annotation.authoring.selectors.steps import problem_of, settings_of
from annotation.conversations.selectors import list_own_conversations
from annotation.models import (
    Assignment,
    AssignmentItem,
    Consent,
    ConsentText,
    Membership,
    Role,
    Task,
    User,
)
from annotation.notifications.selectors import notices_of
from annotation.payouts.details.selectors import own_details
from annotation.recruitment.selectors import visit_to
from annotation.recruitment.views import entry as coming_in
from annotation.task_types import get_type
from annotation.work.actions import assignments, leases
from annotation.work.actions.drafts import Version, versions_for_page
from annotation.work.actions.leases import MAX_EXTENSIONS
from annotation.work.actions.origins import record_origin
from annotation.work.selectors import earnings, known, log, work
from annotation.work.selectors import quiz as quizzes
from annotation.work.selectors.agreements import list_agreements
from annotation.work.views.page_api import read_object, read_version
from annotation.work.views.parts import OpenItem, pages_of
from crowdqc.errors import Conflict, Invalid, LimitExceeded, Missing, NotAllowed
from crowdqc.numbers import parse_whole
from crowdqc.web.middleware import permissions_policy

NOT_DRAFT = frozenset({"csrfmiddlewaretoken", "go", "version", "key", "part"})
UNCHANGED = "unchanged"  # a page's script says so where the draft on the server is what it shows


def _worker(request: HttpRequest, project_id: int) -> Membership:
    """The person's membership as a worker; outsiders 404, other roles 403."""
    worker = find_worker(request.user, project_id)
    if worker is None:
        get_access(request, project_id, Role.WORKER)  # says which of the two
        raise Missing(_("There is no such project, or you do not belong to it."))
    return worker


def _task(request: HttpRequest, task_id: int) -> tuple[Task, Membership]:
    task = TASK.first(pk=task_id)
    if task is None:
        raise Missing(_("There is no such task."))
    return task, _worker(request, task.project_id)


@gzip_page
@login_required
@require_GET
@never_cache
def home(request: HttpRequest) -> HttpResponse:
    """Home page of workers: open tasks, current work, earnings and news."""
    user = cast(User, request.user)
    conversations = list(list_own_conversations(user)[:3])
    context = {
        "home": work.load_home(user),
        "earnings": earnings.compute_earnings(user),
        "to_reply": earnings.open_rejections(user),
        "told": notices_of(user)[:3],
        "conversations": conversations,
        "new": sum(one.new for one in conversations),  # type: ignore[attr-defined]
    }
    return render(request, "annotation/work/home/home.html", context)


@gzip_page
@login_required
@require_GET
@never_cache
def offer(request: HttpRequest, task_id: int) -> HttpResponse:
    """The instructions, time and pay of a task, to read before taking it."""
    task, _worker_of_it = _task(request, task_id)
    found = work.find_offer(cast(User, request.user), task)
    if found is None:
        messages.info(request, _("This task is not open to you now."))
        return redirect("work_home")
    return render(request, "annotation/work/home/offer.html", {"offer": found})


@gzip_page
@login_required
@require_GET
@never_cache
def earnings_page(request: HttpRequest) -> HttpResponse:
    """Page of a worker's earnings: waiting, rejected with reason, approved and paid."""
    user = cast(User, request.user)
    context = {
        "history": earnings.load_history(user),
        "earnings": earnings.compute_earnings(user),
        "ways": own_details(user),
    }
    return render(request, "annotation/work/home/earnings.html", context)


# Agreement ---------------------------------------------------------------------------------------


def _next(request: HttpRequest) -> tuple[str, int]:
    """Where to go after agreeing: ("task", id), ("assignment", id) or ("", 0)."""
    for name in ("task", "assignment"):
        number = parse_whole(request.POST.get(name) or request.GET.get(name))
        if number is not None:
            return name, number
    return "", 0


def _consent_types(worker: Membership, text: ConsentText, kind: str, pk: int) -> list[str]:
    """The types of tasks that the agreement is for; [] where the text is one for all of them.

    That of the task that asks for it, else those of all that the project has published.
    """
    if not depends_on_type(text.text):
        return []
    if not kind:
        return published_types(worker.project)
    own: dict[str, Any] = (
        {"pk": pk} if kind == "task" else {"assignments__pk": pk, "assignments__worker": worker}
    )
    return list(worker.project.tasks.filter(**own).values_list("type", flat=True))


@gzip_page
@login_required
@require_http_methods(["GET", "POST"])
@never_cache
def consent(request: HttpRequest, project_id: int) -> HttpResponse:
    """Page on which a worker agrees to the consent text, or declines."""
    worker = _worker(request, project_id)
    text = people.current_consent_text(worker.project)
    kind, pk = _next(request)
    types, given = _consent_types(worker, text, kind, pk), people.current_consent(worker)
    if given and kind and not all(map(given.covers, types)):
        given = None  # a task of another type asks anew
    words, shown = fill_consent(text.text, types, local=True), given.task_types if given else types
    fingerprint = hashlib.sha256(f"{text.pk} {words}".encode()).hexdigest()
    context: dict[str, Any] = {
        "worker": worker,
        "text": text,
        "words": words,
        "fingerprint": fingerprint,
        "usual_text": people.is_usual_consent(text),
        "transcribed": text.transcription and (not shown or not SPEAKING.isdisjoint(shown)),
        "given": given,
        "agreements": list_agreements(given) if given else [],
        "kind": kind,
        "pk": pk,
    }
    if request.method == "GET":
        declined = "declined" in request.GET
        name = "declined" if declined else "consent"
        if declined:
            context["in_work"] = work.list_in_work([worker])
        return render(request, f"annotation/work/{name}.html", context)
    if "decline" in request.POST:
        left = coming_in.left_without_consent(request, worker)
        here = f"{reverse('work_consent', args=[project_id])}?declined=1"
        return redirect("entry_leave" if left else here)
    try:
        if request.POST.get("text") != fingerprint:
            raise Conflict(_("The text has changed while you read it. Please read it again."))
        people.give_consent(
            by=request.user,  # type: ignore[arg-type]
            member=worker,
            text=text,
            agreed=request.POST.get("agreed") == "on",
            task_types=types,
            words=words,
        )
    except (Invalid, Conflict) as error:
        context["error"] = error.fields.get("agreed") or error.message
        return render(request, "annotation/work/consent.html", context, status=error.status)
    if kind == "task":
        return _claimed(request, pk)
    return redirect("work_assignment", assignment_id=pk) if kind else redirect("work_home")


@login_required
@require_POST
def withdraw(request: HttpRequest, project_id: int) -> HttpResponse:
    """Take the agreement back; recording stops at once."""
    people.withdraw_consent(by=request.user, member=_worker(request, project_id))  # type: ignore[arg-type]
    return redirect(f"{reverse('work_consent', args=[project_id])}?declined=1")


# An assignment -----------------------------------------------------------------------------------


def _claimed(request: HttpRequest, task_id: int) -> HttpResponse:
    task, worker = _task(request, task_id)
    try:
        found = assignments.claim_assignment(by=request.user, task=task, worker=worker)  # type: ignore[arg-type]
        record_origin(by=cast(User, request.user), worker=worker, request=request)
    except LimitExceeded as error:
        messages.warning(request, error.message)
        return redirect("work_home")
    except Conflict as error:
        turned_away = coming_in.nothing_left(request, task, error)
        if turned_away is not None:
            return turned_away
        messages.warning(request, error.message)
        return redirect("work_home")
    except NotAllowed as error:
        if error.code != "no-consent":
            raise
        return redirect(f"{reverse('work_consent', args=[task.project_id])}?task={task.pk}")
    return redirect("work_assignment", assignment_id=found.pk)


@login_required
@require_POST
def claim(request: HttpRequest, task_id: int) -> HttpResponse:
    """Lease a bundle of the task, or continue with the current one."""
    return _claimed(request, task_id)


def _elsewhere(assignment: Assignment) -> HttpResponse | None:
    """Redirect from an assignment that takes no answers any more; None while it takes them."""
    if work.is_open(assignment):
        return None
    if assignment.state == "returned":
        return redirect("work_home")
    return redirect("work_done", assignment_id=assignment.pk)


def _words(assignment: Assignment) -> dict[str, Any]:
    """The task's type, its pages, and what they call an item and the answer to one."""
    task_type, pages = get_type(assignment.task.type), pages_of(assignment.task)
    noun = task_type.noun_in(assignment.version.settings)
    return {
        "type": task_type,
        "pages": pages,
        "noun": noun,
        "answer_noun": pages.submitted_noun or task_type.answer_noun,
    }


def _frame(
    assignment: Assignment, agreed: Consent | None, steps: list[work.Step]
) -> dict[str, Any]:
    """Return what every page of an assignment shows around its content."""
    pages = pages_of(assignment.task)
    return {
        "assignment": assignment,
        "version": assignment.version,
        "currency": assignment.task.project.currency,
        **_words(assignment),
        "agreed": agreed,
        "steps": steps,
        "recorded": pages.recorded(assignment.version.settings),
        "not_recorded": pages.not_recorded(assignment.version.settings),
        "segments": pages.segments(assignment, steps),
        "seconds_left": work.seconds_left(assignment),
        "late": work.is_expired(assignment),
        "extensions": max(0, MAX_EXTENSIONS - assignment.extensions),
        "offset_ms": work.opened_ms(assignment),
        "skipped": sum(step.state == "skipped" for step in steps),
        "quiz": quizzes.quiz_terms(assignment.version) if assignment.quiz else None,
    }


def _shown(
    request: HttpRequest, found: Assignment, template: str, context: dict[str, Any]
) -> HttpResponse:
    """A page of an assignment; scripts go from one to the next within the first one's policy."""
    response = render(request, template, context)
    if used := pages_of(found.task).features(found.version.settings):
        response["Permissions-Policy"] = permissions_policy(*used)
    return response


@gzip_page
@login_required
@require_GET
@never_cache
def assignment(request: HttpRequest, assignment_id: int) -> HttpResponse:
    """Page of an assignment: its instructions first, later its list of items."""
    found = get_own_assignment(request, assignment_id)
    elsewhere = _elsewhere(found)
    if elsewhere:
        return elsewhere
    agreed = people.current_consent(found.worker, found.task.type)
    steps = work.steps(found, whole=False, on_page=found.source == "browser")
    begun = any(step.entry.shown_at or step.entry.draft_seq for step in steps)
    if not begun:
        if agreed is None:
            return _redirect_to_consent(found)
        if not found.version.instructions.strip() and not found.quiz:
            return redirect("work_item", assignment_id=found.pk, position=1)
        if found.opened_at is None:
            assignments.open_assignment(by=request.user, assignment=found)  # type: ignore[arg-type]
    context = _frame(found, agreed, steps)
    answered = sum(step.state == "done" for step in steps)
    context |= {
        "problems": [step for step in steps if step.problem],
        "answered": answered,
        "progress": pages_of(found.task).progress % {"answered": answered, "steps": len(steps)},
        "declined": sum(step.declined for step in steps),
        "wait": work.seconds_to_wait(found),
        "lost": work.count_lost_answers(found),
        "key": uuid.uuid4(),
    }
    name = "review" if begun else "start"
    return render(request, f"annotation/work/{name}.html", context)


def _redirect_to_consent(found: Assignment) -> HttpResponse:
    url = reverse("work_consent", args=[found.task.project_id])
    return redirect(f"{url}?assignment={found.pk}")


@gzip_page
@login_required
@require_http_methods(["GET", "POST"])
@never_cache
def item(request: HttpRequest, assignment_id: int, position: int) -> HttpResponse:
    """Page of one item; POST saves the draft and goes where the button leads."""
    found = get_own_assignment(request, assignment_id)
    elsewhere = _elsewhere(found)
    if elsewhere:
        return elsewhere
    agreed = people.current_consent(found.worker, found.task.type)
    if agreed is None:
        return _redirect_to_consent(found)
    pages = pages_of(found.task)
    steps = work.steps(found, current=position - 1, whole=pages.reads)
    if not 1 <= position <= len(steps):
        raise Missing(
            _("There is no such %(item_noun)s in this assignment.")
            % {"item_noun": pgettext("noun", get_type(found.task.type).item_noun)}
        )
    entry = steps[position - 1].entry
    if not pages.reads:
        entry.item = work.with_texts(entry)
    settings = settings_of(found, entry)
    passage = "none"
    if settings.get("show_sources", True):
        passage = work.passage_state(found, entry.item.group)
    is_seen = request.method == "GET" and passage != "first"
    if is_seen and entry.shown_at is None:
        assignments.show_item(by=request.user, assignment=found, position=entry.position)  # type: ignore[arg-type]
    elif found.opened_at is None:
        assignments.open_assignment(by=request.user, assignment=found)  # type: ignore[arg-type]
    if entry.told_at:
        return _show_match(request, found, agreed, steps, entry)
    if request.method == "POST":
        return _answered(request, found, entry, passage, len(steps))
    context = _frame(found, agreed, steps)
    context |= _text_line(steps if pages.reads else [], entry)
    if passage == "first":
        return _shown(request, found, "annotation/work/read.html", context)
    opened = OpenItem(found, entry, settings, passage, steps, request.GET.dict())
    context |= {
        "passage": passage,
        "settings": settings,
        "target": log.event_target(entry.public_id),
        "versions": json.dumps(versions_for_page(entry)),
        "total": opened.total,
        "problem": problem_of(found, entry, on_page=True) if opened.named else "",
        **pages.context(opened),
    }
    return _shown(request, found, pages.template(opened), context)


def _show_match(
    request: HttpRequest,
    found: Assignment,
    agreed: Consent | None,
    steps: list[work.Step],
    entry: AssignmentItem,
) -> HttpResponse:
    """Whether an answer matches what is known, with why; it stands, so any step leads on."""
    if request.method == "POST":
        return redirect("work_item", assignment_id=found.pk, position=entry.position + 1)
    context = _frame(found, agreed, steps)
    context |= {
        "entry": entry,
        "told": known.draft_feedback(found, entry),
        "last": entry.position + 1 == len(steps),
        "total": len(steps),
    }
    return _shown(request, found, "annotation/work/told.html", context)


def _text_line(steps: list[work.Step], entry: AssignmentItem) -> dict[str, Any]:
    texts = work.texts_of(steps)
    group = entry.item.group
    ids = [text.pk for text in texts]
    return {
        "entry": entry,
        "group": group,
        "texts": max(1, len(texts)),
        "text_number": ids.index(group.pk) + 1 if group.pk in ids else 1,
    }


def _answered(
    request: HttpRequest, found: Assignment, entry: AssignmentItem, passage: str, total: int
) -> HttpResponse:
    """Keep the form's draft and go on; "read" closes a passage that is not looked back at."""
    go = request.POST.get("go", "next")
    here = redirect("work_item", assignment_id=found.pk, position=entry.position + 1)
    if go == "read" or passage == "first":
        assignments.show_item(by=request.user, assignment=found, position=entry.position)  # type: ignore[arg-type]
        return here
    if go == "reset" or request.POST.get("version") != UNCHANGED:
        entry.draft = _save(request, found, entry, go)
    within = pages_of(found.task).next_step(found, entry, request.POST.dict())
    if within:
        return within
    if go == "next" and _must_stay(found, entry):
        return redirect(f"{here.url}?check=1")
    if go in ("next", "dont_know") and assignments.reveal_known_answer(
        by=request.user,  # type: ignore[arg-type]
        assignment=found,
        position=entry.position,
    ):
        return here
    target = entry.position + 1 + {"back": -1, "stay": 0, "reset": 0}.get(go, 1)
    if 1 <= target <= total:
        return redirect("work_item", assignment_id=found.pk, position=target)
    return redirect("work_assignment", assignment_id=found.pk) if target > total else here


def _save(
    request: HttpRequest, found: Assignment, entry: AssignmentItem, go: str
) -> dict[str, Any]:
    """Save the form as the draft; returns what is kept now."""
    draft: dict[str, Any] = {
        name: value for name, value in request.POST.items() if name not in NOT_DRAFT
    }
    if go == "reset":
        draft = {}
    elif go == "dont_know":
        draft |= {"declined": True, "skipped": False}
    elif draft.get("text", "") != entry.draft.get("text", ""):
        draft |= {"declined": False}  # writing takes "I don't know" back
    if go == "skip":
        draft["skipped"] = True
    raw = request.POST.get("version")
    version = read_version(read_object(raw)) if raw else Version(time.time_ns() // 10**6)
    kept = assignments.save_draft(
        by=request.user,  # type: ignore[arg-type]
        assignment=found,
        item_id=entry.item_id,
        draft=draft,
        version=version,
    )
    return cast(dict[str, Any], kept.draft)


def _must_stay(found: Assignment, entry: AssignmentItem) -> bool:
    """Whether the item is shown again with what is wrong, instead of the next one.

    A question that is left open for now may be passed over; the list names it before the submit.
    """
    left = pages_of(found.task).may_stay_open or bool(entry.draft.get("skipped"))
    if left and not get_type(found.task.type).is_answered(entry.draft):
        return False
    return bool(problem_of(found, entry, on_page=True))


@login_required
@require_POST
def assignment_return(request: HttpRequest, assignment_id: int) -> HttpResponse:
    """Return the assignment without disadvantage."""
    found = get_own_assignment(request, assignment_id)
    leases.return_assignment(by=request.user, assignment=found)  # type: ignore[arg-type]
    messages.success(
        request,
        _("“%(version_title)s” is returned. Others can take it now.")
        % {"version_title": found.version.title},
    )
    return redirect("work_home")


@gzip_page
@login_required
@require_GET
@never_cache
def submitted_page(request: HttpRequest, assignment_id: int) -> HttpResponse:
    """Page after submitting: what happens next, the pay, and further work."""
    found = get_own_assignment(request, assignment_id)
    if found.state != "submitted":
        return redirect("work_assignment", assignment_id=found.pk)
    # An answer that is known never counts; that says nothing, and names no item.
    counts = list(found.answers.values_list("counts", "item__expected__isnull"))
    visit = visit_to(found.pk) if found.worker.external_id else None
    decision, owed = earnings.read_decision(found)
    another = None if visit else work.find_offer(cast(User, request.user), found.task)
    context = {
        "assignment": found,
        "version": found.version,
        "currency": found.task.project.currency,
        **_words(found),
        "answers": len(counts),
        "decision": decision,
        "owed": owed,
        "uncounted": counts.count((False, True)),
        "another": another,
        "quiz": quizzes.quiz_result(found) if found.quiz else None,
        **coming_in.return_context(visit),
    }
    response = render(request, "annotation/work/done.html", context)
    return coming_in.allow_form(response, context["submit_to"])
