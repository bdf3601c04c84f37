"""What is recorded of a person, for that person; and their one reply to a rejection."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from annotation.models import Assignment, Consent, Qualification, Rejection, WorkerOrigin
from annotation.payouts.actions import rejections
from annotation.privacy.selectors import retention
from annotation.task_types import get_type
from annotation.work.selectors import answer_words, log, log_words, work
from annotation.work.selectors.agreements import list_agreements
from annotation.work.selectors.recordings import recording_addresses
from annotation.work.selectors.transcripts import transcripts_of
from annotation.work.views.parts import pages_of
from crowdqc.errors import Invalid, Missing

PAGE = 20
EVENTS_PAGE = 200


@login_required
@require_GET
@never_cache
def record(request: HttpRequest) -> HttpResponse:
    """Page of everything recorded about a worker: agreements, pseudonyms, assignments."""
    user = request.user
    rows = Paginator(work.recorded_assignments(user), PAGE).get_page(  # type: ignore[arg-type]
        request.GET.get("page")
    )
    shown = [row.pk for row in rows.object_list]
    kinds, summaries = log.counts_by_method(shown), log.log_summaries(shown)
    memberships = work.memberships_with_consent(user)  # type: ignore[arg-type]
    kept = retention.kept_of_workers(memberships)
    context = {
        "memberships": memberships,
        "kept": [(one, kept[one.pk]) for one in memberships],
        "consents": _with_agreements(work.list_consents(user)),  # type: ignore[arg-type]
        "in_force": {one.agreed.pk for one in memberships if one.agreed},  # type: ignore[attr-defined]
        "origins": WorkerOrigin.objects.filter(worker__in=memberships),
        "page": rows,
        "rows": [
            (
                row,
                log_words.describe_counts(kinds[row.pk], summaries[row.pk].focus_losses),
                sum(kinds[row.pk].values()),
            )
            for row in rows.object_list
        ],
    }
    return render(request, "annotation/work/record/record.html", context)


def _with_agreements(consents: Iterable[Consent]) -> list[Consent]:
    """The consents with the texts that each was given to."""
    found = list(consents)
    for one in found:
        one.agreements = list_agreements(one)  # type: ignore[attr-defined]
    return found


@login_required
@require_GET
@never_cache
def assignment_record(request: HttpRequest, assignment_id: int) -> HttpResponse:
    """Page of one assignment for its worker: answers, summary of the log, and every event."""
    found = work.recorded_assignments(request.user).filter(pk=assignment_id).first()  # type: ignore[arg-type]
    if found is None:
        raise Missing(_("There is no such assignment among yours."))
    events = log.own_events(found.pk)
    steps = work.steps(found, whole=False)
    task_type, pages = get_type(found.task.type), pages_of(found.task)
    names = {
        log.event_target(step.number): f"{pgettext('noun', step.noun)} {step.number}"
        for step in steps
    }
    names |= {place: str(name) for place, name in pages.targets.items()}
    titles = log_words.line_titles(found.version.settings)
    choices = log_words.line_choices(found.version.settings)
    absences = log.absence_starts(events)
    page = Paginator(events, EVENTS_PAGE).get_page(request.GET.get("page"))
    written = found.answers.filter(texts__field="answer").values_list("item", "pk")
    replayed = dict(written) if events else {}
    given = {} if pages.tells_all else _submitted_answers(found)
    spoken = recording_addresses(found.pk)
    transcripts = transcripts_of(found.pk) if spoken else {}
    context = {
        "assignment": found,
        "type": task_type,
        "pages": pages,
        "answer_noun": pages.recorded_noun or task_type.answer_noun,
        "steps": [
            (
                step,
                replayed.get(step.entry.item_id),
                given.get(step.entry.item_id) or step.said,
                spoken.get(step.entry.item_id),
                transcripts.get(step.entry.item_id),
            )
            for step in steps
        ],
        "round": Qualification.objects.filter(assignment=found)
        .select_related("assignment__version", "assignment__task__qualifies")
        .first(),
        "summary": log.log_summaries([found.pk])[found.pk],
        "page": page,
        "events": [
            log_words.describe_event(
                event, names, titles, choices=choices, is_absence=place in absences
            )
            for place, event in enumerate(page.object_list, page.start_index() - 1)
        ],
    }
    return render(request, "annotation/work/record/record_assignment.html", context)


def _submitted_answers(found: Assignment) -> dict[int, str]:
    """Return submitted answers by item, for drafts that hold them only in short."""
    answers = found.answers.select_related("version", "item")
    answers = answers.prefetch_related("texts", "choices", "spans")
    return {answer.item_id: answer_words.describe_answer(answer) for answer in answers}


@login_required
@require_POST
def reply(request: HttpRequest, rejection_id: int) -> HttpResponse:
    """The worker's one reply, from the page that shows the reason."""
    rejection = Rejection.objects.filter(
        pk=rejection_id,
        assignment__worker__user=request.user.pk,
    ).first()
    if rejection is None:
        raise Missing(_("There is no such rejection of your work."))
    try:
        rejections.reply_to_rejection(
            by=request.user,  # type: ignore[arg-type]
            rejection=rejection,
            text=request.POST.get("reply", ""),
        )
    except Invalid as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("Your reply is sent. A manager reads it and answers here."))
    return redirect(reverse("work_earnings") + "#rejected")
