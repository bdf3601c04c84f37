"""Asking an endpoint what it has and what a model can do: requested here, done by jobs.

A page requests it and shows that it is under way; the job writes what came of it.
"""

from __future__ import annotations

import datetime as dt

from django.db import transaction
from django.utils import timezone

from annotation.models import User
from annotation.records.actions.audit import record
from crowdqc import queue
from crowdqc.errors import DomainError
from evaluation.llm import completion
from evaluation.models import Endpoint, LanguageModel

# After this a request counts as lost: its page stops asking, and it can be made again.
LOST = dt.timedelta(minutes=5)
SLOW = "It took too long to answer."


def under_way(asked_at: dt.datetime | None) -> bool:
    """Whether a job is still expected to answer."""
    return asked_at is not None and timezone.now() - asked_at < LOST


@transaction.atomic
def request_probe(*, by: User, model: LanguageModel) -> bool:
    """Have a job probe the model; False where one does already.

    Raises Conflict where no key can be used and Invalid where the address is not allowed.
    """
    locked = LanguageModel.objects.select_for_update(of=("self",)).get(pk=model.pk)
    if under_way(locked.probe_asked_at):
        return False
    completion.link_of(model.endpoint)
    locked.probe_asked_at = timezone.now()
    locked.save(update_fields=["probe_asked_at"])
    queue.enqueue("evaluation.jobs.probe_model", model.pk, by.pk)
    return True


def probe_requested(*, by: User, model_id: int) -> str:
    """Probe a model that somebody asked to have probed; one that was answered is left alone."""
    rows = LanguageModel.objects.select_related("endpoint__project")
    model = rows.filter(pk=model_id, probe_asked_at__isnull=False).first()
    if model is None:
        return "not mine"
    try:
        return "done" if probe_model(by=by, model=model).can else "failed"
    finally:  # also where the job is stopped: the page must not wait for ever
        LanguageModel.objects.filter(pk=model_id).update(probe_asked_at=None)


def probe_model(*, by: User, model: LanguageModel) -> LanguageModel:
    """Ask the model a few short questions and store what it can do (``can``, ``probe_note``).

    Sends at most eight requests, outside any transaction and outside the budget. A model that
    cannot be reached keeps what was known of it; ``probe_note`` says why.
    """
    from evaluation.llm.endpoints import probe

    try:
        found = probe.probe(model)
    except DomainError as problem:  # no key, or an address that is not allowed
        found = probe.Found(None, problem.message)
    with transaction.atomic():
        locked = LanguageModel.objects.select_for_update(of=("self",)).get(pk=model.pk)
        if found.can is not None:
            locked.can, locked.probed_at = found.can, timezone.now()
        locked.probe_note, locked.probe_asked_at = found.note[:300], None
        locked.save(update_fields=["can", "probed_at", "probe_note", "probe_asked_at"])
        project = locked.endpoint.project
        record(by=by, project=project, action="model.probe", on=locked, can=found.can or {})
    return locked


@transaction.atomic
def request_names(*, endpoint: Endpoint) -> bool:
    """Have a job ask the endpoint for its models; False where one does already."""
    locked = Endpoint.objects.select_for_update(of=("self",)).get(pk=endpoint.pk)
    if under_way(locked.names_asked_at):
        return False
    locked.names_asked_at = timezone.now()
    locked.save(update_fields=["names_asked_at"])
    queue.enqueue("evaluation.jobs.list_models", endpoint.pk)
    return True


def list_models(*, endpoint_id: int) -> str:
    """Ask the endpoint for its models and keep their names, or why it tells none."""
    from evaluation.llm.endpoints import probe

    rows = Endpoint.objects.filter(pk=endpoint_id)
    endpoint = rows.filter(names_asked_at__isnull=False).first()
    if endpoint is None:
        return "not mine"
    found: dict[str, object] = {"names_problem": SLOW}
    try:
        found = {"names": probe.model_names(endpoint), "names_problem": ""}
    except DomainError as problem:
        found = {"names_problem": problem.message[:300]}
    finally:
        rows.update(names_asked_at=None, names_at=timezone.now(), **found)
    return "done" if not found["names_problem"] else "failed"
