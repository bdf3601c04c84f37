"""A project with one of each thing, and the address of every route in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from annotation.accounts.organisations.actions import create_organisation
from annotation.accounts.projects.actions import invitation_token, invite
from annotation.accounts.tokens import actions as tokens
from annotation.authoring.actions import tasks
from annotation.conversations import actions as conversations
from annotation.formats.actions import export_files
from annotation.formats.uploads import process
from annotation.formats.uploads.actions import keep_file, keep_table
from annotation.lists.actions import save_view
from annotation.models import (
    Correction,
    Item,
    Notice,
    Payment,
    Project,
    Rejection,
    Role,
    RoleGrant,
    Task,
    Trace,
)
from annotation.notifications.actions import notices
from annotation.notifications.actions import webhooks as hooks
from annotation.panels.actions import panels
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions import statements
from annotation.recruitment.platforms.entry_params import entry_token
from annotation.traces.actions.sources import create_source
from annotation.work.actions import exclusions
from evaluation.checklists.making import actions as list_actions
from evaluation.checklists.making import comparison
from evaluation.llm.own.actions import save_prompt
from evaluation.models import ChecklistVersion, Endpoint, ExplanationAudit, LLMCall
from evaluation.runs import engine as runs
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora import thinking as think_corpus
from tests.support import access_api, factories
from tests.support.servers import prolific
from tests.support.servers.llm import make_model
from tests.support.studies import judging, thinking
from tests.support.studies import labels as label_studies
from tests.support.studies import live as live_studies

FILES = {"files": "export_id", "score": "table_id"}  # what a file's id is, by how names begin
# Addresses of a think-aloud task, and of a checklist that is made from it.
THOUGHT = {
    "think_aloud_results",
    "checklist_new",
    "set_comparisons",
    "set_comparison_new",
    "set_comparison",
}
LISTED = {
    "checklist",
    "checklist_live",
    "checklist_take",
    "checklist_freeze",
    "checklist_stage",
    "checklist_ask",
    "checklist_version",
    "checklist_make_task",
}


# What a kind of way in or of list is called in an address.
WAYS_IN = {
    "manual_page": {"path": "index.html"},
    "recruitment_new": {"kind": "prolific"},
    "payment_export": {"what": "bonus"},
    "operations_failure": {"kind": "run", "row": 1},
    "score_table_example": {"name": "labels"},
}
# Addresses that make sense for a writing task alone.
WRITING = {
    "task_build_rows",
    "task_build_rows_step",
    "task_build_topic",
    "task_build_topic_step",
    "task_judge",
    "api_topics",
    "api_responses",
    "api_judge",
    "writing_results",
    "writing_export",
}


def patterns() -> Iterator[tuple[str, str]]:
    """Name and route of every address."""

    def walk(resolver: URLResolver, prefix: str) -> Iterator[tuple[str, str]]:
        for entry in resolver.url_patterns:
            route = prefix + str(entry.pattern)
            if isinstance(entry, URLPattern):
                yield entry.name or route, route
            else:
                yield from walk(entry, route)

    return walk(get_resolver(), "")


ROUTES = dict(patterns())


def thought_values(project: Project) -> dict[str, Any]:
    """A think-aloud of two people, a checklist with a version, and a comparison of theirs."""
    thought, by = think_corpus.make_thought(project), project.owner
    item = think_corpus.item_of(thought)
    made = list_actions.create(by=by, task=thought, item=item, name="Order", whose="all")
    version = ChecklistVersion.objects.create(
        checklist=made, number=1, questions=[], content_hash="", frozen_by=by
    )
    sets = ("author:owl-01", "author:reed-02")
    compared = comparison.begin(by=by, task=thought, item=item, first=sets[0], second=sets[1])
    return {
        "thought_id": thought.pk,
        "checklist_id": made.pk,
        "version": version.number,
        "pk": compared.pk,
    }


def asked_values(project: Project) -> dict[str, Any]:
    """A model behind an address where nobody listens, and a call that was made to it."""
    model = make_model(project, "http://127.0.0.1:9/v1")
    prompt = save_prompt(
        by=project.owner,
        project=project,
        name="mine",
        purpose="answer",
        system="",
        user="{{question}}",
    )
    call = LLMCall.objects.create(
        project=project,
        model=model,
        model_name=model.name,
        key="a" * 64,
        prompt="judge_text@1",
        messages=[],
    )
    return {
        "endpoint_id": model.endpoint_id,
        "model_id": model.pk,
        "call_id": call.pk,
        "prompt_id": prompt.pk,
        "method": "answers",
    }


def organised_values(world: factories.World) -> dict[str, Any]:
    """An organisation of the requester's, to which the project does not belong, with a model."""
    made = create_organisation(by=None, name="Bird lab", owner=world.requester)
    model = make_model(world.project, "http://127.0.0.1:9/v1")
    Endpoint.objects.filter(pk=model.endpoint_id).update(project=None, organisation=made)
    shared = {"endpoint_id": model.endpoint_id, "model_id": model.pk}
    return {"organisation_id": made.pk, "shared": shared}


def told_values(world: factories.World) -> dict[str, Any]:
    """An address that is told of events, with a line of its log, and a notice of the worker."""
    url = "https://hooks.example/a"
    hook, _ = hooks.add_hook(by=world.requester, project=world.project, url=url)
    delivery = hooks.ping(by=world.requester, hook=hook)
    told = {"kind": "rejection", "text": "Something.", "key": "rejection:1"}
    notices.notify(to=[world.worker.user], **told)
    return {
        "hook_id": hook.pk,
        "delivery_id": delivery.pk,
        "notice_id": Notice.objects.get(user=world.worker.user, key="rejection:1").pk,
        "stop": notices.stop_token(world.worker.user),
    }


def written_values(world: factories.World, task: Task) -> dict[str, Any]:
    """A message of the worker about a task of theirs, and an announcement to its workers."""
    told = {"task": task, "text": "Something.", "key": uuid4()}
    found = conversations.write_as_worker(by=world.worker.user, worker=world.worker, **told)
    made = conversations.announce(by=world.requester, **told)
    return {"conversation_id": found.pk, "announcement_id": made.pk}


def second_person_values(world: factories.World) -> dict[str, Any]:
    """A role that awaits confirmation, and a correction that awaits a second manager."""
    grant = RoleGrant.objects.create(
        project=world.project,
        user=factories.make_user(),
        role=Role.MANAGER,
        given_by=world.requester,
        state=RoleGrant.State.WAITING,
    )
    correction = Correction.objects.create(
        project=world.project,
        task=world.task,
        debit=f"work:{world.task.pk}",
        credit="paid:hand",
        amount=900,
        currency=world.project.currency,
        memo="A transfer was forgotten.",
        key="one",
        proposed_by=factories.make_member(world.project).user,
    )
    return {"grant_id": grant.pk, "correction_id": correction.pk}


def traces_values(project: Project) -> dict[str, Any]:
    """A source of traces, and a trace that came from it."""
    source, _token = create_source(by=project.owner, project=project, name="shop")
    now = timezone.now()
    trace = Trace.objects.create(
        source=source, trace_id="a" * 32, first_seen_at=now, last_seen_at=now
    )
    return {"source_id": source.pk, "trace_id": trace.pk}


def everything() -> tuple[dict[str, Any], dict[str, Client]]:
    """Values for every placeholder, of a project with one of each thing; a client a role."""
    world = factories.make_world(n=5)
    task, project = world.task, world.project
    submitted = factories.claim_and_submit(task)
    rejected = factories.claim_and_submit(task, world.worker)
    said = "The answers say nothing of the questions asked. " * 3  # a reason of 100 letters or more
    reason = {"reason_code": "other", "reason": said}
    lines = [
        payouts.ProposedLine(submitted.pk),
        payouts.ProposedLine(rejected.pk, decision="reject", **reason),
    ]
    batch = payouts.propose_payout(by=world.requester, task=task, key=uuid4(), lines=lines)
    payouts.approve_payout(
        by=world.manager,
        batch=batch,
        expected_total=payouts.total(batch),
        rejections=payouts.count_rejections(batch),
    )
    second = factories.make_task(project, 2, title="Another one")
    lease = factories.claim(second, world.worker)
    run = runs.start(by=world.requester, task=task)
    way_in = prolific.make_recruitment(task)
    told = b"participant,amount\nnobody-known,1.00\n"
    statement, _ = statements.import_statement(
        by=world.manager, task=task, recruitment=None, name="bank.csv", content=told
    )
    upload_row = keep_file(
        by=world.requester,
        task=task,
        kind="items",
        name="a.csv",
        content=b"item_id,question\nx-1,Why?\n",
    )
    process.process(upload_row.pk)
    table = keep_table(
        by=world.requester,
        project=project,
        name="labels.csv",
        content=b"worker,item,label\nw1,i1,yes\nw2,i1,no\n",
    )
    process.process(table.pk)
    invitation = invite(by=world.requester, project=project, role=Role.WORKER)
    study = pair_corpus.make_judged(
        workers=3, task=pair_corpus.make_task(topics=1, sources=3, redundancy=3, project=project)
    )
    judge, other = (one.worker for one in study.assignments.order_by("pk")[:2])
    written = tasks.create_task(by=world.requester, project=project, type="writing", title="W")
    checked = tasks.create_task(by=world.requester, project=project, type="checklist", title="C")
    rated = judging.make_ratings(project, 1)
    labelled = tasks.create_task(by=world.requester, project=project, type="labels", title="L")
    claims = tasks.save_group(by=world.requester, task=labelled, key="all", title="Claims")
    claim = Item.objects.create(task=labelled, group=claims, key="claim", question="?", since=1)
    audit = ExplanationAudit.objects.create(
        task=rated,
        judge=world.manager,
        scale="quality_overall",
        answer_ids=[],
        per_label=1,
        created_by=world.requester,
    )
    left_out = exclusions.exclude(by=world.requester, task=study, worker=other, reason="a test")
    tasks.set_domain(by=world.requester, task=task, domain="storks")
    panel = panels.create(by=world.requester, project=project, name="Keepers")
    save_view(by=world.requester, project=project, list="people", name="Mine", query="q=a")
    [joined] = panels.admit(by=world.requester, panel=panel, workers=[world.worker])
    values = {
        "waiting": "nothing",
        "template": "classification",
        "note_id": 0,
        "name": "storks",
        "panel_id": panel.pk,
        "member_id": joined.pk,
        "project_id": project.pk,
        "task_id": task.pk,
        "assignment_id": lease.pk,
        "position": 1,
        "item_id": Item.objects.filter(task=task).first().pk,
        "number": batch.number,
        "month": f"{timezone.localdate():%Y-%m}",
        "membership_id": world.worker.pk,
        "file_id": upload_row.pk,
        "table_id": table.pk,
        "kind": "items",
        "invitation_id": invitation.pk,
        "answer_id": submitted.answers.first().pk,
        "line_id": batch.lines.first().pk,
        "statement_id": statement.pk,
        "place": 0,
        "recruitment_id": way_in.pk,
        "entry_token": entry_token(way_in),
        "rejection_id": Rejection.objects.get(assignment=rejected).pk,
        "run_id": run.pk,
        "run_number": run.number,
        "own_answer_id": rejected.answers.first().pk,
        "submitted_id": submitted.pk,
        "token": invitation_token(invitation),
        "study_id": study.pk,
        "live_id": live_studies.make_live(live_studies.make_task(project)).task_id,
        "pair_id": Item.objects.filter(task=study).first().pk,
        "rated_id": rated.pk,
        "labelled_id": labelled.pk,
        "claim_id": claim.pk,
        "share_id": 0,
        "secret": "nothing",
        "slug": "nothing",
        "sha256": label_studies.make_image(project).sha256,
        "recording_id": thinking.make_recording(lease.entries.first()).pk,
        "audit_id": audit.pk,
        "written_id": written.pk,
        "checked_id": checked.pk,
        "worker_id": judge.pk,
        "exclusion_id": left_out.pk,
        "uidb36": "x",
        "key": "y",
        "session_id": 0,
        "provider_id": "sso",
        "what": "answers",
        "form": "csv",
        **told_values(world),
        **traces_values(project),
        **written_values(world, task),
        **second_person_values(world),
        "export_id": export_files.request_export(
            by=world.requester, project=project, task=task, what="all", form="csv"
        ).pk,
        "payment_id": Payment.objects.earliest("pk").pk,
        "token_id": tokens.create_token(by=world.worker.user, name="t", scopes=["read"], days=1)[
            0
        ].pk,
        "rest": "nothing/",
        "user_id": world.outsider.pk,
        "archive_id": 1,
        **asked_values(project),
        **thought_values(project),
        **organised_values(world),
    }
    people = {
        "anonymous": None,
        "outsider": world.outsider,
        "worker": world.worker.user,
        "requester": world.requester,
        "manager": world.manager,
        "viewer": factories.make_member(project, Role.VIEWER).user,
    }
    clients = {}
    for role, user in people.items():
        clients[role] = Client()
        if user:
            clients[role].force_login(user)
    return values, clients


# How the addresses of a page of one type of task begin -> a task of this type.
TASKS = {
    "label_": "labelled_id",
    "replacement": "labelled_id",
    "rating_results": "rated_id",
    "rescaling": "rated_id",
    "live_evaluation": "live_id",
    "audit": "rated_id",
    "checklist_results": "checked_id",
    "checklist_scores": "checked_id",
}

ITEMS = {"label_decide": "claim_id", "label_revoke": "claim_id"}  # and an item of it


def address(name: str, values: dict[str, Any]) -> str:
    """The address of a route with the placeholders filled in."""
    shared = values["shared"] if name.startswith("organisation_") else {}
    own = {**values, **access_api.places(name, values), **shared}
    if name.startswith("run") or name == "api_project_run":
        own["number"] = values["run_number"]
    if file := FILES.get(name.partition("_")[0]):
        own["file_id"] = values[file]
    if name == "notice_stop":
        own["token"] = values["stop"]
    own.update(WAYS_IN.get(name, {}))
    own["language"] = "de"  # of script_words
    own["token"] = values["entry_token"] if name == "entry" else own["token"]
    if name == "panel_choose":
        own["number"] = values["run_number"]  # not finished: nobody can be chosen by it
    if name == "pair" or name.startswith(("pair_", "task_excl")):
        own.update(task_id=values["study_id"], item_id=values["pair_id"])
    for start, of in TASKS.items():
        if name.startswith(start):
            own["task_id"] = values[of]
    own["item_id"] = values.get(ITEMS.get(name), own["item_id"])
    if name in THOUGHT:
        own["task_id"] = values["thought_id"]
    if name in LISTED:
        own.update(kind="components", number=values["version"])
    if name in WRITING:
        own["task_id"] = values["written_id"]
    if name.startswith("work_replay"):
        own["answer_id"] = values["own_answer_id"]
    if name in ("review_answers", "task_round"):
        own["assignment_id"] = values["submitted_id"]
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda m: str(own[m[1]]), ROUTES[name])
