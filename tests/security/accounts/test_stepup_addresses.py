"""Every address that moves money or gives power asks an old session to confirm who it is."""

from __future__ import annotations

import ast
import inspect
import uuid
from functools import cache
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from annotation.models import (
    ApiToken,
    AuditEntry,
    Organisation,
    Payment,
    PayoutBatch,
    Rejection,
    Role,
)
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions import statements
from evaluation.models import Run, RunState
from tests.security.accounts.factors import OLD, proposal, signed_in, staffed_world
from tests.support import factories as make
from tests.support.everything import second_person_values
from tests.support.import_graph import ROOT
from tests.support.servers import prolific
from tests.support.source import parse_source
from tests.test_audited import imported_names, reaching

pytestmark = [pytest.mark.django_db]
STEPUP = "annotation.accounts.security.stepup"
GUARDS = {
    (STEPUP, name)
    for name in (
        "require_recent",
        "require_strength",
        "require_second_factor",
        "needs_stepup",
    )
}


@pytest.fixture
def world() -> make.World:
    return staffed_world()


@pytest.fixture
def batch(world: make.World) -> PayoutBatch:
    return proposal(world)


TOKEN = {"name": "x", "scopes": ["read"], "days": 1, "per_minute": 60, "project": ""}
STUDY = {"name": "Autumn", "entry": "bound", "study_id": "s-9", "token": "abc"}
# Every address that moves money or gives somebody power: what is sent, by whom.
GUARDED: dict[str, tuple[str, dict[str, Any]]] = {
    "payout_approve": ("manager", {"expected_total": "1.80"}),
    "payout_line_reject": ("manager", {"reason_code": "other", "reason": "x" * 120}),
    "payout_rule": ("manager", {"bonus_by": "none"}),
    "run_official": ("manager", {"instead_of": "0"}),
    "ledger_correct": ("manager", {}),
    "payment_by_hand_done": ("manager", {}),
    "payment_details": (
        "worker",
        {"way": "paypal", "reference": "lena@example.org", "name": ""},
    ),
    "payment_details_remove": ("worker", {}),
    "payment_details_remind": ("manager", {}),
    "payment_send": ("manager", {"failed": "1"}),
    "payment_resolve": ("manager", {}),
    "rejection_decide": ("manager", {"outcome": "stands", "note": "It stands."}),
    "statement_list": ("manager", {}),
    "statement_book": ("manager", {}),
    "statement_book_matching": ("manager", {}),
    "account": ("manager", TOKEN),
    "account_close": ("manager", {}),
    "invitation_new": (
        "requester",
        {"role": "manager", "days": 1, "max_uses": 1, "note": "", "emails": ""},
    ),
    "people_remove": ("requester", {}),
    "project_settings": (
        "requester",
        {
            "name": "Birds",
            "budget": "5",
            "decide_days": 7,
            "reply_days": 30,
            "answer_days": 7,
        },
    ),
    "role_confirm": ("manager", {}),
    "role_decline": ("manager", {}),
    "correction_approve": ("manager", {}),
    "correction_decline": ("manager", {"note": "No."}),
    "installation": ("owner", {"do": "transfer", "confirmed": "1", "to": "owner", "why": "So."}),
    "installation_people": ("owner", {"do": "close", "confirmed": "1", "why": "They left."}),
    "installation_settings": ("owner", {"do": "remove_demo"}),
    "installation_role_confirm": ("owner", {}),
    "installation_limits": ("owner", {"workers": "7"}),
    "installation_person_limits": ("owner", {"projects": "7"}),
    "installation_moves": ("owner", {"size": "9", "modified": "1", "name": "a.zip"}),
    "installation_deletion": ("owner", {"do": "delete", "name": "Birds", "why": "It is over."}),
    "organisation_list": ("owner", {"name": "Lab", "currency": "EUR", "person": "owner"}),
    "organisation": ("owner", {"do": "add_member", "person": "owner", "role": "member"}),
    "project_settings_factor": ("requester", {"required": "yes"}),
    "recruitment_new": ("requester", STUDY),
    "recruitment_edit": ("requester", STUDY),
}
# Files that name where people are paid: what is asked for.
READ_BY_PAYERS = {"payment_by_hand_export": {"way": "bank"}, "month_export": {"names": "1"}}


def addresses() -> dict[str, URLPattern]:
    def walk(resolver: URLResolver) -> Any:
        for entry in resolver.url_patterns:
            if isinstance(entry, URLPattern):
                yield entry.name, entry
            else:
                yield from walk(entry)

    return dict(walk(get_resolver()))


@cache
def guarding() -> set[tuple[str, str]]:
    """The functions that come to a guard."""
    return reaching(GUARDS)


@cache
def read(module: str) -> tuple[dict[str, ast.FunctionDef], dict[str, str]]:
    """A module's own functions, and the names that come from elsewhere."""
    tree = parse_source((ROOT / (module.replace(".", "/") + ".py")).read_text())
    own = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    return own, imported_names(tree)


def reaches_guard(view: Any) -> bool:
    """Whether the view comes to an action that asks for proof, by the calls in its module."""
    view = inspect.unwrap(getattr(view, "view_class", view))
    if inspect.isclass(view):
        return False
    module = inspect.getmodule(view)
    assert module is not None
    if module.__name__.split(".")[0] not in ("annotation", "evaluation"):
        return False
    own, names, goals = *read(module.__name__), guarding()
    ahead, seen, reached = [view.__name__], set(), False
    while ahead:
        name = ahead.pop()
        if name in seen or name not in own:
            continue
        seen.add(name)
        for call in (one for one in ast.walk(own[name]) if isinstance(one, ast.Call)):
            at = call.func
            if isinstance(at, ast.Name):
                reached = reached or tuple(names.get(at.id, ".").rpartition(".")[::2]) in goals
                ahead.append(at.id)
            elif isinstance(at, ast.Attribute):
                reached = reached or (names.get(ast.unparse(at.value), ""), at.attr) in goals
    return reached


def test_every_page_that_moves_money_or_gives_power_is_in_the_table() -> None:
    """The addresses are walked: one that comes to a guarded action must be tried below."""
    found = {
        name
        for name, one in addresses().items()
        if not name.startswith("api_") and reaches_guard(one.callback)
    }
    assert found == {*GUARDED, *READ_BY_PAYERS}


def test_an_old_session_is_asked_to_confirm_on_every_one_of_them(
    world: make.World, batch: PayoutBatch
) -> None:
    """(issue 15.1) Not one of the guarded pages does anything in a session that is too old."""
    project = world.project
    said = "The answers say nothing of the questions that were asked. " * 3
    rejected = make.claim_and_submit(world.task)
    line = payouts.ProposedLine(rejected.pk, decision="reject", reason_code="other", reason=said)
    other = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=[line]
    )
    payouts.approve_payout(
        by=world.manager,
        batch=other,
        expected_total=payouts.total(other),
        rejections=payouts.count_rejections(other),
    )
    held = make.claim_and_submit(make.make_task(project, 1))
    waits = payouts.propose_payout(
        by=world.requester,
        task=held.task,
        key=uuid.uuid4(),
        lines=[payouts.ProposedLine(held.pk, decision="hold")],
    )
    paid = make.claim_and_submit(make.make_task(project, 1))
    third = payouts.propose_payout(
        by=world.requester, task=paid.task, key=uuid.uuid4(), lines=[payouts.ProposedLine(paid.pk)]
    )
    payouts.approve_payout(
        by=world.manager,
        batch=third,
        expected_total=payouts.total(third),
        rejections=payouts.count_rejections(third),
    )
    statement, _ = statements.import_statement(
        by=world.manager,
        task=paid.task,
        recruitment=None,
        name="bank.csv",
        content=b"participant,amount\nnobody-known,1.00\n",
    )
    Payment.objects.filter(assignment=paid).update(state="failed")
    way_in = prolific.make_recruitment(world.task)
    member = project.memberships.get(user=world.manager, role=Role.MANAGER)
    others = second_person_values(world)
    trial = Run.objects.create(
        project=project, task=world.task, number=1, method="aqer", version="1", state=RunState.DONE
    )
    args: dict[str, list[Any]] = {
        "payout_approve": [project.pk, batch.number],
        "account": [],
        "account_close": [],
        "payout_line_reject": [project.pk, waits.number, waits.lines.get().pk],
        "payout_rule": [project.pk, world.task.pk],
        "run_official": [project.pk, trial.number],
        "payment_by_hand_done": [project.pk, third.number],
        "payment_resolve": [project.pk, Payment.objects.get(assignment=paid).pk],
        "rejection_decide": [project.pk, Rejection.objects.get().pk],
        "statement_book": [project.pk, statement.pk, 0],
        "statement_book_matching": [project.pk, statement.pk],
        "month_export": [project.pk, f"{timezone.localdate():%Y-%m}"],
        "people_remove": [project.pk, member.pk],
        "role_confirm": [project.pk, others["grant_id"]],
        "role_decline": [project.pk, others["grant_id"]],
        "recruitment_new": [project.pk, world.task.pk, "prolific"],
        "recruitment_edit": [project.pk, world.task.pk, way_in.pk],
        "correction_approve": [project.pk, others["correction_id"]],
        "correction_decline": [project.pk, others["correction_id"]],
    }
    owner = make.make_user("owner", password=make.PASSWORD, is_superuser=True)
    args["organisation"] = [Organisation.objects.create(name="Nest").pk]
    args["installation_deletion"] = args["installation_limits"] = [project.pk]
    args["installation_role_confirm"] = [others["grant_id"]]
    args["installation_person_limits"] = [world.worker.user_id]
    picked = {"installation": project.pk, "installation_people": world.worker.user_id}
    entries = AuditEntry.objects.count()
    for name, (role, sent) in GUARDED.items():
        who = owner if role == "owner" else getattr(world, role)
        client = signed_in(getattr(who, "user", who), age=OLD)
        at = args.get(name, [] if role == "owner" else [project.pk])
        answer = client.post(reverse(name, args=at), {**sent, "pick": picked.get(name, "")})
        assert answer.status_code == 302, (name, answer.status_code)
        assert answer["Location"].startswith(reverse("account_reauthenticate")), name
    for name, query in READ_BY_PAYERS.items():
        client = signed_in(world.manager, age=OLD)
        answer = client.get(reverse(name, args=args.get(name, [project.pk])), query)
        assert answer.status_code == 302, (name, answer.status_code)
        assert answer["Location"].startswith(reverse("account_reauthenticate")), name
    assert AuditEntry.objects.count() == entries
    assert not ApiToken.objects.exists()


def test_an_old_session_confirms_before_it_writes_a_token(world: make.World) -> None:
    """A form with secrets is not kept over the question, so the question comes first."""
    new = reverse("recruitment_new", args=[world.project.pk, world.task.pk, "prolific"])
    way_in = prolific.make_recruitment(world.task)
    edit = reverse("recruitment_edit", args=[world.project.pk, world.task.pk, way_in.pk])
    client = signed_in(world.requester, age=OLD)
    for at in (new, edit):
        answer = client.get(at)
        assert answer.status_code == 302
        assert answer["Location"].startswith(reverse("account_reauthenticate")), at
    assert client.get(new.replace("prolific", "panel")).status_code == 200
    assert signed_in(world.requester).get(new).status_code == 200
