"""Who may open what: every address of the application against every role.

The table below is complete by construction: an address that is not in it fails the test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from annotation.actions import exclusions, payouts, tasks
from annotation.actions.imports import keep_file
from annotation.actions.people import invitation_token, invite
from annotation.models import Item, Project, Rejection, Role
from evaluation import runs
from evaluation.checklists import actions as list_actions
from evaluation.checklists import comparison
from evaluation.models import ChecklistVersion, ExplanationAudit, LLMCall
from tests import factories, judging
from tests.evaluation import pair_corpus, think_corpus
from tests.llm import make_model

pytestmark = [pytest.mark.db, pytest.mark.django_db]

ROLES = ("anonymous", "outsider", "worker", "requester", "manager")
# U: answers 503 while no worker runs, to everybody.
# What a role meets: O opens (2xx or a redirect within the application), L is sent to sign in,
# N not found, F forbidden, M wrong verb, C is told 401.
STAFF = "LNFOO"
REQUESTER = "LNFOF"  # authoring
MANAGER = "LNFFO"  # deciding about money
POST_ONLY = "M"
NOTHING_YET = "LNFNN"  # no run is finished here, so there is nothing to export
SIGNED_IN = "LOOOO"
PUBLIC = "OOOOO"
OWN = "LNONN"  # a worker's own
API_STAFF = "CNFOO"
API_OWN = "CNONN"
API_SIGNED_IN = "COOOO"

GET: dict[str, str] = {
    "healthz": PUBLIC, "readyz": "UUUUU", "home": SIGNED_IN, "signup": PUBLIC, "login": PUBLIC,
    "logout": POST_ONLY, "password_change": SIGNED_IN, "password_change_done": SIGNED_IN,
    "password_reset": PUBLIC, "password_reset_done": PUBLIC, "password_reset_confirm": PUBLIC,
    "password_reset_complete": PUBLIC, "join": PUBLIC, "project_list": SIGNED_IN,
    "project_new": SIGNED_IN, "work_home": SIGNED_IN, "work_consent": "LNOFF",
    "work_withdraw": POST_ONLY, "work_claim": POST_ONLY, "work_assignment": OWN, "work_item": OWN,
    "work_submit": POST_ONLY, "work_done": OWN, "work_extend": POST_ONLY,
    "work_return": POST_ONLY, "work_draft": POST_ONLY, "work_stream": POST_ONLY,
    "work_events": POST_ONLY, "work_record": SIGNED_IN, "work_record_assignment": OWN,
    "work_rejection_reply": POST_ONLY, "own_logs_erase": POST_ONLY,
    "project_logs_erase": POST_ONLY, "worker_logs_erase": POST_ONLY, "people": STAFF,
    "people_remove": POST_ONLY,
    "invitation_new": STAFF, "invitation_revoke": POST_ONLY, "project_settings": STAFF,
    "project_settings_consent": STAFF, "task_list": STAFF, "task_new": REQUESTER, "task": STAFF,
    "task_move": POST_ONLY, "task_build": REQUESTER, "task_build_question": POST_ONLY,
    "task_build_add": POST_ONLY, "task_build_remove": POST_ONLY, "task_build_move": POST_ONLY,
    "task_build_text": POST_ONLY, "task_build_text_step": POST_ONLY, "task_preview": STAFF,
    "task_build_asked": POST_ONLY, "task_build_asked_step": POST_ONLY,
    "task_build_texts": POST_ONLY, "task_build_pairs": REQUESTER,
    "task_build_attention": POST_ONLY, "task_precision": STAFF,
    "task_build_rows": POST_ONLY, "task_build_rows_step": POST_ONLY,
    "task_build_topic": POST_ONLY, "task_build_topic_step": POST_ONLY, "task_judge": POST_ONLY,
    "task_build_dimension": POST_ONLY, "task_build_dimension_step": POST_ONLY,
    "task_build_line": POST_ONLY, "task_build_line_step": POST_ONLY,
    "task_build_rating": POST_ONLY, "task_build_document": POST_ONLY,
    "task_build_document_step": POST_ONLY, "task_rounds": REQUESTER, "task_round": REQUESTER,
    "task_panels": POST_ONLY, "task_feedback": STAFF,
    "api_samples": "CMMMM", "api_attributes": "CMMMM", "api_checks": "CMMMM",
    "task_publish": POST_ONLY, "task_import_file": REQUESTER, "task_import_bad_rows": REQUESTER,
    "task_import": REQUESTER, "ledger": STAFF, "ledger_export": STAFF, "rejection_list": STAFF,
    "rejection_decide": POST_ONLY, "answer_counts": POST_ONLY, "results": STAFF,
    "task_results": STAFF, "task_results_systems": STAFF, "task_results_questions": STAFF,
    "point_judges": STAFF,
    "task_results_question": STAFF, "task_results_export": NOTHING_YET,
    "task_results_convergence": STAFF, "pair_results": STAFF, "pair_live": STAFF,
    "pair_wins": STAFF, "pair_list": STAFF, "pair": STAFF, "pair_workers": STAFF,
    "pair_worker": STAFF, "pair_export": NOTHING_YET, "run_list": STAFF, "run": STAFF,
    "run_progress": STAFF,
    "run_cancel": POST_ONLY, "run_start": STAFF, "run_schedule": STAFF, "project": STAFF,
    "review": STAFF, "review_answers": STAFF, "payout_new": STAFF, "payout_list": STAFF,
    "payout": STAFF, "payout_approve": POST_ONLY, "payout_send_back": POST_ONLY,
    "payout_line_reject": POST_ONLY, "payout_export": STAFF, "worker_card": STAFF,
    "api_schema": PUBLIC, "api_docs": PUBLIC, "api_token": POST_ONLY,
    "api_projects": API_SIGNED_IN, "api_project": "CNOOO", "api_tasks": API_STAFF,
    "api_task": API_STAFF, "api_task_publish": "CMMMM", "api_task_move": "CMMMM",
    "api_items": API_STAFF, "api_answers": API_STAFF, "api_system_answers": "CMMMM",
    "api_judgments": "CMMMM", "api_topics": API_STAFF, "api_responses": "CMMMM",
    "api_judge": "CMMMM",
    "api_assignments": API_STAFF, "api_answer": API_STAFF, "api_open_tasks": API_SIGNED_IN,
    "api_claim": "CMMMM", "api_consent": "CNOFF", "api_assignment": API_OWN,
    "api_question": "CMMMM", "api_draft": "CMMMM", "api_submit": "CMMMM", "api_extend": "CMMMM",
    "api_return": "CMMMM", "api_streams": "CMMMM", "api_events": "CMMMM", "api_runs": API_STAFF,
    "api_run": API_STAFF, "api_run_cancel": "CMMMM",
    "api_scores_workers": API_STAFF, "api_scores_systems": API_STAFF,
    "api_scores_answers": API_STAFF, "api_scores_items": API_STAFF, "api_export": API_STAFF,
    "task_export": NOTHING_YET,
    "pair_agreement": STAFF, "pair_panel": POST_ONLY, "pair_order": STAFF, "pair_grades": STAFF,
    "pair_judges": STAFF, "pair_published": NOTHING_YET, "pair_exclude": REQUESTER,
    "pair_include": POST_ONLY, "pair_adaptive": STAFF, "rating_results": STAFF,
    "writing_results": STAFF, "writing_export": NOTHING_YET,
    "replay": STAFF, "replay_data": STAFF, "work_replay": OWN, "work_replay_data": OWN,
    "study": STAFF, "study_start": POST_ONLY, "grading": STAFF, "grading_mark": NOTHING_YET,
    "grading_settle": POST_ONLY, "grading_end": POST_ONLY,
    "models": STAFF, "models_prompts": STAFF, "models_calls": STAFF, "models_call": STAFF,
    "models_endpoint_new": REQUESTER, "models_endpoint": REQUESTER, "models_model_new": REQUESTER,
    "models_model": REQUESTER, "models_endpoint_archive": POST_ONLY, "models_names": POST_ONLY,
    "models_model_probe": POST_ONLY, "models_model_archive": POST_ONLY, "task_models": STAFF,
    "task_models_live": STAFF, "task_ask": STAFF, "task_ask_preview": POST_ONLY,
    "api_models": API_STAFF, "api_asking": API_STAFF, "api_ask": "CMMMM",
    "api_ask_preview": "CMMMM", "api_run_calls": API_STAFF,
    "rescaling": STAFF, "rescaling_scores": REQUESTER, "rescaling_run": STAFF,
    "audit_list": STAFF, "audit": STAFF, "audit_judge": MANAGER, "audit_close": POST_ONLY,
    "checklist_results": STAFF, "checklist_scores": POST_ONLY,
    "think_aloud_results": STAFF, "checklist_new": REQUESTER, "set_comparisons": STAFF,
    "set_comparison_new": STAFF, "set_comparison": "LNFON", "checklist": STAFF,
    "checklist_live": STAFF, "checklist_take": POST_ONLY, "checklist_freeze": POST_ONLY,
    "checklist_stage": REQUESTER, "checklist_ask": REQUESTER, "checklist_version": STAFF,
    "checklist_make_task": POST_ONLY,
    "api_join": "CMMMM", "api_own_assignments": API_SIGNED_IN, "api_unknown": "NNNNN",
}  # fmt: skip

# The same for POST with an empty body; X: let in, and refused for what it says (4xx but not
# 401, 403 or 404) or done. A manager's money buttons are closed to others.
WRITE_STAFF, WRITE_REQUESTER, WRITE_MANAGER = "LNFXX", "LNFXF", "LNFFX"
POST: dict[str, str] = {
    "task_build_rating": WRITE_REQUESTER, "task_build_document": WRITE_REQUESTER,
    "task_build_document_step": WRITE_REQUESTER, "task_round": WRITE_REQUESTER,
    "task_panels": WRITE_REQUESTER,
    "people_remove": WRITE_REQUESTER, "invitation_new": WRITE_REQUESTER,
    "invitation_revoke": WRITE_REQUESTER,
    "project_settings": WRITE_REQUESTER, "project_settings_consent": WRITE_REQUESTER,
    "task_new": WRITE_REQUESTER, "task_move": WRITE_REQUESTER, "task_build": WRITE_REQUESTER,
    "task_build_question": WRITE_REQUESTER, "task_build_add": WRITE_REQUESTER,
    "task_build_remove": WRITE_REQUESTER, "task_build_move": WRITE_REQUESTER,
    "task_build_text": WRITE_REQUESTER, "task_build_text_step": WRITE_REQUESTER,
    "task_build_asked": WRITE_REQUESTER, "task_build_asked_step": WRITE_REQUESTER,
    "task_build_texts": WRITE_REQUESTER, "task_build_pairs": WRITE_REQUESTER,
    "task_build_attention": WRITE_REQUESTER, "task_build_rows": WRITE_REQUESTER,
    "task_build_rows_step": WRITE_REQUESTER, "task_build_topic": WRITE_REQUESTER,
    "task_build_topic_step": WRITE_REQUESTER, "task_judge": WRITE_REQUESTER,
    "task_build_dimension": WRITE_REQUESTER, "task_build_dimension_step": WRITE_REQUESTER,
    "task_build_line": WRITE_REQUESTER, "task_build_line_step": WRITE_REQUESTER,
    "api_samples": "CNFXF", "api_attributes": "CNFXF", "api_checks": "CNFXF",
    "task_publish": WRITE_REQUESTER, "task_import": WRITE_REQUESTER,
    "task_import_file": WRITE_REQUESTER, "rejection_decide": WRITE_MANAGER,
    "answer_counts": WRITE_STAFF, "run_cancel": WRITE_STAFF, "run_start": WRITE_STAFF,
    "run_schedule": WRITE_STAFF, "pair_panel": WRITE_REQUESTER,
    "pair_exclude": WRITE_REQUESTER, "pair_include": WRITE_REQUESTER,
    "pair_adaptive": WRITE_REQUESTER,
    "study_start": "LNFNF", "grading": WRITE_REQUESTER, "grading_mark": NOTHING_YET,
    "grading_settle": NOTHING_YET, "grading_end": "LNFNF",
    "models_endpoint_new": WRITE_REQUESTER, "models_endpoint": WRITE_REQUESTER,
    "models_model_new": WRITE_REQUESTER, "models_model": WRITE_REQUESTER,
    "models_endpoint_archive": WRITE_REQUESTER, "models_names": WRITE_REQUESTER,
    "models_model_probe": WRITE_REQUESTER, "models_model_archive": WRITE_REQUESTER,
    "task_ask": WRITE_STAFF, "task_ask_preview": WRITE_STAFF, "api_ask": "CNFXX",
    "api_ask_preview": "CNFXX",
    "rescaling_scores": WRITE_REQUESTER, "rescaling_run": WRITE_STAFF,
    "audit_list": WRITE_REQUESTER, "audit_judge": WRITE_MANAGER, "audit_close": WRITE_STAFF,
    "checklist_new": WRITE_REQUESTER, "set_comparison_new": WRITE_STAFF,
    "set_comparison": "LNFXN", "checklist_take": WRITE_REQUESTER,
    "checklist_freeze": WRITE_REQUESTER, "checklist_stage": WRITE_REQUESTER,
    "checklist_ask": WRITE_REQUESTER, "checklist_make_task": WRITE_REQUESTER,
    "payout_new": WRITE_STAFF, "payout_approve": WRITE_MANAGER,
    "payout_send_back": WRITE_STAFF, "payout_line_reject": WRITE_STAFF,
    "project_logs_erase": WRITE_REQUESTER, "worker_logs_erase": WRITE_STAFF,
    "own_logs_erase": "LNXFF",
    "work_claim": "LNXFF", "work_withdraw": "LNXFF", "work_return": "LNXNN",
    "work_extend": "LNXNN", "work_draft": "LNXNN", "work_stream": "LNXNN",
    "work_events": "LNXNN", "work_submit": "LNXNN", "work_rejection_reply": "LNXNN",
    "api_task_publish": "CNFXF", "api_task_move": "CNFXF", "api_tasks": "CNFXF",
    "api_items": "CNFXF", "api_answers": "CNFXF", "api_system_answers": "CNFXF",
    "api_judgments": "CNFXF", "api_topics": "CNFXF", "api_responses": "CNFXF",
    "api_judge": "CNFXF", "checklist_scores": WRITE_REQUESTER,
    "api_claim": "CNXFF", "api_submit": "CNXNN", "api_extend": "CNXNN", "api_return": "CNXNN",
    "api_streams": "CNXNN", "api_events": "CNXNN", "api_question": "CNXNN",
    "api_consent": "CNXFF", "api_runs": "CNFXX", "api_run_cancel": "CNFXX",
}  # fmt: skip


# Addresses of a think-aloud task, and of a checklist that is made from it.
THOUGHT = {"think_aloud_results", "checklist_new", "set_comparisons", "set_comparison_new",
           "set_comparison"}  # fmt: skip
LISTED = {
    "checklist", "checklist_live", "checklist_take", "checklist_freeze", "checklist_stage",
    "checklist_ask", "checklist_version", "checklist_make_task",
}  # fmt: skip


# Addresses that make sense for a writing task alone.
WRITING = {
    "task_build_rows", "task_build_rows_step", "task_build_topic", "task_build_topic_step",
    "task_judge", "api_topics", "api_responses", "api_judge", "writing_results", "writing_export",
}  # fmt: skip


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
    return {"thought_id": thought.pk, "checklist_id": made.pk, "version": version.number,
            "pk": compared.pk}  # fmt: skip


def asked_values(project: Project) -> dict[str, Any]:
    """A model behind an address where nobody listens, and a call that was made to it."""
    model = make_model(project, "http://127.0.0.1:9/v1")
    call = LLMCall.objects.create(
        project=project, model=model, model_name=model.name, key="a" * 64, prompt="judge_text@1",
        messages=[],
    )  # fmt: skip
    return {
        "endpoint_id": model.endpoint_id, "model_id": model.pk, "call_id": call.pk,
        "method": "answers",
    }  # fmt: skip


@pytest.fixture
def addresses() -> tuple[dict[str, Any], dict[str, Client]]:
    """Values for every placeholder, of a project with one of each thing; a client a role."""
    world = factories.make_world(n=5)
    task, project = world.task, world.project
    submitted = factories.claim_and_submit(task)
    rejected = factories.claim_and_submit(task, world.worker)
    reason = {"reason_code": "other", "reason": "The answers say nothing of the questions asked."}
    lines = [payouts.Line(submitted.pk), payouts.Line(rejected.pk, decision="reject", **reason)]
    batch = payouts.propose_payout(by=world.requester, task=task, key=uuid4(), lines=lines)
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=payouts.total(batch))
    second = factories.make_task(project, 2, title="Another one")
    lease = factories.claim(second, world.worker)
    run = runs.start(by=world.requester, task=task)
    upload_row = keep_file(
        by=world.requester, task=task, kind="items", name="a.csv",
        content=b"item_id,question\nx-1,Why?\n",
    )  # fmt: skip
    invitation = invite(by=world.requester, project=project, role=Role.WORKER)
    study = pair_corpus.make_judged(
        workers=3, task=pair_corpus.make_task(topics=1, sources=3, redundancy=3, project=project)
    )
    judge, other = (one.worker for one in study.assignments.order_by("pk")[:2])
    written = tasks.create_task(by=world.requester, project=project, type="writing", title="W")
    checked = tasks.create_task(by=world.requester, project=project, type="checklist", title="C")
    rated = judging.make_ratings(project, 1)
    audit = ExplanationAudit.objects.create(
        task=rated, judge=world.manager, scale="quality_overall", answer_ids=[], per_label=1,
        created_by=world.requester,
    )  # fmt: skip
    left_out = exclusions.exclude(by=world.requester, task=study, worker=other, reason="a test")
    values = {
        "project_id": project.pk, "task_id": task.pk, "assignment_id": lease.pk, "position": 1,
        "item_id": Item.objects.filter(task=task).first().pk, "number": batch.number,
        "membership_id": world.worker.pk, "file_id": upload_row.pk, "kind": "items",
        "invitation_id": invitation.pk,
        "answer_id": submitted.answers.first().pk, "line_id": batch.lines.first().pk,
        "rejection_id": Rejection.objects.get().pk, "run_id": run.pk, "run_number": run.number,
        "own_answer_id": rejected.answers.first().pk,
        "submitted_id": submitted.pk, "token": invitation_token(invitation),
        "study_id": study.pk, "pair_id": Item.objects.filter(task=study).first().pk,
        "rated_id": rated.pk, "audit_id": audit.pk, "written_id": written.pk,
        "checked_id": checked.pk,
        "worker_id": judge.pk, "exclusion_id": left_out.pk, "uidb64": "x",
        "what": "answers", "form": "csv",
        "rest": "nothing/", **asked_values(project), **thought_values(project),
    }  # fmt: skip
    people = {
        "anonymous": None, "outsider": world.outsider, "worker": world.worker.user,
        "requester": world.requester, "manager": world.manager,
    }  # fmt: skip
    clients = {}
    for role, user in people.items():
        clients[role] = Client()
        if user:
            clients[role].force_login(user)
    return values, clients


def address(name: str, values: dict[str, Any]) -> str:
    """The address of a route with the placeholders filled in."""
    own = dict(values)
    if name.startswith("run"):
        own["number"] = values["run_number"]
    if name == "pair" or name.startswith("pair_"):
        own.update(task_id=values["study_id"], item_id=values["pair_id"])
    if name == "rating_results" or name.startswith(("rescaling", "audit")):
        own["task_id"] = values["rated_id"]
    if name in ("checklist_results", "checklist_scores"):
        own["task_id"] = values["checked_id"]
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


def met(response: Any) -> str:
    """What a response means, as a letter of the table."""
    status, where = response.status_code, response.headers.get("Location", "")
    if status in (301, 302):
        return "L" if "/login/" in where else "O"
    named = {401: "C", 403: "F", 404: "N", 405: "M", 503: "U"}
    if status in named:
        return named[status]
    return "O" if status < 400 else "X" if status < 500 else str(status)


def fits(seen: str, wanted: str) -> bool:
    return seen == wanted or (wanted == "X" and seen in "OX")


def test_every_address_is_in_the_table() -> None:
    assert set(ROUTES) == set(GET)


def test_each_role_opens_what_it_may_and_nothing_else(
    addresses: tuple[dict[str, Any], dict[str, Client]],
) -> None:
    values, clients = addresses
    wrong = []
    for name, row in GET.items():
        for role, wanted in zip(ROLES, row * (5 if len(row) == 1 else 1), strict=True):
            response = clients[role].get(address(name, values))
            seen = met(response)
            # A page that only takes POST may turn people away before it looks at the verb.
            if seen != wanted and not (wanted == "M" and seen in "LNFC"):
                wrong.append(f"GET {name} as {role}: {seen} ({response.status_code}), not {wanted}")
    assert not wrong, "\n".join(wrong)


def test_each_role_writes_where_it_may_and_nowhere_else(
    addresses: tuple[dict[str, Any], dict[str, Client]],
) -> None:
    values, clients = addresses
    wrong = []
    for name, row in POST.items():
        for role, wanted in zip(ROLES, row, strict=True):
            point = transaction.savepoint()  # each request meets the same world
            response = clients[role].post(address(name, values))
            transaction.savepoint_rollback(point)
            if not fits(met(response), wanted):
                wrong.append(f"POST {name} as {role}: {response.status_code}, not {wanted}")
    assert not wrong, "\n".join(wrong)


def test_every_address_that_takes_posts_is_in_the_second_table() -> None:
    """Addresses that are not about a project or an assignment are named here instead."""
    elsewhere = {"logout", "api_token", "api_draft", "api_join"}
    taken = {name for name, row in GET.items() if set(row) <= set("MC")} - elsewhere
    assert taken <= set(POST)
